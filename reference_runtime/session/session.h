// SPDX-License-Identifier: Apache-2.0
//
// Private to session/: what a session holds.
#ifndef RT_SESSION_SESSION_H_
#define RT_SESSION_SESSION_H_

#include <opsrt/opsrt.h>
#include <stdatomic.h>

#include "execution/executor.h"
#include "graph/graph.h"
#include "model/model.h"
#include "partition/partition.h"
#include "profile/profile.h"
#include "session/load_clock.h"
#include "validation/validation.h"

// What an instance's profile callback needs to know.
typedef struct rt_session_sink {
  opsrt_session *session;
  int32_t device;
  const char *name;  // "" until the device is open
} rt_session_sink;

// What a device attains at most; 0: it could not be measured.
typedef struct rt_peaks {
  int32_t known;  // 1: measuring was tried
  double flops;   // per second, float32
  double bytes_per_second;
} rt_peaks;

struct opsrt_session {
  rt_model *model;
  rt_graph *graph;
  rt_device *devices[RT_MAX_DEVICES];
  rt_session_sink sinks[RT_MAX_DEVICES];
  uint32_t device_count;
  ops_validation_sink validation;  // of the layers between it and its providers
  ops_library_wrapper wrapper;
  ops_packed_store *packed;
  rt_partition *partition;
  rt_profile *profile;
  rt_peaks peaks[RT_MAX_DEVICES];
  atomic_int measuring;  // 1: what devices report is not of a run
  rt_executor *executor;
  opsrt_info *inputs;
  opsrt_info *outputs;
  opsrt_placement *placements;
  uint64_t placement_count;
  uint64_t *hits;     // of each pass
  uint64_t *pass_ns;  // of each pass
  rt_load_clock clock;
  opsrt_pass_note *notes;
  uint64_t note_count, note_capacity;
  rt_bump bump;
};

// ---- model_source.c ----
// Reads, checks and infers. Both outputs are the caller's; the phases go to `clock`.
int32_t rt_session_load(const opsrt_model_source *source, rt_load_clock *clock,
                        rt_model **out_model, rt_graph **out_graph, ops_error *error);

// ---- place.c ----
// Places a graph on the session's devices; may replace nodes of it. `expand_functions`: every
// function, not only those that nobody takes.
int32_t rt_session_place(const opsrt_session *session, rt_graph *graph,
                         int32_t expand_functions, rt_partition **out_partition,
                         ops_error *error);

// ---- optimize.c ----
// Runs the passes over session->graph. `keep_opsets`: the result is to be saved.
int32_t rt_session_optimize(opsrt_session *session, const opsrt_session_options *options,
                            int keep_opsets, ops_error *error);
// Applies the providers' rewrite rules to session->graph, unless the options say not to.
int32_t rt_session_rewrite(opsrt_session *session, const opsrt_session_options *options,
                           ops_error *error);

// ---- info.c ----
// Fills session->inputs, outputs and placements.
int32_t rt_session_describe(opsrt_session *session, ops_error *error);

// ---- peaks.c ----
// Takes about a second of a slow device. No run may be in progress.
void rt_session_measure_peaks(opsrt_session *session, uint32_t device, rt_peaks *out_peaks);

// ---- inputs.c ----
// The inputs of one run, in the order of the graph. Finish also after a failure.
typedef struct rt_session_inputs {
  rt_run_input *items;
  ops_value **strings;  // made from string inputs, by input
  uint32_t count;
  rt_bump bump;
} rt_session_inputs;
// `data_needed` 0: values without data are accepted (warming up).
int32_t rt_session_inputs_init(rt_session_inputs *inputs, const opsrt_session *session,
                               const opsrt_value *values, uint64_t value_count, int data_needed,
                               ops_error *error);
void rt_session_inputs_finish(rt_session_inputs *inputs);
// The pieces of it that binding needs, too.
int32_t rt_session_find_input(const opsrt_session *session, const char *name,
                              uint32_t *out_index, ops_error *error);
int32_t rt_session_check_tensor(const opsrt_session *session, uint32_t index,
                                const opsrt_value *value, ops_error *error);
// The default of an input; INVALID_ARGUMENT if it has none.
int32_t rt_session_default(const opsrt_session *session, uint32_t index, opsrt_value *out_value,
                           ops_error *error);
int32_t rt_session_check_symbols(const opsrt_session *session, const rt_run_input *items,
                                 rt_bump *bump, ops_error *error);

// ---- cancel.c ----
// What may end a run with these options (NULL: none): `storage`, filled now, or NULL.
const rt_interrupt *rt_session_interrupt(const opsrt_run_options *options,
                                         rt_interrupt *storage);

// ---- result.c ----
// Takes over what `outputs` own.
int32_t rt_session_result(const opsrt_session *session, rt_run_output *outputs,
                          opsrt_result **out_result, ops_error *error);

// ---- locate.c ----
// The folder of installed providers beside the running program, into `buffer`; NULL if there is
// none, which means the loader's own.
const char *rt_session_provider_dir(char *buffer, uint64_t size);

#endif  // RT_SESSION_SESSION_H_
