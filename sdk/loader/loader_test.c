// SPDX-License-Identifier: Apache-2.0
//
// Every way for a provider to be wrong gives its own error, which says what to do; every legal
// oddity is accepted. The wrong providers are test/wrong_provider.c, compiled once for each
// fault.
#include <fcntl.h>
#include <limits.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/provider.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
// cmocka needs the headers above first
#include <cmocka.h>

#include "loader/host.h"
#include "loader/library.h"

#define WRONG(name) WRONG_DIR "/libops_wrong_" name ".so"

// Opens `path`, expects `status`, and that the message holds every one of the phrases.
static void expect_refused(const char *path, const ops_library_options *options, int32_t status,
                           const char *const *phrases) {
  ops_error error = OPS_ERROR_INIT;
  ops_library *library = NULL;
  assert_int_equal(ops_library_open(path, options, &library, &error), status);
  assert_int_equal(error.code, status);
  assert_null(library);
  for (; *phrases; ++phrases)
    if (!strstr(error.message, *phrases))
      fail_msg("%s: '%s' is not in '%s'", path, *phrases, error.message);
}

#define EXPECT(path, options, status, ...) \
  expect_refused(path, options, status, (const char *const[]){__VA_ARGS__, NULL})

static void refuses_versions(void **state) {
  (void)state;
  EXPECT(WRONG("TOO_OLD"), NULL, OPS_ERROR_UNSUPPORTED_VERSION, "too old", "0.0",
         "rebuild the provider");
  EXPECT(WRONG("TOO_NEW"), NULL, OPS_ERROR_UNSUPPORTED_VERSION, "too new", "9.3", "newer host");
}

static void refuses_tables(void **state) {
  (void)state;
  EXPECT(WRONG("TRUNCATED_TABLE"), NULL, OPS_ERROR_UNSUPPORTED_VERSION, "instance",
         "truncated table");
  // Both missing slots are reported at once.
  EXPECT(WRONG("MISSING_SLOTS"), NULL, OPS_ERROR_INVALID_ARGUMENT, "instance.destroy",
         "instance.device_count", "required slot");
  EXPECT(WRONG("HALF_PAIRS"), NULL, OPS_ERROR_INVALID_ARGUMENT, "memory.allocate_async",
         "1 of 2 set", "memory.layout_size", "stream.capture_begin", "3 of 4 set");
  EXPECT(WRONG("NO_TABLE"), NULL, OPS_ERROR_INVALID_ARGUMENT, "without a provider table");
  EXPECT(WRONG("BAD_KERNEL"), NULL, OPS_ERROR_INVALID_ARGUMENT, "Relu", "[14, 13]",
         "memory kind 77", "not a power of two", "variadic", "no outputs", "api");
  EXPECT(WRONG("BAD_REWRITE"), NULL, OPS_ERROR_INVALID_ARGUMENT,
         "rewrite 0: rewrite.apply: required slot is missing",
         "rewrite 1: the pattern is empty",
         "rewrite 2: pattern[0].inputs[1] is 1, expected the number of an earlier node",
         "rewrite 2: pattern[1]: no operator name", "rewrite 2: pattern[1].inputs is NULL");
}

static void refuses_handshakes(void **state) {
  (void)state;
  EXPECT(WRONG("WRONG_MAGIC"), NULL, OPS_ERROR_INVALID_ARGUMENT, "magic 0x2a");
  EXPECT(WRONG("WRONG_SANITIZER"), NULL, OPS_ERROR_INCOMPATIBLE, "sanitizer 0x4",
         "-fsanitize=");
  EXPECT(WRONG("NEEDS_FEATURE"), NULL, OPS_ERROR_UNSUPPORTED_VERSION, "features 0x10",
         "newer host");
}

static void refuses_files(void **state) {
  (void)state;
  EXPECT(WRONG("MISSING_SYMBOL"), NULL, OPS_ERROR_INVALID_ARGUMENT, "ops_provider_query",
         "OPS_EXPORT");
  EXPECT(SOURCE_FILE, NULL, OPS_ERROR_INVALID_ARGUMENT, "not a shared object", "-shared");
  EXPECT("/proc/self/exe/nothing", NULL, OPS_ERROR_NOT_FOUND, "no such file");
  EXPECT("/dev/null", NULL, OPS_ERROR_INVALID_ARGUMENT, "not a regular file");
  EXPECT("", NULL, OPS_ERROR_INVALID_ARGUMENT, "empty");
}

