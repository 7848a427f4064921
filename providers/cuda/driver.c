// SPDX-License-Identifier: Apache-2.0
//
// CUDA as one of the interfaces that providers/gpu runs on.
#include "driver.h"

static int32_t load(gpu_api **out_api, ops_error *error) {
  return cuda_load_from(NULL, out_api, error);
}

// Not every program needs every function of the dialect (177: never referenced).
static const char kPrefix[] =
    "#define GPU_CUDA 1\n"
    "#pragma nv_diag_suppress 177\n";

const gpu_driver cuda_driver = {
    .name = "cuda",
    .prefix = kPrefix,
    .load = load,
    .unload = cuda_unload,
    .device_count = cuda_device_count,
    .open = cuda_open,
    .close = cuda_close,
    .allocate = cuda_allocate,
    .release = cuda_release,
    .allocate_pinned = cuda_allocate_pinned,
    .release_pinned = cuda_release_pinned,
    .queue_create = cuda_queue_create,
    .queue_destroy = cuda_queue_destroy,
    .queue_flush = cuda_queue_flush,
    .queue_finish = cuda_queue_finish,
    .copy = cuda_copy,
    .launch = cuda_launch,
    .point_record = cuda_point_record,
    .point_release = cuda_point_release,
    .point_wait = cuda_point_wait,
    .point_query = cuda_point_query,
    .point_finish = cuda_point_finish,
    .point_elapsed = cuda_point_elapsed,
    .program_build = cuda_program_build,
    .program_load = cuda_program_load,
    .program_destroy = cuda_program_destroy,
    .function_get = cuda_function_get,
    .graph_begin = cuda_graph_begin,
    .graph_end = cuda_graph_end,
    .graph_launch = cuda_graph_launch,
    .graph_destroy = cuda_graph_destroy,
    .product_plan = cuda_product_plan,
    .convolution_plan = cuda_convolution_plan,
    .call_destroy = cuda_call_destroy,
    .call_run = cuda_call_run,
    .allocate_queued = cuda_allocate_queued,
    .release_queued = cuda_release_queued,
};
