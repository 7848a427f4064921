// SPDX-License-Identifier: Apache-2.0
//
// SHA-256, FIPS 180-4: names the exact oracle and candidate of a report.
#ifndef OC_REPORT_SHA256_H_
#define OC_REPORT_SHA256_H_

#include <stddef.h>
#include <stdint.h>

typedef struct oc_sha256 {
  uint32_t state[8];
  uint64_t length;  // bytes so far
  unsigned char block[64];
} oc_sha256;

void oc_sha256_init(oc_sha256 *hash);
void oc_sha256_add(oc_sha256 *hash, const void *data, size_t size);
void oc_sha256_hex(oc_sha256 *hash, char out_hex[65]);  // ends the hash

#endif  // OC_REPORT_SHA256_H_