// A library that needs a sanitizer's runtime is refused before it is loaded, since loading it
// would end the process.
static void refuses_instrumented_library(void **state) {
  (void)state;
  if (OPS_SANITIZER_BUILD == OPS_SANITIZER_THREAD) skip();
  EXPECT(WRONG("LINKS_SANITIZER"), NULL, OPS_ERROR_INCOMPATIBLE, "sanitizer (0x2)",
         "-fsanitize=");
}

static void refuses_extra_exports_in_strict_mode_only(void **state) {
  (void)state;
  ops_library *library;
  ops_error error = OPS_ERROR_INIT;
  const ops_library_options strict = {.strict = 1};
  EXPECT(WRONG("EXTRA_EXPORT"), &strict, OPS_ERROR_INVALID_ARGUMENT, "wrong_extra_symbol",
         "version script");
  assert_int_equal(ops_library_open(WRONG("EXTRA_EXPORT"), NULL, &library, &error), OPS_OK);
  ops_library_release(library);
  assert_int_equal(ops_library_open(WRONG("OK"), &strict, &library, &error), OPS_OK);
  ops_library_release(library);
}

static void truncated_file_is_an_error_at_every_length(void **state) {
  (void)state;
  char copy[] = "/tmp/ops_loader_testXXXXXX", bytes[4096];
  const int from = open(WRONG("OK"), O_RDONLY), to = mkstemp(copy);
  assert_true(from >= 0 && to >= 0);
  off_t size = 0;
  for (ssize_t got; (got = read(from, bytes, sizeof bytes)) > 0; size += got)
    assert_int_equal(write(to, bytes, (size_t)got), got);
  close(from);
  // Cutting the section headers, which stand at the end, makes the file unreadable.
  for (off_t length = size - 1; length >= 0;
       length = length > 4096 ? length - 997 : length - 31) {
    ops_library *library = NULL;
    assert_int_equal(ftruncate(to, length), 0);
    ops_error error = OPS_ERROR_INIT;
    assert_int_not_equal(ops_library_open(copy, NULL, &library, &error), OPS_OK);
    assert_true(error.message_size > 0);
  }
  close(to);
  unlink(copy);
}

// The rule for input structs, seen from the provider's side.
static void input_tail_must_be_zero(void **state) {
  (void)state;
  struct {
    ops_query_request request;
    unsigned char tail[16];
  } later = {.request = {.struct_size = sizeof later,
                         .magic = OPS_QUERY_MAGIC,
                         .min_version = OPS_ABI_VERSION,
                         .max_version = OPS_ABI_VERSION}};
  static const ops_provider provider = {.struct_size = sizeof provider};
  ops_query_reply reply = {.struct_size = sizeof reply};
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(ops_provider_answer(&provider, 1, 0, 0, &later.request, &reply, &error),
                   OPS_OK);
  assert_ptr_equal(reply.provider, &provider);
  later.tail[3] = 1;
  assert_int_equal(ops_provider_answer(&provider, 1, 0, 0, &later.request, &reply, &error),
                   OPS_ERROR_UNSUPPORTED_VERSION);
  assert_non_null(strstr(error.message, "is not zero"));
  assert_non_null(strstr(error.message, "byte 43"));  // 40 known bytes, the fourth of the tail
  later.request.struct_size = sizeof later.request - 8;
  assert_int_equal(ops_provider_answer(&provider, 1, 0, 0, &later.request, &reply, &error),
                   OPS_ERROR_UNSUPPORTED_VERSION);
  assert_non_null(strstr(error.message, "older SDK"));
}

static void accepts_unknown_tail_of_tables(void **state) {
  (void)state;
  ops_library *library;
  ops_error error = OPS_ERROR_INIT;
  assert_int_equal(ops_library_open(WRONG("LONG_TABLE"), NULL, &library, &error), OPS_OK);
  assert_int_equal(ops_library_version(library), OPS_ABI_VERSION);
  ops_library_release(library);
}

