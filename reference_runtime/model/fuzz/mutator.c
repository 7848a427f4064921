// SPDX-License-Identifier: Apache-2.0
//
// Works on the messages of protobuf-c through their descriptors, so that it knows no message by
// name: unpack, change some fields of some messages, pack. What a field gets comes from
// anywhere else in the tree, which is how names keep leading somewhere, or from
// mutator_value.c. All memory is an arena's and goes at the end.
#include "model/fuzz/mutator.h"

#include <string.h>

#include "model/fuzz/mutator_value.h"
#include "model/wire.h"
#include "onnx-ml.pb-c.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);  // of libFuzzer

#define MAX_MEMORY ((uint64_t)64 << 20)
#define MAX_LIST 4096u      // elements that a list may grow to
#define MAX_MESSAGES 8192u  // of a tree that are looked at
#define MAX_CHANGES 4u

typedef struct mutator {
  rt_model_arena arena;
  rt_fuzz_random random;
  ProtobufCMessage *root;
  ProtobufCMessage *messages[MAX_MESSAGES];
  size_t count;
} mutator;

// --- Fields through their descriptors --------------------------------------------------------

static void *member(const ProtobufCMessage *message, unsigned offset) {
  return (char *)message + offset;
}

static int is_list(const ProtobufCFieldDescriptor *field) {
  return field->label == PROTOBUF_C_LABEL_REPEATED;
}

static int is_pointer(const ProtobufCFieldDescriptor *field) {
  return field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_MESSAGE;
}

