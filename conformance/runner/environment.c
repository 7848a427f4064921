// SPDX-License-Identifier: Apache-2.0
//
// Control state of the calling thread. Only control bits are looked at: exception flags are
// raised by arithmetic that is right. Sources: Intel SDM volume 1, 8.1.5 (x87 control word) and
// 10.2.3 (MXCSR); Arm ARM, FPCR.
#include "runner/environment.h"

#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#define MXCSR_CONTROL 0xffc0u  // DAZ, exception masks, rounding, FTZ

static uint64_t vector_control(void) {
  uint32_t word;
  __asm__ volatile("stmxcsr %0" : "=m"(word));
  return word & MXCSR_CONTROL;
}

static void set_vector_control(uint64_t control) {
  uint32_t word;
  __asm__ volatile("stmxcsr %0" : "=m"(word));
  word = (word & ~MXCSR_CONTROL) | (uint32_t)control;
  __asm__ volatile("ldmxcsr %0" : : "m"(word));
}

static uint64_t stack_control(void) {
  uint16_t word;
  __asm__ volatile("fnstcw %0" : "=m"(word));
  return word;
}

static void set_stack_control(uint64_t control) {
  const uint16_t word = (uint16_t)control;
  __asm__ volatile("fnclex\n\tfldcw %0" : : "m"(word));
}
#elif defined(__aarch64__)
static uint64_t vector_control(void) {
  uint64_t word;
  __asm__ volatile("mrs %0, fpcr" : "=r"(word));
  return word;
}

static void set_vector_control(uint64_t control) {
  __asm__ volatile("msr fpcr, %0" : : "r"(control));
}

static uint64_t stack_control(void) {
  return 0;
}

static void set_stack_control(uint64_t control) {
  (void)control;
}
#else
#include <fenv.h>

static uint64_t vector_control(void) {
  return (uint64_t)fegetround();
}

static void set_vector_control(uint64_t control) {
  fesetround((int)control);
}

static uint64_t stack_control(void) {
  return 0;
}

static void set_stack_control(uint64_t control) {
  (void)control;
}
#endif

static const int kFaults[] = {SIGSEGV, SIGBUS};

void oc_environment_take(oc_environment *environment) {
  memset(environment, 0, sizeof *environment);
  environment->vector = vector_control();
  environment->stack = stack_control();
  pthread_sigmask(SIG_SETMASK, NULL, &environment->blocked);
  for (int i = 0; i < 2; ++i) sigaction(kFaults[i], NULL, &environment->faults[i]);
}

const char *oc_environment_restore(const oc_environment *before) {
  oc_environment now;
  oc_environment_take(&now);
  if (now.vector != before->vector || now.stack != before->stack) {
    set_vector_control(before->vector);
    set_stack_control(before->stack);
    return "the floating-point control of the calling thread (rounding, flushing, traps)";
  }
  for (int number = 1; number < NSIG; ++number) {
    if (sigismember(&now.blocked, number) == sigismember(&before->blocked, number)) continue;
    pthread_sigmask(SIG_SETMASK, &before->blocked, NULL);
    return "the signals that the calling thread blocks";
  }
  for (int i = 0; i < 2; ++i) {
    if (now.faults[i].sa_sigaction == before->faults[i].sa_sigaction) continue;
    sigaction(kFaults[i], &before->faults[i], NULL);
    return "what the process does on SIGSEGV or SIGBUS";
  }
  return NULL;
}

uint64_t oc_environment_threads(void) {
  char line[128];
  unsigned long long count = 0;
  FILE *file = fopen("/proc/self/status", "re");
  if (!file) return 0;
  while (fgets(line, sizeof line, file) && sscanf(line, "Threads: %llu", &count) != 1) continue;
  fclose(file);
  return count;
}

uint64_t oc_environment_files(void) {
  uint64_t count = 0;
  DIR *folder = opendir("/proc/self/fd");
  if (!folder) return 0;
  while (readdir(folder)) ++count;
  closedir(folder);
  return count;
}

uint64_t oc_environment_heap(void) {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}
