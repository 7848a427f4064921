// SPDX-License-Identifier: Apache-2.0
//
// The optimizer: passes that turn a graph with types into a better graph.
//
// Levels: 0 nothing; 1 exact: the same kernels give bitwise the same outputs (payloads of NaNs
// apart); 2 fusions, which may change rounding; 3 layouts. A level includes those below it.
//
// Order: the passes of the table run in its order, round after round, until a round changes
// nothing or RT_PASSES_MAX_ROUNDS are over. Exact passes come to rest before fusions begin, and
// run again between rounds of fusions.
//
// The optimizer knows no provider. What it must know of them the caller tells through
// rt_passes_host.
#ifndef RT_PASSES_PASSES_H_
#define RT_PASSES_PASSES_H_

#include "graph/graph.h"

#define RT_PASSES_MAX_LEVEL 3
#define RT_PASSES_MAX_ROUNDS 16u

// --- What there is ---------------------------------------------------------------------------

typedef struct rt_pass_info {
  const char *name;  // for --disable-pass
  int32_t level;     // the lowest level at which it runs
  const char *doc;   // one line
} rt_pass_info;

// In the order in which they run.
uint32_t rt_passes_count(void);
const rt_pass_info *rt_passes_info(uint32_t index);

// --- What the caller lends -------------------------------------------------------------------

// A claim that nobody makes.
#define RT_CLAIM_NOBODY UINT32_MAX

typedef struct rt_passes_host {
  void *user;
  // Runs a graph without inputs and gives what its outputs are; the caller of this function
  // releases them. NULL: nothing is folded.
  int32_t (*evaluate)(void *user, rt_graph *graph, rt_constant **out_constants,
                      ops_error *error);
  // The place, in the order of preference, of the first provider that claims the node as it
  // stands in its graph, or RT_CLAIM_NOBODY. NULL: fusions are not gated.
  int32_t (*claim)(void *user, const rt_node *node, uint32_t *out_place, ops_error *error);
} rt_passes_host;

// What is written down while passes run; text lives for the call.
#define RT_PASS_HIT 1   // what was rewritten
#define RT_PASS_MISS 2  // what was not, and which condition failed
typedef void (*rt_passes_note_fn)(void *user, const rt_pass_info *pass, int32_t kind,
                                  const char *text);

// In which type nodes compute that the model has in float.
#define RT_PRECISION_KEEP 0      // float
#define RT_PRECISION_FLOAT16 1   // all that a provider takes so
#define RT_PRECISION_BFLOAT16 2  // likewise
#define RT_PRECISION_MIXED 3     // sums of products and what follows them; the rest stays float

typedef struct rt_precision_override {
  const char *name;   // of an operator ("Softmax"), or of a node of the model
  int32_t precision;  // RT_PRECISION_…
} rt_precision_override;

// Zero-initialise, then set what differs from the default.
typedef struct rt_passes_options {
  int32_t level;
  const char *const *disabled;  // names of passes that do not run
  uint64_t disabled_count;
  int32_t freeze_initializers;  // 1: inputs that have a default become constants
  int32_t keep_opsets;  // 1: no operator is newer than the model's own opset (to be saved)
  int32_t verify;       // 1: rt_graph_verify after every pass that changed something
  int32_t precision;    // RT_PRECISION_…; other than KEEP needs level 2
  const rt_precision_override *overrides;  // of it, the last one that fits a node counts
  uint64_t override_count;
  uint64_t max_folded_bytes;  // of one constant that folding makes larger; 0: 1 MiB
  rt_passes_host host;
  // Hits at once; near misses when the last round is over. NULL: nobody reads them.
  rt_passes_note_fn note;
  void *note_user;
} rt_passes_options;

// Rewrites a graph whose types are inferred, bodies included, and infers anew. `out_hits`
// receives the number of rewrites of each pass, rt_passes_count() of them, `out_ns` the time
// that each took without `verify`; both may be NULL. Fails with INVALID_ARGUMENT (an unknown
// pass or level; the message lists what there is), OUT_OF_MEMORY, INTERNAL (a pass broke the
// graph; the message names it). After a failure the graph is good for nothing but to be
// destroyed.
int32_t rt_passes_run(rt_graph *graph, const rt_passes_options *options, uint64_t *out_hits,
                      uint64_t *out_ns, ops_error *error);

#endif  // RT_PASSES_PASSES_H_
