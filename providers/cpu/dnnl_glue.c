// SPDX-License-Identifier: Apache-2.0
//
// Plans: primitive descriptors, reorders, packed weights, run states. See dnnl_glue.h.
#include "dnnl_glue.h"

#include <oneapi/dnnl/dnnl.h>
#include <ops_support/checked.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Of libgomp, the runtime that oneDNN uses.
int omp_get_max_threads(void);
void omp_set_num_threads(int count);

struct cpu_dnnl {
  const ops_device *device;
  dnnl_engine_t engine;
};

// The tensors of a plan. The user's side is plain, the primitive's side is as it likes.
enum { USER_SOURCE, USER_WEIGHTS, USER_TARGET, BIAS, SOURCE, WEIGHTS, TARGET, TENSOR_COUNT };

enum { REORDER_SOURCE, REORDER_WEIGHTS, MAIN, REORDER_TARGET, STEP_COUNT };

typedef struct step {
  dnnl_primitive_desc_t desc;
  dnnl_primitive_t primitive;  // NULL: the step is not needed
  uint64_t scratch_offset;
  uint64_t scratch_size;
} step;

// What one run changes: memory objects and the stream.
typedef struct run_state {
  atomic_flag busy;
  int32_t ready;
  dnnl_stream_t stream;
  dnnl_memory_t tensors[TENSOR_COUNT];
  dnnl_memory_t scratch[STEP_COUNT];
} run_state;

#define RUN_STATES 4

struct cpu_dnnl_plan {
  const ops_device *device;
  dnnl_memory_desc_t descs[TENSOR_COUNT];
  int32_t has_bias;
  step steps[STEP_COUNT];
  uint64_t offsets[TENSOR_COUNT];  // in the workspace, of tensors that live there
  uint64_t workspace;
  const void
      *packed;  // constant weights in the primitive's layout, owned by the kernel's packs
  const char *name;
  run_state states[RUN_STATES];
};

struct cpu_pack {
  struct cpu_pack *next;
  int64_t first;  // element of the constant with which the packed part begins
  ops_packed *packed;
  void *memory;
  dnnl_memory_desc_t desc;
};

static int32_t check(dnnl_status_t status, const char *what, ops_error *error) {
  if (status == dnnl_success) return OPS_OK;
  const int32_t code =
      status == dnnl_out_of_memory ? OPS_ERROR_OUT_OF_MEMORY : OPS_ERROR_INTERNAL;
  ops_error_set(error, code, "oneDNN %s: %s failed with status %d", cpu_dnnl_version(), what,
                (int)status);
  if (error) error->vendor_code = status;
  return code;
}

#define CHECK(call, what) OPS_RETURN_IF_ERROR(check((call), (what), error))

// Sets the calling thread's number of OpenMP threads to one; returns what it was.
static int enter(void) {
  const int saved = omp_get_max_threads();
  if (saved != 1) omp_set_num_threads(1);
  return saved;
}

static void leave(int saved) {
  if (saved != 1) omp_set_num_threads(saved);
}

// ---- Engine ---------------------------------------------------------------------------------

int32_t cpu_dnnl_create(const ops_device *device, cpu_dnnl **out_dnnl, ops_error *error) {
  *out_dnnl = NULL;
  cpu_dnnl *dnnl = cpu_alloc(device, sizeof *dnnl);
  if (!dnnl)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: no memory for an engine");
  dnnl->device = device;
  const int32_t status =
      check(dnnl_engine_create(&dnnl->engine, dnnl_cpu, 0), "creating an engine", error);
  if (status != OPS_OK) {
    cpu_free(device, dnnl);
    return status;
  }
  *out_dnnl = dnnl;
  return OPS_OK;
}

void cpu_dnnl_destroy(cpu_dnnl *dnnl) {
  if (!dnnl) return;
  dnnl_engine_destroy(dnnl->engine);
  cpu_free(dnnl->device, dnnl);
}

#define QUOTE2(x) #x
#define QUOTE(x) QUOTE2(x)

