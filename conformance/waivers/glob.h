// SPDX-License-Identifier: Apache-2.0
//
// Patterns with wildcards, from files.
#ifndef OC_WAIVERS_GLOB_H_
#define OC_WAIVERS_GLOB_H_

#include <stdbool.h>

// What fnmatch(pattern, text, 0) says in the C locale, character classes such as [:alpha:] left
// out, in time that grows with length times length: fnmatch itself may take for ever on a
// pattern of many stars.
bool oc_glob_match(const char *pattern, const char *text);

#endif  // OC_WAIVERS_GLOB_H_
