// SPDX-License-Identifier: Apache-2.0
//
// Test cases as onnx_cases.py writes them, in memory.
#ifndef REFERENCE_CASE_TEST_UTIL_H_
#define REFERENCE_CASE_TEST_UTIL_H_

#include <ops/ops.h>

typedef struct case_tensor {
  int32_t type;
  int32_t rank;
  int64_t dims[OPS_MAX_RANK];
  int64_t count;
  uint64_t size;
  const unsigned char *bytes;  // contiguous elements
  ops_str *strings;            // type STRING
} case_tensor;

typedef struct case_value {
  ops_str name;
  case_tensor tensor;
} case_value;

typedef struct case_node {
  ops_str domain;
  ops_str op;
  int32_t opset;
  ops_str *inputs;
  uint32_t input_count;
  ops_str *outputs;
  uint32_t output_count;
  ops_attribute *attributes;
  uint32_t attribute_count;
} case_node;

typedef struct case_test {
  ops_str name;
  double rtol, atol;
  case_value *inputs;  // of the graph, initializers included
  uint32_t input_count;
  case_value *outputs;  // expected
  uint32_t output_count;
  case_node *nodes;
  uint32_t node_count;
} case_test;

typedef struct case_file {
  case_test *tests;
  uint32_t count;
  unsigned char *bytes;
  void *allocations;             // a chain
  struct case_strings *strings;  // tensor attributes of strings, a chain
} case_file;

// Exits with a message if the file cannot be read. Close with case_file_close.
void case_file_open(case_file *file, const char *path);
void case_file_close(case_file *file);

#endif  // REFERENCE_CASE_TEST_UTIL_H_
