// SPDX-License-Identifier: Apache-2.0
//
// External data: a temporary folder with a model and its data file, and everything that may be
// wrong with the reference from one to the other.
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <ops_support/error.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/model.h"
#include "model/model_test_util.h"

static char folder[] = "/tmp/model_external_XXXXXX";

static void write_file(const char *name, const void *data, size_t size) {
  char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  fclose(file);
}

// The folder holds weights.bin (1000 floats, each its index), sub/inner.bin, a link to each of
// an inner and an outer file, and a link to an outer folder.
static int set_up(void **state) {
  (void)state;
  char path[256];
  float weights[1000];
  for (int i = 0; i < 1000; ++i) weights[i] = (float)i;
  if (!mkdtemp(folder)) return -1;
  write_file("weights.bin", weights, sizeof weights);
  write_file("empty.bin", "", 0);
  snprintf(path, sizeof path, "%s/sub", folder);
  if (mkdir(path, 0755) != 0) return -1;
  write_file("sub/inner.bin", weights, sizeof weights);
  snprintf(path, sizeof path, "%s/inner_link", folder);
  if (symlink("sub/inner.bin", path) != 0) return -1;
  snprintf(path, sizeof path, "%s/outer_link", folder);
  if (symlink("/etc/passwd", path) != 0) return -1;
  snprintf(path, sizeof path, "%s/outer_folder", folder);
  return symlink("/etc", path);
}

static int tear_down(void **state) {
  (void)state;
  static const char *const names[] = {"weights.bin", "empty.bin",   "sub/inner.bin",
                                      "inner_link",  "outer_link",  "outer_folder",
                                      "model.onnx",  "weights.onnx"};
  char path[256];
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    unlink(path);
  }
  snprintf(path, sizeof path, "%s/sub", folder);
  rmdir(path);
  return rmdir(folder);
}

static void add_entry(pb *tensor, const char *key, const char *value) {
  pb entry = {0};
  if (!value) return;
  pb_add_str(&entry, 1, key);
  pb_add_str(&entry, 2, value);
  pb_add_message(tensor, 13, entry);
}

// A model with one float tensor of `count` elements in an external file.
static pb model_bytes(int64_t count, const char *location, const char *offset,
                      const char *length) {
  pb tensor = pb_tensor("t", OPS_TYPE_FLOAT, 1, &count), graph = {0};
  add_entry(&tensor, "location", location);
  add_entry(&tensor, "offset", offset);
  add_entry(&tensor, "length", length);
  pb_add_int(&tensor, 14, 1);
  pb_add_message(&graph, 5, tensor);
  return pb_model(graph, 13);
}

static int32_t load(pb bytes, rt_model **out_model, ops_error *error) {
  const int32_t status =
      rt_model_load_bytes(bytes.data, bytes.size, folder, NULL, out_model, error);
  free(bytes.data);
  return status;
}

static void assert_values(pb bytes, int64_t count, float first, int mapped) {
  ops_error error = OPS_ERROR_INIT;
  rt_model *model = NULL;
  const int32_t status = load(bytes, &model, &error);
  if (status != OPS_OK) print_error("%s\n", error.message);
  assert_int_equal(status, OPS_OK);
  const rt_model_tensor *t = &model->graph.initializers[0];
  const float *values = t->data;
  assert_int_equal(t->element_count, count);
  assert_int_equal(t->is_mapped, mapped);
  assert_int_equal((uintptr_t)t->data % 4, 0);
  for (int64_t i = 0; i < count && mapped; ++i) assert_true(values[i] == first + (float)i);
  rt_model_destroy(model);
}

static void assert_refused(pb bytes, int32_t expected, const char *text) {
  ops_error error = OPS_ERROR_INIT;
  rt_model *model = NULL;
  assert_int_equal(load(bytes, &model, &error), expected);
  assert_null(model);
  if (!strstr(error.message, text)) print_error("found: %s\n", error.message);
  assert_non_null(strstr(error.message, text));
}

static void maps_ranges(void **state) {
  (void)state;
  assert_values(model_bytes(1000, "weights.bin", NULL, NULL), 1000, 0, 1);
  assert_values(model_bytes(10, "weights.bin", "400", "40"), 10, 100, 1);
  assert_values(model_bytes(1, "weights.bin", "3996", NULL), 1, 999, 1);
  assert_values(model_bytes(1000, "sub/inner.bin", NULL, NULL), 1000, 0, 1);
  assert_values(model_bytes(1000, "./sub//inner.bin", NULL, NULL), 1000, 0, 1);
  assert_values(model_bytes(1000, "inner_link", NULL, NULL), 1000, 0, 1);
  assert_values(model_bytes(0, "empty.bin", NULL, NULL), 0, 0, 0);
}

