// SPDX-License-Identifier: Apache-2.0
//
// Streams and events of mynpu, on a device that makes every command late, so that whoever does
// not wait sees it.
#include <stdlib.h>
#include <time.h>

#include "mynpu_test_util.h"

enum { kCount = 64, kBytes = kCount * sizeof(float) };

typedef struct lanes {
  rig r;
  ops_stream *a, *b;
  ops_event *event;
  void *x, *y;  // kBytes each
} lanes;

static void open_lanes(lanes *l, const char *delay, const char *fail) {
  const char *const options[] = {delay, fail, NULL};
  const float zeros[kCount] = {0};
  rig_open(&l->r, options);
  CHECK(l->r.stream->create(l->r.device, &l->a, &error));
  CHECK(l->r.stream->create(l->r.device, &l->b, &error));
  CHECK(l->r.stream->event_create(l->r.device, &l->event, &error));
  l->x = rig_allocate(&l->r, kBytes);
  l->y = rig_allocate(&l->r, kBytes);
  rig_upload(&l->r, NULL, l->x, zeros, kBytes);
  rig_upload(&l->r, NULL, l->y, zeros, kBytes);
}

static void close_lanes(lanes *l) {
  l->r.stream->destroy(l->a);
  l->r.stream->destroy(l->b);
  l->r.stream->event_destroy(l->event);
  rig_free(&l->r, l->x);
  rig_free(&l->r, l->y);
  rig_close(&l->r);
}

static void fill(float *data, float value) {
  for (int i = 0; i < kCount; ++i) data[i] = value;
}

#define S l.r.stream

static void streams_keep_their_order(void **state) {
  (void)state;
  lanes l;
  static float values[600][kCount];
  float last[kCount];
  open_lanes(&l, "delay_us=0", NULL);
  // More commands than the ring holds: the caller waits for room.
  for (int i = 0; i < 600; ++i) {
    fill(values[i], (float)i);
    rig_upload(&l.r, l.a, l.x, values[i], kBytes);
  }
  rig_download(&l.r, l.a, last, l.x, kBytes);
  CHECK(S->synchronize(l.a, &error));
  assert_true(last[0] == 599 && last[kCount - 1] == 599);
  CHECK(S->query(l.a, &error));
  close_lanes(&l);
}

static void events_order_streams(void **state) {
  (void)state;
  lanes l;
  float up[8][kCount], down[kCount];
  open_lanes(&l, "delay_us=15000", NULL);
  for (int i = 0; i < 8; ++i) {
    fill(up[i], (float)(i + 1));
    rig_upload(&l.r, l.a, l.x, up[i], kBytes);
  }
  CHECK(S->event_record(l.event, l.a, &error));
  CHECK(S->wait(l.b, l.event, &error));
  rig_download(&l.r, l.b, down, l.x, kBytes);  // without the wait: long before the last upload
  assert_int_equal(S->query(l.a, NULL), OPS_ERROR_NOT_READY);
  assert_int_equal(S->query(l.b, NULL), OPS_ERROR_NOT_READY);
  CHECK(S->synchronize(l.b, &error));
  assert_true(down[0] == 8 && down[kCount - 1] == 8);
  CHECK(S->event_query(l.event, &error));
  close_lanes(&l);
}

static void unrecorded_events_are_refused(void **state) {
  (void)state;
  lanes l;
  open_lanes(&l, "delay_us=0", NULL);
  REFUSED(S->wait(l.a, l.event, &error), PRECONDITION, "never recorded");
  REFUSED(S->event_query(l.event, &error), PRECONDITION, "never recorded");
  REFUSED(S->event_synchronize(l.event, &error), PRECONDITION, "never recorded");
  CHECK(S->synchronize(l.a, &error));  // the stream has not been harmed
  close_lanes(&l);
}

