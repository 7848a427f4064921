// SPDX-License-Identifier: Apache-2.0
//
// Where a provider is looked for. The places are tried in order, each with the name as given
// and as libops_NAME.so, and remembered for the error message.
#include "loader/locate.h"

#include <dlfcn.h>
#include <link.h>
#include <ops_support/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef OPS_PROVIDER_DIR
#define OPS_PROVIDER_DIR "/usr/local/lib/ops/providers"
#endif

typedef struct search {
  const char *name;
  char *out_path;
  char tried[OPS_ERROR_MESSAGE_MAX];
  size_t tried_size;
} search;

static void note(search *s, const char *place) {
  const size_t room = sizeof s->tried - s->tried_size;
  const int size =
      snprintf(s->tried + s->tried_size, room, "%s%s", s->tried_size ? ", " : "", place);
  if (size > 0) s->tried_size += (size_t)size < room ? (size_t)size : room - 1;
}

static int try_path(search *s, const char *path) {
  if (realpath(path, s->out_path)) return 1;
  note(s, path);
  return 0;
}

static int try_folder(search *s, const char *folder) {
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%s/%s", folder, s->name) < (int)sizeof path &&
      try_path(s, path))
    return 1;
  return snprintf(path, sizeof path, "%s/libops_%s.so", folder, s->name) < (int)sizeof path &&
         try_path(s, path);
}

// The folders of the loader's search path. dlinfo tells them without loading anything.
static int try_loader_path(search *s) {
  Dl_serinfo size, *paths;
  int found = 0;
  void *self = dlopen(NULL, RTLD_LAZY);
  if (!self) return 0;
  if (dlinfo(self, RTLD_DI_SERINFOSIZE, &size) == 0 &&
      (paths = malloc(size.dls_size)) != NULL) {
    *paths = size;
    if (dlinfo(self, RTLD_DI_SERINFOSIZE, paths) == 0 &&
        dlinfo(self, RTLD_DI_SERINFO, paths) == 0)
      for (unsigned i = 0; i < paths->dls_cnt && !found; ++i)
        found = try_folder(s, paths->dls_serpath[i].dls_name);
    free(paths);
  }
  dlclose(self);
  return found;
}

int32_t ops_library_locate(const char *name, const char *provider_dir, char out_path[PATH_MAX],
                           ops_error *error) {
  search s = {.name = name, .out_path = out_path};
  if (name[0] == '\0')
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "the name of the provider is empty");
  if (strchr(name, '/')) {
    if (try_path(&s, name)) return OPS_OK;
    return ops_error_set_cause(error, OPS_ERROR_NOT_FOUND, OPS_CAUSE_LIBRARY_MISSING,
                               "provider %s: no such file; check the path", name);
  }
  if (try_folder(&s, ".") || try_folder(&s, provider_dir ? provider_dir : OPS_PROVIDER_DIR) ||
      try_loader_path(&s))
    return OPS_OK;
  return ops_error_set_cause(
      error, OPS_ERROR_NOT_FOUND, OPS_CAUSE_LIBRARY_MISSING,
      "provider '%s' was not found; give its path, or put it into one of: %s", name, s.tried);
}
