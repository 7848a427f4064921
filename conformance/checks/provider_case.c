// SPDX-License-Identifier: Apache-2.0
//
// The table of cases about a provider as a whole, and what they share.
#include "checks/provider_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/check.h"
#include "ops_support/error.h"

static const oc_provider_case kCases[] = {
    {OC_CHECK_NEGOTIATION, "pure",
     "The query starts no thread, opens no file, allocates nothing and repeats its answer.",
     oc_negotiation_pure},
    {OC_CHECK_NEGOTIATION, "version_range", "A version is chosen inside the range offered.",
     oc_negotiation_range},
    {OC_CHECK_NEGOTIATION, "newer_major",
     "A host of a newer major version is refused, and told what the provider speaks.",
     oc_negotiation_newer},
    {OC_CHECK_NEGOTIATION, "older_minor",
     "A host of an older version is refused, and told what the provider speaks.",
     oc_negotiation_older},
    {OC_CHECK_NEGOTIATION, "magic", "A request without the magic number is refused.",
     oc_negotiation_magic},
    {OC_CHECK_NEGOTIATION, "request_truncated",
     "A request shorter than the first version's is refused, and not read beyond its size.",
     oc_negotiation_request_truncated},
    {OC_CHECK_NEGOTIATION, "request_oversized",
     "A longer request whose unknown tail is zero is accepted.",
     oc_negotiation_request_oversized},
    {OC_CHECK_NEGOTIATION, "request_newer",
     "A longer request whose unknown tail is used is refused.", oc_negotiation_request_newer},
    {OC_CHECK_NEGOTIATION, "reply_truncated",
     "Nothing is written behind a reply that is shorter.", oc_negotiation_reply_truncated},
    {OC_CHECK_NEGOTIATION, "reply_oversized",
     "A longer reply is accepted, and its unknown tail left alone.",
     oc_negotiation_reply_oversized},
    {OC_CHECK_NEGOTIATION, "no_features",
     "A host that offers no feature is served, or told which features are needed.",
     oc_negotiation_features},
    {OC_CHECK_NEGOTIATION, "null_error", "A refusal without an error record is a refusal.",
     oc_negotiation_null_error},
    {OC_CHECK_NEGOTIATION, "unknown_extension", "An unknown extension is answered with NULL.",
     oc_negotiation_extension},
    {OC_CHECK_NEGOTIATION, "host_truncated",
     "A host table without the slots of the version spoken is refused.",
     oc_negotiation_host_truncated},
    {OC_CHECK_NEGOTIATION, "host_oversized",
     "A host table with an unknown tail is accepted, and the tail not looked at.",
     oc_negotiation_host_oversized},
    {OC_CHECK_LIFECYCLE, "instance_in_use",
     "Destroying an instance with an open device is refused.", oc_lifecycle_instance_in_use},
    {OC_CHECK_LIFECYCLE, "device_with_stream",
     "Closing a device with a live stream is refused.", oc_lifecycle_device_with_stream},
    {OC_CHECK_LIFECYCLE, "device_with_event", "Closing a device with a live event is refused.",
     oc_lifecycle_device_with_event},
    {OC_CHECK_LIFECYCLE, "device_with_allocation",
     "Closing a device with a live allocation is refused.",
     oc_lifecycle_device_with_allocation},
    {OC_CHECK_LIFECYCLE, "device_with_kernel",
     "Closing a device with a live kernel is refused.", oc_lifecycle_device_with_kernel},
    {OC_CHECK_LIFECYCLE, "null", "Every destructor takes NULL.", oc_lifecycle_null},
    {OC_CHECK_LIFECYCLE, "unknown_option",
     "An option that the provider does not know is refused.", oc_lifecycle_unknown_option},
    {OC_CHECK_LIFECYCLE, "device_index", "A device that does not exist cannot be opened.",
     oc_lifecycle_device_index},
    {OC_CHECK_LIFECYCLE, "device_info", "A device says the same of itself each time.",
     oc_lifecycle_device_info},
    {OC_CHECK_LIFECYCLE, "two_instances", "One instance goes, another stays.",
     oc_lifecycle_two_instances},
    {OC_CHECK_LIFECYCLE, "reopen", "Opened and closed again and again, nothing is left behind.",
     oc_lifecycle_reopen},
    {OC_CHECK_LIFECYCLE, "scarcity",
     "Opening ends with OUT_OF_MEMORY where an allocation from the host fails.",
     oc_lifecycle_scarcity},
    {OC_CHECK_LIFECYCLE, "silence", "A destroyed instance calls no function of the host.",
     oc_lifecycle_silence},
    {OC_CHECK_LIFECYCLE, "memory",
     "Memory has its alignment, ends with OUT_OF_MEMORY, and is counted back.",
     oc_lifecycle_memory},
    {OC_CHECK_STREAMS, "order", "Copies in one stream run in their order.", oc_streams_order},
    {OC_CHECK_STREAMS, "events",
     "Copies on two streams wait for each other by an event that is recorded anew.",
     oc_streams_events},
    {OC_CHECK_STREAMS, "event_moves",
     "An event that is recorded behind a wait for it does not wait for itself.",
     oc_streams_event_moves},
    {OC_CHECK_STREAMS, "unrecorded", "Waiting for an event that was never recorded is refused.",
     oc_streams_unrecorded},
    {OC_CHECK_STREAMS, "query", "Queries answer OK or NOT_READY, and OK once the work is done.",
     oc_streams_query},
    {OC_CHECK_STREAMS, "drain", "Destroying a stream completes what is in flight.",
     oc_streams_drain},
    {OC_CHECK_STREAMS, "cancel", "A cancelled stream is usable again.", oc_streams_cancel},
    {OC_CHECK_STREAMS, "at_once", "A copy without a stream is complete when it returns.",
     oc_streams_at_once},
    {OC_CHECK_SCHEMA, "arguments", "What schemas make optional is declared optional.",
     oc_schema_arguments},
    {OC_CHECK_POST_OPS, "taken",
     "Every operator that a definition declares as absorbed is claimed behind some node.",
     oc_post_ops_taken},
    {OC_CHECK_RECORD, "success", "Calls that succeed leave the error record as it was.",
     oc_record_success},
    {OC_CHECK_RECORD, "none", "Calls accept a NULL record, whether they succeed or not.",
     oc_record_none},
    {OC_CHECK_GROUPS, "stable", "Asked again, the same groups are proposed.", oc_groups_stable},
    {OC_CHECK_GROUPS, "results",
     "A compiled group gives what its nodes give one by one, to everybody who reads it.",
     oc_groups_results},
    {OC_CHECK_GROUPS, "captures",
     "Values that only the branches of an If read are given and taken like others.",
     oc_groups_captures},
    {OC_CHECK_GROUPS, "cycles",
     "A group that would close a cycle is split, claimed anew, and its parts run.",
     oc_groups_cycles},
    {OC_CHECK_GROUPS, "only_in_group",
     "A node that is claimed only in a group runs in one alone and beside its neighbours.",
     oc_groups_only_in_group},
    {OC_CHECK_GROUPS, "blobs",
     "A saved kernel runs when it is loaded again; blobs that are cut, or of another group, "
     "are "
     "refused.",
     oc_groups_blobs},
    {OC_CHECK_REWRITE, "equivalent",
     "Where a rewrite applies, its nodes give what the replaced ones give.",
     oc_rewrite_equivalent},
};

