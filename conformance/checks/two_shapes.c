// SPDX-License-Identifier: Apache-2.0
//
// Check `two_shapes`: a prepared object is a plan for its own shapes, whatever is prepared
// beside it. The node is claimed and created once with its ranks alone and prepared for the
// shapes of this case (A) and of another case of the same operator, types and attributes (B):
// one call of prepare each, no new kernel. Then A, B, A run; A is prepared once more, runs, and
// what was there before still does, with B gone at last. A definition of the class STATIC or
// BOUNDED may refuse such a node. A case B that fails by itself is left to its own trial.
#include <stdlib.h>
#include <string.h>

#include "checks/check.h"
#include "checks/side.h"
#include "ops_support/error.h"

// ---- Another case of the same node ----------------------------------------------------------

static bool same_numbers(const oc_value *a, const oc_value *b) {
  for (size_t i = 0; i < a->count; ++i) {
    if (a->ints && (!b->ints || a->ints[i] != b->ints[i])) return false;
    if (a->floats && (!b->floats || a->floats[i] != b->floats[i])) return false;
    if (a->strings && (!b->strings || strcmp(a->strings[i], b->strings[i]) != 0)) return false;
  }
  return true;
}

static bool same_attributes(const oc_case *a, const oc_case *b) {
  for (uint32_t i = 0; i < a->contract->attribute_count; ++i) {
    const oc_value *x = &a->attributes[i], *y = &b->attributes[i];
    if (x->kind != y->kind || x->count != y->count || x->expr != y->expr) return false;
    if (!same_numbers(x, y)) return false;
  }
  return true;
}

static bool same_types(const oc_case *a, const oc_case *b) {
  return memcmp(a->types, b->types, a->contract->type_var_count * sizeof *a->types) == 0;
}

static bool same_dims(const oc_shape *a, const oc_shape *b) {
  return memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims) == 0;
}

// Whether all tensors have the same ranks; *out_differ: and some other dimensions. A constant
// (bit i of `constants`, counted as the node counts) must have the same.
static bool fits(const oc_case *a, const oc_case *b, uint64_t constants, bool *out_differ) {
  size_t number = 0;
  *out_differ = false;
  for (uint32_t i = 0; i < a->contract->input_count; ++i) {
    const oc_row_input *x = &a->inputs[i], *y = &b->inputs[i];
    if (x->count != y->count) return false;
    for (size_t k = 0; k < x->count; ++k, ++number) {
      if (x->shapes[k].rank != y->shapes[k].rank) return false;
      if (same_dims(&x->shapes[k], &y->shapes[k])) continue;
      if (constants >> number & 1) return false;
      *out_differ = true;
    }
    number += x->count == 0;
  }
  return true;
}

static bool is_sibling(const oc_trial *trial, const oc_case *other, oc_sample sample) {
  const oc_case *item = trial->item;
  bool differ;
  if (sample.total == 0 || other->contract != item->contract) return false;
  if (other->row->output_count != item->row->output_count) return false;
  if (trial->constants && other->fill != item->fill) return false;
  return same_types(item, other) && same_attributes(item, other) &&
         fits(item, other, trial->constants, &differ) && differ;
}

// The next one in the list of cases, from its start behind its end; NULL: there is none.
static const oc_case *find_sibling(const oc_trial *trial) {
  const oc_bench *bench = trial->bench;
  const size_t count = bench->cases->count;
  const size_t own = (size_t)(trial->item - bench->cases->items);
  for (size_t k = 1; k < count; ++k) {
    const size_t i = (own + k) % count;
    if (is_sibling(trial, &bench->cases->items[i], bench->samples[i])) {
      return &bench->cases->items[i];
    }
  }
  return NULL;
}

// ---- Two plans of one kernel ----------------------------------------------------------------

