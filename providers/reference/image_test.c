// SPDX-License-Identifier: Apache-2.0
//
// ImageDecoder by hand: BMP and PNM files written byte by byte after their definitions; PNG,
// JPEG and TIFF files written here by the libraries' encoders, in forms that the official cases
// lack; files that are cut off or damaged, which must end in an answer.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka and jpeglib need the headers above.
#include <cmocka.h>
#include <jpeglib.h>
#include <png.h>
#include <tiffio.h>

#include "case_test_util.h"
#include "run_test_util.h"

#define MAX_PIXELS 4096

static int32_t decode(const void *bytes, uint64_t size, const char *pixels, test_tensor *y,
                      ops_error *error) {
  test_tensor x;
  ops_str format = {pixels, strlen(pixels)};
  ops_attribute attribute = {.struct_size = sizeof attribute,
                             .name = OPS_STR("pixel_format"),
                             .kind = OPS_ATTRIBUTE_STRING,
                             .count = 1,
                             .strings = &format};
  test_tensor_init(&x, OPS_TYPE_UINT8, 1, (int64_t[]){(int64_t)size}, 0);
  if (size > 0) test_tensor_fill(&x, bytes);
  *y = (test_tensor){.present = 1};
  *error = (ops_error){.struct_size = sizeof *error};
  test_node node = {.op = "ImageDecoder",
                    .opset = 20,
                    .attributes = &attribute,
                    .attribute_count = 1,
                    .inputs = &x,
                    .input_count = 1,
                    .outputs = y,
                    .output_count = 1};
  int32_t status = test_run(&test_shared, &node, error);
  test_tensor_finish(&x);
  return status;
}

static void check(const void *bytes, uint64_t size, const char *pixels, int64_t height,
                  int64_t width, const uint8_t *expected) {
  test_tensor y;
  ops_error error;
  uint8_t found[MAX_PIXELS * 3];
  int64_t channels = strcmp(pixels, "Grayscale") == 0 ? 1 : 3;
  assert_int_equal(decode(bytes, size, pixels, &y, &error), OPS_OK);
  assert_int_equal(y.rank, 3);
  assert_int_equal(y.dims[0], height);
  assert_int_equal(y.dims[1], width);
  assert_int_equal(y.dims[2], channels);
  test_tensor_read(&y, found);
  assert_memory_equal(found, expected, (size_t)(height * width * channels));
  test_tensor_finish(&y);
}

static void check_empty(const void *bytes, uint64_t size) {
  test_tensor y;
  ops_error error;
  assert_int_equal(decode(bytes, size, "RGB", &y, &error), OPS_OK);
  assert_int_equal(y.dims[0], 0);
  assert_int_equal(y.dims[1], 0);
  assert_int_equal(y.dims[2], 3);
  test_tensor_finish(&y);
}

// ---- PNM -----------------------------------------------------------------------------------

#define RED 255, 0, 0
#define BLACK 0, 0, 0
#define WHITE 255, 255, 255
#define CHECK_TEXT(text, pixels, height, width, ...) \
  check(text, sizeof text - 1, pixels, height, width, (const uint8_t[]){__VA_ARGS__})

static void pnm_in_all_forms(void **state) {
  (void)state;
  CHECK_TEXT("P1\n# dots\n3 2\n1 0 1\n001", "RGB", 2, 3, BLACK, WHITE, BLACK, WHITE, WHITE,
             BLACK);
  CHECK_TEXT("P2 2 1 15\n15 # white\n 3", "RGB", 1, 2, WHITE, 51, 51, 51);
  CHECK_TEXT("P3 2 1 255 255 0 0 1 2 3", "BGR", 1, 2, 0, 0, 255, 3, 2, 1);
  CHECK_TEXT("P4\n9 1\n\x80\x80", "RGB", 1, 9, BLACK, WHITE, WHITE, WHITE, WHITE, WHITE, WHITE,
             WHITE, BLACK);
  CHECK_TEXT("P5 2 1 65535\n\xFF\xFF\x80\x80", "Grayscale", 1, 2, 255, 128);
  CHECK_TEXT("P6 1 1 255\n\xFF\x00\x01", "RGB", 1, 1, 255, 0, 1);
  // 0.299, 0.587 and 0.114 of 255.
  CHECK_TEXT("P6 3 1 255\n\xFF\0\0\0\xFF\0\0\0\xFF", "Grayscale", 1, 3, 76, 150, 29);
}

