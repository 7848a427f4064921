// SPDX-License-Identifier: Apache-2.0
//
// "late": a provider for tests of asynchronous execution. Its streams run nothing until
// somebody waits: synchronize runs all, a query runs one command, so that what is pending when
// is the same in every test. Operators: Neg, Relu, Abs, Sigmoid, Swish, and Add and Mul of
// equal shapes, in float.
//
// Options:
//   fail_op   kernels of this operator fail when they run
//   once      "1": only the first of them
//   report    how that is told. "event": by every event from there on, as it should be. "sync":
//             only by synchronize and later calls that enqueue. "lost": the device is lost, and
//             every question is answered so, also about events that were passed before
#include <math.h>
#include <ops_support/claim.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/provider.h>
#include <ops_support/tensor.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ARGS 3

struct ops_instance {
  char fail_op[32];
  char report[8];
  int once;
  int failed;  // how often
  int lost;
};

struct ops_device {
  ops_instance *instance;
};

struct ops_kernel {
  ops_device *device;
  const ops_kernel_def *def;
};

struct ops_prepared {
  const ops_kernel *kernel;
  int64_t count;
};

// A kernel, a copy, or a wait.
typedef struct command {
  const ops_prepared *prepared;
  float *args[MAX_ARGS];  // inputs, then the output
  ops_copy copy;
  ops_stream *other;  // of the event waited for
  uint64_t point;
} command;

struct ops_stream {
  ops_device *device;
  command *commands;
  uint64_t count, capacity;
  uint64_t done;
  ops_error failure;
  uint64_t failed_at;  // commands before the failure
};

struct ops_event {
  ops_stream *stream;
  uint64_t point;  // passed when so many commands are done
};

static int is_report(const ops_device *device, const char *mode) {
  return strcmp(device->instance->report, mode) == 0;
}

static int32_t check_lost(const ops_device *device, ops_error *error) {
  if (!device->instance->lost) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_DEVICE_LOST, "the device fell off the bus");
}

// ---- Commands -------------------------------------------------------------------------------

typedef float (*late_function)(float a, float b);

static float late_neg(float a, float b) {
  return (void)b, -a;
}
static float late_relu(float a, float b) {
  return (void)b, a > 0 ? a : 0;
}
static float late_abs(float a, float b) {
  return (void)b, a < 0 ? -a : a;
}
static float late_add(float a, float b) {
  return a + b;
}
static float late_mul(float a, float b) {
  return a * b;
}
static float late_sigmoid(float a, float b) {
  return (void)b, 1 / (1 + expf(-a));
}
static float late_swish(float a, float b) {
  return a * late_sigmoid(a, b);
}

static void fail_stream(ops_stream *stream, const char *op) {
  ops_instance *instance = stream->device->instance;
  instance->failed++;
  instance->lost = is_report(stream->device, "lost");
  stream->failed_at = stream->done;
  ops_error_set(&stream->failure, instance->lost ? OPS_ERROR_DEVICE_LOST : OPS_ERROR_INTERNAL,
                "%s trapped", op);
}

static void run_kernel(ops_stream *stream, const command *item) {
  const ops_instance *instance = stream->device->instance;
  const ops_str op = item->prepared->kernel->def->op;
  char name[32] = {0};
  memcpy(name, op.data, op.size < sizeof name ? op.size : sizeof name - 1);
  if (strcmp(name, instance->fail_op) == 0 && !(instance->once && instance->failed)) {
    fail_stream(stream, name);
    return;
  }
  const int two = item->args[2] != NULL;
  float *out = item->args[two ? 2 : 1];
  const late_function function = *(const late_function *)item->prepared->kernel->def->context;
  for (int64_t i = 0; i < item->prepared->count; ++i)
    out[i] = function(item->args[0][i], two ? item->args[1][i] : 0);
}

static void run_until(ops_stream *stream, uint64_t point) {
  while (stream->done < point) {
    const command item = stream->commands[stream->done];
    if (stream->failure.code == OPS_OK) {
      if (item.prepared)
        run_kernel(stream, &item);
      else if (item.other)
        run_until(item.other, item.point);
      else
        memmove((char *)item.copy.target + item.copy.target_offset,
                (const char *)item.copy.source + item.copy.source_offset, item.copy.size);
    }
    stream->done++;
  }
}

static int32_t give_failure(const ops_stream *stream, ops_error *error) {
  OPS_RETURN_IF_ERROR(check_lost(stream->device, error));
  if (stream->failure.code == OPS_OK) return OPS_OK;
  return ops_error_set(error, stream->failure.code, "%s", stream->failure.message);
}

static int32_t enqueue(ops_stream *stream, const command *item, ops_error *error) {
  OPS_RETURN_IF_ERROR(give_failure(stream, error));
  if (stream->count == stream->capacity) {
    const uint64_t capacity = stream->capacity ? stream->capacity * 2 : 64;
    command *grown = realloc(stream->commands, capacity * sizeof *grown);
    if (!grown) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "commands");
    stream->commands = grown;
    stream->capacity = capacity;
  }
  stream->commands[stream->count++] = *item;
  return OPS_OK;
}