const char *cpu_dnnl_version(void) {
  return QUOTE(DNNL_VERSION_MAJOR) "." QUOTE(DNNL_VERSION_MINOR) "." QUOTE(DNNL_VERSION_PATCH);
}

int cpu_dnnl_likes_channels_last(void) {
  return dnnl_get_effective_cpu_isa() >= dnnl_cpu_isa_avx512_core;
}

// ---- Steps ----------------------------------------------------------------------------------

static int32_t user_scratch_attr(dnnl_primitive_attr_t *out_attr, ops_error *error) {
  CHECK(dnnl_primitive_attr_create(out_attr), "creating attributes");
  return check(dnnl_primitive_attr_set_scratchpad_mode(*out_attr, dnnl_scratchpad_mode_user),
               "setting the scratchpad mode", error);
}

static int32_t finish_step(step *step, ops_error *error) {
  CHECK(dnnl_primitive_create(&step->primitive, step->desc), "creating a primitive");
  const dnnl_memory_desc_t *scratch =
      dnnl_primitive_desc_query_md(step->desc, dnnl_query_scratchpad_md, 0);
  step->scratch_size = scratch ? dnnl_memory_desc_get_size(scratch) : 0;
  return OPS_OK;
}

static int32_t make_reorder(const cpu_dnnl *dnnl, const dnnl_memory_desc_t *from,
                            const dnnl_memory_desc_t *to, step *step, ops_error *error) {
  dnnl_primitive_attr_t attr = NULL;
  int32_t status = user_scratch_attr(&attr, error);
  if (status == OPS_OK)
    status = check(dnnl_reorder_primitive_desc_create(&step->desc, from, dnnl->engine, to,
                                                      dnnl->engine, attr),
                   "describing a reorder", error);
  dnnl_primitive_attr_destroy(attr);
  return status == OPS_OK ? finish_step(step, error) : status;
}

static void finish_plan_step(step *step) {
  if (step->primitive) dnnl_primitive_destroy(step->primitive);
  if (step->desc) dnnl_primitive_desc_destroy(step->desc);
}

// A plain tensor: strides in elements.
static int32_t make_plain(dnnl_memory_desc_t *desc, int rank, const int64_t *dims,
                          const int64_t *strides, ops_error *error) {
  dnnl_dims_t own_dims = {0}, own_strides = {0};
  memcpy(own_dims, dims, (size_t)rank * sizeof *dims);
  memcpy(own_strides, strides, (size_t)rank * sizeof *strides);
  return check(dnnl_memory_desc_init_by_strides(desc, rank, own_dims, dnnl_f32, own_strides),
               "describing a tensor", error);
}

static int32_t make_any(dnnl_memory_desc_t *desc, int rank, const int64_t *dims,
                        ops_error *error) {
  dnnl_dims_t own_dims = {0};
  memcpy(own_dims, dims, (size_t)rank * sizeof *dims);
  return check(
      dnnl_memory_desc_init_by_tag(desc, rank, own_dims, dnnl_f32, dnnl_format_tag_any),
      "describing a tensor", error);
}

// ---- Packed weights -------------------------------------------------------------------------

void cpu_packs_init(cpu_packs *packs, const ops_device *device) {
  packs->device = device;
  packs->first = NULL;
  pthread_mutex_init(&packs->mutex, NULL);
}

void cpu_packs_finish(cpu_packs *packs) {
  if (!packs->device) return;
  const ops_device *device = packs->device;
  while (packs->first) {
    struct cpu_pack *pack = packs->first;
    packs->first = pack->next;
    device->api->packed_release(device->host, pack->packed);
    cpu_free(device, pack);
  }
  pthread_mutex_destroy(&packs->mutex);
}

// A name that two memory descriptors share only if they are the same layout of the same part.
static void packing_name(const dnnl_memory_desc_t *desc, int64_t first, char *out_name,
                         size_t size) {
  const dnnl_blocking_desc_t *blocking = &desc->format_desc.blocking;
  size_t used = (size_t)snprintf(out_name, size, "dnnl/%d+%lld", (int)desc->format_kind,
                                 (long long)first);
#define PUT(...) \
  if (used < size) used += (size_t)snprintf(out_name + used, size - used, __VA_ARGS__)
  for (int i = 0; i < desc->ndims; ++i)
    PUT("/%lld.%lld.%lld", (long long)desc->dims[i], (long long)desc->padded_dims[i],
        (long long)blocking->strides[i]);
  for (int i = 0; i < blocking->inner_nblks; ++i)
    PUT("/%lldx%lld", (long long)blocking->inner_idxs[i], (long long)blocking->inner_blks[i]);
#undef PUT
}

