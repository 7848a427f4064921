// SPDX-License-Identifier: Apache-2.0
//
// SequenceEmpty, SequenceConstruct, SequenceAt, SequenceInsert, SequenceErase, SequenceLength,
// ConcatFromSequence, SplitToSequence, and Identity of host objects. A sequence made from
// another shares its tensors; only tensors that enter or leave a sequence are copied.
#include "traverse.h"

// ---- Positions -----------------------------------------------------------------------------

static int32_t prepare_object(ref_prepare *p) {
  (void)p;
  return OPS_OK;
}

static const ops_value_api *values_of(const ref_run *run) {
  return run->kernel->api->values;
}

static int32_t size_of(ref_run *run, uint64_t *out_size) {
  return values_of(run)->sequence_size(run->inputs[0].value, out_size, run->error);
}

// The position in input `input`, in [0, size + open_end); the last one if the input is left
// out.
static int32_t position_of(ref_run *run, uint64_t input, uint64_t size, int64_t open_end,
                           uint64_t *out_position) {
  const int64_t count = (int64_t)size;
  int64_t position = count + open_end - 1;
  if (ref_given(run, input)) {
    const ref_view *view = &run->inputs[input];
    if (view->count != 1)
      return ref_refuse(run, "input position: expected one element, found %lld",
                        (long long)view->count);
    position = ref_int_at(view, 0);
    if (position < 0) position += count;
  }
  if (position < 0 || position >= count + open_end)
    return ref_refuse(run, "the position is outside the sequence, which has %lld elements",
                      (long long)count);
  *out_position = (uint64_t)position;
  return OPS_OK;
}

// ---- Sequences from sequences --------------------------------------------------------------

static int32_t execute_assign(ref_run *run) {
  return values_of(run)->assign(run->outputs[0].value, run->inputs[0].value, run->error);
}

static int32_t execute_empty(ref_run *run) {
  (void)run;  // an output arrives as an empty sequence
  return OPS_OK;
}

static int32_t execute_construct(ref_run *run) {
  for (uint64_t i = 0; i < run->input_count; ++i) {
    const ops_arg item = ref_arg_of(&run->inputs[i]);
    RETURN_IF_ERROR(
        values_of(run)->sequence_insert(run->outputs[0].value, i, &item, run->error));
  }
  return OPS_OK;
}

static int32_t execute_insert(ref_run *run) {
  uint64_t size, position;
  const ops_arg item = ref_arg_of(&run->inputs[1]);
  RETURN_IF_ERROR(size_of(run, &size));
  RETURN_IF_ERROR(position_of(run, 2, size, 1, &position));
  RETURN_IF_ERROR(execute_assign(run));
  return values_of(run)->sequence_insert(run->outputs[0].value, position, &item, run->error);
}

static int32_t execute_erase(ref_run *run) {
  uint64_t size, position;
  RETURN_IF_ERROR(size_of(run, &size));
  RETURN_IF_ERROR(position_of(run, 1, size, 0, &position));
  RETURN_IF_ERROR(execute_assign(run));
  return values_of(run)->sequence_erase(run->outputs[0].value, position, run->error);
}

// ---- Tensors from sequences ----------------------------------------------------------------

static int32_t prepare_element(ref_prepare *p) {
  p->outputs[0].type = p->inputs[0].element;
  p->outputs[0].by_execute = 1;
  if (p->outputs[0].type == OPS_TYPE_UNDEFINED)
    return ref_refuse(p, "input %s: the type of its tensors is not known",
                      ref_input_name(p->kernel, 0));
  return OPS_OK;
}

static int32_t element_view(ref_run *run, uint64_t index, ref_view *out) {
  ops_arg item;
  RETURN_IF_ERROR(values_of(run)->sequence_get(run->inputs[0].value, index, &item, run->error));
  if (ref_view_init(out, &item, values_of(run)) == OPS_OK && out->element != NULL)
    return OPS_OK;
  return ref_refuse(run, "element %llu of the sequence is no tensor",
                    (unsigned long long)index);
}

static int32_t execute_at(ref_run *run) {
  uint64_t size, position;
  ref_view element;
  RETURN_IF_ERROR(size_of(run, &size));
  RETURN_IF_ERROR(position_of(run, 1, size, 0, &position));
  RETURN_IF_ERROR(element_view(run, position, &element));
  RETURN_IF_ERROR(ref_set_output(run, 0, element.rank, element.dims));
  const ref_view *y = &run->outputs[0];
  return ref_move_block((ref_block){y, 0, y->strides},
                        (ref_block){&element, 0, element.strides}, y->rank, y->dims,
                        run->error);
}

static int32_t prepare_length(ref_prepare *p) {
  return ref_set_shape(p, 0, 0, NULL);
}

