// SPDX-License-Identifier: Apache-2.0
//
// Check `negotiation`: the one exported symbol and the host's table, asked by hosts of other
// versions. Structs that cross lie at the end of a guarded region of exactly the size that they
// state, so that a byte read or written too far is seen.
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "checks/provider_case.h"
#include "ops_support/error.h"

#define TAIL 64  // bytes that a newer host might have appended
#define FILL 0x5a

// ---- The symbol -----------------------------------------------------------------------------

typedef struct talk {
  oc_trial *trial;
  void *handle;
  ops_provider_query_fn query;
  ops_query_request request;
  ops_query_reply reply;
  ops_error error;
  int32_t status;
} talk;

static bool begin(oc_trial *trial, talk *talk) {
  const char *path = ops_library_path(trial->bench->candidate.library);
  *talk = (struct talk){.trial = trial,
                        .request = {.struct_size = sizeof talk->request,
                                    .magic = OPS_QUERY_MAGIC,
                                    .min_version = OPS_ABI_VERSION,
                                    .max_version = OPS_ABI_VERSION,
                                    .offered_features = OC_TARGET_FEATURES},
                        .reply = {.struct_size = sizeof talk->reply},
                        .error = OPS_ERROR_INIT};
  talk->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (talk->handle) *(void **)&talk->query = dlsym(talk->handle, "ops_provider_query");
  return talk->query || oc_trial_end(trial, OC_STATUS_NOT_RUN, "harness",
                                     "ops_provider_query of '%.300s' cannot be found", path);
}

static void ask(talk *talk) {
  talk->status = talk->query(&talk->request, &talk->reply, &talk->error);
}

// Closing is counted; the library of the bench stays.
static bool end(talk *talk, bool good) {
  dlclose(talk->handle);
  return good;
}

static bool expect_served(talk *talk, const char *what) {
  return oc_provider_expect(talk->trial, what, talk->status, OPS_OK, &talk->error) &&
         (talk->reply.magic == OPS_QUERY_MAGIC ||
          oc_provider_fails(talk->trial, "%s: the reply has no magic number", what)) &&
         (talk->reply.provider ||
          oc_provider_fails(talk->trial, "%s: the reply has no table", what));
}

// ---- Versions -------------------------------------------------------------------------------

bool oc_negotiation_pure(oc_trial *trial) {
  talk talk;
  if (!begin(trial, &talk)) return false;
  ask(&talk);  // whatever the loader resolves late
  const ops_query_reply first = talk.reply;
  const uint64_t threads = oc_environment_threads(), files = oc_environment_files();
  const uint64_t before = oc_environment_heap();
  ask(&talk);
  const uint64_t after = oc_environment_heap();
  bool good = expect_served(&talk, "the query");
  if (good && memcmp(&first, &talk.reply, sizeof first) != 0) {
    good = oc_provider_fails(trial, "asked twice, the query answers differently");
  } else if (good && (oc_environment_threads() > threads || oc_environment_files() > files)) {
    good = oc_provider_fails(trial, "the query started a thread or left a file open");
  } else if (good && after > before) {
    good = oc_provider_fails(trial, "the query allocated %llu bytes",
                             (unsigned long long)(after - before));
  }
  return end(&talk, good);
}

bool oc_negotiation_range(oc_trial *trial) {
  talk talk;
  if (!begin(trial, &talk)) return false;
  talk.request.min_version = 0;
  talk.request.max_version = UINT32_MAX;
  ask(&talk);
  bool good = expect_served(&talk, "a host that speaks every version");
  const ops_query_reply *reply = &talk.reply;
  if (good && (reply->version < reply->min_version || reply->version > reply->max_version)) {
    good = oc_provider_fails(trial, "it chose version 0x%x, outside its own 0x%x to 0x%x",
                             reply->version, reply->min_version, reply->max_version);
  }
  return end(&talk, good);
}

static bool refuse_version(oc_trial *trial, uint32_t version, const char *what) {
  talk talk;
  if (!begin(trial, &talk)) return false;
  talk.request.min_version = talk.request.max_version = version;
  ask(&talk);
  const ops_query_reply *reply = &talk.reply;
  bool good =
      oc_provider_expect(trial, what, talk.status, OPS_ERROR_UNSUPPORTED_VERSION, &talk.error);
  if (good && reply->provider) {
    good = oc_provider_fails(trial, "%s: refused, and yet the reply names a table", what);
  } else if (good && (reply->max_version == 0 || reply->min_version > reply->max_version ||
                      (version >= reply->min_version && version <= reply->max_version))) {
    good =
        oc_provider_fails(trial,
                          "%s: expected the reply to say which versions would do, found 0x%x "
                          "to 0x%x",
                          what, reply->min_version, reply->max_version);
  }
  return end(&talk, good);
}

