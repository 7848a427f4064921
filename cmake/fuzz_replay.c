// SPDX-License-Identifier: Apache-2.0
//
// Stands in for libFuzzer where there is none: feeds every file of the folders named on the
// command line to the target, once. The folders hold small seeds and an input for each fault
// that fuzzing found, so that every compiler and sanitizer keeps seeing them. A file that takes
// more than kSlowSeconds fails, too: it is one that was slow once.
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { kSlowSeconds = 20 };  // 2 s in a release build; sanitizers and busy machines take longer

// The bytes of a file in memory of exactly their size, so that a read behind them is noticed.
static uint8_t *read_file(const char *path, size_t *out_size) {
  uint8_t *bytes = NULL;
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  const long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
  if (size >= 0 && fseek(file, 0, SEEK_SET) == 0) bytes = malloc(size ? (size_t)size : 1);
  if (bytes && fread(bytes, 1, (size_t)size, file) != (size_t)size) {
    free(bytes);
    bytes = NULL;
  }
  fclose(file);
  *out_size = (size_t)size;
  return bytes;
}

static int replay(const char *path) {
  size_t size;
  uint8_t *bytes = read_file(path, &size);
  if (!bytes) {
    fprintf(stderr, "%s cannot be read\n", path);
    return 0;
  }
  fprintf(stderr, "%s, %zu bytes\n", path, size);
  const time_t start = time(NULL);
  LLVMFuzzerTestOneInput(bytes, size);
  free(bytes);
  const double seconds = difftime(time(NULL), start);
  if (seconds > kSlowSeconds) fprintf(stderr, "%s took %.0f s\n", path, seconds);
  return seconds <= kSlowSeconds;
}

// Replays the files of a folder; returns how many, -1 if one failed.
static int replay_folder(const char *folder) {
  int count = 0;
  DIR *entries = opendir(folder);
  for (struct dirent *entry = NULL; entries && (entry = readdir(entries));) {
    char path[4096];
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (!replay(path)) {
      count = -1;
      break;
    }
    ++count;
  }
  if (entries) closedir(entries);
  return count;
}

int main(int argc, char **argv) {
  int total = 0;
  for (int i = 1; i < argc; ++i) {
    const int count = replay_folder(argv[i]);
    if (count < 0) return 1;
    total += count;
  }
  printf("%d inputs\n", total);
  return total > 0 ? 0 : 1;
}
