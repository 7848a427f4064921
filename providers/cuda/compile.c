// SPDX-License-Identifier: Apache-2.0
//
// usage: cuda_compile FOLDER CAPABILITY...
//
// Compiles every source FOLDER/*.cu with NVRTC for each compute capability, as the provider
// would, without a GPU. Prints what fails, and what is warned of: both end with exit code 1.
// Exit 2: NVRTC cannot be opened, or there is no source. One process for each core.
#include <glob.h>
#include <ops_support/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rtc.h"

enum { kDriver = 13000, kMaxSource = 4 << 20 };

static char *read_source(const char *path) {
  FILE *file = fopen(path, "rb");
  char *text = calloc(1, kMaxSource + 1);
  const size_t size = file && text ? fread(text, 1, kMaxSource, file) : 0;
  if (file) fclose(file);
  if (size > 0 && size < kMaxSource) return text;
  free(text);
  return NULL;
}

static int compile_one(const cuda_rtc *rtc, const char *path, int32_t capability) {
  ops_error error = OPS_ERROR_INIT;
  char *source = read_source(path), *log = NULL;
  void *image = NULL;
  uint64_t size = 0;
  int32_t status = OPS_ERROR_IO;
  if (source)
    status =
        cuda_rtc_compile(rtc, path, source, capability, NULL, 0, &image, &size, &log, &error);
  if (status != OPS_OK || log)
    printf("%s sm_%d: %s\n", path, capability,
           !source            ? "cannot be read"
           : status != OPS_OK ? error.message
                              : log);
  free(source);
  free(log);
  free(image);
  return status != OPS_OK || log != NULL;
}

// Every `step`-th source from `first`.
static int compile_share(const cuda_rtc *rtc, const glob_t *files, size_t first, size_t step,
                         char **capabilities) {
  int failed = 0;
  for (size_t i = first; i < files->gl_pathc; i += step)
    for (char **c = capabilities; *c; ++c)
      failed |= compile_one(rtc, files->gl_pathv[i], atoi(*c));
  return failed;
}

static int compile_all(const glob_t *files, char **capabilities) {
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  const size_t workers = cores > 0 ? (size_t)cores : 1;
  int failed = 0;
  for (size_t i = 0; i < workers; ++i) {
    const pid_t child = fork();
    if (child < 0) return 2;
    if (child > 0) continue;
    cuda_rtc rtc = {0};
    ops_error error = OPS_ERROR_INIT;
    if (cuda_rtc_open(NULL, kDriver, &rtc, &error) != OPS_OK) {
      fprintf(stderr, "cuda_compile: %s\n", error.message);
      exit(2);
    }
    exit(compile_share(&rtc, files, i, workers, capabilities));
  }
  for (int status; wait(&status) > 0;) {
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    if (code > failed) failed = code;
  }
  return failed;
}

int main(int argc, char **argv) {
  char pattern[512];
  glob_t files;
  if (argc < 3) {
    fprintf(stderr, "usage: cuda_compile FOLDER CAPABILITY...\n");
    return 2;
  }
  snprintf(pattern, sizeof pattern, "%s/*.cu", argv[1]);
  if (glob(pattern, 0, NULL, &files) != 0) {
    fprintf(stderr, "cuda_compile: no source in %s\n", argv[1]);
    return 2;
  }
  const int code = compile_all(&files, argv + 2);
  fflush(stdout);
  printf("%zu sources for %d architecture(s): %s\n", files.gl_pathc, argc - 2,
         code ? "FAILED" : "no error, no warning");
  globfree(&files);
  return code;
}