bool oc_negotiation_newer(oc_trial *trial) {
  return refuse_version(trial, OPS_MAKE_VERSION(OPS_ABI_MAJOR + 1, 0),
                        "a host of the next major version");
}

bool oc_negotiation_older(oc_trial *trial) {
  return refuse_version(trial, OPS_ABI_VERSION - 1, "a host of the version before");
}

bool oc_negotiation_magic(oc_trial *trial) {
  talk talk;
  if (!begin(trial, &talk)) return false;
  talk.request.magic ^= 1;
  ask(&talk);
  bool good = true;
  if (talk.status == OPS_OK || talk.reply.provider) {
    good = oc_provider_fails(trial,
                             "a request with another magic number: expected a refusal, "
                             "found %s",
                             ops_status_name(talk.status));
  }
  return end(&talk, good);
}

bool oc_negotiation_features(oc_trial *trial) {
  talk talk;
  if (!begin(trial, &talk)) return false;
  talk.request.offered_features = 0;
  ask(&talk);
  bool good = true;
  if (talk.status == OPS_OK) {
    good = expect_served(&talk, "a host without features");
  } else {
    good = oc_provider_expect(trial, "a host without features", talk.status,
                              OPS_ERROR_UNSUPPORTED_VERSION, &talk.error) &&
           (talk.reply.required_features ||
            oc_provider_fails(trial,
                              "a host without features is refused, but the reply does not "
                              "say which are required"));
  }
  return end(&talk, good);
}

bool oc_negotiation_null_error(oc_trial *trial) {
  talk talk;
  if (!begin(trial, &talk)) return false;
  talk.request.min_version = talk.request.max_version = OPS_MAKE_VERSION(OPS_ABI_MAJOR + 1, 0);
  talk.status = talk.query(&talk.request, &talk.reply, NULL);
  const bool good = talk.status == OPS_ERROR_UNSUPPORTED_VERSION ||
                    oc_provider_fails(trial, "without an error record: expected %s, found %s",
                                      ops_status_name(OPS_ERROR_UNSUPPORTED_VERSION),
                                      ops_status_name(talk.status));
  return end(&talk, good);
}

bool oc_negotiation_extension(oc_trial *trial) {
  const ops_provider *provider = trial->bench->candidate.provider;
  static const ops_str name = OPS_STR("org.example.no-such-extension");
  if (!provider->get_extension) return oc_provider_lacks(trial, "no extensions");
  return !provider->get_extension(name, UINT32_MAX) ||
         oc_provider_fails(trial, "get_extension: expected NULL for '%s', found a table",
                           name.data);
}

// ---- Sizes ----------------------------------------------------------------------------------

// A struct of `size` bytes that ends at a guard page; what it holds beyond `known` is `tail`.
static bool place(oc_trial *trial, oc_guard *guard, const void *source, uint64_t known,
                  uint64_t size, int tail) {
  ops_error error = OPS_ERROR_INIT;
  const int32_t status =
      oc_guard_init(guard, size, 8, 0, OC_PLACE_END, OC_ROLE_INPUT, 0, &error);
  if (status != OPS_OK) {
    return oc_trial_end(trial, OC_STATUS_NOT_RUN, "harness", "%.300s", error.message);
  }
  memset(guard->data, tail, size);
  memcpy(guard->data, source, size < known ? size : known);
  memcpy(guard->data, &size, sizeof size);
  return true;
}

// Asks with a request of `size` bytes.
static bool ask_sized(talk *talk, uint64_t size, int tail) {
  oc_guard guard;
  if (!place(talk->trial, &guard, &talk->request, sizeof talk->request, size, tail))
    return false;
  talk->error = (ops_error)OPS_ERROR_INIT;
  talk->status = talk->query((const ops_query_request *)(const void *)guard.data, &talk->reply,
                             &talk->error);
  oc_guard_finish(&guard);
  return true;
}

bool oc_negotiation_request_truncated(oc_trial *trial) {
  static const uint64_t sizes[] = {16, 24, 32};
  talk talk;
  bool good = begin(trial, &talk);
  if (!good) return false;
  for (size_t i = 0; good && i < sizeof sizes / sizeof *sizes; ++i) {
    good = ask_sized(&talk, sizes[i], 0) &&
           oc_provider_expect(trial, "a truncated request", talk.status,
                              OPS_ERROR_UNSUPPORTED_VERSION, &talk.error);
  }
  return end(&talk, good);
}

