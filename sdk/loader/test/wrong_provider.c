// SPDX-License-Identifier: Apache-2.0
//
// A provider with one fault, chosen by WRONG when it is compiled: what loader_test.c opens.
#include <ops/ops.h>
#include <string.h>

#define OK 0
#define TOO_OLD 1
#define TOO_NEW 2
#define TRUNCATED_TABLE 3
#define STRICT_INPUT 4  // takes a non-zero tail of an input struct for what it is: an error
#define MISSING_SLOTS 5
#define EXTRA_EXPORT 6
#define WRONG_MAGIC 7
#define WRONG_SANITIZER 8
#define MISSING_SYMBOL 9
#define LONG_TABLE 10  // a table with an unknown tail: legal
#define NO_TABLE 11
#define BAD_KERNEL 12
#define NEEDS_FEATURE 13
#define LINKS_SANITIZER 14
#define HALF_PAIRS 15  // optional slots without the ones that they need
#define BAD_REWRITE 16

struct ops_instance {
  int32_t unused;
};

static int32_t create(const ops_host_api *api, ops_host *host, const ops_key_value *options,
                      uint64_t option_count, ops_instance **out_instance, ops_error *error) {
  static ops_instance pool[16];
  static int32_t used;
  (void)api, (void)host, (void)options, (void)option_count, (void)error;
  *out_instance = &pool[__atomic_fetch_add(&used, 1, __ATOMIC_RELAXED)];
  return OPS_OK;
}

#if WRONG != MISSING_SLOTS
static int32_t destroy(ops_instance *instance, ops_error *error) {
  (void)instance, (void)error;
  return OPS_OK;
}

static int32_t device_count(ops_instance *instance, uint64_t *out_count, ops_error *error) {
  (void)instance, (void)error;
  *out_count = 0;
  return OPS_OK;
}
#endif

static int32_t device_open(ops_instance *instance, uint64_t index, ops_device **out_device,
                           ops_error *error) {
  (void)instance, (void)index, (void)out_device, (void)error;
  return OPS_ERROR_INVALID_ARGUMENT;
}

static int32_t device_close(ops_device *device, ops_error *error) {
  (void)device, (void)error;
  return OPS_OK;
}

static int32_t device_info(ops_device *device, ops_device_info *info, ops_error *error) {
  (void)device, (void)info, (void)error;
  return OPS_OK;
}

#if WRONG == LONG_TABLE
// A table of a later version: the known fields, then ones that this host has never heard of.
typedef struct later_instance_api {
  ops_instance_api known;
  void *unknown[4];
} later_instance_api;
static const later_instance_api kLater = {
    .known = {.struct_size = sizeof(later_instance_api),
              .create = create,
              .destroy = destroy,
              .device_count = device_count,
              .device_open = device_open,
              .device_close = device_close,
              .device_info = device_info},
    .unknown = {(void *)1, (void *)2, (void *)3, (void *)4}};
#define INSTANCE (&kLater.known)
#else
static const ops_instance_api kInstance = {
#if WRONG == TRUNCATED_TABLE
    .struct_size = sizeof(ops_instance_api) - sizeof(void *),
#else
    .struct_size = sizeof(ops_instance_api),
#endif
    .create = create,
#if WRONG != MISSING_SLOTS
    .destroy = destroy,
    .device_count = device_count,
#endif
    .device_open = device_open,
    .device_close = device_close,
    .device_info = device_info};
#define INSTANCE (&kInstance)
#endif

#if WRONG == BAD_KERNEL
static const ops_arg_def kArgs[] = {
    {.struct_size = sizeof(ops_arg_def),
     .name = OPS_STR("X"),
     .types = 2,
     .alignment = 48,
     .flags = OPS_ARG_VARIADIC},
    {.struct_size = sizeof(ops_arg_def), .name = OPS_STR("Y"), .types = 2, .memory_kind = 77}};
static const ops_kernel_def kKernels[] = {{.struct_size = sizeof(ops_kernel_def),
                                           .op = OPS_STR("Relu"),
                                           .since = 14,
                                           .until = 13,
                                           OPS_LIST(input, kArgs)}};
#endif

#if WRONG == BAD_REWRITE
static int32_t apply(ops_device *device, const ops_node *const *nodes, uint64_t node_count,
                     const ops_rewrite_api *api, ops_rewrite_builder *builder,
                     ops_error *error) {
  (void)device, (void)nodes, (void)node_count, (void)api, (void)builder, (void)error;
  return OPS_ERROR_UNSUPPORTED;
}
static const int32_t kLaterNode[] = {OPS_PATTERN_ANY, 1};
static const ops_pattern_node kPattern[] = {
    {.struct_size = sizeof(ops_pattern_node),
     .op = OPS_STR("Relu"),
     .inputs = kLaterNode,
     .input_count = 2},
    {.struct_size = sizeof(ops_pattern_node), .input_count = 1}};
