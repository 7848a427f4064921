// SPDX-License-Identifier: Apache-2.0
//
// Deriving a verdict again from journals, contracts and waivers. Private to this folder.
#ifndef OC_BUNDLE_DERIVE_H_
#define OC_BUNDLE_DERIVE_H_

#include "bundle/bundle.h"

// The journals of a run as one. INVALID_MODEL unless they cover the run exactly.
int32_t oc_derive_journal(const char *const *paths, size_t count, oc_journal **out_journal,
                          ops_error *error);

// Makes the cases anew from `contracts` and checks the journal against them: the same cases
// with the same seeds in the same order, each result possible (see derive.c), each limit that
// needs no provider what the contract says. Fills cases, measured and evaluated of the
// certificate.
int32_t oc_derive_check(const oc_journal *journal, const char *contracts,
                        oc_certificate *certificate, ops_error *error);

#endif  // OC_BUNDLE_DERIVE_H_
