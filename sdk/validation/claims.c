// SPDX-License-Identifier: Apache-2.0
//
// Claims: each is asked twice, and both answers must be the same and of the ABI.
#include <string.h>

#include "validation/layer.h"

static const val_def *def_of(val_call *call, const val_layer *layer,
                             const ops_kernel_def *def) {
  const uint64_t offset = (uint64_t)((uintptr_t)def - (uintptr_t)layer->defs);
  if (offset < layer->inner->kernel_count * sizeof(val_def) && offset % sizeof(val_def) == 0)
    return (const val_def *)def;
  val_find((val_layer *)layer, "HOST-2",
           "%s: expected a definition of this provider, found another pointer; pass one of its "
           "table",
           call->slot);
  return NULL;
}

const val_def *val_def_of(val_call *call, const ops_kernel_def *def) {
  return def_of(call, call->layer, def);
}

ops_str val_node_name(const ops_node *node) {
  return node->name.size ? node->name : node->op;
}

static int same_answer(const ops_claim *a, const ops_claim *b) {
  return a->answer == b->answer && a->reason == b->reason && a->preference == b->preference &&
         a->text_size == b->text_size && a->text_size < sizeof a->text &&
         memcmp(a->text, b->text, a->text_size) == 0;
}

// The first fault of an answer.
static void judge_answer(val_layer *layer, const ops_node *node, const ops_claim *claim) {
  const ops_str name = val_node_name(node);
  if (claim->answer < OPS_CLAIM_UNSUPPORTED || claim->answer > OPS_CLAIM_ONLY_IN_GROUP)
    val_find(layer, "CLAIMS-3",
             "claim of node '%.*s': expected an OPS_CLAIM_ constant, found %d; answer one",
             OPS_STR_FMT(name), claim->answer);
  else if (claim->text_size >= sizeof claim->text)
    val_find(layer, "CLAIMS-3",
             "claim of node '%.*s': a text of %u bytes, the record has room for %llu; cut it",
             OPS_STR_FMT(name), claim->text_size, (unsigned long long)sizeof claim->text - 1);
  else if (claim->answer == OPS_CLAIM_UNSUPPORTED &&
           (claim->reason <= OPS_REASON_NONE || claim->reason > OPS_REASON_ARITY))
    val_find(layer, "CLAIMS-3",
             "claim of node '%.*s': refused with reason %d; expected one of OPS_REASON_LIST",
             OPS_STR_FMT(name), claim->reason);
  else if (claim->answer == OPS_CLAIM_UNSUPPORTED && claim->text_size == 0)
    val_find(layer, "CLAIMS-3",
             "claim of node '%.*s': refused without a text; say what the kernel takes and what "
             "it found",
             OPS_STR_FMT(name));
}

int32_t val_claim(ops_device *object, const ops_kernel_def *def, const ops_node *node,
                  ops_claim *out_claim, ops_error *error) {
  val_call call;
  val_handle *device = val_begin(&call, object, VAL_DEVICE, "kernel.claim", error);
  if (!device) return call.refused;
  const val_def *wrapped = val_def_of(&call, def);
  if (!wrapped)
    return val_refuse(&call, OPS_ERROR_INVALID_ARGUMENT, "the definition is unknown");
  ops_claim again = *out_claim;
  const ops_kernel_api *api = wrapped->real->api;
  const int32_t status =
      val_end(&call, api->claim(device->real, wrapped->real, node, out_claim, call.error));
  if (status != OPS_OK) return status;
  const int32_t second = api->claim(device->real, wrapped->real, node, &again, NULL);
  if (second != OPS_OK || !same_answer(out_claim, &again))
    val_find(device->layer, "CLAIMS-1",
             "claim of node '%.*s': answered %d (reason %d, preference %d), and asked again %d "
             "(reason %d, preference %d) or with another text; expected the same",
             OPS_STR_FMT(val_node_name(node)), out_claim->answer, out_claim->reason,
             out_claim->preference, again.answer, again.reason, again.preference);
  else
    judge_answer(device->layer, node, out_claim);
  return status;
}
