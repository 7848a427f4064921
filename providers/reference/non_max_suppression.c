// SPDX-License-Identifier: Apache-2.0
//
// NonMaxSuppression: for every batch entry and class, boxes in order of falling score (equal
// scores: lower index first) are kept unless they overlap a kept one by more than the
// threshold. Boxes whose score is less than the score threshold are left out.
#include <math.h>

#include "dense.h"
#include "operators.h"

enum { BOXES, SCORES, MOST, OVERLAP, LEAST };

typedef struct nms_state {
  uint64_t boxes_at, scores_at, order_at, kept_at;
  int32_t centered;
} nms_state;

static int32_t check_scalars(const ref_prepare *p) {
  for (uint64_t i = MOST; i <= LEAST; ++i)
    if (ref_has(p, i) && ref_count(p->inputs[i].dims, p->inputs[i].rank) != 1)
      return ref_refuse(p, "input %s: expected one number", ref_input_name(p->kernel, i));
  return OPS_OK;
}

static int32_t prepare(ref_prepare *p) {
  nms_state *s = p->state;
  RETURN_IF_ERROR(ref_need_rank(p, BOXES, 3, 3));
  RETURN_IF_ERROR(ref_need_rank(p, SCORES, 3, 3));
  RETURN_IF_ERROR(ref_need_small(p, SCORES));
  const int64_t *boxes = p->inputs[BOXES].dims, *scores = p->inputs[SCORES].dims;
  if (boxes[2] != 4 || scores[0] != boxes[0] || scores[2] != boxes[1])
    return ref_refuse(p,
                      "inputs boxes and scores: expected the shapes [N, B, 4] and "
                      "[N, C, B]");
  RETURN_IF_ERROR(check_scalars(p));
  s->centered = ref_attr_int(p->kernel, "center_point_box", 0) != 0;
  int64_t kept[3] = {scores[0], scores[1], scores[2]};
  s->boxes_at = ref_reserve_input(p, BOXES);
  s->scores_at = ref_reserve_input(p, SCORES);
  s->order_at = ref_reserve_reals(p, 2 * boxes[1]);
  s->kept_at = ref_reserve_reals(p, ref_count(kept, 3));
  p->outputs[0].by_execute = 1;
  p->outputs[0].rank = 2;
  return OPS_OK;
}

typedef struct box {
  double low[2], high[2];
} box;

static box make_box(const nms_state *s, const double *b) {
  if (s->centered)
    return (box){{b[0] - b[2] / 2, b[1] - b[3] / 2}, {b[0] + b[2] / 2, b[1] + b[3] / 2}};
  return (box){{fmin(b[0], b[2]), fmin(b[1], b[3])}, {fmax(b[0], b[2]), fmax(b[1], b[3])}};
}

static int overlaps(const nms_state *s, const double *first, const double *second,
                    double threshold) {
  box a = make_box(s, first), b = make_box(s, second);
  double common = 1, size_a = 1, size_b = 1;
  for (int i = 0; i < 2; ++i) {
    common *= fmax(fmin(a.high[i], b.high[i]) - fmax(a.low[i], b.low[i]), 0);
    size_a *= a.high[i] - a.low[i];
    size_b *= b.high[i] - b.low[i];
  }
  if (!(size_a > 0 && size_b > 0 && common > 0)) return 0;
  return common / (size_a + size_b - common) > threshold;
}

// Sorts indices by falling score, stably: merges ever longer runs.
static void sort_by_score(int64_t *order, int64_t n, int64_t *spare, const double *score) {
  for (int64_t run = 1; run < n; run *= 2) {
    for (int64_t start = 0; start < n; start += 2 * run) {
      int64_t middle = start + run < n ? start + run : n;
      int64_t end = middle + run < n ? middle + run : n, i = start, j = middle;
      for (int64_t k = start; k < end; ++k) {
        int left = i < middle && (j >= end || !(score[order[j]] > score[order[i]]));
        spare[k] = left ? order[i++] : order[j++];
      }
    }
    for (int64_t k = 0; k < n; ++k) order[k] = spare[k];
  }
}

typedef struct nms_job {
  const nms_state *s;
  int64_t boxes, most;
  double overlap, least;
  int64_t *order;
} nms_job;

// The kept boxes of one class, in order; returns how many.
static int64_t suppress(const nms_job *job, const double *boxes, const double *score,
                        int64_t *kept) {
  int64_t n = 0, count = 0;
  for (int64_t i = 0; i < job->boxes; ++i)
    if (score[i] >= job->least) job->order[n++] = i;
  sort_by_score(job->order, n, job->order + job->boxes, score);
  for (int64_t i = 0; i < n && count < job->most; ++i) {
    int keep = 1;
    for (int64_t k = 0; keep && k < count; ++k)
      keep = !overlaps(job->s, boxes + 4 * job->order[i], boxes + 4 * kept[k], job->overlap);
    if (keep) kept[count++] = job->order[i];
  }
  return count;
}

// The kept boxes of each class follow one another; -1 ends those of a class that keeps fewer
// than all.
static int64_t suppress_all(ref_run *run, const nms_job *job) {
  const nms_state *s = run->state;
  const ref_view *scores = &run->inputs[SCORES];
  const double *box = ref_input_reals(run, BOXES, s->boxes_at);
  const double *score = ref_input_reals(run, SCORES, s->scores_at);
  int64_t *kept = ref_ints(run, s->kept_at), total = 0;
  for (int64_t i = 0; i < scores->dims[0] * scores->dims[1]; ++i) {
    int64_t *own = kept + i * job->boxes;
    int64_t count =
        suppress(job, box + i / scores->dims[1] * job->boxes * 4, score + i * job->boxes, own);
    if (count < job->boxes) own[count] = -1;
    total += count;
  }
  return total;
}

static int32_t execute(ref_run *run) {
  const nms_state *s = run->state;
  const ref_view *scores = &run->inputs[SCORES];
  nms_job job = {s, scores->dims[2], 0, 0, -INFINITY, ref_ints(run, s->order_at)};
  if (ref_given(run, MOST)) job.most = ref_int_at(&run->inputs[MOST], 0);
  if (ref_given(run, OVERLAP)) job.overlap = ref_at(&run->inputs[OVERLAP], 0);
  if (ref_given(run, LEAST)) job.least = ref_at(&run->inputs[LEAST], 0);
  int64_t rows = scores->count > 0 ? suppress_all(run, &job) : 0, row = 0;
  RETURN_IF_ERROR(ref_set_output(run, 0, 2, (int64_t[]){rows, 3}));
  const ref_view *y = &run->outputs[0];
  const int64_t *kept = ref_ints(run, s->kept_at);
  for (int64_t i = 0; rows > 0 && i < scores->dims[0] * scores->dims[1]; ++i)
    for (int64_t k = 0; k < job.boxes && kept[i * job.boxes + k] >= 0; ++k) {
      int64_t index[3] = {i / scores->dims[1], i % scores->dims[1], kept[i * job.boxes + k]};
      ref_store_int(y, row++ * y->strides[0], y->strides[1], 3, index);
    }
  return OPS_OK;
}

const ref_op ref_non_max_suppression = {sizeof(nms_state), prepare, execute, NULL, NULL};
