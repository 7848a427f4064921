// SPDX-License-Identifier: Apache-2.0
//
// See mynpu_test_util.h. The host's part is the loader's; everything else goes through the ABI.
#include "mynpu_test_util.h"

#include <ops_support/tensor.h>
#include <stdlib.h>

void rig_check(int32_t status, const ops_error *error, const char *what) {
  if (status != OPS_OK) fail_msg("%s: %s: %s", what, ops_status_name(status), error->message);
}

void rig_check_refused(int32_t got, int32_t status, const ops_error *error,
                       const char *phrase) {
  if (got != status) fail_msg("%s, expected %s", ops_status_name(got), ops_status_name(status));
  assert_int_equal(error->code, status);
  if (!strstr(error->message, phrase)) fail_msg("'%s' is not in '%s'", phrase, error->message);
}

void rig_open(rig *r, const char *const *options) {
  ops_key_value pairs[3];
  uint64_t count = 0;
  for (; options && options[count]; ++count) {
    const char *equals = strchr(options[count], '=');
    pairs[count].key = (ops_str){options[count], (uint64_t)(equals - options[count])};
    pairs[count].value = (ops_str){equals + 1, strlen(equals + 1)};
  }
  memset(r, 0, sizeof *r);
  CHECK(ops_library_open(MYNPU_LIBRARY, NULL, &r->library, &error));
  const ops_host_options host = {.workers = 3};
  CHECK(ops_host_create(&host, &r->host, &error));
  const ops_provider *provider = ops_library_provider(r->library);
  r->api = provider->instance;
  r->memory = provider->memory;
  r->stream = provider->stream;
  CHECK(r->api->create(ops_host_api_table(), r->host, pairs, count, &r->instance, &error));
  CHECK(r->api->device_open(r->instance, 0, &r->device, &error));
}

void rig_close(rig *r) {
  CHECK(r->api->device_close(r->device, &error));
  CHECK(r->api->destroy(r->instance, &error));
  ops_host_destroy(r->host);
  ops_library_release(r->library);
}

void *rig_allocate(rig *r, uint64_t size) {
  void *memory = NULL;
  CHECK(r->memory->allocate(r->device, OPS_MEMORY_DEVICE, size, 0, OPS_USAGE_ACTIVATION,
                            &memory, &error));
  return memory;
}

void rig_free(rig *r, void *memory) {
  r->memory->free(r->device, OPS_MEMORY_DEVICE, memory);
}

void rig_upload(rig *r, ops_stream *stream, void *handle, const void *data, uint64_t size) {
  const ops_copy copy = {.struct_size = sizeof copy,
                         .source = (void *)data,
                         .source_kind = OPS_MEMORY_HOST,
                         .target = handle,
                         .target_kind = OPS_MEMORY_DEVICE,
                         .size = size};
  CHECK(r->stream->copy(r->device, stream, &copy, &error));
}

void rig_download(rig *r, ops_stream *stream, void *data, void *handle, uint64_t size) {
  const ops_copy copy = {.struct_size = sizeof copy,
                         .source = handle,
                         .source_kind = OPS_MEMORY_DEVICE,
                         .target = data,
                         .target_kind = OPS_MEMORY_HOST,
                         .size = size};
  CHECK(r->stream->copy(r->device, stream, &copy, &error));
}

uint32_t rig_random(uint64_t *seed, uint32_t limit) {
  *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(*seed >> 33) % limit;
}

float rig_random_float(uint64_t *seed) {
  return (float)rig_random(seed, 1 << 24) * 0x1p-23f - 1;
}

int64_t shape_count(const shape *s) {
  int64_t count = 1;
  for (int32_t i = 0; i < s->rank; ++i) count *= s->dims[i];
  return count;
}

tensor tensor_random(const shape *s, uint64_t *seed) {
  const int64_t count = shape_count(s);
  tensor t = {*s, malloc((size_t)count * sizeof *t.data + 1)};
  for (int64_t i = 0; i < count; ++i) t.data[i] = rig_random_float(seed);
  return t;
}

