// SPDX-License-Identifier: Apache-2.0
//
// The stack grows by doubling where the number of iterations is not known before, and never
// moves otherwise. Slices whose bits do not fill bytes are copied element by element.
#include "execution/stack.h"

#include <ops_support/checked.h>
#include <ops_support/error.h>
#include <ops_support/tensor.h>
#include <stdlib.h>
#include <string.h>

#include "loader/value.h"
#include "memory/allocator.h"

#define FIRST_SLOTS 8

static int32_t exhausted(const rt_stack *stack, ops_error *error) {
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY,
                       "host memory is exhausted: scan output '%s' of %lld slices", stack->name,
                       (long long)(stack->total >= 0 ? stack->total : stack->count + 1));
}

void rt_stack_finish(rt_stack *stack) {
  for (int64_t i = 0; i < stack->string_capacity; ++i) ops_value_release(stack->strings[i]);
  free(stack->strings);
  free(stack->data);
  if (stack->host) rt_allocator_discharge(stack->host, stack->capacity);
  *stack = (rt_stack){0};
}

// ---- Elements -------------------------------------------------------------------------------

void rt_elements_copy(int32_t type, void *to, int64_t to_first, const void *from,
                      int64_t from_first, int64_t count) {
  const int64_t bits = ops_type_bits(type);
  if (count == 0) return;
  if (bits % 8 == 0) {
    memcpy((char *)to + to_first * (bits / 8), (const char *)from + from_first * (bits / 8),
           (size_t)(count * (bits / 8)));
    return;
  }
  unsigned char *target = to;
  const unsigned char *source = from;
  for (int64_t i = 0; i < count * bits; ++i) {
    const int64_t at = to_first * bits + i, of = from_first * bits + i;
    const unsigned bit = source[of / 8] >> of % 8 & 1u;
    target[at / 8] = (unsigned char)((target[at / 8] & ~(1u << at % 8)) | bit << at % 8);
  }
}

// ---- Room -----------------------------------------------------------------------------------

static int32_t bytes_of(const rt_stack *stack, int64_t slots, uint64_t *out_bytes,
                        ops_error *error) {
  int64_t elements;
  if (!__builtin_mul_overflow(stack->elements, slots, &elements) &&
      ops_type_bytes(stack->type, elements, out_bytes))
    return OPS_OK;
  return exhausted(stack, error);
}

// Memory for `slots` slots, zeroed where nothing has been written.
static int32_t reserve(rt_stack *stack, int64_t slots, ops_error *error) {
  uint64_t need = 0;
  OPS_RETURN_IF_ERROR(bytes_of(stack, slots, &need, error));
  if (stack->data && need <= stack->capacity) return OPS_OK;
  if (stack->total < 0 && need < 2 * stack->capacity) need = 2 * stack->capacity;
  void *grown = NULL;
  if (rt_allocator_charge(stack->host, need, error) != OPS_OK)
    return ops_error_prefix(error, "scan output '%s'", stack->name);
  if (posix_memalign(&grown, RT_MEMORY_HOST_ALIGNMENT, need ? need : 1) != 0) {
    rt_allocator_discharge(stack->host, need);
    return exhausted(stack, error);
  }
  if (stack->capacity) memcpy(grown, stack->data, stack->capacity);
  memset((char *)grown + stack->capacity, 0, (need ? need : 1) - stack->capacity);
  free(stack->data);
  rt_allocator_discharge(stack->host, stack->capacity);
  stack->data = grown;
  stack->capacity = need;
  return OPS_OK;
}

static int32_t reserve_strings(rt_stack *stack, int64_t slots, ops_error *error) {
  if (slots <= stack->string_capacity) return OPS_OK;
  if (stack->total < 0 && slots < 2 * stack->string_capacity)
    slots = 2 * stack->string_capacity;
  uint64_t bytes;
  if (!ops_checked_mul((uint64_t)slots, sizeof *stack->strings, &bytes))
    return exhausted(stack, error);
  ops_value **grown = realloc(stack->strings, bytes);
  if (!grown) return exhausted(stack, error);
  for (int64_t i = stack->string_capacity; i < slots; ++i) grown[i] = NULL;
  stack->strings = grown;
  stack->string_capacity = slots;
  return OPS_OK;
}