#define CASE_COUNT (sizeof kCases / sizeof *kCases)

const oc_provider_case *oc_provider_cases(size_t *out_count) {
  *out_count = CASE_COUNT;
  return kCases;
}

// Stands where other cases have the contract of their operator.
static const oc_contract kContract = {
    .file = "provider", .op = "provider", .domain = "ai.onnx", .since = 1};

int32_t oc_provider_cases_append(oc_cases *cases, ops_error *error) {
  oc_case *items = realloc(cases->items, (cases->count + CASE_COUNT) * sizeof *items);
  if (!items) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for cases");
  cases->items = items;
  for (size_t i = 0; i < CASE_COUNT; ++i) {
    char *id = oc_arena_alloc(cases->arena, OC_CASE_MAX_ID, 1);
    if (!id) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for cases");
    snprintf(id, OC_CASE_MAX_ID, "provider/%s/%s", kCases[i].check, kCases[i].name);
    items[cases->count++] =
        (oc_case){.id = id, .contract = &kContract, .provider_case = (uint32_t)i + 1};
  }
  return OPS_OK;
}

const oc_provider_case *oc_provider_case_of(const oc_trial *trial) {
  return &kCases[trial->item->provider_case - 1];
}

void oc_provider_case_judge(oc_trial *trial) {
  oc_beacon_phase(trial->bench->beacon, OC_PHASE_OPEN);
  if (oc_provider_case_of(trial)->run(trial)) trial->result->status = OC_STATUS_PASS;
}

