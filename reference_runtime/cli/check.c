// SPDX-License-Identifier: Apache-2.0
//
// opsrun check.
#include <ops_support/error.h>
#include <stdio.h>

#include "cli/command_line.h"

int cli_check(const cli_options *options) {
  ops_error error = OPS_ERROR_INIT;
  if (options->plain_count != 1)
    return cli_fail("check takes one model; see opsrun check --help");
  const opsrt_model_source source = {.path = options->model};
  if (opsrt_model_check(&source, &error) != OPS_OK) return cli_report(&error);
  printf("%s: sound\n", options->model);
  return CLI_OK;
}
