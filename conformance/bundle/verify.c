// SPDX-License-Identifier: Apache-2.0
//
// Verifying a bundle. Nothing in it is read before the signature holds but the manifest's own
// name for its signer; nothing else is believed before the hashes hold.
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bundle/bundle.h"
#include "bundle/derive.h"
#include "bundle/manifest.h"
#include "bundle/sign.h"
#include "bundle/tree.h"
#include "ops_support/error.h"
#include "report/file.h"
#include "report/json_in.h"
#include "report/reading.h"

#define MAX_JOURNALS 4096

typedef struct checker {
  const char *root;
  oc_manifest manifest;
  oc_journal *journal;
  oc_waivers *waivers;
  oc_report report;
  bool reported;
  bool sealed;  // the signature holds: whatever is wrong from here on is wrong with the bundle
  oc_certificate *certificate;
  ops_error *error;
} checker;

static int32_t refuse(const checker *c, const char *path, const char *what) {
  return ops_error_set(c->error, OPS_ERROR_INVALID_MODEL, "refused: %s: %s", path, what);
}

static int32_t path_of(const checker *c, const char *below, char out[PATH_MAX]) {
  if ((size_t)snprintf(out, PATH_MAX, "%s/%s", c->root, below) < PATH_MAX) return OPS_OK;
  return ops_error_set(c->error, OPS_ERROR_INVALID_ARGUMENT,
                       "the path of the bundle is too long");
}

static bool has(const checker *c, const char *path) {
  for (size_t i = 0; i < c->manifest.count; ++i) {
    if (strcmp(c->manifest.files[i].path, path) == 0) return true;
  }
  return false;
}

// ---- The signature --------------------------------------------------------------------------

static int32_t read_signature(const checker *c, unsigned char out[OC_SIGNATURE_BYTES]) {
  char path[PATH_MAX];
  char *text = NULL;
  size_t size = 0;
  OPS_RETURN_IF_ERROR(path_of(c, "manifest.sig", path));
  OPS_RETURN_IF_ERROR(oc_file_read(path, 1024, &text, &size, c->error));
  const bool ends = size == 2 * OC_SIGNATURE_BYTES + 1 && text[size - 1] == '\n';
  if (ends) text[size - 1] = 0;
  const bool good = ends && oc_hex_read(text, out, OC_SIGNATURE_BYTES);
  free(text);
  return good ? OPS_OK : refuse(c, "manifest.sig", "it is no signature");
}

static int32_t check_signature(const checker *c, const char *public_key, const char *text,
                               size_t size) {
  unsigned char signature[OC_SIGNATURE_BYTES];
  oc_public_key signer, wanted;
  OPS_RETURN_IF_ERROR(read_signature(c, signature));
  if (!oc_hex_read(c->manifest.signer, signer.bytes, sizeof signer.bytes)) {
    return refuse(c, "manifest.json", "it names no key");
  }
  if (public_key) {
    OPS_RETURN_IF_ERROR(oc_key_load_public(public_key, &wanted, c->error));
    if (memcmp(wanted.bytes, signer.bytes, sizeof signer.bytes) != 0) {
      return refuse(c, "manifest.json", "another key than the one given has signed it");
    }
  }
  if (oc_signature_holds(&signer, text, size, signature)) return OPS_OK;
  return refuse(c, "manifest.sig", "the signature is not that of the manifest");
}

static int32_t check_manifest(checker *c, const char *public_key) {
  char path[PATH_MAX];
  char *text = NULL;
  size_t size = 0;
  OPS_RETURN_IF_ERROR(path_of(c, "manifest.json", path));
  OPS_RETURN_IF_ERROR(oc_file_read(path, OC_BUNDLE_MAX_MANIFEST, &text, &size, c->error));
  int32_t status = oc_manifest_parse(text, size, &c->manifest, c->error);
  if (status == OPS_OK) status = check_signature(c, public_key, text, size);
  free(text);
  return status;
}

// ---- The files ------------------------------------------------------------------------------

static bool is_seal(const char *path) {
  return strcmp(path, "manifest.json") == 0 || strcmp(path, "manifest.sig") == 0;
}

static int32_t check_file(const checker *c, const oc_bundle_file *listed) {
  oc_bundle_file found = *listed;
  OPS_RETURN_IF_ERROR(oc_tree_measure(c->root, &found, c->error));
  const bool same = found.size == listed->size && strcmp(found.sha256, listed->sha256) == 0;
  return same ? OPS_OK : refuse(c, listed->path, "it is not the file that was signed");
}

