// SPDX-License-Identifier: Apache-2.0
//
// Names of operators against the schemas of ONNX.
#include "cli/operators.h"

#include <opsrt/opsrt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ops_support/error.h"

// What is wrong with a name in the opsets since…until; an empty text if nothing is.
static void explain(ops_str domain, ops_str name, int64_t since, int64_t until, char *text,
                    size_t size) {
  opsrt_operator found;
  text[0] = 0;
  opsrt_operator_find(domain, name, &found);
  if (found.newest_opset == 0) return;
  if (found.since == 0 && found.near_name) {
    snprintf(text, size, "no such operator; nearest: %s (%s)", found.near_name,
             found.near_domain);
  } else if (found.since == 0) {
    snprintf(text, size, "no such operator");
  } else if (until < found.since) {
    snprintf(text, size, "stated until opset %lld, but the operator exists since opset %lld",
             (long long)until, (long long)found.since);
  } else if (since > found.newest_opset) {
    snprintf(text, size, "stated since opset %lld, but the newest opset is %lld",
             (long long)since, (long long)found.newest_opset);
  }
}

static ops_str text_of(const char *text) {
  return (ops_str){text, strlen(text)};
}

int32_t oc_operators_check_contracts(const oc_contracts *contracts, ops_error *error) {
  for (size_t i = 0; i < contracts->count; ++i) {
    const oc_contract *c = &contracts->items[i];
    char why[200];
    explain(text_of(c->domain), text_of(c->op), c->since, c->until, why, sizeof why);
    if (!why[0]) continue;
    return ops_error_set(error, OPS_ERROR_INVALID_MODEL, "%s:%u:%u: op \"%s\" (%s): %s",
                         c->op_at.file, c->op_at.line, c->op_at.column, c->op, c->domain, why);
  }
  return OPS_OK;
}

// ---- Providers ------------------------------------------------------------------------------

// A list as a sentence; what does not fit is counted.
typedef struct listing {
  char *text;
  size_t size;
  size_t used;
  size_t left_out;
} listing;

#define TAIL_SIZE 24  // of " … and N more"

static void list_item(listing *list, const char *item) {
  const char *separator = list->used ? "; " : "";
  if (list->used + strlen(separator) + strlen(item) + TAIL_SIZE >= list->size) {
    ++list->left_out;
    return;
  }
  list->used += (size_t)snprintf(list->text + list->used, list->size - list->used, "%s%s",
                                 separator, item);
}

static void end_list(listing *list) {
  if (!list->left_out) return;
  snprintf(list->text + list->used, list->size - list->used, " … and %zu more", list->left_out);
}

static bool same_text(ops_str a, ops_str b) {
  return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static bool is_new(const ops_provider *provider, uint64_t index, const ops_kernel_def *def) {
  for (uint64_t i = 0; i < index; ++i) {
    const ops_kernel_def *other =
        (const ops_kernel_def *)((const char *)provider->kernels + i * provider->kernel_stride);
    if (same_text(other->op, def->op) && same_text(other->domain, def->domain) &&
        other->since == def->since && other->until == def->until) {
      return false;
    }
  }
  return true;
}

void oc_operators_check_provider(const ops_provider *provider, char *stray, size_t stray_size,
                                 char *foreign, size_t foreign_size) {
  listing strays = {.text = stray, .size = stray_size};
  listing others = {.text = foreign, .size = foreign_size};
  stray[0] = foreign[0] = 0;
  for (uint64_t i = 0; i < provider->kernel_count; ++i) {
    const ops_kernel_def *def =
        (const ops_kernel_def *)((const char *)provider->kernels + i * provider->kernel_stride);
    const ops_str domain = def->domain.size ? def->domain : text_of("ai.onnx");
    const int64_t until = def->until ? def->until : INT32_MAX;
    char why[200], item[400];
    opsrt_operator found;
    opsrt_operator_find(domain, def->op, &found);
    explain(domain, def->op, def->since, until, why, sizeof why);
    if ((found.newest_opset && !why[0]) || !is_new(provider, i, def)) continue;
    snprintf(item, sizeof item, "kernel '%.*s' (%.*s)%s%s", OPS_STR_FMT(def->op),
             OPS_STR_FMT(domain), why[0] ? ": " : "", why);
    list_item(found.newest_opset ? &strays : &others, item);
  }
  end_list(&strays);
  end_list(&others);
}
