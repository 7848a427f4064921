// SPDX-License-Identifier: Apache-2.0
//
// Makes the one mistake that its argument names, so that a test can see the sanitizer of the
// build report it: options and suppressions (cmake/sanitizer_defaults.c) must not silence it.
//   leak      memory that nothing points to at exit      AddressSanitizer (LeakSanitizer)
//   bounds    a read past the end of a block             AddressSanitizer
//   overflow  signed integer overflow                    UndefinedBehaviorSanitizer
//   race      two threads write one variable             ThreadSanitizer
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile int sink;
static int shared;

// Not inlined, so that no register or stack slot of main keeps the address.
__attribute__((noinline)) static void leak(void) {
  char *volatile block = malloc(4321);
  if (block != NULL) {
    block[0] = 1;
  }
  block = NULL;
}

static void bounds(void) {
  char *volatile block = calloc(16, 1);
  if (block != NULL) {
    sink = block[16];
    free(block);
  }
}

static void overflow(void) {
  volatile int largest = INT_MAX;
  sink = largest + 1;
}

static void *write_shared(void *argument) {
  (void)argument;
  for (int i = 0; i < 1000; i++) {
    shared++;
  }
  return NULL;
}

static void race(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) {
    if (pthread_create(&threads[i], NULL, write_shared, NULL) != 0) {
      abort();
    }
  }
  for (int i = 0; i < 2; i++) {
    pthread_join(threads[i], NULL);
  }
}

static const struct {
  const char *name;
  void (*make)(void);
} mistakes[] = {{"leak", leak}, {"bounds", bounds}, {"overflow", overflow}, {"race", race}};

int main(int argc, char **argv) {
  for (size_t i = 0; argc == 2 && i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
    if (strcmp(argv[1], mistakes[i].name) == 0) {
      mistakes[i].make();
      return 0;
    }
  }
  fprintf(stderr, "usage: sanitizer_seed leak|bounds|overflow|race\n");
  return 2;
}