static dnnl_status_t execute_reorder(const cpu_dnnl *dnnl, const step *step,
                                     const dnnl_memory_desc_t *from_desc, void *from,
                                     const dnnl_memory_desc_t *to_desc, void *to) {
  dnnl_stream_t stream = NULL;
  dnnl_memory_t source = NULL, target = NULL, scratch = NULL;
  const dnnl_memory_desc_t *scratch_desc =
      dnnl_primitive_desc_query_md(step->desc, dnnl_query_scratchpad_md, 0);
  dnnl_status_t status = dnnl_stream_create(&stream, dnnl->engine, dnnl_stream_default_flags);
  if (status == dnnl_success)
    status = dnnl_memory_create(&source, from_desc, dnnl->engine, from);
  if (status == dnnl_success) status = dnnl_memory_create(&target, to_desc, dnnl->engine, to);
  if (status == dnnl_success)
    status = dnnl_memory_create(&scratch, scratch_desc, dnnl->engine, DNNL_MEMORY_ALLOCATE);
  if (status == dnnl_success) {
    const dnnl_exec_arg_t args[3] = {
        {DNNL_ARG_FROM, source}, {DNNL_ARG_TO, target}, {DNNL_ARG_SCRATCHPAD, scratch}};
    status = dnnl_primitive_execute(step->primitive, stream, 3, args);
    if (status == dnnl_success) status = dnnl_stream_wait(stream);
  }
  if (scratch) dnnl_memory_destroy(scratch);
  if (target) dnnl_memory_destroy(target);
  if (source) dnnl_memory_destroy(source);
  if (stream) dnnl_stream_destroy(stream);
  return status;
}

// Generated code reads floats at any address; what the compiler made of oneDNN's loops may not.
static int reads_unaligned(const step *step) {
  const char *name = "";
  dnnl_primitive_desc_query(step->desc, dnnl_query_impl_info_str, 0, &name);
  return strncmp(name, "jit:", 4) == 0;
}

static int32_t reorder_weights(const cpu_dnnl_plan *plan, const ops_constant *weights,
                               int64_t first, void *to, ops_error *error) {
  const step *step = &plan->steps[REORDER_WEIGHTS];
  const void *from = ops_tensor_data(&weights->dense.tensor);
  void *copy = NULL;
  if (!reads_unaligned(step))
    OPS_RETURN_IF_ERROR(cpu_contents(plan->device, weights, &from, &copy, error));
  const dnnl_status_t status =
      execute_reorder(plan->device->dnnl, step, &plan->descs[USER_WEIGHTS],
                      (char *)from + (size_t)first * sizeof(float), &plan->descs[WEIGHTS], to);
  cpu_free(plan->device, copy);
  return check(status, "packing weights", error);
}

static int32_t fill_pack(const cpu_dnnl_plan *plan, const ops_constant *weights,
                         struct cpu_pack *pack, ops_error *error) {
  const ops_device *device = plan->device;
  char name[512];
  packing_name(&plan->descs[WEIGHTS], pack->first, name, sizeof name);
  const ops_str packing = {name, strlen(name)};
  int32_t fill = 0;
  OPS_RETURN_IF_ERROR(
      device->api->packed_acquire(device->host, weights, packing, OPS_MEMORY_HOST,
                                  dnnl_memory_desc_get_size(&plan->descs[WEIGHTS]), 64,
                                  &pack->packed, &pack->memory, &fill, error));
  if (!fill) return OPS_OK;
  const int32_t status = reorder_weights(plan, weights, pack->first, pack->memory, error);
  if (status == OPS_OK)
    device->api->packed_commit(device->host, pack->packed);
  else
    device->api->packed_release(device->host, pack->packed);
  return status;
}

