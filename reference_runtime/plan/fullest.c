// SPDX-License-Identifier: Apache-2.0
//
// A block is as large as its largest buffer. Where that is a dense value whose dimensions are
// polynomials, its size is one, too; it is believed only if its value at the plan's shapes is
// the block's size (a private layout pads).
#include "plan/fullest.h"

#include <ops_support/checked.h>
#include <ops_support/error.h>
#include <ops_support/tensor.h>
#include <stdlib.h>

#include "plan/builder.h"

// Values of the symbols that the inputs' shapes tell; -1 elsewhere.
static int64_t *bind_symbols(const rt_plan *plan, const rt_graph *graph, uint32_t count) {
  int64_t *values = malloc(((size_t)count + 1) * sizeof *values);
  for (uint32_t i = 0; values && i < count; ++i) values[i] = -1;
  for (uint32_t i = 0; values && i < plan->buffer_count; ++i) {
    const rt_buffer *buffer = &plan->buffers[i];
    if (buffer->storage != RT_STORAGE_INPUT || buffer->viewed || !buffer->type->dims) continue;
    const rt_type *type = &buffer->value->type;
    for (int32_t k = 0; type->rank == buffer->type->rank && k < type->rank; ++k) {
      uint32_t symbol;
      if (rt_dim_as_symbol(graph->root->symbols, type->dims[k], &symbol) && symbol < count)
        values[symbol] = buffer->type->dims[k];
    }
  }
  return values;
}

// Bytes of a value; unknown if its type does not say.
static rt_dim bytes_of(rt_symbols *symbols, const rt_type *type) {
  uint64_t size = 0;
  if (type->kind != RT_TYPE_TENSOR || type->rank < 0 ||
      !ops_type_bytes(type->elem_type, 1, &size) || ops_type_bits(type->elem_type) % 8)
    return rt_dim_unknown();
  rt_dim bytes = rt_dim_const((int64_t)size);
  for (int32_t i = 0; i < type->rank; ++i) bytes = rt_dim_mul(symbols, bytes, type->dims[i]);
  return bytes;
}

// The size of block `number`, as an expression if one of its buffers has it.
static rt_dim size_of_block(const rt_plan *plan, const rt_graph *graph, uint32_t number,
                            const int64_t *values, uint32_t count) {
  const int64_t size = (int64_t)plan->blocks[number].size;
  for (uint32_t i = 0; i < plan->buffer_count; ++i) {
    const rt_buffer *buffer = &plan->buffers[i];
    int64_t at_plan = 0;
    if (buffer->storage != RT_STORAGE_ARENA || buffer->block != number || !buffer->value)
      continue;
    const rt_dim bytes = bytes_of(graph->root->symbols, &buffer->value->type);
    if (rt_dim_evaluate(graph->root->symbols, bytes, values, count, &at_plan) &&
        at_plan == size)
      return bytes;
  }
  return rt_dim_const(size);
}

static int is_alive(const rt_plan_block *block, uint32_t place, uint32_t step) {
  return block->size && block->place == place && block->first <= step && step <= block->last;
}

static uint32_t fullest_step(const rt_plan *plan, uint32_t place) {
  uint64_t most = 0;
  uint32_t found = 0;
  for (uint32_t step = 0; step <= plan->action_count; ++step) {
    uint64_t alive = 0;
    for (uint32_t i = 0; i < plan->block_count; ++i)
      if (is_alive(&plan->blocks[i], place, step)) alive += plan->blocks[i].size;
    if (alive > most) {
      most = alive;
      found = step;
    }
  }
  return found;
}

int32_t rt_plan_find_fullest(const rt_plan *plan, const rt_graph *graph, uint32_t arena,
                             rt_plan_fullest *out_fullest, ops_error *error) {
  const uint32_t place = plan->arenas[arena].place, step = fullest_step(plan, place);
  const uint32_t count = rt_symbols_count(graph->root->symbols);
  int64_t *values = bind_symbols(plan, graph, count);
  if (!values) return rt_builder_exhausted(error);
  const int single = !plan->successors && step < plan->action_count;
  *out_fullest = (rt_plan_fullest){.action = single ? &plan->actions[step] : NULL,
                                   .bytes = rt_dim_const(0)};
  for (uint32_t i = 0; i < plan->block_count; ++i)
    if (is_alive(&plan->blocks[i], place, step))
      out_fullest->bytes = rt_dim_add(graph->root->symbols, out_fullest->bytes,
                                      size_of_block(plan, graph, i, values, count));
  free(values);
  return OPS_OK;
}
