// SPDX-License-Identifier: Apache-2.0
//
// Check `order`: what streams promise, with the host out of the way. Inputs arrive by copies on
// the stream, results leave by copies on it, and the host waits once, at the end:
//
//   one stream    copy in A, execute, copy out, copy in B, execute, copy out
//   two streams   run A; copy in B on the one, execute on the other behind an event, copy out
//                 on the first behind another event
//   in flight     copy in A, execute, copy out, destroy the stream
//
// Something slow stands at the head of each queue. Descriptors are spoilt as soon as execute
// has returned: they are borrowed for the call.
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "checks/check.h"
#include "checks/side.h"
#include "ops_support/error.h"

#define SLOW_BYTES ((size_t)1 << 21)
#define SLOW_COPIES 4

// Host memory that copies go from and to, for one set of inputs.
typedef struct freight {
  oc_side *side;
  void *out[OC_NODE_MAX_OUTPUTS];  // of the outputs' whole blocks
} freight;

typedef struct yard {
  const ops_stream_api *api;
  ops_device *device;
  char *slow[2];  // what is copied to keep a queue busy
  freight a, b;   // the trial's inputs, and others
} yard;

static int32_t copy_block(const yard *yard, ops_stream *stream, oc_block *block, void *host,
                          bool in, ops_error *error) {
  if (block->size == 0) return OPS_OK;
  const ops_copy copy = {.struct_size = sizeof copy,
                         .source = in ? host : block->handle,
                         .source_offset = in ? 0 : block->offset,
                         .target = in ? block->handle : host,
                         .target_offset = in ? block->offset : 0,
                         .size = block->size,
                         .source_kind = in ? OPS_MEMORY_HOST : block->memory_kind,
                         .target_kind = in ? block->memory_kind : OPS_MEMORY_HOST};
  return yard->api->copy(yard->device, stream, &copy, error);
}

static int32_t keep_busy(const yard *yard, ops_stream *stream, ops_error *error) {
  const ops_copy copy = {.struct_size = sizeof copy,
                         .source = yard->slow[0],
                         .target = yard->slow[1],
                         .size = SLOW_BYTES};
  for (int i = 0; i < SLOW_COPIES; ++i) {
    OPS_RETURN_IF_ERROR(yard->api->copy(yard->device, stream, &copy, error));
  }
  return OPS_OK;
}

static int32_t copy_in(const yard *yard, oc_launch *launch, const freight *from,
                       ops_stream *stream, ops_error *error) {
  const oc_inputs *inputs = &from->side->own.inputs;
  for (size_t i = 0; i < inputs->count; ++i) {
    if (!inputs->items[i].present) continue;
    OPS_RETURN_IF_ERROR(
        copy_block(yard, stream, &launch->inputs[i], inputs->items[i].data, true, error));
  }
  return OPS_OK;
}

static int32_t copy_out(const yard *yard, oc_launch *launch, const freight *to,
                        ops_stream *stream, ops_error *error) {
  for (size_t i = 0; i < launch->kernel->output_count; ++i) {
    OPS_RETURN_IF_ERROR(
        copy_block(yard, stream, &launch->outputs[i], to->out[i], false, error));
  }
  return OPS_OK;
}

// Enqueues, then spoils everything that was lent for the call, and puts it back.
static int32_t execute(oc_launch *launch, ops_stream *stream, ops_error *error) {
  oc_launch *kept = malloc(sizeof *kept);
  if (!kept) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for a launch");
  memcpy(kept, launch, sizeof *kept);
  const int32_t status = oc_launch_enqueue(launch, stream, error);
  memset(launch->input_strides, 0x7f, sizeof launch->input_strides);
  memset(launch->output_strides, 0x7f, sizeof launch->output_strides);
  memset(launch->output_dims_host, 0x7f, sizeof launch->output_dims_host);
  memset(launch->input_args, 0x7f, sizeof launch->input_args);
  memset(launch->output_args, 0x7f, sizeof launch->output_args);
  const struct timespec pause = {0, 100000};
  nanosleep(&pause, NULL);
  memcpy(launch->input_strides, kept->input_strides, sizeof launch->input_strides);
  memcpy(launch->output_strides, kept->output_strides, sizeof launch->output_strides);
  memcpy(launch->output_dims_host, kept->output_dims_host, sizeof launch->output_dims_host);
  memcpy(launch->input_args, kept->input_args, sizeof launch->input_args);
  memcpy(launch->output_args, kept->output_args, sizeof launch->output_args);
  free(kept);
  return status;
}