static int32_t find_pack(const cpu_dnnl_plan *plan, const ops_constant *weights, int64_t first,
                         cpu_packs *packs, const void **out_memory, ops_error *error) {
  for (struct cpu_pack *pack = packs->first; pack; pack = pack->next)
    if (pack->first == first && dnnl_memory_desc_equal(&pack->desc, &plan->descs[WEIGHTS])) {
      *out_memory = pack->memory;
      return OPS_OK;
    }
  struct cpu_pack *pack = cpu_alloc(plan->device, sizeof *pack);
  if (!pack)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: no memory for packed weights");
  pack->desc = plan->descs[WEIGHTS];
  pack->first = first;
  const int32_t status = fill_pack(plan, weights, pack, error);
  if (status != OPS_OK) {
    cpu_free(plan->device, pack);
    return status;
  }
  pack->next = packs->first;
  packs->first = pack;
  *out_memory = pack->memory;
  return OPS_OK;
}

// Packs constant weights, after which the plan needs no reorder of them.
static int32_t pack_weights(cpu_dnnl_plan *plan, const ops_constant *weights, int64_t first,
                            cpu_packs *packs, ops_error *error) {
  if (!weights || !plan->steps[REORDER_WEIGHTS].primitive) return OPS_OK;
  pthread_mutex_lock(&packs->mutex);
  const int32_t status = find_pack(plan, weights, first, packs, &plan->packed, error);
  pthread_mutex_unlock(&packs->mutex);
  if (status != OPS_OK) return status;
  finish_plan_step(&plan->steps[REORDER_WEIGHTS]);
  memset(&plan->steps[REORDER_WEIGHTS], 0, sizeof plan->steps[REORDER_WEIGHTS]);
  return OPS_OK;
}

// ---- Plans ----------------------------------------------------------------------------------

static int32_t reserve(uint64_t *total, uint64_t size, uint64_t *out_offset, ops_error *error) {
  uint64_t end;
  if (!ops_checked_add(*total, size, &end) || !ops_checked_align(end, 64, &end))
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: workspace too large");
  *out_offset = *total;
  *total = end;
  return OPS_OK;
}

// Lays out the workspace: a place for each tensor that a reorder makes, then one scratchpad for
// all steps, since they run one after the other.
static int32_t lay_out(cpu_dnnl_plan *plan, ops_error *error) {
  static const int made_by[3][2] = {
      {REORDER_SOURCE, SOURCE}, {REORDER_WEIGHTS, WEIGHTS}, {REORDER_TARGET, TARGET}};
  uint64_t scratch = 0;
  for (int i = 0; i < 3; ++i)
    if (plan->steps[made_by[i][0]].primitive)
      OPS_RETURN_IF_ERROR(reserve(&plan->workspace,
                                  dnnl_memory_desc_get_size(&plan->descs[made_by[i][1]]),
                                  &plan->offsets[made_by[i][1]], error));
  for (int i = 0; i < STEP_COUNT; ++i) {
    plan->steps[i].scratch_offset = plan->workspace;
    if (plan->steps[i].scratch_size > scratch) scratch = plan->steps[i].scratch_size;
  }
  uint64_t offset;
  return reserve(&plan->workspace, scratch, &offset, error);
}

static int32_t make_reorders(cpu_dnnl_plan *plan, ops_error *error) {
  const cpu_dnnl *dnnl = plan->device->dnnl;
  const dnnl_memory_desc_t *descs = plan->descs;
  if (!dnnl_memory_desc_equal(&descs[USER_SOURCE], &descs[SOURCE]))
    OPS_RETURN_IF_ERROR(make_reorder(dnnl, &descs[USER_SOURCE], &descs[SOURCE],
                                     &plan->steps[REORDER_SOURCE], error));
  if (!dnnl_memory_desc_equal(&descs[USER_WEIGHTS], &descs[WEIGHTS]))
    OPS_RETURN_IF_ERROR(make_reorder(dnnl, &descs[USER_WEIGHTS], &descs[WEIGHTS],
                                     &plan->steps[REORDER_WEIGHTS], error));
  if (!dnnl_memory_desc_equal(&descs[USER_TARGET], &descs[TARGET]))
    OPS_RETURN_IF_ERROR(make_reorder(dnnl, &descs[TARGET], &descs[USER_TARGET],
                                     &plan->steps[REORDER_TARGET], error));
  return OPS_OK;
}

