// SPDX-License-Identifier: Apache-2.0
//
// What Conv and ConvTranspose share. See direct_conv.h.
#include "direct_conv.h"

int32_t ref_conv_read_input(ref_prepare *p, ref_conv_state *s) {
  const ref_shape *x = &p->inputs[0];
  RETURN_IF_ERROR(ref_need_rank(p, 0, 3, OPS_MAX_RANK));
  RETURN_IF_ERROR(ref_need_rank(p, 1, x->rank, x->rank));
  s->groups = ref_attr_int(p->kernel, "group", 1);
  s->batch = x->dims[0];
  s->channels = x->dims[1];
  return OPS_OK;
}

int32_t ref_conv_check_bias(const ref_prepare *p, const ref_conv_state *s) {
  if (ref_has(p, 2) && (p->inputs[2].rank != 1 || p->inputs[2].dims[0] != s->filters))
    return ref_refuse(p, "input B: expected the shape [%lld]", (long long)s->filters);
  return OPS_OK;
}

int32_t ref_conv_finish_prepare(ref_prepare *p, ref_conv_state *s) {
  const ref_window *w = &s->window;
  s->taps = ref_count(w->kernel, w->rank);
  s->in_size = ref_count(w->in, w->rank);
  s->out_rows = ref_count(w->out, w->rank - 1);
  int64_t image = ref_count(p->inputs[0].dims + 1, p->inputs[0].rank - 1);
  int64_t weights = ref_count(p->inputs[1].dims, p->inputs[1].rank);
  if (s->taps < 0 || s->in_size < 0 || s->out_rows < 0 || image < 0 || weights < 0)
    return ref_refuse(p, "the shapes are too large");
  s->image_at = ref_reserve_reals(p, image);
  s->weights_at = ref_reserve_reals(p, weights);
  return ref_window_set_output(p, s->batch, s->filters, w);
}

int32_t ref_conv_run(ref_run *run, int64_t rows,
                     void (*body)(void *context, int64_t begin, int64_t end, int32_t worker)) {
  const ref_conv_state *s = run->state;
  const ref_view *weights = &run->inputs[1];
  double *image = (double *)((char *)run->workspace + s->image_at);
  double *decoded = (double *)((char *)run->workspace + s->weights_at);
  int64_t width = s->window.out[s->window.rank - 1];
  ref_conv_job job = {.s = s,
                      .image = image,
                      .weights = decoded,
                      .bias = ref_given(run, 2) ? &run->inputs[2] : NULL,
                      .z = ref_given(run, 3) ? &run->inputs[3] : NULL,
                      .y = &run->outputs[0],
                      .noise = ref_noise_in(run),
                      .pieces = (width + REF_CONV_PIECE - 1) / REF_CONV_PIECE};
  if (job.y->count == 0) return OPS_OK;
  ref_decode_part(weights, 0, weights->dims[0], decoded);
  for (job.n = 0; job.n < s->batch; ++job.n) {
    ref_decode_part(&run->inputs[0], job.n, 1, image);
    ref_parallel(run, rows * job.pieces, 1, body, &job);
  }
  return OPS_OK;
}

int64_t ref_conv_offset(const ref_conv_job *job, const ref_view *view, int64_t filter,
                        int64_t row, int64_t start) {
  const ref_window *w = &job->s->window;
  const int64_t *strides = view->strides;
  int64_t at = job->n * strides[0] + filter * strides[1] + start * strides[view->rank - 1];
  for (int32_t d = w->rank - 2; d >= 0; --d) {
    at += row % w->out[d] * strides[2 + d];
    row /= w->out[d];
  }
  return at;
}

double ref_conv_bias(const ref_conv_job *job, int64_t filter) {
  return job->bias == NULL ? 0 : ref_at(job->bias, filter * job->bias->strides[0]);
}