// ---- The three ways -------------------------------------------------------------------------

static int32_t one_stream(const yard *yard, oc_launch *launch, ops_error *error) {
  ops_stream *stream = launch->kernel->target->streams[0];
  OPS_RETURN_IF_ERROR(keep_busy(yard, stream, error));
  OPS_RETURN_IF_ERROR(copy_in(yard, launch, &yard->a, stream, error));
  OPS_RETURN_IF_ERROR(execute(launch, stream, error));
  OPS_RETURN_IF_ERROR(copy_out(yard, launch, &yard->a, stream, error));
  OPS_RETURN_IF_ERROR(copy_in(yard, launch, &yard->b, stream, error));
  OPS_RETURN_IF_ERROR(execute(launch, stream, error));
  OPS_RETURN_IF_ERROR(copy_out(yard, launch, &yard->b, stream, error));
  return yard->api->synchronize(stream, error);
}

// Inputs and outputs are A's: work on B that does not wait shows them.
static int32_t leave_a_behind(const yard *yard, oc_launch *launch, ops_stream *stream,
                              ops_error *error) {
  OPS_RETURN_IF_ERROR(copy_in(yard, launch, &yard->a, stream, error));
  OPS_RETURN_IF_ERROR(execute(launch, stream, error));
  return yard->api->synchronize(stream, error);
}

static int32_t two_streams(const yard *yard, oc_launch *launch, ops_error *error) {
  ops_stream *first = launch->kernel->target->streams[0];
  ops_stream *second = launch->kernel->target->streams[1];
  ops_event *arrived = NULL, *done = NULL;
  int32_t status = leave_a_behind(yard, launch, first, error);
  if (status == OPS_OK) status = yard->api->event_create(yard->device, &arrived, error);
  if (status == OPS_OK) status = yard->api->event_create(yard->device, &done, error);
  if (status == OPS_OK) status = keep_busy(yard, first, error);
  if (status == OPS_OK) status = copy_in(yard, launch, &yard->b, first, error);
  if (status == OPS_OK) status = yard->api->event_record(arrived, first, error);
  if (status == OPS_OK) status = yard->api->wait(second, arrived, error);
  if (status == OPS_OK) status = execute(launch, second, error);
  if (status == OPS_OK) status = yard->api->event_record(done, second, error);
  if (status == OPS_OK) status = yard->api->wait(first, done, error);
  if (status == OPS_OK) status = copy_out(yard, launch, &yard->b, first, error);
  const int32_t end = yard->api->synchronize(first, status == OPS_OK ? error : NULL);
  yard->api->synchronize(second, NULL);
  yard->api->event_destroy(done);
  yard->api->event_destroy(arrived);
  return status != OPS_OK ? status : end;
}

// A device may be out of streams: *out_done then stays false.
static int32_t in_flight(const yard *yard, oc_launch *launch, bool *out_done,
                         ops_error *error) {
  ops_stream *stream = NULL;
  if (yard->api->create(yard->device, &stream, NULL) != OPS_OK) return OPS_OK;
  int32_t status = keep_busy(yard, stream, error);
  if (status == OPS_OK) status = copy_in(yard, launch, &yard->a, stream, error);
  if (status == OPS_OK) status = execute(launch, stream, error);
  if (status == OPS_OK) status = copy_out(yard, launch, &yard->a, stream, error);
  yard->api->destroy(stream);
  *out_done = status == OPS_OK;
  return status;
}

// ---- Judging --------------------------------------------------------------------------------

// Before a way: memory holds the inputs that the way does not bring, and poison for outputs, so
// that nothing is right by what was there before.
static bool settle(oc_side *side, const yard *yard, const freight *other) {
  ops_error error = OPS_ERROR_INIT;
  oc_launch *launch = side->own.launch;
  int32_t status = oc_launch_load(launch, &other->side->own.inputs, 2, &error);
  for (size_t i = 0; i < launch->kernel->inputs->count && status == OPS_OK; ++i) {
    status = oc_block_protect(&launch->inputs[i], OC_ACCESS_WRITE, &error);
  }
  for (size_t i = 0; i < launch->kernel->output_count; ++i) {
    if (yard->a.out[i]) oc_block_poison(yard->a.out[i], launch->outputs[i].size, 1);
    if (yard->b.out[i]) oc_block_poison(yard->b.out[i], launch->outputs[i].size, 1);
  }
  return status == OPS_OK || oc_side_fail(side, "memory", status, &error);
}

