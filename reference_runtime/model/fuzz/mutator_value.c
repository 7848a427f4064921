// SPDX-License-Identifier: Apache-2.0
//
// Values that break things: the ends of ranges, sizes that overflow when multiplied, names of
// operators and attributes from the schemas, and small changes of what is there.
#include "model/fuzz/mutator_value.h"

#include <math.h>
#include <string.h>

#include "schema/schema.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);  // of libFuzzer

// xorshift64*: S. Vigna, "An experimental exploration of Marsaglia's xorshift generators,
// scrambled", 2016.
uint64_t rt_fuzz_below(rt_fuzz_random *random, uint64_t bound) {
  random->state ^= random->state >> 12;
  random->state ^= random->state << 25;
  random->state ^= random->state >> 27;
  return random->state * UINT64_C(0x2545f4914f6cdd1d) % bound;
}

// --- Numbers -------------------------------------------------------------------------------

static int64_t change_integer(rt_fuzz_random *random, int64_t value) {
  static const int64_t kValues[] = {0,
                                    1,
                                    -1,
                                    2,
                                    -2,
                                    3,
                                    4,
                                    7,
                                    8,
                                    16,
                                    31,
                                    32,
                                    33,
                                    63,
                                    64,
                                    65,
                                    127,
                                    128,
                                    255,
                                    256,
                                    1000,
                                    65535,
                                    65536,
                                    1 << 20,
                                    -64,
                                    512,
                                    4097,
                                    9999,
                                    -128,
                                    1 << 24,
                                    INT32_MAX,
                                    INT32_MIN,
                                    UINT32_MAX,
                                    INT64_MAX,
                                    INT64_MIN,
                                    (int64_t)1 << 31,
                                    (int64_t)1 << 32,
                                    (int64_t)1 << 33,
                                    (int64_t)1 << 40,
                                    (int64_t)1 << 61,
                                    (int64_t)1 << 62,
                                    INT64_MAX - 1,
                                    INT64_MIN + 1,
                                    -((int64_t)1 << 32)};
  enum { kCount = sizeof kValues / sizeof kValues[0] };
  switch (rt_fuzz_below(random, 6)) {
    case 0:
      return kValues[rt_fuzz_below(random, kCount)];
    case 1:
      return (int64_t)((uint64_t)value + rt_fuzz_below(random, 9) - 4);
    case 2:
      return (int64_t)((uint64_t)value ^ (uint64_t)1 << rt_fuzz_below(random, 64));
    case 3:
      return (int64_t)(0 - (uint64_t)value);
    case 4:
      return (int64_t)((uint64_t)value * 2);
    default:
      return (int64_t)rt_fuzz_below(random, 40);
  }
}

static double change_float(rt_fuzz_random *random, double value) {
  static const double kValues[] = {0.0,  -0.0, 1.0,   -1.0,  0.5,   2.0,      1e-45,     1e-30,
                                   1e30, 1e38, -1e38, 1e300, 65504, INFINITY, -INFINITY, NAN};
  enum { kCount = sizeof kValues / sizeof kValues[0] };
  if (rt_fuzz_below(random, 2)) return kValues[rt_fuzz_below(random, kCount)];
  return value * ((double)rt_fuzz_below(random, 9) - 4) + (double)rt_fuzz_below(random, 3);
}

// --- Strings and bytes ---------------------------------------------------------------------

static char *copy_text(rt_model_arena *arena, const char *text, size_t size) {
  char *copy = rt_model_arena_alloc(arena, size + 1);
  if (!copy) return NULL;
  memcpy(copy, text, size);
  copy[size] = '\0';
  return copy;
}

// A name that the field can hold with sense; NULL if there is no list of such.
static const char *known_name(rt_fuzz_random *random, const char *field) {
  static const char *const kKeys[] = {"location", "offset", "length", "checksum", "basepath"};
  const rt_schema *schema = rt_schema_at((size_t)rt_fuzz_below(random, rt_schema_count()));
  if (strcmp(field, "op_type") == 0) return schema->name;
  if (strcmp(field, "domain") == 0) return schema->domain;
  if (strcmp(field, "key") == 0) return kKeys[rt_fuzz_below(random, 5)];
  if (strcmp(field, "name") == 0 && schema->attribute_count > 0)
    return schema->attributes[rt_fuzz_below(random, (uint64_t)schema->attribute_count)].name;
  return NULL;
}

