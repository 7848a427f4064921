// SPDX-License-Identifier: Apache-2.0
//
// Providers' rewrite rules: before placement, a provider replaces operators that it lacks by
// ones that it has, in the runtime's copy of the graph.
//
// Each rule is tried once on every node, bodies included, in the order of the devices'
// preference and of their tables. It is applied where its pattern matches (inner values have no
// other reader), no more preferred device takes any of the matched nodes, its own device does
// not take all of them, and each new node is taken by its device or a more preferred one;
// otherwise the graph is left as it was.
#ifndef RT_PARTITION_REWRITE_H_
#define RT_PARTITION_REWRITE_H_

#include "graph/graph.h"
#include "partition/device.h"

#define RT_REWRITE_MAX_PATTERN 64u  // nodes of a pattern; longer rules are refused
#define RT_REWRITE_MAX_NODES 4096u  // that one application may add

// What was done (is_hit 1), or which condition kept a rule whose pattern matched from being
// applied. `rule` is "provider/rule"; texts live for the call.
typedef void (*rt_rewrite_note_fn)(void *user, int is_hit, const char *rule, const char *text);

// `note` may be NULL. Fails with what a rule fails with, with INTERNAL where a rule breaks its
// contract (a missing output, another type than before), and with OUT_OF_MEMORY; messages name
// provider, rule and node. The graph is then good for nothing but to be destroyed.
int32_t rt_partition_rewrite(rt_graph *graph, rt_device *const *devices, uint32_t device_count,
                             rt_rewrite_note_fn note, void *user, ops_error *error);

#endif  // RT_PARTITION_REWRITE_H_
