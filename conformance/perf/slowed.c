// SPDX-License-Identifier: Apache-2.0
//
// libops_slowed.so: the provider in libops_cpu.so beside it (or in the library that the
// variable OPS_SLOWED_LIBRARY names), every execute longer by the instance option
// slower=PERCENT. What the performance gate must see, and with slower=0 what it must not.
//
// The delay is a share of the CPU time that the run took, spent in the same thread, so that it
// is the same on a machine that others use. For synchronous providers; groups and rewrites are
// left out. The percentage is one for the process: nothing leads from a kernel to its instance.
#include <dlfcn.h>
#include <ops/ops.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ops_support/error.h"

#define LARGEST_SLOWNESS 1000

typedef struct slow_kernel {
  const ops_kernel_def *inner;
  ops_kernel *kernel;
} slow_kernel;

typedef struct slow_prepared {
  const ops_kernel_api *api;
  ops_prepared *prepared;
} slow_prepared;

static ops_provider provider;  // filled by the first query
static const ops_provider *inner;
static ops_kernel_def *definitions;  // as inner's, with functions of our own
static ops_kernel_api *functions;    // one table per definition: optional slots differ
static ops_instance_api instances;
static atomic_int slowness;  // per cent

static const ops_kernel_def *inner_def(const ops_kernel_def *def) {
  const size_t index = (size_t)(def - definitions);
  return (const ops_kernel_def *)((const char *)inner->kernels + index * inner->kernel_stride);
}

// ---- Kernels --------------------------------------------------------------------------------

static int32_t claim(ops_device *device, const ops_kernel_def *def, const ops_node *node,
                     ops_claim *out_claim, ops_error *error) {
  return inner_def(def)->api->claim(device, inner_def(def), node, out_claim, error);
}

static int32_t create(ops_device *device, const ops_kernel_def *def, const ops_node *node,
                      ops_kernel **out_kernel, ops_error *error) {
  slow_kernel *own = calloc(1, sizeof *own);
  if (!own) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a kernel");
  own->inner = inner_def(def);
  const int32_t status = own->inner->api->create(device, own->inner, node, &own->kernel, error);
  if (status != OPS_OK) {
    free(own);
    return status;
  }
  *out_kernel = (ops_kernel *)own;
  return OPS_OK;
}

static void destroy(ops_kernel *kernel) {
  slow_kernel *own = (slow_kernel *)kernel;
  if (own) own->inner->api->destroy(own->kernel);
  free(own);
}

static uint64_t released_constants(const ops_kernel *kernel) {
  const slow_kernel *own = (const slow_kernel *)kernel;
  return own->inner->api->released_constants(own->kernel);
}

static int32_t query_layouts(ops_kernel *kernel, const ops_prepare_request *request,
                             ops_layout_choice *out_choices, uint64_t capacity, uint64_t stride,
                             uint64_t *out_count, ops_error *error) {
  slow_kernel *own = (slow_kernel *)kernel;
  return own->inner->api->query_layouts(own->kernel, request, out_choices, capacity, stride,
                                        out_count, error);
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepare_reply *reply, ops_error *error) {
  slow_kernel *own = (slow_kernel *)kernel;
  slow_prepared *prepared = calloc(1, sizeof *prepared);
  if (!prepared) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory to prepare");
  const int32_t status = own->inner->api->prepare(own->kernel, request, reply, error);
  if (status != OPS_OK) {
    free(prepared);
    return status;
  }
  *prepared = (slow_prepared){.api = own->inner->api, .prepared = reply->prepared};
  reply->prepared = (ops_prepared *)prepared;
  return OPS_OK;
}

static void prepared_destroy(ops_prepared *prepared) {
  slow_prepared *own = (slow_prepared *)prepared;
  if (own) own->api->prepared_destroy(own->prepared);
  free(own);
}

static int64_t cpu_nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int32_t execute(ops_prepared *prepared, const ops_execute_request *request,
                       ops_stream *stream, ops_error *error) {
  const slow_prepared *own = (const slow_prepared *)prepared;
  const int64_t share = atomic_load(&slowness);
  const int64_t start = cpu_nanoseconds();
  const int32_t status = own->api->execute(own->prepared, request, stream, error);
  const int64_t taken = cpu_nanoseconds() - start;
  while (cpu_nanoseconds() - start < taken + taken * share / 100) continue;
  return status;
}

