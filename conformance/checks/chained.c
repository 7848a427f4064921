// SPDX-License-Identifier: Apache-2.0
//
// The operands of a chain are appended to the inputs of the trial, after those of the node: a
// trial runs a chain last. What the node's judge allows is an interval; the chain's operators
// carry it on; the result must lie inside (compare/judge_fused.c).
#include "checks/chained.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/element.h"
#include "cases/random.h"
#include "checks/check.h"
#include "checks/limits.h"
#include "checks/steps.h"
#include "compare/post.h"
#include "ops_support/error.h"

#define MOST_ELEMENTS 65536
#define OPERAND_STREAM 0x636861696eu  // apart from the streams of the node's own inputs
#define MOST_TRIED 6                  // chains asked for, before the case is left as it is

// ---- Which operators
// --------------------------------------------------------------------------

static bool is_declared(const ops_kernel_def *def, const oc_post *post) {
  for (uint64_t i = 0; i < def->post_op_count; ++i) {
    const ops_post_op_def *row =
        (const ops_post_op_def *)((const char *)def->post_ops + i * def->post_op_stride);
    if (row->domain.size == 0 && row->op.size == strlen(post->op) &&
        memcmp(row->op.data, post->op, row->op.size) == 0 && post->opset >= row->since &&
        (row->until == 0 || post->opset <= row->until)) {
      return true;
    }
  }
  return false;
}

// The operators that may stand behind the node, from a place that the seed tells.
static size_t list_posts(const oc_trial *trial, const ops_kernel_def *def,
                         const oc_post **out) {
  size_t all, count = 0;
  const oc_post *posts = oc_posts(&all);
  for (size_t i = 0; i < all; ++i) {
    const oc_post *post = &posts[(i + trial->item->seed) % all];
    if (!def || is_declared(def, post)) out[count++] = post;
  }
  return count;
}

static bool is_suitable(const oc_trial *trial) {
  const oc_array *output = &trial->expected.outputs[0];
  return (trial->item->fill == OC_FILL_UNIFORM || trial->item->fill == OC_FILL_NORMAL) &&
         trial->expected.count > 0 && oc_element_format_of(output->type) && output->count > 0 &&
         output->count <= MOST_ELEMENTS && trial->inputs.count + 4 <= OC_CASE_MAX_TENSORS;
}

// ---- The chain as the ABI has it
// --------------------------------------------------------------

static int32_t add_operand(oc_trial *trial, int32_t rank, const int64_t *dims, double value,
                           ops_error *error) {
  oc_inputs *inputs = &trial->inputs;
  oc_array *array = &inputs->items[inputs->count];
  const int32_t type = trial->expected.outputs[0].type;
  OPS_RETURN_IF_ERROR(oc_array_init(array, type, rank, dims, "operand", error));
  for (int64_t i = 0; i < array->count; ++i) {
    oc_random random =
        oc_random_at(trial->item->seed, OPERAND_STREAM + (uint32_t)inputs->count, (uint64_t)i);
    const double drawn = 2 * oc_random_unit(&random) - 1;
    oc_element_store(type, array->data, (uint64_t)i, isnan(value) ? drawn : value);
  }
  inputs->params[inputs->count++] = -1;
  return OPS_OK;
}

static int32_t add_operands(oc_trial *trial, const oc_post *post, oc_link *link,
                            ops_error *error) {
  const oc_array *output = &trial->expected.outputs[0];
  link->inputs[link->count++] = OPS_CHAIN_VALUE;
  if (post->operand == OC_POST_ALONE) return OPS_OK;
  const int32_t first = (int32_t)trial->inputs.count;
  link->inputs[link->count++] = first;
  if (post->operand == OC_POST_TENSOR) {
    return add_operand(trial, output->rank, output->dims, NAN, error);
  }
  link->inputs[link->count++] = first + 1;
  trial->chain.constants |= (uint64_t)3 << first;
  OPS_RETURN_IF_ERROR(add_operand(trial, 0, NULL, OC_POST_LOW, error));
  return add_operand(trial, 0, NULL, OC_POST_HIGH, error);
}

static ops_str str_of(const char *text) {
  return (ops_str){text, strlen(text)};
}

