// SPDX-License-Identifier: Apache-2.0
//
// Processes that workers leave behind. Whatever loses its parent becomes a child of the harness
// (a "subreaper", prctl(2)), which can then count it and end it.
#ifndef OC_RUNNER_LEFTOVERS_H_
#define OC_RUNNER_LEFTOVERS_H_

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define OC_LEFTOVERS_MAX 4096  // children that are looked at

typedef struct oc_leftovers {
  pid_t known[OC_LEFTOVERS_MAX];  // children that were there before; they are let alone
  size_t known_count;
  int subreaper;  // what the process was before
} oc_leftovers;

// Adopts from here on.
void oc_leftovers_begin(oc_leftovers *leftovers);
void oc_leftovers_finish(const oc_leftovers *leftovers);

// How many children are running besides those known and `spared`.
int32_t oc_leftovers_count(const oc_leftovers *leftovers, const pid_t *spared, size_t count);

// Kills and reaps those children, and what becomes a child by that.
void oc_leftovers_end(const oc_leftovers *leftovers, const pid_t *spared, size_t count);

#endif  // OC_RUNNER_LEFTOVERS_H_
