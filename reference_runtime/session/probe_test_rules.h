// SPDX-License-Identifier: Apache-2.0
//
// The rewrite rules of "probe", one for each thing that a rule may do, right or wrong; see the
// table in probe_test_rules.c.
#ifndef RT_SESSION_PROBE_TEST_RULES_H_
#define RT_SESSION_PROBE_TEST_RULES_H_

#include <ops/rewrite.h>

#define PROBE_RULES 9
extern const ops_rewrite probe_rules[PROBE_RULES];

#endif  // RT_SESSION_PROBE_TEST_RULES_H_