static int32_t make_room(rt_stack *stack, int64_t slot, ops_error *error) {
  const int64_t first = stack->started ? slot + 1 : FIRST_SLOTS;
  const int64_t slots = stack->total >= 0 ? stack->total : first > slot ? first : slot + 1;
  return stack->kind == OPS_VALUE_STRINGS ? reserve_strings(stack, slots, error)
                                          : reserve(stack, slots, error);
}

int32_t rt_stack_place(rt_stack *stack, int64_t slot, uint64_t size, uint64_t alignment,
                       void **out_memory, ops_error *error) {
  *out_memory = NULL;
  if (!stack->started || stack->slice_bytes == 0 || stack->kind != OPS_VALUE_TENSOR)
    return OPS_OK;
  OPS_RETURN_IF_ERROR(make_room(stack, slot, error));
  const uint64_t offset = (uint64_t)slot * stack->slice_bytes;
  if (size > stack->capacity - offset) return OPS_OK;
  if (alignment && (uintptr_t)(stack->data + offset) % alignment) return OPS_OK;
  *out_memory = stack->data + offset;
  return OPS_OK;
}

// ---- Slices ---------------------------------------------------------------------------------

static int32_t start(rt_stack *stack, const rt_run_output *output, int64_t slot,
                     ops_error *error) {
  if (output->kind != OPS_VALUE_TENSOR && output->kind != OPS_VALUE_STRINGS)
    return ops_error_set_cause(error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_BODY_MISMATCH,
                               "scan output '%s' is no tensor, and only tensors can be stacked",
                               stack->name);
  if (output->rank >= OPS_MAX_RANK)
    return ops_error_set_cause(error, OPS_ERROR_INVALID_MODEL, OPS_CAUSE_BODY_MISMATCH,
                               "scan output '%s' has rank %d; stacked it would exceed %d",
                               stack->name, output->rank, OPS_MAX_RANK);
  stack->kind = output->kind;
  stack->type = output->type;
  stack->rank = output->rank;
  if (output->rank > 0)
    memcpy(stack->dims, output->dims, (size_t)output->rank * sizeof output->dims[0]);
  if (!ops_checked_count(stack->dims, stack->rank, &stack->elements))
    return exhausted(stack, error);
  const int whole = stack->elements * ops_type_bits(stack->type) % 8 == 0;
  if (stack->kind == OPS_VALUE_TENSOR && whole) stack->slice_bytes = output->size;
  OPS_RETURN_IF_ERROR(make_room(stack, slot, error));
  stack->started = 1;
  return OPS_OK;
}

static int fits(const rt_stack *stack, const rt_run_output *output) {
  return stack->kind == output->kind && stack->type == output->type &&
         stack->rank == output->rank &&
         (stack->rank == 0 ||
          memcmp(stack->dims, output->dims, (size_t)stack->rank * sizeof stack->dims[0]) == 0);
}

// The shape of strings is the value's.
static int32_t complete(rt_run_output *output, ops_error *error) {
  const int64_t *dims = NULL;
  if (output->kind != OPS_VALUE_STRINGS) return OPS_OK;
  output->type = OPS_TYPE_STRING;
  OPS_RETURN_IF_ERROR(
      ops_value_accessors.strings_shape(output->value, &output->rank, &dims, error));
  if (output->rank > 0)
    memcpy(output->dims, dims, (size_t)output->rank * sizeof output->dims[0]);
  return OPS_OK;
}

int32_t rt_stack_put(rt_stack *stack, int64_t slot, rt_run_output *output, ops_error *error) {
  OPS_RETURN_IF_ERROR(complete(output, error));
  if (!stack->started) OPS_RETURN_IF_ERROR(start(stack, output, slot, error));
  if (!fits(stack, output))
    return ops_error_set_cause(
        error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_WRONG_VALUE,
        "scan output '%s' changed its type or shape in iteration %lld; "
        "expected %s of rank %d as in the first one, found %s of rank %d or "
        "other dimensions",
        stack->name, (long long)stack->count, ops_type_name(stack->type), stack->rank,
        ops_type_name(output->type), output->rank);
  OPS_RETURN_IF_ERROR(make_room(stack, slot, error));
  if (stack->kind == OPS_VALUE_STRINGS) {
    ops_value_release(stack->strings[slot]);
    stack->strings[slot] = output->value;
    output->value = NULL;
  } else if (stack->slice_bytes == 0 ||
             output->data != stack->data + (uint64_t)slot * stack->slice_bytes) {
    rt_elements_copy(stack->type, stack->data, slot * stack->elements, output->data, 0,
                     stack->elements);
  }
  stack->count++;
  rt_run_output_finish(output);
  return OPS_OK;
}

