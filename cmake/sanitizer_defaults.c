// SPDX-License-Identifier: Apache-2.0
//
// Options and suppressions that a sanitizer runtime reads from the program itself, so that
// every way to start a test gives the same verdict. Linked into tools and tests of sanitizer
// builds only.
//
// intercept_tls_get_addr=0: after oneDNN ran, the book that gcc 12's AddressSanitizer keeps of
// thread-local storage names memory that is gone, and LeakSanitizer crashes at exit reading it
// ("Tracer caught signal 11"). Leaks are found without that book (ci/sanitizer_leak.c is a
// test); only blocks that nothing but a thread-local pointer of a loaded library holds could be
// misjudged.
//
// Suppressions name third-party libraries alone. libgomp is not instrumented: ThreadSanitizer
// cannot see its barriers, so the synchronisation inside a parallel region looks like a race.
#define DEFAULT_VISIBILITY __attribute__((visibility("default"), used))

DEFAULT_VISIBILITY const char *__asan_default_options(void);
DEFAULT_VISIBILITY const char *__ubsan_default_options(void);
DEFAULT_VISIBILITY const char *__tsan_default_options(void);
DEFAULT_VISIBILITY const char *__tsan_default_suppressions(void);
DEFAULT_VISIBILITY const char *__lsan_default_suppressions(void);

const char *__asan_default_options(void) {
  return "detect_stack_use_after_return=1:strict_string_checks=1:allocator_may_return_null=1:"
         "intercept_tls_get_addr=0";
}

const char *__ubsan_default_options(void) {
  return "print_stacktrace=1";
}

const char *__tsan_default_options(void) {
  return "halt_on_error=0:second_deadlock_stack=1:ignore_noninstrumented_modules=1:"
         "allocator_may_return_null=1";
}

const char *__tsan_default_suppressions(void) {
  return "race:libgomp.so\n"
         "race:libdnnl.so\n"
         "called_from_lib:libgomp.so\n"
         "called_from_lib:libdnnl.so\n";
}

const char *__lsan_default_suppressions(void) {
  return "leak:libgomp.so\n"
         "leak:libdnnl.so\n";
}
