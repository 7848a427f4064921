// SPDX-License-Identifier: Apache-2.0
//
// Versions of providers and ranges of them.
#ifndef OC_WAIVERS_VERSION_H_
#define OC_WAIVERS_VERSION_H_

#include <stdbool.h>

// Less than 0, 0 or more than 0, by the rules of semantic versions (semver.org, 11): numbers
// between points are compared as numbers, missing ones are 0; a version with "-suffix" comes
// before the one without; suffixes are compared point by point, numbers before words. What
// follows '+' does not count. A leading 'v' is allowed. Any text is a version.
int oc_version_compare(const char *a, const char *b);

// Ranges: comparisons (=, <, <=, >, >=, and none: =) separated by spaces that all must hold, or
// "*" for any version. NULL, or what is wrong with the text.
const char *oc_version_range_check(const char *range);
bool oc_version_in_range(const char *version, const char *range);

#endif  // OC_WAIVERS_VERSION_H_