static int32_t add_post(oc_trial *trial, const oc_post *post, ops_error *error) {
  oc_chain *chain = &trial->chain;
  oc_link *link = &chain->links[chain->count];
  ops_post_op *view = &chain->views[chain->count++];
  *link = (oc_link){.post = post};
  OPS_RETURN_IF_ERROR(add_operands(trial, post, link, error));
  for (; link->attribute_count < OC_POST_MAX_ATTRIBUTES; ++link->attribute_count) {
    const size_t k = link->attribute_count;
    if (!post->attributes[k].name) break;
    link->attributes[k] = (ops_attribute){.struct_size = sizeof(ops_attribute),
                                          .name = str_of(post->attributes[k].name),
                                          .kind = OPS_ATTRIBUTE_FLOAT,
                                          .count = 1,
                                          .floats = &post->attributes[k].value};
  }
  *view = (ops_post_op){.struct_size = sizeof *view,
                        .op = str_of(post->op),
                        .opset = post->opset,
                        .input_count = link->count,
                        .inputs = link->inputs,
                        .attributes = link->attributes,
                        .attribute_count = link->attribute_count,
                        .attribute_stride = sizeof(ops_attribute)};
  const size_t used = strlen(chain->text);
  snprintf(chain->text + used, sizeof chain->text - used, "%s%s", used ? ", " : "", post->op);
  return OPS_OK;
}

static void drop_chain(oc_trial *trial) {
  oc_chain *chain = &trial->chain;
  const uint64_t constants = chain->node_constants;
  while (trial->inputs.count > 0 && trial->inputs.params[trial->inputs.count - 1] < 0) {
    oc_array_finish(&trial->inputs.items[--trial->inputs.count]);
  }
  oc_chained_finish(chain);
  chain->node_constants = constants;
}

void oc_chained_finish(oc_chain *chain) {
  free(chain->lower);
  free(chain->upper);
  oc_array_finish(&chain->expected);
  memset(chain, 0, sizeof *chain);
}

// ---- What may come out
// ------------------------------------------------------------------------

static int32_t read_operand(const oc_trial *trial, const oc_link *link, double **out,
                            ops_error *error) {
  *out = NULL;
  if (link->post->operand != OC_POST_TENSOR) return OPS_OK;
  const oc_array *array = &trial->inputs.items[link->inputs[1]];
  *out = malloc((size_t)array->count * sizeof **out);
  if (!*out) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for an operand");
  for (int64_t i = 0; i < array->count; ++i) {
    (*out)[i] = oc_element_load(array->type, array->data, (uint64_t)i);
  }
  return OPS_OK;
}

static int32_t carry_intervals(oc_trial *trial, const oc_compare_input *base,
                               ops_error *error) {
  oc_chain *chain = &trial->chain;
  for (size_t k = 0; k < chain->count; ++k) {
    double *operand;
    OPS_RETURN_IF_ERROR(read_operand(trial, &chain->links[k], &operand, error));
    oc_post_apply(chain->links[k].post, base->type, base->accumulate, operand, chain->lower,
                  chain->upper, base->count);
    free(operand);
  }
  for (size_t i = 0; i < base->count; ++i) {
    const double middle = chain->lower[i] + (chain->upper[i] - chain->lower[i]) / 2;
    oc_element_store(base->type, chain->expected.data, i, middle);
  }
  return OPS_OK;
}

// *out_known: whether the node's judge has intervals at all.
static int32_t make_intervals(oc_trial *trial, bool *out_known, ops_error *error) {
  oc_chain *chain = &trial->chain;
  oc_compare_input base;
  OPS_RETURN_IF_ERROR(
      oc_limits_of(&base, trial->item, &trial->expected, trial->bench->profile, 0, error));
  OPS_RETURN_IF_ERROR(oc_array_copy(&chain->expected, &trial->expected.outputs[0], error));
  chain->lower = calloc(base.count, sizeof *chain->lower);
  chain->upper = calloc(base.count, sizeof *chain->upper);
  if (!chain->lower || !chain->upper) {
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for intervals");
  }
  *out_known = oc_compare_interval(&base, chain->lower, chain->upper);
  return *out_known ? carry_intervals(trial, &base, error) : OPS_OK;
}

void oc_chained_limits(const oc_trial *trial, oc_compare_input *input) {
  input->judge = OC_JUDGE_FUSED;
  input->exact = false;
  input->trivial = true;  // a Relu may rightly make everything 0
  input->expected = trial->chain.expected.data;
  input->lower = trial->chain.lower;
  input->upper = trial->chain.upper;
}

// ---- Running
// ------------------------------------------------------------------------------------

static bool harness_failed(oc_trial *trial, const ops_error *error) {
  return oc_trial_end(trial, OC_STATUS_NOT_RUN, OC_CHECK_HARNESS, "%.600s", error->message);
}

// Opens the node with its chain; *out_taken: whether it is claimed so.
static bool ask(oc_trial *trial, bool group, bool *out_taken) {
  const oc_chain *chain = &trial->chain;
  size_t operands = 0;
  ops_error error = OPS_ERROR_INIT;
  for (size_t i = 0; i < trial->inputs.count; ++i) operands += trial->inputs.params[i] < 0;
  const oc_node_options options = {.constants = chain->node_constants | chain->constants,
                                   .outputs = trial->shapes,
                                   .posts = chain->views,
                                   .post_count = chain->count,
                                   .chain_operands = operands,
                                   .group = group};
  oc_trial_close_kernel(trial);
  if (!oc_step_open(trial, &options)) return false;
  if (!group) {
    *out_taken = trial->kernel.claim.answer == OPS_CLAIM_SUPPORTED;
    return true;
  }
  const int32_t status = oc_kernel_claim_group(&trial->kernel, out_taken, &error);
  return status == OPS_OK || oc_step_fail(trial, "the claim of a group", status, &error);
}