#define REWRITE(rewrite_name, nodes, count, function)                                         \
  {                                                                                           \
    .struct_size = sizeof(ops_rewrite), .name = OPS_STR(rewrite_name), .pattern = (nodes),    \
    .pattern_count = (count), .pattern_stride = sizeof(ops_pattern_node), .apply = (function) \
  }
static const ops_rewrite kRewrites[] = {REWRITE("no function", kPattern, 2, NULL),
                                        REWRITE("no nodes", NULL, 0, apply),
                                        REWRITE("cyclic", kPattern, 2, apply)};
#endif

#if WRONG == HALF_PAIRS
static void never_called(void) {
}
// Any slot that is only looked at.
#define FILLED(api, slot) .slot = (__typeof__(((api *)0)->slot))never_called
static const ops_memory_api kMemory = {.struct_size = sizeof(ops_memory_api),
                                       FILLED(ops_memory_api, allocate),
                                       FILLED(ops_memory_api, free),
                                       FILLED(ops_memory_api, free_async),
                                       FILLED(ops_memory_api, reorder)};
static const ops_stream_api kStream = {.struct_size = sizeof(ops_stream_api),
                                       FILLED(ops_stream_api, create),
                                       FILLED(ops_stream_api, destroy),
                                       FILLED(ops_stream_api, synchronize),
                                       FILLED(ops_stream_api, wait),
                                       FILLED(ops_stream_api, copy),
                                       FILLED(ops_stream_api, event_create),
                                       FILLED(ops_stream_api, event_destroy),
                                       FILLED(ops_stream_api, event_record),
                                       FILLED(ops_stream_api, event_query),
                                       FILLED(ops_stream_api, event_synchronize),
                                       FILLED(ops_stream_api, capture_begin),
                                       FILLED(ops_stream_api, capture_end),
                                       FILLED(ops_stream_api, replay)};
#endif

static const ops_provider kProvider = {.struct_size = sizeof(ops_provider),
                                       .name = OPS_STR("wrong"),
                                       .vendor = OPS_STR("test"),
                                       .version = OPS_STR("1"),
#if WRONG == BAD_KERNEL
                                       OPS_LIST(kernel, kKernels),
#endif
#if WRONG == BAD_REWRITE
                                       OPS_LIST(rewrite, kRewrites),
#endif
#if WRONG == HALF_PAIRS
                                       .memory = &kMemory,
                                       .stream = &kStream,
#endif
                                       .instance = INSTANCE,
                                       .unload_safe = 1};

#if WRONG == EXTRA_EXPORT
OPS_EXPORT int32_t wrong_extra_symbol(void);
int32_t wrong_extra_symbol(void) {
  return 1;
}
#endif

#if WRONG == LINKS_SANITIZER
void __tsan_init(void);
void (*volatile wrong_reference)(void);
#endif

#if WRONG == MISSING_SYMBOL
// The provider's author forgot OPS_EXPORT.
#define ops_provider_query hidden_provider_query
int32_t hidden_provider_query(const ops_query_request *request, ops_query_reply *reply,
                              ops_error *error);
#endif

static uint64_t tail_of(const ops_query_request *request) {
  const unsigned char *bytes = (const unsigned char *)request;
  uint64_t bits = 0;
  for (uint64_t i = sizeof *request; i < request->struct_size; ++i) bits |= bytes[i];
  return bits;
}

int32_t ops_provider_query(const ops_query_request *request, ops_query_reply *reply,
                           ops_error *error) {
  uint32_t version = OPS_ABI_VERSION;
#if WRONG == TOO_OLD
  version = OPS_MAKE_VERSION(0, 0);
#elif WRONG == TOO_NEW
  version = OPS_MAKE_VERSION(9, 3);
#elif WRONG == LINKS_SANITIZER
  wrong_reference = __tsan_init;
#endif
  reply->magic = OPS_QUERY_MAGIC;
  reply->version = version;
  reply->min_version = version;
  reply->max_version = version;
  reply->provider = &kProvider;
  if (version < request->min_version || version > request->max_version)
    return OPS_ERROR_UNSUPPORTED_VERSION;
  if (tail_of(request)) {
    static const char message[] = "query request: the unknown tail is not zero";
    error->code = OPS_ERROR_UNSUPPORTED_VERSION;
    memcpy(error->message, message, sizeof message);
    error->message_size = sizeof message - 1;
    return OPS_ERROR_UNSUPPORTED_VERSION;
  }
#if WRONG == WRONG_MAGIC
  reply->magic = 42;
#elif WRONG == WRONG_SANITIZER
  reply->sanitizer = OPS_SANITIZER_MEMORY;
#elif WRONG == NO_TABLE
  reply->provider = NULL;
#elif WRONG == NEEDS_FEATURE
  reply->required_features = OPS_FEATURE_CAPTURE;
#endif
  return OPS_OK;
}