static void recording_again_moves_the_point(void **state) {
  (void)state;
  lanes l;
  float up[kCount], down[kCount];
  open_lanes(&l, "delay_us=60000", NULL);
  fill(up, 3);
  CHECK(S->event_record(l.event, l.a, &error));
  CHECK(S->event_synchronize(l.event, &error));
  CHECK(S->event_query(l.event, &error));
  rig_upload(&l.r, l.a, l.x, up, kBytes);
  CHECK(S->event_query(l.event, &error));  // the old point is passed, whatever follows
  CHECK(S->event_record(l.event, l.a, &error));
  assert_int_equal(S->event_query(l.event, NULL), OPS_ERROR_NOT_READY);
  CHECK(S->event_synchronize(l.event, &error));
  rig_download(&l.r, NULL, down, l.x, kBytes);
  assert_true(down[5] == 3);
  close_lanes(&l);
}

// Who waits for a point waits for that one, although the event has moved on; the event may even
// be gone by then.
static void moved_points_are_still_reached(void **state) {
  (void)state;
  lanes l;
  float up[3][kCount], down[kCount];
  ops_event *fleeting;
  open_lanes(&l, "delay_us=3000", NULL);
  for (int i = 0; i < 3; ++i) fill(up[i], (float)(i + 1));
  CHECK(S->event_create(l.r.device, &fleeting, &error));
  rig_upload(&l.r, l.a, l.x, up[0], kBytes);
  CHECK(S->event_record(fleeting, l.a, &error));
  CHECK(S->wait(l.b, fleeting, &error));
  CHECK(S->event_record(fleeting, l.b, &error));  // now a point of the other stream
  CHECK(S->wait(l.a, fleeting, &error));
  rig_upload(&l.r, l.a, l.x, up[1], kBytes);
  CHECK(S->event_record(fleeting, l.a, &error));
  S->event_destroy(fleeting);
  CHECK(S->synchronize(l.a, &error));
  CHECK(S->synchronize(l.b, &error));
  rig_download(&l.r, NULL, down, l.x, kBytes);
  assert_true(down[0] == 2);
  close_lanes(&l);
}

// ---- Failure ----

static void run_op(lanes *l, ops_stream *stream, const char *op, int32_t expected) {
  const shape s[2] = {{1, {kCount}}, {1, {kCount}}};
  void *const inputs[] = {l->x, l->x};
  node_view v;
  prepared_kernel k;
  ops_error error = OPS_ERROR_INIT;
  node_view_fill(&v, op, s, NULL, strcmp(op, "Relu") == 0 ? 1 : 2, NULL, 0);
  CHECK(prepared_kernel_make(&l->r, &v, &k, &error));
  assert_int_equal(prepared_kernel_execute(&k, stream, &v, inputs, l->y, &error), expected);
  if (expected != OPS_OK) assert_non_null(strstr(error.message, "fail_op"));
  l->r.stream->synchronize(stream, NULL);  // nothing may be pending when it goes
  prepared_kernel_destroy(&k);
}

