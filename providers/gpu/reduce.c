// SPDX-License-Identifier: Apache-2.0
//
// The Reduce family, ArgMax and ArgMin. Where there are too few lines to fill the device, each
// is cut in parts, which a second launch joins.
#include "reduce.h"

#include <ops_support/claim.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <string.h>

#define X(symbol, is_real_)                                                                  \
  const gpu_reduce gpu_reduce_##symbol = {.base = {.claim = gpu_reduce_claim,                \
                                                   .attribute_bytes = sizeof(gpu_reduction), \
                                                   .parse = gpu_reduce_parse,                \
                                                   .plan = gpu_reduce_plan},                 \
                                          .name = #symbol,                                   \
                                          .is_real = is_real_};
GPU_REDUCE_LIST(X)
#undef X

static int32_t is_floating(int32_t type) {
  return type == OPS_TYPE_FLOAT || type == OPS_TYPE_DOUBLE || type == OPS_TYPE_FLOAT16 ||
         type == OPS_TYPE_BFLOAT16;
}

static int32_t is_natural(int32_t type) {
  return type == OPS_TYPE_UINT8 || type == OPS_TYPE_UINT16 || type == OPS_TYPE_UINT32 ||
         type == OPS_TYPE_UINT64 || type == OPS_TYPE_BOOL;
}

void gpu_reduce_claim(const ops_device *device, const ops_kernel_def *def, const ops_node *node,
                      ops_claim *claim) {
  const gpu_reduce *row = (const gpu_reduce *)def->context;
  const ops_operand *data = ops_node_input(node, 0);
  if (data && row->is_real && !is_floating(data->type->type) &&
      !(device->properties.features & GPU_FEATURE_FP64))
    ops_claim_refuse(claim, OPS_REASON_FEATURE,
                     "integers are reduced in double, the device lacks fp64");
}

int32_t gpu_reduce_parse(const ops_kernel_def *def, const ops_node *node, void *attributes,
                         ops_error *error) {
  gpu_reduction *r = attributes;
  r->row = (const gpu_reduce *)def->context;
  r->keep = ops_node_int(node, "keepdims", 1) != 0;
  r->noop = ops_node_int(node, "noop_with_empty_axes", 0) != 0;
  r->last = ops_node_int(node, "select_last_index", 0) != 0;
  if (!gpu_reduce_is_arg(r->row)) return gpu_axes_read(node, "axes", &r->axes, error);
  r->axes = (gpu_axes){1, {ops_node_int(node, "axis", 0)}};
  return OPS_OK;
}

// ---- Shapes ----

static uint64_t find_reduced(const gpu_reduction *r, gpu_plan *plan, int32_t rank) {
  gpu_axes axes;
  const int32_t given = gpu_axes_resolve(plan, &r->axes, 1, &axes);
  if (given && axes.count > 0) return gpu_axes_mark(plan, &axes, rank);
  return r->noop ? 0 : (UINT64_C(1) << rank) - 1;
}

static void state_output(const gpu_reduction *r, gpu_plan *plan, const ops_type_info *x,
                         uint64_t reduced, int32_t type) {
  int64_t dims[OPS_MAX_RANK];
  int32_t rank = 0;
  for (int32_t d = 0; d < x->rank; ++d)
    if (!((reduced >> d) & 1))
      dims[rank++] = x->dims[d];
    else if (r->keep)
      dims[rank++] = 1;
  gpu_plan_output(plan, 0, type, rank, dims);
}

// ---- The launches ----

// Integers wrap in 64 bits where that is exact, and else compute in double.
static const char *accumulator(const gpu_reduce *row, int32_t type) {
  if (is_floating(type)) return gpu_accumulator(type);
  if (row->is_real) return "double";
  const int32_t compares = strcmp(row->name, "Max") == 0 || strcmp(row->name, "Min") == 0;
  return compares && !is_natural(type) ? "long" : "ulong";
}

// What an empty line gives.
static void define_extremes(gpu_step *step, int32_t type) {
  const int32_t bits = type == OPS_TYPE_BOOL ? 1 : ops_type_bits(type);
  if (is_floating(type)) {
    gpu_define(step, "LOWEST", "(-INFINITY)");
    gpu_define(step, "LARGEST", "INFINITY");
  } else if (is_natural(type)) {
    gpu_define(step, "LOWEST", "0");
    gpu_define(step, "LARGEST", "(~(ulong)0 >> %d)", 64 - bits);
  } else {
    gpu_define(step, "LOWEST", "(-(long)(~(ulong)0 >> %d) - 1)", 65 - bits);
    gpu_define(step, "LARGEST", "(~(ulong)0 >> %d)", 65 - bits);
  }
}

