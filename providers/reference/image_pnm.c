// SPDX-License-Identifier: Apache-2.0
//
// PBM, PGM and PPM (P1 to P6), as netpbm's manual pages define them: plain and raw, samples of
// up to 16 bits, comments in the header.
#include "image.h"

static int is_space(uint32_t c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

static uint32_t skip_blank(ref_image_cursor *in) {
  uint32_t c = ref_image_byte(in);
  while (!in->failed && (is_space(c) || c == '#')) {
    if (c == '#')
      while (!in->failed && c != '\n' && c != '\r') c = ref_image_byte(in);
    c = ref_image_byte(in);
  }
  return c;
}

// A decimal number and the one byte behind it.
static uint32_t read_number(ref_image_cursor *in) {
  uint32_t c = skip_blank(in), value = 0;
  if (c < '0' || c > '9') in->failed = 1;
  while (!in->failed && c >= '0' && c <= '9') {
    if (value < 100000000) value = value * 10 + (c - '0');
    if (in->at == in->size) return value;
    c = ref_image_byte(in);
  }
  return value;
}

typedef struct pnm {
  ref_image_cursor in;
  int plain, channels;
  uint32_t most;  // 0: bits, 1 is black
} pnm;

static uint8_t read_sample(pnm *p) {
  if (p->most == 0) {
    uint32_t bit = skip_blank(&p->in);
    if (bit != '0' && bit != '1') p->in.failed = 1;
    return bit == '1' ? 0 : 255;
  }
  uint32_t value = p->plain ? read_number(&p->in) : ref_image_byte(&p->in);
  if (!p->plain && p->most > 255) value = value << 8 | ref_image_byte(&p->in);
  if (value > p->most) p->in.failed = 1;
  return ref_image_scale(value, p->most);
}

static void read_bits(pnm *p, uint8_t *row, uint64_t width) {
  uint32_t byte = 0;
  for (uint64_t x = 0; x < width; ++x) {
    if (x % 8 == 0) byte = ref_image_byte(&p->in);
    uint8_t value = byte >> (7 - x % 8) & 1 ? 0 : 255;
    for (int c = 0; c < 3; ++c) row[x * 3 + (uint64_t)c] = value;
  }
}

static void read_row(pnm *p, uint8_t *row, uint64_t width) {
  for (uint64_t x = 0; x < width; ++x)
    for (uint64_t c = 0; c < 3; ++c)
      row[x * 3 + c] = c > 0 && p->channels == 1 ? row[x * 3] : read_sample(p);
}

int ref_image_decode_pnm(ref_image *image) {
  pnm p = {.in = {image->bytes, image->size, 2, 0}};
  int kind = image->bytes[1] - '0', bits = kind == 1 || kind == 4;
  p.plain = kind <= 3;
  p.channels = kind == 3 || kind == 6 ? 3 : 1;
  uint32_t width = read_number(&p.in), height = read_number(&p.in);
  if (!bits) p.most = read_number(&p.in);
  if (p.in.failed || (!bits && (p.most == 0 || p.most > 65535)) ||
      !ref_image_begin(image, width, height))
    return 0;
  for (uint64_t y = 0; y < image->height && !p.in.failed; ++y) {
    if (kind == 4)
      read_bits(&p, ref_image_row(image, y), image->width);
    else
      read_row(&p, ref_image_row(image, y), image->width);
  }
  return !p.in.failed;
}
