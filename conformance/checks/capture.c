// SPDX-License-Identifier: Apache-2.0
//
// Check `capture`: execute is recorded once, with nothing run, and replayed a hundred times:
// with the trial's inputs and others in turn, and every third time with all memory rebound to a
// second set of arguments, while the first stays untouched. Outputs of the first replays are
// judged; later ones must repeat their bits where the definition says that runs do.
#include <stdlib.h>
#include <string.h>

#include "checks/check.h"
#include "checks/side.h"
#include "ops_support/error.h"

#define REPLAYS 100
#define MAX_REBINDS (OC_CASE_MAX_TENSORS + OC_NODE_MAX_OUTPUTS + 1)

// Two sides, the trial's inputs and others, with memory each; the first one is recorded.
typedef struct film {
  oc_trial *trial;
  const ops_stream_api *api;
  ops_stream *stream;
  oc_side *sides[2];
  ops_capture *capture;
  ops_rebind rebinds[MAX_REBINDS];
  uint64_t rebind_count;
} film;

static bool can_capture(const oc_trial *trial) {
  const oc_target *target = &trial->bench->candidate;
  const ops_stream_api *api = target->provider->stream;
  if (!target->streams[0] || !api->capture_begin || !api->replay) return false;
  if (!(trial->kernel.def->flags & OPS_KERNEL_CAPTURABLE)) return false;
  for (size_t i = 0; i < trial->kernel.output_count; ++i) {
    if (trial->kernel.outputs[i].mode != OPS_SHAPE_KNOWN) return false;
  }
  return true;
}

// ---- Recording ------------------------------------------------------------------------------

static int32_t record(film *film, ops_error *error) {
  oc_launch *launch = film->sides[0]->own.launch;
  OPS_RETURN_IF_ERROR(film->api->capture_begin(film->stream, error));
  const int32_t status = oc_launch_enqueue(launch, film->stream, error);
  const int32_t end =
      film->api->capture_end(film->stream, &film->capture, status == OPS_OK ? error : NULL);
  if (status != OPS_OK) return status;
  if (end != OPS_OK) return end;
  return film->api->synchronize(film->stream, error);
}

static bool outputs_hold_poison(oc_side *side, const char *when) {
  ops_error error = OPS_ERROR_INIT;
  const oc_launch *launch = side->own.launch;
  for (size_t i = 0; i < side->own.kernel.output_count; ++i) {
    const uint64_t size = launch->outputs[i].size;
    char *bytes = malloc(size + 1), *poison = malloc(size + 1);
    bool same = bytes && poison && oc_block_read(&launch->outputs[i], bytes, &error) == OPS_OK;
    if (same) oc_block_poison(poison, size, launch->poison);
    if (same) same = memcmp(bytes, poison, size) == 0;
    free(bytes);
    free(poison);
    if (!same) return oc_side_end(side, "output %zu was written %s", i, when);
  }
  return true;
}

// ---- Rebinding ------------------------------------------------------------------------------

static void rebind(film *film, const oc_block *from, const oc_block *to) {
  if (from->size == 0 || from->handle == to->handle) return;
  film->rebinds[film->rebind_count++] = (ops_rebind){
      .struct_size = sizeof(ops_rebind), .captured = from->handle, .replacement = to->handle};
}

static void rebind_all(film *film) {
  const oc_launch *from = film->sides[0]->own.launch, *to = film->sides[1]->own.launch;
  for (size_t i = 0; i < from->kernel->inputs->count; ++i) {
    rebind(film, &from->inputs[i], &to->inputs[i]);
  }
  for (size_t i = 0; i < from->kernel->output_count; ++i) {
    rebind(film, &from->outputs[i], &to->outputs[i]);
  }
  rebind(film, &from->workspace, &to->workspace);
}

// ---- Replaying ------------------------------------------------------------------------------

static bool replay(film *film, oc_side *side, bool rebound) {
  ops_error error = OPS_ERROR_INIT;
  int32_t status =
      film->api->replay(film->capture, film->stream, rebound ? film->rebinds : NULL,
                        rebound ? film->rebind_count : 0, sizeof(ops_rebind), &error);
  if (status == OPS_OK) status = film->api->synchronize(film->stream, &error);
  return status == OPS_OK || oc_side_fail(side, "replay", status, &error);
}

// Puts the inputs of `contents` into the memory of `place`, replays and judges. `number` of the
// replay.
static bool show(film *film, int contents, int place, int number) {
  oc_side *side = film->sides[contents], *where = film->sides[place];
  oc_side *elsewhere = film->sides[1 - place];
  ops_error error = OPS_ERROR_INIT;
  const unsigned poison = (unsigned)number;
  int32_t status = oc_launch_load(where->own.launch, &side->own.inputs, poison, &error);
  if (status == OPS_OK) {
    status = oc_launch_load(elsewhere->own.launch, &elsewhere->own.inputs, poison, &error);
  }
  if (status != OPS_OK) return oc_side_fail(side, "writing the inputs", status, &error);
  if (!replay(film, side, place == 1)) return false;
  oc_launch *own = side->own.launch;
  side->own.launch = where->own.launch;
  const bool good = oc_side_judge(side);
  side->own.launch = own;
  return good && outputs_hold_poison(elsewhere, "by a replay whose memory was another");
}

static bool show_all(film *film) {
  for (int i = 0; i < REPLAYS; ++i) {
    if (!show(film, i % 2, film->rebind_count > 0 && i % 3 == 2, i)) return false;
  }
  return true;
}

static bool make_and_show(film *film) {
  ops_error error = OPS_ERROR_INIT;
  for (int i = 0; i < 2; ++i) {
    oc_side_borrow(film->sides[i]);
    if (!oc_side_open(film->sides[i], OC_PLACE_END) || !oc_side_load(film->sides[i], 0)) {
      return false;
    }
  }
  const int32_t status = record(film, &error);
  if (status != OPS_OK) return oc_side_fail(film->sides[0], "capturing", status, &error);
  if (!film->capture) return oc_side_end(film->sides[0], "capture_end gave no capture");
  if (!outputs_hold_poison(film->sides[0], "while its run was only to be captured"))
    return false;
  rebind_all(film);
  return show_all(film);
}

bool oc_check_capture(oc_trial *trial) {
  if (!can_capture(trial)) return true;
  oc_target *target = &trial->bench->candidate;
  film *film = calloc(1, sizeof *film);
  if (!film) return oc_trial_end(trial, OC_STATUS_NOT_RUN, OC_CHECK_HARNESS, "no memory");
  film->trial = trial;
  film->api = target->provider->stream;
  film->stream = target->streams[0];
  bool differ = false, good = true;
  for (int i = 0; i < 2 && good; ++i) {
    film->sides[i] = oc_side_create(trial, OC_RUN_REPLAY, OC_CHECK_CAPTURE);
    good = film->sides[i] != NULL;
  }
  if (good) good = oc_side_draw(film->sides[1], &differ);
  if (good) good = make_and_show(film);
  if (film->capture) film->api->capture_destroy(film->capture);
  for (int i = 0; i < 2; ++i) oc_side_destroy(film->sides[i]);
  free(film);
  return good;
}
