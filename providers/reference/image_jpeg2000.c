// SPDX-License-Identifier: Apache-2.0
//
// JPEG 2000 by OpenJPEG, code streams and JP2 files. Grey, RGB and YCC, components of any
// precision and subsampling; further components, such as alpha, are dropped.
#include <openjpeg.h>
#include <string.h>

#include "image.h"

static OPJ_SIZE_T read_bytes(void *out, OPJ_SIZE_T size, void *data) {
  ref_image_cursor *in = data;
  uint64_t left = in->size - in->at;
  if (left == 0) return (OPJ_SIZE_T)-1;
  if (size > left) size = left;
  memcpy(out, in->bytes + in->at, size);
  in->at += size;
  return size;
}

static OPJ_OFF_T skip_bytes(OPJ_OFF_T count, void *data) {
  ref_image_cursor *in = data;
  if (count < 0 || (uint64_t)count > in->size - in->at) return -1;
  in->at += (uint64_t)count;
  return count;
}

static OPJ_BOOL seek_bytes(OPJ_OFF_T offset, void *data) {
  ref_image_cursor *in = data;
  if (offset < 0 || (uint64_t)offset > in->size) return OPJ_FALSE;
  in->at = (uint64_t)offset;
  return OPJ_TRUE;
}

static opj_stream_t *open_memory(ref_image_cursor *in) {
  opj_stream_t *stream = opj_stream_default_create(OPJ_TRUE);
  if (stream == NULL) return NULL;
  opj_stream_set_user_data(stream, in, NULL);
  opj_stream_set_user_data_length(stream, in->size);
  opj_stream_set_read_function(stream, read_bytes);
  opj_stream_set_skip_function(stream, skip_bytes);
  opj_stream_set_seek_function(stream, seek_bytes);
  return stream;
}

// A sample of a component at a pixel of the whole image, as 8 bits.
static uint8_t sample(const opj_image_t *from, uint32_t component, uint64_t x, uint64_t y) {
  const opj_image_comp_t *c = &from->comps[component];
  uint64_t column = x / c->dx, row = y / c->dy;
  if (column >= c->w) column = c->w - 1;
  if (row >= c->h) row = c->h - 1;
  int64_t value = c->data[row * c->w + column], most = ((int64_t)1 << c->prec) - 1;
  if (c->sgnd) value += (int64_t)1 << (c->prec - 1);
  value = value < 0 ? 0 : value > most ? most : value;
  return ref_image_scale((uint32_t)value, (uint32_t)most);
}

static uint8_t clamp(double value) {
  return value <= 0 ? 0 : value >= 255 ? 255 : (uint8_t)(value + 0.5);
}

static void from_ycc(uint8_t *pixel) {
  double y = pixel[0], cb = pixel[1] - 128.0, cr = pixel[2] - 128.0;
  pixel[0] = clamp(y + 1.402 * cr);
  pixel[1] = clamp(y - 0.344136 * cb - 0.714136 * cr);
  pixel[2] = clamp(y + 1.772 * cb);
}

static int is_usable(const opj_image_t *from) {
  if (from->numcomps == 0) return 0;
  for (uint32_t i = 0; i < from->numcomps && i < 3; ++i) {
    const opj_image_comp_t *c = &from->comps[i];
    if (c->data == NULL || c->w == 0 || c->h == 0 || c->dx == 0 || c->dy == 0 || c->prec == 0 ||
        c->prec > 31)
      return 0;
  }
  return 1;
}

static void convert(const opj_image_t *from, ref_image *image) {
  int is_rgb = from->numcomps >= 3;
  for (uint64_t y = 0; y < image->height; ++y)
    for (uint64_t x = 0; x < image->width; ++x) {
      uint8_t *pixel = ref_image_row(image, y) + x * 3;
      for (uint32_t c = 0; c < 3; ++c)
        pixel[c] = c == 0 || is_rgb ? sample(from, c, x, y) : pixel[0];
      if (is_rgb && from->color_space == OPJ_CLRSPC_SYCC) from_ycc(pixel);
    }
}

// The header's size is checked before anything is decoded.
static int read_image(opj_codec_t *codec, opj_stream_t *stream, opj_image_t **from,
                      ref_image *image) {
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  if (!opj_setup_decoder(codec, &parameters) || !opj_decoder_set_strict_mode(codec, OPJ_TRUE) ||
      !opj_read_header(stream, codec, from))
    return 0;
  const opj_image_t *header = *from;
  if (header->x1 <= header->x0 || header->y1 <= header->y0 || header->numcomps > 8 ||
      !ref_image_begin(image, header->x1 - header->x0, header->y1 - header->y0))
    return 0;
  if (!opj_decode(codec, stream, *from) || !opj_end_decompress(codec, stream) ||
      !is_usable(*from))
    return 0;
  convert(*from, image);
  return 1;
}

int ref_image_decode_jpeg2000(ref_image *image) {
  ref_image_cursor in = {image->bytes, image->size, 0, 0};
  opj_stream_t *stream = open_memory(&in);
  opj_codec_t *codec =
      opj_create_decompress(image->bytes[0] == 0xFF ? OPJ_CODEC_J2K : OPJ_CODEC_JP2);
  opj_image_t *from = NULL;
  int decoded = stream != NULL && codec != NULL && read_image(codec, stream, &from, image);
  if (from != NULL) opj_image_destroy(from);
  if (codec != NULL) opj_destroy_codec(codec);
  if (stream != NULL) opj_stream_destroy(stream);
  return decoded;
}
