// SPDX-License-Identifier: Apache-2.0
//
// Certificate bundles: a folder that carries a verdict and all that it follows from, closed by
// a signature, so that somebody else can check it without the provider, the device or a
// network.
//
//   manifest.json       who was judged by what, the verdict, size and SHA-256 of every other
//   file manifest.sig        Ed25519 over the bytes of manifest.json, 128 hexadecimal digits
//   journals/           what was found, one journal per shard
//   contracts/          what it was held to
//   reports/            the verdict in every format
//   waivers.yaml, require.txt, faults.json, where there are any
//
// A bundle is verified by reading it anew: signature, hashes, no file more or less; then the
// cases are made again from the contracts and must be those of the journals, every limit that
// needs no provider is evaluated again, every result must follow from its error and limit, and
// waivers, counts, exit code and report are derived again.
#ifndef OC_BUNDLE_BUNDLE_H_
#define OC_BUNDLE_BUNDLE_H_

#include "journal/journal.h"

#define OC_BUNDLE_FORMAT 1

// What a bundle says, for people.
typedef struct oc_certificate {
  char provider[64], version[64];
  char provider_hash[65];
  int32_t exit_code;
  uint64_t counts[OC_STATUS_COUNT];
  size_t cases;
  size_t measured;   // cases with an error and a limit
  size_t evaluated;  // of these, limits that were evaluated again from the contracts
  size_t files;
  char signer[65];   // public key
  char faults[400];  // "full: 62 of 62 faults caught, 0 false alarms of 12 controls"; ""
} oc_certificate;

typedef struct oc_certify_options {
  const char *const *journals;
  size_t journal_count;
  const char *contracts;  // NULL: where the run found them
  const char *waivers;    // NULL: none
  const char *faults;     // what ci/faults --report wrote; NULL: none
  const char *key;        // a secret key, as oc_key_create writes it
  const char *out;        // the folder to make; must not be there
} oc_certify_options;

// Makes a bundle: whole or not at all. A run that does not end with 0 gets none:
// PRECONDITION. INVALID_ARGUMENT, INVALID_MODEL, IO.
int32_t oc_certify(const oc_certify_options *options, oc_certificate *out_certificate,
                   ops_error *error);

// Checks a bundle. `public_key`: the file of the key that must have signed it; NULL: the one
// that the bundle names, which proves no more than that nothing was changed since. IO: there is
// no bundle, or no such key; INVALID_MODEL: why it is refused.
int32_t oc_bundle_verify(const char *path, const char *public_key,
                         oc_certificate *out_certificate, ops_error *error);

#endif  // OC_BUNDLE_BUNDLE_H_