void tensor_free(tensor *t) {
  free(t->data);
  t->data = NULL;
}

// ---- Nodes ----

static void fill_type(ops_type_info *type, const shape *s) {
  *type = (ops_type_info){.struct_size = sizeof *type,
                          .kind = OPS_VALUE_TENSOR,
                          .type = OPS_TYPE_FLOAT,
                          .rank = s->rank,
                          .dims = s->dims};
}

static void fill_attribute(ops_attribute *to, ops_str *text, const attribute *from) {
  *to = (ops_attribute){.struct_size = sizeof *to,
                        .name = {from->name, strlen(from->name)},
                        .kind = from->kind,
                        .count = from->kind == OPS_ATTRIBUTE_INTS ? from->count : 1,
                        .ints = from->ints};
  if (from->kind != OPS_ATTRIBUTE_STRING) return;
  *text = (ops_str){from->text, strlen(from->text)};
  to->ints = NULL;
  to->strings = text;
}

void node_view_fill(node_view *v, const char *op, const shape *inputs, const int32_t *present,
                    uint64_t input_count, const attribute *attributes,
                    uint64_t attribute_count) {
  memset(v, 0, sizeof *v);
  for (uint64_t i = 0; i < input_count; ++i) {
    fill_type(&v->types[i], &inputs[i]);
    v->inputs[i] = (ops_operand){.struct_size = sizeof v->inputs[i], .value = (int64_t)i};
    if (!present || present[i]) v->inputs[i].type = &v->types[i];
  }
  v->types[3] = (ops_type_info){.struct_size = sizeof v->types[3],
                                .kind = OPS_VALUE_TENSOR,
                                .type = OPS_TYPE_FLOAT,
                                .rank = -1};
  v->output = (ops_operand){.struct_size = sizeof v->output, .value = 9, .type = &v->types[3]};
  for (uint64_t i = 0; i < attribute_count; ++i)
    fill_attribute(&v->attributes[i], &v->texts[i], &attributes[i]);
  v->node = (ops_node){.struct_size = sizeof v->node,
                       .op = {op, strlen(op)},
                       .opset = 13,
                       .attributes = v->attributes,
                       .attribute_count = attribute_count,
                       .attribute_stride = sizeof v->attributes[0],
                       .inputs = v->inputs,
                       .input_count = input_count,
                       .input_stride = sizeof v->inputs[0],
                       .outputs = &v->output,
                       .output_count = 1,
                       .output_stride = sizeof v->output};
  v->request = (ops_prepare_request){.struct_size = sizeof v->request,
                                     .inputs = v->inputs,
                                     .input_count = input_count,
                                     .input_stride = sizeof v->inputs[0]};
}

// ---- Kernels ----

int32_t prepared_kernel_make(rig *r, const node_view *v, prepared_kernel *out,
                             ops_error *error) {
  ops_claim claim;
  memset(out, 0, sizeof *out);
  OPS_RETURN_IF_ERROR(
      ops_library_claim(r->library, r->device, &v->node, &out->def, &claim, error));
  if (!out->def) fail_msg("not claimed: %s", claim.text);
  OPS_RETURN_IF_ERROR(
      out->def->api->create(r->device, out->def, &v->node, &out->kernel, error));
  out->output.struct_size = sizeof out->output;
  ops_prepare_reply reply = {.struct_size = sizeof reply,
                             .outputs = &out->output,
                             .output_count = 1,
                             .output_stride = sizeof out->output};
  const int32_t status = out->def->api->prepare(out->kernel, &v->request, &reply, error);
  out->prepared = reply.prepared;
  if (status != OPS_OK) out->def->api->destroy(out->kernel);
  return status;
}

void prepared_kernel_destroy(prepared_kernel *k) {
  k->def->api->prepared_destroy(k->prepared);
  k->def->api->destroy(k->kernel);
}

