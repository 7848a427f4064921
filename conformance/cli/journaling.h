// SPDX-License-Identifier: Apache-2.0
//
// --resume JOURNAL: what of a run goes to its journal, and what a journal spares a run. All
// functions do nothing where no journal was asked for.
#ifndef OC_CLI_JOURNALING_H_
#define OC_CLI_JOURNALING_H_

#include "cli/session.h"

// Opens the journal before any worker starts, once the report knows what was asked. What has a
// result already goes to the report. INVALID_ARGUMENT where the journal is that of another run.
int32_t oc_journaling_open(oc_session *session, const char *version, ops_error *error);

// The provider has opened: it must be the one of the journal. False: it is not, and
// session->journaling has the error.
bool oc_journaling_hello(oc_session *session);

// Keeps a result, before anybody else hears of it. False: it cannot be kept.
bool oc_journaling_result(oc_session *session, const oc_result *result);

// The indices of the cases that have no result yet; owned by the caller. NULL without memory.
uint32_t *oc_journaling_rest(const oc_session *session, size_t *out_count);

// The run came to its end.
int32_t oc_journaling_end(oc_session *session, double seconds, ops_error *error);

void oc_journaling_finish(oc_journaling *journaling);  // accepts a zeroed one

#endif  // OC_CLI_JOURNALING_H_