static void finish_state(run_state *state) {
  for (int i = 0; i < TENSOR_COUNT; ++i)
    if (state->tensors[i]) dnnl_memory_destroy(state->tensors[i]);
  for (int i = 0; i < STEP_COUNT; ++i)
    if (state->scratch[i]) dnnl_memory_destroy(state->scratch[i]);
  if (state->stream) dnnl_stream_destroy(state->stream);
  memset(state->tensors, 0, sizeof state->tensors);
  memset(state->scratch, 0, sizeof state->scratch);
  state->stream = NULL;
  state->ready = 0;
}

static int32_t make_state(const cpu_dnnl_plan *plan, run_state *state, ops_error *error) {
  dnnl_engine_t engine = plan->device->dnnl->engine;
  CHECK(dnnl_stream_create(&state->stream, engine, dnnl_stream_default_flags),
        "creating a stream");
  for (int i = 0; i < TENSOR_COUNT; ++i)
    if (i != BIAS || plan->has_bias)
      CHECK(dnnl_memory_create(&state->tensors[i], &plan->descs[i], engine, DNNL_MEMORY_NONE),
            "creating a memory object");
  for (int i = 0; i < STEP_COUNT; ++i)
    if (plan->steps[i].primitive)
      CHECK(dnnl_memory_create(
                &state->scratch[i],
                dnnl_primitive_desc_query_md(plan->steps[i].desc, dnnl_query_scratchpad_md, 0),
                engine, DNNL_MEMORY_NONE),
            "creating a memory object");
  state->ready = 1;
  return OPS_OK;
}

static int32_t init_state(const cpu_dnnl_plan *plan, run_state *state, ops_error *error) {
  const int32_t status = make_state(plan, state, error);
  if (status != OPS_OK) finish_state(state);
  return status;
}

// Everything after the main primitive's descriptor.
static int32_t complete(cpu_dnnl_plan *plan, const ops_constant *weights, int64_t first,
                        cpu_packs *packs, ops_error *error) {
  step *main_step = &plan->steps[MAIN];
  plan->descs[SOURCE] = *dnnl_primitive_desc_query_md(main_step->desc, dnnl_query_src_md, 0);
  plan->descs[WEIGHTS] =
      *dnnl_primitive_desc_query_md(main_step->desc, dnnl_query_weights_md, 0);
  plan->descs[TARGET] = *dnnl_primitive_desc_query_md(main_step->desc, dnnl_query_dst_md, 0);
  dnnl_primitive_desc_query(main_step->desc, dnnl_query_impl_info_str, 0, &plan->name);
  OPS_RETURN_IF_ERROR(finish_step(main_step, error));
  OPS_RETURN_IF_ERROR(make_reorders(plan, error));
  OPS_RETURN_IF_ERROR(pack_weights(plan, weights, first, packs, error));
  OPS_RETURN_IF_ERROR(lay_out(plan, error));
  return init_state(plan, &plan->states[0], error);
}

static int32_t add_post(const cpu_dnnl_post *post, dnnl_primitive_attr_t attr,
                        ops_error *error) {
  dnnl_post_ops_t chain = NULL;
  dnnl_status_t status = dnnl_post_ops_create(&chain);
  if (status == dnnl_success && post->add_target)
    status = dnnl_post_ops_append_sum(chain, 1.0f);
  if (status == dnnl_success && post->function == CPU_DNNL_LEAKY_RELU)
    status = dnnl_post_ops_append_eltwise(chain, 1.0f, dnnl_eltwise_relu, post->p[0], 0.0f);
  if (status == dnnl_success && post->function == CPU_DNNL_CLIP)
    status =
        dnnl_post_ops_append_eltwise(chain, 1.0f, dnnl_eltwise_clip, post->p[0], post->p[1]);
  if (status == dnnl_success) status = dnnl_primitive_attr_set_post_ops(attr, chain);
  if (chain) dnnl_post_ops_destroy(chain);
  return check(status, "describing post-operations", error);
}

