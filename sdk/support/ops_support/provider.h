// SPDX-License-Identifier: Apache-2.0
//
// Negotiation, for the provider's side of ops_provider_query.
#ifndef OPS_SUPPORT_PROVIDER_H_
#define OPS_SUPPORT_PROVIDER_H_

#include <ops/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

// The sanitizers that the including file is compiled with, as OPS_SANITIZER_… bits.
#if defined(__SANITIZE_ADDRESS__)
#define OPS_SANITIZER_BUILD OPS_SANITIZER_ADDRESS
#elif defined(__SANITIZE_THREAD__)
#define OPS_SANITIZER_BUILD OPS_SANITIZER_THREAD
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OPS_SANITIZER_BUILD OPS_SANITIZER_ADDRESS
#elif __has_feature(thread_sanitizer)
#define OPS_SANITIZER_BUILD OPS_SANITIZER_THREAD
#elif __has_feature(memory_sanitizer)
#define OPS_SANITIZER_BUILD OPS_SANITIZER_MEMORY
#endif
#endif
#ifndef OPS_SANITIZER_BUILD
#define OPS_SANITIZER_BUILD OPS_SANITIZER_NONE
#endif

// Checks the request, chooses a version and fills the reply: all that ops_provider_query has to
// do. `required` are the host's features that this provider cannot do without. Errors:
// INVALID_ARGUMENT (wrong magic), UNSUPPORTED_VERSION (no common version, unknown non-zero
// tail, a reply too small, a feature the host lacks).
int32_t ops_provider_answer(const ops_provider *provider, uint64_t offered, uint64_t required,
                            uint32_t sanitizer, const ops_query_request *request,
                            ops_query_reply *reply, ops_error *error);

// Checks a function table or an output struct of the other side against the size this side
// knows: smaller is UNSUPPORTED_VERSION; a tail is not looked at.
int32_t ops_table_check(const void *table, uint64_t known_size, const char *what,
                        ops_error *error);

// Checks an input struct against the size this side knows: smaller is UNSUPPORTED_VERSION, and
// so is a larger one whose unknown tail is not all zero. `what` names the struct in the
// message.
int32_t ops_input_struct_check(const void *input, uint64_t known_size, const char *what,
                               ops_error *error);

#ifdef __cplusplus
}  // extern "C"
#endif
#endif  // OPS_SUPPORT_PROVIDER_H_