// ---- BMP -----------------------------------------------------------------------------------

typedef struct bmp_file {
  uint8_t bytes[512];
  uint64_t size;
} bmp_file;

static void put(bmp_file *f, uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) f->bytes[f->size++] = (uint8_t)(value >> 8 * i);
}

// Both headers; `extra` bytes of palette or masks follow before the pixels.
static bmp_file begin_bmp(int32_t width, int32_t height, uint32_t bits, uint32_t compression,
                          uint32_t colors, uint32_t extra) {
  bmp_file f = {.bytes = "BM", .size = 10};
  put(&f, 54 + extra, 4);
  put(&f, 40, 4);
  put(&f, (uint32_t)width, 4);
  put(&f, (uint32_t)height, 4);
  put(&f, 1, 2);
  put(&f, bits, 2);
  put(&f, compression, 4);
  for (int i = 0; i < 3; ++i) put(&f, 0, 4);
  put(&f, colors, 4);
  put(&f, 0, 4);
  return f;
}

static void put_all(bmp_file *f, const char *bytes, uint64_t size) {
  memcpy(f->bytes + f->size, bytes, size);
  f->size += size;
}

#define PUT(f, text) put_all(f, text, sizeof text - 1)
#define CHECK_BMP(f, height, width, ...) \
  check((f).bytes, (f).size, "RGB", height, width, (const uint8_t[]){__VA_ARGS__})

static void bmp_rows_lie_upside_down(void **state) {
  (void)state;
  bmp_file f = begin_bmp(1, 2, 24, 0, 0, 0);
  PUT(&f, "\x01\x02\x03\0\x04\x05\x06\0");
  CHECK_BMP(f, 2, 1, 6, 5, 4, 3, 2, 1);
  f = begin_bmp(1, -2, 24, 0, 0, 0);
  PUT(&f, "\x01\x02\x03\0\x04\x05\x06\0");
  CHECK_BMP(f, 2, 1, 3, 2, 1, 6, 5, 4);
  f = begin_bmp(1, 1, 32, 0, 0, 0);
  PUT(&f, "\x01\x02\x03\x7F");
  CHECK_BMP(f, 1, 1, 3, 2, 1);
}

static void bmp_palettes_and_fields(void **state) {
  (void)state;
  bmp_file f = begin_bmp(3, 1, 1, 0, 2, 8);
  PUT(&f, "\0\0\xFF\0\xFF\xFF\xFF\0\x40\0\0\0");
  CHECK_BMP(f, 1, 3, RED, WHITE, RED);
  f = begin_bmp(3, 1, 4, 0, 2, 8);
  PUT(&f, "\0\0\xFF\0\xFF\xFF\xFF\0\x01\x10\0\0");
  CHECK_BMP(f, 1, 3, RED, WHITE, WHITE);
  // 5 bits each: 31, 0, 16 of 31.
  f = begin_bmp(1, 1, 16, 0, 0, 0);
  PUT(&f, "\x10\x7C\0\0");
  CHECK_BMP(f, 1, 1, 255, 0, 132);
  f = begin_bmp(1, 1, 16, 3, 0, 12);
  PUT(&f, "\0\xF8\0\0\xE0\x07\0\0\x1F\0\0\0\xE0\x07\0\0");
  CHECK_BMP(f, 1, 1, 0, 255, 0);
}

static void bmp_runs(void **state) {
  (void)state;
  // Two of index 1, end of line, a step of one column, one of index 0, end.
  bmp_file f = begin_bmp(2, 2, 8, 1, 2, 8);
  PUT(&f, "\0\0\xFF\0\xFF\xFF\xFF\0\x02\x01\0\0\0\x02\x01\0\x01\0\0\x01");
  CHECK_BMP(f, 2, 2, BLACK, RED, WHITE, WHITE);
  // Literal of three, padded to two bytes; then a run that alternates.
  f = begin_bmp(3, 2, 4, 2, 2, 8);
  PUT(&f, "\0\0\xFF\0\xFF\xFF\xFF\0\0\x03\x10\x10\0\0\x03\x01\0\x01");
  CHECK_BMP(f, 2, 3, RED, WHITE, RED, WHITE, RED, WHITE);
  // Runs past the edges draw nothing.
  f = begin_bmp(1, 1, 8, 1, 1, 4);
  PUT(&f, "\0\0\xFF\0\xFF\0\0\x02\xFF\xFF\0\x01");
  CHECK_BMP(f, 1, 1, RED);
}

