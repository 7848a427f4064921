// SPDX-License-Identifier: Apache-2.0
//
// Operators of chains of post-operations as functions of intervals. Every one of them is
// applied element by element, and is monotone on both sides of at most one turning point: the
// image of an interval lies between its values at the ends and, if that is inside, at the
// turning point.
#ifndef OC_COMPARE_POST_H_
#define OC_COMPARE_POST_H_

#include "compare/number.h"

#define OC_POST_MAX_ATTRIBUTES 2

typedef enum oc_post_operand {
  OC_POST_ALONE,   // a function of the running result
  OC_POST_TENSOR,  // the second input is a tensor of the running result's type and shape
  OC_POST_BOUNDS,  // the second and third input are constant scalars: OC_POST_LOW and _HIGH
} oc_post_operand;

#define OC_POST_LOW (-0.5)
#define OC_POST_HIGH 0.75

typedef struct oc_post {
  const char *op;  // of the standard domain
  int32_t opset;   // at which chains have it
  oc_post_operand operand;
  double (*value)(double x, double operand);
  double turn;   // NaN: monotone everywhere
  double ulp;    // limit of the operator itself, in ULP of the accumulation type
  double scale;  // and in units of that type's epsilon, absolute
  struct {
    const char *name;
    float value;
  } attributes[OC_POST_MAX_ATTRIBUTES];  // name NULL: none
} oc_post;

const oc_post *oc_posts(size_t *out_count);

// Maps `count` intervals in place. `operand` has one number per interval for OC_POST_TENSOR,
// else it is NULL. Each grows by the operator's own limit and by one rounding to `type`, in
// which an implementation may keep what runs through the chain.
void oc_post_apply(const oc_post *post, int32_t type, int32_t accumulate, const double *operand,
                   double *lower, double *upper, size_t count);

#endif  // OC_COMPARE_POST_H_