static void failures_stick_and_spread(void **state) {
  (void)state;
  lanes l;
  float ones[kCount], down[kCount];
  ops_event *later;
  open_lanes(&l, "delay_us=1000", "fail_op=Add");
  CHECK(S->event_create(l.r.device, &later, &error));
  fill(ones, 1);
  run_op(&l, l.a, "Relu", OPS_OK);  // another operator works
  CHECK(S->synchronize(l.a, &error));
  rig_upload(&l.r, l.a, l.x, ones, kBytes);
  CHECK(S->event_record(l.event, l.a, &error));
  run_op(&l, l.a, "Add", OPS_OK);  // enqueued: the failure comes later
  REFUSED(S->synchronize(l.a, &error), INTERNAL, "'mynpu_Add' failed on the device");
  REFUSED(S->query(l.a, &error), INTERNAL, "fail_op");
  run_op(&l, l.a, "Relu", OPS_ERROR_INTERNAL);
  const ops_copy nothing = {.struct_size = sizeof nothing};
  REFUSED(S->copy(l.r.device, l.a, &nothing, &error), INTERNAL, "fail_op");
  CHECK(S->event_query(l.event, &error));  // recorded before it
  CHECK(S->event_record(later, l.a, &error));
  REFUSED(S->event_synchronize(later, &error), INTERNAL, "fail_op");
  REFUSED(S->event_query(later, &error), INTERNAL, "fail_op");
  // The other stream is well until it waits for something that failed.
  CHECK(S->wait(l.b, l.event, &error));
  CHECK(S->synchronize(l.b, &error));
  CHECK(S->wait(l.b, later, &error));
  REFUSED(S->synchronize(l.b, &error), INTERNAL, "fail_op");
  // Cancelling does not heal; a new stream does.
  CHECK(S->cancel(l.a, &error));
  REFUSED(S->synchronize(l.a, &error), INTERNAL, "fail_op");
  S->destroy(l.a);
  CHECK(S->create(l.r.device, &l.a, &error));
  run_op(&l, l.a, "Relu", OPS_OK);
  CHECK(S->synchronize(l.a, &error));
  rig_download(&l.r, NULL, down, l.y, kBytes);
  assert_true(down[0] == 1);
  S->event_destroy(later);
  close_lanes(&l);
}

// What stands behind a failure is skipped.
static void work_behind_a_failure_is_skipped(void **state) {
  (void)state;
  lanes l;
  const shape s[2] = {{1, {kCount}}, {1, {kCount}}};
  float ones[kCount], down[kCount];
  node_view v;
  prepared_kernel k;
  open_lanes(&l, "delay_us=100000", "fail_op=Add");
  void *const inputs[] = {l.x, l.x};
  fill(ones, 1);
  node_view_fill(&v, "Add", s, NULL, 2, NULL, 0);
  CHECK(prepared_kernel_make(&l.r, &v, &k, &error));
  CHECK(prepared_kernel_execute(&k, l.a, &v, inputs, l.y, &error));
  rig_upload(&l.r, l.a, l.y, ones, kBytes);  // enqueued before the failure is known
  REFUSED(S->synchronize(l.a, &error), INTERNAL, "fail_op");
  rig_download(&l.r, NULL, down, l.y, kBytes);
  assert_true(down[0] == 0);
  prepared_kernel_destroy(&k);
  close_lanes(&l);
}

static void cancelled_streams_are_usable_again(void **state) {
  (void)state;
  lanes l;
  float up[20][kCount], down[kCount];
  open_lanes(&l, "delay_us=20000", NULL);
  for (int i = 0; i < 20; ++i) {
    fill(up[i], (float)(i + 1));
    rig_upload(&l.r, l.a, l.x, up[i], kBytes);
  }
  CHECK(S->event_record(l.event, l.a, &error));
  CHECK(S->wait(l.b, l.event, &error));
  CHECK(S->cancel(l.a, &error));
  REFUSED(S->event_synchronize(l.event, &error), CANCELLED, "cancelled");
  REFUSED(S->synchronize(l.b, &error), CANCELLED, "cancelled");
  CHECK(S->query(l.a, &error));
  rig_download(&l.r, NULL, down, l.x, kBytes);
  assert_true(down[0] < 20);  // the last one did not come to pass
  rig_upload(&l.r, l.a, l.x, up[19], kBytes);
  CHECK(S->synchronize(l.a, &error));
  rig_download(&l.r, NULL, down, l.x, kBytes);
  assert_true(down[0] == 20);
  CHECK(S->cancel(l.a, &error));  // with nothing pending: nothing happens
  CHECK(S->synchronize(l.a, &error));
  close_lanes(&l);
}

// ---- Captures ----