// Prepares the kernel of `a` for the shapes of `b`, whose own view says them.
static bool prepare_beside(oc_side *a, oc_side *b, const oc_node_options *options) {
  ops_error error = OPS_ERROR_INIT;
  oc_kernel *own = &b->own.kernel;
  const int32_t status = oc_kernel_init(own, &b->own.bench->candidate, b->own.bench->beacon,
                                        b->own.item, &b->own.inputs, options, &error);
  if (status != OPS_OK) return oc_side_fail(b, "a view of the node", status, &error);
  own->def = a->own.kernel.def;
  own->kernel = a->own.kernel.kernel;
  const bool good = oc_side_prepare(b);
  own->kernel = NULL;  // a's
  return good;
}

// A second prepared object for A, run; the first one is the side's again afterwards.
static bool prepare_again(oc_side *a) {
  ops_error error = OPS_ERROR_INIT;
  oc_kernel *kernel = &a->own.kernel;
  ops_prepared *first = kernel->prepared;
  const ops_prepare_reply reply = kernel->reply;
  kernel->prepared = NULL;
  const int32_t status = oc_kernel_prepare(kernel, NULL, 0, &error);
  ops_prepared *second = kernel->prepared;
  if (status != OPS_OK) {
    kernel->prepared = first;
    return oc_side_fail(a, "prepare once more", status, &error);
  }
  const bool good = oc_side_open(a, OC_PLACE_END) && oc_side_run(a, 2, 1);
  kernel->def->api->prepared_destroy(second);
  kernel->prepared = first;
  kernel->reply = reply;
  return good && oc_side_open(a, OC_PLACE_START);
}

// What a shape costs is paid in its one prepare.
static bool run_one(oc_side *side, unsigned poison, int32_t stream) {
  if (!oc_side_run(side, poison, stream)) return false;
  const uint64_t blocks = side->own.launch->allocated;
  return blocks == 0 ||
         oc_side_end(side, "%s: execute took %llu block(s) of memory from the host",
                     oc_run_name(side->own.run), (unsigned long long)blocks);
}

// Whether the other case is right on a kernel of its own. If not, nothing has been said.
static bool is_right_alone(oc_side *b, const oc_node_options *options) {
  bool claimed = false;
  oc_result *result = b->own.result;
  const oc_result before = *result;
  const bool good = oc_side_claim(b, options, &claimed) && claimed &&
                    oc_side_create_kernel(b) && oc_side_prepare(b) &&
                    oc_side_open(b, OC_PLACE_END) && oc_side_run(b, 1, 0);
  oc_side_close(b);
  *result = before;
  return good;
}

static bool run_in_turn(oc_side *a, oc_side *b) {
  return oc_side_open(a, OC_PLACE_START) && oc_side_open(b, OC_PLACE_END) && run_one(a, 1, 0) &&
         run_one(b, 2, 1) && run_one(a, 2, 1) && prepare_again(a) && run_one(b, 1, 0) &&
         run_one(a, 1, 1);
}

static bool prepare_and_run(oc_side *a, oc_side *b, const oc_case *sibling) {
  bool claimed, taken;
  const oc_node_options options = {.constants = a->trial->constants, .unknown_dims = true};
  if (!oc_side_claim(a, &options, &claimed)) return false;
  if (!claimed) return true;
  if (!oc_side_take(b, sibling, &taken)) return false;
  if (!taken || !is_right_alone(b, &options)) return true;
  if (!oc_side_create_kernel(a) || !oc_side_prepare(a) || !prepare_beside(a, b, &options)) {
    return false;
  }
  if (!run_in_turn(a, b)) return false;
  oc_side_close(b);
  return run_one(a, 2, 0);
}

bool oc_check_two_shapes(oc_trial *trial) {
  const oc_case *sibling = find_sibling(trial);
  if (!sibling) return true;
  oc_side *a = oc_side_create(trial, OC_RUN_TWO_SHAPES, OC_CHECK_TWO_SHAPES);
  oc_side *b = a ? oc_side_create(trial, OC_RUN_TWO_SHAPES, OC_CHECK_TWO_SHAPES) : NULL;
  const bool good = b && prepare_and_run(a, b, sibling);
  oc_side_destroy(b);  // before the kernel of `a` goes, which prepared it
  oc_side_destroy(a);
  return good;
}
