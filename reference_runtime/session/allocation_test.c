// SPDX-License-Identifier: Apache-2.0
//
// Every allocation of the host fails in turn, from reading the model to handing over the
// outputs: each failure must come back as OUT_OF_MEMORY, leave nothing behind (AddressSanitizer
// watches), and the same session must work afterwards. The linker puts the functions below in
// front of the C library's for everything in this program; providers, being libraries, are not
// touched.
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

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
int __real_posix_memalign(void **out, size_t alignment, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
int __wrap_posix_memalign(void **out, size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

// -1: nothing fails; 0: the next one does. Only the thread of the test counts.
static _Thread_local int64_t countdown = -1;

static int must_fail(void) {
  return countdown >= 0 && countdown-- == 0;
}

void *__wrap_malloc(size_t size) {
  return must_fail() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
  return must_fail() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size) {
  return must_fail() ? NULL : __real_realloc(memory, size);
}

int __wrap_posix_memalign(void **out, size_t alignment, size_t size) {
  return must_fail() ? 12 : __real_posix_memalign(out, alignment, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
  return must_fail() ? NULL : __real_aligned_alloc(alignment, size);
}

// ---- Running --------------------------------------------------------------------------------

typedef struct scene {
  const char *folder;
  const char *name;
  opsrt_provider_spec providers[2];
  uint64_t provider_count;
  int32_t level;  // of optimization; with one, what passes did is kept, too
  opsrt_tensor *input;
  opsrt_value x;
} scene;

static void scene_init(scene *s, const char *folder, const char *name, const char *provider) {
  char path[512];
  *s = (scene){
      .folder = folder, .name = name, .providers = {{.name = provider}}, .provider_count = 1};
  snprintf(path, sizeof path, "%s/%s/in_x.npy", folder, name);
  assert_int_equal(opsrt_tensor_read(path, &s->input, NULL), OPS_OK);
  s->x = *opsrt_tensor_value(s->input);
  s->x.name = "x";
}

static int32_t create(const scene *s, opsrt_session **out_session, ops_error *error) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s/model.onnx", s->folder, s->name);
  const opsrt_session_options options = {.model = {.path = path},
                                         .providers = s->providers,
                                         .provider_count = s->provider_count,
                                         .workers = 1,
                                         .profile = 1,
                                         .level = s->level,
                                         .explain = s->level > 0};
  return opsrt_session_create(&options, out_session, error);
}

static void expect_exhausted(int32_t status, const ops_error *error, int64_t number) {
  if (status != OPS_ERROR_OUT_OF_MEMORY)
    fail_msg("allocation %lld: status %d, %s", (long long)number, status, error->message);
}

// Fails the allocations of creating a session one by one until none is left to fail. Returns
// how many there were.
static int64_t fail_create(const scene *s) {
  for (int64_t number = 0;; ++number) {
    opsrt_session *session = NULL;
    ops_error error = OPS_ERROR_INIT;
    countdown = number;
    const int32_t status = create(s, &session, &error);
    const int reached = countdown < 0;
    countdown = -1;
    opsrt_session_destroy(session);
    if (!reached) {
      assert_int_equal(status, OPS_OK);
      return number;
    }
    // What only tells more, such as a span of the profile, may be left out.
    if (status != OPS_OK) expect_exhausted(status, &error, number);
  }
}

static int64_t fail_run(const scene *s, opsrt_session *session) {
  for (int64_t number = 0;; ++number) {
    opsrt_result *result = NULL;
    ops_error error = OPS_ERROR_INIT;
    countdown = number;
    const int32_t status = opsrt_session_run(session, &s->x, 1, &result, &error);
    const int reached = countdown < 0;
    countdown = -1;
    assert_true((status == OPS_OK) == (result != NULL));
    opsrt_result_destroy(result);
    if (!reached) {
      assert_int_equal(status, OPS_OK);
      return number;
    }
    if (status != OPS_OK) expect_exhausted(status, &error, number);
  }
}

static void check_level(const char *folder, const char *name, const char *provider,
                        int32_t level, int64_t least) {
  scene s;
  scene_init(&s, folder, name, provider);
  s.level = level;
  const int64_t created = fail_create(&s);
  opsrt_session *session = NULL;
  assert_int_equal(create(&s, &session, NULL), OPS_OK);
  const int64_t ran = fail_run(&s, session);
  opsrt_session_destroy(session);
  opsrt_tensor_destroy(s.input);
  assert_true(created >= least);
  assert_true(ran >= 5);
}

static void check_scene_in(const char *folder, const char *name, const char *provider,
                           int64_t least) {
  check_level(folder, name, provider, 0, least);
}

static void check_scene(const char *name, const char *provider, int64_t least) {
  check_scene_in(TEST_MODELS, name, provider, least);
}

static void control_flow_survives_every_failure(void **state) {
  (void)state;
  check_scene_in(TEST_CONTROL, "loop_while", "reference", 50);
  check_scene_in(TEST_CONTROL, "loop_sequence", "reference", 50);
  check_scene_in(TEST_CONTROL, "optionals", "reference", 50);
  check_scene_in(TEST_CONTROL, "scan_squares", TEST_NPU, 50);
}

static void sessions_survive_every_failure(void **state) {
  (void)state;
  check_scene("branches", "reference", 50);
  check_scene("conv_net", TEST_NPU, 50);
  check_scene("group_plain_one", TEST_PROBE, 50);
  check_scene("pick_twice", TEST_PROBE, 50);
  check_scene("pickbounded", TEST_PROBE, 50);
  check_scene("packed", TEST_PROBE, 50);
  check_scene("must", TEST_PROBE, 50);
  check_scene("sequence", TEST_PROBE, 50);
}

static void the_optimizer_survives_every_failure(void **state) {
  (void)state;
  check_level(TEST_MODELS, "branches", "reference", 2, 50);
  check_level(TEST_MODELS, "conv_net", TEST_NPU, 2, 50);
  check_level(TEST_MODELS, "rewritten", "reference", 2, 50);
  check_level(TEST_CONTROL, "loop_while", "reference", 2, 50);
}

static void rewrites_survive_every_failure(void **state) {
  (void)state;
  check_scene("rewritten", "reference", 500);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(rewrites_survive_every_failure),
                                     cmocka_unit_test(the_optimizer_survives_every_failure),
                                     cmocka_unit_test(sessions_survive_every_failure),
                                     cmocka_unit_test(control_flow_survives_every_failure)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