// y = x * x, recorded; the copies in and out with it.
static ops_capture *capture_square(lanes *l, prepared_kernel *k, node_view *v, const float *in,
                                   float *out) {
  ops_capture *capture = NULL;
  const shape s[2] = {{1, {kCount}}, {1, {kCount}}};
  void *const inputs[] = {l->x, l->x};
  node_view_fill(v, "Mul", s, NULL, 2, NULL, 0);
  CHECK(prepared_kernel_make(&l->r, v, k, &error));
  CHECK(l->r.stream->capture_begin(l->a, &error));
  rig_upload(&l->r, l->a, l->x, in, kBytes);
  CHECK(prepared_kernel_execute(k, l->a, v, inputs, l->y, &error));
  rig_download(&l->r, l->a, out, l->y, kBytes);
  CHECK(l->r.stream->capture_end(l->a, &capture, &error));
  assert_non_null(capture);
  return capture;
}

static void captures_run_when_replayed(void **state) {
  (void)state;
  lanes l;
  node_view v;
  prepared_kernel k;
  float in[kCount], out[kCount] = {0};
  open_lanes(&l, "delay_us=200", NULL);
  ops_capture *capture = capture_square(&l, &k, &v, in, out);
  CHECK(S->synchronize(l.a, &error));
  assert_true(out[0] == 0);  // nothing has run
  for (int i = 1; i < 5; ++i) {
    ops_stream *stream = i % 2 ? l.a : l.b;
    fill(in, (float)i);
    CHECK(S->replay(capture, stream, NULL, 0, 0, &error));
    CHECK(S->synchronize(stream, &error));
    assert_true(out[0] == (float)(i * i) && out[kCount - 1] == (float)(i * i));
  }
  S->capture_destroy(capture);
  prepared_kernel_destroy(&k);
  close_lanes(&l);
}

static void captures_are_rebound(void **state) {
  (void)state;
  lanes l;
  node_view v;
  prepared_kernel k;
  float in[kCount], out[kCount] = {0}, other_in[kCount], other_out[kCount] = {0}, y[kCount];
  open_lanes(&l, "delay_us=0", NULL);
  ops_capture *capture = capture_square(&l, &k, &v, in, out);
  void *z = rig_allocate(&l.r, kBytes);
  fill(in, 2);
  fill(other_in, 3);
  const ops_rebind rebinds[] = {{sizeof(ops_rebind), in, other_in},
                                {sizeof(ops_rebind), out, other_out},
                                {sizeof(ops_rebind), l.y, z}};
  CHECK(S->replay(capture, l.a, rebinds, 3, sizeof rebinds[0], &error));
  CHECK(S->synchronize(l.a, &error));
  assert_true(other_out[0] == 9 && out[0] == 0);
  rig_download(&l.r, NULL, y, l.y, kBytes);
  assert_true(y[0] == 0);  // z was written in its place
  // Rebinding holds for one replay, and is checked.
  CHECK(S->replay(capture, l.a, NULL, 0, 0, &error));
  CHECK(S->synchronize(l.a, &error));
  assert_true(out[0] == 4);
  const ops_rebind wild = {sizeof wild, l.y, (char *)l.y + 1};
  REFUSED(S->replay(capture, l.a, &wild, 1, sizeof wild, &error), INVALID_ARGUMENT,
          "do not lie in one allocation");
  S->capture_destroy(capture);
  rig_free(&l.r, z);
  prepared_kernel_destroy(&k);
  close_lanes(&l);
}

static void captures_are_refused(void **state) {
  (void)state;
  lanes l;
  ops_capture *capture = NULL;
  open_lanes(&l, "delay_us=0", NULL);
  REFUSED(S->capture_end(l.a, &capture, &error), PRECONDITION, "not being captured");
  CHECK(S->capture_begin(l.a, &error));
  REFUSED(S->capture_begin(l.a, &error), PRECONDITION, "already");
  REFUSED(S->event_record(l.event, l.a, &error), PRECONDITION, "kernels and copies only");
  CHECK(S->capture_end(l.a, &capture, &error));
  CHECK(S->capture_begin(l.b, &error));
  REFUSED(S->replay(capture, l.b, NULL, 0, 0, &error), PRECONDITION, "not being captured");
  S->capture_destroy(capture);
  close_lanes(&l);  // with a capture that was never ended
}

