// SPDX-License-Identifier: Apache-2.0
//
// The provider's one export, its instances and its single device: the host's processor, host
// memory, no streams.
#include <string.h>

#include "kernel.h"
#include "table.h"

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZER OPS_SANITIZER_ADDRESS
#elif defined(__SANITIZE_THREAD__)
#define SANITIZER OPS_SANITIZER_THREAD
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZER OPS_SANITIZER_ADDRESS
#elif __has_feature(thread_sanitizer)
#define SANITIZER OPS_SANITIZER_THREAD
#endif
#endif
#ifndef SANITIZER
#define SANITIZER OPS_SANITIZER_NONE
#endif

// ---- Options -------------------------------------------------------------------------------

static int same_text(ops_str text, const char *other) {
  return text.size == strlen(other) && memcmp(text.data, other, text.size) == 0;
}

static int read_seed(ops_str text, uint64_t *out) {
  uint64_t seed = 0;
  if (text.size == 0) return 0;
  for (uint64_t i = 0; i < text.size; ++i) {
    const char c = text.data[i];
    if (c < '0' || c > '9' || __builtin_mul_overflow(seed, 10, &seed) ||
        __builtin_add_overflow(seed, (uint64_t)(c - '0'), &seed))
      return 0;
  }
  *out = seed;
  return 1;
}

static int read_noise_type(ops_str text, uint64_t *out_low) {
  static const int32_t types[] = {OPS_TYPE_FLOAT, OPS_TYPE_DOUBLE, OPS_TYPE_FLOAT16,
                                  OPS_TYPE_BFLOAT16};
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
    if (!same_text(text, ref_element_of(types[i])->name)) continue;
    *out_low = ref_noise_low(types[i]);
    return 1;
  }
  return 0;
}

static int read_seed_option(ops_str text, ops_instance *out) {
  return read_seed(text, &out->noise.state);
}

static int read_type_option(ops_str text, ops_instance *out) {
  return read_noise_type(text, &out->noise.low);
}

static int read_results_option(ops_str text, ops_instance *out) {
  out->noise.results = same_text(text, "yes");
  return out->noise.results || same_text(text, "no");
}

static int read_shift(ops_str text, ops_instance *out) {
  static const struct {
    const char *word;
    double shift;
  } words[] = {{"up", 0x1p-10}, {"down", -0x1p-10}, {"none", 0}};
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i) {
    if (!same_text(text, words[i].word)) continue;
    out->tie_shift = words[i].shift;
    return 1;
  }
  return 0;
}

// perturb… see noise.h; of perturb and perturb_to alone the other is 0 or float. tie_shift: by
// 2^-10 of a step, see ref_tie_shift.
static const struct option_row {
  const char *key;
  const char *expected;
  int (*read)(ops_str text, ops_instance *out);
  int perturbs;
} kOptions[] = {
    {"perturb", "a number below 2^64", read_seed_option, 1},
    {"perturb_to", "float, double, float16 or bfloat16", read_type_option, 1},
    {"perturb_results", "yes or no", read_results_option, 1},
    {"tie_shift", "up, down or none", read_shift, 0},
};

static int32_t read_option(const ops_key_value *option, ops_instance *out, ops_error *error) {
  for (size_t i = 0; i < sizeof kOptions / sizeof *kOptions; ++i) {
    const struct option_row *row = &kOptions[i];
    if (!same_text(option->key, row->key)) continue;
    if (row->perturbs && !out->noise.low) out->noise.low = ref_noise_low(OPS_TYPE_FLOAT);
    if (row->read(option->value, out)) return OPS_OK;
    return ref_error(error, OPS_ERROR_INVALID_ARGUMENT, "reference: %s=%.*s: expected %s",
                     row->key, (int)option->value.size, option->value.data, row->expected);
  }
  return ref_error(error, OPS_ERROR_INVALID_ARGUMENT,
                   "reference: there is no option '%.*s'; there are perturb, perturb_to, "
                   "perturb_results and tie_shift",
                   (int)option->key.size, option->key.data);
}

static int32_t instance_create(const ops_host_api *api, ops_host *host,
                               const ops_key_value *options, uint64_t option_count,
                               ops_instance **out_instance, ops_error *error) {
  if (api->struct_size < sizeof *api)
    return ref_error(error, OPS_ERROR_UNSUPPORTED_VERSION,
                     "reference: the host's table has %llu bytes, expected at least %zu",
                     (unsigned long long)api->struct_size, sizeof *api);
  ops_instance made = {.api = api, .host = host};
  for (uint64_t i = 0; i < option_count; ++i)
    RETURN_IF_ERROR(read_option(&options[i], &made, error));
  ops_instance *instance = api->allocate(host, sizeof *instance, 64);
  if (instance == NULL)
    return ref_error(error, OPS_ERROR_OUT_OF_MEMORY,
                     "reference: the host's memory is exhausted");
  *instance = made;
  *out_instance = instance;
  return OPS_OK;
}

static int32_t instance_destroy(ops_instance *instance, ops_error *error) {
  if (instance == NULL) return OPS_OK;
  if (__atomic_load_n(&instance->open_devices, __ATOMIC_RELAXED) != 0)
    return ref_error(error, OPS_ERROR_PRECONDITION,
                     "reference: a device of the instance is still open; close it first");
  instance->api->free(instance->host, instance);
  return OPS_OK;
}

