// SPDX-License-Identifier: Apache-2.0
//
// Findings: a text is reported once, however often its fault is repeated.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "validation/layer.h"

// FNV-1a; see http://www.isthe.com/chongo/tech/comp/fnv/.
static uint64_t hash_text(const char *text) {
  uint64_t hash = UINT64_C(14695981039346656037);
  for (; *text; ++text) hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
  return hash ? hash : 1;
}

// 1 if the text is new. A layer whose memory of texts is full reports all.
static int remember(val_layer *layer, uint64_t hash) {
  int is_new = 1;
  pthread_mutex_lock(&layer->lock);
  for (uint32_t i = 0; is_new && i < layer->text_count; ++i) is_new = layer->texts[i] != hash;
  if (is_new && layer->text_count < VAL_TEXTS) layer->texts[layer->text_count++] = hash;
  pthread_mutex_unlock(&layer->lock);
  return is_new;
}

void val_find(val_layer *layer, const char *clause, const char *format, ...) {
  char text[1024];
  const int head =
      snprintf(text, sizeof text, "provider '%.*s': ", OPS_STR_FMT(layer->inner->name));
  va_list args;
  va_start(args, format);
  vsnprintf(text + head, sizeof text - (size_t)head, format, args);
  va_end(args);
  if (!remember(layer, hash_text(text))) return;
  const int32_t side = !*clause                          ? OPS_VALIDATION_NOTE
                       : strncmp(clause, "HOST", 4) == 0 ? OPS_VALIDATION_HOST
                                                         : OPS_VALIDATION_PROVIDER;
  if (side != OPS_VALIDATION_NOTE) atomic_fetch_add(&layer->findings, 1);
  if (layer->sink.report) layer->sink.report(layer->sink.context, side, clause, text);
}

uint64_t ops_validation_count(const ops_validation *layer) {
  return atomic_load(&layer->findings);
}
