// SPDX-License-Identifier: Apache-2.0
//
// BMP: 1, 4, 8, 16, 24 and 32 bits, palettes, bit fields, RLE4 and RLE8, all headers since
// OS/2. Alpha is ignored. Layout after Microsoft's BITMAPFILEHEADER and BITMAPINFOHEADER.
#include "image.h"

enum { RGB = 0, RLE8 = 1, RLE4 = 2, BITFIELDS = 3, ALPHA_BITFIELDS = 6 };

typedef struct bmp {
  ref_image *image;
  ref_image_cursor in;
  uint32_t data_at, header_size, bits, compression, colors;
  int top_down;
  uint32_t masks[3];
  uint8_t palette[256][3];
} bmp;

// Sizes of the image, with the sign of the height.
static int read_header(bmp *b, int64_t *width, int64_t *height) {
  b->in.at = 10;
  b->data_at = ref_image_little(&b->in, 4);
  b->header_size = ref_image_little(&b->in, 4);
  int is_os2 = b->header_size == 12;
  if (!is_os2 && (b->header_size < 40 || b->header_size > 4096)) return 0;
  *width = is_os2 ? (int64_t)ref_image_little(&b->in, 2)
                  : (int64_t)(int32_t)ref_image_little(&b->in, 4);
  *height = is_os2 ? (int64_t)ref_image_little(&b->in, 2)
                   : (int64_t)(int32_t)ref_image_little(&b->in, 4);
  ref_image_little(&b->in, 2);
  b->bits = ref_image_little(&b->in, 2);
  if (!is_os2) {
    b->compression = ref_image_little(&b->in, 4);
    b->in.at += 12;
    b->colors = ref_image_little(&b->in, 4);
  }
  return !b->in.failed && *width > 0 && *height != 0;
}

static void read_masks(bmp *b) {
  static const uint32_t masks16[3] = {0x7C00, 0x3E0, 0x1F};
  static const uint32_t masks32[3] = {0xFF0000, 0xFF00, 0xFF};
  b->in.at = 14 + 40;
  for (int c = 0; c < 3; ++c) {
    if (b->compression == BITFIELDS || b->compression == ALPHA_BITFIELDS)
      b->masks[c] = ref_image_little(&b->in, 4);
    else
      b->masks[c] = b->bits == 16 ? masks16[c] : masks32[c];
  }
}

static int read_palette(bmp *b) {
  int entry = b->header_size == 12 ? 3 : 4;
  uint32_t most = 1u << b->bits, count = b->colors == 0 ? most : b->colors;
  if (count > most) return 0;
  b->in.at = 14 + (uint64_t)b->header_size;
  for (uint32_t i = 0; i < count; ++i) {
    for (int c = 2; c >= 0; --c) b->palette[i][c] = (uint8_t)ref_image_byte(&b->in);
    if (entry == 4) ref_image_byte(&b->in);
  }
  return !b->in.failed;
}

static uint8_t *row_of(const bmp *b, uint64_t line) {
  return ref_image_row(b->image, b->top_down ? line : b->image->height - 1 - line);
}

static void set_index(const bmp *b, uint64_t line, uint64_t column, uint32_t index) {
  uint8_t *pixel = row_of(b, line) + column * 3;
  for (int c = 0; c < 3; ++c) pixel[c] = b->palette[index & 0xFF][c];
}

// ---- Plain rows ----------------------------------------------------------------------------

static void read_direct(bmp *b, uint8_t *pixel) {
  if (b->bits == 24) {
    for (int c = 2; c >= 0; --c) pixel[c] = (uint8_t)ref_image_byte(&b->in);
    return;
  }
  uint32_t value = ref_image_little(&b->in, (int)b->bits / 8);
  for (int c = 0; c < 3; ++c) {
    uint32_t mask = b->masks[c];
    int shift = mask != 0 ? __builtin_ctz(mask) : 0;
    pixel[c] = mask == 0 ? 0 : ref_image_scale((value & mask) >> shift, mask >> shift);
  }
}

static int read_rows(bmp *b) {
  uint64_t width = b->image->width, stride = (width * b->bits + 31) / 32 * 4;
  for (uint64_t line = 0; line < b->image->height && !b->in.failed; ++line) {
    b->in.at = b->data_at + line * stride;
    uint32_t byte = 0;
    for (uint64_t x = 0; x < width; ++x) {
      if (b->bits > 8) {
        read_direct(b, row_of(b, line) + x * 3);
        continue;
      }
      uint64_t bit = x * b->bits % 8;
      if (bit == 0) byte = ref_image_byte(&b->in);
      set_index(b, line, x, byte >> (8 - b->bits - bit) & ((1u << b->bits) - 1));
    }
  }
  return !b->in.failed;
}

// ---- Run lengths ---------------------------------------------------------------------------

typedef struct pen {
  uint64_t x, line;
} pen;

static void put(const bmp *b, pen *p, uint32_t index) {
  if (p->x < b->image->width && p->line < b->image->height) set_index(b, p->line, p->x, index);
  ++p->x;
}

static void put_run(bmp *b, pen *p, uint32_t count, uint32_t value) {
  for (uint32_t i = 0; i < count; ++i)
    put(b, p, b->compression == RLE8 ? value : i % 2 == 0 ? value >> 4 : value & 15);
}

static void put_literal(bmp *b, pen *p, uint32_t count) {
  uint32_t bytes = b->compression == RLE8 ? count : (count + 1) / 2, value = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (b->compression == RLE8 || i % 2 == 0) value = ref_image_byte(&b->in);
    put(b, p, b->compression == RLE8 ? value : i % 2 == 0 ? value >> 4 : value & 15);
  }
  if (bytes % 2 == 1) ref_image_byte(&b->in);
}

static int read_runs(bmp *b) {
  pen p = {0, 0};
  b->in.at = b->data_at;
  while (!b->in.failed) {
    uint32_t count = ref_image_byte(&b->in), value = ref_image_byte(&b->in);
    if (count > 0) {
      put_run(b, &p, count, value);
    } else if (value == 0) {
      p = (pen){0, p.line + 1};
    } else if (value == 1) {
      return !b->in.failed;
    } else if (value == 2) {
      p.x += ref_image_byte(&b->in);
      p.line += ref_image_byte(&b->in);
    } else {
      put_literal(b, &p, value);
    }
  }
  return 0;
}

int ref_image_decode_bmp(ref_image *image) {
  bmp b = {.image = image, .in = {image->bytes, image->size, 0, 0}};
  int64_t width, height;
  if (!read_header(&b, &width, &height)) return 0;
  b.top_down = height < 0;
  int indexed = b.bits == 1 || b.bits == 4 || b.bits == 8;
  int direct = b.bits == 16 || b.bits == 24 || b.bits == 32;
  int fields = b.compression == BITFIELDS || b.compression == ALPHA_BITFIELDS;
  int runs = (b.compression == RLE8 && b.bits == 8) || (b.compression == RLE4 && b.bits == 4);
  if (!(b.compression == RGB && (indexed || direct)) && !runs &&
      !(fields && (b.bits == 16 || b.bits == 32)))
    return 0;
  if (direct) read_masks(&b);
  if (indexed && !read_palette(&b)) return 0;
  if (!ref_image_begin(image, (uint64_t)width, (uint64_t)(height < 0 ? -height : height)))
    return 0;
  return runs ? read_runs(&b) : read_rows(&b);
}
