// SPDX-License-Identifier: Apache-2.0
//
// Builds the tree from libyaml's events with an explicit stack of open collections, so that
// depth and size are bounded here and not by the library.
#include "contract/yaml_tree.h"

#include <ops_support/error.h>
#include <string.h>
#include <yaml.h>

#include "contract/contract.h"

typedef struct open_node {
  oc_yaml_node *node;
  oc_yaml_node *last;  // its newest child
} open_node;

typedef struct builder {
  oc_arena *arena;
  const char *name;
  ops_error *error;
  open_node stack[OC_CONTRACT_MAX_DEPTH];
  size_t depth;
  const char *key;  // in a map: the key read, waiting for its value
  uint32_t key_line;
  uint32_t key_column;
  size_t nodes;
  oc_yaml_node *documents;
  oc_yaml_node *last_document;
  size_t document_count;
} builder;

static int32_t fail_at(const builder *b, const yaml_mark_t *mark, const char *what,
                       const char *detail) {
  return ops_error_set(b->error, OPS_ERROR_INVALID_MODEL, "%s:%zu:%zu: %s%s", b->name,
                       mark->line + 1, mark->column + 1, what, detail);
}

static oc_yaml_node *new_node(builder *b, oc_yaml_kind kind, const yaml_mark_t *mark) {
  oc_yaml_node *node = oc_arena_alloc(b->arena, 1, sizeof(*node));
  if (!node) return NULL;
  node->kind = kind;
  node->line = (uint32_t)mark->line + 1;
  node->column = (uint32_t)mark->column + 1;
  return node;
}

static int32_t check_unique(const builder *b, const oc_yaml_node *map, const char *key,
                            const yaml_mark_t *mark) {
  const oc_yaml_node *earlier = oc_yaml_get(map, key);
  if (!earlier) return OPS_OK;
  return ops_error_set(b->error, OPS_ERROR_INVALID_MODEL,
                       "%s:%zu:%zu: the key \"%s\" stands here a second time; the first is in "
                       "line %u",
                       b->name, mark->line + 1, mark->column + 1, key, earlier->key_line);
}

// Hangs a node under the innermost open collection, or makes it a document.
static int32_t attach(builder *b, oc_yaml_node *node, const yaml_mark_t *mark) {
  if (++b->nodes > OC_CONTRACT_MAX_NODES) {
    return fail_at(b, mark, "the file has too many values; the limit is 100000", "");
  }
  if (b->depth == 0) {
    if (++b->document_count > OC_CONTRACT_MAX_DOCUMENTS) {
      return fail_at(b, mark, "the file has too many documents; the limit is 32", "");
    }
    if (b->last_document) b->last_document->next = node;
    if (!b->documents) b->documents = node;
    b->last_document = node;
    return OPS_OK;
  }
  open_node *parent = &b->stack[b->depth - 1];
  node->key = b->key;
  node->key_line = b->key_line;
  node->key_column = b->key_column;
  b->key = NULL;
  if (parent->last) {
    parent->last->next = node;
  } else {
    parent->node->first = node;
  }
  parent->last = node;
  ++parent->node->count;
  // Looking for duplicates is quadratic in the number of keys.
  if (parent->node->kind == OC_YAML_MAP && parent->node->count > OC_CONTRACT_MAX_KEYS) {
    return fail_at(b, mark, "the mapping has too many keys; the limit is 256", "");
  }
  return OPS_OK;
}

static bool expects_key(const builder *b) {
  return b->depth > 0 && b->stack[b->depth - 1].node->kind == OC_YAML_MAP && !b->key;
}

static int32_t on_scalar(builder *b, const yaml_event_t *event) {
  const char *raw = (const char *)event->data.scalar.value;
  const size_t size = event->data.scalar.length;
  if (memchr(raw, 0, size)) return fail_at(b, &event->start_mark, "text with a zero byte", "");
  const char *text = oc_arena_copy_string(b->arena, raw, size);
  if (!text) return OPS_ERROR_OUT_OF_MEMORY;
  if (expects_key(b)) {
    OPS_RETURN_IF_ERROR(check_unique(b, b->stack[b->depth - 1].node, text, &event->start_mark));
    b->key = text;
    b->key_line = (uint32_t)event->start_mark.line + 1;
    b->key_column = (uint32_t)event->start_mark.column + 1;
    return OPS_OK;
  }
  oc_yaml_node *node = new_node(b, OC_YAML_SCALAR, &event->start_mark);
  if (!node) return OPS_ERROR_OUT_OF_MEMORY;
  node->text = text;
  node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
  return attach(b, node, &event->start_mark);
}