static int64_t divide_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// Parts of each line, so that every compute unit has some groups, and items enough to do.
static int64_t choose_parts(const ops_device *device, const gpu_lines *lines) {
  const int64_t groups = divide_up(lines->kept.count, lines->items_x);
  const int64_t wanted = 4 * (int64_t)device->properties.compute_units;
  const int64_t most = lines->inner.count / (32 * (int64_t)lines->items_y);
  int64_t parts = groups > 0 ? wanted / groups : 1;
  if (parts > most) parts = most;
  if (parts > 256) parts = 256;
  return parts < 1 ? 1 : parts;
}

typedef struct job {
  const gpu_reduction *r;
  int32_t type, to;
  gpu_lines lines;
  int64_t parts, share;
  uint64_t workspace;
} job;

static gpu_step *add_step(gpu_plan *plan, const job *job, const char *function) {
  gpu_step *step = gpu_plan_step(plan, &gpu_lines_source, function);
  char name[32] = "OP_";
  strcat(name, job->r->row->name);
  gpu_define(step, name, "1");
  gpu_define(step, "IS_REDUCTION", "1");
  gpu_define_type(step, "T", job->type);
  gpu_define_type(step, "TO", job->to);
  gpu_define(step, "ACC", "%s", accumulator(job->r->row, job->type));
  gpu_define(step, "IS_UNSIGNED", "%d", is_natural(job->type));
  gpu_define(step, "IS_LAST", "%d", job->r->last);
  define_extremes(step, job->type);
  gpu_lines_define(step, &job->lines);
  gpu_arg_input(step, 0);
  gpu_arg_output(step, 0);
  if (job->parts > 1)
    gpu_arg_workspace(step, job->workspace);
  else
    gpu_arg_absent(step);
  gpu_lines_arg(step, &job->lines);
  gpu_lines_index(step, &job->lines, job->share);
  gpu_arg_int(step, job->parts > 1 ? (int32_t)job->parts : 0);
  return step;
}

static void add_launches(gpu_plan *plan, job *job) {
  enum { kAccumulatorBytes = 16 };  // the largest acc_t
  const int64_t count = job->lines.inner.count;
  job->parts = choose_parts(plan->device, &job->lines);
  job->share = divide_up(count > 0 ? count : 1, job->parts);
  job->parts = divide_up(count > 0 ? count : 1, job->share);
  if (job->parts > 1)
    job->workspace = gpu_plan_workspace(
        plan, (uint64_t)(job->parts * job->lines.kept.count) * kAccumulatorBytes);
  gpu_lines_grid(add_step(plan, job, "reduce"), &job->lines, job->parts);
  if (job->parts > 1) gpu_grid_items(add_step(plan, job, "reduce_join"), job->lines.kept.count);
}

void gpu_reduce_plan_axes(const gpu_reduction *r, gpu_plan *plan, uint64_t reduced) {
  const ops_type_info *x = ops_request_input(plan->request, 0)->type;
  const int32_t arg = gpu_reduce_is_arg(r->row);
  job job = {.r = r, .type = x->type, .to = arg ? OPS_TYPE_INT64 : x->type};
  state_output(r, plan, x, reduced, job.to);
  gpu_lines_cut(plan, x->rank, x->dims, reduced, &job.lines);
  if (arg && job.lines.inner.count == 0 && job.lines.kept.count > 0)
    gpu_plan_fail(plan, OPS_ERROR_INVALID_ARGUMENT,
                  "dimension %lld is empty and has no extreme", (long long)r->axes.values[0]);
  if (plan->status == OPS_OK) add_launches(plan, &job);
}

void gpu_reduce_plan(const ops_kernel *kernel, gpu_plan *plan) {
  const gpu_reduction *r = kernel->attributes;
  const int32_t rank = ops_request_input(plan->request, 0)->type->rank;
  const uint64_t reduced = find_reduced(r, plan, rank);
  if (plan->status == OPS_OK) gpu_reduce_plan_axes(r, plan, reduced);
}
