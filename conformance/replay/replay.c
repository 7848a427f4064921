// SPDX-License-Identifier: Apache-2.0
//
// The steps of a trial that need no oracle: one run in guarded memory, outputs poisoned before.
#include "replay/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops_support/error.h"
#include "runner/kernel.h"
#include "runner/launch.h"

static int32_t end(oc_replay_result *result, oc_replay_verdict verdict, const char *what,
                   const char *detail) {
  result->verdict = verdict;
  snprintf(result->message, sizeof result->message, "%s%s%.500s", what, detail[0] ? ": " : "",
           detail);
  return OPS_OK;
}

static int32_t failed(oc_replay_result *result, const char *step, int32_t status,
                      const ops_error *error) {
  char what[96];
  snprintf(what, sizeof what, "%s ends with %s", step, ops_status_name(status));
  return end(result, OC_REPLAY_FAIL, what, error->message);
}

static int32_t judge(const oc_baked_output *output, const oc_array *got, size_t index,
                     oc_replay_result *result, ops_error *error) {
  const oc_array *expected = &output->expected;
  oc_compare_input input = output->limits;
  oc_comparison out;
  char text[400];
  const bool same_shape =
      got->type == expected->type && got->rank == expected->rank &&
      memcmp(got->dims, expected->dims, (size_t)got->rank * sizeof *got->dims) == 0;
  snprintf(text, sizeof text, "output %zu '%.64s'", index, output->name);
  if (!same_shape) return end(result, OC_REPLAY_FAIL, text, "another type or shape");
  input.type = expected->type;
  input.count = (size_t)expected->count;
  input.got = got->data;
  input.expected = expected->data;
  input.wide = output->wide;
  input.magnitude = output->magnitude;
  input.deviation = output->deviation;
  input.lower = output->lower;
  input.upper = output->upper;
  input.law = output->has_law ? &output->law : NULL;
  input.named.type = output->named.type;
  input.named.data = output->named.present ? output->named.data : NULL;
  OPS_RETURN_IF_ERROR(oc_compare(&input, &out, error));
  if (out.verdict == OC_MATCH) return OPS_OK;
  snprintf(text, sizeof text,
           "output %zu '%.64s', element %zu: expected %s, found %s, %s %.4g over the limit "
           "%.4g; %zu of %zu elements are wrong",
           index, output->name, out.worst, out.expected, out.got, out.metric, out.error,
           out.limit, out.wrong, input.count);
  const bool untrusted = out.verdict == OC_UNTRUSTED;
  return end(result, untrusted ? OC_REPLAY_UNTRUSTED : OC_REPLAY_FAIL, text,
             untrusted ? "the case proves nothing" : "");
}

static int32_t judge_all(oc_launch *launch, const oc_baked *baked, oc_replay_result *result,
                         ops_error *error) {
  for (size_t i = 0; i < baked->output_count && result->verdict == OC_REPLAY_PASS; ++i) {
    oc_array got;
    const int32_t status = oc_launch_read(launch, i, &got, error);
    if (status != OPS_OK) return failed(result, "reading the output", status, error);
    const int32_t judged = judge(&baked->outputs[i], &got, i, result, error);
    oc_array_finish(&got);
    OPS_RETURN_IF_ERROR(judged);
  }
  return OPS_OK;
}

static int32_t find_damage(oc_launch *launch, oc_replay_result *result, ops_error *error) {
  bool damaged;
  const char *what;
  int32_t index;
  int64_t offset;
  char text[96];
  OPS_RETURN_IF_ERROR(oc_launch_find_damage(launch, &damaged, &what, &index, &offset, error));
  if (!damaged) return OPS_OK;
  snprintf(text, sizeof text, "%s %d: byte %lld around it was written", what, index,
           (long long)offset);
  return end(result, OC_REPLAY_FAIL, text, "");
}

static int32_t run_once(oc_launch *launch, oc_kernel *kernel, const oc_baked *baked,
                        oc_replay_result *result, ops_error *error) {
  int32_t status = oc_launch_init(launch, kernel, OC_PLACE_END, NULL, error);
  if (status == OPS_OK) status = oc_launch_load(launch, &baked->inputs, 0, error);
  if (status != OPS_OK) return failed(result, "writing the inputs", status, error);
  status = oc_launch_execute(launch, 0, error);
  if (status != OPS_OK) return failed(result, "execute", status, error);
  OPS_RETURN_IF_ERROR(find_damage(launch, result, error));
  return judge_all(launch, baked, result, error);
}

static int32_t run_kernel(oc_kernel *kernel, const oc_baked *baked, oc_replay_result *result,
                          ops_error *error) {
  int32_t status = oc_kernel_claim(kernel, error);
  if (status != OPS_OK) return failed(result, "the claim", status, error);
  if (kernel->claim.answer != OPS_CLAIM_SUPPORTED) {
    return end(result, OC_REPLAY_UNSUPPORTED, "not claimed", kernel->claim.text);
  }
  status = oc_kernel_create(kernel, error);
  if (status != OPS_OK) return failed(result, "create", status, error);
  status = oc_kernel_prepare(kernel, NULL, 0, error);
  if (status != OPS_OK) return failed(result, "prepare", status, error);
  oc_launch *launch = calloc(1, sizeof *launch);
  if (!launch) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a run");
  status = run_once(launch, kernel, baked, result, error);
  oc_kernel_release(kernel);
  oc_launch_finish(launch);
  free(launch);
  return status;
}

int32_t oc_replay_run(oc_target *target, const oc_baked *baked, oc_replay_result *out_result,
                      ops_error *error) {
  oc_array shapes[OC_NODE_MAX_OUTPUTS];
  const oc_node_options options = {.constants = baked->constants, .outputs = shapes};
  oc_kernel *kernel = calloc(1, sizeof *kernel);
  *out_result = (oc_replay_result){.verdict = OC_REPLAY_PASS};
  if (!kernel) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a kernel");
  memset(shapes, 0, sizeof shapes);
  for (size_t i = 0; i < baked->output_count; ++i) shapes[i] = baked->outputs[i].expected;
  int32_t status = oc_target_renew_streams(target, error);
  if (status == OPS_OK) {
    status =
        oc_kernel_init(kernel, target, NULL, &baked->item, &baked->inputs, &options, error);
  }
  if (status == OPS_OK) status = run_kernel(kernel, baked, out_result, error);
  oc_kernel_finish(kernel);
  free(kernel);
  return status;
}