// Both lists are sorted: the first place where they differ is told.
static int32_t check_files(const checker *c) {
  oc_bundle_file *found = NULL;
  size_t count = 0, next = 0;
  OPS_RETURN_IF_ERROR(oc_tree_list(c->root, &found, &count, c->error));
  int32_t status = OPS_OK;
  for (size_t i = 0; i < count && status == OPS_OK; ++i) {
    if (is_seal(found[i].path)) continue;
    const oc_bundle_file *listed = next < c->manifest.count ? &c->manifest.files[next] : NULL;
    const int order = listed ? strcmp(listed->path, found[i].path) : 1;
    if (order < 0) status = refuse(c, listed->path, "it was signed and is missing");
    if (order > 0) status = refuse(c, found[i].path, "it was not signed");
    if (order == 0) status = check_file(c, listed);
    ++next;
  }
  free(found);
  if (status != OPS_OK || next == c->manifest.count) return status;
  return refuse(c, c->manifest.files[next].path, "it was signed and is missing");
}

// ---- The verdict ----------------------------------------------------------------------------

// The hash of a file or folder of the bundle.
static int32_t check_hash(const checker *c, const char *below, const char *wanted) {
  char path[PATH_MAX], hash[65];
  OPS_RETURN_IF_ERROR(path_of(c, below, path));
  OPS_RETURN_IF_ERROR(oc_folder_hash(path, ".yaml", hash, c->error));
  return strcmp(hash, wanted) == 0 ? OPS_OK
                                   : refuse(c, below, "it is not what the run was held to");
}

static int32_t check_header(const checker *c) {
  const oc_journal_header *header = &c->journal->header;
  const oc_manifest *manifest = &c->manifest;
  const struct {
    const char *what, *said, *found;
  } rows[] = {{"the provider", manifest->provider_hash, header->candidate_hash},
              {"the oracle", manifest->oracle_hash, header->oracle_hash},
              {"the harness", manifest->harness_hash, header->harness_hash},
              {"the contracts", manifest->contracts_hash, header->contracts_hash},
              {"the provider's name", manifest->provider, header->hello.candidate.name},
              {"the provider's version", manifest->version, header->hello.candidate.version}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    if (strcmp(rows[i].said, rows[i].found) == 0) continue;
    return refuse(c, rows[i].what, "the manifest and the journals name different ones");
  }
  OPS_RETURN_IF_ERROR(check_hash(c, manifest->contracts, header->contracts_hash));
  if (!header->require_hash[0]) return OPS_OK;
  if (!has(c, "require.txt")) return refuse(c, "require.txt", "the run had one; it is missing");
  return check_hash(c, "require.txt", header->require_hash);
}

static int32_t read_journals(checker *c) {
  char(*paths)[PATH_MAX] = calloc(MAX_JOURNALS, sizeof *paths);
  const char *list[MAX_JOURNALS];
  size_t count = 0;
  int32_t status = OPS_OK;
  if (!paths) return ops_error_set(c->error, OPS_ERROR_OUT_OF_MEMORY, "no memory for journals");
  for (size_t i = 0; i < c->manifest.count && status == OPS_OK; ++i) {
    const char *path = c->manifest.files[i].path;
    if (strncmp(path, "journals/", 9) != 0) continue;
    if (count == MAX_JOURNALS) {
      status = refuse(c, path, "there are too many journals");
    } else {
      status = path_of(c, path, paths[count]);
      list[count] = paths[count];
      ++count;
    }
  }
  if (status == OPS_OK && count == 0) status = refuse(c, "journals", "there are none");
  if (status == OPS_OK) status = oc_derive_journal(list, count, &c->journal, c->error);
  free(paths);
  return status;
}

// The report as this program derives it.
static int32_t derive_report(checker *c) {
  char path[PATH_MAX];
  OPS_RETURN_IF_ERROR(oc_journal_report(c->journal, &c->report, c->error));
  c->reported = true;
  if (!has(c, "waivers.yaml")) return OPS_OK;
  OPS_RETURN_IF_ERROR(path_of(c, "waivers.yaml", path));
  OPS_RETURN_IF_ERROR(oc_waivers_load(path, &c->waivers, c->error));
  oc_report_waive(&c->report, c->waivers);
  return OPS_OK;
}

static bool same_number(double a, double b) {
  return a == b || (isnan(a) && isnan(b));
}

static bool same_case(const oc_reading_case *said, const oc_report *report,
                      const oc_result *found) {
  return strcmp(said->id, oc_report_id(report, found)) == 0 && said->status == found->status &&
         said->measured == (found->measured != 0) && strcmp(said->check, found->check) == 0 &&
         (!said->measured ||
          (same_number(said->error, found->error) && same_number(said->limit, found->limit)));
}

typedef struct sortable {
  const oc_report *report;
  const oc_result *result;
} sortable;

