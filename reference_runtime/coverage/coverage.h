// SPDX-License-Identifier: Apache-2.0
//
// Which of the combinations of types that the schemas allow a provider takes: the walk over
// operators × opsets × types behind the coverage test and the operator tables of the docs.
//
// For each version of an operator and each opset that it holds in, every assignment of allowed
// types to its type parameters is made into a node (all its arguments there, attributes as the
// schema has them by default), and the provider is asked for its claim.
#ifndef RT_COVERAGE_COVERAGE_H_
#define RT_COVERAGE_COVERAGE_H_

#include <ops/ops.h>

#include "schema/schema.h"

// --- A provider to ask -----------------------------------------------------------------------

typedef struct rt_coverage_provider rt_coverage_provider;

// Opens the provider `name` (as ops_library_open finds it) and its first device. The caller
// owns *out_provider until rt_coverage_close.
int32_t rt_coverage_open(const char *name, rt_coverage_provider **out_provider,
                         ops_error *error);
void rt_coverage_close(rt_coverage_provider *provider);              // accepts NULL
const char *rt_coverage_name(const rt_coverage_provider *provider);  // as the provider gives it

// --- Types -----------------------------------------------------------------------------------

#define RT_COVERAGE_TENSOR 0
#define RT_COVERAGE_SEQUENCE 1           // of tensors
#define RT_COVERAGE_OPTIONAL 2           // tensor
#define RT_COVERAGE_OPTIONAL_SEQUENCE 3  // of tensors
#define RT_COVERAGE_MAP 4                // `elem` is the number of a bit RT_SCHEMA_MAP_…

typedef struct rt_coverage_type {
  int32_t form;  // RT_COVERAGE_…
  int32_t elem;  // OPS_TYPE_…
} rt_coverage_type;

#define RT_COVERAGE_MOST_TYPES (4 * OPS_TYPE_COUNT + 8)  // that a parameter can allow
// The types of a set, in the order of the forms. Returns their number.
int32_t rt_coverage_list(const rt_schema_types *types,
                         rt_coverage_type out[RT_COVERAGE_MOST_TYPES]);

#define RT_COVERAGE_TEXT 64
// "float", "seq(float)", "map(int64, float)".
const char *rt_coverage_format(rt_coverage_type type, char text[RT_COVERAGE_TEXT]);

// --- The walk --------------------------------------------------------------------------------

// The last opset that the schema holds in: before the operator's next version, else the newest
// of its domain.
int32_t rt_coverage_until(const rt_schema *schema);

// 1 if the runtime runs the operator itself: control flow, and Gradient, which stands for nodes
// of other operators.
int rt_coverage_needs_runtime(const rt_schema *schema);

typedef struct rt_coverage_case {
  const rt_schema *schema;
  int32_t opset;
  const rt_coverage_type *types;  // one for each constraint of the schema, in its order
  // 1: the provider takes nodes of these types. So it does if it refuses this one for the value
  // of an attribute, a shape, a layout, or for want of a constant.
  int32_t is_accepted;
  const ops_claim *claim;  // its answer
} rt_coverage_case;

// Returns OPS_OK to go on; any other status ends the walk, which returns it.
typedef int32_t (*rt_coverage_visit)(void *context, const rt_coverage_case *found,
                                     ops_error *error);

// Visits all combinations of one version in one opset. Deprecated versions have none.
int32_t rt_coverage_walk(const rt_coverage_provider *provider, const rt_schema *schema,
                         int32_t opset, rt_coverage_visit visit, void *context,
                         ops_error *error);

#endif  // RT_COVERAGE_COVERAGE_H_
