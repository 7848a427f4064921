// SPDX-License-Identifier: Apache-2.0
//
// What streams and captures share: commands and where they stand. See queue.c.
#ifndef OC_FAULTS_QUEUE_H_
#define OC_FAULTS_QUEUE_H_

#include "faulty.h"

typedef struct point point;
typedef struct command command;
struct command {
  command *next;
  int32_t (*run)(ops_stream *stream, const command *self, ops_error *error);
  faulty_call call;
  void *handles[kFaultyInputs + 1];  // as the host gave them: inputs, then the output
  int32_t kinds[kFaultyInputs + 1];
  ops_copy copy;
  point *point;
  ops_event *event;  // that a wait is for
};

// A place in a stream, reached once.
struct point {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  int32_t references;  // the event and every command
  int32_t reached;
  ops_error failure;  // of the stream, when it was reached
};

struct ops_event {
  ops_device *device;
  point *point;  // NULL: never recorded
};

struct ops_stream {
  ops_device *device;
  const faulty_mode *mode;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  pthread_t worker;
  int32_t started, stopping, busy;
  command *first, **end;
  ops_error failure;  // sticky
  ops_capture *capture;
};

struct ops_capture {
  ops_device *device;
  command *first, **end;
};

// NULL, and the error filled: no memory.
command *faulty_command_create(int32_t (*run)(ops_stream *, const command *, ops_error *),
                               ops_error *error);
// Takes the command over.
int32_t faulty_append(ops_stream *stream, command *item, ops_error *error);
int32_t faulty_refuse_captured(const ops_stream *stream, ops_error *error);

int32_t faulty_capture_begin(ops_stream *stream, ops_error *error);
int32_t faulty_capture_end(ops_stream *stream, ops_capture **out_capture, ops_error *error);
void faulty_capture_destroy(ops_capture *capture);
int32_t faulty_capture_replay(ops_capture *capture, ops_stream *stream,
                              const ops_rebind *rebinds, uint64_t count, uint64_t stride,
                              ops_error *error);

#endif  // OC_FAULTS_QUEUE_H_