static int by_id(const void *a, const void *b) {
  const sortable *left = a, *right = b;
  const int order = strcmp(oc_report_id(left->report, left->result),
                           oc_report_id(right->report, right->result));
  return order ? order : strcmp(left->result->check, right->result->check);
}

static int by_id_and_check(const void *a, const void *b) {
  const oc_reading_case *left = a, *right = b;
  const int order = strcmp(left->id, right->id);
  return order ? order : strcmp(left->check, right->check);
}

// Case by case: the report in the bundle says what was derived.
static int32_t compare_report(const checker *c, oc_reading *said) {
  const oc_report *report = &c->report;
  if (said->exit_code != report->exit_code || said->count != report->count) {
    return refuse(c, "reports/report.json", "its verdict does not follow from the journals");
  }
  sortable *found = calloc(report->count + 1, sizeof *found);
  if (!found) return ops_error_set(c->error, OPS_ERROR_OUT_OF_MEMORY, "no memory for cases");
  for (size_t i = 0; i < report->count; ++i) found[i] = (sortable){report, &report->results[i]};
  qsort(found, report->count, sizeof *found, by_id);
  qsort(said->cases, said->count, sizeof *said->cases, by_id_and_check);
  int32_t status = OPS_OK;
  for (size_t i = 0; i < report->count && status == OPS_OK; ++i) {
    if (same_case(&said->cases[i], report, found[i].result)) continue;
    status = refuse(c, said->cases[i].id, "the report says something else than the journals");
  }
  free(found);
  return status;
}

static int32_t check_report(checker *c) {
  char path[PATH_MAX];
  oc_reading *said = NULL;
  if (c->report.exit_code != c->manifest.exit_code ||
      memcmp(c->report.counts, c->manifest.counts, sizeof c->report.counts) != 0) {
    return refuse(c, "manifest.json", "its verdict does not follow from the journals");
  }
  if (!has(c, "reports/report.json")) return refuse(c, "reports/report.json", "it is missing");
  OPS_RETURN_IF_ERROR(path_of(c, "reports/report.json", path));
  OPS_RETURN_IF_ERROR(oc_reading_load(path, &said, c->error));
  const int32_t status = compare_report(c, said);
  oc_reading_destroy(said);
  return status;
}

static int32_t check_all(checker *c, const char *public_key) {
  char contracts[PATH_MAX];
  OPS_RETURN_IF_ERROR(check_manifest(c, public_key));
  c->sealed = true;
  OPS_RETURN_IF_ERROR(check_files(c));
  OPS_RETURN_IF_ERROR(read_journals(c));
  OPS_RETURN_IF_ERROR(check_header(c));
  OPS_RETURN_IF_ERROR(path_of(c, c->manifest.contracts, contracts));
  OPS_RETURN_IF_ERROR(oc_derive_check(c->journal, contracts, c->certificate, c->error));
  OPS_RETURN_IF_ERROR(derive_report(c));
  return check_report(c);
}

// Whether this very program made the journals.
static bool is_own(const checker *c) {
  oc_journal_header own;
  memset(&own, 0, sizeof own);
  oc_journal_header_init(&own, "");
  return strcmp(own.harness_hash, c->manifest.harness_hash) == 0;
}

// What is wrong inside a signed bundle, whoever found it, is why it is refused.
static int32_t refuse_for(const checker *c, int32_t status) {
  char why[OPS_ERROR_MESSAGE_MAX] = "";
  if (!c->sealed || status == OPS_OK || status == OPS_ERROR_OUT_OF_MEMORY) return status;
  if (c->error) snprintf(why, sizeof why, "%s", c->error->message);
  const bool said = strncmp(why, "refused: ", 9) == 0;
  return ops_error_set(c->error, OPS_ERROR_INVALID_MODEL, "%s%s%s",
                       said ? "" : "refused: ", why,
                       is_own(c) ? ""
                                 : "; another build of opsconform made this bundle (see run of "
                                   "manifest.json): its cases can only be derived with that");
}

int32_t oc_bundle_verify(const char *path, const char *public_key,
                         oc_certificate *out_certificate, ops_error *error) {
  checker *c = calloc(1, sizeof *c);
  if (!c) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a bundle");
  c->root = path;
  c->certificate = out_certificate;
  c->error = error;
  memset(out_certificate, 0, sizeof *out_certificate);
  const int32_t status = refuse_for(c, check_all(c, public_key));
  if (status == OPS_OK) oc_manifest_certify(&c->manifest, out_certificate);
  oc_manifest_finish(&c->manifest);
  if (c->reported) oc_report_finish(&c->report);
  oc_waivers_destroy(c->waivers);
  oc_journal_destroy(c->journal);
  free(c);
  return status;
}
