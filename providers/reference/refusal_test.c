// SPDX-License-Identifier: Apache-2.0
//
// Operators over sequences, images, signals and bytes name what breaks their rules and leave
// their outputs alone; shapes that are empty or whose sums would overflow end in an answer.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
// cmocka needs the headers above.
#include <cmocka.h>

#include "element.h"
#include "run_test_util.h"

#define MAX_INPUTS 17
#define MAX_ATTRIBUTES 4

typedef struct input {
  int32_t type, rank;
  int64_t dims[5];
  double values[8];  // that the tensor begins with
} input;

// An int, two ints or a text.
typedef struct attribute {
  const char *name;
  int32_t kind;
  int64_t ints[2];
  const char *text;
} attribute;

typedef struct refusal {
  const char *op;  // with its domain, unless that is the standard one
  int32_t opset;
  input inputs[MAX_INPUTS];  // up to the first of rank -1; type 0: absent
  attribute attributes[MAX_ATTRIBUTES];
  const char *text;  // that the message must contain; NULL: the node runs
} refusal;

#define F OPS_TYPE_FLOAT
#define I OPS_TYPE_INT64
#define W OPS_TYPE_INT32
#define B OPS_TYPE_UINT8
#define ABSENT   \
  {              \
    0, 0, {0}, { \
      0          \
    }            \
  }
#define END       \
  {               \
    0, -1, {0}, { \
      0           \
    }             \
  }
#define INT(name, value) \
  { name, OPS_ATTRIBUTE_INT, {value, 0}, NULL }
#define INTS(name, a, b) \
  { name, OPS_ATTRIBUTE_INTS, {a, b}, NULL }
#define TEXT(name, value) \
  { name, OPS_ATTRIBUTE_STRING, {0}, value }
#define BIG ((int64_t)1 << 50)
#define MS "com.microsoft."
#define WIDE ((int64_t)1 << 39)

// X [2, 1, 3], W [1, 2, 3], R [1, 2, 2] of an RNN of two hidden units.
#define RNN_INPUTS                                  \
  {F, 3, {2, 1, 3}, {0}}, {F, 3, {1, 2, 3}, {0}}, { \
    F, 3, {1, 2, 2}, {                              \
      0                                             \
    }                                               \
  }
#define LSTM_INPUTS                                 \
  {F, 3, {2, 1, 3}, {0}}, {F, 3, {1, 8, 3}, {0}}, { \
    F, 3, {1, 8, 2}, {                              \
      0                                             \
    }                                               \
  }
#define QKV                                               \
  {F, 4, {1, 2, 3, 4}, {0}}, {F, 4, {1, 2, 5, 4}, {0}}, { \
    F, 4, {1, 2, 5, 4}, {                                 \
      0                                                   \
    }                                                     \
  }

