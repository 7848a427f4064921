// SPDX-License-Identifier: Apache-2.0
#include "run_test_util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loader/value.h"

#define MAX_ARGUMENTS 64

static void check(int condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "test host: %s\n", what);
  exit(2);
}

// ---- Tensors -------------------------------------------------------------------------------

static uint32_t bits_of(int32_t type) {
  switch (type) {
#define BITS(number, name, bits) \
  case number:                   \
    return bits;
    OPS_TYPE_LIST(BITS)
#undef BITS
    default:
      return 0;
  }
}

void test_tensor_init(test_tensor *t, int32_t type, int32_t rank, const int64_t *dims,
                      int strided) {
  *t = (test_tensor){.present = 1, .type = type, .rank = rank, .count = 1};
  int gaps = strided && bits_of(type) >= 8;
  int64_t stride = gaps ? 2 : 1;
  for (int32_t i = rank - 1; i >= 0; --i) {
    t->dims[i] = dims[i];
    t->strides[i] = stride;
    t->count *= dims[i];
    stride *= dims[i] + gaps;
  }
  if (type == OPS_TYPE_STRING) {
    check(ops_value_create(OPS_VALUE_STRINGS, &t->value, NULL) == OPS_OK, "no value");
    check(ops_value_accessors.strings_resize(t->value, rank, dims, NULL) == OPS_OK, "no value");
    return;
  }
  t->size = ((uint64_t)stride * bits_of(type) + 7) / 8;
  t->memory = malloc(t->size + 64);
  check(t->memory != NULL, "out of memory");
  memset(t->memory, 0xA5, t->size + 64);
}

static uint64_t offset_of(const test_tensor *t, int64_t position) {
  int64_t offset = 0;
  for (int32_t i = t->rank - 1; i >= 0; --i) {
    offset += position % t->dims[i] * t->strides[i];
    position /= t->dims[i];
  }
  return (uint64_t)offset;
}

uint64_t test_tensor_bytes(const test_tensor *t) {
  return ((uint64_t)t->count * bits_of(t->type) + 7) / 8;
}

void test_tensor_fill(test_tensor *t, const void *contiguous) {
  uint64_t bytes = bits_of(t->type) / 8;
  if (bytes == 0) {
    memcpy(t->memory, contiguous, test_tensor_bytes(t));
    return;
  }
  for (int64_t i = 0; i < t->count; ++i)
    memcpy((char *)t->memory + offset_of(t, i) * bytes,
           (const char *)contiguous + (uint64_t)i * bytes, bytes);
}

void test_tensor_read(const test_tensor *t, void *out) {
  uint32_t bits = bits_of(t->type);
  if (bits >= 8) {
    for (int64_t i = 0; i < t->count; ++i)
      memcpy((char *)out + (uint64_t)i * bits / 8,
             (const char *)t->memory + offset_of(t, i) * bits / 8, bits / 8);
    return;
  }
  memcpy(out, t->memory, test_tensor_bytes(t));
  uint64_t used = (uint64_t)t->count * bits % 8;  // bits behind the last element are free
  if (used != 0) ((unsigned char *)out)[test_tensor_bytes(t) - 1] &= (1u << used) - 1;
}

void test_tensor_finish(test_tensor *t) {
  free(t->memory);
  ops_value_release(t->value);
  *t = (test_tensor){0};
}

static ops_arg arg_of(test_tensor *t) {
  if (t->value != NULL) return (ops_arg){.kind = OPS_ARG_VALUE, .value = t->value};
  if (!t->present || t->memory == NULL) return (ops_arg){.kind = OPS_ARG_ABSENT};
  return (ops_arg){.kind = OPS_ARG_TENSOR,
                   .memory_kind = OPS_MEMORY_HOST,
                   .tensor = {.dims = t->dims,
                              .strides = t->strides,
                              .memory = t->memory,
                              .byte_size = t->size,
                              .type = t->type,
                              .rank = t->rank}};
}

// ---- Host ----------------------------------------------------------------------------------

static int32_t set_output_shape(void *context, ops_call *call, uint64_t index, int32_t rank,
                                const int64_t *dims, ops_arg *out_arg, ops_error *error) {
  (void)call;
  (void)error;
  test_host *host = context;
  test_tensor *output = &host->outputs[index];
  test_tensor_init(output, output->type, rank, dims, host->strided);
  *out_arg = arg_of(output);
  return OPS_OK;
}

void test_host_open(test_host *h) {
  test_host_open_with(h, 2);
}

test_host test_shared;

int test_shared_open(void **state) {
  (void)state;
  test_host_open(&test_shared);
  return 0;
}

int test_shared_close(void **state) {
  (void)state;
  test_host_close(&test_shared);
  return 0;
}

