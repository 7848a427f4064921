// SPDX-License-Identifier: Apache-2.0
//
// Decoders of image files: bytes from outside to rows of RGB.
#ifndef REFERENCE_IMAGE_H_
#define REFERENCE_IMAGE_H_

#include "kernel.h"

// Larger images are refused, whatever the file says.
#define REF_IMAGE_MAX_SIDE 65536
#define REF_IMAGE_MAX_PIXELS ((uint64_t)1 << 27)

typedef struct ref_image {
  const ops_kernel *kernel;
  const uint8_t *bytes;  // the file
  uint64_t size;
  uint64_t width, height;
  uint8_t *pixels;  // height * width * 3, in the host's memory; NULL before ref_image_begin
  int too_large;    // why ref_image_begin failed
  int no_memory;
} ref_image;

// Fixes the size of the image and gets memory for its pixels, all 0. 0 on failure.
int ref_image_begin(ref_image *image, uint64_t width, uint64_t height);
uint8_t *ref_image_row(const ref_image *image, uint64_t row);
void ref_image_end(ref_image *image);

// The value of `bits` bits that lie in [0, most], as one of 8 bits, rounded.
uint8_t ref_image_scale(uint32_t value, uint32_t most);

// A position in the file; reading past the end gives 0 and sets `failed`.
typedef struct ref_image_cursor {
  const uint8_t *bytes;
  uint64_t size, at;
  int failed;
} ref_image_cursor;

uint32_t ref_image_byte(ref_image_cursor *cursor);
uint32_t ref_image_little(ref_image_cursor *cursor, int bytes);

// Each decodes the whole file; 0 if it is broken or needs what is not supported.
int ref_image_decode_bmp(ref_image *image);
int ref_image_decode_jpeg(ref_image *image);
int ref_image_decode_jpeg2000(ref_image *image);
int ref_image_decode_png(ref_image *image);
int ref_image_decode_pnm(ref_image *image);
int ref_image_decode_tiff(ref_image *image);
int ref_image_decode_webp(ref_image *image);

#endif  // REFERENCE_IMAGE_H_