static int32_t cost(ops_kernel *kernel, const ops_prepare_request *request, ops_cost *out_cost,
                    ops_error *error) {
  slow_kernel *own = (slow_kernel *)kernel;
  return own->inner->api->cost(own->kernel, request, out_cost, error);
}

// ---- Instances ------------------------------------------------------------------------------

static int32_t read_slowness(const ops_key_value *option, ops_error *error) {
  char text[16] = "";
  char *end = NULL;
  const bool named = option->key.size == 6 && memcmp(option->key.data, "slower", 6) == 0;
  if (named && option->value.size < sizeof text) {
    memcpy(text, option->value.data, option->value.size);
  }
  const long percent = strtol(text, &end, 10);
  if (!named || end == text || *end || percent < 0 || percent > LARGEST_SLOWNESS) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "option '%.*s': expected slower=PERCENT with 0 to %d",
                         OPS_STR_FMT(option->key), LARGEST_SLOWNESS);
  }
  atomic_store(&slowness, (int)percent);
  return OPS_OK;
}

static int32_t create_instance(const ops_host_api *api, ops_host *host,
                               const ops_key_value *options, uint64_t option_count,
                               ops_instance **out_instance, ops_error *error) {
  for (uint64_t i = 0; i < option_count; ++i) {
    OPS_RETURN_IF_ERROR(read_slowness(&options[i], error));
  }
  return inner->instance->create(api, host, NULL, 0, out_instance, error);
}

// ---- The table ------------------------------------------------------------------------------

#define WRAP(table, slot) \
  if ((table)->slot) (table)->slot = slot

static void wrap_functions(ops_kernel_api *api, const ops_kernel_api *original) {
  const size_t size = original->struct_size < sizeof *api ? original->struct_size : sizeof *api;
  memcpy(api, original, size);
  WRAP(api, claim);
  WRAP(api, create);
  WRAP(api, destroy);
  WRAP(api, released_constants);
  WRAP(api, query_layouts);
  WRAP(api, prepare);
  WRAP(api, prepared_destroy);
  WRAP(api, execute);
  WRAP(api, cost);
  api->save = NULL;
}

static bool wrap_kernels(void) {
  definitions = calloc(inner->kernel_count + 1, sizeof *definitions);
  functions = calloc(inner->kernel_count + 1, sizeof *functions);
  if (!definitions || !functions) return false;
  for (uint64_t i = 0; i < inner->kernel_count; ++i) {
    const ops_kernel_def *original = inner_def(&definitions[i]);
    memcpy(&definitions[i], original,
           original->struct_size < sizeof *original ? original->struct_size : sizeof *original);
    wrap_functions(&functions[i], original->api);
    definitions[i].api = &functions[i];
  }
  return true;
}

static bool wrap_provider(void) {
  provider = *inner;
  if (!wrap_kernels()) return false;
  instances = *inner->instance;
  instances.create = create_instance;
  provider.name = (ops_str)OPS_STR("slowed");
  provider.kernels = definitions;
  provider.kernel_stride = sizeof *definitions;
  provider.rewrites = NULL;
  provider.rewrite_count = 0;
  provider.group = NULL;
  provider.instance = &instances;
  return true;
}

static void *open_inner(void) {
  Dl_info self;
  char path[4096];
  const char *named = getenv("OPS_SLOWED_LIBRARY");
  if (named) return dlopen(named, RTLD_NOW | RTLD_LOCAL);
  if (!dladdr((void *)&provider, &self) || !self.dli_fname) return NULL;
  const char *slash = strrchr(self.dli_fname, '/');
  const int length = slash ? (int)(slash - self.dli_fname) : 1;
  snprintf(path, sizeof path, "%.*s/libops_cpu.so", length, slash ? self.dli_fname : ".");
  return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

int32_t ops_provider_query(const ops_query_request *request, ops_query_reply *reply,
                           ops_error *error) {
  void *library = open_inner();
  ops_provider_query_fn query = NULL;
  if (library) *(void **)&query = dlsym(library, "ops_provider_query");
  if (!query) {
    return ops_error_set(error, OPS_ERROR_NOT_FOUND, "the provider to slow down: %s",
                         dlerror());
  }
  OPS_RETURN_IF_ERROR(query(request, reply, error));
  inner = reply->provider;
  if (!definitions && !wrap_provider()) {
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for the table");
  }
  reply->provider = &provider;
  return OPS_OK;
}
