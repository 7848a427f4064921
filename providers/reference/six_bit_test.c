// SPDX-License-Identifier: Apache-2.0
//
// The six-bit floats of opset 28 in Cast, QuantizeLinear, DequantizeLinear and as the content
// of an optional. Expected values are those of the OCP Microscaling Formats specification 1.0:
// E2M3 reaches from 0.125 to 7.5, E3M2 from 0.0625 to 28; both have subnormal numbers and
// neither infinity nor NaN.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
// cmocka needs the headers above.
#include <cmocka.h>

#include "run_test_util.h"

static void run(const char *op, const char *attribute, int64_t value, test_tensor *inputs,
                uint64_t count, test_tensor *y) {
  ops_attribute attributes[] = {{.struct_size = sizeof *attributes,
                                 .name = {attribute, strlen(attribute)},
                                 .kind = OPS_ATTRIBUTE_INT,
                                 .count = 1,
                                 .ints = &value}};
  *y = (test_tensor){.present = 1};
  test_node node = {.op = op,
                    .opset = 28,
                    .attributes = attributes,
                    .attribute_count = 1,
                    .inputs = inputs,
                    .input_count = count,
                    .outputs = y,
                    .output_count = 1};
  ops_error error = {.struct_size = sizeof error};
  assert_int_equal(test_run(&test_shared, &node, &error), OPS_OK);
}

static test_tensor floats(int32_t rank, int64_t count, const float *values) {
  test_tensor t;
  test_tensor_init(&t, OPS_TYPE_FLOAT, rank, &count, 0);
  test_tensor_fill(&t, values);
  return t;
}

typedef struct format {
  int32_t type;
  int exponent_bits, mantissa_bits;
  float in[8], out[8];  // casts: rounding to nearest even, subnormal numbers, saturation
} format;

static const format formats[] = {
    {OPS_TYPE_FLOAT6E2M3,
     2,
     3,
     {0.0625f, 0.1875f, 1.0625f, 7.4f, 100, -INFINITY, -0.125f, 3.9f},
     {0, 0.25f, 1, 7.5f, 7.5f, -7.5f, -0.125f, 4}},
    {OPS_TYPE_FLOAT6E3M2,
     3,
     2,
     {0.03125f, 0.09375f, 1.125f, 27, 1e9f, -INFINITY, -0.0625f, 5.5f},
     {0, 0.125f, 1, 28, 28, -28, -0.0625f, 6}},
};

static float value_of(const format *f, int code) {
  int mantissa = code & ((1 << f->mantissa_bits) - 1);
  int exponent = code >> f->mantissa_bits & ((1 << f->exponent_bits) - 1);
  int bias = (1 << (f->exponent_bits - 1)) - 1;
  float value = exponent == 0 ? ldexpf((float)mantissa, 1 - bias - f->mantissa_bits)
                              : ldexpf((float)(mantissa + (1 << f->mantissa_bits)),
                                       exponent - bias - f->mantissa_bits);
  return code >> 5 ? -value : value;
}

static void casts_round_and_saturate(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof formats / sizeof *formats; ++i) {
    test_tensor x = floats(1, 8, formats[i].in), narrow, y;
    run("Cast", "to", formats[i].type, &x, 1, &narrow);
    run("Cast", "to", OPS_TYPE_FLOAT, &narrow, 1, &y);
    for (int k = 0; k < 8; ++k) assert_true(((const float *)y.memory)[k] == formats[i].out[k]);
    test_tensor_finish(&x);
    test_tensor_finish(&narrow);
    test_tensor_finish(&y);
  }
}

// All codes through DequantizeLinear and back through QuantizeLinear.
static void every_code_survives_quantization(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof formats / sizeof *formats; ++i) {
    const float scale = 0.5f;
    uint8_t codes[48] = {0}, again[48];
    for (int code = 0; code < 64; ++code)
      for (int bit = 0; bit < 6; ++bit)
        codes[(code * 6 + bit) / 8] |= (uint8_t)((code >> bit & 1) << (code * 6 + bit) % 8);
    test_tensor in[2], y, back;
    test_tensor_init(&in[0], formats[i].type, 1, (int64_t[]){64}, 0);
    test_tensor_fill(&in[0], codes);
    in[1] = floats(0, 1, &scale);
    run("DequantizeLinear", "axis", 0, in, 2, &y);
    for (int code = 0; code < 64; ++code)
      assert_true(((const float *)y.memory)[code] == scale * value_of(&formats[i], code));
    test_tensor real[2] = {y, in[1]};
    run("QuantizeLinear", "output_dtype", formats[i].type, real, 2, &back);
    test_tensor_read(&back, again);
    // -0 plus a zero point of 0 is 0.
    codes[32 * 6 / 8] &= (uint8_t)~0x20u;
    assert_memory_equal(again, codes, sizeof codes);
    test_tensor_finish(&in[0]);
    test_tensor_finish(&in[1]);
    test_tensor_finish(&y);
    test_tensor_finish(&back);
  }
}

// Elements 1, 2 and 3 of the number of their code, and what follows them in the last byte is 0.
static void an_optional_gives_them_back(void **state) {
  (void)state;
  const uint8_t codes[] = {0x81, 0x30, 0x00};
  uint8_t again[3];
  test_tensor x, y;
  test_tensor_init(&x, OPS_TYPE_FLOAT6E2M3, 1, (int64_t[]){3}, 0);
  test_tensor_fill(&x, codes);
  run("OptionalGetElement", "unused", 0, &x, 1, &y);
  assert_int_equal(y.type, OPS_TYPE_FLOAT6E2M3);
  test_tensor_read(&y, again);
  assert_memory_equal(again, codes, sizeof codes);
  test_tensor_finish(&x);
  test_tensor_finish(&y);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(casts_round_and_saturate),
      cmocka_unit_test(every_code_survives_quantization),
      cmocka_unit_test(an_optional_gives_them_back),
  };
  return cmocka_run_group_tests(tests, test_shared_open, test_shared_close);
}