static int is_one_of(const ProtobufCFieldDescriptor *field) {
  return (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0;
}

// The number of values that a field holds.
static size_t count_values(const ProtobufCMessage *message,
                           const ProtobufCFieldDescriptor *field) {
  const void *quantifier = member(message, field->quantifier_offset);
  if (is_list(field)) return *(const size_t *)quantifier;
  if (is_one_of(field) && *(const uint32_t *)quantifier != field->id) return 0;
  if (is_pointer(field)) {
    const void *pointer = *(void **)member(message, field->offset);
    return pointer && pointer != field->default_value;
  }
  return is_one_of(field) || *(const protobuf_c_boolean *)quantifier != 0;
}

// Where value `i` of a field lies.
static void *value_at(const ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                      size_t i) {
  void *value = member(message, field->offset);
  return is_list(field) ? *(char **)value + i * rt_fuzz_value_size(field->type) : value;
}

static void set_presence(ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                         int present) {
  void *quantifier = member(message, field->quantifier_offset);
  if (is_one_of(field))
    *(uint32_t *)quantifier = present ? field->id : 0;
  else if (!is_pointer(field))
    *(protobuf_c_boolean *)quantifier = present;
  if (!present) memset(member(message, field->offset), 0, rt_fuzz_value_size(field->type));
}

// --- Trees -----------------------------------------------------------------------------------

static void *arena_alloc(void *arena, size_t size) {
  return rt_model_arena_alloc(arena, size);
}

static void arena_free(void *arena, void *pointer) {
  rt_model_arena_free(arena, pointer);
}

static ProtobufCMessage *unpack(mutator *m, const ProtobufCMessageDescriptor *type,
                                const uint8_t *data, size_t size) {
  ProtobufCAllocator allocator = {arena_alloc, arena_free, &m->arena};
  if (rt_model_wire_check(type, data, size, NULL) != OPS_OK) return NULL;
  return protobuf_c_message_unpack(type, &allocator, size, data);
}

static ProtobufCMessage *copy_message(mutator *m, const ProtobufCMessage *message) {
  const size_t size = protobuf_c_message_get_packed_size(message);
  uint8_t *bytes = rt_model_arena_alloc(&m->arena, size + 1);
  if (!bytes) return NULL;
  protobuf_c_message_pack(message, bytes);
  return unpack(m, message->descriptor, bytes, size);
}

static void collect(mutator *m, ProtobufCMessage *message) {
  if (m->count == MAX_MESSAGES) return;
  m->messages[m->count++] = message;
  const ProtobufCMessageDescriptor *type = message->descriptor;
  for (unsigned f = 0; f < type->n_fields; ++f) {
    const ProtobufCFieldDescriptor *field = &type->fields[f];
    if (field->type != PROTOBUF_C_TYPE_MESSAGE) continue;
    for (size_t i = 0; i < count_values(message, field); ++i)
      collect(m, *(ProtobufCMessage **)value_at(message, field, i));
  }
}

static const ProtobufCFieldDescriptor *pick_field(mutator *m,
                                                  const ProtobufCMessageDescriptor *type) {
  return &type->fields[rt_fuzz_below(&m->random, type->n_fields)];
}

static ProtobufCMessage *pick_message(mutator *m) {
  return m->messages[rt_fuzz_below(&m->random, m->count)];
}

// --- Changes ---------------------------------------------------------------------------------

// Takes over a value of the same type from anywhere in the tree. Returns 0 if none was met.
static int take_over(mutator *m, const ProtobufCFieldDescriptor *field, void *slot) {
  for (int attempt = 0; attempt < 24; ++attempt) {
    const ProtobufCMessage *message = pick_message(m);
    if (message->descriptor->n_fields == 0) continue;
    const ProtobufCFieldDescriptor *other = pick_field(m, message->descriptor);
    if (other->type != field->type || other->descriptor != field->descriptor) continue;
    const size_t count = count_values(message, other);
    if (count == 0) continue;
    const void *value = value_at(message, other, rt_fuzz_below(&m->random, count));
    if (field->type != PROTOBUF_C_TYPE_MESSAGE) {
      memcpy(slot, value, rt_fuzz_value_size(field->type));
      return 1;
    }
    ProtobufCMessage *copy = copy_message(m, *(ProtobufCMessage *const *)value);
    if (copy) *(ProtobufCMessage **)slot = copy;
    return copy != NULL;
  }
  return 0;
}

static int make_message(mutator *m, const ProtobufCFieldDescriptor *field, void *slot) {
  const ProtobufCMessageDescriptor *type = field->descriptor;
  ProtobufCMessage *message = rt_model_arena_alloc(&m->arena, type->sizeof_message);
  if (!message) return 0;
  type->message_init(message);
  *(ProtobufCMessage **)slot = message;
  return 1;
}

// Another value at `slot`, which holds a valid one or zeros.
static int change(mutator *m, const ProtobufCFieldDescriptor *field, void *slot) {
  const int message = field->type == PROTOBUF_C_TYPE_MESSAGE;
  if ((message || rt_fuzz_below(&m->random, 2)) && take_over(m, field, slot)) return 1;
  return message ? make_message(m, field, slot)
                 : rt_fuzz_change_value(&m->random, &m->arena, field, slot);
}

// Room for `more` elements behind `at`, zeroed. Returns 0 if there is none.
static int widen(mutator *m, ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                 size_t at, size_t more) {
  size_t *count = member(message, field->quantifier_offset);
  char **list = member(message, field->offset);
  const size_t size = rt_fuzz_value_size(field->type);
  if (*count + more > MAX_LIST) return 0;
  char *wider = rt_model_arena_calloc(&m->arena, *count + more, size);
  if (!wider) return 0;
  if (*count) {
    memcpy(wider, *list, at * size);
    memcpy(wider + (at + more) * size, *list + at * size, (*count - at) * size);
  }
  *list = wider;
  *count += more;
  return 1;
}

static void insert(mutator *m, ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                   size_t count) {
  char value[sizeof(ProtobufCBinaryData)] = {0};
  const size_t at = rt_fuzz_below(&m->random, count + 1);
  if (!change(m, field, value) || !widen(m, message, field, at, 1)) return;
  memcpy(value_at(message, field, at), value, rt_fuzz_value_size(field->type));
}

// Repeats an element; messages are shared, not copied, which packing does not mind.
static void repeat(mutator *m, ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                   size_t count) {
  const size_t at = rt_fuzz_below(&m->random, count), size = rt_fuzz_value_size(field->type);
  const size_t times = rt_fuzz_below(&m->random, 8) ? 1 : rt_fuzz_below(&m->random, 200) + 1;
  if (!widen(m, message, field, at, times)) return;
  const char *source = value_at(message, field, at + times);
  for (size_t i = 0; i < times; ++i) memcpy(value_at(message, field, at + i), source, size);
}

static void swap(mutator *m, ProtobufCMessage *message, const ProtobufCFieldDescriptor *field,
                 size_t count) {
  char kept[sizeof(ProtobufCBinaryData)];
  const size_t size = rt_fuzz_value_size(field->type);
  void *a = value_at(message, field, rt_fuzz_below(&m->random, count));
  void *b = value_at(message, field, rt_fuzz_below(&m->random, count));
  memcpy(kept, a, size);
  memmove(a, b, size);
  memcpy(b, kept, size);
}

static void remove_some(mutator *m, ProtobufCMessage *message,
                        const ProtobufCFieldDescriptor *field, size_t count) {
  const size_t at = rt_fuzz_below(&m->random, count), size = rt_fuzz_value_size(field->type);
  const size_t less = rt_fuzz_below(&m->random, 8) ? 1 : count - at;
  char *from = value_at(message, field, at);
  memmove(from, from + less * size, (count - at - less) * size);
  *(size_t *)member(message, field->quantifier_offset) = count - less;
}

static void change_list(mutator *m, ProtobufCMessage *message,
                        const ProtobufCFieldDescriptor *field, size_t count) {
  const uint64_t choice = count ? rt_fuzz_below(&m->random, 8) : 0;
  if (choice <= 1)
    insert(m, message, field, count);
  else if (choice == 2)
    repeat(m, message, field, count);
  else if (choice == 3)
    swap(m, message, field, count);
  else if (choice == 4)
    remove_some(m, message, field, count);
  else
    change(m, field, value_at(message, field, rt_fuzz_below(&m->random, count)));
}

static void change_single(mutator *m, ProtobufCMessage *message,
                          const ProtobufCFieldDescriptor *field, size_t count) {
  if (count && rt_fuzz_below(&m->random, 4) == 0) {
    set_presence(message, field, 0);
    return;
  }
  char value[sizeof(ProtobufCBinaryData)] = {0};
  const size_t size = rt_fuzz_value_size(field->type);
  if (count) memcpy(value, value_at(message, field, 0), size);
  if (!change(m, field, value)) return;
  set_presence(message, field, 1);
  memcpy(value_at(message, field, 0), value, size);
}

static void change_something(mutator *m) {
  ProtobufCMessage *message = pick_message(m);
  const ProtobufCMessageDescriptor *type = message->descriptor;
  if (type->n_fields == 0) return;
  const ProtobufCFieldDescriptor *field = pick_field(m, type);
  for (int attempt = 0; attempt < 3 && count_values(message, field) == 0; ++attempt)
    field = pick_field(m, type);  // what is there is worth more than what is not
  const size_t count = count_values(message, field);
  if (is_list(field))
    change_list(m, message, field, count);
  else
    change_single(m, message, field, count);
}

// --- What libFuzzer calls --------------------------------------------------------------------

static const ProtobufCMessageDescriptor *descriptor(rt_fuzz_message kind) {
  return kind == RT_FUZZ_MODEL ? &onnx__model_proto__descriptor
                               : &onnx__tensor_proto__descriptor;
}

static mutator *start(rt_fuzz_message kind, const uint8_t *data, size_t size, unsigned seed) {
  static mutator state;  // libFuzzer mutates in one thread; too large for its stack
  mutator *m = &state;
  m->count = 0;
  m->random.state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
  rt_model_arena_init(&m->arena, MAX_MEMORY);
  m->root = unpack(m, descriptor(kind), data, size);
  if (m->root) collect(m, m->root);
  return m;
}

// Packs the tree if it fits; returns 0 otherwise.
static size_t finish(mutator *m, uint8_t *out, size_t max_size) {
  size_t size = m->root ? protobuf_c_message_get_packed_size(m->root) : 0;
  if (size > max_size) size = 0;
  if (size) protobuf_c_message_pack(m->root, out);
  rt_model_arena_finish(&m->arena);
  return size;
}

size_t rt_fuzz_mutate(rt_fuzz_message kind, uint8_t *data, size_t size, size_t max_size,
                      unsigned seed) {
  if (seed % 32 == 0) return LLVMFuzzerMutate(data, size, max_size);
  mutator *m = start(kind, data, size, seed);
  const uint64_t changes = 1 + rt_fuzz_below(&m->random, MAX_CHANGES);
  for (uint64_t i = 0; i < changes && m->root; ++i) change_something(m);
  const size_t changed = finish(m, data, max_size);
  return changed ? changed : LLVMFuzzerMutate(data, size, max_size);
}

// A message of `b` takes the place of one of its kind in `a`.
size_t rt_fuzz_cross_over(rt_fuzz_message kind, const uint8_t *a, size_t a_size,
                          const uint8_t *b, size_t b_size, uint8_t *out, size_t max_size,
                          unsigned seed) {
  mutator *m = start(kind, a, a_size, seed);
  const size_t own = m->count;
  ProtobufCMessage *other = m->root ? unpack(m, descriptor(kind), b, b_size) : NULL;
  if (other) collect(m, other);
  for (int attempt = 0; attempt < 64 && m->count > own; ++attempt) {
    ProtobufCMessage *target = m->messages[rt_fuzz_below(&m->random, own)];
    const ProtobufCMessage *source =
        m->messages[own + rt_fuzz_below(&m->random, m->count - own)];
    if (target->descriptor != source->descriptor || target == m->root) continue;
    memcpy(target, source, target->descriptor->sizeof_message);
    break;
  }
  return finish(m, out, max_size);
}