static void same_file_twice_is_one_library_and_two_instances(void **state) {
  (void)state;
  char indirect[PATH_MAX];
  ops_library *first, *second;
  ops_host *host;
  ops_instance *a, *b;
  ops_error error = OPS_ERROR_INIT;
  snprintf(indirect, sizeof indirect, "%s/../%s/libops_wrong_OK.so", WRONG_DIR,
           strrchr(WRONG_DIR, '/') + 1);
  assert_int_equal(ops_library_open(WRONG("OK"), NULL, &first, &error), OPS_OK);
  assert_int_equal(ops_library_open(indirect, NULL, &second, &error), OPS_OK);
  assert_ptr_equal(first, second);
  assert_int_equal(ops_host_create(NULL, &host, &error), OPS_OK);
  const ops_instance_api *api = ops_library_provider(first)->instance;
  assert_int_equal(api->create(ops_host_api_table(), host, NULL, 0, &a, &error), OPS_OK);
  assert_int_equal(api->create(ops_host_api_table(), host, NULL, 0, &b, &error), OPS_OK);
  assert_ptr_not_equal(a, b);
  api->destroy(a, &error);
  api->destroy(b, &error);
  ops_host_destroy(host);
  ops_library_release(second);
  ops_library_release(first);
}

// What one caller accepted is checked again for the next, who may be stricter.
static void options_hold_for_libraries_that_are_open(void **state) {
  (void)state;
  ops_library *first, *second;
  ops_error error = OPS_ERROR_INIT;
  const ops_library_options strict = {.strict = 1};
  const ops_library_options offers = {.offered_features = OPS_FEATURE_CAPTURE};
  const ops_library_options later = {.min_version = OPS_MAKE_VERSION(7, 0),
                                     .max_version = OPS_MAKE_VERSION(7, 5)};
  assert_int_equal(ops_library_open(WRONG("EXTRA_EXPORT"), NULL, &first, &error), OPS_OK);
  EXPECT(WRONG("EXTRA_EXPORT"), &strict, OPS_ERROR_INVALID_ARGUMENT, "wrong_extra_symbol");
  EXPECT(WRONG("EXTRA_EXPORT"), &later, OPS_ERROR_UNSUPPORTED_VERSION, "7.0 to 7.5");
  assert_int_equal(ops_library_open(WRONG("EXTRA_EXPORT"), NULL, &second, &error), OPS_OK);
  assert_ptr_equal(first, second);
  ops_library_release(second);
  ops_library_release(first);
  assert_int_equal(ops_library_open(WRONG("NEEDS_FEATURE"), &offers, &first, &error), OPS_OK);
  EXPECT(WRONG("NEEDS_FEATURE"), NULL, OPS_ERROR_UNSUPPORTED_VERSION, "features 0x10");
  ops_library_release(first);
}

static void bare_name_is_looked_for_in_three_places(void **state) {
  (void)state;
  char here[PATH_MAX];
  ops_library *library;
  ops_error error = OPS_ERROR_INIT;
  assert_non_null(getcwd(here, sizeof here));
  // In the installed provider folder, by file name and by short name.
  const ops_library_options installed = {.provider_dir = WRONG_DIR};
  assert_int_equal(ops_library_open("libops_wrong_OK.so", &installed, &library, &error),
                   OPS_OK);
  ops_library_release(library);
  assert_int_equal(ops_library_open("wrong_OK", &installed, &library, &error), OPS_OK);
  ops_library_release(library);
  // In the working directory.
  const ops_library_options nowhere = {.provider_dir = "/nonexistent/providers"};
  assert_int_equal(chdir(WRONG_DIR), 0);
  assert_int_equal(ops_library_open("wrong_OK", &nowhere, &library, &error), OPS_OK);
  assert_string_equal(ops_library_path(library), WRONG("OK"));
  ops_library_release(library);
  assert_int_equal(chdir(here), 0);
  // Nowhere: the error lists every place, the loader's own folders included.
  EXPECT("no_such_provider", &nowhere, OPS_ERROR_NOT_FOUND, "./no_such_provider",
         "./libops_no_such_provider.so", "/nonexistent/providers/libops_no_such_provider.so",
         "/lib/x86_64-linux-gnu/no_such_provider");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(refuses_versions),
      cmocka_unit_test(refuses_tables),
      cmocka_unit_test(refuses_handshakes),
      cmocka_unit_test(refuses_files),
      cmocka_unit_test(refuses_instrumented_library),
      cmocka_unit_test(refuses_extra_exports_in_strict_mode_only),
      cmocka_unit_test(truncated_file_is_an_error_at_every_length),
      cmocka_unit_test(input_tail_must_be_zero),
      cmocka_unit_test(accepts_unknown_tail_of_tables),
      cmocka_unit_test(same_file_twice_is_one_library_and_two_instances),
      cmocka_unit_test(options_hold_for_libraries_that_are_open),
      cmocka_unit_test(bare_name_is_looked_for_in_three_places),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