// ---- Queues ----

static void queues_are_counted(void **state) {
  (void)state;
  lanes l;
  ops_stream *third = NULL;
  open_lanes(&l, "delay_us=0", NULL);
  REFUSED(S->create(l.r.device, &third, &error), OUT_OF_MEMORY,
          "all 2 queues of mynpu are in use");
  assert_null(third);
  S->destroy(l.a);
  CHECK(S->create(l.r.device, &l.a, &error));
  close_lanes(&l);
}

static void destroy_drains(void **state) {
  (void)state;
  lanes l;
  float up[4][kCount], down[kCount];
  open_lanes(&l, "delay_us=5000", NULL);
  for (int i = 0; i < 4; ++i) {
    fill(up[i], (float)(i + 1));
    rig_upload(&l.r, l.a, l.x, up[i], kBytes);
  }
  S->destroy(l.a);
  rig_download(&l.r, NULL, down, l.x, kBytes);
  assert_true(down[0] == 4);
  CHECK(S->create(l.r.device, &l.a, &error));
  close_lanes(&l);
}

// ---- Arguments of execute ----

static void wrong_arguments_are_refused(void **state) {
  (void)state;
  lanes l;
  const shape s[2] = {{1, {kCount}}, {1, {kCount}}};
  node_view v;
  prepared_kernel k;
  open_lanes(&l, "delay_us=0", NULL);
  void *inputs[] = {l.x, l.x};
  float ordinary[kCount];
  node_view_fill(&v, "Add", s, NULL, 2, NULL, 0);
  CHECK(prepared_kernel_make(&l.r, &v, &k, &error));
#define EXECUTE(stream, output) prepared_kernel_execute(&k, stream, &v, inputs, output, &error)
  CHECK(EXECUTE(l.a, l.y));
  REFUSED(EXECUTE(NULL, l.y), INVALID_ARGUMENT, "on a stream");
  REFUSED(EXECUTE(l.a, (char *)l.y + 4), INVALID_ARGUMENT, "one allocation");
  REFUSED(EXECUTE(l.a, ordinary), INVALID_ARGUMENT, "one allocation");
  REFUSED(EXECUTE(l.a, NULL), INVALID_ARGUMENT, "one allocation");
  inputs[1] = NULL;
  REFUSED(EXECUTE(l.a, l.y), INVALID_ARGUMENT, "one allocation");
  inputs[1] = l.x;
  v.inputs[1].type = NULL;  // execute without an input that was prepared
  REFUSED(EXECUTE(l.a, l.y), INVALID_ARGUMENT, "argument of kind 0");
  v.inputs[1].type = &v.types[1];
  v.node.input_count = 1;
  REFUSED(EXECUTE(l.a, l.y), INVALID_ARGUMENT, "1 inputs and 1 outputs, prepared were 2 and 1");
#undef EXECUTE
  CHECK(S->synchronize(l.a, &error));
  prepared_kernel_destroy(&k);
  close_lanes(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(streams_keep_their_order),
      cmocka_unit_test(events_order_streams),
      cmocka_unit_test(unrecorded_events_are_refused),
      cmocka_unit_test(recording_again_moves_the_point),
      cmocka_unit_test(moved_points_are_still_reached),
      cmocka_unit_test(failures_stick_and_spread),
      cmocka_unit_test(work_behind_a_failure_is_skipped),
      cmocka_unit_test(cancelled_streams_are_usable_again),
      cmocka_unit_test(captures_run_when_replayed),
      cmocka_unit_test(captures_are_rebound),
      cmocka_unit_test(captures_are_refused),
      cmocka_unit_test(queues_are_counted),
      cmocka_unit_test(destroy_drains),
      cmocka_unit_test(wrong_arguments_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
