// SPDX-License-Identifier: Apache-2.0
//
// A tool of the tests, for those who would cheat.
//
// usage: bundle_tool flip DIR KEY.pub     changes single bytes of a bundle, one at a time: all
// of a
//                                         file of up to 4 KiB, 30 of a larger one; each change
//                                         must be refused. Prints how many were made.
//        bundle_tool reseal DIR KEY       lists the files anew and signs: whoever has the key
//        can
#include <cjson/cJSON.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bundle/bundle.h"
#include "bundle/sign.h"
#include "bundle/tree.h"
#include "ops_support/error.h"
#include "report/json_in.h"

#define ALL_OF (4 << 10)
#define SAMPLES 30

static _Noreturn void die(const char *what) {
  fprintf(stderr, "bundle_tool: %s\n", what);
  exit(2);
}

// ---- Flipping -------------------------------------------------------------------------------

static void flip(const char *path, off_t at, unsigned char bit) {
  unsigned char byte;
  const int fd = open(path, O_RDWR);
  if (fd < 0 || pread(fd, &byte, 1, at) != 1) die(path);
  byte ^= bit;
  if (pwrite(fd, &byte, 1, at) != 1 || close(fd) != 0) die(path);
}

// Returns how many changes were made; one that is not refused ends the program.
static size_t flip_file(const char *root, const oc_bundle_file *file, const char *key) {
  char path[4096];
  const size_t size = (size_t)file->size, step = size <= ALL_OF ? 1 : size / SAMPLES;
  size_t made = 0;
  snprintf(path, sizeof path, "%s/%s", root, file->path);
  for (size_t at = 0; at < size; at += step, ++made) {
    const unsigned char bit = (unsigned char)(1u << (at % 8));
    oc_certificate certificate;
    ops_error error = OPS_ERROR_INIT;
    flip(path, (off_t)at, bit);
    const int32_t status = oc_bundle_verify(root, key, &certificate, &error);
    flip(path, (off_t)at, bit);
    if (status == OPS_ERROR_INVALID_MODEL) continue;
    printf("byte %zu of %s changed, and verifying ends with %d: %s\n", at, file->path, status,
           error.message);
    exit(1);
  }
  return made;
}

static int flip_all(const char *root, const char *key) {
  oc_bundle_file *files = NULL;
  size_t count = 0, made = 0;
  oc_certificate certificate;
  ops_error error = OPS_ERROR_INIT;
  if (oc_tree_list(root, &files, &count, &error) != OPS_OK) die(error.message);
  for (size_t i = 0; i < count; ++i) made += flip_file(root, &files[i], key);
  if (oc_bundle_verify(root, key, &certificate, &error) != OPS_OK) die(error.message);
  printf("%zu\n", made);
  free(files);
  return 0;
}

// ---- Resealing ------------------------------------------------------------------------------

static cJSON *list_of(const char *root) {
  oc_bundle_file *files = NULL;
  size_t count = 0;
  ops_error error = OPS_ERROR_INIT;
  cJSON *list = cJSON_CreateArray();
  if (oc_tree_list(root, &files, &count, &error) != OPS_OK) die(error.message);
  for (size_t i = 0; i < count; ++i) {
    if (strncmp(files[i].path, "manifest.", 9) == 0) continue;
    if (oc_tree_measure(root, &files[i], &error) != OPS_OK) die(error.message);
    cJSON *item = cJSON_CreateObject();
    cJSON_AddStringToObject(item, "path", files[i].path);
    cJSON_AddNumberToObject(item, "size", (double)files[i].size);
    cJSON_AddStringToObject(item, "sha256", files[i].sha256);
    cJSON_AddItemToArray(list, item);
  }
  free(files);
  return list;
}

static int reseal(const char *root, const char *key_path) {
  char path[4096], hex[2 * OC_SIGNATURE_BYTES + 2];
  unsigned char signature[OC_SIGNATURE_BYTES];
  char *text = NULL;
  size_t size = 0;
  oc_secret_key key;
  oc_public_key public_key;
  ops_error error = OPS_ERROR_INIT;
  snprintf(path, sizeof path, "%s/manifest.json", root);
  if (oc_file_read(path, 1 << 24, &text, &size, &error) != OPS_OK) die(error.message);
  cJSON *manifest = cJSON_Parse(text);
  if (!manifest) die("no manifest");
  cJSON_ReplaceItemInObjectCaseSensitive(manifest, "files", list_of(root));
  free(text);
  text = cJSON_Print(manifest);
  cJSON_Delete(manifest);
  if (oc_key_load_secret(key_path, &key, &public_key, &error) != OPS_OK ||
      oc_tree_write(root, "manifest.json", text, strlen(text), &error) != OPS_OK ||
      oc_sign(&key, text, strlen(text), signature, &error) != OPS_OK) {
    die(error.message);
  }
  oc_hex_print(signature, sizeof signature, hex);
  strcat(hex, "\n");
  if (oc_tree_write(root, "manifest.sig", hex, strlen(hex), &error) != OPS_OK) {
    die(error.message);
  }
  free(text);
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 4 && strcmp(argv[1], "flip") == 0) return flip_all(argv[2], argv[3]);
  if (argc == 4 && strcmp(argv[1], "reseal") == 0) return reseal(argv[2], argv[3]);
  die("wrong use");
}
