// SPDX-License-Identifier: Apache-2.0
//
// Check `groups`: graphs of several nodes are shown to a provider that claims groups, and what
// it proposes is compiled and run, as a host would do it: a group that would close a cycle is
// cut and its parts are claimed anew. Every provider with a group interface is asked; which
// groups it proposes is its own affair, that they give the results of their nodes is not.
#include <stdlib.h>
#include <string.h>

#include "checks/check.h"
#include "checks/net.h"
#include "checks/provider_case.h"
#include "ops_support/error.h"

#define TIMES 3  // how often a claim is asked

// ---- The graphs -----------------------------------------------------------------------------

// Values: inputs, then constants, then results.
static const oc_net_spec kResults[] = {
    {"chain", 1, 0, {{"Relu", {0, -1}}, {"Neg", {1, -1}}, {"Relu", {2, -1}}}, 0},
    {"operands", 2, 0, {{"Sub", {0, 1}}, {"Neg", {2, -1}}, {"Sub", {1, 3}}}, 0},
    {"constant", 1, 1, {{"Add", {0, 1}}, {"Relu", {2, -1}}, {"Mul", {3, 1}}}, 0},
    {"same operand twice", 1, 0, {{"Add", {0, 0}}, {"Mul", {1, 1}}}, 0},
    {"diamond",
     2,
     0,
     {{"Add", {0, 1}}, {"Relu", {2, -1}}, {"Neg", {2, -1}}, {"Mul", {3, 4}}},
     0},
    {"several consumers",
     2,
     0,
     {{"Mul", {0, 1}}, {"Relu", {2, -1}}, {"Neg", {2, -1}}, {"Sub", {2, 0}}},
     0},
    {"inner value is an output",
     2,
     0,
     {{"Add", {0, 1}}, {"Neg", {2, -1}}, {"Relu", {3, -1}}},
     1u | 2u},
    {"inner value is read elsewhere",
     2,
     0,
     {{"Add", {0, 1}}, {"Relu", {2, -1}}, {OC_NET_FOREIGN, {2, -1}}, {"Neg", {3, -1}}},
     0},
};

static const oc_net_spec kCaptures[] = {
    {"capture of an input",
     1,
     0,
     {{"Relu", {0, -1}}, {"Neg", {1, -1}}, {OC_NET_IF, {0, -1}}},
     0},
    {"capture of an inner value",
     2,
     0,
     {{"Sub", {0, 1}}, {"Relu", {2, -1}}, {OC_NET_IF, {2, -1}}},
     0},
    {"capture of a value that nobody else reads",
     2,
     0,
     {{"Add", {0, 1}}, {"Neg", {2, -1}}, {"Relu", {2, -1}}, {OC_NET_IF, {3, -1}}},
     0},
    {"reading what an If gave",
     2,
     0,
     {{"Add", {0, 1}}, {OC_NET_IF, {2, -1}}, {"Mul", {3, 2}}, {"Neg", {4, -1}}},
     0},
};

