// SPDX-License-Identifier: Apache-2.0
//
// Private to execution/: what a body yields in each iteration, stacked along a new axis. From
// the second iteration on the body writes into the stack's own memory.
#ifndef RT_EXECUTION_STACK_H_
#define RT_EXECUTION_STACK_H_

#include "execution/executor.h"

typedef struct rt_stack {
  const char *name;    // of the output, for messages
  rt_allocator *host;  // what `data` counts against
  int64_t total;       // slots, if their number is known before; else -1
  int64_t count;       // slots so far
  int32_t started;     // 1: the fields below are those of the first slice
  int32_t kind;
  int32_t type;
  int32_t rank;
  int64_t dims[OPS_MAX_RANK];
  int64_t elements;      // of a slice
  uint64_t slice_bytes;  // 0: a slice does not begin on a byte
  char *data;
  uint64_t capacity;    // bytes, all of them charged
  ops_value **strings;  // kind STRINGS: by slot
  int64_t string_capacity;
} rt_stack;

void rt_stack_finish(rt_stack *stack);
// Memory for slot `slot`, or NULL in *out_memory if it cannot be written in place.
int32_t rt_stack_place(rt_stack *stack, int64_t slot, uint64_t size, uint64_t alignment,
                       void **out_memory, ops_error *error);
// Slot `slot` becomes `output`, copied unless it lies there; `output` is empty afterwards.
// INVALID_ARGUMENT if it differs in type or shape from the first.
int32_t rt_stack_put(rt_stack *stack, int64_t slot, rt_run_output *output, ops_error *error);
// Moves the stack into `output`, slots along `axis` of the result. `like` tells what an empty
// stack holds. Slots that were left out are zeros.
int32_t rt_stack_give(rt_stack *stack, int64_t axis, const rt_type *like, rt_run_output *output,
                      ops_error *error);

// Copies `count` elements of a type that may be narrower than a byte.
void rt_elements_copy(int32_t type, void *to, int64_t to_first, const void *from,
                      int64_t from_first, int64_t count);

#endif  // RT_EXECUTION_STACK_H_
