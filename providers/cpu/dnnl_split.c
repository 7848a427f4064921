// SPDX-License-Identifier: Apache-2.0
//
// The pieces' plans, and running them. See dnnl_split.h.
#include "dnnl_split.h"

#include <ops_support/checked.h>
#include <ops_support/error.h>

// Products from which a plan is cut: below, waking a worker costs more than it saves.
static const double kWorthSharing = 1.5e6;

typedef struct piece {
  cpu_dnnl_plan *plan;
  cpu_cut cut;
} piece;

struct cpu_split {
  const ops_device *device;
  uint64_t stride;  // bytes of workspace for each piece, a multiple of 64
  int32_t count;
  piece pieces[];
};

static int32_t workers_for(const ops_device *device, double products) {
  const int32_t workers = device->api->worker_count(device->host);
  return workers < 1 || products < kWorthSharing ? 1 : workers;
}

static int32_t create(const ops_device *device, int32_t count, cpu_split **out_split,
                      ops_error *error) {
  cpu_split *split =
      cpu_alloc(device, sizeof *split + (uint64_t)count * sizeof split->pieces[0]);
  *out_split = split;
  if (!split) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: no memory for a plan");
  split->device = device;
  split->count = count;
  return OPS_OK;
}

// The workspace; destroys the split if `status` or the workspace is an error.
static int32_t deliver(int32_t status, cpu_split **split, ops_error *error) {
  uint64_t total;
  for (int32_t i = 0; status == OPS_OK && i < (*split)->count; ++i) {
    const uint64_t bytes = cpu_dnnl_plan_workspace((*split)->pieces[i].plan);
    if (bytes > (*split)->stride) (*split)->stride = bytes;
  }
  if (status == OPS_OK &&
      (!ops_checked_align((*split)->stride, 64, &(*split)->stride) ||
       !ops_checked_mul((*split)->stride, (uint64_t)(*split)->count, &total)))
    status = ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: workspace too large");
  if (status == OPS_OK) return OPS_OK;
  cpu_split_destroy(*split);
  *split = NULL;
  return status;
}

int32_t cpu_split_conv(const ops_device *device, const cpu_dnnl_conv *conv,
                       const ops_constant *weights, cpu_packs *packs, cpu_split **out_split,
                       ops_error *error) {
  const int32_t count =
      cpu_cut_conv_count(conv, workers_for(device, cpu_dnnl_conv_products(conv)));
  int32_t status = create(device, count, out_split, error);
  for (int32_t i = 0; status == OPS_OK && i < count; ++i) {
    piece *p = &(*out_split)->pieces[i];
    cpu_dnnl_conv part;
    cpu_cut_conv(conv, i, count, &part, &p->cut);
    status = cpu_dnnl_plan_conv(device, &part, weights, p->cut.weights, packs, &p->plan, error);
  }
  return *out_split ? deliver(status, out_split, error) : status;
}

void cpu_split_destroy(cpu_split *split) {
  if (!split) return;
  for (int32_t i = 0; i < split->count; ++i) cpu_dnnl_plan_destroy(split->pieces[i].plan);
  cpu_free(split->device, split);
}

uint64_t cpu_split_workspace(const cpu_split *split) {
  return split->stride * (uint64_t)split->count;
}

int cpu_split_has_packed(const cpu_split *split) {
  for (int32_t i = 0; i < split->count; ++i)
    if (!cpu_dnnl_plan_has_packed(split->pieces[i].plan)) return 0;
  return split->count > 0;
}

ops_str cpu_split_name(const cpu_split *split) {
  return cpu_dnnl_plan_name(split->pieces[0].plan);
}

// ---- Running --------------------------------------------------------------------------------

typedef struct run {
  const cpu_split *split;
  const float *source, *weights, *bias;
  float *target;
  char *workspace;
  atomic_int status;  // of the first piece that failed, which alone writes the error
  ops_error *error;
} run;

static int32_t run_piece(run *run, int32_t index, ops_error *error) {
  const piece *p = &run->split->pieces[index];
  const cpu_cut *cut = &p->cut;
  return cpu_dnnl_plan_run(p->plan, run->source + cut->source,
                           run->weights ? run->weights + cut->weights : NULL,
                           run->bias ? run->bias + cut->bias : NULL, run->target + cut->target,
                           run->workspace + (uint64_t)index * run->split->stride, error);
}

static void run_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  run *run = context;
  (void)worker;
  for (int64_t i = begin; i < end; ++i) {
    ops_error own = OPS_ERROR_INIT;
    int ok = OPS_OK;
    const int32_t status = run_piece(run, (int32_t)i, &own);
    if (status == OPS_OK || !atomic_compare_exchange_strong(&run->status, &ok, status))
      continue;
    ops_error_copy(run->error, status, &own);
  }
}

int32_t cpu_split_run(const cpu_split *split, const float *source, const float *weights,
                      const float *bias, float *target, void *workspace, ops_error *error) {
  run run = {.split = split,
             .source = source,
             .weights = weights,
             .bias = bias,
             .target = target,
             .workspace = workspace,
             .error = error};
  if (split->count == 1) return run_piece(&run, 0, error);
  atomic_init(&run.status, OPS_OK);
  cpu_parallel(split->device, split->count, 1, run_range, &run);
  return atomic_load(&run.status);
}
