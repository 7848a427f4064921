// SPDX-License-Identifier: Apache-2.0
//
// The provider's side of a measurement: one node of a case, through the ABI.
#ifndef PROVIDERS_CUDA_BENCH_NODE_H_
#define PROVIDERS_CUDA_BENCH_NODE_H_

#include "cases.h"
#include "loader/host.h"
#include "loader/library.h"

// The provider, opened on its first device.
typedef struct bench_rig {
  ops_library *library;
  ops_host *host;
  ops_instance *instance;
  ops_device *device;
  ops_stream *stream;
  const ops_provider *provider;
} bench_rig;

int32_t bench_rig_open(bench_rig *rig, const char *path, ops_error *error);
void bench_rig_close(bench_rig *rig);  // accepts one that opened in part

typedef struct bench_node bench_node;

// Claims, creates and prepares the node of a case, on arguments in device memory with values in
// [-1, 1). UNSUPPORTED with the provider's reason if it does not claim the node.
int32_t bench_node_create(bench_rig *rig, const bench_case *row, bench_node **out_node,
                          ops_error *error);
void bench_node_destroy(bench_node *node);  // accepts NULL
// Enqueues one run.
int32_t bench_node_run(bench_node *node, ops_error *error);
int32_t bench_node_finish(bench_node *node, ops_error *error);
// Of all inputs and the output.
uint64_t bench_node_bytes(const bench_node *node);
// The shape of the output.
const int64_t *bench_node_output(const bench_node *node);

uint64_t bench_type_bytes(int32_t type);
int32_t bench_rank(const int64_t dims[kBenchRank]);
int64_t bench_elements(const int64_t dims[kBenchRank]);
// `count` elements with values in [-1, 1), from malloc; NULL: no memory.
void *bench_random(int32_t type, int64_t count);

#endif  // PROVIDERS_CUDA_BENCH_NODE_H_
