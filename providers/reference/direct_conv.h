// SPDX-License-Identifier: Apache-2.0
//
// What Conv and ConvTranspose share: sums over [batch, channels, in…] in double, whose weights
// and one image at a time are decoded into the workspace. Work items are pieces of output rows.
#ifndef REFERENCE_DIRECT_CONV_H_
#define REFERENCE_DIRECT_CONV_H_

#include "activation.h"
#include "window.h"

#define REF_CONV_PIECE 256  // outputs of a row in an item

typedef struct ref_conv_state {
  ref_window window;
  int64_t batch, channels, filters, groups;
  int64_t group_channels, group_filters;
  int64_t taps;       // of the kernel: product of its dimensions
  int64_t in_size;    // of one channel
  int64_t out_rows;   // of one output channel: product of all but the last dimension
  uint64_t image_at;  // in the workspace
  uint64_t weights_at;
  ref_activation activation;  // of a fused operator
} ref_conv_state;

typedef struct ref_conv_job {
  const ref_conv_state *s;
  const double *image;
  const double *weights;
  const ref_view *bias;  // NULL: none
  const ref_view *z;     // FusedConv: what is added; NULL: nothing
  const ref_view *y;
  const ref_noise *noise;
  int64_t n;       // image
  int64_t pieces;  // of an output row
} ref_conv_job;

// Ranks of X and W; attribute group, batch and channels.
int32_t ref_conv_read_input(ref_prepare *prepare, ref_conv_state *out_state);
// B, if given, has one number per filter.
int32_t ref_conv_check_bias(const ref_prepare *prepare, const ref_conv_state *state);
// Once the window and all counts are known: sizes, workspace and the output's shape.
int32_t ref_conv_finish_prepare(ref_prepare *prepare, ref_conv_state *state);

// Runs `body` on every image, over `rows` output rows of each, in pieces; the context of the
// body is the job.
int32_t ref_conv_run(ref_run *run, int64_t rows,
                     void (*body)(void *context, int64_t begin, int64_t end, int32_t worker));
// Where the output of the job's image lies for a filter, a row of it and a place in the row, in
// a view of the output's shape.
int64_t ref_conv_offset(const ref_conv_job *job, const ref_view *view, int64_t filter,
                        int64_t row, int64_t start);
// The bias of a filter; 0 if there is none.
double ref_conv_bias(const ref_conv_job *job, int64_t filter);

#endif  // REFERENCE_DIRECT_CONV_H_
