// SPDX-License-Identifier: Apache-2.0
//
// The shortest program that runs a network through the public API:
//
//   run_model MODEL.onnx [PROVIDER]…
//
// Inputs are filled with a fixed ramp, dimensions that the model leaves open are 1. Prints one
// line an output and who ran how many nodes. Providers are named from the most preferred to the
// least; without any, the reference provider runs everything.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <opsrt/opsrt.h>

#define MAX_PROVIDERS 8
#define MAX_ELEMENTS ((int64_t)1 << 28)

// Makes one float input. The caller frees value->dims and value->data.
static int fill_input(const opsrt_info *info, opsrt_value *value) {
  if (info->type != OPS_TYPE_FLOAT || info->rank < 0) {
    fprintf(stderr, "run_model: input '%s' is %s; this example fills float tensors only\n",
            info->name, info->text);
    return 1;
  }
  int64_t *dims = calloc((size_t)info->rank + 1, sizeof *dims);
  if (!dims) return 1;
  int64_t count = 1;
  for (int32_t i = 0; i < info->rank; ++i) {
    dims[i] = info->dims[i] < 0 ? 1 : info->dims[i];
    count = dims[i] != 0 && count > MAX_ELEMENTS / dims[i] ? MAX_ELEMENTS + 1 : count * dims[i];
    if (count > MAX_ELEMENTS) break;
  }
  float *data = count > MAX_ELEMENTS ? NULL : calloc((size_t)count + 1, sizeof *data);
  if (!data) {
    fprintf(stderr, "run_model: no memory for input '%s', %s\n", info->name, info->text);
    free(dims);
    return 1;
  }
  for (int64_t i = 0; i < count; ++i) data[i] = (float)(i % 255) / 127.0f - 1.0f;
  *value = (opsrt_value){.name = info->name,
                         .kind = OPS_VALUE_TENSOR,
                         .type = OPS_TYPE_FLOAT,
                         .rank = info->rank,
                         .dims = dims,
                         .data = data,
                         .size = (uint64_t)count * sizeof *data};
  return 0;
}

static void print_output(const opsrt_value *value) {
  printf("%s [", value->name);
  for (int32_t i = 0; i < value->rank; ++i) printf("%s%" PRId64, i ? "," : "", value->dims[i]);
  printf("]");
  if (value->kind == OPS_VALUE_TENSOR && value->type == OPS_TYPE_FLOAT) {
    const float *data = value->data;
    for (uint64_t i = 0; i < value->size / sizeof *data && i < 5; ++i) printf(" %g", data[i]);
  }
  printf("\n");
}

// Counts the nodes of each provider, in the order in which they first appear.
static void print_placement(const opsrt_session *session) {
  const uint64_t count = opsrt_session_placement_count(session);
  for (uint64_t i = 0; i < count; ++i) {
    const char *provider = opsrt_session_placement(session, i)->provider;
    uint64_t nodes = 0;
    uint64_t first = count;
    for (uint64_t j = count; j-- > 0;) {
      if (strcmp(provider, opsrt_session_placement(session, j)->provider) != 0) continue;
      ++nodes;
      first = j;
    }
    if (first == i)
      printf("%s runs %" PRIu64 " of %" PRIu64 " nodes\n", provider, nodes, count);
  }
}

static int32_t run(opsrt_session *session, const opsrt_value *inputs, uint64_t count,
                   ops_error *error) {
  opsrt_result *result = NULL;
  const int32_t status = opsrt_session_run(session, inputs, count, &result, error);
  const uint64_t outputs = status == OPS_OK ? opsrt_result_count(result) : 0;
  for (uint64_t i = 0; i < outputs; ++i) print_output(opsrt_result_output(result, i));
  opsrt_result_destroy(result);
  return status;
}

int main(int argc, char **argv) {
  if (argc < 2 || argc - 2 > MAX_PROVIDERS) {
    fprintf(stderr, "usage: run_model MODEL.onnx [PROVIDER]…  (at most %d)\n", MAX_PROVIDERS);
    return 2;
  }
  opsrt_provider_spec providers[MAX_PROVIDERS] = {0};
  for (int i = 2; i < argc; ++i) providers[i - 2].name = argv[i];
  const opsrt_session_options options = {.model = {.path = argv[1]},
                                         .providers = providers,
                                         .provider_count = (uint64_t)(argc - 2)};
  ops_error error = {.struct_size = sizeof error};
  opsrt_session *session = NULL;
  opsrt_value *inputs = NULL;
  uint64_t count = 0;
  uint64_t given = 0;
  int failed = 1;

  if (opsrt_session_create(&options, &session, &error) != OPS_OK) goto cleanup;
  count = opsrt_session_input_count(session);
  inputs = calloc((size_t)count + 1, sizeof *inputs);
  if (!inputs) goto cleanup;
  for (uint64_t i = 0; i < count; ++i) {
    const opsrt_info *info = opsrt_session_input(session, i);
    if (info->optional) continue;  // its default will do
    if (fill_input(info, &inputs[given]) != 0) goto cleanup;
    ++given;
  }
  if (run(session, inputs, given, &error) != OPS_OK) goto cleanup;
  print_placement(session);
  failed = 0;

cleanup:
  if (failed && error.code != OPS_OK) fprintf(stderr, "run_model: %s\n", error.message);
  for (uint64_t i = 0; i < given; ++i) {
    free((void *)inputs[i].dims);
    free((void *)inputs[i].data);
  }
  free(inputs);
  opsrt_session_destroy(session);
  return failed;
}
