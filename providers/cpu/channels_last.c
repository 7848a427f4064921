// SPDX-License-Identifier: Apache-2.0
//
// The layout itself, its memory, and views of it. See channels_last.h.
#include "channels_last.h"

#include <ops_support/checked.h>
#include <ops_support/provider.h>
#include <string.h>

#include "vec.h"

// ---- Shapes ---------------------------------------------------------------------------------

int cpu_may_be_last(const ops_type_info *type) {
  for (int32_t i = 0; type->dims && i < type->rank; ++i)
    if (type->dims[i] == 0) return 0;
  const int is_held = type->type == OPS_TYPE_FLOAT || type->type == OPS_TYPE_INT8 ||
                      type->type == OPS_TYPE_UINT8;
  return type->kind == OPS_VALUE_TENSOR && is_held && type->rank >= 3 && type->rank <= 5;
}

static int is_last(const ops_operand *operand) {
  return operand && operand->type && operand->type->layout == CPU_LAYOUT_CHANNELS_LAST;
}

int cpu_is_last(const ops_prepare_request *request, uint64_t index) {
  return is_last(ops_request_input(request, index));
}

int cpu_wants_last(const ops_prepare_request *request) {
  return request->output_layouts && request->output_layouts[0] == CPU_LAYOUT_CHANNELS_LAST;
}

void cpu_shape_to_last(cpu_shape *shape) {
  const int64_t channels = shape->dims[1];
  for (int32_t i = 1; i + 1 < shape->rank; ++i) shape->dims[i] = shape->dims[i + 1];
  shape->dims[shape->rank - 1] = channels;
}

void cpu_shape_from_last(cpu_shape *shape) {
  const int64_t channels = shape->dims[shape->rank - 1];
  for (int32_t i = shape->rank - 1; i > 1; --i) shape->dims[i] = shape->dims[i - 1];
  shape->dims[1] = channels;
}

// ---- Choices --------------------------------------------------------------------------------

#define MAX_INPUTS 64
#define L CPU_LAYOUT_CHANNELS_LAST
#define L8 L, L, L, L, L, L, L, L

static const uint32_t kNone[MAX_INPUTS] = {0};
static const uint32_t kAll[MAX_INPUTS] = {L8, L8, L8, L8, L8, L8, L8, L8};
static const uint32_t kFirst[MAX_INPUTS] = {L};
static const uint32_t kSecond[MAX_INPUTS] = {0, L};
static const uint32_t kChain[MAX_INPUTS] = {L, 0, 0, L};
static const uint32_t kTriples[MAX_INPUTS] = {0, 0, L, 0, 0, L, 0, 0, L, 0, 0, L, 0, 0, L, 0,
                                              0, L, 0, 0, L, 0, 0, L, 0, 0, L, 0, 0, L, 0, 0,
                                              L, 0, 0, L, 0, 0, L, 0, 0, L, 0, 0, L, 0, 0, L,
                                              0, 0, L, 0, 0, L, 0, 0, L, 0, 0, L, 0, 0, L, 0};

static const struct {
  const uint32_t *inputs;
  const uint32_t *outputs;
} kPatterns[CPU_LAST_COUNT] = {
    [CPU_LAST_NONE] = {kNone, kNone},     [CPU_LAST_ALL] = {kAll, kAll},
    [CPU_LAST_FIRST] = {kFirst, kAll},    [CPU_LAST_SECOND] = {kSecond, kAll},
    [CPU_LAST_SOURCE] = {kFirst, kNone},  [CPU_LAST_CHAIN] = {kChain, kAll},
    [CPU_LAST_TRIPLES] = {kTriples, kAll}};

void cpu_layouts_add(cpu_layouts *layouts, int32_t pattern, double cost) {
  layouts->patterns[layouts->count] = pattern;
  layouts->costs[layouts->count++] = cost;
}

double cpu_reorder_cost(int64_t bytes) {
  return 2.0 * (double)bytes / CPU_BYTES_PER_SECOND;
}

