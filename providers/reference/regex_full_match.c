// SPDX-License-Identifier: Apache-2.0
//
// RegexFullMatch. The pattern is compiled in each execute: nothing of the library outlives a
// call, and prepare has refused patterns that are none.
#include "regex.h"
#include "string_operators.h"
#include "strings.h"

static int32_t compile(const ops_kernel *kernel, ops_error *error, ref_regex **out) {
  int64_t count;
  char message[160];
  const ops_str *pattern = ref_attr_strings(kernel, "pattern", &count);
  if (count == 0)
    return ref_fail(kernel, error, OPS_ERROR_INVALID_ARGUMENT,
                    "attribute pattern: expected a regular expression, found none");
  *out = ref_regex_create(pattern[0], message, sizeof message);
  if (*out != NULL) return OPS_OK;
  if (message[0] == 0)
    return ref_fail(kernel, error, OPS_ERROR_OUT_OF_MEMORY, "no memory for the pattern");
  return ref_fail(kernel, error, OPS_ERROR_INVALID_ARGUMENT,
                  "attribute pattern: expected the syntax of RE2; %s", message);
}

static int32_t prepare(ref_prepare *p) {
  ref_regex *regex = NULL;
  RETURN_IF_ERROR(compile(p->kernel, p->error, &regex));
  ref_regex_destroy(regex);
  return ref_same_shape(p, 0, 0);
}

static int32_t execute(ref_run *run) {
  const ref_view *x = &run->inputs[0], *y = &run->outputs[0];
  ref_regex *regex = NULL;
  RETURN_IF_ERROR(compile(run->kernel, run->error, &regex));
  int32_t status = OPS_OK;
  for (int64_t i = 0; i < x->count && status == OPS_OK; ++i) {
    ops_str text;
    status = ref_string_get(run, x, i, &text);
    if (status != OPS_OK) break;
    int64_t matches = ref_regex_full_match(regex, text);
    ref_store_int(y, ref_offset_of(y, i), 1, 1, &matches);
  }
  ref_regex_destroy(regex);
  return status;
}

const ref_op ref_regex_full_match_op = {0, prepare, execute, NULL, NULL};
