// SPDX-License-Identifier: Apache-2.0
//
// The table of formats.
#include "report/format.h"

#include <stdlib.h>

#include "ops_support/error.h"
#include "report/file.h"

typedef void (*write_fn)(FILE *stream, const oc_report *report);

static const write_fn kWriters[OC_FORMAT_COUNT] = {
    [OC_FORMAT_JSON] = oc_write_json, [OC_FORMAT_JUNIT] = oc_write_junit,
    [OC_FORMAT_CSV] = oc_write_csv,   [OC_FORMAT_MARKDOWN] = oc_write_markdown,
    [OC_FORMAT_HTML] = oc_write_html,
};

int32_t oc_format_print(oc_format format, const oc_report *report, char **out_text,
                        size_t *out_size, ops_error *error) {
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  if (stream) kWriters[format](stream, report);
  const bool whole = stream && !ferror(stream);
  if (stream && fclose(stream) == 0 && whole) {
    *out_text = text;
    *out_size = size;
    return OPS_OK;
  }
  free(text);
  return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for the report");
}

int32_t oc_format_save(oc_format format, const oc_report *report, const char *path,
                       ops_error *error) {
  char *text;
  size_t size;
  OPS_RETURN_IF_ERROR(oc_format_print(format, report, &text, &size, error));
  const int32_t status = oc_file_write(path, text, size, error);
  free(text);
  return status;
}
