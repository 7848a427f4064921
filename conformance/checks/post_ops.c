// SPDX-License-Identifier: Apache-2.0
//
// Check `post_ops`: what a definition says that it absorbs is absorbed somewhere. A claim may
// refuse any chain, so that a declaration which never holds would be no wrong value anywhere:
// the hosts that count on it lose what it was made for, in silence. The cases that stand in the
// operator's contract are asked in turn, with and without constant weights, until one is
// claimed with the operator behind it. Nothing is run: `values` judges the chains that are.
#include <stdlib.h>

#include "checks/chained.h"
#include "checks/check.h"
#include "checks/decided.h"
#include "checks/expected.h"
#include "checks/provider_case.h"
#include "checks/steps.h"
#include "ops_support/error.h"

#define MOST_ASKED 24  // cases of one definition

// What was asked of one definition.
typedef struct survey {
  oc_trial *trial;  // of the provider's case
  const ops_kernel_def *def;
  uint64_t left;   // bit i: post-operation i of oc_posts was not claimed yet
  uint32_t asked;  // cases of which the definition claims the plain node
} survey;

static uint64_t declared(const ops_kernel_def *def) {
  size_t count;
  uint64_t mask = 0;
  const oc_post *posts = oc_posts(&count);
  for (size_t i = 0; i < count; ++i) {
    if (oc_chained_declares(def, &posts[i])) mask |= (uint64_t)1 << i;
  }
  return def->max_post_ops ? mask : 0;
}

// A row of a contract that the definition may be for.
static bool suits(const ops_kernel_def *def, const oc_case *item) {
  if (item->provider_case || item->error || !oc_sample_suits(item)) return false;
  const oc_contract *contract = item->contract;
  return oc_provider_def_is_of(def, contract) && contract->since >= def->since &&
         (def->until == 0 || contract->since <= def->until) &&
         item->inputs == item->row->inputs;
}

// Whether the definition claims the node as it stands, or with constant weights.
static bool claim_plain(oc_trial *own, uint64_t constants, const ops_kernel_def *def,
                        bool *out_claimed) {
  const oc_node_options options = {.constants = constants, .outputs = own->shapes};
  if (!oc_step_open(own, &options)) return false;
  *out_claimed = own->kernel.claim.answer == OPS_CLAIM_SUPPORTED && own->kernel.def == def;
  oc_trial_close_kernel(own);
  return true;
}

static bool ask_posts(survey *survey, oc_trial *own, uint64_t constants) {
  size_t count;
  const oc_post *posts = oc_posts(&count);
  for (size_t i = 0; i < count; ++i) {
    bool claimed;
    if (!(survey->left >> i & 1)) continue;
    if (!oc_chained_claims(own, &posts[i], constants, &claimed)) return false;
    if (claimed) survey->left &= ~((uint64_t)1 << i);
  }
  return true;
}

static bool ask_case(survey *survey, oc_trial *own) {
  bool plain = false, claimed;
  const uint64_t choices[] = {0, oc_trial_weights(own)};
  for (int i = 0; i < (choices[1] ? 2 : 1); ++i) {
    if (!claim_plain(own, choices[i], survey->def, &claimed)) return false;
    plain = plain || claimed;
    if (claimed && !ask_posts(survey, own, choices[i])) return false;
  }
  survey->asked += plain;
  return true;
}

static void harness_failed(const survey *survey, const ops_error *error) {
  oc_result_end(survey->trial->result, OC_STATUS_NOT_RUN, OC_CHECK_HARNESS, "%.600s",
                error->message);
}

// Inputs, and the output's type and shape, which chains need; no values.
static bool try_case(survey *survey, const oc_case *item, oc_trial *own) {
  ops_error error = OPS_ERROR_INIT;
  own->bench = survey->trial->bench;
  own->item = item;
  own->result = survey->trial->result;
  if (oc_decided_inputs(&own->inputs, own->bench, item, &error) != OPS_OK) return true;
  if (oc_expected_shapes(own->shapes, own->bench, item, &own->inputs, &error) != OPS_OK ||
      !own->shapes[0].present) {
    return true;
  }
  if (oc_array_copy(&own->expected.outputs[0], &own->shapes[0], &error) != OPS_OK) {
    harness_failed(survey, &error);
    return false;
  }
  own->expected.count = 1;
  return ask_case(survey, own);
}

static bool try_cases(survey *survey) {
  const oc_cases *cases = survey->trial->bench->cases;
  for (size_t i = 0; i < cases->count && survey->left && survey->asked < MOST_ASKED; ++i) {
    if (!suits(survey->def, &cases->items[i])) continue;
    oc_trial *own = calloc(1, sizeof *own);
    if (!own) {
      return oc_trial_end(survey->trial, OC_STATUS_NOT_RUN, OC_CHECK_HARNESS,
                          "no memory for a trial");
    }
    const bool goes_on = try_case(survey, &cases->items[i], own);
    oc_trial_finish(own);
    free(own);
    if (!goes_on) return false;
  }
  return true;
}

static bool judge_survey(const survey *survey) {
  size_t count;
  const oc_post *posts = oc_posts(&count);
  const ops_kernel_def *def = survey->def;
  for (size_t i = 0; i < count; ++i) {
    if (survey->asked == 0 || !(survey->left >> i & 1)) continue;
    return oc_provider_fails(
        survey->trial,
        "kernel '%.*s' (%.*s-%d) declares the post-operation %s, but claims it behind none of "
        "the %u cases asked, with constant weights or without; claim it or declare it not",
        (int)def->name.size, def->name.data, (int)def->op.size, def->op.data, def->since,
        posts[i].op, survey->asked);
  }
  return true;
}

bool oc_post_ops_taken(oc_trial *trial) {
  const ops_provider *provider = trial->bench->candidate.provider;
  uint32_t asked = 0;
  for (uint64_t i = 0; i < provider->kernel_count; ++i) {
    survey survey = {.trial = trial, .def = oc_provider_def_at(provider, i)};
    survey.left = declared(survey.def);
    if (!survey.left) continue;
    if (!try_cases(&survey) || !judge_survey(&survey)) return false;
    asked += survey.asked;
  }
  return asked > 0 ||
         oc_provider_lacks(trial,
                           "no definition absorbs an operator behind a node of the "
                           "cases at hand");
}
