// SPDX-License-Identifier: Apache-2.0
//
// What mynpu lacks and expresses by what it has. Exporters write PixelShuffle as Reshape,
// Transpose, Reshape: [N, C, H, W] is split into [N, C', b, b, H, W] (or [N, b, b, C', H, W]),
// its axes are permuted to [N, C', H, b, W, b], and pairs are merged to [N, C', H * b, W * b].
// That is DepthToSpace, CRD (or DCR), of ONNX. The rule fires only where all sizes show it.
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <string.h>

#include "npu.h"

// How a mode splits the channels, and the permutation that follows.
typedef struct shuffle {
  const char *mode;
  int32_t channels, block;  // axes of C' and of the first b after the split
  int64_t perm[6];
} shuffle;

static const shuffle kShuffles[] = {
    {"CRD", 1, 2, {0, 1, 4, 2, 5, 3}},
    {"DCR", 3, 1, {0, 3, 4, 1, 5, 2}},
};

static const shuffle *find_shuffle(const ops_node *transpose) {
  uint64_t count;
  const int64_t *perm = ops_node_ints(transpose, "perm", &count);
  for (uint64_t i = 0; count == 6 && i < sizeof kShuffles / sizeof *kShuffles; ++i)
    if (memcmp(perm, kShuffles[i].perm, sizeof kShuffles[i].perm) == 0) return &kShuffles[i];
  return NULL;
}

// Equal numbers, or equal names of unknown numbers.
static int same_dim(const ops_type_info *a, int32_t i, const ops_type_info *b, int32_t k) {
  if (a->dims[i] >= 0 || b->dims[k] >= 0) return a->dims[i] == b->dims[k];
  return a->symbols && b->symbols && a->symbols[i].size > 0 &&
         a->symbols[i].size == b->symbols[k].size &&
         memcmp(a->symbols[i].data, b->symbols[k].data, a->symbols[i].size) == 0;
}

// 1 if x, split and y have the shapes of the shuffle; *out_block receives b.
static int shapes_fit(const shuffle *s, const ops_type_info *x, const ops_type_info *split,
                      const ops_type_info *y, int64_t *out_block) {
  if (x->rank != 4 || split->rank != 6 || y->rank != 4) return 0;
  const int64_t b = split->dims[s->block];
  if (b < 1 || b >= (int64_t)1 << 15 || split->dims[s->block + 1] != b) return 0;
  for (int32_t i = 0; i < 2; ++i) {  // height and width
    if (x->dims[2 + i] < 0 || split->dims[4 + i] != x->dims[2 + i]) return 0;
    if (y->dims[2 + i] < 0 || y->dims[2 + i] / b != x->dims[2 + i] || y->dims[2 + i] % b != 0)
      return 0;
  }
  *out_block = b;
  return x->dims[1] >= 0 && split->dims[s->channels] == x->dims[1] / (b * b) &&
         x->dims[1] % (b * b) == 0 && y->dims[1] == split->dims[s->channels] &&
         same_dim(x, 0, split, 0) && same_dim(x, 0, y, 0);
}

static int32_t build(const ops_operand *input, int32_t opset, const char *mode, int64_t block,
                     const ops_rewrite_api *api, ops_rewrite_builder *builder,
                     ops_error *error) {
  const ops_str text = {mode, strlen(mode)};
  const ops_attribute attributes[] = {{.struct_size = sizeof(ops_attribute),
                                       .name = OPS_STR("blocksize"),
                                       .kind = OPS_ATTRIBUTE_INT,
                                       .count = 1,
                                       .ints = &block},
                                      {.struct_size = sizeof(ops_attribute),
                                       .name = OPS_STR("mode"),
                                       .kind = OPS_ATTRIBUTE_STRING,
                                       .count = 1,
                                       .strings = &text}};
  const ops_node node = {.struct_size = sizeof node,
                         .op = OPS_STR("DepthToSpace"),
                         .opset = opset,
                         OPS_LIST(attribute, attributes),
                         .inputs = input,
                         .input_count = 1,
                         .input_stride = sizeof *input};
  int64_t y;
  OPS_RETURN_IF_ERROR(api->add_node(builder, &node, &y, 1, error));
  return api->set_output(builder, 0, y, error);
}

static int32_t apply_pixel_shuffle(ops_device *device, const ops_node *const *nodes,
                                   uint64_t node_count, const ops_rewrite_api *api,
                                   ops_rewrite_builder *builder, ops_error *error) {
  (void)device, (void)node_count;
  const ops_operand *x = ops_node_input(nodes[0], 0);
  const shuffle *s = find_shuffle(nodes[1]);
  int64_t block;
  if (!s)
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                         "the permutation is neither [0,1,4,2,5,3] nor [0,3,4,1,5,2]");
  if (!x || !shapes_fit(s, x->type, ops_node_output(nodes[0], 0)->type,
                        ops_node_output(nodes[2], 0)->type, &block))
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                         "the shapes are not known to be those of DepthToSpace");
  if (nodes[0]->opset < 11 && strcmp(s->mode, "CRD") == 0)
    return ops_error_set(error, OPS_ERROR_UNSUPPORTED,
                         "DepthToSpace has mode CRD from opset 11 on, found %d",
                         nodes[0]->opset);
  return build(x, nodes[0]->opset, s->mode, block, api, builder, error);
}

static const int32_t kFromFirst[] = {0}, kFromSecond[] = {1};

#define PATTERN(op_name, first_opset, ...)                                                 \
  {                                                                                        \
    .struct_size = sizeof(ops_pattern_node), .op = OPS_STR(op_name), .since = first_opset, \
    __VA_ARGS__                                                                            \
  }
static const ops_pattern_node kPixelShuffle[] = {
    PATTERN("Reshape", 5),
    PATTERN("Transpose", 1, .inputs = kFromFirst, .input_count = 1),
    PATTERN("Reshape", 5, .inputs = kFromSecond, .input_count = 1),
};

const ops_rewrite npu_rewrites[1] = {{.struct_size = sizeof(ops_rewrite),
                                      .name = OPS_STR("pixel_shuffle"),
                                      .pattern = kPixelShuffle,
                                      .pattern_count = 3,
                                      .pattern_stride = sizeof *kPixelShuffle,
                                      .apply = apply_pixel_shuffle}};
