// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: the bytes as a model, through a session with the reference provider, to its
// outputs. The shapes and contents of inputs are the model's or small, the options of the
// session follow from the size of the input. How long a run takes is the model's affair, as a
// Loop may be told to go on for ever; making the session must be quick, whatever the model
// says. An internal error is a bug.
#include <ops_support/error.h>
#include <opsrt/opsrt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_INPUTS 32u
#define MAX_ELEMENTS 4096  // of one input
#define MAX_SECONDS 10     // for a session: sanitizers and busy machines included
#define UNKNOWN_DIM 2

typedef struct input {
  int64_t dims[OPS_MAX_RANK];
  double data[2 * MAX_ELEMENTS];  // room and alignment for the widest type
  ops_str strings[MAX_ELEMENTS];
} input;

// Small numbers of which every type has some.
static void fill(input *in, int32_t type, int64_t count) {
  memset(in->data, 0, sizeof in->data);
  for (int64_t i = 0; i < count; ++i) {
    const int small = (int)(i * 7 % 5);
    in->strings[i] = (ops_str){"ab cd", (uint64_t)small};
    if (type == OPS_TYPE_FLOAT) ((float *)in->data)[i] = (float)small - 1;
    if (type == OPS_TYPE_DOUBLE) in->data[i] = small - 1;
    if (type == OPS_TYPE_INT64) ((int64_t *)in->data)[i] = small;
    if (type == OPS_TYPE_INT32) ((int32_t *)in->data)[i] = small;
    if (type == OPS_TYPE_BOOL || type == OPS_TYPE_UINT8)
      ((uint8_t *)in->data)[i] = (uint8_t)(small & 1);
  }
}

static uint64_t bits_of(int32_t type) {
#define BITS(number, name, bits) [number] = bits,
  static const uint16_t kBits[OPS_TYPE_COUNT] = {OPS_TYPE_LIST(BITS)};
#undef BITS
  return type > 0 && type < OPS_TYPE_COUNT ? kBits[type] : 0;
}

// Returns 0 for an input that this target cannot make.
static int make_input(const opsrt_info *info, input *in, opsrt_value *out) {
  int64_t count = 1;
  if ((info->kind != OPS_VALUE_TENSOR && info->kind != OPS_VALUE_STRINGS) || info->rank < 0)
    return 0;
  for (int32_t i = 0; i < info->rank; ++i) {
    in->dims[i] = info->dims[i] < 0 ? UNKNOWN_DIM : info->dims[i];
    if (in->dims[i] > MAX_ELEMENTS) return 0;
    count *= in->dims[i];
    if (count > MAX_ELEMENTS) return 0;
  }
  fill(in, info->type, count);
  *out = (opsrt_value){.name = info->name,
                       .type = info->type,
                       .rank = info->rank,
                       .dims = in->dims,
                       .data = in->data,
                       .size = ((uint64_t)count * bits_of(info->type) + 7) / 8};
  if (info->type == OPS_TYPE_STRING) {
    out->data = NULL;
    out->size = 0;
    out->strings = in->strings;
  }
  return 1;
}

static void expect_no_bug(int32_t status, const ops_error *error) {
  if (status != OPS_ERROR_INTERNAL) return;
  fprintf(stderr, "internal error: %s\n", error->message);
  abort();
}

static void run(opsrt_session *session) {
  ops_error error = OPS_ERROR_INIT;
  const uint64_t count = opsrt_session_input_count(session);
  if (count > MAX_INPUTS) return;
  input *inputs = calloc(MAX_INPUTS, sizeof *inputs);
  opsrt_value values[MAX_INPUTS];
  opsrt_result *result = NULL;
  int whole = inputs != NULL;
  for (uint64_t i = 0; i < count && whole; ++i)
    whole = make_input(opsrt_session_input(session, i), &inputs[i], &values[i]);
  if (whole) expect_no_bug(opsrt_session_run(session, values, count, &result, &error), &error);
  opsrt_result_destroy(result);
  free(inputs);
}

// Keeps the provider's library loaded between sessions.
static void hold_provider(void) {
  static opsrt_provider *provider;
  const opsrt_provider_spec spec = {.name = OPSRT_FALLBACK_PROVIDER};
  ops_error error = OPS_ERROR_INIT;
  if (provider || opsrt_provider_open(&spec, NULL, &provider, &error) == OPS_OK) return;
  fprintf(stderr, "%s\n", error.message);
  abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const opsrt_session_options options = {
      .model = {.data = size ? data : (const uint8_t *)"", .size = size},
      .workers = 1,
      .level = (int32_t)(size % 4),
      .expand_functions = size / 4 % 2,
      .freeze_initializers = size / 8 % 2,
      .explain = size / 16 % 2,
      .no_memory_reuse = size / 32 % 2};
  opsrt_session *session = NULL;
  ops_error error = OPS_ERROR_INIT;
  hold_provider();
  const clock_t start = clock();
  const int32_t status = opsrt_session_create(&options, &session, &error);
  if (clock() - start > (clock_t)MAX_SECONDS * CLOCKS_PER_SEC) {
    fprintf(stderr, "making the session took more than %d s\n", MAX_SECONDS);
    abort();
  }
  expect_no_bug(status, &error);
  if (status == OPS_OK) run(session);
  opsrt_session_destroy(session);
  return 0;
}
