// SPDX-License-Identifier: Apache-2.0
//
// Order over contracted graphs: every unit, and every part of a proposed group, counts as one
// node. A contraction is legal if the result has no cycle, which Kahn's algorithm decides.
#include <ops_support/error.h>
#include <stdlib.h>
#include <string.h>

#include "partition/state.h"

// The contracted graph's node of each position: label[position] < label_count.
typedef struct contraction {
  uint32_t *label;
  uint32_t label_count;
  uint32_t *pending;  // by label: edges that are not yet satisfied
  uint32_t *first;    // by label: its smallest position, which orders equals
  uint32_t *queue;    // a heap of ready labels, then the resulting order
  uint32_t *order;
} contraction;

static int32_t contraction_init(contraction *c, uint32_t node_count, ops_error *error) {
  const size_t room = (size_t)node_count * 2 + 1;
  *c = (contraction){.label = malloc(room * sizeof *c->label),
                     .pending = malloc(room * sizeof *c->pending),
                     .first = malloc(room * sizeof *c->first),
                     .queue = malloc(room * sizeof *c->queue),
                     .order = malloc(room * sizeof *c->order)};
  if (c->label && c->pending && c->first && c->queue && c->order) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "ordering %u nodes", node_count);
}

static void contraction_finish(contraction *c) {
  free(c->label);
  free(c->pending);
  free(c->first);
  free(c->queue);
  free(c->order);
}

// Labels: units first, then each unplaced node its own.
static void label_nodes(const rt_partition_state *state, contraction *c) {
  c->label_count = state->unit_count;
  for (uint32_t i = 0; i < state->node_count; ++i)
    c->label[i] = state->unit_of[i] != RT_UNPLACED ? state->unit_of[i] : c->label_count++;
}

// Calls `visit` for each edge that leaves `position`, one per use.
typedef void (*edge_visitor)(contraction *c, uint32_t from, uint32_t to, uint32_t *ready);

static void visit_edges(const rt_partition_state *state, contraction *c, uint32_t position,
                        edge_visitor visit, uint32_t *ready) {
  const rt_node *node = state->nodes[position];
  for (uint32_t i = 0; i < node->output_count; ++i) {
    const rt_value *value = node->outputs[i];
    for (uint32_t k = 0; value && k < value->use_count; ++k) {
      const rt_node *reader = value->uses[k].node;
      if (reader->graph != state->graph) continue;
      const uint32_t from = c->label[position], to = c->label[state->position[reader->id]];
      if (from != to) visit(c, from, to, ready);
    }
  }
}

static void count_edge(contraction *c, uint32_t from, uint32_t to, uint32_t *ready) {
  (void)from, (void)ready;
  c->pending[to]++;
}

static void push(contraction *c, uint32_t *size, uint32_t label) {
  uint32_t at = (*size)++;
  for (; at > 0 && c->first[c->queue[(at - 1) / 2]] > c->first[label]; at = (at - 1) / 2)
    c->queue[at] = c->queue[(at - 1) / 2];
  c->queue[at] = label;
}

static uint32_t pop(contraction *c, uint32_t *size) {
  const uint32_t top = c->queue[0], last = c->queue[--*size];
  uint32_t at = 0;
  for (;;) {
    uint32_t child = 2 * at + 1;
    if (child >= *size) break;
    if (child + 1 < *size && c->first[c->queue[child + 1]] < c->first[c->queue[child]]) child++;
    if (c->first[c->queue[child]] >= c->first[last]) break;
    c->queue[at] = c->queue[child];
    at = child;
  }
  c->queue[at] = last;
  return top;
}

static void satisfy_edge(contraction *c, uint32_t from, uint32_t to, uint32_t *ready) {
  (void)from;
  if (--c->pending[to] == 0) push(c, ready, to);
}