static const refusal refusals[] = {
    {"Gelu",
     20,
     {{F, 1, {3}, {0}}, END},
     {TEXT("approximate", "erf")},
     "expected one of none, tanh"},
    {"BitShift",
     11,
     {{B, 1, {3}, {0}}, {B, 1, {3}, {0}}, END},
     {TEXT("direction", "UP")},
     "LEFT, RIGHT"},
    {"DepthToSpace",
     13,
     {{F, 4, {1, 4, 1, 1}, {0}}, END},
     {INT("blocksize", 2), TEXT("mode", "RCD")},
     "mode"},
    {"Cast",
     24,
     {{F, 1, {3}, {0}}, END},
     {INT("to", F), TEXT("round_mode", "even")},
     "round_mode"},
    {"ConvTranspose",
     11,
     {{F, 3, {1, 1, 4}, {0}}, {F, 3, {1, 1, 2}, {0}}, END},
     {TEXT("auto_pad", "SAME")},
     "auto_pad"},
    {"Resize",
     19,
     {{F, 1, {3}, {0}}, ABSENT, ABSENT, {I, 1, {1}, {5}}, END},
     {TEXT("keep_aspect_ratio_policy", "crop")},
     "keep_aspect_ratio_policy"},
    {"Pad",
     21,
     {{F, 1, {3}, {0}}, {I, 1, {2}, {1, 1}}, END},
     {TEXT("mode", "mirror")},
     "constant, reflect, edge, wrap"},
    {"ScatterElements",
     18,
     {{F, 1, {3}, {0}}, {I, 1, {1}, {1}}, {F, 1, {1}, {1}}, END},
     {TEXT("reduction", "sub")},
     "none, add, mul, max, min"},
    {"Min", 13, {{F, 1, {3}, {0}}, ABSENT, {F, 1, {3}, {0}}, END}, {{0}}, "input 1"},
    {"Concat", 13, {{I, 1, {3}, {0}}, ABSENT, END}, {INT("axis", 0)}, "is left out"},
    {"RNN", 14, {RNN_INPUTS, ABSENT, {W, 1, {1}, {3}}, END}, {{0}}, "expected 0 to 2"},
    {"RNN", 14, {RNN_INPUTS, ABSENT, {W, 1, {1}, {-1}}, END}, {{0}}, "element 0 is -1"},
    {"RNN", 14, {RNN_INPUTS, END}, {TEXT("direction", "sideways")}, "direction"},
    {"RNN", 14, {RNN_INPUTS, END}, {INT("hidden_size", 3)}, "input W: dimension 1 is 2"},
    {"RNN", 14, {RNN_INPUTS, {F, 2, {1, 3}, {0}}, END}, {{0}}, "input B: dimension 1"},
    {"GRU", 14, {RNN_INPUTS, END}, {{0}}, "input W: dimension 1 is 2, expected 6"},
    {"LSTM",
     14,
     {LSTM_INPUTS, ABSENT, ABSENT, {F, 3, {1, 2, 2}, {0}}, END},
     {{0}},
     "input initial_h: dimension 1 is 2, expected 1"},
    {"RNN",
     14,
     {{F, 3, {0, BIG, 3}, {0}}, {F, 3, {1, 2, 3}, {0}}, {F, 3, {1, 2, 2}, {0}}, END},
     {{0}},
     "expected at most"},
    {"Attention", 23, {QKV, {F, 2, {3, 6}, {0}}, END}, {{0}}, "input attn_mask: dimension 1"},
    {"Attention",
     24,
     {QKV, ABSENT, ABSENT, ABSENT, {I, 1, {1}, {6}}, END},
     {{0}},
     "element 0 is 6, expected 0 to 5"},
    {"Attention",
     23,
     {{F, 3, {1, 3, 8}, {0}}, {F, 3, {1, 3, 8}, {0}}, {F, 3, {1, 3, 8}, {0}}, END},
     {INT("q_num_heads", 3), INT("kv_num_heads", 1)},
     "q_num_heads"},
    {"Attention",
     23,
     {{F, 4, {0, 1, BIG, 8}, {0}},
      {F, 4, {0, 1, BIG, 8}, {0}},
      {F, 4, {0, 1, BIG, 8}, {0}},
      END},
     {{0}},
     "expected at most"},
    {"RotaryEmbedding",
     23,
     {{F, 4, {1, 1, 2, 4}, {0}},
      {F, 2, {5, 2}, {0}},
      {F, 2, {5, 2}, {0}},
      {I, 2, {1, 2}, {1, 5}},
      END},
     {{0}},
     "token 1 of row 0 is at 5, expected 0 to 4"},
    {"LinearAttention",
     27,
     {{F, 3, {1, 2, 4}, {0}}, {F, 3, {1, 2, 4}, {0}}, {F, 3, {1, 2, 4}, {0}}, END},
     {INT("q_num_heads", 2), INT("kv_num_heads", 2), TEXT("update_rule", "gated")},
     "input decay must be given"},
    {"CausalConvWithState",
     27,
     {{F, 3, {1, 2, 4}, {0}}, {F, 3, {2, 1, 0}, {0}}, END},
     {{0}},
     "input weight"},
    {"SwiGLU", 28, {{F, 1, {3}, {0}}, {F, 1, {1}, {0}}, END}, {{0}}, "equal shapes"},
    {"ConvInteger",
     10,
     {{B, 4, {1, 2, 3, 3}, {0}}, {B, 4, {1, 1, 2, 2}, {0}}, END},
     {{0}},
     "attribute group"},
    {"ConvInteger",
     10,
     {{B, 4, {1, 1, 3, 3}, {0}}, {B, 4, {1, 1, 2, 2}, {0}}, {B, 1, {2}, {0}}, END},
     {{0}},
     "input x_zero_point"},
    {"MatMulInteger",
     10,
     {{B, 2, {2, 3}, {0}}, {B, 2, {3, 2}, {0}}, {B, 1, {3}, {0}}, END},
     {{0}},
     "one per row of A"},
    {"MatMulInteger", 10, {{B, 2, {2, 3}, {0}}, {B, 2, {4, 2}, {0}}, END}, {{0}}, "3 rows"},
    {"DeformConv",
     19,
     {{F, 4, {1, 1, 3, 3}, {0}}, {F, 4, {1, 1, 2, 2}, {0}}, {F, 4, {1, 7, 2, 2}, {0}}, END},
     {{0}},
     "input offset: dimension 1 is 7, expected 8"},
    {"Col2Im",
     18,
     {{F, 3, {1, 4, 5}, {0}}, {I, 1, {2}, {3, 3}}, {I, 1, {2}, {2, 2}}, END},
     {{0}},
     "input input"},
    {"Col2Im",
     18,
     {{F, 3, {1, 4, 4}, {0}}, {I, 1, {2}, {-3, 3}}, {I, 1, {2}, {2, 2}}, END},
     {{0}},
     "input image_shape"},
    {"MaxRoiPool",
     22,
     {{F, 4, {1, 1, 3, 3}, {0}}, {F, 2, {1, 5}, {1}}, END},
     {INTS("pooled_shape", 2, 2)},
     "is of image 1"},
    {"RoiAlign",
     22,
     {{F, 4, {1, 1, 3, 3}, {0}}, {F, 2, {1, 4}, {0}}, {I, 1, {1}, {1}}, END},
     {{0}},
     "input batch_indices"},
    {"NonMaxSuppression",
     11,
     {{F, 3, {1, 3, 4}, {0}}, {F, 3, {1, 1, 2}, {0}}, END},
     {{0}},
     "inputs boxes and scores"},
    {"NonMaxSuppression",
     11,
     {{F, 3, {WIDE, 0, 4}, {0}}, {F, 3, {WIDE, WIDE, 0}, {0}}, END},
     {{0}},
     NULL},
    {"MaxUnpool",
     22,
     {{F, 3, {1, 1, 2}, {0}}, {I, 3, {1, 1, 2}, {0, 3}}, END},
     {INTS("kernel_shape", 2, 0)},
     "kernel_shape"},
    {"GridSample",
     22,
     {{F, 4, {1, 1, 2, 2}, {0}}, {F, 4, {1, 2, 2, 3}, {0}}, END},
     {{0}},
     "input grid"},
    {"GridSample",
     22,
     {{F, 4, {1, 1, 2, 2}, {0}}, {F, 4, {1, 2, 2, 2}, {0}}, END},
     {TEXT("mode", "quintic")},
     "attribute mode"},
    {"AffineGrid",
     20,
     {{F, 3, {1, 2, 3}, {0}}, {I, 1, {5}, {1, 1, 2, 2, 2}}, END},
     {{0}},
     "input theta"},
    {"CenterCropPad",
     18,
     {{F, 2, {2, 2}, {0}}, {I, 1, {2}, {3, -1}}, END},
     {{0}},
     "input shape: element 1"},
    {"Det", 22, {{F, 2, {2, 3}, {0}}, END}, {{0}}, "square"},
    {"DFT", 20, {{F, 3, {1, 4, 3}, {0}}, END}, {{0}}, "expected 1 or 2"},
    {"DFT", 17, {{F, 3, {1, 4, 1}, {0}}, END}, {INT("axis", 2)}, "real and imaginary"},
    {"DFT", 20, {{F, 3, {1, 4, 2}, {0}}, END}, {INT("onesided", 1)}, "real input"},
    {"STFT", 17, {{F, 3, {1, 4, 1}, {0}}, {I, 0, {0}, {0}}, END}, {{0}}, "a step of 0"},
    {"MelWeightMatrix",
     17,
     {{I, 0, {0}, {4}},
      {I, 0, {0}, {16}},
      {I, 0, {0}, {8000}},
      {F, 0, {0}, {0}},
      {F, 0, {0}, {9000}},
      END},
     {{0}},
     "input upper_edge_hertz"},
    {"HannWindow", 17, {{I, 0, {0}, {-1}}, END}, {{0}}, "input size"},
    {"HannWindow", 17, {{I, 0, {0}, {3}}, END}, {INT("output_datatype", 8)}, "output_datatype"},
    {"Bernoulli", 22, {{F, 1, {2}, {0.5, 1.5}}, END}, {{0}}, "element 1 is 1.5"},
    {"Multinomial", 22, {{F, 2, {2, 2}, {0}}, END}, {INT("sample_size", 0)}, "sample_size"},
    {"RandomUniformLike", 22, {{I, 1, {2}, {0}}, END}, {{0}}, "attribute dtype"},
    {"NegativeLogLikelihoodLoss",
     22,
     {{F, 2, {2, 3}, {0}}, {I, 1, {2}, {0, 3}}, END},
     {{0}},
     "element 1 is 3, expected 0 to 2"},
    {"SoftmaxCrossEntropyLoss",
     13,
     {{F, 2, {2, 3}, {0}}, {I, 1, {2}, {-1, 0}}, END},
     {{0}},
     "element 0 is -1"},
    {"ReverseSequence",
     10,
     {{F, 2, {2, 2}, {0}}, {I, 1, {2}, {1, 3}}, END},
     {{0}},
     "element 1 is 3"},
    {"TensorScatter",
     24,
     {{F, 3, {1, 3, 2}, {0}}, {F, 3, {1, 2, 2}, {0}}, {I, 1, {1}, {2}}, END},
     {{0}},
     "element 0 is 2, expected 0 to 1"},
    {"BitCast", 26, {{F, 1, {2}, {0}}, END}, {INT("to", OPS_TYPE_INT64)}, "32 bits"},
    {"Dropout",
     13,
     {{F, 1, {2}, {0}}, {F, 0, {0}, {1}}, {OPS_TYPE_BOOL, 0, {0}, {1}}, END},
     {{0}},
     "in [0, 1)"},
    {"Col2Im",
     18,
     {{F, 3, {1, 2, 2}, {0}}, {I, 1, {2}, {1, 4}}, {I, 1, {2}, {1, 2}}, END},
     {{0}},
     "multiple of 2, 3]"},
    // Opset 6 and before broadcast only what they are told to.
    {"Add", 6, {{F, 2, {2, 3}, {0}}, {F, 1, {3}, {0}}, END}, {{0}}, "does not broadcast"},
    {"Mul",
     1,
     {{F, 2, {2, 3}, {0}}, {F, 1, {2}, {0}}, END},
     {INT("broadcast", 1)},
     "dimension 0 is 2, expected 1 or 3"},
    {"Mul",
     1,
     {{F, 2, {2, 3}, {0}}, {F, 1, {3}, {0}}, END},
     {INT("broadcast", 1), INT("axis", 2)},
     "axis 2"},
    {"Add",
     6,
     {{F, 1, {3}, {0}}, {F, 2, {1, 3}, {0}}, END},
     {INT("broadcast", 1)},
     "a rank of at most 1"},
    {"Max", 7, {{F, 1, {3}, {0}}, {F, 1, {1}, {0}}, END}, {{0}}, "does not broadcast"},
    {"PRelu", 6, {{F, 3, {1, 2, 3}, {0}}, {F, 1, {3}, {0}}, END}, {{0}}, "input slope"},
    {"Gemm",
     6,
     {{F, 2, {2, 3}, {0}}, {F, 2, {3, 4}, {0}}, {F, 1, {4}, {0}}, END},
     {{0}},
     "attribute broadcast is 0"},
    {"Tile",
     1,
     {{F, 1, {2}, {0}}, {F, 0, {0}, {1.5}}, {F, 0, {0}, {0}}, END},
     {{0}},
     "input tiles: entry 0 is 1.5"},
    {"Cast", 5, {{F, 1, {2}, {0}}, END}, {TEXT("to", "float")}, "attribute to"},
    {"BatchNormalization",
     8,
     {{F, 3, {1, 2, 3}, {0}},
      {F, 1, {2}, {0}},
      {F, 1, {2}, {0}},
      {F, 1, {2}, {0}},
      {F, 1, {2}, {0}},
      END},
     {INT("spatial", 0)},
     "input scale: expected rank 2"},
    {"ai.onnx.preview.training.Momentum",
     1,
     {{F, 0, {0}, {0}},
      {I, 0, {0}, {0}},
      {F, 1, {2}, {0}},
      {F, 1, {3}, {0}},
      {F, 1, {2}, {0}},
      END},
     {TEXT("mode", "standard")},
     "input 3"},
#include "refusal_microsoft.inc"
    // A tensor, its scale and its zero point of QLinearConcat, after those of the result.
    {MS "QLinearConcat",
     1,
     {{F, 0, {0}, {1}}, {B, 0, {0}, {0}}, {B, 1, {3}, {1}}, END},
     {INT("axis", 0)},
     "has 3 inputs, expected 2 and then 3 for each tensor"},
    {MS "QLinearConcat",
     1,
     {{F, 0, {0}, {1}},
      {B, 0, {0}, {0}},
      {B, 1, {3}, {1}},
      {F, 1, {2}, {1}},
      {B, 0, {0}, {0}},
      END},
     {INT("axis", 0)},
     "input inputs: expected one number"},
    {MS "QLinearConcat",
     1,
     {{F, 0, {0}, {1}},
      {B, 0, {0}, {0}},
      {B, 1, {3}, {1}},
      {B, 0, {0}, {1}},
      {B, 0, {0}, {0}},
      END},
     {INT("axis", 0)},
     "input 3: expected a scale, of type float"},
    {MS "QLinearConcat",
     1,
     {{F, 0, {0}, {1}},
      {B, 0, {0}, {0}},
      {F, 1, {3}, {1}},
      {F, 0, {0}, {1}},
      {B, 0, {0}, {0}},
      END},
     {INT("axis", 0)},
     "input 2: expected a tensor of uint8 or int8"},
    {MS "QLinearConcat",
     1,
     {{F, 0, {0}, {1}},
      {B, 0, {0}, {0}},
      {B, 1, {3}, {1}},
      {F, 0, {0}, {1}},
      {B, 0, {0}, {0}},
      END},
     {{0}},
     "the attribute 'axis' is required"},
    {MS "MatMulNBits",
     1,
     {{F, 2, {2, 16}, {1}},
      {B, 3, {3, 1, 8}, {1}},
      {F, 2, {3, 1}, {1}},
      ABSENT,
      {W, 1, {16}, {1}},
      END},
     {INT("N", 3), INT("K", 16), INT("block_size", 16)},
     "element 0 is 1, expected 0 to 0"},
    {MS "MatMulNBits",
     1,
     {{F, 2, {0, WIDE}, {0}}, {B, 3, {0, WIDE / 16, 8}, {0}}, {F, 2, {0, 1}, {0}}, END},
     {INT("N", WIDE), INT("K", WIDE), INT("block_size", 16)},
     NULL},
    {MS "MatMulNBits",
     1,
     {{F, 2, {0, 16}, {0}}, {B, 3, {3, 1, 8}, {1}}, {F, 1, {4}, {1}}, END},
     {INT("N", 3), INT("K", 16), INT("block_size", 16)},
     "input scales: expected the shape [3, 1]"},
    {MS "FusedConv",
     1,
     {{F, 3, {1, 1, 4}, {1}}, {F, 3, {1, 1, 2}, {1}}, ABSENT, {F, 3, {1, 1, 4}, {1}}, END},
     {TEXT("activation", "Relu")},
     "input Z: dimension 2 is 4, expected 3"},
    {MS "FusedConv",
     1,
     {{F, 3, {1, 1, 4}, {1}}, {F, 3, {1, 1, 2}, {1}}, END},
     {TEXT("activation", "Affine")},
     "'Affine' is no activation function"},
    {MS "FusedMatMul",
     1,
     {{F, 3, {2, 3, 4}, {1}}, {F, 3, {3, 4, 5}, {1}}, END},
     {INT("transBatchA", 0)},
     "leading dimensions 2 of A and 3 of B"},
    {MS "FusedMatMul",
     1,
     {{F, 3, {2, 3, 4}, {1}}, {F, 3, {3, 4, 5}, {1}}, END},
     {INT("transBatchA", 1)},
     NULL},
};