static const oc_net_spec kCycles[] = {
    {"around one node",
     1,
     0,
     {{"Relu", {0, -1}}, {OC_NET_FOREIGN, {1, -1}}, {"Add", {1, 2}}, {"Neg", {3, -1}}},
     0},
    {"around two nodes",
     2,
     0,
     {{"Mul", {0, 1}},
      {"Neg", {2, -1}},
      {OC_NET_FOREIGN, {3, -1}},
      {"Sub", {2, 4}},
      {OC_NET_FOREIGN, {5, -1}},
      {"Add", {3, 6}},
      {"Relu", {7, -1}}},
     0},
    {"two ways round",
     1,
     0,
     {{"Neg", {0, -1}},
      {OC_NET_FOREIGN, {1, -1}},
      {OC_NET_FOREIGN, {1, -1}},
      {"Sub", {2, 1}},
      {"Add", {3, 4}}},
     0},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

// ---- Asking ---------------------------------------------------------------------------------

// Groups of the nodes of a net, by node.
typedef struct proposal {
  int32_t group[OC_NET_MAX_NODES];
} proposal;

// Asks about a part. Numbers are told apart, not kept: each group bears its first node's.
static bool ask(oc_net *net, const oc_net_part *part, proposal *out) {
  ops_error error = OPS_ERROR_INIT;
  ops_group_claim claims[OC_NET_MAX_NODES];
  const uint64_t count = part->graph.node_count;
  for (uint64_t i = 0; i < count; ++i) {
    claims[i] = (ops_group_claim){.struct_size = sizeof *claims, .group = OPS_GROUP_NONE};
  }
  const int32_t status = net->target->provider->group->claim(
      net->target->device, &part->graph, claims, count, sizeof *claims, &error);
  if (status != OPS_OK) {
    return oc_provider_fails(net->trial, "graph %s: the claim of groups ends with %s: %.300s",
                             net->spec->name, ops_status_name(status), error.message);
  }
  int32_t numbers[OC_NET_MAX_NODES];
  uint64_t at = 0;
  for (int i = 0; i < OC_NET_MAX_NODES; ++i) {
    out->group[i] = OPS_GROUP_NONE;
    if (!(part->members >> i & 1)) continue;
    const int32_t number = claims[at++].group;
    if (number == OPS_GROUP_NONE) continue;
    if (oc_net_is_foreign(net, i)) {
      return oc_provider_fails(
          net->trial,
          "graph %s: node %d is of an operator of domain %.*s; expected no "
          "group to take it, found group %d",
          net->spec->name, i, OPS_STR_FMT(net->nodes[i].domain), number);
    }
    numbers[i] = number;
    out->group[i] = i;
    for (int k = 0; k < i && out->group[i] == i; ++k) {
      if (out->group[k] != OPS_GROUP_NONE && numbers[k] == number)
        out->group[i] = out->group[k];
    }
  }
  return true;
}

static uint32_t members_of(const proposal *proposal, int32_t group) {
  uint32_t mask = 0;
  for (int i = 0; i < OC_NET_MAX_NODES; ++i) {
    if (proposal->group[i] == group) mask |= (uint32_t)1 << i;
  }
  return mask;
}

// ---- Compiling and running ------------------------------------------------------------------

// The groups of a graph, and how many there were.
typedef struct walk {
  oc_net *net;
  size_t compiled, split;
} walk;

// Compiles a part. *out_kernel NULL: declined.
static bool compile(oc_net *net, const oc_net_part *part, ops_kernel **out_kernel,
                    const ops_kernel_api **out_api) {
  ops_error error = OPS_ERROR_INIT;
  char what[120];
  *out_kernel = NULL;
  *out_api = NULL;
  const int32_t status = net->target->provider->group->compile(
      net->target->device, &part->graph, out_kernel, out_api, &error);
  if (status == OPS_ERROR_DECLINED) return true;
  if (status == OPS_OK && *out_kernel && *out_api) return true;
  oc_net_print(net, part->members, what, sizeof what);
  return oc_provider_fails(net->trial, "%s: compile ends with %s: %.300s", what,
                           ops_status_name(status),
                           status == OPS_OK ? "no kernel or no functions" : error.message);
}

static bool compile_and_run(walk *walk, uint32_t members) {
  ops_kernel *kernel;
  const ops_kernel_api *api;
  oc_net_part part;
  oc_net_cut(walk->net, members, &part);
  if (!compile(walk->net, &part, &kernel, &api)) return false;
  if (!kernel) return true;
  ++walk->compiled;
  const bool good = oc_net_run(walk->net, &part, kernel, api);
  api->destroy(kernel);
  return good;
}

// A node that no group takes any more is a single node.
static bool runs_alone(walk *walk, int node) {
  ops_error error = OPS_ERROR_INIT;
  const ops_kernel_def *def = NULL;
  ops_claim claim = {.struct_size = sizeof claim};
  oc_net *net = walk->net;
  const int32_t status = ops_library_claim(net->target->library, net->target->device,
                                           &net->nodes[node], &def, &claim, &error);
  if (status == OPS_OK && claim.answer == OPS_CLAIM_SUPPORTED) return true;
  return oc_provider_fails(net->trial,
                           "graph %s: the group of node %d (%s) would close a cycle and was "
                           "split; asked anew, expected a group or a claim of the single node, "
                           "found neither: %.200s",
                           net->spec->name, node, net->spec->rows[node].op,
                           status == OPS_OK ? claim.text : error.message);
}

static bool accept(walk *walk, uint32_t members, bool again);

// Claims a part of a group that was split anew.
static bool claim_anew(walk *walk, uint32_t members) {
  proposal proposal;
  oc_net_part part;
  oc_net_cut(walk->net, members, &part);
  if (!ask(walk->net, &part, &proposal)) return false;
  for (int i = 0; i < OC_NET_MAX_NODES; ++i) {
    if (!(members >> i & 1)) continue;
    if (proposal.group[i] == OPS_GROUP_NONE && !runs_alone(walk, i)) return false;
    if (proposal.group[i] == i && !accept(walk, members_of(&proposal, i), false)) return false;
  }
  return true;
}

// Runs a group, or splits it where it would close a cycle.
static bool accept(walk *walk, uint32_t members, bool again) {
  uint32_t first;
  if (!oc_net_closes_cycle(walk->net, members, &first)) return compile_and_run(walk, members);
  if (!again) return true;
  ++walk->split;
  for (uint32_t rest = members; rest; rest &= ~first) {
    oc_net_closes_cycle(walk->net, rest, &first);
    if (!claim_anew(walk, first)) return false;
  }
  return true;
}

static bool walk_graph(walk *walk) {
  proposal proposal;
  oc_net_part whole;
  oc_net_cut(walk->net, oc_net_all(walk->net), &whole);
  if (!ask(walk->net, &whole, &proposal)) return false;
  for (int i = 0; i < OC_NET_MAX_NODES; ++i) {
    if (proposal.group[i] == i && !accept(walk, members_of(&proposal, i), true)) return false;
  }
  return true;
}

// ---- Visiting graphs ------------------------------------------------------------------------

typedef bool (*visit_fn)(oc_net *net, size_t *out_found);

static bool visit_net(oc_trial *trial, oc_target *target, const oc_net_spec *spec, visit_fn fn,
                      size_t *out_found) {
  ops_error error = OPS_ERROR_INIT;
  oc_net *net = malloc(sizeof *net);
  if (!net) return oc_trial_end(trial, OC_STATUS_NOT_RUN, OC_CHECK_HARNESS, "no memory");
  const int32_t status = oc_net_init(net, spec, trial, target, &error);
  bool good = status == OPS_OK;
  if (!good) {
    oc_result_end(trial->result, OC_STATUS_UNTRUSTED, OC_CHECK_ORACLE, "graph %s: %.400s",
                  spec->name, error.message);
  }
  if (good) good = fn(net, out_found);
  oc_net_finish(net);
  free(net);
  return good;
}

// Visits graphs on an instance of their own; UNSUPPORTED where none of them has what the case
// is about, which `lack` names.
static bool visit(oc_trial *trial, const oc_net_spec *specs, size_t count, visit_fn fn,
                  const char *lack) {
  oc_target target;
  size_t found = 0;
  if (!trial->bench->candidate.provider->group) return oc_provider_lacks(trial, "no groups");
  if (!oc_provider_open(trial, &target)) return false;
  bool good = true;
  for (size_t i = 0; i < count && good; ++i) {
    good = visit_net(trial, &target, &specs[i], fn, &found);
  }
  if (good) {
    good = oc_provider_close(trial, &target);
  } else {
    oc_target_close(&target, NULL);
  }
  return good && (found > 0 || oc_provider_lacks(trial, "%s", lack));
}

// ---- The cases ------------------------------------------------------------------------------

static bool ask_twice(oc_net *net, size_t *out_found) {
  proposal first, again;
  oc_net_part whole;
  oc_net_cut(net, oc_net_all(net), &whole);
  if (!ask(net, &whole, &first)) return false;
  for (int time = 1; time < TIMES; ++time) {
    if (!ask(net, &whole, &again)) return false;
    for (int i = 0; i < net->node_count; ++i) {
      if (first.group[i] == again.group[i]) continue;
      return oc_provider_fails(
          net->trial,
          "graph %s: asked again, expected the same groups; node %d (%s) was in the group that "
          "begins at node %d, then in that at %d (-1: in none)",
          net->spec->name, i, net->spec->rows[i].op, first.group[i], again.group[i]);
    }
  }
  for (int i = 0; i < net->node_count; ++i) *out_found += first.group[i] == i;
  return true;
}

bool oc_groups_stable(oc_trial *trial) {
  return visit(trial, kResults, COUNT(kResults), ask_twice, "no group is proposed");
}

static bool run_groups(oc_net *net, size_t *out_found) {
  walk walk = {.net = net};
  const bool good = walk_graph(&walk);
  *out_found += walk.compiled;
  return good;
}

bool oc_groups_results(oc_trial *trial) {
  return visit(trial, kResults, COUNT(kResults), run_groups, "no group is compiled");
}

bool oc_groups_captures(oc_trial *trial) {
  return visit(trial, kCaptures, COUNT(kCaptures), run_groups, "no group is compiled");
}

static bool split_groups(oc_net *net, size_t *out_found) {
  walk walk = {.net = net};
  const bool good = walk_graph(&walk);
  *out_found += walk.split;
  return good;
}

bool oc_groups_cycles(oc_trial *trial) {
  return visit(trial, kCycles, COUNT(kCycles), split_groups,
               "no group is proposed that would close a cycle");
}

// ---- Nodes that run in groups only ----------------------------------------------------------

// A group of the node alone, and the groups that it is in beside its neighbours.
static bool run_node(oc_net *net, int node, const proposal *whole) {
  walk walk = {.net = net};
  proposal alone;
  oc_net_part part;
  const char *missing = NULL;
  oc_net_cut(net, (uint32_t)1 << node, &part);
  if (!ask(net, &part, &alone)) return false;
  if (alone.group[node] == OPS_GROUP_NONE) missing = "of the node alone no group is proposed";
  if (!missing && !compile_and_run(&walk, part.members)) return false;
  if (!missing && walk.compiled == 0) missing = "the group of the node alone is declined";
  if (whole->group[node] == OPS_GROUP_NONE) missing = "beside its neighbours it is in no group";
  return !missing ||
         oc_provider_fails(net->trial,
                           "graph %s: node %d (%s) is claimed only in a group, but %s",
                           net->spec->name, node, net->spec->rows[node].op, missing);
}

static bool run_only_in_group(oc_net *net, size_t *out_found) {
  proposal whole;
  oc_net_part all;
  oc_net_cut(net, oc_net_all(net), &all);
  if (!ask(net, &all, &whole)) return false;
  for (int i = 0; i < net->node_count; ++i) {
    ops_error error = OPS_ERROR_INIT;
    const ops_kernel_def *def = NULL;
    ops_claim claim = {.struct_size = sizeof claim};
    const int32_t status = ops_library_claim(net->target->library, net->target->device,
                                             &net->nodes[i], &def, &claim, &error);
    if (status != OPS_OK) {
      return oc_provider_fails(net->trial,
                               "graph %s: the claim of node %d ends with %s: %.300s",
                               net->spec->name, i, ops_status_name(status), error.message);
    }
    if (claim.answer != OPS_CLAIM_ONLY_IN_GROUP) continue;
    ++*out_found;
    if (!run_node(net, i, &whole)) return false;
  }
  return run_groups(net, &(size_t){0});
}

bool oc_groups_only_in_group(oc_trial *trial) {
  return visit(trial, kResults, COUNT(kResults), run_only_in_group,
               "no node is claimed only in a group");
}

// ---- Saved kernels --------------------------------------------------------------------------

typedef struct blob {
  unsigned char *bytes;
  uint64_t size;
} blob;

static int32_t append(void *context, const void *data, uint64_t size) {
  blob *blob = context;
  unsigned char *grown = realloc(blob->bytes, blob->size + size + 1);
  if (!grown) return OPS_ERROR_OUT_OF_MEMORY;
  memcpy(grown + blob->size, data, size);
  blob->bytes = grown;
  blob->size += size;
  return OPS_OK;
}

// Compiles a part and saves its kernel, which is gone then. An empty blob: there is none.
static bool save(oc_net *net, const oc_net_part *part, blob *out) {
  ops_error error = OPS_ERROR_INIT;
  ops_kernel *kernel;
  const ops_kernel_api *api;
  *out = (blob){0};
  if (!compile(net, part, &kernel, &api)) return false;
  if (!kernel) return true;
  const bool saves = api->struct_size >= sizeof *api && api->save;
  const int32_t status = saves ? api->save(kernel, append, out, &error) : OPS_OK;
  api->destroy(kernel);
  return status == OPS_OK || status == OPS_ERROR_UNSUPPORTED ||
         oc_provider_fails(net->trial, "graph %s: save ends with %s: %.300s", net->spec->name,
                           ops_status_name(status), error.message);
}

static bool load_and_run(oc_net *net, const oc_net_part *part, const blob *blob) {
  ops_error error = OPS_ERROR_INIT;
  ops_kernel *kernel = NULL;
  const ops_kernel_api *api = NULL;
  const int32_t status = net->target->provider->group->load(
      net->target->device, &part->graph, blob->bytes, blob->size, &kernel, &api, &error);
  if (status != OPS_OK || !kernel || !api) {
    return oc_provider_fails(
        net->trial, "graph %s: load of what save wrote ends with %s: %.300s", net->spec->name,
        ops_status_name(status), status == OPS_OK ? "no kernel" : error.message);
  }
  const bool good = oc_net_run(net, part, kernel, api);
  api->destroy(kernel);
  return good;
}

// A blob that is not of this group must be refused. The bytes lie in memory of their exact
// size, where a sanitizer sees who reads behind them.
static bool must_refuse(oc_net *net, const oc_net_part *part, const unsigned char *bytes,
                        uint64_t size, const char *what) {
  ops_error error = OPS_ERROR_INIT;
  ops_kernel *kernel = NULL;
  const ops_kernel_api *api = NULL;
  unsigned char *exact = malloc(size ? size : 1);
  if (!exact) return oc_trial_end(net->trial, OC_STATUS_NOT_RUN, OC_CHECK_HARNESS, "no memory");
  if (size) memcpy(exact, bytes, size);
  const int32_t status = net->target->provider->group->load(net->target->device, &part->graph,
                                                            exact, size, &kernel, &api, &error);
  free(exact);
  if (status == OPS_OK && kernel && api) api->destroy(kernel);
  if (status == OPS_ERROR_RECOMPILE || status == OPS_ERROR_INCOMPATIBLE) return true;
  return oc_provider_fails(net->trial,
                           "graph %s: load of %s, %llu bytes: expected RECOMPILE or "
                           "INCOMPATIBLE, found %s",
                           net->spec->name, what, (unsigned long long)size,
                           ops_status_name(status));
}

static bool refuses_cut(oc_net *net, const oc_net_part *part, const blob *blob) {
  const uint64_t sizes[] = {0, blob->size / 2, blob->size - 1, 1};
  for (size_t i = 0; i < COUNT(sizes); ++i) {
    if (sizes[i] >= blob->size) continue;
    if (!must_refuse(net, part, blob->bytes, sizes[i], "a blob that is cut")) return false;
  }
  return true;
}

// The blob of a group of another graph.
static bool refuses_other(oc_net *net, const oc_net_part *part) {
  static const oc_net_spec kOther = {
      "another", 2, 0, {{"Mul", {0, 1}}, {"Add", {2, 0}}, {"Mul", {3, 1}}, {"Sub", {4, 0}}}, 0};
  ops_error error = OPS_ERROR_INIT;
  oc_net *other = malloc(sizeof *other);
  if (!other) return oc_trial_end(net->trial, OC_STATUS_NOT_RUN, OC_CHECK_HARNESS, "no memory");
  bool good = true;
  if (oc_net_init(other, &kOther, net->trial, net->target, &error) == OPS_OK) {
    proposal proposal;
    oc_net_part foreign;
    blob blob = {0};
    oc_net_cut(other, oc_net_all(other), &foreign);
    good = ask(other, &foreign, &proposal);
    if (good && members_of(&proposal, 0) == foreign.members)
      good = save(other, &foreign, &blob);
    if (good && blob.size) {
      good = must_refuse(net, part, blob.bytes, blob.size, "a blob of another group");
    }
    free(blob.bytes);
  }
  oc_net_finish(other);
  free(other);
  return good;
}

static bool save_and_load(oc_net *net, size_t *out_found) {
  proposal proposal;
  oc_net_part whole, part;
  blob blob = {0};
  if (!net->target->provider->group->load) return true;
  oc_net_cut(net, oc_net_all(net), &whole);
  if (!ask(net, &whole, &proposal)) return false;
  bool good = true;
  for (int i = 0; i < net->node_count && good; ++i) {
    uint32_t first;
    const uint32_t members = members_of(&proposal, i);
    if (proposal.group[i] != i || oc_net_closes_cycle(net, members, &first)) continue;
    oc_net_cut(net, members, &part);
    good = save(net, &part, &blob);
    if (good && blob.size) {
      ++*out_found;
      good = load_and_run(net, &part, &blob) && refuses_cut(net, &part, &blob) &&
             refuses_other(net, &part);
    }
    free(blob.bytes);
  }
  return good;
}

bool oc_groups_blobs(oc_trial *trial) {
  return visit(trial, kResults, COUNT(kResults), save_and_load,
               "no kernel of a group is saved");
}
