// SPDX-License-Identifier: Apache-2.0
//
// All rows, one line for each family. Included once by each provider, which sets GPU_PROVIDER.
// clang-format off
#include "definitions.h"
#include "elementwise_rows.h"
#include "move_rows.h"
#include "attention_rows.h"
#include "channels_rows.h"
#include "normalize_rows.h"
#include "pool_rows.h"
#include "reduce_rows.h"
#include "resize_rows.h"
#include "softmax_rows.h"
#include "product_rows.h"
#include "conv_rows.h"
#include "quantize_rows.h"

static const ops_kernel_def kKernels[] = {
    GPU_ELEMENTWISE_ROWS,
    GPU_MOVE_ROWS,
    GPU_REDUCE_ROWS,
    GPU_SOFTMAX_ROWS,
    GPU_NORMALIZE_ROWS,
    GPU_CHANNELS_ROWS,
    GPU_POOL_ROWS,
    GPU_RESIZE_ROWS,
    GPU_ATTENTION_ROWS,
    GPU_GATHER_ROWS,
    GPU_MAKE_ROWS,
    GPU_PRODUCT_ROWS,
    GPU_CONV_ROWS,
    GPU_QUANTIZE_ROWS,
};
// clang-format on
