// SPDX-License-Identifier: Apache-2.0
//
// Keys and signatures.
#include "bundle/sign.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ops_support/error.h"
#include "report/json_in.h"

#define SECRET "ops-secret-key-1 "
#define PUBLIC "ops-public-key-1 "
#define MAX_KEY_FILE 256

static int32_t start(ops_error *error) {
  if (sodium_init() >= 0) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INTERNAL, "libsodium cannot be initialised");
}

void oc_hex_print(const unsigned char *bytes, size_t size, char *out_text) {
  sodium_bin2hex(out_text, 2 * size + 1, bytes, size);
}

int oc_hex_read(const char *text, unsigned char *out_bytes, size_t size) {
  size_t used = 0;
  if (strspn(text, "0123456789abcdef") != 2 * size || strlen(text) != 2 * size) return 0;
  return sodium_hex2bin(out_bytes, size, text, 2 * size, NULL, &used, NULL) == 0 &&
         used == size;
}

// ---- Key files ------------------------------------------------------------------------------

// One line in a new file of these permissions.
static int32_t write_key(const char *path, int mode, const char *label,
                         const unsigned char *bytes, ops_error *error) {
  char hex[2 * OC_KEY_BYTES + 1], line[MAX_KEY_FILE];
  const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (fd < 0) {
    return ops_error_set(error, errno == EEXIST ? OPS_ERROR_PRECONDITION : OPS_ERROR_IO,
                         "'%s' cannot be made: %s; a key is never written over", path,
                         strerror(errno));
  }
  oc_hex_print(bytes, OC_KEY_BYTES, hex);
  const int size = snprintf(line, sizeof line, "%s%s\n", label, hex);
  const int written = write(fd, line, (size_t)size) == size && fsync(fd) == 0;
  const int closed = close(fd) == 0;
  sodium_memzero(line, sizeof line);
  sodium_memzero(hex, sizeof hex);
  if (written && closed) return OPS_OK;
  unlink(path);
  return ops_error_set(error, OPS_ERROR_IO, "'%s' cannot be written", path);
}

int32_t oc_key_create(const char *path, ops_error *error) {
  unsigned char seed[crypto_sign_SEEDBYTES], public_key[crypto_sign_PUBLICKEYBYTES];
  unsigned char secret[crypto_sign_SECRETKEYBYTES];
  char public_path[4096];
  OPS_RETURN_IF_ERROR(start(error));
  if ((size_t)snprintf(public_path, sizeof public_path, "%s.pub", path) >= sizeof public_path) {
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT, "the path of the key is too long");
  }
  randombytes_buf(seed, sizeof seed);
  crypto_sign_seed_keypair(public_key, secret, seed);
  int32_t status = write_key(path, 0600, SECRET, seed, error);
  if (status == OPS_OK) {
    status = write_key(public_path, 0644, PUBLIC, public_key, error);
    if (status != OPS_OK) unlink(path);
  }
  sodium_memzero(seed, sizeof seed);
  sodium_memzero(secret, sizeof secret);
  return status;
}

static int32_t read_key(const char *path, const char *label, unsigned char *out_bytes,
                        ops_error *error) {
  char *text = NULL;
  size_t size = 0;
  OPS_RETURN_IF_ERROR(oc_file_read(path, MAX_KEY_FILE, &text, &size, error));
  text[strcspn(text, "\r\n")] = 0;
  const size_t head = strlen(label);
  const int good =
      strncmp(text, label, head) == 0 && oc_hex_read(text + head, out_bytes, OC_KEY_BYTES);
  sodium_memzero(text, size);
  free(text);
  if (good) return OPS_OK;
  return ops_error_set(
      error, OPS_ERROR_INVALID_ARGUMENT,
      "'%s': expected the line \"%sHEX\" with 64 digits, as opsconform certify "
      "--new-key writes it",
      path, label);
}

int32_t oc_key_load_secret(const char *path, oc_secret_key *out_key, oc_public_key *out_public,
                           ops_error *error) {
  unsigned char seed[crypto_sign_SEEDBYTES];
  OPS_RETURN_IF_ERROR(start(error));
  OPS_RETURN_IF_ERROR(read_key(path, SECRET, seed, error));
  crypto_sign_seed_keypair(out_public->bytes, out_key->bytes, seed);
  sodium_memzero(seed, sizeof seed);
  return OPS_OK;
}

int32_t oc_key_load_public(const char *path, oc_public_key *out_key, ops_error *error) {
  OPS_RETURN_IF_ERROR(start(error));
  return read_key(path, PUBLIC, out_key->bytes, error);
}

void oc_key_forget(oc_secret_key *key) {
  sodium_memzero(key, sizeof *key);
}

// ---- Signatures -----------------------------------------------------------------------------

int32_t oc_sign(const oc_secret_key *key, const void *data, size_t size,
                unsigned char out_signature[OC_SIGNATURE_BYTES], ops_error *error) {
  OPS_RETURN_IF_ERROR(start(error));
  if (crypto_sign_detached(out_signature, NULL, data, size, key->bytes) == 0) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INTERNAL, "the manifest cannot be signed");
}

int oc_signature_holds(const oc_public_key *key, const void *data, size_t size,
                       const unsigned char signature[OC_SIGNATURE_BYTES]) {
  return start(NULL) == OPS_OK &&
         crypto_sign_verify_detached(signature, data, size, key->bytes) == 0;
}
