// SPDX-License-Identifier: Apache-2.0
//
// Making a bundle, in a folder beside its place that is renamed at the end.
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bundle/bundle.h"
#include "bundle/derive.h"
#include "bundle/manifest.h"
#include "bundle/sign.h"
#include "bundle/tree.h"
#include "ops_support/error.h"
#include "report/file.h"
#include "report/format.h"
#include "report/json_in.h"

#define MAX_FAULTS ((size_t)16 << 20)

typedef struct maker {
  const oc_certify_options *options;
  char root[PATH_MAX];  // where the bundle grows
  char contracts[PATH_MAX];
  oc_journal *journal;
  oc_waivers *waivers;
  oc_report report;
  bool reported;
  oc_manifest manifest;
  oc_secret_key key;
  oc_public_key public_key;
  oc_certificate *certificate;
  ops_error *error;
} maker;

// ---- The verdict ----------------------------------------------------------------------------

static int32_t check_contracts(maker *m) {
  char hash[65];
  const char *given =
      m->options->contracts ? m->options->contracts : m->journal->header.setup.contracts;
  if (m->journal->header.setup.onnx_tests || !given) {
    return ops_error_set(
        m->error, OPS_ERROR_INVALID_ARGUMENT,
        "a certificate is about contracts; this is the journal of a run of models");
  }
  snprintf(m->contracts, sizeof m->contracts, "%s", given);
  OPS_RETURN_IF_ERROR(oc_folder_hash(m->contracts, ".yaml", hash, m->error));
  if (strcmp(hash, m->journal->header.contracts_hash) == 0) return OPS_OK;
  return ops_error_set(
      m->error, OPS_ERROR_INVALID_ARGUMENT,
      "the contracts in '%s' are not those of the run (SHA-256 %.16s, not %.16s); "
      "name those with --contracts",
      m->contracts, hash, m->journal->header.contracts_hash);
}

static int32_t judge(maker *m) {
  const oc_certify_options *options = m->options;
  OPS_RETURN_IF_ERROR(
      oc_derive_journal(options->journals, options->journal_count, &m->journal, m->error));
  OPS_RETURN_IF_ERROR(check_contracts(m));
  OPS_RETURN_IF_ERROR(oc_derive_check(m->journal, m->contracts, m->certificate, m->error));
  OPS_RETURN_IF_ERROR(oc_journal_report(m->journal, &m->report, m->error));
  m->reported = true;
  if (options->waivers) {
    OPS_RETURN_IF_ERROR(oc_waivers_load(options->waivers, &m->waivers, m->error));
    oc_report_waive(&m->report, m->waivers);
  }
  if (m->report.exit_code == OC_EXIT_CONFORMANT) return OPS_OK;
  return ops_error_set(m->error, OPS_ERROR_PRECONDITION,
                       "the run is %s (exit code %d): there is nothing to certify",
                       oc_exit_meaning(m->report.exit_code), m->report.exit_code);
}

// ---- Files ----------------------------------------------------------------------------------

static int32_t copy_journals(maker *m) {
  for (size_t i = 0; i < m->options->journal_count; ++i) {
    char path[64];
    snprintf(path, sizeof path, "journals/%05zu.jsonl", i + 1);
    OPS_RETURN_IF_ERROR(oc_tree_copy(m->options->journals[i], NULL, m->root, path, m->error));
  }
  return OPS_OK;
}

static int32_t copy_contracts(maker *m) {
  struct stat about;
  const char *slash = strrchr(m->contracts, '/');
  const bool folder = stat(m->contracts, &about) == 0 && S_ISDIR(about.st_mode);
  const char *file = folder ? "" : slash ? slash + 1 : m->contracts;
  const size_t room = sizeof m->manifest.contracts;
  const int size =
      snprintf(m->manifest.contracts, room, "contracts%s%s", folder ? "" : "/", file);
  if ((size_t)size >= room || !oc_manifest_path_is_safe(m->manifest.contracts)) {
    return ops_error_set(m->error, OPS_ERROR_INVALID_ARGUMENT,
                         "'%s': a bundle holds files of plain names alone", m->contracts);
  }
  return oc_tree_copy(m->contracts, ".yaml", m->root, m->manifest.contracts, m->error);
}

static int32_t copy_if(maker *m, const char *from, const char *path) {
  return from ? oc_tree_copy(from, NULL, m->root, path, m->error) : OPS_OK;
}