void test_host_open_with(test_host *h, int32_t workers) {
  memset(h, 0, sizeof *h);
  ops_host_options options = {
      .context = h, .workers = workers, .set_output_shape = set_output_shape};
  check(ops_host_create(&options, &h->host, NULL) == OPS_OK, "no host");
  h->api = ops_host_api_table();
  ops_query_request request = {.struct_size = sizeof request,
                               .magic = OPS_QUERY_MAGIC,
                               .min_version = OPS_ABI_VERSION,
                               .max_version = OPS_ABI_VERSION};
  ops_query_reply reply = {.struct_size = sizeof reply};
  check(ops_provider_query(&request, &reply, NULL) == OPS_OK, "no provider");
  h->provider = reply.provider;
  const ops_instance_api *api = h->provider->instance;
  check(api->create(h->api, h->host, NULL, 0, &h->instance, NULL) == OPS_OK, "no instance");
  check(api->device_open(h->instance, 0, &h->device, NULL) == OPS_OK, "no device");
}

void test_host_close(test_host *h) {
  const ops_instance_api *api = h->provider->instance;
  check(api->device_close(h->device, NULL) == OPS_OK, "the device does not close");
  check(api->destroy(h->instance, NULL) == OPS_OK, "the instance does not close");
  ops_host_destroy(h->host);
}

// ---- Nodes ---------------------------------------------------------------------------------

typedef struct node_view {
  ops_node node;
  ops_operand inputs[MAX_ARGUMENTS], outputs[MAX_ARGUMENTS];
  ops_type_info input_types[MAX_ARGUMENTS];
  ops_constant constants[MAX_ARGUMENTS];
} node_view;

static void view_node(const ops_kernel_def *def, const test_node *node, node_view *v) {
  memset(v, 0, sizeof *v);
  check(node->input_count <= MAX_ARGUMENTS && node->output_count <= MAX_ARGUMENTS, "too many");
  for (uint64_t i = 0; i < node->input_count; ++i) {
    test_tensor *t = &node->inputs[i];
    v->inputs[i] = (ops_operand){.struct_size = sizeof(ops_operand), .value = -1};
    if (!t->present) continue;
    v->input_types[i] = (ops_type_info){
        .struct_size = sizeof(ops_type_info),
        .kind = t->type == OPS_TYPE_STRING ? OPS_VALUE_STRINGS : OPS_VALUE_TENSOR,
        .type = t->type,
        .rank = t->rank,
        .dims = t->dims,
        .strides = t->strides};
    v->inputs[i].value = (int64_t)i;
    v->inputs[i].type = t->about != NULL ? t->about : &v->input_types[i];
    uint64_t formal = i < def->input_count ? i : def->input_count - 1;
    if (!(def->inputs[formal].flags & OPS_ARG_SHAPE_INPUT)) continue;
    v->constants[i] = (ops_constant){.struct_size = sizeof(ops_constant),
                                     .rank = t->rank,
                                     .dims = t->dims,
                                     .dense = arg_of(t)};
    v->inputs[i].constant = &v->constants[i];
  }
  for (uint64_t i = 0; i < node->output_count; ++i)
    v->outputs[i] = (ops_operand){.struct_size = sizeof(ops_operand),
                                  .value = node->outputs[i].present ? 100 + (int64_t)i : -1};
  v->node = (ops_node){.struct_size = sizeof(ops_node),
                       .name = OPS_STR("node"),
                       .domain = def->domain,
                       .op = def->op,
                       .opset = node->opset,
                       .attributes = node->attributes,
                       .attribute_count = node->attribute_count,
                       .attribute_stride = sizeof(ops_attribute),
                       .inputs = v->inputs,
                       .input_count = node->input_count,
                       .input_stride = sizeof(ops_operand),
                       .outputs = v->outputs,
                       .output_count = node->output_count,
                       .output_stride = sizeof(ops_operand)};
}

static const char *mismatch(const test_host *host, const ops_kernel_def *def,
                            const test_node *node) {
  static char text[256];
  for (uint64_t i = 0; i < node->input_count; ++i) {
    const ops_arg_def *arg = &def->inputs[i < def->input_count ? i : def->input_count - 1];
    if (!node->inputs[i].present) continue;
    if (i >= def->input_count && !(arg->flags & OPS_ARG_VARIADIC)) return "too many inputs";
    if (node->inputs[i].about != NULL ? arg->types != 0
                                      : !(arg->types >> node->inputs[i].type & 1))
      return "type of an input";
  }
  node_view v;
  view_node(def, node, &v);
  ops_claim claim = {.struct_size = sizeof claim};
  def->api->claim(host->device, def, &v.node, &claim, NULL);
  snprintf(text, sizeof text, "%.200s", claim.text);
  return claim.answer == OPS_CLAIM_SUPPORTED ? NULL : text;
}

