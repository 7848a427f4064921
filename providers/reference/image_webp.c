// SPDX-License-Identifier: Apache-2.0
//
// WebP by libwebp. Alpha is dropped, not blended; of an animation there is no image.
#include <webp/decode.h>

#include "image.h"

int ref_image_decode_webp(ref_image *image) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(image->bytes, image->size, &features) != VP8_STATUS_OK ||
      features.has_animation || features.width <= 0 || features.height <= 0)
    return 0;
  uint64_t width = (uint64_t)features.width, height = (uint64_t)features.height;
  if (!ref_image_begin(image, width, height)) return 0;
  return WebPDecodeRGBInto(image->bytes, image->size, image->pixels, width * height * 3,
                           (int)(width * 3)) != NULL;
}