static int32_t copy_require(maker *m) {
  char hash[65];
  const char *path = m->journal->header.setup.require;
  if (!path) return OPS_OK;
  OPS_RETURN_IF_ERROR(oc_file_hash(path, hash, m->error));
  if (strcmp(hash, m->journal->header.require_hash) == 0)
    return copy_if(m, path, "require.txt");
  return ops_error_set(m->error, OPS_ERROR_INVALID_ARGUMENT,
                       "'%s' has changed since the run required it", path);
}

static int32_t write_reports(maker *m) {
  static const char *const paths[OC_FORMAT_COUNT] = {[OC_FORMAT_JSON] = "reports/report.json",
                                                     [OC_FORMAT_JUNIT] = "reports/junit.xml",
                                                     [OC_FORMAT_CSV] = "reports/report.csv",
                                                     [OC_FORMAT_MARKDOWN] = "reports/report.md",
                                                     [OC_FORMAT_HTML] = "reports/report.html"};
  for (int format = 0; format < OC_FORMAT_COUNT; ++format) {
    char *text = NULL;
    size_t size = 0;
    OPS_RETURN_IF_ERROR(oc_format_print((oc_format)format, &m->report, &text, &size, m->error));
    const int32_t status = oc_tree_write(m->root, paths[format], text, size, m->error);
    free(text);
    OPS_RETURN_IF_ERROR(status);
  }
  return OPS_OK;
}

// ---- The fault score ------------------------------------------------------------------------

static size_t count_of(const cJSON *object, const char *name) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
  if (cJSON_IsArray(item)) return (size_t)cJSON_GetArraySize(item);
  return cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble < 1e9
             ? (size_t)item->valuedouble
             : 0;
}

static bool is_tier(const char *name) {
  for (int tier = 0; tier < OC_TIER_COUNT; ++tier) {
    if (strcmp(name, oc_tier_name((oc_tier)tier)) == 0) return true;
  }
  return false;
}

// One line of each tier of the document of ci/faults.
static int32_t read_faults(maker *m) {
  static const oc_json_limits limits = {MAX_FAULTS, 1 << 20, 16};
  char *text = NULL;
  size_t size = 0, used = 0;
  cJSON *root = NULL;
  if (!m->options->faults) return OPS_OK;
  OPS_RETURN_IF_ERROR(oc_file_read(m->options->faults, MAX_FAULTS, &text, &size, m->error));
  const int32_t status =
      oc_json_in_parse(m->options->faults, text, size, &limits, &root, m->error);
  free(text);
  OPS_RETURN_IF_ERROR(status);
  const cJSON *tiers = cJSON_GetObjectItemCaseSensitive(root, "tiers"), *tier;
  if (!cJSON_IsObject(tiers)) tiers = root;
  char *out = m->manifest.faults;
  cJSON_ArrayForEach(tier, tiers) {
    if (!tier->string || !is_tier(tier->string) || used >= sizeof m->manifest.faults) continue;
    used += (size_t)snprintf(
        out + used, sizeof m->manifest.faults - used,
        "%stier %s: %zu of %zu faults caught, %zu false alarms of %zu controls",
        used ? "; " : "", tier->string, count_of(tier, "caught"), count_of(tier, "faults"),
        count_of(tier, "false_alarms"), count_of(tier, "controls"));
  }
  cJSON_Delete(root);
  if (used) return OPS_OK;
  return ops_error_set(m->error, OPS_ERROR_INVALID_ARGUMENT,
                       "'%s': expected what ci/faults --report writes, found no tier in it",
                       m->options->faults);
}

// ---- The manifest ---------------------------------------------------------------------------

static void fill_manifest(maker *m) {
  const oc_journal_header *header = &m->journal->header;
  oc_manifest *manifest = &m->manifest;
  const time_t now = time(NULL);
  struct tm utc;
  gmtime_r(&now, &utc);
  strftime(manifest->created, sizeof manifest->created, "%Y-%m-%dT%H:%M:%SZ", &utc);
  oc_hex_print(m->public_key.bytes, sizeof m->public_key.bytes, manifest->signer);
  memcpy(manifest->provider, m->report.hello.candidate.name, sizeof manifest->provider);
  memcpy(manifest->version, m->report.hello.candidate.version, sizeof manifest->version);
  memcpy(manifest->provider_hash, header->candidate_hash, sizeof manifest->provider_hash);
  memcpy(manifest->oracle_hash, header->oracle_hash, sizeof manifest->oracle_hash);
  memcpy(manifest->harness_hash, header->harness_hash, sizeof manifest->harness_hash);
  memcpy(manifest->contracts_hash, header->contracts_hash, sizeof manifest->contracts_hash);
  manifest->exit_code = m->report.exit_code;
  memcpy(manifest->counts, m->report.counts, sizeof manifest->counts);
}

