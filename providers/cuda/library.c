// SPDX-License-Identifier: Apache-2.0
//
// Opens libraries of the driver and the Toolkit, see library.h.
#include "library.h"

#include <dlfcn.h>
#include <ops_support/error.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

// The reason of the last dlopen; never NULL.
static const char *reason(void) {
  const char *text = dlerror();
  return text ? text : "no reason given";
}

static int32_t open_path(const char *path, cuda_library *library) {
  library->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library->handle) return 0;
  snprintf(library->path, sizeof library->path, "%s", path);
  return 1;
}

static int32_t open_in(const char *folder, size_t size, const char *soname,
                       cuda_library *library) {
  char path[512];
  const int length = snprintf(path, sizeof path, "%.*s/%s", (int)size, folder, soname);
  return length > 0 && (size_t)length < sizeof path && open_path(path, library);
}

static int32_t is_folder(const char *place) {
  struct stat info;
  return stat(place, &info) == 0 && S_ISDIR(info.st_mode);
}

static int32_t open_named(const cuda_library_def *def, const char *place,
                          cuda_library *library) {
  if (!is_folder(place)) return open_path(place, library);
  for (const char *const *soname = def->sonames; *soname; ++soname)
    if (open_in(place, strlen(place), *soname, library)) return 1;
  return 0;
}

// The loader's search first: it holds what LD_LIBRARY_PATH and the system say.
static int32_t open_anywhere(const cuda_library_def *def, cuda_library *library) {
  for (const char *const *soname = def->sonames; *soname; ++soname)
    if (open_path(*soname, library)) return 1;
  for (const char *folder = OPS_CUDA_LIBRARY_PATH; *folder;) {
    const size_t size = strcspn(folder, ":");
    for (const char *const *soname = def->sonames; size && *soname; ++soname)
      if (open_in(folder, size, *soname, library)) return 1;
    folder += size + (folder[size] == ':');
  }
  return 0;
}

int32_t cuda_library_fill(const cuda_library_def *def, const cuda_library *library, void *table,
                          ops_error *error) {
  for (uint64_t i = 0; i < def->symbol_count; ++i) {
    const cuda_symbol *symbol = &def->symbols[i];
    void *address = dlsym(library->handle, symbol->name);
    if (!address)
      return ops_error_set_cause(error, OPS_ERROR_UNSUPPORTED_VERSION, OPS_CAUSE_DRIVER_TOO_OLD,
                                 "%s is too old: %s has no function %s; update it", def->title,
                                 library->path, symbol->name);
    memcpy((char *)table + symbol->offset, &address, sizeof address);
  }
  return OPS_OK;
}

int32_t cuda_library_open(const cuda_library_def *def, const char *place,
                          cuda_library *out_library, ops_error *error) {
  cuda_library library = {0};
  const int32_t found = place ? open_named(def, place, &library) : open_anywhere(def, &library);
  if (!found)
    return ops_error_set_cause(error, OPS_ERROR_NOT_FOUND, OPS_CAUSE_LIBRARY_MISSING,
                               "%s is missing: cannot open %s%s%s: %s", def->title,
                               def->sonames[0], place ? " at " : "", place ? place : "",
                               reason());
  *out_library = library;
  return OPS_OK;
}

void cuda_library_close(cuda_library *library) {
  if (library->handle) dlclose(library->handle);
  library->handle = NULL;
}
