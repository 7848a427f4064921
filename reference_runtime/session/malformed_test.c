// SPDX-License-Identifier: Apache-2.0
//
// Models of malformed_models.py, each with a fault of its own: each is refused with the status
// and the message that its line of the list asks for, and no two messages are the same. Whether
// they crash is for the sanitizers to say.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the four above first.
#include <cmocka.h>
#include <ops_support/error.h>
#include <opsrt/opsrt.h>

#define LEAST_FAULTS 40
#define MAX_FAULTS 256

typedef struct verdicts {
  char *messages[MAX_FAULTS];
  int count;
  int wrong;
} verdicts;

static void complain(verdicts *v, const char *name, const char *what, const char *message) {
  print_error("%s: %s: %s\n", name, what, message);
  ++v->wrong;
}

// Without the path of the model, which alone would make any two messages differ.
static char *copy_message(const char *message, const char *path) {
  const size_t size = strlen(path);
  char *copy = strdup(strncmp(message, path, size) == 0 ? message + size : message);
  assert_non_null(copy);
  return copy;
}

// `line`: name, status and phrases, separated by tabs.
static void check_fault(verdicts *v, char *line) {
  char *rest = line, path[4096];
  const char *name = strsep(&rest, "\t"), *status_name = strsep(&rest, "\t");
  ops_error error = OPS_ERROR_INIT;
  assert_non_null(status_name);
  assert_in_range(v->count, 0, MAX_FAULTS - 1);
  snprintf(path, sizeof path, TEST_MODELS "/%s/model.onnx", name);
  const opsrt_model_source source = {.path = path};
  const int32_t status = opsrt_model_check(&source, &error);
  if (strcmp(ops_status_name(status), status_name) != 0)
    complain(v, name, ops_status_name(status), error.message);
  for (const char *phrase; (phrase = strsep(&rest, "\t"));)
    if (!strstr(error.message, phrase)) complain(v, name, phrase, error.message);
  if (strncmp(error.message, path, strlen(path)) != 0)
    complain(v, name, "the message does not begin with the file", error.message);
  char *message = copy_message(error.message, path);
  for (int i = 0; i < v->count; ++i)
    if (strcmp(message, v->messages[i]) == 0) complain(v, name, "said before", message);
  v->messages[v->count++] = message;
}

static void every_fault_has_its_error(void **state) {
  (void)state;
  verdicts v = {0};
  char line[4096];
  FILE *faults = fopen(TEST_MODELS "/faults", "r");
  assert_non_null(faults);
  while (fgets(line, sizeof line, faults)) {
    line[strcspn(line, "\n")] = 0;
    check_fault(&v, line);
  }
  fclose(faults);
  for (int i = 0; i < v.count; ++i) free(v.messages[i]);
  assert_int_equal(v.wrong, 0);
  assert_true(v.count >= LEAST_FAULTS);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_fault_has_its_error)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
