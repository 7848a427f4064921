// SPDX-License-Identifier: Apache-2.0
//
// What a profile says: times, bytes and arithmetic per node and per operator, against the peaks
// of the devices, with advice. `op_profile.json` and the page are written from it.
#ifndef RT_PROFILE_REPORT_H_
#define RT_PROFILE_REPORT_H_

#include "profile/profile.h"

// ---- What the profile itself does not know
// ---------------------------------------------------

// A device and what it can do at most: measured if it could be, else as it states itself; 0 is
// unknown.
typedef struct rt_report_device {
  const char *provider;
  const char *name;
  const char *architecture;
  double peak_flops;             // per second, float32
  double peak_bytes_per_second;  // read and written
  double stated_flops;           // what the provider states
  double stated_bytes_per_second;
  int32_t measured;  // 1: the peaks are
} rt_report_device;

// A node of the model and where it stands.
typedef struct rt_report_node {
  const char *name;
  const char *reason;  // why it runs on no more preferred provider; "" if it does
  const char *before;  // the node whose output it reads first; "" for none
  const char *after;   // the first node that reads its output
} rt_report_node;

typedef struct rt_report_memory {
  const char *device;
  int32_t kind;  // OPS_MEMORY_…
  uint64_t peak;
  uint64_t planned;  // of the plan used last: with reuse, without, and the largest live set
  uint64_t naive;
  uint64_t lower_bound;
} rt_report_memory;

// Everything is borrowed. `nodes` are sorted by name.
typedef struct rt_report_context {
  const char *model;
  const rt_report_device *devices;
  uint32_t device_count;
  const rt_report_node *nodes;
  uint64_t node_count;
  const rt_report_memory *memory;
  uint32_t memory_count;
  uint64_t plans_built;
  uint64_t plans_evicted;
} rt_report_context;

// ---- The report -----------------------------------------------------------------------------

// Of a set of durations, in nanoseconds.
typedef struct rt_report_time {
  uint64_t count;
  uint64_t sum;
  uint64_t minimum;
  uint64_t median;
  uint64_t p95;
} rt_report_time;

// A counter of a provider, over the launches that reported it.
typedef struct rt_report_counter {
  const char *name;
  const char *unit;
  uint64_t count;
  double sum;
} rt_report_counter;

#define RT_REPORT_MAX_COUNTERS 32u

// All launches of one node, or of one operator on one provider. Sums are over all launches.
typedef struct rt_report_row {
  const char *name;  // "" in the table of operators
  const char *op;
  const char *origins;
  const char *provider;
  int32_t kind;         // KERNEL, COPY, REORDER
  int32_t memory_from;  // COPY: of the first launch
  int32_t memory_to;
  uint32_t nodes;  // how many it stands for
  rt_report_time time;
  // Of all launches, each taken as long as its node's median: rates and shares are of this
  // time, so that a launch that the machine interrupted does not count.
  double typical_ns;
  double share;  // of the typical time of all rows, 0 … 1
  uint64_t bytes_read;
  uint64_t bytes_written;
  double flops;  // or RT_PROFILE_FLOPS_UNKNOWN
  uint64_t prepares;
  uint64_t prepare_ns;
  rt_report_counter *counters;
  uint32_t counter_count;
} rt_report_row;

typedef struct rt_advice {
  const char *rule;    // name of the rule, stable
  const char *action;  // what to do, static
  double share;        // of the time, that it is about; the largest come first
  char evidence[512];  // what was found, in numbers and names
} rt_advice;

typedef struct rt_report {
  rt_profile *profile;
  rt_report_context context;
  rt_report_device *devices;  // of the context, no peak lower than what a node attains
  rt_report_time runs;
  uint64_t first_run_ns;
  rt_report_row *nodes;  // the largest share first
  uint64_t node_count;
  rt_report_row *operators;
  uint64_t operator_count;
  uint64_t launch_ns;  // sum over all launches
  uint64_t plan_ns;    // planning and preparing, over all runs
  uint64_t own_ns;     // what taking the profile took, over all runs
  uint64_t prepares;
  uint64_t late_prepares;  // in runs after the first
  uint64_t late_plan_ns;
  rt_advice *advice;
  uint32_t advice_count;
  uint32_t advice_capacity;
} rt_report;

// Of all spans so far. The profile must not be cleared before the report is finished.
int32_t rt_report_init(rt_report *report, rt_profile *profile, const rt_report_context *context,
                       ops_error *error);
void rt_report_finish(rt_report *report);  // also after a failure

// Flops per byte of operands; a NaN if either is unknown.
double rt_report_intensity(const rt_report_row *row);
// The device of a row; NULL for the host and for those that the context does not list.
const rt_report_device *rt_report_device_of(const rt_report *report, const rt_report_row *row);
// Share of the peak that the row attains: of the arithmetic's if its intensity lets it reach
// that, else of the memory's. A NaN if unknown.
double rt_report_peak_share(const rt_report *report, const rt_report_row *row);
// The node of that name, or NULL.
const rt_report_node *rt_report_find_node(const rt_report *report, const char *name);
// NULL: none of that name.
const rt_report_counter *rt_report_find_counter(const rt_report_row *row, const char *name);

// ---- advice.c ----
// Fills report->advice by the rules.
int32_t rt_report_advise(rt_report *report, ops_error *error);

// ---- Files, which appear whole or not at all ----
// op_profile.json, by op_profile.schema.json.
int32_t rt_report_write_json(const rt_report *report, const char *path, ops_error *error);
// A page that needs nothing else.
int32_t rt_report_write_page(const rt_report *report, const char *path, ops_error *error);

#endif  // RT_PROFILE_REPORT_H_