// ---- Streams and events ---------------------------------------------------------------------

static int32_t stream_create(ops_device *device, ops_stream **out_stream, ops_error *error) {
  OPS_RETURN_IF_ERROR(check_lost(device, error));
  *out_stream = calloc(1, sizeof **out_stream);
  if (!*out_stream) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a stream");
  (*out_stream)->device = device;
  (*out_stream)->failure.struct_size = sizeof(ops_error);
  return OPS_OK;
}

static void stream_destroy(ops_stream *stream) {
  if (!stream) return;
  if (!stream->device->instance->lost) run_until(stream, stream->count);
  free(stream->commands);
  free(stream);
}

static int32_t stream_synchronize(ops_stream *stream, ops_error *error) {
  if (!stream->device->instance->lost) run_until(stream, stream->count);
  return give_failure(stream, error);
}

static int32_t stream_wait(ops_stream *stream, ops_event *event, ops_error *error) {
  const command item = {.other = event->stream, .point = event->point};
  return enqueue(stream, &item, error);
}

static int32_t copy(ops_device *device, ops_stream *stream, const ops_copy *request,
                    ops_error *error) {
  OPS_RETURN_IF_ERROR(check_lost(device, error));
  const command item = {.copy = *request};
  if (stream) return enqueue(stream, &item, error);
  memmove((char *)request->target + request->target_offset,
          (const char *)request->source + request->source_offset, request->size);
  return OPS_OK;
}

static int32_t event_create(ops_device *device, ops_event **out_event, ops_error *error) {
  OPS_RETURN_IF_ERROR(check_lost(device, error));
  *out_event = calloc(1, sizeof **out_event);
  return *out_event ? OPS_OK : ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "an event");
}

static void event_destroy(ops_event *event) {
  free(event);
}

static int32_t event_record(ops_event *event, ops_stream *stream, ops_error *error) {
  OPS_RETURN_IF_ERROR(check_lost(stream->device, error));
  *event = (ops_event){stream, stream->count};
  return OPS_OK;
}

// What an event says once it has been reached.
static int32_t reached(const ops_event *event, ops_error *error) {
  OPS_RETURN_IF_ERROR(check_lost(event->stream->device, error));
  const int before =
      event->stream->failure.code == OPS_OK || event->point <= event->stream->failed_at;
  if (before || is_report(event->stream->device, "sync")) return OPS_OK;
  return give_failure(event->stream, error);
}

static int32_t event_query(ops_event *event, ops_error *error) {
  OPS_RETURN_IF_ERROR(check_lost(event->stream->device, error));
  if (event->stream->done >= event->point) return reached(event, error);
  run_until(event->stream, event->stream->done + 1);
  return OPS_ERROR_NOT_READY;
}

static int32_t event_synchronize(ops_event *event, ops_error *error) {
  OPS_RETURN_IF_ERROR(check_lost(event->stream->device, error));
  run_until(event->stream, event->point);
  return reached(event, error);
}

static const ops_stream_api stream_api = {.struct_size = sizeof stream_api,
                                          .create = stream_create,
                                          .destroy = stream_destroy,
                                          .synchronize = stream_synchronize,
                                          .wait = stream_wait,
                                          .copy = copy,
                                          .event_create = event_create,
                                          .event_destroy = event_destroy,
                                          .event_record = event_record,
                                          .event_query = event_query,
                                          .event_synchronize = event_synchronize};

// ---- Kernels --------------------------------------------------------------------------------

static int32_t claim(ops_device *device, const ops_kernel_def *def, const ops_node *node,
                     ops_claim *out_claim, ops_error *error) {
  (void)device, (void)def, (void)error;
  if (node->input_count == 2 &&
      ops_node_input(node, 0)->type->rank != ops_node_input(node, 1)->type->rank)
    return ops_claim_refuse(out_claim, OPS_REASON_SHAPE, "the shapes differ");
  return OPS_OK;
}

static int32_t kernel_create(ops_device *device, const ops_kernel_def *def,
                             const ops_node *node, ops_kernel **out_kernel, ops_error *error) {
  (void)node;
  *out_kernel = calloc(1, sizeof **out_kernel);
  if (!*out_kernel) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a kernel");
  **out_kernel = (ops_kernel){device, def};
  return OPS_OK;
}

static void kernel_destroy(ops_kernel *kernel) {
  free(kernel);
}

static int32_t prepare(ops_kernel *kernel, const ops_prepare_request *request,
                       ops_prepare_reply *reply, ops_error *error) {
  const ops_type_info *type = ops_request_input(request, 0)->type;
  ops_prepared *prepared = calloc(1, sizeof *prepared);
  if (!prepared) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a prepared object");
  *prepared = (ops_prepared){kernel, 1};
  for (int32_t i = 0; i < type->rank; ++i) prepared->count *= type->dims[i];
  ops_reply_set_output(reply, 0, type->type, type->rank, type->dims);
  reply->prepared = prepared;
  return OPS_OK;
}

static void prepared_destroy(ops_prepared *prepared) {
  free(prepared);
}