static int32_t describe_main(cpu_dnnl_plan *plan, const_dnnl_op_desc_t desc,
                             const cpu_dnnl_post *post, ops_error *error) {
  dnnl_primitive_attr_t attr = NULL;
  int32_t status = user_scratch_attr(&attr, error);
  if (status == OPS_OK) status = add_post(post, attr, error);
  if (status == OPS_OK)
    status = check(dnnl_primitive_desc_create(&plan->steps[MAIN].desc, desc, attr,
                                              plan->device->dnnl->engine, NULL),
                   "describing a primitive", error);
  dnnl_primitive_attr_destroy(attr);
  return status;
}

// Dims and strides of the user's weights. With groups there is one dimension more.
static int32_t describe_weights(const cpu_dnnl_conv *conv, dnnl_memory_desc_t *user,
                                dnnl_memory_desc_t *any, ops_error *error) {
  const int64_t out = conv->out_channels / conv->groups, in = conv->in_channels / conv->groups;
  int64_t taps = 1;
  for (int i = 0; i < conv->spatial; ++i) taps *= conv->kernel[i];
  int64_t dims[3 + CPU_DNNL_SPATIAL], strides[3 + CPU_DNNL_SPATIAL];
  int rank = 0;
  if (conv->groups > 1) {
    dims[rank] = conv->groups;
    strides[rank++] = out * in * taps;
  }
  dims[rank] = out;
  strides[rank++] = conv->transposed ? taps : in * taps;
  dims[rank] = in;
  strides[rank++] = conv->transposed ? out * taps : taps;
  int64_t step = taps;
  for (int i = 0; i < conv->spatial; ++i) {
    step /= conv->kernel[i];
    dims[rank] = conv->kernel[i];
    strides[rank++] = step;
  }
  OPS_RETURN_IF_ERROR(make_plain(user, rank, dims, strides, error));
  return make_any(any, rank, dims, error);
}

// Element strides of [batch, channels, spatial…] with channels last.
static void strides_of_last(int rank, const int64_t *dims, int64_t *strides) {
  int64_t step = dims[1];
  strides[1] = 1;
  for (int i = rank - 1; i > 1; --i) {
    strides[i] = step;
    step *= dims[i];
  }
  strides[0] = step;
}

// `wanted` is what the primitive is asked for: a tensor with channels last stays as it is, of a
// plain one it may choose the layout.
static int32_t describe_image(int64_t batch, int64_t channels, const int64_t *spatial,
                              int count, int last, dnnl_memory_desc_t *user,
                              dnnl_memory_desc_t *wanted, ops_error *error) {
  int64_t dims[2 + CPU_DNNL_SPATIAL] = {batch, channels}, strides[2 + CPU_DNNL_SPATIAL];
  for (int i = 0; i < count; ++i) dims[2 + i] = spatial[i];
  if (last)
    strides_of_last(2 + count, dims, strides);
  else
    ops_strides_contiguous(2 + count, dims, strides);
  OPS_RETURN_IF_ERROR(make_plain(user, 2 + count, dims, strides, error));
  *wanted = *user;
  return last ? OPS_OK : make_any(wanted, 2 + count, dims, error);
}

