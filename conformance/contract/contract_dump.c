// SPDX-License-Identifier: Apache-2.0
//
// contract_dump PATH: contracts as JSON, for tools that compare them with other sources
// (ci/check_contracts). Each row stands with its plain assignment: see oc_row_first.
#include <inttypes.h>
#include <math.h>
#include <ops_support/error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contract/binding.h"

static void put_text(const char *text) {
  putchar('"');
  for (; *text; ++text) {
    if (*text == '"' || *text == '\\') putchar('\\');
    if ((unsigned char)*text >= 0x20) putchar(*text);
  }
  putchar('"');
}

static void put_number(double value) {
  if (isfinite(value)) {
    printf("%.17g", value);
  } else {
    printf("\"%s\"", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
  }
}

static void put_value(const oc_value *value) {
  const bool list = value->kind == OC_VALUE_INTS || value->kind == OC_VALUE_FLOATS ||
                    value->kind == OC_VALUE_STRINGS;
  if (value->kind == OC_VALUE_ABSENT || value->kind == OC_VALUE_NONE ||
      value->kind == OC_VALUE_EACH || value->kind == OC_VALUE_EXPR) {
    printf("null");
    return;
  }
  if (list) putchar('[');
  for (size_t i = 0; i < value->count; ++i) {
    if (i) putchar(',');
    if (value->strings) {
      put_text(value->strings[i]);
    } else if (value->ints) {
      printf("%" PRId64, value->ints[i]);
    } else {
      put_number(value->floats[i]);
    }
  }
  if (list) putchar(']');
}

static void put_shape(const oc_shape *shape) {
  putchar('[');
  for (int32_t i = 0; i < shape->rank; ++i) {
    printf("%s%" PRId64, i ? "," : "", shape->dims[i]);
  }
  putchar(']');
}

static void put_types(uint64_t types) {
  const char *comma = "";
  putchar('[');
  for (int i = 0; i < OPS_TYPE_COUNT; ++i) {
    if (!(types & OPS_TYPE_BIT(i))) continue;
    printf("%s%d", comma, i);
    comma = ",";
  }
  putchar(']');
}

static void put_params(const char *key, const oc_param *params, size_t count) {
  printf(",\"%s\":[", key);
  for (size_t i = 0; i < count; ++i) {
    printf("%s{\"name\":", i ? "," : "");
    put_text(params[i].name);
    printf(",\"var\":%d,\"type\":%d,\"optional\":%d,\"variadic\":%d}", (int)params[i].type_var,
           (int)params[i].type, params[i].optional, params[i].variadic);
  }
  putchar(']');
}

static void put_attributes(const oc_contract *c) {
  printf(",\"attributes\":[");
  for (size_t i = 0; i < c->attribute_count; ++i) {
    const oc_attribute *a = &c->attributes[i];
    printf("%s{\"name\":", i ? "," : "");
    put_text(a->name);
    printf(",\"kind\":%d,\"required\":%d,\"of\":%d,\"default\":", a->type, a->required,
           (int)a->type_var);
    put_value(&a->default_value);
    putchar('}');
  }
  putchar(']');
}

static void put_inputs(const oc_row_input *inputs, size_t count) {
  printf("\"inputs\":[");
  for (size_t i = 0; i < count; ++i) {
    printf("%s{\"shapes\":[", i ? "," : "");
    for (size_t j = 0; j < inputs[i].count; ++j) {
      if (j) putchar(',');
      put_shape(&inputs[i].shapes[j]);
    }
    printf("],\"contents\":");
    put_value(&inputs[i].contents);
    putchar('}');
  }
  putchar(']');
}

static void put_values(const char *key, const oc_value *values, size_t count) {
  printf(",\"%s\":[", key);
  for (size_t i = 0; i < count; ++i) {
    if (i) putchar(',');
    put_value(&values[i]);
  }
  putchar(']');
}

// The intervals that inputs are drawn from, and whether the row is trivial, for these types.
static int32_t put_bounds(const oc_contract *c, const oc_row *row, const oc_binding *binding,
                          ops_error *error) {
  printf(",\"ranges\":[");
  for (size_t i = 0; i < c->input_count; ++i) {
    const oc_range *range = &row->inputs[i].range;
    oc_interval interval = {-INFINITY, INFINITY, true, true};
    if (!range->lo) {
      range = &c->inputs[i].ranges[oc_type_class_of(oc_binding_type(binding, &c->inputs[i]))];
    }
    if (row->inputs[i].count > 0) {
      OPS_RETURN_IF_ERROR(oc_binding_interval(binding, range, &interval, error));
    }
    printf("%s[", i ? "," : "");
    put_number(interval.lo);
    putchar(',');
    put_number(interval.hi);
    printf(",%d,%d]", interval.lo_open, interval.hi_open);
  }
  bool trivial = false;
  const oc_expr_env env = oc_binding_env(binding);
  if (row->trivial) OPS_RETURN_IF_ERROR(oc_expr_eval_bool(row->trivial, &env, &trivial, error));
  printf("],\"trivial\":%d", trivial);
  return OPS_OK;
}

static void put_row_types(const oc_contract *c, const oc_row *row) {
  printf(",\"types\":[");
  for (size_t i = 0; i < c->type_var_count; ++i) {
    if (i) putchar(',');
    put_types(row->types[i]);
  }
  printf("],\"vary\":[");
  for (size_t i = 0; i < row->vary_count; ++i) {
    printf("%s{\"attribute\":%u", i ? "," : "", row->vary[i].attribute);
    put_values("values", row->vary[i].values, row->vary[i].count);
    putchar('}');
  }
  printf("],\"outputs\":%u}", row->output_count);
}

static int32_t put_rows(const oc_contract *c, oc_arena *arena, ops_error *error) {
  int32_t *types = oc_arena_alloc(arena, c->type_var_count, sizeof(*types));
  oc_value *attributes = oc_arena_alloc(arena, c->attribute_count, sizeof(*attributes));
  if (!types || !attributes) {
    return ops_error_set(error, OPS_ERROR_OUT_OF_MEMORY, "no memory for the rows");
  }
  printf(",\"rows\":[");
  for (size_t i = 0; i < c->row_count; ++i) {
    const oc_row *row = &c->rows[i];
    OPS_RETURN_IF_ERROR(oc_row_first(c, row, arena, types, attributes, error));
    printf("%s\n{\"id\":", i ? "," : "");
    put_text(row->id);
    printf(",\"fills\":%u,", row->fills);
    put_inputs(row->inputs, c->input_count);
    put_values("attributes", attributes, c->attribute_count);
    const oc_binding binding = {
        .contract = c, .types = types, .inputs = row->inputs, .attributes = attributes};
    OPS_RETURN_IF_ERROR(put_bounds(c, row, &binding, error));
    put_row_types(c, row);
  }
  putchar(']');
  return OPS_OK;
}

static int32_t put_contract(const oc_contract *c, oc_arena *arena, ops_error *error) {
  printf("{\"op\":");
  put_text(c->op);
  printf(",\"domain\":");
  put_text(c->domain);
  printf(",\"file\":");
  put_text(c->file);
  printf(",\"since\":%d,\"until\":%d,\"judge\":\"%s\",\"type_vars\":[", (int)c->since,
         (int)c->until, oc_judge_name(c->judge));
  for (size_t i = 0; i < c->type_var_count; ++i) {
    printf("%s{\"name\":", i ? "," : "");
    put_text(c->type_vars[i].name);
    printf(",\"types\":");
    put_types(c->type_vars[i].types);
    putchar('}');
  }
  putchar(']');
  put_params("inputs", c->inputs, c->input_count);
  put_params("outputs", c->outputs, c->output_count);
  put_attributes(c);
  OPS_RETURN_IF_ERROR(put_rows(c, arena, error));
  printf("}");
  return OPS_OK;
}

int main(int argc, char **argv) {
  oc_contracts *contracts = NULL;
  ops_error error = OPS_ERROR_INIT;
  if (argc != 2) {
    fprintf(stderr, "usage: contract_dump FILE_OR_FOLDER\n");
    return 4;
  }
  int32_t status = oc_contracts_load(argv[1], &contracts, &error);
  putchar('[');
  for (size_t i = 0; status == OPS_OK && i < contracts->count; ++i) {
    if (i) printf(",\n");
    status = put_contract(&contracts->items[i], contracts->arena, &error);
  }
  printf("]\n");
  if (status != OPS_OK) fprintf(stderr, "contract_dump: %s\n", error.message);
  oc_contracts_destroy(contracts);
  return status == OPS_OK ? 0 : 4;
}
