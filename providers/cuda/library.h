// SPDX-License-Identifier: Apache-2.0
//
// Shared libraries that are opened when they are needed, and tables of their functions: the
// provider loads on a machine that has none of them and says what is missing.
//
// A table is a struct of function pointers. One list X(function, "symbol") yields both the
// struct and what fills it. The pointer's type is the header's, so a prototype that changes
// fails the build; the symbol is spelled out, since headers rename functions by macros from
// version to version.
#ifndef PROVIDERS_CUDA_LIBRARY_H_
#define PROVIDERS_CUDA_LIBRARY_H_

#include <ops/status.h>

typedef struct cuda_symbol {
  const char *name;
  uint64_t offset;  // of the pointer in the table
} cuda_symbol;

// What to open. `sonames` ends with NULL, the best first.
typedef struct cuda_library_def {
  const char *title;
  const char *const *sonames;
  const cuda_symbol *symbols;
  uint64_t symbol_count;
} cuda_library_def;

typedef struct cuda_library {
  void *handle;    // NULL: not open
  char path[512];  // that was opened
} cuda_library;

// For a list of symbols: the fields of the table, and the rows that fill it.
#define CUDA_SYMBOL_FIELD(function, symbol) __typeof__(function) *function;

// Opens the first library found. `place` is a folder or a file that the user named, and is then
// the only one tried; NULL: the loader's own search, then the folders of the Toolkit that the
// provider was built with. NOT_FOUND with the cause LIBRARY_MISSING if none can be opened.
int32_t cuda_library_open(const cuda_library_def *def, const char *place,
                          cuda_library *out_library, ops_error *error);

// Fills `table`. UNSUPPORTED_VERSION with DRIVER_TOO_OLD if the library lacks a function, which
// the message names.
int32_t cuda_library_fill(const cuda_library_def *def, const cuda_library *library, void *table,
                          ops_error *error);
void cuda_library_close(cuda_library *library);  // accepts one that is not open

#endif  // PROVIDERS_CUDA_LIBRARY_H_
