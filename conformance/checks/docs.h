// SPDX-License-Identifier: Apache-2.0
//
// docs/checks.md, printed from the tables of checks and of cases about the provider.
#ifndef OC_CHECKS_DOCS_H_
#define OC_CHECKS_DOCS_H_

#include <stdio.h>

void oc_checks_print(FILE *stream);

#endif  // OC_CHECKS_DOCS_H_