static ops_arg device_arg(void *handle, int32_t rank, const int64_t *dims, uint32_t layout) {
  ops_arg arg = {.kind = OPS_ARG_TENSOR, .memory_kind = OPS_MEMORY_DEVICE};
  arg.tensor = (ops_tensor){
      .memory = handle, .type = OPS_TYPE_FLOAT, .rank = rank, .dims = dims, .layout = layout};
  return arg;
}

int32_t prepared_kernel_execute(const prepared_kernel *k, ops_stream *stream,
                                const node_view *v, void *const *inputs, void *output,
                                ops_error *error) {
  ops_arg args[3];
  memset(args, 0, sizeof args);
  for (uint64_t i = 0; i < v->node.input_count; ++i)
    if (v->inputs[i].type)
      args[i] = device_arg(inputs[i], v->types[i].rank, v->types[i].dims, v->types[i].layout);
  const ops_arg result = device_arg(output, k->output.rank, k->output.dims, 0);
  const ops_execute_request request = {.struct_size = sizeof request,
                                       .inputs = args,
                                       .input_count = v->node.input_count,
                                       .outputs = &result,
                                       .output_count = 1};
  return k->def->api->execute(k->prepared, &request, stream, error);
}

// Input 1 in `layout`, made by a reorder of the plain one on the device.
static void *reordered(rig *r, ops_stream *stream, void *plain, const shape *s,
                       uint32_t layout) {
  int64_t strides[kRigRank];
  uint64_t bytes;
  CHECK(r->memory->layout_size(r->device, layout, OPS_TYPE_FLOAT, s->rank, s->dims, &bytes,
                               &error));
  void *packed = rig_allocate(r, bytes);
  ops_strides_contiguous(s->rank, s->dims, strides);
  ops_arg from = device_arg(plain, s->rank, s->dims, 0);
  from.tensor.strides = strides;
  const ops_arg to = device_arg(packed, s->rank, s->dims, layout);
  CHECK(r->memory->reorder(r->device, stream, &from, &to, &error));
  return packed;
}

tensor rig_run(rig *r, ops_stream *stream, const char *op, const tensor *inputs,
               uint64_t input_count, const attribute *attributes, uint64_t attribute_count,
               uint32_t weights_layout) {
  shape shapes[3];
  int32_t present[3];
  void *handles[3] = {NULL}, *packed = NULL, *plain = NULL;
  node_view v;
  prepared_kernel k;
  for (uint64_t i = 0; i < input_count; ++i) {
    const uint64_t bytes = (uint64_t)shape_count(&inputs[i].shape) * sizeof(float);
    shapes[i] = inputs[i].shape;
    present[i] = inputs[i].data != NULL;
    if (!present[i] || bytes == 0) continue;
    handles[i] = rig_allocate(r, bytes);
    rig_upload(r, stream, handles[i], inputs[i].data, bytes);
  }
  node_view_fill(&v, op, shapes, present, input_count, attributes, attribute_count);
  plain = handles[1];
  if (weights_layout) {
    handles[1] = packed = reordered(r, stream, plain, &shapes[1], weights_layout);
    v.types[1].layout = weights_layout;
  }
  CHECK(prepared_kernel_make(r, &v, &k, &error));
  tensor result = {.shape.rank = k.output.rank};
  memcpy(result.shape.dims, k.output.dims, (size_t)k.output.rank * sizeof(int64_t));
  const uint64_t bytes = (uint64_t)shape_count(&result.shape) * sizeof(float);
  result.data = malloc(bytes + 1);
  void *output = bytes ? rig_allocate(r, bytes) : NULL;
  CHECK(prepared_kernel_execute(&k, stream, &v, handles, output, &error));
  rig_download(r, stream, result.data, output, bytes);
  CHECK(r->stream->synchronize(stream, &error));
  prepared_kernel_destroy(&k);
  handles[1] = plain;
  for (uint64_t i = 0; i < input_count; ++i) rig_free(r, handles[i]);
  rig_free(r, packed);
  rig_free(r, output);
  return result;
}
