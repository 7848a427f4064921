// SPDX-License-Identifier: Apache-2.0
//
// Nothing here knows an operator's thresholds: the oracle is asked about inputs that are moved
// all up, all down, and each its own way. An output that jumps was decided; one that is
// computed only follows.
#include "checks/decided.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases/element.h"
#include "cases/random.h"
#include "checks/oracle.h"
#include "ops_support/error.h"

#define DISTANCE 0x1p-15
#define DRAWS 64
#define TURNS 8
#define JUMP 0x1p-8
#define MOVE_STREAM 0x6d6f7665u
#define NEXT_SEED 0x9e3779b97f4a7c15u

static bool decides(const oc_case *item, const oc_inputs *inputs, size_t i) {
  const int32_t param = inputs->params[i];
  return inputs->items[i].present && oc_element_format_of(inputs->items[i].type) &&
         (item->contract->judging.decided_by >> param & 1) &&
         item->inputs[param].contents.kind == OC_VALUE_NONE;
}

static void move(const oc_case *item, oc_inputs *inputs, unsigned turn) {
  for (size_t i = 0; i < inputs->count; ++i) {
    oc_array *array = &inputs->items[i];
    for (int64_t k = 0; k < array->count && decides(item, inputs, i); ++k) {
      oc_random random =
          oc_random_at(item->seed, MOVE_STREAM + turn * 64 + (uint32_t)i, (uint64_t)k);
      const bool up = turn < 2 ? turn == 0 : oc_random_bits(&random) & 1;
      const double value = oc_element_load(array->type, array->data, (uint64_t)k);
      oc_element_store(array->type, array->data, (uint64_t)k,
                       value + (up ? DISTANCE : -DISTANCE));
    }
  }
}

static bool same_decisions(const oc_array *a, const oc_array *b) {
  if (a->count != b->count || a->rank != b->rank) return false;
  if (memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) != 0) return false;
  if (!oc_element_format_of(a->type)) return memcmp(a->data, b->data, a->bytes) == 0;
  for (int64_t i = 0; i < a->count; ++i) {
    const double x = oc_element_load(a->type, a->data, (uint64_t)i);
    const double y = oc_element_load(b->type, b->data, (uint64_t)i);
    if (x != y && !(fabs(x - y) <= JUMP * fmax(1, fabs(x)))) return false;
  }
  return true;
}

static void finish(oc_array *outputs) {
  for (size_t i = 0; i < OC_NODE_MAX_OUTPUTS; ++i) oc_array_finish(&outputs[i]);
}

// One turn: *out_same is whether all outputs are decided as `plain`.
static int32_t turn_inputs(const oc_question *question, const oc_array *plain, unsigned turn,
                           bool *out_same, ops_error *error) {
  oc_array outputs[OC_NODE_MAX_OUTPUTS];
  memset(outputs, 0, sizeof outputs);
  oc_inputs *moved = calloc(1, sizeof *moved);
  if (!moved) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for inputs");
  int32_t status = oc_inputs_copy(moved, question->inputs, error);
  if (status == OPS_OK) {
    oc_question again = *question;
    again.inputs = moved;
    move(question->item, moved, turn);
    status = oc_oracle_run(&again, outputs, error);
  }
  *out_same = true;
  for (size_t i = 0; i < question->item->row->output_count && status == OPS_OK; ++i) {
    *out_same = *out_same && same_decisions(&plain[i], &outputs[i]);
  }
  finish(outputs);
  oc_inputs_finish(moved);
  free(moved);
  return status;
}

static int32_t is_far(const oc_question *question, bool *out_far, ops_error *error) {
  oc_array plain[OC_NODE_MAX_OUTPUTS];
  memset(plain, 0, sizeof plain);
  int32_t status = oc_oracle_run(question, plain, error);
  *out_far = true;
  for (unsigned turn = 0; turn < TURNS && status == OPS_OK && *out_far; ++turn) {
    status = turn_inputs(question, plain, turn, out_far, error);
  }
  finish(plain);
  return status;
}

static bool is_free(const oc_case *item, const oc_inputs *inputs) {
  bool any = false;
  for (size_t i = 0; i < inputs->count; ++i) any = any || decides(item, inputs, i);
  return any && item->row->judge == OC_JUDGE_DECISION && !item->error &&
         item->fill != OC_FILL_EXACT_INTEGER;
}

int32_t oc_decided_inputs(oc_inputs *inputs, oc_bench *bench, const oc_case *item,
                          ops_error *error) {
  oc_case drawn = *item;
  for (int draw = 0; draw < DRAWS; ++draw, drawn.seed += NEXT_SEED) {
    bool far = true;
    OPS_RETURN_IF_ERROR(oc_inputs_init(inputs, &drawn, error));
    if (!is_free(item, inputs)) return OPS_OK;
    const oc_question question = {
        .oracle = &bench->oracle, .beacon = bench->beacon, .item = &drawn, .inputs = inputs};
    // An oracle that cannot answer says so when it is asked for expected values.
    if (is_far(&question, &far, NULL) != OPS_OK || far) return OPS_OK;
    oc_inputs_finish(inputs);
  }
  return ops_error_set(error, OPS_ERROR_PRECONDITION,
                       "each of %d draws of the inputs lies within 2^-16 of a threshold; widen "
                       "the ranges, or choose smaller shapes",
                       DRAWS);
}
