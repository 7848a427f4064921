// SPDX-License-Identifier: Apache-2.0
//
// The words of a contract: one table per enumeration, made from the lists of contract.h.
#include "contract/reader.h"

#define WORD_ITEM(constant, name) {name, constant},
#define DEFINE_WORDS(suffix, what, LIST)                     \
  static const oc_word items_##suffix[] = {LIST(WORD_ITEM)}; \
  const oc_words oc_words_##suffix = {what, items_##suffix,  \
                                      sizeof(items_##suffix) / sizeof(oc_word)};

DEFINE_WORDS(kind, "kind", OC_KIND_LIST)
DEFINE_WORDS(judge, "judge", OC_JUDGE_LIST)
DEFINE_WORDS(fill, "fill", OC_FILL_LIST)
DEFINE_WORDS(profile, "profile", OC_PROFILE_LIST)
DEFINE_WORDS(attr, "attribute type", OC_ATTR_LIST)
DEFINE_WORDS(class, "type class", OC_TYPE_CLASS_LIST)
DEFINE_WORDS(determinism, "determinism", OC_DETERMINISM_LIST)
DEFINE_WORDS(strides, "strides", OC_STRIDES_LIST)
DEFINE_WORDS(threads, "threads", OC_THREADS_LIST)
DEFINE_WORDS(async, "async", OC_ASYNC_LIST)
DEFINE_WORDS(dynamic, "dynamic_shape", OC_DYNAMIC_LIST)
DEFINE_WORDS(nan, "nan", OC_NAN_LIST)
DEFINE_WORDS(infinity, "infinity", OC_INFINITY_LIST)
DEFINE_WORDS(signed_zero, "signed_zero", OC_SIGNED_ZERO_LIST)
DEFINE_WORDS(denormal, "denormal", OC_DENORMAL_LIST)
DEFINE_WORDS(invariant, "invariant", OC_INVARIANT_LIST)
DEFINE_WORDS(law, "law", OC_LAW_LIST)

#define TYPE_ITEM(number, name, bits) {name, number},
static const oc_word items_type[] = {OPS_TYPE_LIST(TYPE_ITEM)};
const oc_words oc_words_type = {"element type", items_type,
                                sizeof(items_type) / sizeof(oc_word)};

// A contract writes a status without its prefix. Only failures a node or a call can deserve.
static const oc_word items_status[] = {
    {"INVALID_ARGUMENT", OPS_ERROR_INVALID_ARGUMENT},
    {"UNSUPPORTED", OPS_ERROR_UNSUPPORTED},
    {"OUT_OF_MEMORY", OPS_ERROR_OUT_OF_MEMORY},
};
const oc_words oc_words_status = {"status", items_status,
                                  sizeof(items_status) / sizeof(oc_word)};

static const char *word_name(const oc_words *words, int value) {
  for (size_t i = 0; i < words->count; ++i) {
    if (words->items[i].value == value) return words->items[i].name;
  }
  return "unknown";
}

const char *oc_kind_name(oc_kind kind) {
  return word_name(&oc_words_kind, kind);
}

const char *oc_judge_name(oc_judge judge) {
  return word_name(&oc_words_judge, judge);
}

const char *oc_fill_name(oc_fill fill) {
  return word_name(&oc_words_fill, fill);
}

const char *oc_profile_name(oc_profile_id profile) {
  return word_name(&oc_words_profile, profile);
}

static const uint8_t type_classes[OPS_TYPE_COUNT] = {
    [OPS_TYPE_UNDEFINED] = OC_CLASS_OTHER,
    [OPS_TYPE_FLOAT] = OC_CLASS_FLOATING,
    [OPS_TYPE_UINT8] = OC_CLASS_UNSIGNED,
    [OPS_TYPE_INT8] = OC_CLASS_SIGNED,
    [OPS_TYPE_UINT16] = OC_CLASS_UNSIGNED,
    [OPS_TYPE_INT16] = OC_CLASS_SIGNED,
    [OPS_TYPE_INT32] = OC_CLASS_SIGNED,
    [OPS_TYPE_INT64] = OC_CLASS_SIGNED,
    [OPS_TYPE_STRING] = OC_CLASS_OTHER,
    [OPS_TYPE_BOOL] = OC_CLASS_OTHER,
    [OPS_TYPE_FLOAT16] = OC_CLASS_FLOATING,
    [OPS_TYPE_DOUBLE] = OC_CLASS_FLOATING,
    [OPS_TYPE_UINT32] = OC_CLASS_UNSIGNED,
    [OPS_TYPE_UINT64] = OC_CLASS_UNSIGNED,
    [OPS_TYPE_COMPLEX64] = OC_CLASS_OTHER,
    [OPS_TYPE_COMPLEX128] = OC_CLASS_OTHER,
    [OPS_TYPE_BFLOAT16] = OC_CLASS_FLOATING,
    [OPS_TYPE_FLOAT8E4M3FN] = OC_CLASS_FLOATING,
    [OPS_TYPE_FLOAT8E4M3FNUZ] = OC_CLASS_FLOATING,
    [OPS_TYPE_FLOAT8E5M2] = OC_CLASS_FLOATING,
    [OPS_TYPE_FLOAT8E5M2FNUZ] = OC_CLASS_FLOATING,
    [OPS_TYPE_UINT4] = OC_CLASS_UNSIGNED,
    [OPS_TYPE_INT4] = OC_CLASS_SIGNED,
    [OPS_TYPE_FLOAT4E2M1] = OC_CLASS_FLOATING,
    [OPS_TYPE_FLOAT8E8M0] = OC_CLASS_FLOATING,
    [OPS_TYPE_UINT2] = OC_CLASS_UNSIGNED,
    [OPS_TYPE_INT2] = OC_CLASS_SIGNED,
    [OPS_TYPE_FLOAT6E2M3] = OC_CLASS_FLOATING,
    [OPS_TYPE_FLOAT6E3M2] = OC_CLASS_FLOATING,
};

oc_type_class oc_type_class_of(int32_t type) {
  if (type < 0 || type >= OPS_TYPE_COUNT) return OC_CLASS_OTHER;
  return (oc_type_class)type_classes[type];
}
