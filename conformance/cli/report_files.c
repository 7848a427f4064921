// SPDX-License-Identifier: Apache-2.0
//
// Names of formats are those of report/format.h.
#include "cli/report_files.h"

#include <string.h>

#include "cli/option_table.h"
#include "ops_support/error.h"
#include "report/file.h"

#define NAME(constant, name) name,
static const char *const kFormats[] = {OC_FORMAT_LIST(NAME)};
#undef NAME

// The format that `text` begins with; *out_path is what follows its colon.
static size_t find_format(const char *text, const char **out_path) {
  for (size_t i = 0; i < OC_FORMAT_COUNT; ++i) {
    const size_t length = strlen(kFormats[i]);
    if (strncmp(text, kFormats[i], length) != 0 || text[length] != ':') continue;
    *out_path = text + length + 1;
    return i;
  }
  return OC_FORMAT_COUNT;
}

int32_t oc_report_files_read(oc_report_files *files, const char *name, const char *text,
                             ops_error *error) {
  const char *path = "";
  const size_t format = find_format(text, &path);
  if (!path[0] || files->count == OC_REPORT_FILES_MAX) {
    return oc_option_bad(name, text, "json:FILE, junit:FILE, csv:FILE, md:FILE or html:FILE",
                         error);
  }
  for (size_t i = 0; i < files->count; ++i) {
    if (strcmp(files->items[i].path, path) != 0) continue;
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "--%s %s: another report goes to this file; give each its own", name,
                         text);
  }
  files->items[files->count].format = (oc_format)format;
  files->items[files->count++].path = path;
  return OPS_OK;
}

int32_t oc_report_files_probe(const oc_report_files *files, ops_error *error) {
  for (size_t i = 0; i < files->count; ++i) {
    OPS_RETURN_IF_ERROR(oc_file_probe(files->items[i].path, error));
  }
  return OPS_OK;
}

int32_t oc_report_files_write(const oc_report_files *files, const oc_report *report,
                              ops_error *error) {
  for (size_t i = 0; i < files->count; ++i) {
    OPS_RETURN_IF_ERROR(
        oc_format_save(files->items[i].format, report, files->items[i].path, error));
  }
  return OPS_OK;
}