// ---- What the cases share -------------------------------------------------------------------

static bool same_text(ops_str a, const char *b) {
  return a.size == strlen(b) && memcmp(a.data, b, a.size) == 0;
}

bool oc_provider_def_is_of(const ops_kernel_def *def, const oc_contract *contract) {
  const bool standard = strcmp(contract->domain, "ai.onnx") == 0;
  const bool domain =
      same_text(def->domain, contract->domain) || (standard && def->domain.size == 0);
  return domain && same_text(def->op, contract->op);
}

const ops_kernel_def *oc_provider_def_at(const ops_provider *provider, uint64_t i) {
  return (const ops_kernel_def *)((const char *)provider->kernels +
                                  i * provider->kernel_stride);
}

bool oc_provider_open(oc_trial *trial, oc_target *target) {
  ops_error error = OPS_ERROR_INIT;
  const int32_t status = oc_target_open(target, &trial->bench->candidate_options, &error);
  return status == OPS_OK ||
         oc_provider_fails(trial, "opening another instance ends with %s: %.500s",
                           ops_status_name(status), error.message);
}

bool oc_provider_close(oc_trial *trial, oc_target *target) {
  ops_error error = OPS_ERROR_INIT;
  const int32_t status = oc_target_close(target, &error);
  return status == OPS_OK ||
         oc_provider_fails(trial, "closing the instance ends with %s: %.500s",
                           ops_status_name(status), error.message);
}

bool oc_provider_claim_any(oc_trial *trial, oc_target *target, oc_kernel *kernel,
                           oc_inputs *inputs) {
  const oc_bench *bench = trial->bench;
  static const oc_node_options options = {0};
  for (size_t i = 0; i < bench->cases->count && bench->samples; ++i) {
    const oc_case *item = &bench->cases->items[i];
    if (!oc_sample_takes(bench->samples[i], 1)) continue;
    int32_t status = oc_inputs_init(inputs, item, NULL);
    if (status == OPS_OK) {
      status = oc_kernel_init(kernel, target, bench->beacon, item, inputs, &options, NULL);
    }
    if (status == OPS_OK) status = oc_kernel_claim(kernel, NULL);
    if (status == OPS_OK && kernel->claim.answer == OPS_CLAIM_SUPPORTED) return true;
    oc_kernel_finish(kernel);
    oc_inputs_finish(inputs);
  }
  return false;
}

bool oc_provider_expect(oc_trial *trial, const char *call, int32_t status, int32_t expected,
                        const ops_error *error) {
  if (status != expected) {
    return oc_provider_fails(trial, "%s: expected %s, found %s: %.400s", call,
                             ops_status_name(expected), ops_status_name(status),
                             status == OPS_OK ? "no error" : error->message);
  }
  if (status == OPS_OK || (error->code == status && error->message_size > 0)) return true;
  return oc_provider_fails(
      trial,
      "%s: answers %s but leaves the error record with code %d and %u bytes "
      "of message; expected the code and a message",
      call, ops_status_name(status), error->code, error->message_size);
}
