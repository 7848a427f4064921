// SPDX-License-Identifier: Apache-2.0
//
// A scan that counts values and depth comes before the parser: a document of a few bytes per
// value would else become many times its size.
#include "report/json_in.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ops_support/error.h"

typedef struct json_scan {
  size_t values;
  int depth, deepest;
} json_scan;

// Behind the string whose first quote is at `at`.
static size_t skip_string(const char *text, size_t size, size_t at) {
  for (++at; at < size && text[at] != '"'; ++at) at += text[at] == '\\';
  return at;
}

// Every value but the first stands behind a comma or a bracket. Brackets that do not match are
// the parser's business.
static json_scan scan(const char *text, size_t size) {
  json_scan found = {.values = 1};
  for (size_t i = 0; i < size; ++i) {
    const char byte = text[i];
    if (byte == '"') i = skip_string(text, size, i);
    if (byte == '[' || byte == '{') {
      ++found.values;
      if (++found.depth > found.deepest) found.deepest = found.depth;
    }
    if (byte == ']' || byte == '}') --found.depth;
    if (byte == ',') ++found.values;
  }
  return found;
}

static size_t line_of(const char *text, const char *at) {
  size_t line = 1;
  for (; text < at; ++text) line += *text == '\n';
  return line;
}

int32_t oc_json_in_parse(const char *name, const char *text, size_t size,
                         const oc_json_limits *limits, cJSON **out_root, ops_error *error) {
  const json_scan found = scan(text, size);
  if (size > limits->bytes || found.values > limits->values || found.deepest > limits->depth) {
    return ops_error_set(
        error, OPS_ERROR_INVALID_MODEL,
        "%s: %zu bytes, about %zu values, nested %d deep; at most %zu, %zu and "
        "%d are read",
        name, size, found.values, found.deepest, limits->bytes, limits->values, limits->depth);
  }
  const char *end = text;
  cJSON *root = cJSON_ParseWithLengthOpts(text, size, &end, false);
  const char *last = text + size;
  while (root && end < last && strchr(" \t\r\n", *end) && *end) ++end;
  if (root && end == last) {
    *out_root = root;
    return OPS_OK;
  }
  cJSON_Delete(root);
  return ops_error_set(error, OPS_ERROR_INVALID_MODEL, "%s:%zu: this is not JSON", name,
                       line_of(text, end < last ? end : last));
}

static int32_t read_fully(int fd, const char *path, char *text, size_t size, ops_error *error) {
  for (size_t at = 0; at < size;) {
    const ssize_t got = read(fd, text + at, size - at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      return ops_error_set(error, OPS_ERROR_IO, "'%s' cannot be read to its end", path);
    }
    at += (size_t)got;
  }
  text[size] = 0;
  return OPS_OK;
}

int32_t oc_file_read(const char *path, size_t most, char **out_text, size_t *out_size,
                     ops_error *error) {
  struct stat about;
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 || fstat(fd, &about) != 0) {
    const int reason = errno;
    if (fd >= 0) close(fd);
    return ops_error_set(error, OPS_ERROR_IO, "'%s' cannot be read: %s", path,
                         strerror(reason));
  }
  int32_t status = OPS_OK;
  char *text = NULL;
  if (!S_ISREG(about.st_mode)) {
    status = ops_error_set(error, OPS_ERROR_IO, "'%s' is not a file", path);
  } else if ((size_t)about.st_size > most) {
    status = ops_error_set(error, OPS_ERROR_INVALID_MODEL,
                           "'%s' has %lld bytes; at most %zu are read", path,
                           (long long)about.st_size, most);
  } else if (!(text = malloc((size_t)about.st_size + 1))) {
    status = ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for '%s'", path);
  } else {
    status = read_fully(fd, path, text, (size_t)about.st_size, error);
  }
  close(fd);
  if (status != OPS_OK) {
    free(text);
    return status;
  }
  *out_text = text;
  *out_size = (size_t)about.st_size;
  return OPS_OK;
}

const char *oc_json_in_text(const cJSON *object, const char *name) {
  return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

bool oc_json_in_number(const cJSON *object, const char *name, double *out_value) {
  static const struct {
    const char *text;
    double value;
  } words[] = {{"inf", INFINITY}, {"-inf", -INFINITY}, {"nan", NAN}};
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
  if (cJSON_IsNumber(item)) {
    *out_value = item->valuedouble;
    return true;
  }
  for (size_t i = 0; cJSON_IsString(item) && i < sizeof words / sizeof *words; ++i) {
    if (strcmp(item->valuestring, words[i].text) != 0) continue;
    *out_value = words[i].value;
    return true;
  }
  return false;
}