// Kahn's algorithm. `members` lists the positions of each label by chain: next[position].
// Returns how many labels were ordered: all of them if there is no cycle.
static uint32_t sort_labels(const rt_partition_state *state, contraction *c, uint32_t *next,
                            uint32_t *head) {
  memset(c->pending, 0, c->label_count * sizeof *c->pending);
  for (uint32_t i = 0; i < c->label_count; ++i) head[i] = c->first[i] = UINT32_MAX;
  for (uint32_t i = state->node_count; i-- > 0;) {
    next[i] = head[c->label[i]];
    head[c->label[i]] = c->first[c->label[i]] = i;
    visit_edges(state, c, i, count_edge, NULL);
  }
  uint32_t ready = 0, done = 0;
  for (uint32_t i = 0; i < c->label_count; ++i)
    if (c->pending[i] == 0) push(c, &ready, i);
  while (ready > 0) {
    const uint32_t label = pop(c, &ready);
    c->order[done++] = label;
    for (uint32_t i = head[label]; i != UINT32_MAX; i = next[i])
      visit_edges(state, c, i, satisfy_edge, &ready);
  }
  return done;
}

static int32_t sort(const rt_partition_state *state, contraction *c, int *out_acyclic,
                    ops_error *error) {
  uint32_t *next = malloc(((size_t)state->node_count + 1) * sizeof *next);
  uint32_t *head = malloc(((size_t)c->label_count + 1) * sizeof *head);
  int32_t status = OPS_OK;
  if (next && head)
    *out_acyclic = sort_labels(state, c, next, head) == c->label_count;
  else
    status =
        ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "ordering %u nodes", state->node_count);
  free(next);
  free(head);
  return status;
}

// 1 in *out_acyclic if members[begin, end) may be contracted, given the parts before.
static int32_t try_part(const rt_partition_state *state, contraction *c,
                        const uint32_t *members, const uint32_t *part_of, uint32_t count,
                        int *out_acyclic, ops_error *error) {
  label_nodes(state, c);
  const uint32_t base = c->label_count;
  uint32_t parts = 0;
  for (uint32_t i = 0; i < count; ++i) {
    c->label[members[i]] = base + part_of[i];
    if (part_of[i] + 1 > parts) parts = part_of[i] + 1;
  }
  // Labels of the members' own became unused: they are labels without edges.
  c->label_count = base + parts;
  return sort(state, c, out_acyclic, error);
}

int32_t rt_partition_cut(const rt_partition_state *state, const uint32_t *members,
                         uint32_t count, uint32_t *part_of, uint32_t *out_part_count,
                         ops_error *error) {
  contraction c;
  int acyclic = 0;
  int32_t status = contraction_init(&c, state->node_count, error);
  if (status != OPS_OK) goto cleanup;
  *out_part_count = 1;
  memset(part_of, 0, count * sizeof *part_of);
  status = try_part(state, &c, members, part_of, count, &acyclic, error);
  if (status != OPS_OK || acyclic) goto cleanup;
  for (uint32_t i = 0; i < count; ++i) {
    // The last part first; a node that cannot join it opens a new one.
    part_of[i] = *out_part_count - 1;
    status = try_part(state, &c, members, part_of, i + 1, &acyclic, error);
    if (status != OPS_OK) goto cleanup;
    if (!acyclic) part_of[i] = (*out_part_count)++;
  }

cleanup:
  contraction_finish(&c);
  return status;
}

int32_t rt_partition_order(const rt_partition_state *state, uint32_t *out_order,
                           ops_error *error) {
  contraction c;
  int acyclic = 0;
  int32_t status = contraction_init(&c, state->node_count, error);
  if (status != OPS_OK) goto cleanup;
  label_nodes(state, &c);
  status = sort(state, &c, &acyclic, error);
  if (status != OPS_OK) goto cleanup;
  if (!acyclic) {
    status = ops_error_set(error, OPS_ERROR_INTERNAL, "the units form a cycle");
    goto cleanup;
  }
  memcpy(out_order, c.order, state->unit_count * sizeof *out_order);

cleanup:
  contraction_finish(&c);
  return status;
}
