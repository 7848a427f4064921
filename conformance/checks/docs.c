// SPDX-License-Identifier: Apache-2.0
//
// Printing the tables for people.
#include "checks/docs.h"

#include <stdint.h>

#include "checks/check.h"
#include "checks/provider_case.h"

static void put_reach(FILE *stream, uint16_t reach) {
  if (reach == OC_REACH_ALL) {
    fputs(" all |", stream);
  } else {
    fprintf(stream, " %u |", reach);
  }
}

static void put_check(FILE *stream, const oc_check *check) {
  fprintf(stream, "| `%s` | %s |", check->name, check->what);
  put_reach(stream, check->reach.merge);
  put_reach(stream, check->reach.full);
  put_reach(stream, check->reach.exhaustive);
  fprintf(stream, " %s |\n", check->clauses ? check->clauses : "");
}

static void put_checks(FILE *stream) {
  size_t count;
  const oc_check *checks = oc_checks(&count);
  fputs(
      "| check | what must hold | merge | full | exhaustive | clauses |\n"
      "| --- | --- | --- | --- | --- | --- |\n",
      stream);
  for (size_t i = 0; i < count; ++i) put_check(stream, &checks[i]);
}

static void put_provider_cases(FILE *stream) {
  size_t count;
  const oc_provider_case *cases = oc_provider_cases(&count);
  fputs("| case | what must hold |\n| --- | --- |\n", stream);
  for (size_t i = 0; i < count; ++i) {
    fprintf(stream, "| `provider/%s/%s` | %s |\n", cases[i].check, cases[i].name,
            cases[i].what);
  }
}

void oc_checks_print(FILE *stream) {
  fputs(
      "# What opsconform checks\n\n"
      "Printed from the tables in `conformance/checks`; a test compares this page with "
      "them.\n\n"
      "A case is claimed, created, prepared and run several times, and each check of the "
      "first\n"
      "table is put to it. Checks that are too dear for every case are put to so many cases "
      "of\n"
      "each operator and type as the column of the tier says, chosen evenly from the whole "
      "list\n"
      "of cases of that tier: neither `--filter` nor `--shard` changes the choice, and the "
      "line\n"
      "that repeats a case names the tier. The clauses are those of `contracts/provider`.\n\n",
      stream);
  put_checks(stream);
  fputs(
      "\n## Cases about the provider as a whole\n\n"
      "They stand in the list of cases behind those of the operators, run in workers of their\n"
      "own right, and are reported and repeated like any case. A provider that lacks what a\n"
      "case is about (streams, memory of its own) is UNSUPPORTED there, which is no fault; "
      "that\n"
      "they pass makes nobody conformant: an operator has to pass, too.\n\n",
      stream);
  put_provider_cases(stream);
}
