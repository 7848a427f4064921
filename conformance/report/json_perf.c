// SPDX-License-Identifier: Apache-2.0
//
// Performance in the JSON report. What was not measured is left out.
#include "report/json_perf.h"

static void put_if(oc_json_out *json, const char *name, double value) {
  if (value != 0) oc_json_out_number(json, name, value);
}

static void put_estimate(oc_json_out *json, const char *name,
                         const oc_perf_estimate *estimate) {
  if (!estimate->given) return;
  oc_json_out_open(json, name, '{');
  oc_json_out_number(json, "value", estimate->value);
  oc_json_out_number(json, "low", estimate->low);
  oc_json_out_number(json, "high", estimate->high);
  oc_json_out_close(json);
}

static void put_side(oc_json_out *json, const char *name, const oc_perf_side *side) {
  if (!side->present) return;
  oc_json_out_open(json, name, '{');
  for (int state = 0; state < OC_PERF_STATE_COUNT; ++state) {
    const oc_perf_times *times = &side->times[state];
    if (times->samples == 0) continue;
    oc_json_out_open(json, oc_perf_state_name((oc_perf_state)state), '{');
    oc_json_out_integer(json, "samples", (int64_t)times->samples);
    oc_json_out_number(json, "minimum_ms", times->minimum_ms);
    oc_json_out_number(json, "median_ms", times->median_ms);
    oc_json_out_number(json, "p95_ms", times->p95_ms);
    oc_json_out_number(json, "spread", times->spread);
    oc_json_out_close(json);
  }
  put_estimate(json, "first_run_ms", &side->first_run_ms);
  put_estimate(json, "prepare_ms", &side->prepare_ms);
  put_estimate(json, "jitter_ms", &side->jitter_ms);
  put_estimate(json, "p95_ms", &side->p95_ms);
  oc_json_out_close(json);
}

static void put_gate(oc_json_out *json, const oc_perf_gate *gate) {
  oc_json_out_open(json, "gate", '{');
  oc_json_out_text(json, "reference", oc_perf_reference_name(gate->reference));
  put_estimate(json, "change", &gate->change);
  put_estimate(json, "change_p95", &gate->change_p95);
  if (gate->reference != OC_PERF_REFERENCE_NONE) {
    oc_json_out_number(json, "p_value", gate->p_value);
    oc_json_out_number(json, "margin", gate->margin);
    oc_json_out_number(json, "margin_p95", gate->margin_p95);
  }
  put_if(json, "floor", gate->floor);
  put_if(json, "floor_p95", gate->floor_p95);
  oc_json_out_close(json);
}

static void put_point(oc_json_out *json, const oc_perf_point *point) {
  oc_json_out_open(json, NULL, '{');
  oc_json_out_text(json, "id", point->id);
  oc_json_out_text(json, "op", point->op);
  oc_json_out_text_if(json, "type", point->type);
  oc_json_out_text_if(json, "inputs", point->inputs);
  oc_json_out_text(json, "verdict", oc_perf_verdict_name(point->verdict));
  oc_json_out_text_if(json, "reason", point->reason);
  oc_json_out_integer(json, "attempts", point->attempts);
  oc_json_out_integer(json, "stage", point->stage);
  put_estimate(json, "ratio", &point->ratio);
  put_gate(json, &point->gate);
  put_side(json, "candidate", &point->candidate);
  put_side(json, "yardstick", &point->yardstick);
  put_if(json, "flops", point->flops);
  put_if(json, "bytes", point->bytes);
  put_if(json, "share_of_flops", point->share_of_flops);
  put_if(json, "share_of_bandwidth", point->share_of_bandwidth);
  put_if(json, "share_of_roofline", point->share_of_roofline);
  oc_json_out_close(json);
}

static void put_yardstick(oc_json_out *json, const oc_perf_results *results) {
  oc_json_out_open(json, "yardstick", '{');
  oc_json_out_text_if(json, "name", results->yardstick_name);
  oc_json_out_text_if(json, "version", results->yardstick_version);
  oc_json_out_text_if(json, "path", results->yardstick_path);
  oc_json_out_text_if(json, "sha256", results->yardstick_hash);
  oc_json_out_text_if(json, "fingerprint", results->fingerprint);
  oc_json_out_text_if(json, "baseline", results->baseline);
  oc_json_out_integer(json, "workers", results->workers);
  put_if(json, "peak_flops_per_second", results->peak.flops_per_second);
  put_if(json, "peak_bytes_per_second", results->peak.bytes_per_second);
  oc_json_out_close(json);
}

void oc_json_put_performance(oc_json_out *json, const oc_perf_results *results) {
  put_yardstick(json, results);
  oc_json_out_open(json, "performance", '[');
  for (size_t i = 0; i < results->count; ++i) put_point(json, &results->points[i]);
  oc_json_out_close(json);
  oc_json_out_open(json, "maturity", '[');
  for (size_t i = 0; i < results->operator_count; ++i) {
    const oc_perf_operator *op = &results->operators[i];
    oc_json_out_open(json, NULL, '{');
    oc_json_out_text(json, "op", op->op);
    oc_json_out_integer(json, "stage", op->stage);
    oc_json_out_text_if(json, "why", op->why);
    oc_json_out_close(json);
  }
  oc_json_out_close(json);
}
