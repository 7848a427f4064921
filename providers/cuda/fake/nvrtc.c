// SPDX-License-Identifier: Apache-2.0
//
// A test double of NVRTC: libnvrtc.so.13 that hands a kernel's source to the host's C++
// compiler, behind fake/device.h, and answers with a shared object that fake/driver.c loads.
//   FAKE_NVRTC_FAIL=1        every source is wrong
//   FAKE_NVRTC_KEEP=FOLDER   each source is kept there, as HASH.cu, for the real compiler
#include <fcntl.h>
#include <nvrtc.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake.h"

extern char **environ;

enum { kMaxArguments = 96, kMaxKernels = 64 };

struct _nvrtcProgram {
  char *source;
  char *image;
  size_t size;
  char log[4000];
};

const char *nvrtcGetErrorString(nvrtcResult result) {
  return result == NVRTC_ERROR_COMPILATION ? "NVRTC_ERROR_COMPILATION"
                                           : "NVRTC_ERROR_INTERNAL_ERROR";
}

nvrtcResult nvrtcVersion(int *major, int *minor) {
  *major = 13;
  *minor = 0;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram *out, const char *source, const char *name,
                               int headers, const char *const *texts,
                               const char *const *names) {
  (void)name, (void)texts, (void)names;
  if (headers != 0) return NVRTC_ERROR_PROGRAM_CREATION_FAILURE;
  nvrtcProgram program = calloc(1, sizeof *program);
  if (!program) return NVRTC_ERROR_OUT_OF_MEMORY;
  program->source = strdup(source);
  *out = program;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program) {
  free((*program)->source);
  free((*program)->image);
  free(*program);
  *program = NULL;
  return NVRTC_SUCCESS;
}

// Reads a whole file, terminated; NULL if it cannot be read.
static char *read_file(const char *path, size_t *out_size) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  const size_t size = (size_t)ftell(file);
  rewind(file);
  char *text = calloc(1, size + 1);
  if (text) *out_size = fread(text, 1, size, file);
  fclose(file);
  return text;
}

static int write_file(const char *path, const char *text, const char *rest) {
  FILE *file = fopen(path, "wb");
  if (!file) return 0;
  fputs(text, file);
  fputs(rest, file);
  return fclose(file) == 0;
}

// Runs the compiler with its messages in `log`.
static int run(char *const arguments[], const char *log) {
  posix_spawn_file_actions_t actions;
  pid_t child;
  int status = 1;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ) == 0)
    while (waitpid(child, &status, 0) < 0) continue;
  posix_spawn_file_actions_destroy(&actions);
  return status;
}

// The options that g++ understands too: definitions.
static size_t keep_definitions(char **arguments, size_t count, int option_count,
                               const char *const *options) {
  for (int i = 0; i < option_count && count < kMaxArguments - 8; ++i)
    if (strncmp(options[i], "-D", 2) == 0) arguments[count++] = (char *)options[i];
  return count;
}

// After the preprocessor a kernel reads: FAKE_GLOBAL … void NAME(.
static void list_kernels(const char *text, char *out, size_t size) {
  size_t at = 0;
  out[0] = '\0';
  while ((text = strstr(text, "FAKE_GLOBAL")) != NULL) {
    const char *open = strchr(text, '(');
    while (open && strncmp(open - 17, "__launch_bounds__", 17) == 0)
      open = strchr(open + 1, '(');
    if (!open) return;
    const char *end = open;
    while (end[-1] == ' ' || end[-1] == '\n') --end;
    const char *begin = end;
    while (begin[-1] == '_' || (begin[-1] >= '0' && begin[-1] <= '9') ||
           ((begin[-1] | 32) >= 'a' && (begin[-1] | 32) <= 'z'))
      --begin;
    at +=
        (size_t)snprintf(out + at, size - at, "\nFAKE_KERNEL(%.*s)", (int)(end - begin), begin);
    if (at >= size) return;
    text = open;
  }
}

typedef struct job {
  char folder[64], source[96], object[96], log[96], kernels[kMaxKernels * 80];
  char *arguments[kMaxArguments];
} job;