// Bytes 2 to 5 of the floats 0.0f and 1.0f.
static void copies_unaligned_data(void **state) {
  (void)state;
  ops_error error = OPS_ERROR_INIT;
  rt_model *model = NULL;
  assert_int_equal(load(model_bytes(1, "weights.bin", "2", "4"), &model, &error), OPS_OK);
  const rt_model_tensor *t = &model->graph.initializers[0];
  assert_int_equal(t->is_mapped, 0);
  assert_int_equal((uintptr_t)t->data % 4, 0);
  assert_memory_equal(t->data, "\0\0\0\0", 4);
  rt_model_destroy(model);
}

static void refuses_ranges_outside(void **state) {
  (void)state;
  assert_refused(model_bytes(1000, "weights.bin", "4", NULL), OPS_ERROR_INVALID_MODEL,
                 "from byte 4 over 4000 bytes, but the file 'weights.bin' has 4000");
  assert_refused(model_bytes(1, "weights.bin", "18446744073709551614", NULL),
                 OPS_ERROR_INVALID_MODEL, "from byte 18446744073709551614");
  assert_refused(model_bytes(1, "weights.bin", "18446744073709551616", NULL),
                 OPS_ERROR_INVALID_MODEL, "expected a number of bytes");
  assert_refused(model_bytes(1, "weights.bin", "-4", NULL), OPS_ERROR_INVALID_MODEL,
                 "entry 'offset' is '-4'; expected a number of bytes");
  assert_refused(model_bytes(1, "weights.bin", "4k", NULL), OPS_ERROR_INVALID_MODEL,
                 "expected a number of bytes");
  assert_refused(model_bytes(10, "weights.bin", NULL, "44"), OPS_ERROR_INVALID_MODEL,
                 "length 44; expected 40");
  assert_refused(model_bytes(1, "empty.bin", NULL, NULL), OPS_ERROR_INVALID_MODEL, "has 0");
}

static void refuses_paths_outside(void **state) {
  (void)state;
  assert_refused(model_bytes(1, "/etc/passwd", NULL, NULL), OPS_ERROR_INVALID_MODEL,
                 "is an absolute path");
  assert_refused(model_bytes(1, "../x", NULL, NULL), OPS_ERROR_INVALID_MODEL, "contains '..'");
  assert_refused(model_bytes(1, "sub/../weights.bin", NULL, NULL), OPS_ERROR_INVALID_MODEL,
                 "contains '..'");
  assert_refused(model_bytes(1, "sub/..", NULL, NULL), OPS_ERROR_INVALID_MODEL,
                 "contains '..'");
  assert_refused(model_bytes(1, "outer_link", NULL, NULL), OPS_ERROR_INVALID_MODEL,
                 "is a link out of the model's folder");
  assert_refused(model_bytes(1, "outer_folder/passwd", NULL, NULL), OPS_ERROR_INVALID_MODEL,
                 "is a link out of the model's folder");
  assert_refused(model_bytes(1, "", NULL, NULL), OPS_ERROR_INVALID_MODEL, "is empty");
  assert_refused(model_bytes(1, NULL, NULL, NULL), OPS_ERROR_INVALID_MODEL,
                 "no entry 'location'");
  assert_refused(model_bytes(1, "sub", NULL, NULL), OPS_ERROR_INVALID_MODEL,
                 "is not a regular file");
  assert_refused(model_bytes(1, "missing.bin", NULL, NULL), OPS_ERROR_IO,
                 "missing.bin' cannot be opened: No such file or directory");
  assert_refused(model_bytes(1, ".", NULL, NULL), OPS_ERROR_INVALID_MODEL,
                 "out of the model's");
}

static void needs_a_folder(void **state) {
  (void)state;
  pb bytes = model_bytes(1000, "weights.bin", NULL, NULL);
  ops_error error = OPS_ERROR_INIT;
  rt_model *model = NULL;
  assert_int_equal(rt_model_load_bytes(bytes.data, bytes.size, NULL, NULL, &model, &error),
                   OPS_ERROR_INVALID_MODEL);
  assert_non_null(strstr(error.message, "pass base_dir"));
  write_file("model.onnx", bytes.data, bytes.size);
  free(bytes.data);
  char path[256];
  snprintf(path, sizeof path, "%s/model.onnx", folder);
  assert_int_equal(rt_model_load_file(path, NULL, &model, &error), OPS_OK);
  assert_int_equal(model->graph.initializers[0].is_mapped, 1);
  rt_model_destroy(model);
}