static char *change_text(rt_fuzz_random *random, rt_model_arena *arena, const char *field,
                         const char *text) {
  enum { kRoom = 64 };
  static const char *const kTexts[] = {"",     "N", "-1", "18446744073709551615",
                                       "../x", "/", "N*2"};
  const char *known = known_name(random, field);
  if (known && rt_fuzz_below(random, 2)) return copy_text(arena, known, strlen(known));
  if (rt_fuzz_below(random, 3) == 0) {
    const char *chosen = kTexts[rt_fuzz_below(random, sizeof kTexts / sizeof kTexts[0])];
    return copy_text(arena, chosen, strlen(chosen));
  }
  uint8_t bytes[kRoom];
  size_t size = strlen(text);
  if (size > kRoom) size = kRoom;
  memcpy(bytes, text, size);
  size = LLVMFuzzerMutate(bytes, size, kRoom);
  for (size_t i = 0; i < size; ++i) {  // stays text
    bytes[i] &= 0x7f;
    if (bytes[i] == 0) bytes[i] = 'a';
  }
  return copy_text(arena, (const char *)bytes, size);
}

static int change_bytes(rt_fuzz_random *random, rt_model_arena *arena,
                        ProtobufCBinaryData *bytes) {
  const size_t room = bytes->len + 16;
  uint8_t *copy = rt_model_arena_alloc(arena, room);
  if (!copy) return 0;
  if (bytes->len) memcpy(copy, bytes->data, bytes->len);
  size_t size = bytes->len;
  if (rt_fuzz_below(random, 4) == 0)
    size = (size_t)rt_fuzz_below(random, room);
  else
    size = LLVMFuzzerMutate(copy, size, room);
  if (size > bytes->len && rt_fuzz_below(random, 4) == 0)
    memset(copy + bytes->len, 0, size - bytes->len);
  *bytes = (ProtobufCBinaryData){size < room ? size : room, copy};
  return 1;
}

// --- All of them ---------------------------------------------------------------------------

size_t rt_fuzz_value_size(ProtobufCType type) {
  switch (type) {
    case PROTOBUF_C_TYPE_INT64:
    case PROTOBUF_C_TYPE_SINT64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_UINT64:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_DOUBLE:
      return 8;
    case PROTOBUF_C_TYPE_BOOL:
      return sizeof(protobuf_c_boolean);
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_MESSAGE:
      return sizeof(void *);
    case PROTOBUF_C_TYPE_BYTES:
      return sizeof(ProtobufCBinaryData);
    default:
      return 4;
  }
}

int rt_fuzz_change_value(rt_fuzz_random *random, rt_model_arena *arena,
                         const ProtobufCFieldDescriptor *field, void *slot) {
  switch (field->type) {
    case PROTOBUF_C_TYPE_FLOAT:
      *(float *)slot = (float)change_float(random, *(float *)slot);
      return 1;
    case PROTOBUF_C_TYPE_DOUBLE:
      *(double *)slot = change_float(random, *(double *)slot);
      return 1;
    case PROTOBUF_C_TYPE_STRING: {
      const char *text = *(char **)slot;
      char *changed = change_text(random, arena, field->name, text ? text : "");
      if (changed) *(char **)slot = changed;
      return changed != NULL;
    }
    case PROTOBUF_C_TYPE_BYTES:
      return change_bytes(random, arena, slot);
    case PROTOBUF_C_TYPE_MESSAGE:
      return 0;
    case PROTOBUF_C_TYPE_BOOL:
      *(protobuf_c_boolean *)slot = !*(protobuf_c_boolean *)slot;
      return 1;
    default:
      if (rt_fuzz_value_size(field->type) == 8)
        *(int64_t *)slot = change_integer(random, *(int64_t *)slot);
      else
        *(int32_t *)slot = (int32_t)change_integer(random, *(int32_t *)slot);
      return 1;
  }
}