static int32_t device_count(ops_instance *instance, uint64_t *out_count, ops_error *error) {
  (void)instance;
  (void)error;
  *out_count = 1;
  return OPS_OK;
}

static int32_t device_open(ops_instance *instance, uint64_t index, ops_device **out_device,
                           ops_error *error) {
  if (index != 0)
    return ref_error(error, OPS_ERROR_INVALID_ARGUMENT,
                     "reference: expected device 0, the only one, found %llu",
                     (unsigned long long)index);
  ops_device *device = instance->api->allocate(instance->host, sizeof *device, 64);
  if (device == NULL)
    return ref_error(error, OPS_ERROR_OUT_OF_MEMORY,
                     "reference: the host's memory is exhausted");
  *device = (ops_device){.instance = instance};
  __atomic_add_fetch(&instance->open_devices, 1, __ATOMIC_RELAXED);
  *out_device = device;
  return OPS_OK;
}

static int32_t device_close(ops_device *device, ops_error *error) {
  if (device == NULL) return OPS_OK;
  if (__atomic_load_n(&device->live_kernels, __ATOMIC_RELAXED) != 0)
    return ref_error(error, OPS_ERROR_PRECONDITION,
                     "reference: a kernel of the device is alive; destroy it first");
  ops_instance *instance = device->instance;
  instance->api->free(instance->host, device);
  __atomic_sub_fetch(&instance->open_devices, 1, __ATOMIC_RELAXED);
  return OPS_OK;
}

static int32_t device_info(ops_device *device, ops_device_info *out_info, ops_error *error) {
  (void)device;
  (void)error;
  ops_device_info info = {
      .struct_size = out_info->struct_size,
      .kind = OPS_DEVICE_CPU,
      .memory_kinds = OPS_MEMORY_BIT(OPS_MEMORY_HOST),
      .name = OPS_STR("reference"),
      .architecture = OPS_STR("portable C, double arithmetic"),
      .driver_version = OPS_STR("0.1.0"),
      .fingerprint = OPS_STR("reference"),
      .min_alignment = 64,
      .flags = OPS_DEVICE_UNALIGNED_CONSTANTS,
  };
  uint64_t size = out_info->struct_size < sizeof info ? out_info->struct_size : sizeof info;
  memcpy(out_info, &info, size);
  return OPS_OK;
}

const ops_instance_api ref_instance_api = {
    .struct_size = sizeof(ops_instance_api),
    .create = instance_create,
    .destroy = instance_destroy,
    .device_count = device_count,
    .device_open = device_open,
    .device_close = device_close,
    .device_info = device_info,
};

static int32_t check_request(const ops_query_request *request, const ops_query_reply *reply,
                             ops_error *error) {
  if (request->magic != OPS_QUERY_MAGIC)
    return ref_error(error, OPS_ERROR_INVALID_ARGUMENT,
                     "reference: the query's magic number is wrong; the caller is no ops host");
  if (request->struct_size < sizeof *request || reply->struct_size < sizeof *reply)
    return ref_error(error, OPS_ERROR_UNSUPPORTED_VERSION,
                     "reference: the query's structs are smaller than ABI %d.%d has them; "
                     "rebuild the host",
                     OPS_ABI_MAJOR, OPS_ABI_MINOR);
  const unsigned char *bytes = (const unsigned char *)request;
  for (uint64_t i = sizeof *request; i < request->struct_size; ++i)
    if (bytes[i] != 0)
      return ref_error(error, OPS_ERROR_UNSUPPORTED_VERSION,
                       "reference: the query uses fields newer than ABI %d.%d; update the "
                       "provider",
                       OPS_ABI_MAJOR, OPS_ABI_MINOR);
  return OPS_OK;
}

OPS_EXPORT int32_t ops_provider_query(const ops_query_request *request, ops_query_reply *reply,
                                      ops_error *error) {
  RETURN_IF_ERROR(check_request(request, reply, error));
  reply->magic = OPS_QUERY_MAGIC;
  reply->version = 0;
  reply->min_version = OPS_ABI_VERSION;
  reply->max_version = OPS_ABI_VERSION;
  reply->sanitizer = SANITIZER;
  reply->offered_features = OPS_FEATURE_VALUES;
  reply->required_features = 0;
  reply->provider = NULL;
  if (request->min_version > OPS_ABI_VERSION || request->max_version < OPS_ABI_VERSION)
    return ref_error(
        error, OPS_ERROR_UNSUPPORTED_VERSION,
        "reference: speaks ABI %u.%u, the host %u.%u to %u.%u", (unsigned)OPS_ABI_MAJOR,
        (unsigned)OPS_ABI_MINOR, OPS_VERSION_MAJOR(request->min_version),
        OPS_VERSION_MINOR(request->min_version), OPS_VERSION_MAJOR(request->max_version),
        OPS_VERSION_MINOR(request->max_version));
  reply->version = OPS_ABI_VERSION;
  reply->provider = &ref_provider;
  return OPS_OK;
}
