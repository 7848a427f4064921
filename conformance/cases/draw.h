// SPDX-License-Identifier: Apache-2.0
//
// Drawing the shapes of a row anew. Private to this folder.
//
// A row of a contract is a valid node, so the relations between its dimensions are there to be
// seen; a drawn row keeps them:
//
//   - dimensions of one size above 1 form a class and stay equal; sizes of 0 and 1 stay;
//   - a class is fixed whose size is that of an input with constant contents, or is among the
//     row's integer contents or attributes;
//   - where an input has constant integers (indices, say), sizes only grow;
//   - one of four moves: one class takes another size; every free class does; all classes whose
//     sizes are multiples of one free class are scaled with it; and, if outputs keep the shape
//     of inputs, leading dimensions are put before, or a single input gets any shape.
//
// What comes out must hold the constraints, `when` of the row and `draw` of the contract, the
// shapes of outputs must have a meaning, and no tensor may be large. The rest is drawn again.
#ifndef OC_CASES_DRAW_H_
#define OC_CASES_DRAW_H_

#include "cases/generator.h"

#define OC_DRAW_MAX_CLASSES 24
#define OC_DRAW_MAX_TENSORS OC_CASE_MAX_TENSORS
#define OC_DRAW_MAX_RANK 8         // of drawn shapes; those of rows may be higher
#define OC_DRAW_MAX_ELEMENTS 6000  // of all inputs together
#define OC_DRAW_MAX_OUTPUT 40000   // elements of one output, where its shape is stated
#define OC_DRAW_LARGE 100000       // elements of inputs that every contract tries once

// What is to be seen of a row.
typedef struct oc_draw_base {
  const oc_row *row;
  int64_t sizes[OC_DRAW_MAX_CLASSES];
  bool fixed[OC_DRAW_MAX_CLASSES];
  size_t class_count;
  size_t free_count;   // classes that are not fixed
  size_t open_inputs;  // given ones without constant contents
  int32_t rank;        // the highest of theirs
  bool grows;          // sizes must not shrink
  int64_t elements;    // of all inputs
} oc_draw_base;

// False if nothing of the row can be drawn, or it is large already.
bool oc_draw_base_init(oc_draw_base *base, const oc_contract *contract, const oc_row *row);

// Room for the inputs of one drawn row.
typedef struct oc_draw_shapes {
  oc_row_input inputs[OC_CONTRACT_MAX_PARAMS];
  oc_shape shapes[OC_DRAW_MAX_TENSORS];
  int64_t dims[OC_DRAW_MAX_TENSORS][OPS_MAX_RANK];
} oc_draw_shapes;

// Sets the free class number `which` (counted modulo the free ones) to `size`.
bool oc_draw_set(const oc_draw_base *base, const oc_contract *contract, size_t which,
                 int64_t size, oc_draw_shapes *out);

// One of the moves. Both are false if what came out is above the limits.
bool oc_draw_move(const oc_draw_base *base, const oc_contract *contract, bool keeps_shape,
                  oc_random *random, oc_draw_shapes *out);

// The free class number `which` grown until all inputs together have OC_DRAW_LARGE elements.
bool oc_draw_large(const oc_draw_base *base, const oc_contract *contract, size_t which,
                   oc_draw_shapes *out);

// A size: small ones often, powers of two and their neighbours, primes.
int64_t oc_draw_size(oc_random *random);

#endif  // OC_CASES_DRAW_H_
