// SPDX-License-Identifier: Apache-2.0
//
// manifest.json. Private to this folder, and the fuzzer's.
#ifndef OC_BUNDLE_MANIFEST_H_
#define OC_BUNDLE_MANIFEST_H_

#include <stdio.h>

#include "bundle/bundle.h"

#define OC_BUNDLE_MAX_FILES 20000
#define OC_BUNDLE_MAX_PATH 512
#define OC_BUNDLE_MAX_MANIFEST ((size_t)16 << 20)

typedef struct oc_bundle_file {
  char path[OC_BUNDLE_MAX_PATH];  // below the bundle: "journals/1.jsonl"
  uint64_t size;
  char sha256[65];
} oc_bundle_file;

typedef struct oc_manifest {
  char contracts[OC_BUNDLE_MAX_PATH];  // the folder or file, below the bundle
  char created[32];
  char signer[65];
  char provider[64], version[64], provider_hash[65];
  char oracle_hash[65], harness_hash[65], contracts_hash[65];
  char faults[400];
  int32_t exit_code;
  uint64_t counts[OC_STATUS_COUNT];
  oc_bundle_file *files;
  size_t count;
} oc_manifest;

// A path that stays below the bundle: parts of letters, digits and "._+-", none of them hidden,
// separated by '/'.
bool oc_manifest_path_is_safe(const char *path);

// `header`: what the run says of itself, written for people.
void oc_manifest_write(FILE *stream, const oc_manifest *manifest,
                       const oc_journal_header *header);

// INVALID_MODEL. Paths are safe, sorted and distinct.
int32_t oc_manifest_parse(const char *text, size_t size, oc_manifest *out_manifest,
                          ops_error *error);
// What a manifest says of its bundle, into a certificate.
void oc_manifest_certify(const oc_manifest *manifest, oc_certificate *certificate);

void oc_manifest_finish(oc_manifest *manifest);

#endif  // OC_BUNDLE_MANIFEST_H_
