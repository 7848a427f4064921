// SPDX-License-Identifier: Apache-2.0
//
// Negotiation: the rules of docs/abi.md, "Versions".
#include <ops_support/error.h>
#include <ops_support/provider.h>
#include <string.h>

int32_t ops_table_check(const void *table, uint64_t known_size, const char *what,
                        ops_error *error) {
  uint64_t size;
  memcpy(&size, table, sizeof size);
  if (size >= known_size) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_UNSUPPORTED_VERSION,
                       "%s: struct_size is %llu, expected at least %llu; the caller was built "
                       "against an older SDK: rebuild it",
                       what, (unsigned long long)size, (unsigned long long)known_size);
}

int32_t ops_input_struct_check(const void *input, uint64_t known_size, const char *what,
                               ops_error *error) {
  uint64_t size;
  memcpy(&size, input, sizeof size);
  OPS_RETURN_IF_ERROR(ops_table_check(input, known_size, what, error));
  const unsigned char *bytes = input;
  for (uint64_t i = known_size; i < size; ++i)
    if (bytes[i] != 0)
      return ops_error_set(
          error, OPS_ERROR_UNSUPPORTED_VERSION,
          "%s: byte %llu lies behind the %llu bytes known here and is not zero; the "
          "caller uses a newer feature: update this library",
          what, (unsigned long long)i, (unsigned long long)known_size);
  return OPS_OK;
}

int32_t ops_provider_answer(const ops_provider *provider, uint64_t offered, uint64_t required,
                            uint32_t sanitizer, const ops_query_request *request,
                            ops_query_reply *reply, ops_error *error) {
  if (request->magic != OPS_QUERY_MAGIC)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "query request: wrong magic number; the caller is not an ops host");
  OPS_RETURN_IF_ERROR(ops_input_struct_check(request, sizeof *request, "query request", error));
  if (reply->struct_size < sizeof *reply)
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED_VERSION,
                         "query reply: struct_size is %llu, expected at least %zu",
                         (unsigned long long)reply->struct_size, sizeof *reply);
  reply->magic = OPS_QUERY_MAGIC;
  reply->version = 0;
  reply->min_version = OPS_ABI_VERSION;
  reply->max_version = OPS_ABI_VERSION;
  reply->sanitizer = sanitizer;
  reply->offered_features = offered;
  reply->required_features = required;
  reply->provider = NULL;
  if (request->min_version > OPS_ABI_VERSION || request->max_version < OPS_ABI_VERSION)
    return ops_error_set(
        error, OPS_ERROR_UNSUPPORTED_VERSION,
        "provider speaks ABI %u.%u, host offers %u.%u to %u.%u", (unsigned)OPS_ABI_MAJOR,
        (unsigned)OPS_ABI_MINOR, OPS_VERSION_MAJOR(request->min_version),
        OPS_VERSION_MINOR(request->min_version), OPS_VERSION_MAJOR(request->max_version),
        OPS_VERSION_MINOR(request->max_version));
  if (required & ~request->offered_features)
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED_VERSION,
                         "provider needs host features 0x%llx, which this host lacks",
                         (unsigned long long)(required & ~request->offered_features));
  reply->version = OPS_ABI_VERSION;
  reply->provider = provider;
  return OPS_OK;
}
