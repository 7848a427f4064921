// SPDX-License-Identifier: Apache-2.0
//
// Constants of one graph with the same type, shape and bits become one. Candidates are found by
// a hash of type, shape and some of the data; then all bits are compared.
#include <stdlib.h>
#include <string.h>

#include "passes/equal.h"
#include "passes/pass.h"

#define SAMPLED 64u  // bytes at the begin and at the end

static uint64_t hash_bytes(uint64_t hash, const void *data, uint64_t size) {
  const uint8_t *bytes = data;
  for (uint64_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * UINT64_C(0x100000001B3);
  return hash;
}

static uint64_t hash_constant(const rt_constant *constant) {
  uint64_t hash = UINT64_C(0xCBF29CE484222325) + (uint64_t)constant->elem_type;
  if (constant->rank > 0)
    hash = hash_bytes(hash, constant->dims, (uint64_t)constant->rank * sizeof *constant->dims);
  if (!constant->data) return hash ^ hash >> 32;
  const uint64_t part = constant->size < SAMPLED ? constant->size : SAMPLED;
  hash = hash_bytes(hash, constant->data, part);
  hash = hash_bytes(hash, (const uint8_t *)constant->data + constant->size - part, part);
  return hash ^ hash >> 32;
}

static int is_candidate(const rt_value *value) {
  return value->kind == RT_VALUE_CONSTANT && !value->constant->sparse &&
         value->output_count == 0 && value->use_count > 0;
}

static int32_t run(rt_pass_context *context, rt_graph *graph, ops_error *error) {
  size_t room = 16;
  while (room < 2 * (size_t)graph->value_count) room *= 2;
  rt_value **slots = calloc(room, sizeof(rt_value *));
  if (!slots) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "sharing constants");
  int32_t status = OPS_OK;
  for (rt_value *value = graph->first_value, *next; status == OPS_OK && value; value = next) {
    next = value->next;
    if (!is_candidate(value)) continue;
    size_t at = hash_constant(value->constant) & (room - 1);
    while (slots[at] && !rt_pass_constants_equal(slots[at]->constant, value->constant))
      at = (at + 1) & (room - 1);
    if (!slots[at]) {
      slots[at] = value;
      continue;
    }
    rt_pass_hit(context, "constant '%s': removed, equals '%s'", value->name, slots[at]->name);
    status = rt_value_replace_uses(value, slots[at], error);
    if (status == OPS_OK) status = rt_graph_remove_value(graph, value, error);
  }
  free(slots);
  return status;
}

const rt_pass rt_pass_initializer_sharing = {.run = run};