static int32_t describe_conv(cpu_dnnl_plan *plan, const cpu_dnnl_conv *conv, ops_error *error) {
  dnnl_memory_desc_t source, weights, target;
  const int64_t one = 1;
  dnnl_dims_t strides, dilations, begin, end;  // oneDNN counts a dilation of 1 as 0
  for (int i = 0; i < conv->spatial; ++i) {
    strides[i] = conv->strides[i];
    dilations[i] = conv->dilations[i] - 1;
    begin[i] = conv->pads_begin[i];
    end[i] = conv->pads_end[i];
  }
  OPS_RETURN_IF_ERROR(describe_image(conv->batch, conv->in_channels, conv->in, conv->spatial,
                                     conv->source_last, &plan->descs[USER_SOURCE], &source,
                                     error));
  OPS_RETURN_IF_ERROR(describe_image(conv->batch, conv->out_channels, conv->out, conv->spatial,
                                     conv->target_last, &plan->descs[USER_TARGET], &target,
                                     error));
  OPS_RETURN_IF_ERROR(describe_weights(conv, &plan->descs[USER_WEIGHTS], &weights, error));
  OPS_RETURN_IF_ERROR(make_plain(&plan->descs[BIAS], 1, &conv->out_channels, &one, error));
  const dnnl_memory_desc_t *bias = conv->has_bias ? &plan->descs[BIAS] : NULL;
  if (conv->transposed) {
    dnnl_deconvolution_desc_t desc;
    CHECK(dnnl_dilated_deconvolution_forward_desc_init(
              &desc, dnnl_forward_inference, dnnl_deconvolution_direct, &source, &weights, bias,
              &target, strides, dilations, begin, end),
          "describing a transposed convolution");
    return describe_main(plan, &desc, &conv->post, error);
  }
  dnnl_convolution_desc_t desc;
  CHECK(dnnl_dilated_convolution_forward_desc_init(
            &desc, dnnl_forward_inference, dnnl_convolution_direct, &source, &weights, bias,
            &target, strides, dilations, begin, end),
        "describing a convolution");
  return describe_main(plan, &desc, &conv->post, error);
}

static int32_t create_plan(const ops_device *device, int32_t has_bias, cpu_dnnl_plan **out_plan,
                           ops_error *error) {
  cpu_dnnl_plan *plan = cpu_alloc(device, sizeof *plan);
  *out_plan = plan;
  if (!plan) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: no memory for a plan");
  plan->device = device;
  plan->has_bias = has_bias;
  plan->name = "";
  return OPS_OK;
}

double cpu_dnnl_conv_products(const cpu_dnnl_conv *conv) {
  double products = (double)conv->batch * (double)conv->in_channels *
                    (double)conv->out_channels / (double)conv->groups;
  for (int i = 0; i < conv->spatial; ++i)
    products *=
        (double)conv->kernel[i] * (double)(conv->transposed ? conv->in[i] : conv->out[i]);
  return products;
}

// Destroys the plan if it could not be completed.
static int32_t deliver(int32_t status, cpu_dnnl_plan **plan) {
  if (status == OPS_OK) return OPS_OK;
  cpu_dnnl_plan_destroy(*plan);
  *plan = NULL;
  return status;
}

int32_t cpu_dnnl_plan_conv(const ops_device *device, const cpu_dnnl_conv *conv,
                           const ops_constant *weights, int64_t first, cpu_packs *packs,
                           cpu_dnnl_plan **out_plan, ops_error *error) {
  OPS_RETURN_IF_ERROR(create_plan(device, conv->has_bias, out_plan, error));
  const int saved = enter();
  int32_t status = describe_conv(*out_plan, conv, error);
  if (status == OPS_OK) status = complete(*out_plan, weights, first, packs, error);
  leave(saved);
  return deliver(status, out_plan);
}

void cpu_dnnl_plan_destroy(cpu_dnnl_plan *plan) {
  if (!plan) return;
  for (int i = 0; i < RUN_STATES; ++i) finish_state(&plan->states[i]);
  for (int i = 0; i < STEP_COUNT; ++i) finish_plan_step(&plan->steps[i]);
  cpu_free(plan->device, plan);
}

uint64_t cpu_dnnl_plan_workspace(const cpu_dnnl_plan *plan) {
  return plan->workspace;
}

int cpu_dnnl_plan_has_packed(const cpu_dnnl_plan *plan) {
  return plan->packed != NULL;
}

ops_str cpu_dnnl_plan_name(const cpu_dnnl_plan *plan) {
  return (ops_str){plan->name, strlen(plan->name)};
}

// ---- Running --------------------------------------------------------------------------------

