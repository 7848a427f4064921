// SPDX-License-Identifier: Apache-2.0
//
// Opening a provider. The file is inspected before it is loaded, then negotiated with, then
// checked; only a library that passes all three is ever handed out. The list of open libraries
// is the one piece of process-wide state: a shared object, too, exists once per process.
#include "loader/library.h"

#include <dlfcn.h>
#include <ops_support/error.h>
#include <ops_support/provider.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "loader/check.h"
#include "loader/elf.h"
#include "loader/index.h"
#include "loader/locate.h"

struct ops_library {
  struct ops_library *next;
  dev_t device;  // the file's identity
  ino_t inode;
  uint64_t references;
  void *handle;
  char *path;
  uint32_t version;
  uint64_t features;
  uint64_t required_features;  // of the host
  const ops_provider *provider;
  const ops_library_wrapper *wrapper;  // NULL: none
  void *wrapped;                       // the wrapper's own
  ops_kernel_index *index;
};

static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static ops_library *open_list;

static int32_t check_file(const char *path, const ops_library_options *options,
                          ops_error *error) {
  ops_elf_facts facts;
  OPS_RETURN_IF_ERROR(ops_elf_inspect(path, &facts, error));
  if (facts.sanitizer & ~OPS_SANITIZER_BUILD)
    return ops_error_set(
        error, OPS_ERROR_INCOMPATIBLE,
        "%s: built with a sanitizer (0x%x) that this program was built without "
        "(0x%x); use the same -fsanitize= options for both",
        path, facts.sanitizer, OPS_SANITIZER_BUILD);
  if (!facts.exports_query)
    return ops_error_set_cause(
        error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_NOT_A_PROVIDER,
        "%s: does not export ops_provider_query; define it with OPS_EXPORT and keep "
        "it in the version script",
        path);
  if (options->strict && facts.extra_exports)
    return ops_error_set_cause(
        error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_NOT_A_PROVIDER,
        "%s: exports %llu symbol(s) besides ops_provider_query, for instance '%s'; "
        "build with -fvisibility=hidden and the SDK's version script",
        path, (unsigned long long)facts.extra_exports, facts.extra_export);
  return OPS_OK;
}

static int32_t check_reply(const ops_library *library, const ops_query_request *request,
                           const ops_query_reply *reply, ops_error *error) {
  if (reply->magic != OPS_QUERY_MAGIC)
    return ops_error_set_cause(
        error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_NOT_A_PROVIDER,
        "%s: answered the query with magic 0x%llx, expected 0x%llx; it is not a "
        "provider of this ABI",
        library->path, (unsigned long long)reply->magic, (unsigned long long)OPS_QUERY_MAGIC);
  if (reply->version < request->min_version || reply->version > request->max_version)
    return ops_error_set_cause(
        error, OPS_ERROR_UNSUPPORTED_VERSION, OPS_CAUSE_ABI_MISMATCH,
        "%s: chose ABI version %u.%u outside the %u.%u to %u.%u that were offered",
        library->path, OPS_VERSION_MAJOR(reply->version), OPS_VERSION_MINOR(reply->version),
        OPS_VERSION_MAJOR(request->min_version), OPS_VERSION_MINOR(request->min_version),
        OPS_VERSION_MAJOR(request->max_version), OPS_VERSION_MINOR(request->max_version));
  if (reply->sanitizer & ~OPS_SANITIZER_BUILD)
    return ops_error_set(
        error, OPS_ERROR_INCOMPATIBLE,
        "%s: states sanitizer 0x%x, this program was built with 0x%x; use the same "
        "-fsanitize= options for both",
        library->path, reply->sanitizer, OPS_SANITIZER_BUILD);
  if (reply->required_features & ~request->offered_features)
    return ops_error_set_cause(
        error, OPS_ERROR_UNSUPPORTED_VERSION, OPS_CAUSE_ABI_MISMATCH,
        "%s: needs host features 0x%llx that this host does not offer; use a newer "
        "host",
        library->path,
        (unsigned long long)(reply->required_features & ~request->offered_features));
  if (!reply->provider)
    return ops_error_set_cause(error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_NOT_A_PROVIDER,
                               "%s: answered the query without a provider table",
                               library->path);
  return OPS_OK;
}