int32_t cpu_query_layouts(ops_kernel *kernel, const ops_prepare_request *request,
                          ops_layout_choice *out_choices, uint64_t capacity, uint64_t stride,
                          uint64_t *out_count, ops_error *error) {
  cpu_layouts layouts = {0};
  OPS_RETURN_IF_ERROR(
      ops_input_struct_check(request, sizeof *request, "prepare request", error));
  if (kernel->device->channels_last && kernel->op->layouts &&
      request->input_count <= MAX_INPUTS && kernel->output_count <= MAX_INPUTS)
    kernel->op->layouts(kernel, request, &layouts);
  for (uint64_t i = 0; i < layouts.count && i < capacity; ++i) {
    ops_layout_choice *choice = (ops_layout_choice *)((char *)out_choices + i * stride);
    choice->cost = layouts.costs[i];
    choice->input_layouts = kPatterns[layouts.patterns[i]].inputs;
    choice->output_layouts = kPatterns[layouts.patterns[i]].outputs;
  }
  *out_count = layouts.count;
  return OPS_OK;
}

// ---- Views ----------------------------------------------------------------------------------

typedef struct view_input {
  ops_operand operand;
  ops_type_info type;
  cpu_shape shape;
} view_input;

// [C, 1, …] beside an operand of higher rank is one value for each channel: [C].
static void view_lower_rank(cpu_shape *shape, int32_t rank) {
  if (shape->rank != rank - 1) return;
  for (int32_t i = 1; i < shape->rank; ++i)
    if (shape->dims[i] != 1) return;
  shape->rank = 1;
}

static void view_input_init(view_input *view, const ops_operand *operand, int32_t rank) {
  view->operand = *operand;
  if (!operand->type) return;
  view->type = *operand->type;
  view->shape.rank = view->type.rank;
  if (view->type.rank > 0)
    memcpy(view->shape.dims, view->type.dims, (size_t)view->type.rank * sizeof(int64_t));
  if (is_last(operand))
    cpu_shape_to_last(&view->shape);
  else
    view_lower_rank(&view->shape, rank);
  view->type.rank = view->shape.rank;
  view->type.dims = view->shape.dims;
  view->operand.type = &view->type;
}

static int32_t view_rank(const ops_prepare_request *request) {
  for (uint64_t i = 0; i < request->input_count; ++i)
    if (cpu_is_last(request, i)) return ops_request_input(request, i)->type->rank;
  return 0;
}

static void restore_outputs(const ops_prepare_request *request, ops_prepare_reply *reply) {
  for (uint64_t i = 0; i < reply->output_count; ++i) {
    if (!request->output_layouts || request->output_layouts[i] == OPS_LAYOUT_STRIDED) continue;
    ops_output_info *info = cpu_reply_output(reply, i);
    cpu_shape shape = {.rank = info->rank};
    memcpy(shape.dims, info->dims, (size_t)info->rank * sizeof *info->dims);
    cpu_shape_from_last(&shape);
    memcpy(info->dims, shape.dims, (size_t)info->rank * sizeof *info->dims);
  }
}

static int32_t prepare_view(ops_kernel *kernel, const ops_prepare_request *request,
                            view_input *views, ops_prepared *prepared, ops_prepare_reply *reply,
                            ops_error *error) {
  const int32_t rank = view_rank(request);
  ops_prepare_request seen = *request;
  for (uint64_t i = 0; i < request->input_count; ++i)
    view_input_init(&views[i], OPS_AT(ops_operand, request->inputs, request->input_stride, i),
                    rank);
  seen.inputs = &views[0].operand;
  seen.input_stride = sizeof *views;
  OPS_RETURN_IF_ERROR(kernel->op->prepare(kernel, &seen, prepared, reply, error));
  restore_outputs(request, reply);
  return OPS_OK;
}

int32_t cpu_prepare_any(ops_kernel *kernel, const ops_prepare_request *request,
                        ops_prepared *prepared, ops_prepare_reply *reply, ops_error *error) {
  if (!kernel->op->sees_view || view_rank(request) == 0)
    return kernel->op->prepare(kernel, request, prepared, reply, error);
  view_input *views = cpu_alloc(kernel->device, request->input_count * sizeof *views);
  if (!views)
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "cpu: no memory for %llu shapes",
                         (unsigned long long)request->input_count);
  const int32_t status = prepare_view(kernel, request, views, prepared, reply, error);
  cpu_free(kernel->device, views);
  return status;
}

// ---- Memory ---------------------------------------------------------------------------------

static int32_t check_kind(int32_t memory_kind, ops_error *error) {
  if (memory_kind == OPS_MEMORY_HOST) return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                       "cpu: memory kind %d; the device has host memory (%d) only", memory_kind,
                       OPS_MEMORY_HOST);
}

