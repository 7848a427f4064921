// SPDX-License-Identifier: Apache-2.0
//
// Writing and reading the manifest: one table of its texts.
#include "bundle/manifest.h"

#include <stdlib.h>
#include <string.h>

#include "ops_support/error.h"
#include "report/json_in.h"
#include "report/json_out.h"

typedef struct text_field {
  const char *name;
  size_t offset, size;
} text_field;

#define TEXT(name, member) \
  { name, offsetof(oc_manifest, member), sizeof(((oc_manifest *)0)->member) }
static const text_field kTexts[] = {
    TEXT("created", created),
    TEXT("signer", signer),
    TEXT("provider", provider),
    TEXT("version", version),
    TEXT("provider_sha256", provider_hash),
    TEXT("oracle_sha256", oracle_hash),
    TEXT("harness_sha256", harness_hash),
    TEXT("contracts", contracts),
    TEXT("contracts_sha256", contracts_hash),
    TEXT("faults", faults),
};
#undef TEXT
#define TEXTS (sizeof kTexts / sizeof *kTexts)

bool oc_manifest_path_is_safe(const char *path) {
  static const char legal[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-";
  if (strlen(path) >= OC_BUNDLE_MAX_PATH) return false;
  for (;;) {
    const size_t size = strspn(path, legal);
    if (size == 0 || path[0] == '.') return false;
    path += size;
    if (!*path) return true;
    if (*path++ != '/') return false;
  }
}

// ---- Writing --------------------------------------------------------------------------------

static void put_run(oc_json_out *json, const oc_journal_header *header) {
  const oc_report_setup *setup = &header->setup;
  oc_json_out_open(json, "run", '{');
  oc_json_out_text(json, "started", header->started);
  oc_json_out_text(json, "harness", header->harness_version);
  oc_json_out_text(json, "profile", oc_profile_name(setup->profile));
  oc_json_out_text(json, "tier", oc_tier_name(setup->tier));
  oc_json_out_seed(json, "seed", setup->seed);
  oc_json_out_text_if(json, "op", setup->op);
  oc_json_out_text_if(json, "filter", setup->filter);
  oc_json_out_integer(json, "shards", header->shard_count);
  oc_json_out_text_if(json, "vendor", header->hello.candidate.vendor);
  oc_json_out_text_if(json, "device", header->hello.candidate.device);
  oc_json_out_text_if(json, "architecture", header->hello.candidate.architecture);
  oc_json_out_text_if(json, "driver", header->hello.candidate.driver);
  oc_json_out_text_if(json, "fingerprint", header->hello.candidate.fingerprint);
  oc_json_out_text_if(json, "oracle", header->hello.oracle.name);
  oc_json_out_text_if(json, "system", header->system);
  oc_json_out_text_if(json, "release", header->release);
  oc_json_out_text_if(json, "machine", header->machine);
  oc_json_out_close(json);
}

static void put_verdict(oc_json_out *json, const oc_manifest *manifest) {
  oc_json_out_open(json, "verdict", '{');
  oc_json_out_integer(json, "exit_code", manifest->exit_code);
  oc_json_out_text(json, "meaning", oc_exit_meaning(manifest->exit_code));
  for (int32_t status = 0; status < OC_STATUS_COUNT; ++status) {
    oc_json_out_integer(json, oc_status_name(status), (int64_t)manifest->counts[status]);
  }
  oc_json_out_close(json);
}

void oc_manifest_write(FILE *stream, const oc_manifest *manifest,
                       const oc_journal_header *header) {
  oc_json_out json = oc_json_out_begin(stream, 2);
  oc_json_out_open(&json, NULL, '{');
  oc_json_out_integer(&json, "bundle", OC_BUNDLE_FORMAT);
  for (size_t i = 0; i < TEXTS; ++i) {
    oc_json_out_text(&json, kTexts[i].name, (const char *)manifest + kTexts[i].offset);
  }
  put_verdict(&json, manifest);
  put_run(&json, header);
  oc_json_out_open(&json, "files", '[');
  for (size_t i = 0; i < manifest->count; ++i) {
    oc_json_out_open(&json, NULL, '{');
    oc_json_out_text(&json, "path", manifest->files[i].path);
    oc_json_out_integer(&json, "size", (int64_t)manifest->files[i].size);
    oc_json_out_text(&json, "sha256", manifest->files[i].sha256);
    oc_json_out_close(&json);
  }
  oc_json_out_close(&json);
  oc_json_out_close(&json);
}

// ---- Reading --------------------------------------------------------------------------------

static int32_t wrong(ops_error *error, const char *what) {
  return ops_error_set(error, OPS_ERROR_INVALID_MODEL, "manifest.json: %s", what);
}

static int32_t read_text(const cJSON *object, const char *name, char *out, size_t size,
                         ops_error *error) {
  const char *text = oc_json_in_text(object, name);
  if (!text || strlen(text) >= size) {
    return ops_error_set(error, OPS_ERROR_INVALID_MODEL,
                         "manifest.json: '%s' is missing, or too long", name);
  }
  memcpy(out, text, strlen(text) + 1);
  return OPS_OK;
}

// An integer that a double holds exactly.
static bool read_count(const cJSON *object, const char *name, uint64_t *out_value) {
  double value;
  if (!oc_json_in_number(object, name, &value)) return false;
  if (!(value >= 0 && value <= 9007199254740992.0)) return false;
  *out_value = (uint64_t)value;
  return (double)*out_value == value;
}

static int32_t read_verdict(const cJSON *object, oc_manifest *manifest, ops_error *error) {
  uint64_t code;
  if (!read_count(object, "exit_code", &code) || code > OC_EXIT_INCOMPLETE) {
    return wrong(error, "there is no exit code");
  }
  manifest->exit_code = (int32_t)code;
  for (int32_t status = 0; status < OC_STATUS_COUNT; ++status) {
    if (!read_count(object, oc_status_name(status), &manifest->counts[status])) {
      return wrong(error, "a count of the verdict is missing");
    }
  }
  return OPS_OK;
}

static int32_t read_files(const cJSON *list, oc_manifest *manifest, ops_error *error) {
  const cJSON *item;
  const int count = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
  if (count < 1 || count > OC_BUNDLE_MAX_FILES) {
    return wrong(error, "it lists no files, or too many");
  }
  manifest->files = calloc((size_t)count, sizeof *manifest->files);
  if (!manifest->files) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory");
  cJSON_ArrayForEach(item, list) {
    oc_bundle_file *file = &manifest->files[manifest->count];
    OPS_RETURN_IF_ERROR(read_text(item, "path", file->path, sizeof file->path, error));
    OPS_RETURN_IF_ERROR(read_text(item, "sha256", file->sha256, sizeof file->sha256, error));
    if (!oc_manifest_path_is_safe(file->path)) {
      return wrong(error, "a path leads out of the bundle");
    }
    if (manifest->count > 0 && strcmp(file[-1].path, file->path) >= 0) {
      return wrong(error, "its files are not sorted, or one is there twice");
    }
    if (!read_count(item, "size", &file->size)) return wrong(error, "a size is missing");
    ++manifest->count;
  }
  return OPS_OK;
}

static int32_t read_manifest(const cJSON *root, oc_manifest *manifest, ops_error *error) {
  uint64_t format;
  if (!read_count(root, "bundle", &format) || format != OC_BUNDLE_FORMAT) {
    return wrong(error, "it is not the manifest of a bundle of format 1");
  }
  for (size_t i = 0; i < TEXTS; ++i) {
    OPS_RETURN_IF_ERROR(read_text(root, kTexts[i].name, (char *)manifest + kTexts[i].offset,
                                  kTexts[i].size, error));
  }
  if (!oc_manifest_path_is_safe(manifest->contracts)) {
    return wrong(error, "the path of the contracts leads out of the bundle");
  }
  OPS_RETURN_IF_ERROR(
      read_verdict(cJSON_GetObjectItemCaseSensitive(root, "verdict"), manifest, error));
  return read_files(cJSON_GetObjectItemCaseSensitive(root, "files"), manifest, error);
}

int32_t oc_manifest_parse(const char *text, size_t size, oc_manifest *out_manifest,
                          ops_error *error) {
  static const oc_json_limits limits = {OC_BUNDLE_MAX_MANIFEST, 8 * OC_BUNDLE_MAX_FILES, 8};
  cJSON *root = NULL;
  memset(out_manifest, 0, sizeof *out_manifest);
  OPS_RETURN_IF_ERROR(oc_json_in_parse("manifest.json", text, size, &limits, &root, error));
  const int32_t status = read_manifest(root, out_manifest, error);
  cJSON_Delete(root);
  if (status != OPS_OK) oc_manifest_finish(out_manifest);
  return status;
}

void oc_manifest_certify(const oc_manifest *manifest, oc_certificate *certificate) {
  memcpy(certificate->provider, manifest->provider, sizeof certificate->provider);
  memcpy(certificate->version, manifest->version, sizeof certificate->version);
  memcpy(certificate->provider_hash, manifest->provider_hash, sizeof manifest->provider_hash);
  memcpy(certificate->counts, manifest->counts, sizeof certificate->counts);
  memcpy(certificate->signer, manifest->signer, sizeof certificate->signer);
  memcpy(certificate->faults, manifest->faults, sizeof certificate->faults);
  certificate->exit_code = manifest->exit_code;
  certificate->files = manifest->count + 2;
}

void oc_manifest_finish(oc_manifest *manifest) {
  free(manifest->files);
  manifest->files = NULL;
  manifest->count = 0;
}
