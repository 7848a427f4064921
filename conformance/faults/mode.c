// SPDX-License-Identifier: Apache-2.0
//
// Which fault or control is on, and proof that it was felt: a counter in a file that is mapped
// into every process of a run (option `activations=FILE`, 8 bytes).
#include <fcntl.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "faulty.h"

#define LIBRARY_VARIABLE "OPS_FAULTY_LIBRARY"

static void count(const faulty_mode *mode) {
  if (mode->activations) __atomic_fetch_add(mode->activations, 1, __ATOMIC_RELAXED);
}

int faulty_is(const faulty_mode *mode, fault fault) {
  if (mode->fault != fault) return 0;
  count(mode);
  return 1;
}

int faulty_does(const faulty_mode *mode, control control) {
  if (mode->control != control) return 0;
  count(mode);
  return 1;
}

// The position of a name in a list that begins with "none", or -1.
static int find(ops_str name, const char *const *names, int number) {
  for (int i = 0; i < number; ++i) {
    if (ops_str_equal(name, names[i])) return i;
  }
  return -1;
}

#define FAULT_NAME(name, ops, checks, statuses, what, source) #name,
#define CONTROL_NAME(name, ops, what) #name,

static int find_fault(ops_str name) {
  static const char *const names[] = {"none", FAULT_LIST(FAULT_NAME)};
  return find(name, names, FAULT_COUNT);
}

static int find_control(ops_str name) {
  static const char *const names[] = {"none", CONTROL_LIST(CONTROL_NAME)};
  return find(name, names, CONTROL_COUNT);
}

static int32_t map_activations(ops_str path, faulty_mode *mode, ops_error *error) {
  char text[4096];
  if (path.size >= sizeof text) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT, "option activations: too long");
  }
  memcpy(text, path.data, path.size);
  text[path.size] = '\0';
  const int fd = open(text, O_RDWR | O_CLOEXEC);
  void *page = fd < 0 ? MAP_FAILED
                      : mmap(NULL, sizeof(int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd >= 0) close(fd);
  if (page == MAP_FAILED) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "option activations: expected a file of %zu bytes, found '%s'",
                         sizeof(int64_t), text);
  }
  mode->activations = page;
  return OPS_OK;
}

static int32_t read_option(const ops_key_value *option, faulty_mode *mode, ops_error *error) {
  int found = -1;
  if (ops_str_equal(option->key, "activations"))
    return map_activations(option->value, mode, error);
  if (ops_str_equal(option->key, "fault")) {
    found = find_fault(option->value);
    if (found >= 0) mode->fault = (fault)found;
  }
  if (ops_str_equal(option->key, "control")) {
    found = find_control(option->value);
    if (found >= 0) mode->control = (control)found;
  }
  if (found >= 0 || faulty_library_mode()->fault == FAULT_unknown_option_ignored) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "option %.*s=%.*s: expected fault=NAME or control=NAME with 'none' or a "
                       "name of fault_list.h, or activations=FILE",
                       OPS_STR_FMT(option->key), OPS_STR_FMT(option->value));
}

int32_t faulty_mode_create(const ops_key_value *options, uint64_t count, faulty_mode **out_mode,
                           ops_error *error) {
  faulty_mode *mode = calloc(1, sizeof *mode);
  if (!mode) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for the mode");
  for (uint64_t i = 0; i < count; ++i) {
    const int32_t status = read_option(&options[i], mode, error);
    if (status == OPS_OK) continue;
    faulty_mode_destroy(mode);
    return status;
  }
  *out_mode = mode;
  return OPS_OK;
}

void faulty_mode_destroy(faulty_mode *mode) {
  if (mode && mode->activations) munmap(mode->activations, sizeof(int64_t));
  free(mode);
}

const faulty_mode *faulty_library_mode(void) {
  static faulty_mode mode;  // written once, always with the same value
  const char *name = getenv(LIBRARY_VARIABLE);
  if (!name) return &mode;
  const int fault_found = find_fault((ops_str){name, strlen(name)});
  const int control_found = find_control((ops_str){name, strlen(name)});
  if (fault_found > 0) mode.fault = (fault)fault_found;
  if (control_found > 0) mode.control = (control)control_found;
  return &mode;
}