// Two tensors of one file share one mapping: adjacent data is adjacent in memory.
static void maps_a_file_once(void **state) {
  (void)state;
  const int64_t one = 1;
  pb graph = {0};
  for (int i = 0; i < 2; ++i) {
    pb tensor = pb_tensor(i ? "b" : "a", OPS_TYPE_FLOAT, 1, &one);
    add_entry(&tensor, "location", "weights.bin");
    add_entry(&tensor, "offset", i ? "4" : "0");
    pb_add_int(&tensor, 14, 1);
    pb_add_message(&graph, 5, tensor);
  }
  ops_error error = OPS_ERROR_INIT;
  rt_model *model = NULL;
  assert_int_equal(load(pb_model(graph, 13), &model, &error), OPS_OK);
  assert_ptr_equal((const char *)model->graph.initializers[0].data + 4,
                   model->graph.initializers[1].data);
  rt_model_destroy(model);
}

#define WEIGHTS 2000

// A model with a tensor of WEIGHTS numbers 0, 1, … in raw_data, loaded from its file.
static rt_model *load_weights(const char *name, int32_t type, const void *data, size_t size,
                              uint64_t max_memory) {
  const int64_t count = WEIGHTS;
  pb graph = {0}, tensor = pb_tensor(name, type, 1, &count);
  pb_add_bytes(&tensor, 9, data, size);
  pb_add_message(&graph, 5, tensor);
  pb bytes = pb_model(graph, 13);
  write_file("weights.onnx", bytes.data, bytes.size);
  free(bytes.data);
  char path[256];
  snprintf(path, sizeof path, "%s/weights.onnx", folder);
  ops_error error = OPS_ERROR_INIT;
  rt_model *model = NULL;
  const rt_model_options options = {.max_memory = max_memory};
  if (rt_model_load_file(path, &options, &model, &error) != OPS_OK)
    fail_msg("%s", error.message);
  return model;
}

// Names of other lengths shift the data. Weights are not counted as memory, wherever they lie.
static void weights_stay_in_the_file(void **state) {
  (void)state;
  static const char *const names[] = {"w", "ww", "www", "wwww"};
  static float numbers[WEIGHTS];
  uint32_t remainders = 0;
  for (int i = 0; i < WEIGHTS; ++i) numbers[i] = (float)i;
  for (int i = 0; i < 4; ++i) {
    rt_model *model =
        load_weights(names[i], OPS_TYPE_FLOAT, numbers, sizeof numbers, (uint64_t)66 << 10);
    const rt_model_tensor *t = &model->graph.initializers[0];
    assert_int_equal(t->is_mapped, 1);
    assert_int_equal(t->size, sizeof numbers);
    assert_memory_equal(t->data, numbers, sizeof numbers);
    remainders |= 1u << (uintptr_t)t->data % 4;
    rt_model_destroy(model);
  }
  assert_int_equal(remainders, 15);
}

// Whole numbers are read by their type in many places: they are aligned, if need be by a copy.
static void integers_are_aligned(void **state) {
  (void)state;
  static const char *const names[] = {"w",     "ww",     "www",     "wwww",
                                      "wwwww", "wwwwww", "w7wwwww", "w8wwwwww"};
  static int64_t numbers[WEIGHTS];
  int mapped = 0;
  for (int i = 0; i < WEIGHTS; ++i) numbers[i] = i;
  for (int i = 0; i < 8; ++i) {
    rt_model *model = load_weights(names[i], OPS_TYPE_INT64, numbers, sizeof numbers, 0);
    const rt_model_tensor *t = &model->graph.initializers[0];
    assert_int_equal((uintptr_t)t->data % sizeof *numbers, 0);
    assert_memory_equal(t->data, numbers, sizeof numbers);
    mapped += t->is_mapped;
    rt_model_destroy(model);
  }
  assert_int_equal(mapped, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(weights_stay_in_the_file),
      cmocka_unit_test(integers_are_aligned),
      cmocka_unit_test(maps_ranges),
      cmocka_unit_test(copies_unaligned_data),
      cmocka_unit_test(refuses_ranges_outside),
      cmocka_unit_test(refuses_paths_outside),
      cmocka_unit_test(needs_a_folder),
      cmocka_unit_test(maps_a_file_once),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
