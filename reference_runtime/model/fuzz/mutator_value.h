// SPDX-License-Identifier: Apache-2.0
//
// Private to the mutator: random choices, and values that are worth trying in a field.
#ifndef RT_MODEL_FUZZ_MUTATOR_VALUE_H_
#define RT_MODEL_FUZZ_MUTATOR_VALUE_H_

#include <protobuf-c/protobuf-c.h>

#include "model/arena.h"

typedef struct rt_fuzz_random {
  uint64_t state;  // not 0
} rt_fuzz_random;

// A number below `bound`, which is not 0.
uint64_t rt_fuzz_below(rt_fuzz_random *random, uint64_t bound);

// Bytes of one value of a field: of one element where the field is a list.
size_t rt_fuzz_value_size(ProtobufCType type);

// Changes the value at `slot`, which is valid, to another of its type; of any but messages.
// Memory comes from the arena. Returns 0 if there is none.
int rt_fuzz_change_value(rt_fuzz_random *random, rt_model_arena *arena,
                         const ProtobufCFieldDescriptor *field, void *slot);

#endif  // RT_MODEL_FUZZ_MUTATOR_VALUE_H_