// What was copied out is written to the outputs' blocks and judged as if it had been read
// there.
static bool judge(oc_side *side, oc_launch *launch, const freight *freight, oc_run_kind run) {
  ops_error error = OPS_ERROR_INIT;
  oc_trial *own = &freight->side->own;
  for (size_t i = 0; i < launch->kernel->output_count; ++i) {
    if (launch->outputs[i].size == 0) continue;
    const int32_t status = oc_block_write(&launch->outputs[i], freight->out[i], &error);
    if (status != OPS_OK) return oc_side_fail(side, "writing back", status, &error);
  }
  oc_launch *mine = own->launch;
  own->launch = launch;
  own->run = run;
  const bool good = oc_side_judge(freight->side);
  own->launch = mine;
  return good;
}

static bool run_ways(oc_side *side, const yard *yard) {
  ops_error error = OPS_ERROR_INIT;
  oc_launch *launch = side->own.launch;
  bool done = false;
  side->own.run = OC_RUN_ORDER;
  if (!settle(side, yard, &yard->b)) return false;
  int32_t status = one_stream(yard, launch, &error);
  if (status != OPS_OK) return oc_side_fail(side, "a call", status, &error);
  if (!judge(side, launch, &yard->a, OC_RUN_ORDER) ||
      !judge(side, launch, &yard->b, OC_RUN_ORDER)) {
    return false;
  }
  side->own.run = OC_RUN_CROSS;
  if (!settle(side, yard, &yard->a)) return false;
  if (launch->kernel->target->streams[0] != launch->kernel->target->streams[1]) {
    status = two_streams(yard, launch, &error);
    if (status != OPS_OK) return oc_side_fail(side, "a call", status, &error);
    if (!judge(side, launch, &yard->b, OC_RUN_CROSS)) return false;
  }
  side->own.run = OC_RUN_FLIGHT;
  if (!settle(side, yard, &yard->b)) return false;
  status = in_flight(yard, launch, &done, &error);
  if (status != OPS_OK) return oc_side_fail(side, "a call", status, &error);
  return !done || judge(side, launch, &yard->a, OC_RUN_FLIGHT);
}

// ---- Entry ----------------------------------------------------------------------------------

static bool has_plain_outputs(const oc_kernel *kernel) {
  for (size_t i = 0; i < kernel->output_count; ++i) {
    if (kernel->outputs[i].mode != OPS_SHAPE_KNOWN) return false;
  }
  return true;
}

static bool make_freight(freight *freight, oc_side *side, const oc_launch *launch) {
  freight->side = side;
  for (size_t i = 0; i < launch->kernel->output_count; ++i) {
    freight->out[i] = malloc(launch->outputs[i].size + 1);
    if (!freight->out[i]) return false;
  }
  return true;
}

static bool run(oc_side *launcher, oc_side *same, oc_side *other) {
  oc_target *target = &launcher->trial->bench->candidate;
  yard yard = {.api = target->provider->stream, .device = target->device};
  bool good = oc_side_open(launcher, OC_PLACE_END);
  if (good) {
    yard.slow[0] = calloc(1, SLOW_BYTES);
    yard.slow[1] = calloc(1, SLOW_BYTES);
    good = yard.slow[0] && yard.slow[1] && make_freight(&yard.a, same, launcher->own.launch) &&
           make_freight(&yard.b, other, launcher->own.launch) && run_ways(launcher, &yard);
  }
  for (size_t i = 0; i < OC_NODE_MAX_OUTPUTS; ++i) {
    free(yard.a.out[i]);
    free(yard.b.out[i]);
  }
  free(yard.slow[0]);
  free(yard.slow[1]);
  return good;
}

bool oc_check_order(oc_trial *trial) {
  oc_side *sides[3] = {NULL};
  bool differ = false, good = true;
  if (!trial->bench->candidate.streams[0] || !has_plain_outputs(&trial->kernel)) return true;
  for (int i = 0; i < 3 && good; ++i) {
    sides[i] = oc_side_create(trial, OC_RUN_ORDER, OC_CHECK_ORDER);
    good = sides[i] != NULL;
    if (good) oc_side_borrow(sides[i]);
  }
  if (good) good = oc_side_draw(sides[2], &differ);
  if (good && differ) good = run(sides[0], sides[1], sides[2]);
  for (int i = 0; i < 3; ++i) oc_side_destroy(sides[i]);
  return good;
}