// ---- What is refused -----------------------------------------------------------------------

static void broken_files_give_no_pixels(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    uint64_t size;
  } files[] = {{"", 0},
               {"GIF89a", 6},
               {"P6 1 1 255\n\xFF", 12},
               {"P7 1 1 255", 9},
               {"P2 1 1 9 10", 11},
               {"P5 0 1 255\n", 11},
               {"P1 2 1 2 1", 10},
               {"\x89PNG\r\n\x1A\n", 8},
               {"BM", 2},
               {"\xFF\xD8\xFF\xE0", 4},
               {"II*\0", 4}};
  for (size_t i = 0; i < sizeof files / sizeof *files; ++i)
    check_empty(files[i].bytes, files[i].size);
  bmp_file f = begin_bmp(4, 4, 24, 0, 0, 0);
  check_empty(f.bytes, f.size);
  f = begin_bmp(1, INT32_MIN, 7, 0, 0, 0);
  check_empty(f.bytes, f.size);
}

static void check_too_large(const void *bytes, uint64_t size) {
  test_tensor y;
  ops_error error;
  assert_int_equal(decode(bytes, size, "RGB", &y, &error), OPS_ERROR_INVALID_ARGUMENT);
  assert_non_null(strstr(error.message, "at most"));
}

static void images_beyond_the_limits_are_refused(void **state) {
  (void)state;
  bmp_file f = begin_bmp(70000, 1, 24, 0, 0, 0);
  check_too_large(f.bytes, f.size);
  f = begin_bmp(1, INT32_MIN, 24, 0, 0, 0);
  check_too_large(f.bytes, f.size);
  check_too_large("P6 65536 65536 255\n", 19);
}

// ---- Files from the libraries' encoders ----------------------------------------------------

static void check_png(uint32_t format, const void *pixels, int32_t width,
                      const uint8_t *expected) {
  png_image image = {
      .version = PNG_IMAGE_VERSION, .width = (uint32_t)width, .height = 1, .format = format};
  uint8_t bytes[2048];
  size_t size = sizeof bytes;
  assert_true(png_image_write_to_memory(&image, bytes, &size, 0, pixels, 0, NULL));
  check(bytes, size, "RGB", 1, width, expected);
}

static void png_becomes_rgb(void **state) {
  (void)state;
  check_png(PNG_FORMAT_GRAY, (uint8_t[]){0, 7, 255}, 3, (uint8_t[]){BLACK, 7, 7, 7, WHITE});
  // Alpha is dropped, not blended.
  check_png(PNG_FORMAT_RGBA, (uint8_t[]){1, 2, 3, 0, 4, 5, 6, 128}, 2,
            (uint8_t[]){1, 2, 3, 4, 5, 6});
  check_png(PNG_FORMAT_GA, (uint8_t[]){9, 0}, 1, (uint8_t[]){9, 9, 9});
  // 16 bits: 0x80FF is 128.996 of 255 steps of 257, 0x8000 is 127.5.
  check_png(PNG_FORMAT_LINEAR_Y, (uint16_t[]){0, 0xFFFF}, 2, (uint8_t[]){BLACK, WHITE});
}

static void jpeg_of_other_colours(void **state) {
  (void)state;
  static const struct {
    J_COLOR_SPACE space;
    int channels;
    uint8_t pixel[4];
    uint8_t expected[3];
  } forms[] = {{JCS_GRAYSCALE, 1, {77}, {77, 77, 77}},
               // Without Adobe's marker ink is ink: no cyan, all magenta, no yellow, no black.
               {JCS_CMYK, 4, {0, 255, 0, 0}, {255, 0, 255}}};
  for (int i = 0; i < 2; ++i) {
    struct jpeg_compress_struct info;
    struct jpeg_error_mgr errors;
    unsigned char *bytes = NULL;
    unsigned long size = 0;
    uint8_t row[8 * 4], expected[8 * 8 * 3];
    info.err = jpeg_std_error(&errors);
    jpeg_create_compress(&info);
    jpeg_mem_dest(&info, &bytes, &size);
    info.image_width = info.image_height = 8;
    info.input_components = forms[i].channels;
    info.in_color_space = forms[i].space;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, 100, TRUE);
    info.write_Adobe_marker = FALSE;
    jpeg_start_compress(&info, TRUE);
    for (int x = 0; x < 8; ++x)
      memcpy(row + x * forms[i].channels, forms[i].pixel, (size_t)forms[i].channels);
    JSAMPROW rows = row;
    while (info.next_scanline < 8) jpeg_write_scanlines(&info, &rows, 1);
    jpeg_finish_compress(&info);
    jpeg_destroy_compress(&info);
    for (int p = 0; p < 64; ++p) memcpy(expected + p * 3, forms[i].expected, 3);
    check(bytes, size, "RGB", 8, 8, expected);
    free(bytes);
  }
}

