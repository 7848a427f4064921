// SPDX-License-Identifier: Apache-2.0
//
// opsconform bake DIR: cases as models.
#include <stdio.h>

#include "cli/command.h"
#include "cli/session.h"
#include "ops_support/error.h"

// Cases that must be refused have no expected values: they are left out.
static int bake(oc_session *session) {
  ops_error error = OPS_ERROR_INIT;
  oc_stored done;
  size_t count = 0;
  for (size_t i = 0; i < session->selected_count; ++i) {
    const uint32_t index = session->selected[i];
    if (!session->cases->items[index].error) session->selected[count++] = index;
  }
  if (oc_session_store(session, session->options.bake, session->selected, count, &done,
                       &error) != OPS_OK) {
    return oc_command_fail(&error, OC_EXIT_HARNESS);
  }
  printf("%zu cases stored below %s\n", done.stored, session->options.bake);
  if (done.failed) return OC_EXIT_NONCONFORMANT;
  return done.stored ? OC_EXIT_CONFORMANT : OC_EXIT_INCOMPLETE;
}

int oc_command_bake(int argc, char **argv) {
  static oc_session session;
  int code;
  if (!oc_command_open(&session, argc, argv, &code)) return code;
  code = bake(&session);
  oc_session_finish(&session);
  return code;
}
