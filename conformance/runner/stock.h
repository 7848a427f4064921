// SPDX-License-Identifier: Apache-2.0
//
// What a process holds, to tell what it still holds when the providers are closed. Caches and
// pools may grow while a provider is open, so only the end is judged; what each case added says
// where to look.
#ifndef OC_RUNNER_STOCK_H_
#define OC_RUNNER_STOCK_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum oc_stock {
  OC_STOCK_THREADS,
  OC_STOCK_HEAP,      // bytes that malloc has given out
  OC_STOCK_RESIDENT,  // bytes of memory of no file
  OC_STOCK_COUNT
} oc_stock;

#define OC_STOCK_NO_CASE UINT32_MAX

typedef struct oc_stocks {
  uint64_t first[OC_STOCK_COUNT];    // before the providers were opened
  uint64_t last[OC_STOCK_COUNT];     // when last looked at
  uint64_t most[OC_STOCK_COUNT];     // that one case has added
  uint32_t culprit[OC_STOCK_COUNT];  // the first case that has added so much
} oc_stocks;

void oc_stocks_begin(oc_stocks *stocks);
// Takes the threads that there are now as the first.
void oc_stocks_keep_threads(oc_stocks *stocks);
// Looks again, after opening (OC_STOCK_NO_CASE) or after a case.
void oc_stocks_note(oc_stocks *stocks, uint32_t index);
// For when all is closed: waits a moment for threads that are about to end, then says in `text`
// what is left beyond what is allowed, and in *out_case which case added most of that, if one
// did. False: nothing is left.
bool oc_stocks_left(oc_stocks *stocks, char *text, size_t size, uint32_t *out_case);

#endif  // OC_RUNNER_STOCK_H_
