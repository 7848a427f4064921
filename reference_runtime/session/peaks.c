// SPDX-License-Identifier: Apache-2.0
//
// What a device can do at most, measured: arithmetic by products of matrices, bandwidth by Relu
// over a tensor that no cache holds. Both run as chains of a short and a long length through
// the same stages as models; the difference of the times leaves out what does not grow with the
// length: planning, copies of inputs and outputs, waiting. A kernel may use the peak less well
// than these two, never much better.
#include <ops_support/error.h>
#include <ops_support/tensor.h>
#include <stdlib.h>

#include "infer/infer.h"
#include "session/session.h"

#define SHORT_CHAIN 1u
#define LONG_CHAIN 5u
#define REPEATS 5
// A chain that takes this long is not run again, nor with larger tensors.
#define LONG_ENOUGH_NS 20000000u

typedef struct workload {
  const char *op;
  int32_t rank;
  uint32_t operands;          // of each node: the running value and, if two, the input
  const int64_t *sizes;       // of each dimension, growing; 0 ends the list
  double (*work)(int64_t n);  // of one node: operations, or bytes
  int32_t any_size;  // 1: the best size counts; 0: the largest, smaller ones fit caches
} workload;

static double product_flops(int64_t n) {
  return 2.0 * (double)n * (double)n * (double)n;
}

// Read and written.
static double relu_bytes(int64_t n) {
  return 2.0 * sizeof(float) * (double)n;
}

static const int64_t product_sizes[] = {128, 256, 512, 1024, 2048, 0};
static const int64_t relu_sizes[] = {1 << 20, 1 << 22, 1 << 24, 0};
static const workload product = {"MatMul", 2, 2, product_sizes, product_flops, 1};
static const workload stream = {"Relu", 1, 1, relu_sizes, relu_bytes, 0};

static int32_t make_chain(const workload *w, int64_t n, uint32_t length, rt_graph **out_graph,
                          ops_error *error) {
  const rt_dim dims[] = {rt_dim_const(n), rt_dim_const(n)};
  const rt_type type = rt_type_tensor(OPS_TYPE_FLOAT, w->rank, dims);
  rt_value *input = NULL, *value = NULL;
  OPS_RETURN_IF_ERROR(rt_graph_create("peak", out_graph, error));
  OPS_RETURN_IF_ERROR(rt_graph_add_input(*out_graph, "x", &type, &input, error));
  value = input;
  for (uint32_t i = 0; i < length; ++i) {
    rt_value *operands[] = {value, input};
    const rt_node_desc desc = {.op = w->op,
                               .opset = 13,
                               .inputs = operands,
                               .input_count = w->operands,
                               .output_count = 1};
    rt_node *node = NULL;
    OPS_RETURN_IF_ERROR(rt_graph_add_node(*out_graph, &desc, NULL, &node, error));
    value = rt_node_output(node, 0);
  }
  OPS_RETURN_IF_ERROR(rt_graph_add_output(*out_graph, "y", value, NULL, error));
  return rt_infer_graph(*out_graph, NULL, error);
}

// The fastest of some runs, after one that plans.
static int32_t time_runs(rt_executor *executor, const rt_run_input *input, uint64_t *out_ns,
                         ops_error *error) {
  rt_run_output output;
  *out_ns = UINT64_MAX;
  for (int i = 0; i <= REPEATS && !(i > 1 && *out_ns >= LONG_ENOUGH_NS); ++i) {
    const uint64_t start = rt_profile_now();
    const rt_run_request request = {.inputs = input, .outputs = &output};
    OPS_RETURN_IF_ERROR(rt_executor_run(executor, &request, error));
    const uint64_t ns = rt_profile_now() - start;
    rt_run_output_finish(&output);
    if (i > 0 && ns < *out_ns) *out_ns = ns;
  }
  return OPS_OK;
}

static int32_t time_chain(opsrt_session *session, uint32_t device, const workload *w, int64_t n,
                          uint32_t length, const float *data, uint64_t *out_ns,
                          ops_error *error) {
  rt_graph *graph = NULL;
  rt_partition *partition = NULL;
  rt_executor *executor = NULL;
  const int64_t dims[] = {n, n};
  const ops_type_info type = {.struct_size = sizeof type,
                              .kind = OPS_VALUE_TENSOR,
                              .type = OPS_TYPE_FLOAT,
                              .rank = w->rank,
                              .dims = dims};
  const rt_run_input input = {.type = &type, .data = data};
  int32_t status = make_chain(w, n, length, &graph, error);
  if (status == OPS_OK)
    status = rt_partition_create(graph, &session->devices[device], 1, NULL, &partition, error);
  const rt_executor_options options = {.graph = graph,
                                       .partition = partition,
                                       .devices = session->devices,
                                       .device_count = session->device_count,
                                       .max_plans = 1};
  if (status == OPS_OK) status = rt_executor_create(&options, &executor, error);
  if (status == OPS_OK) status = time_runs(executor, &input, out_ns, error);
  rt_executor_destroy(executor);
  rt_partition_destroy(partition);
  rt_graph_destroy(graph);
  return status;
}

static float *constant_data(uint64_t count, float value) {
  float *data = malloc(count * sizeof *data);
  for (uint64_t i = 0; data && i < count; ++i) data[i] = value;
  return data;
}

// Work per second of tensors of one size; 0 if the device cannot run them.
static double rate_at(opsrt_session *session, uint32_t device, const workload *w, int64_t n,
                      uint64_t *out_ns) {
  uint64_t short_ns = 0, long_ns = 0;
  const uint64_t count = w->rank == 2 ? (uint64_t)(n * n) : (uint64_t)n;
  // A matrix of 1 / n, whose powers are all itself.
  float *data = constant_data(count, w->rank == 2 ? 1.0f / (float)n : 1.0f);
  if (!data) return 0;
  int32_t status = time_chain(session, device, w, n, SHORT_CHAIN, data, &short_ns, NULL);
  if (status == OPS_OK)
    status = time_chain(session, device, w, n, LONG_CHAIN, data, &long_ns, NULL);
  free(data);
  *out_ns = long_ns;
  if (status != OPS_OK || long_ns == 0) return 0;
  // On a machine with other work the short chain can come out the longer one.
  if (long_ns <= short_ns) return w->work(n) * LONG_CHAIN / ((double)long_ns * 1e-9);
  return w->work(n) * (LONG_CHAIN - SHORT_CHAIN) / ((double)(long_ns - short_ns) * 1e-9);
}

static double measure(opsrt_session *session, uint32_t device, const workload *w) {
  double rate = 0;
  uint64_t ns = 0;
  for (uint32_t i = 0; w->sizes[i] && ns < LONG_ENOUGH_NS; ++i) {
    const double found = rate_at(session, device, w, w->sizes[i], &ns);
    if (found == 0) break;
    if (!w->any_size || found > rate) rate = found;
  }
  return rate;
}

void rt_session_measure_peaks(opsrt_session *session, uint32_t device, rt_peaks *out_peaks) {
  atomic_store(&session->measuring, 1);
  *out_peaks = (rt_peaks){.known = 1,
                          .flops = measure(session, device, &product),
                          .bytes_per_second = measure(session, device, &stream)};
  atomic_store(&session->measuring, 0);
}
