// SPDX-License-Identifier: Apache-2.0
//
// JPEG by libjpeg-turbo: baseline and progressive, the accurate integer transform, smooth
// upsampling of chroma. CMYK is converted without a profile; Adobe writes it inverted. A file
// that ends early is broken. libjpeg leaves by longjmp on errors.
#include <setjmp.h>
#include <stdio.h>
// jpeglib.h needs stdio.h.
#include <jerror.h>
#include <jpeglib.h>

#include "image.h"

// A progressive file can ask for any number of passes over the image.
#define MAX_SCANS 200

typedef struct failure {
  struct jpeg_error_mgr base;  // first: libjpeg hands it back
  jmp_buf exit;
  struct jpeg_progress_mgr progress;
} failure;

static void leave(j_common_ptr info) {
  longjmp(((failure *)info->err)->exit, 1);
}

static void on_message(j_common_ptr info, int level) {
  int code = info->err->msg_code;
  if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER)) leave(info);
}

static void check_scans(j_common_ptr info) {
  if (((j_decompress_ptr)info)->input_scan_number > MAX_SCANS) leave(info);
}

static void from_cmyk(const uint8_t *cmyk, int inverted, uint64_t width, uint8_t *rgb) {
  for (uint64_t x = 0; x < width; ++x)
    for (uint64_t c = 0; c < 3; ++c) {
      uint32_t ink = cmyk[x * 4 + c], black = cmyk[x * 4 + 3];
      if (!inverted) {
        ink = 255 - ink;
        black = 255 - black;
      }
      rgb[x * 3 + c] = ref_image_scale(ink * black, 255 * 255);
    }
}

static int read_image(struct jpeg_decompress_struct *info, ref_image *image) {
  jpeg_mem_src(info, image->bytes, image->size);
  jpeg_read_header(info, TRUE);
  int is_cmyk = info->num_components == 4;
  info->out_color_space = is_cmyk ? JCS_CMYK : JCS_RGB;
  if (!ref_image_begin(image, info->image_width, info->image_height)) return 0;
  jpeg_start_decompress(info);
  JSAMPARRAY line =
      (*info->mem->alloc_sarray)((j_common_ptr)info, JPOOL_IMAGE, info->output_width * 4, 1);
  while (info->output_scanline < info->output_height) {
    uint8_t *row = ref_image_row(image, info->output_scanline);
    JSAMPROW direct = row;
    jpeg_read_scanlines(info, is_cmyk ? line : &direct, 1);
    if (is_cmyk) from_cmyk(line[0], info->saw_Adobe_marker, image->width, row);
  }
  jpeg_finish_decompress(info);
  return 1;
}

int ref_image_decode_jpeg(ref_image *image) {
  struct jpeg_decompress_struct info = {0};
  failure failed = {.progress = {.progress_monitor = check_scans}};
  volatile int decoded = 0;
  info.err = jpeg_std_error(&failed.base);
  failed.base.error_exit = leave;
  failed.base.emit_message = on_message;
  if (setjmp(failed.exit) == 0) {
    jpeg_create_decompress(&info);
    info.progress = &failed.progress;
    decoded = read_image(&info, image);
  }
  jpeg_destroy_decompress(&info);
  return decoded;
}
