// SPDX-License-Identifier: Apache-2.0
//
// Ed25519 keys and signatures, by libsodium. A key file is one line of text:
// "ops-secret-key-1 HEX" with the 32 bytes of the seed, or "ops-public-key-1 HEX".
#ifndef OC_BUNDLE_SIGN_H_
#define OC_BUNDLE_SIGN_H_

#include <ops/status.h>
#include <stddef.h>
#include <stdint.h>

#define OC_KEY_BYTES 32
#define OC_SIGNATURE_BYTES 64

typedef struct oc_secret_key {
  unsigned char bytes[64];
} oc_secret_key;
typedef struct oc_public_key {
  unsigned char bytes[OC_KEY_BYTES];
} oc_public_key;

// Makes a pair of keys: `path`, which its owner alone may read, and `path`.pub. Neither may be
// there: PRECONDITION.
int32_t oc_key_create(const char *path, ops_error *error);

int32_t oc_key_load_secret(const char *path, oc_secret_key *out_key, oc_public_key *out_public,
                           ops_error *error);
int32_t oc_key_load_public(const char *path, oc_public_key *out_key, ops_error *error);
void oc_key_forget(oc_secret_key *key);

// Hexadecimal digits, lower case, terminated; and back: false unless `text` is exactly that.
void oc_hex_print(const unsigned char *bytes, size_t size, char *out_text);
int oc_hex_read(const char *text, unsigned char *out_bytes, size_t size);

int32_t oc_sign(const oc_secret_key *key, const void *data, size_t size,
                unsigned char out_signature[OC_SIGNATURE_BYTES], ops_error *error);
// 1: the signature is that of the key's owner over these bytes.
int oc_signature_holds(const oc_public_key *key, const void *data, size_t size,
                       const unsigned char signature[OC_SIGNATURE_BYTES]);

#endif  // OC_BUNDLE_SIGN_H_
