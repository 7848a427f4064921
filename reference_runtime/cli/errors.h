// SPDX-License-Identifier: Apache-2.0
//
// opsrun explain of errors.
#ifndef RT_CLI_ERRORS_H_
#define RT_CLI_ERRORS_H_

// 1 if the argument is written as the code of an error, "OPS-E0012".
int cli_is_code(const char *text);
// Prints what the code means, and what to do; fails if there is no such code. An exit code.
int cli_explain_code(const char *text);
// Prints the whole catalogue, in Markdown.
void cli_print_catalogue(void);

#endif  // RT_CLI_ERRORS_H_