static int32_t run_step(const cpu_dnnl_plan *plan, const run_state *state, int index,
                        ops_error *error) {
  static const int source_of[STEP_COUNT] = {USER_SOURCE, USER_WEIGHTS, SOURCE, TARGET};
  static const int target_of[STEP_COUNT] = {SOURCE, WEIGHTS, TARGET, USER_TARGET};
  if (!plan->steps[index].primitive) return OPS_OK;
  const dnnl_exec_arg_t args[5] = {{DNNL_ARG_SRC, state->tensors[source_of[index]]},
                                   {DNNL_ARG_DST, state->tensors[target_of[index]]},
                                   {DNNL_ARG_SCRATCHPAD, state->scratch[index]},
                                   {DNNL_ARG_WEIGHTS, state->tensors[WEIGHTS]},
                                   {DNNL_ARG_BIAS, state->tensors[BIAS]}};
  const int count = index != MAIN ? 3 : plan->has_bias ? 5 : 4;
  return check(dnnl_primitive_execute(plan->steps[index].primitive, state->stream, count, args),
               "executing a primitive", error);
}

static int32_t bind(const cpu_dnnl_plan *plan, run_state *state, void *const *user,
                    char *workspace, ops_error *error) {
  void *handles[TENSOR_COUNT] = {user[USER_SOURCE], user[USER_WEIGHTS], user[USER_TARGET],
                                 user[BIAS],        user[USER_SOURCE],  user[USER_WEIGHTS],
                                 user[USER_TARGET]};
  if (plan->steps[REORDER_SOURCE].primitive)
    handles[SOURCE] = workspace + plan->offsets[SOURCE];
  if (plan->steps[REORDER_TARGET].primitive)
    handles[TARGET] = workspace + plan->offsets[TARGET];
  if (plan->steps[REORDER_WEIGHTS].primitive)
    handles[WEIGHTS] = workspace + plan->offsets[WEIGHTS];
  else if (plan->packed)
    handles[WEIGHTS] = (void *)plan->packed;
  for (int i = 0; i < TENSOR_COUNT; ++i)
    if (state->tensors[i])
      CHECK(dnnl_memory_set_data_handle(state->tensors[i], handles[i]), "binding memory");
  for (int i = 0; i < STEP_COUNT; ++i)
    if (state->scratch[i] && plan->steps[i].scratch_size > 0)
      CHECK(dnnl_memory_set_data_handle(state->scratch[i],
                                        workspace + plan->steps[i].scratch_offset),
            "binding a scratchpad");
  return OPS_OK;
}

static int32_t run_with(const cpu_dnnl_plan *plan, run_state *state, void *const *user,
                        void *workspace, ops_error *error) {
  if (!state->ready) OPS_RETURN_IF_ERROR(init_state(plan, state, error));
  OPS_RETURN_IF_ERROR(bind(plan, state, user, workspace, error));
  for (int i = 0; i < STEP_COUNT; ++i) OPS_RETURN_IF_ERROR(run_step(plan, state, i, error));
  return check(dnnl_stream_wait(state->stream), "waiting", error);
}

// A free run state of the plan; NULL if all are in use.
static run_state *borrow(const cpu_dnnl_plan *plan) {
  run_state *states = ((cpu_dnnl_plan *)plan)->states;
  for (int i = 0; i < RUN_STATES; ++i)
    if (!atomic_flag_test_and_set_explicit(&states[i].busy, memory_order_acquire))
      return &states[i];
  return NULL;
}

int32_t cpu_dnnl_plan_run(const cpu_dnnl_plan *plan, const void *source, const void *weights,
                          const void *bias, void *target, void *workspace, ops_error *error) {
  void *const user[] = {[USER_SOURCE] = (void *)source,
                        [USER_WEIGHTS] = (void *)weights,
                        [USER_TARGET] = target,
                        [BIAS] = (void *)bias};
  run_state spare = {.busy = ATOMIC_FLAG_INIT};
  run_state *own = borrow(plan);
  run_state *state = own ? own : &spare;
  const int saved = enter();
  const int32_t status = run_with(plan, state, user, workspace, error);
  leave(saved);
  if (own)
    atomic_flag_clear_explicit(&own->busy, memory_order_release);
  else
    finish_state(&spare);
  return status;
}