static bool run_chain(oc_trial *trial, bool *out_ran) {
  ops_error error = OPS_ERROR_INIT;
  bool known, declined;
  const int32_t status = make_intervals(trial, &known, &error);
  if (status != OPS_OK) return harness_failed(trial, &error);
  if (!known) return true;
  trial->run = OC_RUN_CHAINED;
  if (!oc_step_prepare(trial, &declined)) return false;
  if (declined) return true;
  *out_ran = true;
  const bool group = trial->kernel.def == &trial->kernel.compiled;  // offers no layouts
  return oc_step_launch(trial, OC_RUN_CHAINED, NULL) && oc_step_run(trial, OC_RUN_CHAINED) &&
         (group || oc_step_layout(trial, OC_RUN_CHAINED_LAYOUT));
}

static bool try_chain(oc_trial *trial, bool group, const oc_post *const *posts, size_t count,
                      bool *out_ran) {
  ops_error error = OPS_ERROR_INIT;
  bool taken = false;
  for (size_t k = 0; k < count; ++k) {
    if (add_post(trial, posts[k], &error) != OPS_OK) return harness_failed(trial, &error);
  }
  if (!ask(trial, group, &taken)) return false;
  if (taken && !run_chain(trial, out_ran)) return false;
  oc_trial_close_kernel(trial);
  drop_chain(trial);
  return true;
}

// An operator with a tensor, if there is one, and another one behind it.
static bool pick_two(const oc_post *const *posts, size_t count, const oc_post **out) {
  out[0] = out[1] = NULL;
  for (size_t i = 0; i < count; ++i) {
    const int place = posts[i]->operand == OC_POST_TENSOR ? 0 : 1;
    if (!out[place]) out[place] = posts[i];
  }
  return out[0] && out[1];
}

// A row of the contract, as it is written there.
static bool is_row(const oc_case *item) {
  return item->inputs == item->row->inputs;
}

// One or two operators behind the node, from `posts`: with `whole` each of them, else the first
// that is taken.
static bool run_posts(oc_trial *trial, const ops_kernel_def *def, const oc_post *const *posts,
                      size_t count, bool whole, bool *out_ran) {
  const oc_post *two[2];
  const uint32_t longest = def ? def->max_post_ops : 2;
  // Every other case tries two operators first.
  if (longest >= 2 && (whole || trial->item->seed % 2) && pick_two(posts, count, two)) {
    if (!try_chain(trial, !def, two, 2, out_ran)) return false;
  }
  for (size_t i = 0; i < count && longest > 0; ++i) {
    if (!whole && (*out_ran || i == MOST_TRIED)) break;
    if (!try_chain(trial, !def, &posts[i], 1, out_ran)) return false;
  }
  return true;
}

// Kernels may treat weights that are constant in another way: which of the two comes first, and
// in tier merge alone, the seed tells.
bool oc_chained_run(oc_trial *trial, const ops_kernel_def *def, uint64_t constants,
                    uint64_t weights, bool *out_ran) {
  const oc_post *posts[OC_CHAIN_MAX_CHOICES];
  const bool whole = def && trial->bench->tier != OC_TIER_MERGE && is_row(trial->item);
  const bool swap = def && trial->item->seed >> 1 & 1;
  const uint64_t choices[2] = {swap ? weights : constants, swap ? constants : weights};
  *out_ran = false;
  if (!is_suitable(trial)) return true;
  const size_t count = list_posts(trial, def, posts);
  for (int i = 0; i < (weights == constants ? 1 : 2); ++i) {
    if (*out_ran && !whole) break;
    trial->chain.node_constants = choices[i];
    if (!run_posts(trial, def, posts, count, whole, out_ran)) return false;
  }
  return true;
}

// ---- Claims alone
// -------------------------------------------------------------------------------

bool oc_chained_declares(const ops_kernel_def *def, const oc_post *post) {
  return is_declared(def, post);
}

bool oc_chained_claims(oc_trial *trial, const oc_post *post, uint64_t constants,
                       bool *out_claimed) {
  ops_error error = OPS_ERROR_INIT;
  *out_claimed = false;
  if (trial->inputs.count + 4 > OC_CASE_MAX_TENSORS) return true;
  trial->chain.node_constants = constants;
  if (add_post(trial, post, &error) != OPS_OK) return harness_failed(trial, &error);
  const bool asked = ask(trial, false, out_claimed);
  oc_trial_close_kernel(trial);
  drop_chain(trial);
  return asked;
}