static void make_input(test_tensor *tensor, const input *from) {
  if (from->type == 0) return;
  test_tensor_init(tensor, from->type, from->rank, from->dims, 0);
  if (tensor->memory == NULL) return;
  memset(tensor->memory, 0, tensor->size);
  int64_t given = (int64_t)(sizeof from->values / sizeof *from->values);
  ref_element_of(from->type)
      ->store(tensor->memory, 0, 1, tensor->count < given ? tensor->count : given,
              from->values);
}

static uint64_t make_attributes(const attribute *from, ops_attribute *out, ops_str *texts) {
  uint64_t count = 0;
  for (; count < MAX_ATTRIBUTES && from[count].name != NULL; ++count) {
    const attribute *a = &from[count];
    if (a->text != NULL) texts[count] = (ops_str){a->text, strlen(a->text)};
    out[count] = (ops_attribute){.struct_size = sizeof(ops_attribute),
                                 .name = {a->name, strlen(a->name)},
                                 .kind = a->kind,
                                 .count = a->kind == OPS_ATTRIBUTE_INTS ? 2 : 1,
                                 .ints = a->text != NULL ? NULL : a->ints,
                                 .strings = a->text != NULL ? &texts[count] : NULL};
  }
  return count;
}

static int is_untouched(const test_tensor *tensor) {
  for (uint64_t i = 0; tensor->memory != NULL && i < tensor->size; ++i)
    if (((const unsigned char *)tensor->memory)[i] != 0xA5) return 0;
  return 1;
}