static int32_t allocate(ops_device *device, int32_t memory_kind, uint64_t size,
                        uint64_t alignment, int32_t usage, void **out_memory,
                        ops_error *error) {
  (void)usage;
  *out_memory = NULL;
  OPS_RETURN_IF_ERROR(check_kind(memory_kind, error));
  if (size == 0)
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT, "cpu: an allocation of 0 bytes");
  *out_memory = device->api->allocate(device->host, size, alignment < 64 ? 64 : alignment);
  if (*out_memory) atomic_fetch_add(&device->blocks, 1);
  return *out_memory ? OPS_OK
                     : ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY,
                                     "cpu: no memory for %llu bytes", (unsigned long long)size);
}

static void free_memory(ops_device *device, int32_t memory_kind, void *memory) {
  (void)memory_kind;
  if (memory) atomic_fetch_sub(&device->blocks, 1);
  cpu_free(device, memory);
}

static int32_t layout_size(ops_device *device, uint32_t layout, int32_t type, int32_t rank,
                           const int64_t *dims, uint64_t *out_bytes, ops_error *error) {
  const ops_type_info info = {.kind = OPS_VALUE_TENSOR, .type = type, .rank = rank};
  int64_t count;
  (void)device;
  *out_bytes = 0;
  if (layout != CPU_LAYOUT_CHANNELS_LAST || !cpu_may_be_last(&info))
    return ops_error_set(
        error, OPS_ERROR_INVALID_ARGUMENT,
        "cpu: layout %u of type %s and rank %d; the layout is %u, of float, int8 or uint8 and "
        "rank 3 to 5",
        layout, ops_type_name(type), rank, CPU_LAYOUT_CHANNELS_LAST);
  if (ops_checked_count(dims, rank, &count) && ops_type_bytes(type, count, out_bytes))
    return OPS_OK;
  return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT, "cpu: the tensor is too large");
}

// ---- Reorder --------------------------------------------------------------------------------

// A tensor of images; each is a matrix [rows, columns] that becomes [columns, rows].
typedef struct flip {
  const cpu_vec *vec;
  const char *x;
  char *y;
  int64_t rows, columns, pieces, size;
} flip;

// Columns that one piece of work takes.
#define PIECE 256

static void flip_range(void *context, int64_t begin, int64_t end, int32_t worker) {
  const flip *f = context;
  (void)worker;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t image = i / f->pieces * f->rows * f->columns, column = i % f->pieces * PIECE;
    const int64_t left = f->columns - column, columns = left < PIECE ? left : PIECE;
    const void *x = f->x + (image + column) * f->size;
    void *y = f->y + (image + column * f->rows) * f->size;
    if (f->size == 1)
      f->vec->transpose_bytes(x, f->columns, y, f->rows, f->rows, columns);
    else
      f->vec->transpose(x, f->columns, y, f->rows, f->rows, columns);
  }
}

void cpu_flip_images(const ops_device *device, int64_t size, const void *x, void *y,
                     int64_t images, int64_t rows, int64_t columns) {
  flip f = {device->vec, x, y, rows, columns, (columns + PIECE - 1) / PIECE, size};
  if (rows == 0 || columns == 0) return;
  cpu_parallel(device, images * f.pieces, cpu_grain(rows * PIECE * size / 32), flip_range, &f);
}

static int32_t reorder(ops_device *device, ops_stream *stream, const ops_arg *source,
                       const ops_arg *target, ops_error *error) {
  const ops_tensor *from = &source->tensor, *to = &target->tensor;
  const ops_type_info info = {.kind = OPS_VALUE_TENSOR, .type = from->type, .rank = from->rank};
  (void)stream;
  if (from->layout + to->layout != CPU_LAYOUT_CHANNELS_LAST || !cpu_may_be_last(&info))
    return ops_error_set(error, OPS_ERROR_INVALID_ARGUMENT,
                         "cpu: no reorder from layout %u to %u of type %s and rank %d",
                         from->layout, to->layout, ops_type_name(from->type), from->rank);
  const int64_t pixels = cpu_product(from->dims, 2, from->rank), channels = from->dims[1];
  const int to_last = to->layout == CPU_LAYOUT_CHANNELS_LAST;
  cpu_flip_images(device, cpu_type_size(from->type), ops_tensor_data(from), ops_tensor_data(to),
                  from->dims[0], to_last ? channels : pixels, to_last ? pixels : channels);
  return OPS_OK;
}

const ops_memory_api cpu_memory_api = {
    .struct_size = sizeof(ops_memory_api),
    .allocate = allocate,
    .free = free_memory,
    .layout_size = layout_size,
    .reorder = reorder,
};
