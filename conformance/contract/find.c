// SPDX-License-Identifier: Apache-2.0
//
// Parameters and attributes by name. Apart from the reading of files, which those that only use
// a contract need not link.
#include <string.h>

#include "contract/contract.h"

static int32_t find_param(const oc_param *params, size_t count, const char *name) {
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(params[i].name, name) == 0) return (int32_t)i;
  }
  return -1;
}

int32_t oc_contract_find_input(const oc_contract *contract, const char *name) {
  return find_param(contract->inputs, contract->input_count, name);
}

int32_t oc_contract_find_output(const oc_contract *contract, const char *name) {
  return find_param(contract->outputs, contract->output_count, name);
}

int32_t oc_contract_find_attribute(const oc_contract *contract, const char *name) {
  for (size_t i = 0; i < contract->attribute_count; ++i) {
    if (strcmp(contract->attributes[i].name, name) == 0) return (int32_t)i;
  }
  return -1;
}