// Says which side is too old when no version fits.
static int32_t refuse_version(const ops_library *library, const ops_query_request *request,
                              const ops_query_reply *reply, ops_error *error) {
  const int too_new = reply->min_version > request->max_version;
  return ops_error_set_cause(
      error, OPS_ERROR_UNSUPPORTED_VERSION, OPS_CAUSE_ABI_MISMATCH,
      "%s: too %s: it speaks ABI %u.%u to %u.%u, this host %u.%u to %u.%u; %s", library->path,
      too_new ? "new" : "old", OPS_VERSION_MAJOR(reply->min_version),
      OPS_VERSION_MINOR(reply->min_version), OPS_VERSION_MAJOR(reply->max_version),
      OPS_VERSION_MINOR(reply->max_version), OPS_VERSION_MAJOR(request->min_version),
      OPS_VERSION_MINOR(request->min_version), OPS_VERSION_MAJOR(request->max_version),
      OPS_VERSION_MINOR(request->max_version),
      too_new ? "use a newer host" : "rebuild the provider with this SDK");
}

static ops_query_request request_of(const ops_library_options *options) {
  return (ops_query_request){
      .struct_size = sizeof(ops_query_request),
      .magic = OPS_QUERY_MAGIC,
      .min_version = options->min_version ? options->min_version : OPS_ABI_VERSION,
      .max_version = options->max_version ? options->max_version : OPS_ABI_VERSION,
      .offered_features = options->offered_features,
      .sanitizer = OPS_SANITIZER_BUILD,
  };
}

static int32_t negotiate(ops_library *library, const ops_library_options *options,
                         ops_error *error) {
  ops_provider_query_fn query;
  *(void **)&query = dlsym(library->handle, "ops_provider_query");
  if (!query)
    return ops_error_set_cause(error, OPS_ERROR_INVALID_ARGUMENT, OPS_CAUSE_NOT_A_PROVIDER,
                               "%s: ops_provider_query: %s", library->path, dlerror());
  const ops_query_request request = request_of(options);
  ops_query_reply reply = {.struct_size = sizeof reply};
  ops_error local = OPS_ERROR_INIT;
  if (!error) error = &local;
  const int32_t status = query(&request, &reply, error);
  if (status == OPS_ERROR_UNSUPPORTED_VERSION &&
      (reply.min_version > request.max_version || reply.max_version < request.min_version))
    return refuse_version(library, &request, &reply, error);
  if (status != OPS_OK) {
    if (error->code != status) ops_error_set(error, status, "%s", ops_status_name(status));
    ops_error_prefix(error, "%s: refused the query", library->path);
    return status;
  }
  OPS_RETURN_IF_ERROR(check_reply(library, &request, &reply, error));
  library->version = reply.version;
  library->features = reply.offered_features;
  library->required_features = reply.required_features;
  library->provider = reply.provider;
  return OPS_OK;
}

static void unload(ops_library *library) {
  if (!library) return;
  ops_kernel_index_destroy(library->index);
  // A provider that does not declare it safe keeps its code mapped: its threads may outlive us.
  const int safe = !library->provider || library->provider->unload_safe;
  if (library->wrapped) library->wrapper->unwrap(library->wrapped);
  if (library->handle && safe) dlclose(library->handle);
  free(library->path);
  free(library);
}

static int32_t wrap(ops_library *library, const ops_library_wrapper *wrapper,
                    ops_error *error) {
  library->wrapper = wrapper;
  if (!wrapper) return OPS_OK;
  return wrapper->wrap(wrapper->context, library->provider, &library->wrapped,
                       &library->provider, error);
}

