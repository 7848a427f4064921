// SPDX-License-Identifier: Apache-2.0
//
// PNG by libpng. Palettes and grey become RGB, 16 bits become 8 by rounding, alpha is dropped,
// gamma and colour profiles are ignored. libpng leaves by longjmp on errors.
#include <png.h>
#include <setjmp.h>
#include <string.h>

#include "image.h"

static void fail(png_structp png, png_const_charp message) {
  (void)message;
  png_longjmp(png, 1);
}

static void warn(png_structp png, png_const_charp message) {
  (void)png;
  (void)message;
}

static void read_bytes(png_structp png, png_bytep out, size_t size) {
  ref_image_cursor *in = png_get_io_ptr(png);
  if (in->size - in->at < size) png_error(png, "the file ends early");
  memcpy(out, in->bytes + in->at, size);
  in->at += size;
}

static int read_image(png_structp png, png_infop info, ref_image *image) {
  png_read_info(png, info);
  uint32_t width = png_get_image_width(png, info), height = png_get_image_height(png, info);
  if (!ref_image_begin(image, width, height)) return 0;
  png_set_expand(png);
  png_set_scale_16(png);
  png_set_strip_alpha(png);
  png_set_gray_to_rgb(png);
  int passes = png_set_interlace_handling(png);
  png_read_update_info(png, info);
  if (png_get_rowbytes(png, info) != (size_t)width * 3) return 0;
  for (int pass = 0; pass < passes; ++pass)
    for (uint64_t y = 0; y < height; ++y) png_read_row(png, ref_image_row(image, y), NULL);
  png_read_end(png, NULL);
  return 1;
}

int ref_image_decode_png(ref_image *image) {
  ref_image_cursor in = {image->bytes, image->size, 0, 0};
  png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, NULL, fail, warn);
  png_infop info = png != NULL ? png_create_info_struct(png) : NULL;
  volatile int decoded = 0;
  if (info != NULL && setjmp(png_jmpbuf(png)) == 0) {
    png_set_read_fn(png, &in, read_bytes);
    // Sizes are checked by ref_image_begin, which tells why; libpng's own limit is far above.
    png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_chunk_malloc_max(png, 1 << 24);
    decoded = read_image(png, info, image);
  }
  png_destroy_read_struct(&png, &info, NULL);
  return decoded;
}
