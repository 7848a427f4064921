// SPDX-License-Identifier: Apache-2.0
//
// Cast between numbers and bool, in blocks through one of three wide types: int64, uint64 or
// double, none of which loses anything of its sources; between float and the two of 16 bits
// directly. Narrowing to float16 and bfloat16 goes through a float that was rounded to odd, so
// that the value is rounded once in effect.
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "half_block.h"
#include "nd.h"
#include "ops_table.h"

typedef struct cast_kernel {
  ops_kernel base;
  int32_t to;
} cast_kernel;

typedef struct cast_prepared {
  ops_prepared base;
  int64_t count;
  int32_t from;
} cast_prepared;

// Before opset 6 `to` is the name of a type in capitals.
static int32_t named_type(ops_str name) {
  char text[16];
  if (name.size >= sizeof text) return 0;
  for (size_t i = 0; i < name.size; ++i) {
    if (name.data[i] >= 'a' && name.data[i] <= 'z') return 0;
    text[i] = (char)tolower((unsigned char)name.data[i]);
  }
  text[name.size] = '\0';
  for (int32_t type = 1; type <= OPS_TYPE_UINT64; ++type)
    if (strcmp(text, ops_type_name(type)) == 0) return type;
  return 0;
}

static int32_t target_type(const ops_node *node) {
  const ops_operand *like =
      ops_str_equal(node->op, "CastLike") ? ops_node_input(node, 1) : NULL;
  if (like) return like->type->type;
  return node->opset < 6 ? named_type(ops_node_string(node, "to", (ops_str)OPS_STR("")))
                         : (int32_t)ops_node_int(node, "to", 0);
}

static void claim(const ops_kernel_def *def, const ops_node *node, ops_claim *out_claim) {
  const int32_t to = target_type(node);
  if (to < 0 || to > 63 || !(def->outputs[0].types & OPS_TYPE_BIT(to)))
    cpu_refuse(out_claim, OPS_REASON_TYPE, "a cast to type %d (%s) is not supported", to,
               ops_type_name(to));
}

static int32_t create(ops_kernel *kernel, const ops_node *node, ops_error *error) {
  (void)error;
  ((cast_kernel *)kernel)->to = target_type(node);
  return OPS_OK;
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  cast_prepared *own = (cast_prepared *)prepared;
  cpu_shape x;
  cpu_input_shape(request, 0, &x);
  own->count = cpu_count(&x);
  own->from = cpu_input_type(request, 0);
  return cpu_set_output(kernel, reply, 0, ((cast_kernel *)kernel)->to, &x, error);
}

#define BLOCK 256

typedef struct block {
  int32_t kind;  // OPS_TYPE_INT64, OPS_TYPE_UINT64 or OPS_TYPE_DOUBLE
  int64_t count;
  union {
    int64_t i[BLOCK];
    uint64_t u[BLOCK];
    double d[BLOCK];
  } as;
} block;

#define LOAD_CASE(number, T, kind_, field)                                             \
  case number:                                                                         \
    block->kind = kind_;                                                               \
    for (int64_t k = 0; k < block->count; ++k) block->as.field[k] = ((const T *)x)[k]; \
    break

static void load(block *block, const cpu_vec *vec, int32_t type, const char *x) {
  float halves[BLOCK];
  switch (type) {
    LOAD_CASE(OPS_TYPE_BOOL, uint8_t, OPS_TYPE_INT64, i);
    LOAD_CASE(OPS_TYPE_INT8, int8_t, OPS_TYPE_INT64, i);
    LOAD_CASE(OPS_TYPE_INT16, int16_t, OPS_TYPE_INT64, i);
    LOAD_CASE(OPS_TYPE_INT32, int32_t, OPS_TYPE_INT64, i);
    LOAD_CASE(OPS_TYPE_INT64, int64_t, OPS_TYPE_INT64, i);
    LOAD_CASE(OPS_TYPE_UINT8, uint8_t, OPS_TYPE_INT64, i);
    LOAD_CASE(OPS_TYPE_UINT16, uint16_t, OPS_TYPE_INT64, i);
    LOAD_CASE(OPS_TYPE_UINT32, uint32_t, OPS_TYPE_INT64, i);
    LOAD_CASE(OPS_TYPE_UINT64, uint64_t, OPS_TYPE_UINT64, u);
    LOAD_CASE(OPS_TYPE_FLOAT, float, OPS_TYPE_DOUBLE, d);
    LOAD_CASE(OPS_TYPE_DOUBLE, double, OPS_TYPE_DOUBLE, d);
    default:
      cpu_half_widen(vec, type, x, 2, halves, block->count);
      block->kind = OPS_TYPE_DOUBLE;
      for (int64_t k = 0; k < block->count; ++k) block->as.d[k] = (double)halves[k];
  }
}

// Truncates towards zero; what does not fit, which ONNX leaves undefined, wraps or saturates.
static uint64_t to_integer(double value) {
  if (value != value) return (uint64_t)INT64_MIN;
  if (value >= 9223372036854775808.0)
    return value >= 18446744073709551616.0 ? UINT64_MAX : (uint64_t)value;
  if (value < -9223372036854775808.0) return (uint64_t)INT64_MIN;
  return (uint64_t)(int64_t)value;
}