static void check_refusal(test_host *host, const refusal *r) {
  test_tensor inputs[MAX_INPUTS] = {0}, outputs[2] = {{.present = 1}, {.present = 1}};
  ops_attribute attributes[MAX_ATTRIBUTES];
  ops_str texts[MAX_ATTRIBUTES];
  uint64_t count = 0;
  for (; count < MAX_INPUTS && r->inputs[count].rank >= 0; ++count)
    make_input(&inputs[count], &r->inputs[count]);
  const char *dot = strrchr(r->op, '.'), *name = dot == NULL ? r->op : dot + 1;
  int trains = strcmp(name, "Momentum") == 0;
  test_node node = {.op = name,
                    .domain = {r->op, dot == NULL ? 0 : (uint64_t)(dot - r->op)},
                    .opset = r->opset,
                    .attributes = attributes,
                    .attribute_count = make_attributes(r->attributes, attributes, texts),
                    .inputs = inputs,
                    .input_count = count,
                    .outputs = outputs,
                    .output_count = trains ? 2 : 1};
  const char *reason = "";
  if (test_find(host, &node, &reason) == NULL) fail_msg("%s: %s", r->op, reason);
  ops_error error = {.struct_size = sizeof error};
  int32_t status = test_run(host, &node, &error);
  int32_t wanted = r->text == NULL ? OPS_OK : OPS_ERROR_INVALID_ARGUMENT;
  if (status != wanted || (r->text != NULL && strstr(error.message, r->text) == NULL))
    fail_msg("%s: status %d, message '%s', expected '%s' in it", r->op, status, error.message,
             r->text == NULL ? "" : r->text);
  if (r->text != NULL) assert_true(is_untouched(&outputs[0]));
  for (uint64_t i = 0; i < count; ++i) test_tensor_finish(&inputs[i]);
  test_tensor_finish(&outputs[0]);
  test_tensor_finish(&outputs[1]);
}

static void broken_rules_are_named(void **state) {
  (void)state;
  test_host host;
  test_host_open(&host);
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; ++i)
    check_refusal(&host, &refusals[i]);
  test_host_close(&host);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(broken_rules_are_named)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