static int32_t execute_length(ref_run *run) {
  uint64_t size;
  RETURN_IF_ERROR(size_of(run, &size));
  const int64_t length = (int64_t)size;
  ref_store_int(&run->outputs[0], 0, 1, 1, &length);
  return OPS_OK;
}

// ---- ConcatFromSequence --------------------------------------------------------------------

typedef struct concat_state {
  int64_t axis;
  int32_t new_axis;
} concat_state;

static int32_t prepare_concat(ref_prepare *p) {
  concat_state *s = p->state;
  if (ref_attr(p->kernel, "axis") == NULL) return ref_refuse(p, "attribute axis is missing");
  s->axis = ref_attr_int(p->kernel, "axis", 0);
  s->new_axis = ref_attr_int(p->kernel, "new_axis", 0) != 0;
  return prepare_element(p);
}

// Element `index`, with the new axis if there is one.
static int32_t part_of(ref_run *run, uint64_t index, int64_t axis, ref_view *out) {
  const concat_state *s = run->state;
  RETURN_IF_ERROR(element_view(run, index, out));
  if (s->new_axis) {
    if (out->rank >= OPS_MAX_RANK)
      return ref_refuse(run, "a new axis would exceed rank %d", OPS_MAX_RANK);
    *out = ref_with_axis(out, (int32_t)axis);
  }
  return OPS_OK;
}

static int32_t add_part(ref_run *run, const ref_view *part, uint64_t index, int64_t axis,
                        int32_t rank, int64_t *dims) {
  if (index > 0 && part->rank != rank)
    return ref_refuse(run, "element %llu has rank %d, the first one %d; expected the same",
                      (unsigned long long)index, part->rank, rank);
  for (int32_t i = 0; i < part->rank; ++i) {
    if (index == 0) {
      dims[i] = part->dims[i];
    } else if (i == axis) {
      if (__builtin_add_overflow(dims[i], part->dims[i], &dims[i]))
        return ref_refuse(run, "the result is too large");
    } else if (dims[i] != part->dims[i]) {
      return ref_refuse(run, "element %llu: dimension %d is %lld, expected %lld as before",
                        (unsigned long long)index, i, (long long)part->dims[i],
                        (long long)dims[i]);
    }
  }
  return OPS_OK;
}

static int32_t concat_shape(ref_run *run, uint64_t size, int64_t *out_axis, int32_t *out_rank,
                            int64_t *dims) {
  const concat_state *s = run->state;
  ref_view first, part;
  if (size == 0) return ref_refuse(run, "the sequence is empty; expected an element or more");
  RETURN_IF_ERROR(element_view(run, 0, &first));
  *out_rank = first.rank + s->new_axis;
  *out_axis = s->axis < 0 ? s->axis + *out_rank : s->axis;
  if (*out_axis < 0 || *out_axis >= *out_rank)
    return ref_refuse(run, "attribute axis is %lld, expected a number in [%d, %d]",
                      (long long)s->axis, -*out_rank, *out_rank - 1);
  for (uint64_t i = 0; i < size; ++i) {
    RETURN_IF_ERROR(part_of(run, i, *out_axis, &part));
    RETURN_IF_ERROR(add_part(run, &part, i, *out_axis, *out_rank, dims));
  }
  return OPS_OK;
}

static int32_t execute_concat(ref_run *run) {
  int64_t dims[OPS_MAX_RANK], axis = 0, start = 0;
  int32_t rank = 0;
  uint64_t size;
  ref_view part;
  RETURN_IF_ERROR(size_of(run, &size));
  RETURN_IF_ERROR(concat_shape(run, size, &axis, &rank, dims));
  RETURN_IF_ERROR(ref_set_output(run, 0, rank, dims));
  const ref_view *y = &run->outputs[0];
  for (uint64_t i = 0; i < size; ++i) {
    RETURN_IF_ERROR(part_of(run, i, axis, &part));
    RETURN_IF_ERROR(ref_move_block((ref_block){y, start * y->strides[axis], y->strides},
                                   (ref_block){&part, 0, part.strides}, rank, part.dims,
                                   run->error));
    start += part.dims[axis];
  }
  return OPS_OK;
}

// ---- SplitToSequence -----------------------------------------------------------------------

typedef struct split_state {
  int32_t axis;
  int32_t drop_axis;  // 1: parts of length 1 lose the axis
} split_state;

static int32_t prepare_split(ref_prepare *p) {
  split_state *s = p->state;
  s->drop_axis = !ref_has(p, 1) && ref_attr_int(p->kernel, "keepdims", 1) == 0;
  return ref_axis(p, ref_attr_int(p->kernel, "axis", 0), p->inputs[0].rank, &s->axis);
}