// ---- The result -----------------------------------------------------------------------------

// An empty stack has the shape that the graph knows; what it does not know is 0.
static void imagine(rt_stack *stack, const rt_type *like) {
  stack->kind = like->elem_type == OPS_TYPE_STRING ? OPS_VALUE_STRINGS : OPS_VALUE_TENSOR;
  stack->type = like->elem_type ? like->elem_type : OPS_TYPE_FLOAT;
  stack->rank = like->kind == RT_TYPE_TENSOR && like->rank > 0 ? like->rank : 0;
  if (stack->rank >= OPS_MAX_RANK) stack->rank = OPS_MAX_RANK - 1;
  for (int32_t i = 0; i < stack->rank; ++i)
    stack->dims[i] = rt_dim_is_const(like->dims[i]) ? like->dims[i].value : 0;
  if (!ops_checked_count(stack->dims, stack->rank, &stack->elements)) stack->elements = 0;
}

// Blocks of elements in front of and behind the new axis.
typedef struct split {
  int64_t outer, inner;
} split;

static split split_at(const rt_stack *stack, int64_t axis) {
  split s = {1, 1};
  for (int32_t i = 0; i < stack->rank; ++i) *(i < axis ? &s.outer : &s.inner) *= stack->dims[i];
  return s;
}

static int32_t give_tensor(rt_stack *stack, int64_t slots, int64_t axis, rt_run_output *output,
                           ops_error *error) {
  OPS_RETURN_IF_ERROR(bytes_of(stack, slots, &output->size, error));
  OPS_RETURN_IF_ERROR(reserve(stack, slots, error));
  output->data = stack->data;
  rt_allocator_discharge(stack->host, stack->capacity);
  stack->data = NULL;
  stack->capacity = 0;
  if (axis == 0 || output->size == 0) return OPS_OK;
  const split s = split_at(stack, axis);
  void *turned = NULL;
  if (posix_memalign(&turned, RT_MEMORY_HOST_ALIGNMENT, output->size) != 0)
    return exhausted(stack, error);
  memset(turned, 0, output->size);
  for (int64_t o = 0; o < s.outer; ++o)
    for (int64_t n = 0; n < slots; ++n)
      rt_elements_copy(stack->type, turned, (o * slots + n) * s.inner, output->data,
                       (n * s.outer + o) * s.inner, s.inner);
  free(output->data);
  output->data = turned;
  return OPS_OK;
}

static int32_t give_strings(rt_stack *stack, int64_t slots, int64_t axis, rt_run_output *output,
                            ops_error *error) {
  const ops_value_api *api = &ops_value_accessors;
  const split s = split_at(stack, axis);
  OPS_RETURN_IF_ERROR(ops_value_create(OPS_VALUE_STRINGS, &output->value, error));
  OPS_RETURN_IF_ERROR(api->strings_resize(output->value, output->rank, output->dims, error));
  for (int64_t n = 0; n < slots && n < stack->string_capacity; ++n)
    for (int64_t i = 0; stack->strings[n] && i < stack->elements; ++i) {
      const int64_t o = i / s.inner, at = (o * slots + n) * s.inner + i % s.inner;
      ops_str text;
      OPS_RETURN_IF_ERROR(api->string_get(stack->strings[n], (uint64_t)i, &text, error));
      OPS_RETURN_IF_ERROR(api->string_set(output->value, (uint64_t)at, text, error));
    }
  return OPS_OK;
}

int32_t rt_stack_give(rt_stack *stack, int64_t axis, const rt_type *like, rt_run_output *output,
                      ops_error *error) {
  const int64_t slots = stack->total >= 0 ? stack->total : stack->count;
  if (!stack->started) imagine(stack, like);
  if (axis < 0) axis += stack->rank + 1;
  if (axis < 0 || axis > stack->rank)
    return ops_error_set_cause(error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_WRONG_VALUE,
                               "scan output '%s': the axis is %lld, expected one of [0, %d]",
                               stack->name, (long long)axis, stack->rank);
  *output = (rt_run_output){.kind = stack->kind, .type = stack->type, .rank = stack->rank + 1};
  for (int32_t i = 0, from = 0; i <= stack->rank; ++i)
    output->dims[i] = i == axis ? slots : stack->dims[from++];
  if (stack->kind == OPS_VALUE_STRINGS) return give_strings(stack, slots, axis, output, error);
  return give_tensor(stack, slots, axis, output, error);
}
