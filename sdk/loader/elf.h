// SPDX-License-Identifier: Apache-2.0
//
// What can be learnt about a shared object from its bytes, before any of its code runs.
#ifndef OPS_LOADER_ELF_H_
#define OPS_LOADER_ELF_H_

#include <ops/status.h>

// Facts about one file.
typedef struct ops_elf_facts {
  int32_t exports_query;   // 1: defines ops_provider_query
  uint32_t sanitizer;      // OPS_SANITIZER_… whose runtime it needs
  char extra_export[256];  // name of an exported symbol besides the query, "" if there is none
  uint64_t extra_exports;  // how many of those
} ops_elf_facts;

// Reads `path`. IO: cannot be read; INVALID_ARGUMENT: not a shared object for this machine, or
// its tables contradict themselves.
int32_t ops_elf_inspect(const char *path, ops_elf_facts *out_facts, ops_error *error);

#endif  // OPS_LOADER_ELF_H_