static void tiff_with_a_palette(void **state) {
  (void)state;
  char path[] = "/tmp/ops_image_test_XXXXXX";
  int file = mkstemp(path);
  assert_true(file >= 0);
  TIFF *tiff = TIFFFdOpen(file, path, "w");
  assert_non_null(tiff);
  static uint16_t red[256], green[256], blue[256];
  red[1] = green[2] = 0xFFFF;
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, 3);
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, 1);
  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 8);
  TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 1);
  TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_PALETTE);
  TIFFSetField(tiff, TIFFTAG_COMPRESSION, COMPRESSION_LZW);
  TIFFSetField(tiff, TIFFTAG_COLORMAP, red, green, blue);
  uint8_t row[3] = {1, 0, 2};
  assert_int_equal(TIFFWriteScanline(tiff, row, 0, 0), 1);
  TIFFClose(tiff);
  uint8_t bytes[8192];
  FILE *stream = fopen(path, "rb");
  assert_non_null(stream);
  size_t size = fread(bytes, 1, sizeof bytes, stream);
  fclose(stream);
  remove(path);
  check(bytes, size, "RGB", 1, 3, (uint8_t[]){RED, BLACK, 0, 255, 0});
}

// ---- Damage to the images of the official cases --------------------------------------------

static void answer(const uint8_t *bytes, uint64_t size) {
  test_tensor y;
  ops_error error;
  int32_t status = decode(bytes, size, "RGB", &y, &error);
  assert_true(status == OPS_OK || status == OPS_ERROR_INVALID_ARGUMENT);
  if (status == OPS_OK) test_tensor_finish(&y);
}

static void damage(const case_tensor *image, uint64_t *seed) {
  uint8_t *bytes = malloc(image->size);
  assert_non_null(bytes);
  for (uint64_t size = 0; size < image->size; size += 1 + image->size / 40)
    answer(image->bytes, size);
  for (int round = 0; round < 60; ++round) {
    memcpy(bytes, image->bytes, image->size);
    for (int i = 0; i <= round % 4; ++i) {
      *seed = *seed * 6364136223846793005u + 1442695040888963407u;
      // Headers matter most: half of the hits lie in the first 128 bytes.
      uint64_t range = round % 2 == 0 && image->size > 128 ? 128 : image->size;
      bytes[(*seed >> 33) % range] = (uint8_t)(*seed >> 25);
    }
    answer(bytes, image->size);
  }
  free(bytes);
}

static void damaged_files_end_in_an_answer(void **state) {
  (void)state;
  static case_file file;
  uint64_t seed = 1;
  int images = 0;
  case_file_open(&file, getenv("OPS_ONNX_CASES"));
  for (uint32_t i = 0; i < file.count; ++i) {
    const case_test *test = &file.tests[i];
    if (test->node_count != 1 || test->nodes[0].op.size != strlen("ImageDecoder") ||
        memcmp(test->nodes[0].op.data, "ImageDecoder", test->nodes[0].op.size) != 0)
      continue;
    damage(&test->inputs[0].tensor, &seed);
    ++images;
  }
  case_file_close(&file);
  assert_true(images >= 9);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pnm_in_all_forms),
      cmocka_unit_test(bmp_rows_lie_upside_down),
      cmocka_unit_test(bmp_palettes_and_fields),
      cmocka_unit_test(bmp_runs),
      cmocka_unit_test(broken_files_give_no_pixels),
      cmocka_unit_test(images_beyond_the_limits_are_refused),
      cmocka_unit_test(png_becomes_rgb),
      cmocka_unit_test(jpeg_of_other_colours),
      cmocka_unit_test(tiff_with_a_palette),
      cmocka_unit_test(damaged_files_end_in_an_answer),
  };
  if (getenv("OPS_ONNX_CASES") == NULL) {
    fprintf(stderr, "set OPS_ONNX_CASES to the file that onnx_cases.py has written\n");
    return 2;
  }
  return cmocka_run_group_tests(tests, test_shared_open, test_shared_close);
}