#define STORE_INTEGER(number, T)                                                             \
  case number:                                                                               \
    for (int64_t k = 0; k < block->count; ++k)                                               \
      ((T *)y)[k] =                                                                          \
          (T)(block->kind == OPS_TYPE_DOUBLE ? to_integer(block->as.d[k]) : block->as.u[k]); \
    break

#define STORE_FLOAT(number, T)                                           \
  case number:                                                           \
    for (int64_t k = 0; k < block->count; ++k)                           \
      ((T *)y)[k] = block->kind == OPS_TYPE_DOUBLE  ? (T)block->as.d[k]  \
                    : block->kind == OPS_TYPE_INT64 ? (T)block->as.i[k]  \
                                                    : (T)block->as.u[k]; \
    break

// A double of the same sign and magnitude class whose last bit is set if anything was cut off:
// exact enough for rounding to eleven bits or fewer.
static double wide_value(const block *block, int64_t k) {
  if (block->kind == OPS_TYPE_DOUBLE) return block->as.d[k];
  const int negative = block->kind == OPS_TYPE_INT64 && block->as.i[k] < 0;
  uint64_t magnitude = negative ? 0 - block->as.u[k] : block->as.u[k];
  if (magnitude >> 53)
    magnitude =
        (magnitude & ~UINT64_C(0x7ff)) | ((magnitude & 0x7ff) != 0 ? UINT64_C(0x800) : 0);
  return negative ? -(double)magnitude : (double)magnitude;
}

static float round_to_odd(double value) {
  const float nearest = (float)value;
  if ((double)nearest == value || value != value || isinf(nearest)) return nearest;
  uint32_t bits = ops_float_to_bits(nearest);
  if (fabs((double)nearest) > fabs(value)) --bits;  // towards zero
  return ops_bits_to_float(bits | 1);
}

static void store_half(const block *block, const cpu_vec *vec, int32_t type, char *y) {
  float halves[BLOCK];
  for (int64_t k = 0; k < block->count; ++k) halves[k] = round_to_odd(wide_value(block, k));
  cpu_half_narrow(vec, type, halves, y, block->count);
}

static void store(const block *block, const cpu_vec *vec, int32_t type, char *y) {
  switch (type) {
    case OPS_TYPE_BOOL:
      for (int64_t k = 0; k < block->count; ++k)
        ((uint8_t *)y)[k] =
            block->kind == OPS_TYPE_DOUBLE ? block->as.d[k] != 0 : block->as.u[k] != 0;
      break;
      STORE_INTEGER(OPS_TYPE_INT8, int8_t);
      STORE_INTEGER(OPS_TYPE_INT16, int16_t);
      STORE_INTEGER(OPS_TYPE_INT32, int32_t);
      STORE_INTEGER(OPS_TYPE_INT64, int64_t);
      STORE_INTEGER(OPS_TYPE_UINT8, uint8_t);
      STORE_INTEGER(OPS_TYPE_UINT16, uint16_t);
      STORE_INTEGER(OPS_TYPE_UINT32, uint32_t);
      STORE_INTEGER(OPS_TYPE_UINT64, uint64_t);
      STORE_FLOAT(OPS_TYPE_FLOAT, float);
      STORE_FLOAT(OPS_TYPE_DOUBLE, double);
    default:
      store_half(block, vec, type, y);
  }
}

typedef struct run {
  const cpu_vec *vec;
  int32_t from, to;
  const char *x;
  char *y;
} run;

static void run_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  const run *run = context;
  const int64_t from = cpu_type_size(run->from), to = cpu_type_size(run->to);
  block block;
  (void)worker;
  if (run->from == OPS_TYPE_FLOAT && cpu_is_half(run->to)) {
    cpu_half_narrow(run->vec, run->to, (const float *)run->x + begin, run->y + begin * to,
                    end - begin);
    return;
  }
  if (run->to == OPS_TYPE_FLOAT && cpu_is_half(run->from)) {
    cpu_half_widen(run->vec, run->from, run->x + begin * from, from, (float *)run->y + begin,
                   end - begin);
    return;
  }
  for (int64_t i = begin; i < end; i += BLOCK) {
    block.count = end - i < BLOCK ? end - i : BLOCK;
    load(&block, run->vec, run->from, run->x + i * from);
    store(&block, run->vec, run->to, run->y + i * to);
  }
}

static int32_t execute(const ops_prepared *prepared, const ops_execute_request *request,
                       ops_error *error) {
  const cast_prepared *own = (const cast_prepared *)prepared;
  const ops_device *device = prepared->kernel->device;
  run run = {device->vec, own->from, ((const cast_kernel *)prepared->kernel)->to,
             cpu_in_data(request, 0), cpu_out_data(request, 0)};
  (void)error;
  if (run.from == run.to)
    cpu_copy_bytes(device, run.y, run.x, own->count * cpu_type_size(run.to));
  else
    cpu_parallel(device, own->count, cpu_grain(2), run_range, &run);
  return OPS_OK;
}

const cpu_op cpu_cast_op = {.kernel_size = sizeof(cast_kernel),
                            .prepared_size = sizeof(cast_prepared),
                            .claim = claim,
                            .create = create,
                            .prepare = prepare,
                            .execute = execute};
