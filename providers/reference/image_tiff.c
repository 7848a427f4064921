// SPDX-License-Identifier: Apache-2.0
//
// TIFF by libtiff, first image of the file, through its conversion to 8-bit RGBA. Alpha is
// dropped. The library's messages go nowhere.
#include <stdarg.h>
#include <string.h>
#include <tiffio.h>

#include "image.h"

static tmsize_t read_bytes(thandle_t handle, void *out, tmsize_t size) {
  ref_image_cursor *in = handle;
  uint64_t left = in->at < in->size ? in->size - in->at : 0;
  if ((uint64_t)size > left) size = (tmsize_t)left;
  if (size <= 0) return 0;
  memcpy(out, in->bytes + in->at, (size_t)size);
  in->at += (uint64_t)size;
  return size;
}

static tmsize_t write_bytes(thandle_t handle, void *data, tmsize_t size) {
  (void)handle, (void)data, (void)size;
  return 0;
}

static toff_t seek(thandle_t handle, toff_t offset, int whence) {
  ref_image_cursor *in = handle;
  uint64_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? in->at : in->size;
  in->at = base + offset;
  return in->at;
}

static int close_nothing(thandle_t handle) {
  (void)handle;
  return 0;
}

static toff_t size_of(thandle_t handle) {
  return ((ref_image_cursor *)handle)->size;
}

static int stay_silent(TIFF *tiff, void *data, const char *module, const char *format,
                       va_list arguments) {
  (void)tiff, (void)data, (void)module, (void)format, (void)arguments;
  return 1;  // handled
}

static TIFF *open_memory(ref_image_cursor *in) {
  TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
  if (options == NULL) return NULL;
  TIFFOpenOptionsSetErrorHandlerExtR(options, stay_silent, NULL);
  TIFFOpenOptionsSetWarningHandlerExtR(options, stay_silent, NULL);
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, (tmsize_t)REF_IMAGE_MAX_PIXELS * 4);
  TIFF *tiff = TIFFClientOpenExt("image", "rm", in, read_bytes, write_bytes, seek,
                                 close_nothing, size_of, NULL, NULL, options);
  TIFFOpenOptionsFree(options);
  return tiff;
}

static int read_image(TIFF *tiff, ref_image *image) {
  uint32_t width = 0, height = 0;
  TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width);
  TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height);
  if (!ref_image_begin(image, width, height)) return 0;
  const ops_kernel *kernel = image->kernel;
  uint64_t count = image->width * image->height;
  uint32_t *raster = kernel->api->allocate(kernel->host, count * sizeof *raster, 64);
  image->no_memory = raster == NULL;
  int decoded = raster != NULL && TIFFReadRGBAImageOriented(tiff, width, height, raster,
                                                            ORIENTATION_TOPLEFT, 1) != 0;
  for (uint64_t i = 0; decoded && i < count; ++i) {
    image->pixels[i * 3] = (uint8_t)TIFFGetR(raster[i]);
    image->pixels[i * 3 + 1] = (uint8_t)TIFFGetG(raster[i]);
    image->pixels[i * 3 + 2] = (uint8_t)TIFFGetB(raster[i]);
  }
  kernel->api->free(kernel->host, raster);
  return decoded;
}

int ref_image_decode_tiff(ref_image *image) {
  ref_image_cursor in = {image->bytes, image->size, 0, 0};
  TIFF *tiff = open_memory(&in);
  if (tiff == NULL) return 0;
  int decoded = read_image(tiff, image);
  TIFFClose(tiff);
  return decoded;
}