static int32_t list_files(maker *m) {
  OPS_RETURN_IF_ERROR(oc_tree_list(m->root, &m->manifest.files, &m->manifest.count, m->error));
  for (size_t i = 0; i < m->manifest.count; ++i) {
    OPS_RETURN_IF_ERROR(oc_tree_measure(m->root, &m->manifest.files[i], m->error));
  }
  return OPS_OK;
}

static int32_t seal(maker *m) {
  unsigned char signature[OC_SIGNATURE_BYTES];
  char hex[2 * OC_SIGNATURE_BYTES + 2];
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  if (stream) oc_manifest_write(stream, &m->manifest, &m->journal->header);
  if (!stream || fclose(stream) != 0) {
    free(text);
    return ops_error_set(m->error, OPS_ERROR_OUT_OF_MEMORY, "no memory for the manifest");
  }
  int32_t status = oc_sign(&m->key, text, size, signature, m->error);
  if (status == OPS_OK) status = oc_tree_write(m->root, "manifest.json", text, size, m->error);
  free(text);
  OPS_RETURN_IF_ERROR(status);
  oc_hex_print(signature, sizeof signature, hex);
  strcat(hex, "\n");
  return oc_tree_write(m->root, "manifest.sig", hex, strlen(hex), m->error);
}

static int32_t fill_bundle(maker *m) {
  OPS_RETURN_IF_ERROR(copy_journals(m));
  OPS_RETURN_IF_ERROR(copy_contracts(m));
  OPS_RETURN_IF_ERROR(copy_require(m));
  OPS_RETURN_IF_ERROR(copy_if(m, m->options->waivers, "waivers.yaml"));
  OPS_RETURN_IF_ERROR(copy_if(m, m->options->faults, "faults.json"));
  OPS_RETURN_IF_ERROR(read_faults(m));
  OPS_RETURN_IF_ERROR(write_reports(m));
  fill_manifest(m);
  OPS_RETURN_IF_ERROR(list_files(m));
  return seal(m);
}

// ---- All ------------------------------------------------------------------------------------

static int32_t make_root(maker *m) {
  struct stat about;
  const char *out = m->options->out;
  if (lstat(out, &about) == 0) {
    return ops_error_set(m->error, OPS_ERROR_PRECONDITION,
                         "'%s' is there already; a bundle is never written over", out);
  }
  if ((size_t)snprintf(m->root, sizeof m->root, "%s.partial", out) >= sizeof m->root) {
    return ops_error_set(m->error, OPS_ERROR_INVALID_ARGUMENT,
                         "the path of the bundle is too long");
  }
  if (mkdir(m->root, 0755) == 0) return OPS_OK;
  const int reason = errno;
  ops_error_set(m->error, OPS_ERROR_IO, "'%s' cannot be made: %s", m->root, strerror(reason));
  m->root[0] = 0;
  return OPS_ERROR_IO;
}

static int32_t make_bundle(maker *m) {
  OPS_RETURN_IF_ERROR(oc_key_load_secret(m->options->key, &m->key, &m->public_key, m->error));
  OPS_RETURN_IF_ERROR(judge(m));
  OPS_RETURN_IF_ERROR(make_root(m));
  OPS_RETURN_IF_ERROR(fill_bundle(m));
  if (rename(m->root, m->options->out) == 0) return OPS_OK;
  return ops_error_set(m->error, OPS_ERROR_IO, "'%s' cannot be made: %s", m->options->out,
                       strerror(errno));
}

int32_t oc_certify(const oc_certify_options *options, oc_certificate *out_certificate,
                   ops_error *error) {
  maker *m = calloc(1, sizeof *m);
  if (!m) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a bundle");
  m->options = options;
  m->certificate = out_certificate;
  m->error = error;
  memset(out_certificate, 0, sizeof *out_certificate);
  const int32_t status = make_bundle(m);
  if (status == OPS_OK) oc_manifest_certify(&m->manifest, out_certificate);
  if (status != OPS_OK && m->root[0]) oc_tree_remove(m->root);
  oc_key_forget(&m->key);
  oc_manifest_finish(&m->manifest);
  if (m->reported) oc_report_finish(&m->report);
  oc_waivers_destroy(m->waivers);
  oc_journal_destroy(m->journal);
  free(m);
  return status;
}
