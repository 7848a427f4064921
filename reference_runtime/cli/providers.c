// SPDX-License-Identifier: Apache-2.0
//
// opsrun providers: what a provider is, its device, its kernels with opsets and types.
#include <inttypes.h>
#include <ops_support/error.h>
#include <ops_support/node.h>
#include <ops_support/tensor.h>
#include <stdio.h>

#include "cli/command_line.h"

static void print_types(uint64_t types) {
  const char *separator = "";
  if (types == 0) printf("value");
  for (int32_t type = 1; type < OPS_TYPE_COUNT; ++type) {
    if (!(types & OPS_TYPE_BIT(type))) continue;
    printf("%s%s", separator, ops_type_name(type));
    separator = "|";
  }
}

static void print_kernel(const ops_kernel_def *def) {
  const ops_str domain = def->domain;
  printf("  %.*s%s%.*s %d", OPS_STR_FMT(domain), domain.size ? "." : "", OPS_STR_FMT(def->op),
         def->since);
  if (def->until)
    printf("-%d", def->until);
  else
    printf("+");
  for (uint64_t i = 0; i < def->input_count; ++i) {
    const ops_arg_def *input = OPS_AT(ops_arg_def, def->inputs, def->input_stride, i);
    printf("%s%.*s:", i ? ", " : "  ", OPS_STR_FMT(input->name));
    print_types(input->types);
  }
  printf("\n");
}

static void print_device(const opsrt_provider *provider) {
  static const char *const kinds[] = {"host", "pinned", "device", "shared"};
  const ops_device_info *info = opsrt_provider_device(provider);
  printf("  devices: %" PRIu64 "; the first: %.*s, %.*s, memory",
         opsrt_provider_device_count(provider), OPS_STR_FMT(info->name),
         OPS_STR_FMT(info->architecture));
  for (int32_t kind = 0; kind < OPS_MEMORY_KIND_COUNT; ++kind)
    if (info->memory_kinds & OPS_MEMORY_BIT(kind)) printf(" %s", kinds[kind]);
  if (info->memory_bytes) printf(" (%" PRIu64 " bytes)", info->memory_bytes);
  if (info->max_streams) printf(", at most %" PRIu64 " streams", info->max_streams);
  printf("\n");
}

static void print_provider(const opsrt_provider *provider) {
  const ops_provider *table = opsrt_provider_table(provider);
  printf("%.*s %.*s by %.*s\n  %s\n", OPS_STR_FMT(table->name), OPS_STR_FMT(table->version),
         OPS_STR_FMT(table->vendor), opsrt_provider_path(provider));
  print_device(provider);
  printf("  %s, %s; kernels: %" PRIu64 "\n",
         table->stream ? "asynchronous streams" : "synchronous",
         table->group ? "compiles groups" : "single nodes", table->kernel_count);
  for (uint64_t i = 0; i < table->kernel_count; ++i)
    print_kernel(OPS_AT(ops_kernel_def, table->kernels, table->kernel_stride, i));
}

int cli_providers(const cli_options *options) {
  static const char *const fallback[] = {OPSRT_FALLBACK_PROVIDER};
  const char *const *names = options->plain_count ? options->plain : fallback;
  const uint32_t count = options->plain_count ? options->plain_count : 1;
  for (uint32_t i = 0; i < count; ++i) {
    ops_error error = OPS_ERROR_INIT;
    opsrt_provider *provider = NULL;
    const opsrt_provider_spec spec = {.name = names[i]};
    if (opsrt_provider_open(&spec, NULL, &provider, &error) != OPS_OK)
      return cli_report(&error);
    print_provider(provider);
    opsrt_provider_close(provider);
  }
  return CLI_OK;
}