bool oc_negotiation_request_oversized(oc_trial *trial) {
  talk talk;
  if (!begin(trial, &talk)) return false;
  const bool good = ask_sized(&talk, sizeof talk.request + TAIL, 0) &&
                    expect_served(&talk, "a longer request with a tail of zeros");
  return end(&talk, good);
}

bool oc_negotiation_request_newer(oc_trial *trial) {
  talk talk;
  if (!begin(trial, &talk)) return false;
  const bool good = ask_sized(&talk, sizeof talk.request + TAIL, 1) &&
                    oc_provider_expect(trial, "a longer request whose tail is used",
                                       talk.status, OPS_ERROR_UNSUPPORTED_VERSION, &talk.error);
  return end(&talk, good);
}

bool oc_negotiation_reply_truncated(oc_trial *trial) {
  static const uint64_t sizes[] = {16, 32, 48};
  talk talk;
  oc_guard guard;
  bool good = begin(trial, &talk);
  if (!good) return false;
  for (size_t i = 0; good && i < sizeof sizes / sizeof *sizes; ++i) {
    int64_t offset;
    good = place(trial, &guard, &talk.reply, sizeof talk.reply, sizes[i], 0);
    if (!good) break;
    talk.query(&talk.request, (ops_query_reply *)(void *)guard.data, &talk.error);
    if (!oc_guard_intact(&guard, &offset)) {
      good = oc_provider_fails(trial, "a reply of %llu bytes: byte %lld was written",
                               (unsigned long long)sizes[i], (long long)offset);
    }
    oc_guard_finish(&guard);
  }
  return end(&talk, good);
}

bool oc_negotiation_reply_oversized(oc_trial *trial) {
  talk talk;
  oc_guard guard;
  if (!begin(trial, &talk)) return false;
  if (!place(trial, &guard, &talk.reply, sizeof talk.reply, sizeof talk.reply + TAIL, FILL)) {
    return end(&talk, false);
  }
  talk.status = talk.query(&talk.request, (ops_query_reply *)(void *)guard.data, &talk.error);
  memcpy(&talk.reply, guard.data, sizeof talk.reply);
  bool good = expect_served(&talk, "a longer reply");
  for (size_t i = 0; good && i < TAIL; ++i) {
    good = guard.data[sizeof talk.reply + i] == FILL ||
           oc_provider_fails(trial,
                             "a longer reply: byte %zu, unknown to this version, was written",
                             sizeof talk.reply + i);
  }
  oc_guard_finish(&guard);
  return end(&talk, good);
}

// ---- The host's table -----------------------------------------------------------------------

// Creates an instance with a table of `size` bytes.
static bool create_with(oc_trial *trial, uint64_t size, int tail, int32_t *out_status,
                        ops_instance **out_instance, ops_error *error) {
  const oc_bench *bench = trial->bench;
  const ops_instance_api *api = bench->candidate.provider->instance;
  static oc_guard guard;  // the table lives as long as the instance
  oc_guard_finish(&guard);
  if (!place(trial, &guard, ops_host_api_table(), sizeof(ops_host_api), size, tail))
    return false;
  *out_instance = NULL;
  *out_status = api->create((const ops_host_api *)(const void *)guard.data,
                            bench->candidate.host, bench->candidate_options.options,
                            bench->candidate_options.option_count, out_instance, error);
  return true;
}

bool oc_negotiation_host_truncated(oc_trial *trial) {
  ops_error error = OPS_ERROR_INIT;
  ops_instance *instance;
  int32_t status;
  if (!create_with(trial, 16, 0, &status, &instance, &error)) return false;
  return oc_provider_expect(trial, "create with a host table of 16 bytes", status,
                            OPS_ERROR_UNSUPPORTED_VERSION, &error);
}

bool oc_negotiation_host_oversized(oc_trial *trial) {
  ops_error error = OPS_ERROR_INIT;
  ops_instance *instance;
  int32_t status;
  if (!create_with(trial, sizeof(ops_host_api) + TAIL, FILL, &status, &instance, &error) ||
      !oc_provider_expect(trial, "create with a longer host table", status, OPS_OK, &error)) {
    return false;
  }
  status = trial->bench->candidate.provider->instance->destroy(instance, &error);
  return oc_provider_expect(trial, "destroy", status, OPS_OK, &error);
}
