// SPDX-License-Identifier: Apache-2.0
//
// Cases about a provider as a whole: negotiation, objects, streams, schemas, rewrites. They
// stand in the list of cases behind those of the operators, as "provider/CHECK/NAME", and run,
// repeat and are reported like them. That one passes says nothing about any operator.
#ifndef OC_CHECKS_PROVIDER_CASE_H_
#define OC_CHECKS_PROVIDER_CASE_H_

#include "checks/trial.h"

typedef struct oc_provider_case {
  const char *check;  // a row of the table of checks
  const char *name;
  const char *what;  // one sentence for people
  // True: holds. Else it has ended the trial; UNSUPPORTED where the provider lacks the subject.
  bool (*run)(oc_trial *trial);
} oc_provider_case;

const oc_provider_case *oc_provider_cases(size_t *out_count);

// Appends them to `cases`; item->provider_case is the number of the row, from 1.
int32_t oc_provider_cases_append(oc_cases *cases, ops_error *error);

// Runs the case of a trial whose item has a provider_case.
void oc_provider_case_judge(oc_trial *trial);

// Ends the trial with UNSUPPORTED: the provider has no such thing.
#define oc_provider_lacks(trial, ...) \
  oc_trial_end(trial, OC_STATUS_UNSUPPORTED, "", __VA_ARGS__)
// Ends the trial with FAIL under the check of its row.
#define oc_provider_fails(trial, ...) \
  oc_trial_end(trial, OC_STATUS_FAIL, oc_provider_case_of(trial)->check, __VA_ARGS__)
const oc_provider_case *oc_provider_case_of(const oc_trial *trial);

// Opens another instance of the candidate, with the options of the run. False: the trial ended.
bool oc_provider_open(oc_trial *trial, oc_target *target);
// Closes it; a failure ends the trial.
bool oc_provider_close(oc_trial *trial, oc_target *target);

// Claims the first case, of those that are put to sampled checks, that `target` supports
// without constants. True: kernel and inputs are its own, to be finished by the caller in any
// case.
bool oc_provider_claim_any(oc_trial *trial, oc_target *target, oc_kernel *kernel,
                           oc_inputs *inputs);

// False, and the trial ended, unless a call answered `expected` and, if that is an error, said
// so in the record.
bool oc_provider_expect(oc_trial *trial, const char *call, int32_t status, int32_t expected,
                        const ops_error *error);

// Whether a definition is of the contract's operator, whatever the opset.
bool oc_provider_def_is_of(const ops_kernel_def *def, const oc_contract *contract);
const ops_kernel_def *oc_provider_def_at(const ops_provider *provider, uint64_t i);

// The rows, by file.
bool oc_negotiation_pure(oc_trial *trial);
bool oc_negotiation_range(oc_trial *trial);
bool oc_negotiation_newer(oc_trial *trial);
bool oc_negotiation_older(oc_trial *trial);
bool oc_negotiation_magic(oc_trial *trial);
bool oc_negotiation_request_truncated(oc_trial *trial);
bool oc_negotiation_request_oversized(oc_trial *trial);
bool oc_negotiation_request_newer(oc_trial *trial);
bool oc_negotiation_reply_truncated(oc_trial *trial);
bool oc_negotiation_reply_oversized(oc_trial *trial);
bool oc_negotiation_features(oc_trial *trial);
bool oc_negotiation_null_error(oc_trial *trial);
bool oc_negotiation_extension(oc_trial *trial);
bool oc_negotiation_host_truncated(oc_trial *trial);
bool oc_negotiation_host_oversized(oc_trial *trial);
bool oc_lifecycle_instance_in_use(oc_trial *trial);
bool oc_lifecycle_device_with_stream(oc_trial *trial);
bool oc_lifecycle_device_with_event(oc_trial *trial);
bool oc_lifecycle_device_with_allocation(oc_trial *trial);
bool oc_lifecycle_device_with_kernel(oc_trial *trial);
bool oc_lifecycle_null(oc_trial *trial);
bool oc_lifecycle_unknown_option(oc_trial *trial);
bool oc_lifecycle_device_index(oc_trial *trial);
bool oc_lifecycle_device_info(oc_trial *trial);
bool oc_lifecycle_two_instances(oc_trial *trial);
bool oc_lifecycle_reopen(oc_trial *trial);
bool oc_lifecycle_scarcity(oc_trial *trial);
bool oc_lifecycle_silence(oc_trial *trial);
bool oc_lifecycle_memory(oc_trial *trial);
bool oc_streams_order(oc_trial *trial);
bool oc_streams_events(oc_trial *trial);
bool oc_streams_event_moves(oc_trial *trial);
bool oc_streams_unrecorded(oc_trial *trial);
bool oc_streams_query(oc_trial *trial);
bool oc_streams_drain(oc_trial *trial);
bool oc_streams_cancel(oc_trial *trial);
bool oc_streams_at_once(oc_trial *trial);
bool oc_schema_arguments(oc_trial *trial);
bool oc_post_ops_taken(oc_trial *trial);
bool oc_record_success(oc_trial *trial);
bool oc_record_none(oc_trial *trial);
bool oc_groups_stable(oc_trial *trial);
bool oc_groups_results(oc_trial *trial);
bool oc_groups_captures(oc_trial *trial);
bool oc_groups_cycles(oc_trial *trial);
bool oc_groups_only_in_group(oc_trial *trial);
bool oc_groups_blobs(oc_trial *trial);
bool oc_rewrite_equivalent(oc_trial *trial);

#endif  // OC_CHECKS_PROVIDER_CASE_H_
