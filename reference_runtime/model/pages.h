// SPDX-License-Identifier: Apache-2.0
//
// Memory by the page.
#ifndef RT_MODEL_PAGES_H_
#define RT_MODEL_PAGES_H_

#include <stdint.h>

// Takes the pages that lie wholly in `size` bytes of a file mapped read-only out of memory;
// they come back from the file when they are read again. Thread-safe.
void rt_model_pages_forget(const void *data, uint64_t size);

#endif  // RT_MODEL_PAGES_H_