static int32_t on_open(builder *b, const yaml_event_t *event, oc_yaml_kind kind) {
  if (expects_key(b)) return fail_at(b, &event->start_mark, "a key must be plain text", "");
  if (b->depth == OC_CONTRACT_MAX_DEPTH) {
    return fail_at(b, &event->start_mark, "nested too deeply; the limit is 16 levels", "");
  }
  oc_yaml_node *node = new_node(b, kind, &event->start_mark);
  if (!node) return OPS_ERROR_OUT_OF_MEMORY;
  OPS_RETURN_IF_ERROR(attach(b, node, &event->start_mark));
  b->stack[b->depth++] = (open_node){node, NULL};
  return OPS_OK;
}

static int32_t check_plain(const builder *b, const yaml_event_t *event,
                           const yaml_char_t *anchor, const yaml_char_t *tag) {
  if (anchor)
    return fail_at(b, &event->start_mark, "anchors are not allowed: write it out", "");
  if (tag) return fail_at(b, &event->start_mark, "tags are not allowed: ", (const char *)tag);
  return OPS_OK;
}

static int32_t on_event(builder *b, const yaml_event_t *event) {
  switch (event->type) {
    case YAML_ALIAS_EVENT:
      return fail_at(b, &event->start_mark, "aliases are not allowed: write it out", "");
    case YAML_SCALAR_EVENT:
      OPS_RETURN_IF_ERROR(
          check_plain(b, event, event->data.scalar.anchor, event->data.scalar.tag));
      return on_scalar(b, event);
    case YAML_SEQUENCE_START_EVENT:
      OPS_RETURN_IF_ERROR(check_plain(b, event, event->data.sequence_start.anchor,
                                      event->data.sequence_start.tag));
      return on_open(b, event, OC_YAML_LIST);
    case YAML_MAPPING_START_EVENT:
      OPS_RETURN_IF_ERROR(check_plain(b, event, event->data.mapping_start.anchor,
                                      event->data.mapping_start.tag));
      return on_open(b, event, OC_YAML_MAP);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
      --b->depth;
      return OPS_OK;
    default:
      return OPS_OK;
  }
}

static int32_t read_events(builder *b, yaml_parser_t *parser) {
  for (bool done = false; !done;) {
    yaml_event_t event;
    if (!yaml_parser_parse(parser, &event)) {
      if (parser->error == YAML_MEMORY_ERROR) return OPS_ERROR_OUT_OF_MEMORY;
      return fail_at(b, &parser->problem_mark,
                     "not YAML: ", parser->problem ? parser->problem : "unknown problem");
    }
    const int32_t status = on_event(b, &event);
    done = event.type == YAML_STREAM_END_EVENT;
    yaml_event_delete(&event);
    if (status != OPS_OK) return status;
  }
  return OPS_OK;
}

int32_t oc_yaml_parse(oc_arena *arena, const char *name, const char *text, size_t size,
                      oc_yaml_node **out_documents, ops_error *error) {
  yaml_parser_t parser;
  builder b = {.arena = arena, .name = name, .error = error};
  if (!yaml_parser_initialize(&parser)) {
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "%s: no memory for the parser", name);
  }
  yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&parser, (const unsigned char *)text, size);
  const int32_t status = read_events(&b, &parser);
  yaml_parser_delete(&parser);
  if (status == OPS_ERROR_OUT_OF_MEMORY) {
    return ops_error_set(error, status, "%s: too large for the memory limit", name);
  }
  if (status != OPS_OK) return status;
  if (!b.documents) {
    return ops_error_set(error, OPS_ERROR_INVALID_MODEL, "%s:1:1: the file is empty", name);
  }
  *out_documents = b.documents;
  return OPS_OK;
}

const oc_yaml_node *oc_yaml_get(const oc_yaml_node *map, const char *key) {
  for (const oc_yaml_node *child = map->first; child; child = child->next) {
    if (child->key && strcmp(child->key, key) == 0) return child;
  }
  return NULL;
}