// Strings of a part move into a value of their own.
static int32_t insert_strings(ref_run *run, const ref_view *part, uint64_t index) {
  const ops_value_api *values = values_of(run);
  ops_value *strings = NULL;
  ref_view target;
  RETURN_IF_ERROR(values->create(OPS_VALUE_STRINGS, &strings, run->error));
  ops_arg item = {.kind = OPS_ARG_VALUE, .value = strings};
  int32_t status = values->strings_resize(strings, part->rank, part->dims, run->error);
  if (status == OPS_OK) status = ref_view_init(&target, &item, values);
  if (status == OPS_OK)
    status = ref_move_block((ref_block){&target, 0, target.strides},
                            (ref_block){part, part->origin, part->strides}, part->rank,
                            part->dims, run->error);
  if (status == OPS_OK)
    status = values->sequence_insert(run->outputs[0].value, index, &item, run->error);
  values->release(strings);
  return status;
}

static int32_t insert_part(ref_run *run, int64_t start, int64_t length, uint64_t index) {
  const split_state *s = run->state;
  ref_view part = run->inputs[0];
  const int64_t offset = start * part.strides[s->axis];
  part.dims[s->axis] = length;
  if (s->drop_axis) {
    for (int32_t i = s->axis; i + 1 < part.rank; ++i) {
      part.dims[i] = part.dims[i + 1];
      part.strides[i] = part.strides[i + 1];
    }
    part.rank--;
  }
  part.count = ref_count(part.dims, part.rank);
  if (part.value != NULL) {
    part.origin = offset;
    return insert_strings(run, &part, index);
  }
  if (part.count > 0) part.origin += offset;
  const ops_arg item = ref_arg_of(&part);
  return values_of(run)->sequence_insert(run->outputs[0].value, index, &item, run->error);
}

// Length of part `index` that begins at `start`: 1, the scalar, or the entry of the vector.
static int64_t part_length(const ref_run *run, uint64_t index, int64_t start, int64_t total) {
  if (!ref_given(run, 1)) return 1;
  const ref_view *split = &run->inputs[1];
  if (split->rank == 1) return ref_int_at(split, (int64_t)index * split->strides[0]);
  const int64_t length = ref_int_at(split, 0);
  return length < total - start ? length : total - start;
}

// Adds the lengths up before anything is written.
static int32_t check_lengths(ref_run *run, int64_t total) {
  const ref_view *split = &run->inputs[1];
  if (!ref_given(run, 1)) return OPS_OK;
  if (split->rank > 1)
    return ref_refuse(run, "input split: expected a rank of 0 or 1, found %d", split->rank);
  if (split->rank == 0 && ref_int_at(split, 0) < 1)
    return ref_refuse(run, "input split is %lld, expected a positive number",
                      (long long)ref_int_at(split, 0));
  int64_t sum = 0;
  for (int64_t i = 0; split->rank == 1 && i < split->count; ++i) {
    const int64_t length = ref_int_at(split, i * split->strides[0]);
    if (length < 0 || length > total - sum)
      return ref_refuse(run, "input split: entry %lld is %lld, %lld elements are left",
                        (long long)i, (long long)length, (long long)(total - sum));
    sum += length;
  }
  if (split->rank == 1 && sum != total)
    return ref_refuse(run, "input split: the lengths add up to %lld, expected %lld",
                      (long long)sum, (long long)total);
  return OPS_OK;
}

static int32_t execute_split(ref_run *run) {
  const split_state *s = run->state;
  const int64_t total = run->inputs[0].dims[s->axis];
  const int vector = ref_given(run, 1) && run->inputs[1].rank == 1;
  RETURN_IF_ERROR(check_lengths(run, total));
  int64_t start = 0;
  for (uint64_t i = 0; vector ? (int64_t)i < run->inputs[1].count : start < total; ++i) {
    const int64_t length = part_length(run, i, start, total);
    RETURN_IF_ERROR(insert_part(run, start, length, i));
    start += length;
  }
  return OPS_OK;
}

const ref_op ref_identity_object = {0, prepare_object, execute_assign, NULL, NULL};
const ref_op ref_sequence_empty = {0, prepare_object, execute_empty, NULL, NULL};
const ref_op ref_sequence_construct = {0, prepare_object, execute_construct, NULL, NULL};
const ref_op ref_sequence_insert = {0, prepare_object, execute_insert, NULL, NULL};
const ref_op ref_sequence_erase = {0, prepare_object, execute_erase, NULL, NULL};
const ref_op ref_sequence_at = {0, prepare_element, execute_at, NULL, NULL};
const ref_op ref_sequence_length = {0, prepare_length, execute_length, NULL, NULL};
const ref_op ref_concat_from_sequence = {sizeof(concat_state), prepare_concat, execute_concat,
                                         NULL, NULL};
const ref_op ref_split_to_sequence = {sizeof(split_state), prepare_split, execute_split, NULL,
                                      NULL};
