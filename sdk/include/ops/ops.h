// SPDX-License-Identifier: Apache-2.0
//
// The whole provider ABI. docs/abi.md explains the object model and the life of each object.
#ifndef OPS_OPS_H_
#define OPS_OPS_H_

#include <ops/base.h>
#include <ops/cause.h>
#include <ops/device.h>
#include <ops/group.h>
#include <ops/host.h>
#include <ops/kernel.h>
#include <ops/node.h>
#include <ops/profile.h>
#include <ops/provider.h>
#include <ops/rewrite.h>
#include <ops/schema.h>
#include <ops/status.h>
#include <ops/stream.h>
#include <ops/tensor.h>
#include <ops/types.h>
#include <ops/value.h>

#endif  // OPS_OPS_H_