static int32_t execute(ops_prepared *prepared, const ops_execute_request *request,
                       ops_stream *stream, ops_error *error) {
  command item = {.prepared = prepared};
  for (uint64_t i = 0; i < request->input_count; ++i)
    item.args[i] = (float *)ops_tensor_data(&request->inputs[i].tensor);
  item.args[request->input_count] = (float *)ops_tensor_data(&request->outputs[0].tensor);
  return enqueue(stream, &item, error);
}

static const ops_kernel_api kernel_api = {.struct_size = sizeof kernel_api,
                                          .claim = claim,
                                          .create = kernel_create,
                                          .destroy = kernel_destroy,
                                          .prepare = prepare,
                                          .prepared_destroy = prepared_destroy,
                                          .execute = execute};

// ---- Instance -------------------------------------------------------------------------------

static void copy_text(char *target, size_t size, ops_str text) {
  const size_t length = text.size < size ? text.size : size - 1;
  memcpy(target, text.data, length);
  target[length] = 0;
}

static int32_t instance_create(const ops_host_api *api, ops_host *host,
                               const ops_key_value *options, uint64_t option_count,
                               ops_instance **out_instance, ops_error *error) {
  (void)api, (void)host;
  ops_instance *instance = calloc(1, sizeof *instance);
  if (!instance) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "an instance");
  for (uint64_t i = 0; i < option_count; ++i) {
    if (ops_str_equal(options[i].key, "fail_op"))
      copy_text(instance->fail_op, sizeof instance->fail_op, options[i].value);
    else if (ops_str_equal(options[i].key, "report"))
      copy_text(instance->report, sizeof instance->report, options[i].value);
    else
      instance->once = 1;
  }
  *out_instance = instance;
  return OPS_OK;
}

static int32_t instance_destroy(ops_instance *instance, ops_error *error) {
  (void)error;
  free(instance);
  return OPS_OK;
}

static int32_t device_count(ops_instance *instance, uint64_t *out_count, ops_error *error) {
  (void)instance, (void)error;
  *out_count = 1;
  return OPS_OK;
}

static int32_t device_open(ops_instance *instance, uint64_t index, ops_device **out_device,
                           ops_error *error) {
  (void)index;
  *out_device = calloc(1, sizeof **out_device);
  if (!*out_device) return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "a device");
  (*out_device)->instance = instance;
  return OPS_OK;
}

static int32_t device_close(ops_device *device, ops_error *error) {
  (void)error;
  free(device);
  return OPS_OK;
}

static int32_t device_info(ops_device *device, ops_device_info *out_info, ops_error *error) {
  (void)device, (void)error;
  out_info->kind = OPS_DEVICE_OTHER;
  out_info->memory_kinds = OPS_MEMORY_BIT(OPS_MEMORY_HOST);
  out_info->name = (ops_str)OPS_STR("late");
  out_info->architecture = (ops_str)OPS_STR("test");
  out_info->min_alignment = 16;
  return OPS_OK;
}

static const ops_instance_api instance_api = {.struct_size = sizeof instance_api,
                                              .create = instance_create,
                                              .destroy = instance_destroy,
                                              .device_count = device_count,
                                              .device_open = device_open,
                                              .device_close = device_close,
                                              .device_info = device_info};

#define ARG(arg_name)                                              \
  {                                                                \
    .struct_size = sizeof(ops_arg_def), .name = OPS_STR(arg_name), \
    .types = OPS_TYPE_BIT(OPS_TYPE_FLOAT)                          \
  }
static const ops_arg_def unary[] = {ARG("X")};
static const ops_arg_def binary[] = {ARG("A"), ARG("B")};
#define DEF(op_name, in, row)                                                            \
  {                                                                                      \
    .struct_size = sizeof(ops_kernel_def), .op = OPS_STR(op_name), .since = 1,           \
    .name = OPS_STR("late_" op_name), OPS_LIST(input, in), OPS_LIST(output, unary),      \
    .flags = OPS_KERNEL_REENTRANT | OPS_KERNEL_ASYNC, .dynamic_shape = OPS_DYNAMIC_FULL, \
    .api = &kernel_api, .context = &(const late_function) {                              \
      row                                                                                \
    }                                                                                    \
  }
static const ops_kernel_def kernels[] = {
    DEF("Neg", unary, late_neg),    DEF("Relu", unary, late_relu),
    DEF("Abs", unary, late_abs),    DEF("Add", binary, late_add),
    DEF("Mul", binary, late_mul),   DEF("Sigmoid", unary, late_sigmoid),
    DEF("Swish", unary, late_swish)};

static const ops_provider provider = {.struct_size = sizeof provider,
                                      .name = OPS_STR("late"),
                                      .vendor = OPS_STR("tests"),
                                      .version = OPS_STR("1.0.0"),
                                      OPS_LIST(kernel, kernels),
                                      .instance = &instance_api,
                                      .stream = &stream_api};

int32_t ops_provider_query(const ops_query_request *request, ops_query_reply *reply,
                           ops_error *error) {
  return ops_provider_answer(&provider, OPS_FEATURE_STREAMS, 0, OPS_SANITIZER_BUILD, request,
                             reply, error);
}
