// SPDX-License-Identifier: Apache-2.0
//
// opsreplay: replays baked cases on a provider. It needs the C library and the provider alone;
// the case in hand is printed before it runs, so that a crash names it.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ops_support/error.h"
#include "replay/replay.h"

#define EXIT_WRONG 1
#define EXIT_USAGE 4
#define EXIT_HARNESS 5
#define EXIT_NOTHING 6
#define MOST_OPTIONS 16
#define MOST_DEPTH 4
#define MOST_PATH 4096
#define CASE_NAME "case.bin"

typedef struct replayer {
  oc_target target;
  size_t counts[4];  // by verdict
  size_t broken;     // files that are no cases
} replayer;

static const char kUsage[] =
    "opsreplay: replays cases that `opsconform bake` has stored\n\n"
    "usage: opsreplay --provider LIB [--option KEY=VALUE]... DIR...\n\n"
    "  DIR        a folder that holds case.bin, or folders of such\n\n"
    "exit codes\n"
    "  0  every case that is claimed passed, and one did\n"
    "  1  a case failed\n"
    "  4  usage, or the provider cannot be opened\n"
    "  5  a file is damaged, or the replayer itself failed\n"
    "  6  nothing passed\n";

static void replay_file(replayer *r, const char *path) {
  static const char *const names[] = {"PASS", "FAIL", "UNSUPPORTED", "UNTRUSTED"};
  ops_error error = OPS_ERROR_INIT;
  oc_replay_result result;
  oc_baked *baked = malloc(sizeof *baked);
  int32_t status = baked ? oc_case_file_load(path, baked, &error)
                         : ops_error_set(&error, OPS_ERROR_OUT_OF_MEMORY, "no memory");
  if (status == OPS_OK) {
    printf("%s ", baked->item.id);
    fflush(stdout);
    status = oc_replay_run(&r->target, baked, &result, &error);
  }
  if (status == OPS_OK) {
    ++r->counts[result.verdict];
    printf("%s%s%s\n", names[result.verdict], result.message[0] ? "  " : "", result.message);
  } else {
    ++r->broken;
    printf("BROKEN  %s\n", error.message);
  }
  if (baked) oc_baked_finish(baked);
  free(baked);
}

static int by_name(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static int visible(const struct dirent *entry) {
  return entry->d_name[0] != '.';
}

// Every case below a folder, in the order of names.
static void replay_folder(replayer *r, const char *folder, int depth) {
  struct dirent **entries = NULL;
  const int count = scandir(folder, &entries, visible, by_name);
  if (count < 0) {
    printf("BROKEN  folder '%s' cannot be read\n", folder);
    ++r->broken;
    return;
  }
  for (int i = 0; i < count; ++i) {
    char path[MOST_PATH];
    struct stat about;
    const int used = snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
    const bool fits = used > 0 && used < MOST_PATH && lstat(path, &about) == 0;
    if (fits && S_ISDIR(about.st_mode) && depth < MOST_DEPTH) {
      replay_folder(r, path, depth + 1);
    } else if (fits && S_ISREG(about.st_mode) && strcmp(entries[i]->d_name, CASE_NAME) == 0) {
      replay_file(r, path);
    }
    free(entries[i]);
  }
  free(entries);
}

static int usage(const char *what, const char *which) {
  fprintf(stderr, "opsreplay: %s%s\n\n%s", what, which, kUsage);
  return EXIT_USAGE;
}

static int finish(replayer *r) {
  ops_error error = OPS_ERROR_INIT;
  const int32_t closed = oc_target_close(&r->target, &error);
  printf("%zu PASS, %zu FAIL, %zu UNSUPPORTED, %zu UNTRUSTED, %zu broken\n",
         r->counts[OC_REPLAY_PASS], r->counts[OC_REPLAY_FAIL], r->counts[OC_REPLAY_UNSUPPORTED],
         r->counts[OC_REPLAY_UNTRUSTED], r->broken);
  if (closed != OPS_OK) printf("FAIL closing the provider: %s\n", error.message);
  if (r->broken) return EXIT_HARNESS;
  if (closed != OPS_OK || r->counts[OC_REPLAY_FAIL] || r->counts[OC_REPLAY_UNTRUSTED]) {
    return EXIT_WRONG;
  }
  return r->counts[OC_REPLAY_PASS] ? 0 : EXIT_NOTHING;
}

int main(int argc, char **argv) {
  ops_key_value pairs[MOST_OPTIONS];
  oc_target_options options = {.options = pairs};
  ops_error error = OPS_ERROR_INIT;
  int first = 1;
  for (; first + 1 < argc && argv[first][0] == '-'; first += 2) {
    const char *value = argv[first + 1], *equals = strchr(value, '=');
    if (strcmp(argv[first], "--provider") == 0) {
      options.name = value;
    } else if (strcmp(argv[first], "--option") == 0) {
      if (!equals || options.option_count == MOST_OPTIONS) return usage("--option ", value);
      pairs[options.option_count++] =
          (ops_key_value){.key = {value, (uint64_t)(equals - value)},
                          .value = {equals + 1, strlen(equals + 1)}};
    } else {
      return usage("there is no option ", argv[first]);
    }
  }
  if (first < argc && strcmp(argv[first], "--help") == 0) return puts(kUsage) < 0;
  if (!options.name) return usage("name the provider: --provider LIB", "");
  if (first >= argc) return usage("name a folder of cases", "");
  replayer *r = calloc(1, sizeof *r);
  if (!r) return EXIT_HARNESS;
  if (oc_target_open(&r->target, &options, &error) != OPS_OK) {
    free(r);
    return usage("the provider cannot be opened: ", error.message);
  }
  for (int i = first; i < argc; ++i) replay_folder(r, argv[i], 0);
  const int code = finish(r);
  free(r);
  return code;
}