static int32_t load(const char *path, const struct stat *file,
                    const ops_library_options *options, ops_library **out_library,
                    ops_error *error) {
  OPS_RETURN_IF_ERROR(check_file(path, options, error));
  ops_library *library = calloc(1, sizeof *library);
  if (!library || !(library->path = strdup(path))) {
    free(library);
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "%s: no memory to open it", path);
  }
  int32_t status = OPS_OK;
  library->references = 1;
  library->device = file->st_dev;
  library->inode = file->st_ino;
  library->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library->handle)
    status = ops_error_set_cause(error, OPS_ERROR_IO, OPS_CAUSE_LIBRARY_MISSING,
                                 "%s: cannot be loaded: %s", path, dlerror());
  if (status == OPS_OK) status = negotiate(library, options, error);
  if (status == OPS_OK && (status = ops_provider_check(library->provider, error)) != OPS_OK) {
    ops_error_prefix(error, "%s", path);
    library->provider = NULL;
  }
  if (status == OPS_OK) status = wrap(library, options->wrapper, error);
  if (status == OPS_OK)
    status = ops_kernel_index_create(library->provider, &library->index, error);
  if (status != OPS_OK) {
    unload(library);
    return status;
  }
  *out_library = library;
  return OPS_OK;
}

static ops_library *find_open(const struct stat *file, const ops_library_wrapper *wrapper) {
  for (ops_library *library = open_list; library; library = library->next)
    if (library->device == file->st_dev && library->inode == file->st_ino &&
        library->wrapper == wrapper)
      return library;
  return NULL;
}

// A library that is open already was accepted under the options of another.
static int32_t check_again(const ops_library *library, const ops_library_options *options,
                           ops_error *error) {
  const ops_query_request request = request_of(options);
  const ops_query_reply reply = {.struct_size = sizeof reply,
                                 .magic = OPS_QUERY_MAGIC,
                                 .version = library->version,
                                 .required_features = library->required_features,
                                 .provider = library->provider};
  OPS_RETURN_IF_ERROR(check_file(library->path, options, error));
  return check_reply(library, &request, &reply, error);
}

static int32_t open_locked(const char *path, const ops_library_options *options,
                           ops_library **out_library, ops_error *error) {
  struct stat file;
  if (stat(path, &file) != 0)
    return ops_error_set_cause(error, OPS_ERROR_IO, OPS_CAUSE_FILE_UNREADABLE,
                               "%s: cannot be read", path);
  ops_library *library = find_open(&file, options->wrapper);
  if (library) {
    OPS_RETURN_IF_ERROR(check_again(library, options, error));
    ++library->references;
  } else {
    OPS_RETURN_IF_ERROR(load(path, &file, options, &library, error));
    library->next = open_list;
    open_list = library;
  }
  *out_library = library;
  return OPS_OK;
}

int32_t ops_library_open(const char *name, const ops_library_options *options,
                         ops_library **out_library, ops_error *error) {
  static const ops_library_options defaults = {0};
  char path[PATH_MAX];
  if (!options) options = &defaults;
  OPS_RETURN_IF_ERROR(ops_library_locate(name, options->provider_dir, path, error));
  pthread_mutex_lock(&open_lock);
  const int32_t status = open_locked(path, options, out_library, error);
  pthread_mutex_unlock(&open_lock);
  return status;
}

ops_library *ops_library_retain(ops_library *library) {
  pthread_mutex_lock(&open_lock);
  ++library->references;
  pthread_mutex_unlock(&open_lock);
  return library;
}

void ops_library_release(ops_library *library) {
  if (!library) return;
  pthread_mutex_lock(&open_lock);
  if (--library->references == 0) {
    ops_library **link = &open_list;
    while (*link != library) link = &(*link)->next;
    *link = library->next;
    unload(library);
  }
  pthread_mutex_unlock(&open_lock);
}

const ops_provider *ops_library_provider(const ops_library *library) {
  return library->provider;
}

const char *ops_library_path(const ops_library *library) {
  return library->path;
}

uint32_t ops_library_version(const ops_library *library) {
  return library->version;
}

uint64_t ops_library_features(const ops_library *library) {
  return library->features;
}

const ops_kernel_def *const *ops_library_kernels(const ops_library *library, ops_str domain,
                                                 ops_str op, uint64_t *out_count) {
  return ops_kernel_index_find(library->index, domain, op, out_count);
}
