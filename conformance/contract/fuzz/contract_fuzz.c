// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer target: the bytes as a contract file, and as provider clauses.
#include <stddef.h>
#include <stdint.h>

#include "contract/clauses.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  oc_contracts *contracts = NULL;
  if (oc_contracts_parse("fuzz.yaml", (const char *)data, size, &contracts, NULL) == OPS_OK) {
    oc_contracts_destroy(contracts);
  }
  oc_clauses *clauses = NULL;
  if (oc_clauses_parse("fuzz.yaml", (const char *)data, size, &clauses, NULL) == OPS_OK) {
    oc_clauses_destroy(clauses);
  }
  return 0;
}
