// SPDX-License-Identifier: Apache-2.0
//
// Loading: bytes are checked as protobuf (wire.c), unpacked by protobuf-c into the model's
// arena, and decoded from there (decode.c). A file stays mapped and its weights stay where they
// lie: protobuf-c, which copies what it is given, gets an outline without them.
#include <inttypes.h>
#include <ops_support/error.h>
#include <stdlib.h>

#include "model/decode.h"
#include "model/file.h"
#include "model/wire.h"

// What an rt_model points to lives as long as this.
typedef struct loaded_model {
  rt_model model;  // first: an rt_model is the address of this struct
  rt_model_decoder decoder;
} loaded_model;

static void *arena_alloc(void *arena, size_t size) {
  return rt_model_arena_alloc(arena, size);
}

static void arena_free(void *arena, void *pointer) {
  rt_model_arena_free(arena, pointer);
}

static int32_t unpack(rt_model_decoder *decoder, const ProtobufCMessageDescriptor *type,
                      const uint8_t *bytes, uint64_t size, ProtobufCMessage **out_message) {
  ProtobufCAllocator allocator = {arena_alloc, arena_free, &decoder->arena};
  *out_message = protobuf_c_message_unpack(type, &allocator, (size_t)size, bytes);
  if (*out_message) return OPS_OK;
  if (decoder->arena.refused) return rt_model_decoder_no_memory(decoder);
  return ops_error_set_cause(decoder->error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_MALFORMED_FILE,
                             "the bytes are not a valid %s; the file is damaged or not ONNX",
                             type->short_name);
}

static int32_t unpack_outline(rt_model_decoder *decoder, const ProtobufCMessageDescriptor *type,
                              const uint8_t *bytes, uint64_t size,
                              ProtobufCMessage **out_message) {
  rt_model_outline outline;
  int32_t status = rt_model_wire_outline(type, bytes, size, &outline, decoder->error);
  if (status == OPS_OK) status = unpack(decoder, type, outline.data, outline.size, out_message);
  free(outline.data);
  return status;
}

int32_t rt_model_unpack(rt_model_decoder *decoder, const ProtobufCMessageDescriptor *type,
                        const void *data, uint64_t size, ProtobufCMessage **out_message) {
  static const uint8_t kNothing[1];
  const uint8_t *bytes = data ? data : kNothing;
  if (decoder->file.data) return unpack_outline(decoder, type, bytes, size, out_message);
  OPS_RETURN_IF_ERROR(rt_model_wire_check(type, bytes, size, decoder->error));
  return unpack(decoder, type, bytes, size, out_message);
}

static int32_t load_into(loaded_model *loaded, const void *data, uint64_t size) {
  ProtobufCMessage *message = NULL;
  OPS_RETURN_IF_ERROR(
      rt_model_unpack(&loaded->decoder, &onnx__model_proto__descriptor, data, size, &message));
  return rt_model_decode_model(&loaded->decoder, (const Onnx__ModelProto *)message,
                               &loaded->model);
}

// Takes over `file`, if it is not NULL: the bytes are its.
static int32_t load(const void *data, uint64_t size, rt_model_file *file, const char *base_dir,
                    const rt_model_options *options, rt_model **out_model, ops_error *error) {
  *out_model = NULL;
  if (size == 0)
    return ops_error_set_cause(
        error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_MALFORMED_FILE,
        "the file is empty; expected a ModelProto, export the model again");
  if (size > RT_MODEL_MAX_FILE_BYTES)
    return ops_error_set_cause(
        error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_LIMIT_EXCEEDED,
        "the model has %" PRIu64
        " bytes; expected at most 2 GiB - 1 (RT_MODEL_MAX_FILE_BYTES), keep "
        "large tensors as external data",
        size);
  loaded_model *loaded = calloc(1, sizeof *loaded);
  if (!loaded) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a model");
  const uint64_t limit = options ? options->max_memory : 0;
  rt_model_arena_init(&loaded->decoder.arena, limit ? limit : RT_MODEL_DEFAULT_MAX_MEMORY);
  loaded->decoder.external.base_dir = base_dir;
  loaded->decoder.error = error;
  if (file) {
    loaded->decoder.file = *file;
    *file = (rt_model_file){NULL, 0};
  }
  const int32_t status = load_into(loaded, data, size);
  loaded->decoder.external.base_dir = NULL;
  loaded->decoder.error = NULL;
  if (status == OPS_OK)
    *out_model = &loaded->model;
  else
    rt_model_destroy(&loaded->model);
  return status;
}

int32_t rt_model_load_bytes(const void *data, uint64_t size, const char *base_dir,
                            const rt_model_options *options, rt_model **out_model,
                            ops_error *error) {
  return load(data, size, NULL, base_dir, options, out_model, error);
}

int32_t rt_model_load_file(const char *path, const rt_model_options *options,
                           rt_model **out_model, ops_error *error) {
  *out_model = NULL;
  rt_model_file file;
  OPS_RETURN_IF_ERROR(rt_model_file_map(path, RT_MODEL_MAX_FILE_BYTES, &file, error));
  int32_t status;
  char *folder = rt_model_file_folder(path);
  if (!folder) {
    status = ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a path");
    goto cleanup;
  }
  status = load(file.data, file.size, &file, folder, options, out_model, error);
  if (status != OPS_OK) ops_error_prefix(error, "%s", path);
cleanup:
  free(folder);
  rt_model_file_unmap(&file);
  return status;
}

void rt_model_destroy(rt_model *model) {
  if (!model) return;
  loaded_model *loaded = (loaded_model *)model;
  rt_model_external_finish(&loaded->decoder.external);
  rt_model_arena_finish(&loaded->decoder.arena);
  rt_model_file_unmap(&loaded->decoder.file);
  free(loaded);
}
