// SPDX-License-Identifier: Apache-2.0
//
// Private. A keyed hash of contents, 128 bits, as fast as memory can be read. Not for
// cryptography: it keeps those apart who do not know the secret.
#ifndef OPS_LOADER_CONTENT_HASH_H_
#define OPS_LOADER_CONTENT_HASH_H_

#include <stdint.h>

typedef struct ops_content_hash {
  uint64_t low, high;
} ops_content_hash;

typedef struct ops_content_secret {
  uint64_t words[4];
} ops_content_secret;

// A fresh secret: of the system's random numbers, or of time and address where there are none.
void ops_content_secret_draw(ops_content_secret *out_secret);

typedef struct ops_content_hasher {
  ops_content_secret secret;
  uint64_t lanes[4];
} ops_content_hasher;

void ops_content_hasher_init(ops_content_hasher *hasher, const ops_content_secret *secret);

// One piece of the contents; pieces are told apart: "a", "bc" is not "ab", "c". `data` needs no
// alignment.
void ops_content_hasher_add(ops_content_hasher *hasher, const void *data, uint64_t size);
ops_content_hash ops_content_hasher_finish(const ops_content_hasher *hasher);

#endif  // OPS_LOADER_CONTENT_HASH_H_