static int preprocess(job *j, nvrtcProgram program, size_t count) {
  size_t size = 0;
  j->arguments[count] = "-E";
  j->arguments[count + 1] = "-P";
  j->arguments[count + 2] = "-D__global__=FAKE_GLOBAL";
  j->arguments[count + 3] = NULL;
  if (!write_file(j->source, program->source, "") || run(j->arguments, j->log) != 0) return 0;
  char *text = read_file(j->object, &size);
  if (text) list_kernels(text, j->kernels, sizeof j->kernels);
  free(text);
  return text != NULL;
}

static int compile(job *j, nvrtcProgram program, size_t count) {
  static char *const kOptions[] = {"-I", FAKE_DEVICE_FOLDER, "-include", "device.h", "-shared"};
  memcpy(j->arguments + count, kOptions, sizeof kOptions);
  j->arguments[count + sizeof kOptions / sizeof kOptions[0]] = NULL;
  return write_file(j->source, program->source, j->kernels) && run(j->arguments, j->log) == 0;
}

static int take_image(const job *j, nvrtcProgram program) {
  program->image = read_file(j->object, &program->size);
  return program->image != NULL;
}

static void keep_log(const job *j, nvrtcProgram program) {
  size_t size = 0;
  char *log = read_file(j->log, &size);
  if (log) snprintf(program->log, sizeof program->log, "%s", log);
  free(log);
}

// FNV-1a (Fowler, Noll, Vo), 64 bits.
static uint64_t hash(const char *text) {
  uint64_t value = UINT64_C(14695981039346656037);
  for (; *text; ++text) value = (value ^ (unsigned char)*text) * UINT64_C(1099511628211);
  return value;
}

// Put in place at once: several processes may keep the same source.
static void keep_source(const char *folder, const job *j, const char *source) {
  char path[512], staged[512];
  snprintf(path, sizeof path, "%s/%016llx.cu", folder, (unsigned long long)hash(source));
  snprintf(staged, sizeof staged, "%s/%s", folder, strrchr(j->folder, '/') + 1);
  if (write_file(staged, source, "")) rename(staged, path);
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int option_count,
                                const char *const *options) {
  job j = {.folder = "/tmp/fake_nvrtc_XXXXXX"};
  if (getenv("FAKE_NVRTC_FAIL")) {
    snprintf(program->log, sizeof program->log, "wrong on purpose");
    return NVRTC_ERROR_COMPILATION;
  }
  if (!mkdtemp(j.folder)) return NVRTC_ERROR_INTERNAL_ERROR;
  if (getenv("FAKE_NVRTC_KEEP")) keep_source(getenv("FAKE_NVRTC_KEEP"), &j, program->source);
  snprintf(j.source, sizeof j.source, "%s/kernel.cc", j.folder);
  snprintf(j.object, sizeof j.object, "%s/kernel.so", j.folder);
  snprintf(j.log, sizeof j.log, "%s/log", j.folder);
  // FAKE_FLAGS are those with which device.h was compiled ahead.
  static char *const kCommon[] = {FAKE_COMPILER, FAKE_FLAGS, "-o"};
  memcpy(j.arguments, kCommon, sizeof kCommon);
  size_t count = sizeof kCommon / sizeof kCommon[0];
  j.arguments[count++] = j.object;
  j.arguments[count++] = j.source;
  count = keep_definitions(j.arguments, count, option_count, options);
  const int ok =
      preprocess(&j, program, count) && compile(&j, program, count) && take_image(&j, program);
  keep_log(&j, program);
  unlink(j.source), unlink(j.object), unlink(j.log), rmdir(j.folder);
  return ok ? NVRTC_SUCCESS : NVRTC_ERROR_COMPILATION;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *out) {
  *out = strlen(program->log) + 1;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *out) {
  memcpy(out, program->log, strlen(program->log) + 1);
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetNumSupportedArchs(int *out) {
  *out = 2;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetSupportedArchs(int *out) {
  out[0] = 80;
  out[1] = 90;
  return NVRTC_SUCCESS;
}

// The host's code is the same for every architecture.
nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *out) {
  return nvrtcGetCUBINSize(program, out);
}

nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *out) {
  return nvrtcGetCUBIN(program, out);
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *out) {
  *out = program->size;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *out) {
  memcpy(out, program->image, program->size);
  return NVRTC_SUCCESS;
}
