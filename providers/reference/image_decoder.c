// SPDX-License-Identifier: Apache-2.0
//
// ImageDecoder. The first bytes tell the format. What cannot be decoded gives an image of no
// pixels, as the specification has it; a file that asks for more than the limits of image.h is
// refused. Grey is (299 R + 587 G + 114 B) / 1000 of ITU-R BT.601, in 16-bit fixed point.
#include <string.h>

#include "image.h"
#include "string_operators.h"

// ---- What decoders share -------------------------------------------------------------------

int ref_image_begin(ref_image *image, uint64_t width, uint64_t height) {
  if (width == 0 || height == 0 || image->pixels != NULL) return 0;
  image->too_large = width > REF_IMAGE_MAX_SIDE || height > REF_IMAGE_MAX_SIDE ||
                     width * height > REF_IMAGE_MAX_PIXELS;
  image->width = width;
  image->height = height;
  if (image->too_large) return 0;
  const ops_kernel *kernel = image->kernel;
  image->pixels = kernel->api->allocate(kernel->host, width * height * 3, 64);
  image->no_memory = image->pixels == NULL;
  if (image->no_memory) return 0;
  memset(image->pixels, 0, width * height * 3);
  return 1;
}

uint8_t *ref_image_row(const ref_image *image, uint64_t row) {
  return image->pixels + row * image->width * 3;
}

void ref_image_end(ref_image *image) {
  image->kernel->api->free(image->kernel->host, image->pixels);
  image->pixels = NULL;
}

uint8_t ref_image_scale(uint32_t value, uint32_t most) {
  if (value >= most) return 255;
  return (uint8_t)(((uint64_t)value * 255 + most / 2) / most);
}

uint32_t ref_image_byte(ref_image_cursor *c) {
  if (c->at < c->size) return c->bytes[c->at++];
  c->failed = 1;
  return 0;
}

uint32_t ref_image_little(ref_image_cursor *c, int bytes) {
  uint32_t value = 0;
  for (int i = 0; i < bytes; ++i) value |= ref_image_byte(c) << 8 * i;
  return value;
}

// ---- Formats -------------------------------------------------------------------------------

typedef struct format {
  uint64_t offset, size;
  const char *magic;
  int (*decode)(ref_image *image);
} format;

#define MAGIC(offset, text, decode) \
  { offset, sizeof text - 1, text, decode }

static const format formats[] = {
    MAGIC(0, "BM", ref_image_decode_bmp),
    MAGIC(0, "\xFF\xD8\xFF", ref_image_decode_jpeg),
    MAGIC(0, "\0\0\0\x0CjP  \r\n\x87\n", ref_image_decode_jpeg2000),
    MAGIC(0, "\xFF\x4F\xFF\x51", ref_image_decode_jpeg2000),
    MAGIC(0, "\x89PNG\r\n\x1A\n", ref_image_decode_png),
    MAGIC(0, "II*\0", ref_image_decode_tiff),
    MAGIC(0, "MM\0*", ref_image_decode_tiff),
    MAGIC(0, "II+\0", ref_image_decode_tiff),
    MAGIC(0, "MM\0+", ref_image_decode_tiff),
    MAGIC(8, "WEBP", ref_image_decode_webp),
    MAGIC(0, "P1", ref_image_decode_pnm),
    MAGIC(0, "P2", ref_image_decode_pnm),
    MAGIC(0, "P3", ref_image_decode_pnm),
    MAGIC(0, "P4", ref_image_decode_pnm),
    MAGIC(0, "P5", ref_image_decode_pnm),
    MAGIC(0, "P6", ref_image_decode_pnm),
};

static int decode(ref_image *image) {
  for (size_t i = 0; i < sizeof formats / sizeof *formats; ++i) {
    const format *f = &formats[i];
    if (image->size >= f->offset + f->size &&
        memcmp(image->bytes + f->offset, f->magic, f->size) == 0)
      return f->decode(image);
  }
  return 0;
}

// ---- The operator --------------------------------------------------------------------------

typedef enum pixel_format { RGB, BGR, GRAYSCALE, PIXEL_FORMAT_COUNT } pixel_format;

typedef struct decoder_state {
  int32_t format;
  uint64_t bytes_at;
} decoder_state;

static int32_t prepare(ref_prepare *p) {
  static const char *const names[PIXEL_FORMAT_COUNT] = {"RGB", "BGR", "Grayscale"};
  decoder_state *s = p->state;
  RETURN_IF_ERROR(ref_need_rank(p, 0, 1, 1));
  for (s->format = 0; s->format < PIXEL_FORMAT_COUNT; ++s->format)
    if (ref_attr_is(p->kernel, "pixel_format", names[s->format], "RGB")) break;
  if (s->format == PIXEL_FORMAT_COUNT)
    return ref_refuse(p, "attribute pixel_format: expected RGB, BGR or Grayscale");
  s->bytes_at = ref_reserve(p, (uint64_t)p->inputs[0].dims[0]);
  p->outputs[0].by_execute = 1;
  p->outputs[0].rank = 3;
  return OPS_OK;
}

static void convert(int32_t format, const uint8_t *rgb, uint8_t *out) {
  if (format == GRAYSCALE) {
    out[0] = (uint8_t)((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16);
    return;
  }
  for (int c = 0; c < 3; ++c) out[c] = rgb[format == RGB ? c : 2 - c];
}

static int32_t write_image(ref_run *run, const ref_image *image) {
  const decoder_state *s = run->state;
  int64_t channels = s->format == GRAYSCALE ? 1 : 3;
  int64_t dims[3] = {(int64_t)image->height, (int64_t)image->width, channels};
  RETURN_IF_ERROR(ref_set_output(run, 0, 3, dims));
  const ref_view *y = &run->outputs[0];
  for (int64_t i = 0; i < dims[0]; ++i)
    for (int64_t j = 0; j < dims[1]; ++j) {
      uint8_t pixel[3];
      convert(s->format, ref_image_row(image, (uint64_t)i) + j * 3, pixel);
      ref_move_bits(8, y->data, y->origin + i * y->strides[0] + j * y->strides[1],
                    y->strides[2], pixel, 0, 1, channels);
    }
  return OPS_OK;
}

static int32_t execute(ref_run *run) {
  const decoder_state *s = run->state;
  const ref_view *x = &run->inputs[0];
  uint8_t *bytes = (uint8_t *)run->workspace + s->bytes_at;
  if (x->count > 0) ref_move_bits(8, bytes, 0, 1, x->data, x->origin, x->strides[0], x->count);
  ref_image image = {.kernel = run->kernel, .bytes = bytes, .size = (uint64_t)x->count};
  int32_t status;
  if (decode(&image))
    status = write_image(run, &image);
  else if (image.too_large)
    status = ref_refuse(run,
                        "input encoded_stream: an image of %llu x %llu pixels; at most %d "
                        "on a side and %llu in all are decoded",
                        (unsigned long long)image.width, (unsigned long long)image.height,
                        REF_IMAGE_MAX_SIDE, (unsigned long long)REF_IMAGE_MAX_PIXELS);
  else if (image.no_memory)
    status = ref_fail(run->kernel, run->error, OPS_ERROR_OUT_OF_MEMORY,
                      "no memory for an image of %llu x %llu pixels",
                      (unsigned long long)image.width, (unsigned long long)image.height);
  else
    status = write_image(run, &(ref_image){.kernel = run->kernel});
  ref_image_end(&image);
  return status;
}

const ref_op ref_image_decoder = {sizeof(decoder_state), prepare, execute, NULL, NULL};