const ops_kernel_def *test_find(const test_host *host, const test_node *node,
                                const char **out_reason) {
  *out_reason = "operator";
  for (uint64_t i = 0; i < host->provider->kernel_count; ++i) {
    const ops_kernel_def *def = &host->provider->kernels[i];
    if (def->domain.size != node->domain.size ||
        (def->domain.size > 0 &&
         memcmp(def->domain.data, node->domain.data, def->domain.size) != 0))
      continue;
    if (def->op.size != strlen(node->op) || memcmp(def->op.data, node->op, def->op.size) != 0 ||
        node->opset < def->since || (def->until != 0 && node->opset > def->until))
      continue;
    *out_reason = mismatch(host, def, node);
    if (*out_reason == NULL) return def;
  }
  return NULL;
}

// Strings have the shape that the kernel gave them.
static void read_shape(test_tensor *t) {
  const int64_t *dims = NULL;
  if (t->value == NULL || t->about != NULL) return;
  check(ops_value_accessors.strings_shape(t->value, &t->rank, &dims, NULL) == OPS_OK,
        "no shape");
  t->count = 1;
  for (int32_t i = 0; i < t->rank; ++i) {
    t->dims[i] = dims[i];
    t->count *= dims[i];
  }
}

static int32_t execute(test_host *host, const ops_kernel_def *def, ops_prepare_reply *reply,
                       test_node *node, ops_error *error) {
  ops_arg inputs[MAX_ARGUMENTS], outputs[MAX_ARGUMENTS];
  for (uint64_t i = 0; i < node->input_count; ++i) inputs[i] = arg_of(&node->inputs[i]);
  for (uint64_t i = 0; i < node->output_count; ++i) {
    const ops_output_info *info = &reply->outputs[i];
    test_tensor *t = &node->outputs[i];
    outputs[i] = (ops_arg){.kind = OPS_ARG_ABSENT};
    if (!t->present) continue;
    if (t->about != NULL) outputs[i] = arg_of(t);
    if (t->about != NULL) continue;
    t->type = info->type;
    int late = info->mode == OPS_SHAPE_HOST_SYNC;
    if (late && t->type != OPS_TYPE_STRING) continue;
    // A host value is there before its shape is.
    test_tensor_init(t, info->type, late ? 0 : info->rank, info->dims, host->strided);
    outputs[i] = arg_of(t);
  }
  host->outputs = node->outputs;
  void *workspace = aligned_alloc(64, (reply->workspace_size + 63) / 64 * 64);
  check(workspace != NULL, "out of memory");
  memset(workspace, 0xFF, reply->workspace_size);
  ops_execute_request request = {.struct_size = sizeof request,
                                 .inputs = inputs,
                                 .input_count = node->input_count,
                                 .outputs = outputs,
                                 .output_count = node->output_count,
                                 .workspace = workspace,
                                 .workspace_size = reply->workspace_size};
  int32_t status = def->api->execute(reply->prepared, &request, NULL, error);
  free(workspace);
  for (uint64_t i = 0; i < node->output_count; ++i) read_shape(&node->outputs[i]);
  return status;
}

static int32_t prepare_and_execute(test_host *host, const ops_kernel_def *def,
                                   ops_kernel *kernel, const node_view *v, test_node *node,
                                   ops_error *error) {
  ops_output_info infos[MAX_ARGUMENTS];
  memset(infos, 0, sizeof infos);
  for (int i = 0; i < MAX_ARGUMENTS; ++i) infos[i].struct_size = sizeof *infos;
  ops_prepare_request request = {.struct_size = sizeof request,
                                 .inputs = v->inputs,
                                 .input_count = node->input_count,
                                 .input_stride = sizeof(ops_operand)};
  ops_prepare_reply reply = {.struct_size = sizeof reply,
                             .outputs = infos,
                             .output_count = node->output_count,
                             .output_stride = sizeof *infos};
  int32_t status = def->api->prepare(kernel, &request, &reply, error);
  if (status != OPS_OK) return status;
  status = execute(host, def, &reply, node, error);
  def->api->prepared_destroy(reply.prepared);
  return status;
}

int32_t test_run(test_host *host, test_node *node, ops_error *error) {
  const char *reason;
  const ops_kernel_def *def = test_find(host, node, &reason);
  check(def != NULL, reason);
  node_view v;
  view_node(def, node, &v);
  ops_kernel *kernel = NULL;
  int32_t status = def->api->create(host->device, def, &v.node, &kernel, error);
  if (status != OPS_OK) return status;
  status = prepare_and_execute(host, def, kernel, &v, node, error);
  def->api->destroy(kernel);
  return status;
}
