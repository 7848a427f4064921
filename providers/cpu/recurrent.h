// SPDX-License-Identifier: Apache-2.0
//
// What RNN, GRU and LSTM share. A cell is one time step of some sequences in one direction; the
// frame around it reads attributes and shapes (recurrent.c), packs weights and walks the steps
// (recurrent_run.c).
//
// The gates of a sequence lie in a row in the order of ONNX's weights, cut into parts that are
// multiplied one after the other: GRU needs the reset gate before it can compute the hidden
// one. Each part is padded to whole panels (panels.h).
#ifndef CPU_RECURRENT_H_
#define CPU_RECURRENT_H_

#include <pthread.h>

#include "panels.h"

#define CPU_RECURRENT_ACTIVATIONS 3  // of one direction
#define CPU_RECURRENT_GATES 4
#define CPU_RECURRENT_PARTS 2

// y = scale * f(inner * x) + shift.
typedef struct cpu_activation {
  int32_t function;  // CPU_UNARY_…; negative: the identity
  float p[2];
  double inner, scale, shift;
} cpu_activation;

// Finds an activation by ONNX's name, without regard to case. alpha and beta are the next
// numbers that it may take, NULL for its defaults. Returns how many it takes, alpha first, or
// -1: there is none of the name.
int32_t cpu_activation_find(ops_str name, const float *alpha, const float *beta,
                            cpu_activation *out);

typedef struct cpu_recurrent_step cpu_recurrent_step;

typedef struct cpu_cell {
  const char *op;
  int32_t parts[CPU_RECURRENT_PARTS];  // gates of each
  int32_t activation_count;
  int32_t has_cell;  // a second state, peepholes
  const char *flag;  // attribute
  const char *activations[CPU_RECURRENT_ACTIVATIONS];
  void (*step)(const cpu_recurrent_step *step);
} cpu_cell;

// The cell of an operator.
const cpu_cell *cpu_cell_find(ops_str op);

// Weights that are constant, packed for all sessions.
typedef struct cpu_recurrent_weights {
  const ops_constant *constant;  // NULL: they arrive with each run
  ops_packed *packed;
  const float *panels;
} cpu_recurrent_weights;

typedef struct cpu_recurrent {
  ops_kernel base;
  const cpu_cell *cell;
  int32_t directions;
  int32_t reverse[2];   // of each direction
  int32_t batch_first;  // layout 1
  int32_t flag;         // linear_before_reset, input_forget
  int32_t has_hidden_size;
  int64_t hidden_size;
  float clip;  // infinite: none
  cpu_activation activations[2][CPU_RECURRENT_ACTIVATIONS];
  pthread_mutex_t mutex;  // of packing
  int32_t has_mutex;
  cpu_recurrent_weights w, r;
} cpu_recurrent;

typedef struct cpu_recurrent_prepared {
  ops_prepared base;
  int64_t steps, batch, inputs, hidden;
  int64_t row;                             // elements of a row of gates
  int64_t part_rows[CPU_RECURRENT_PARTS];  // of the weights
  int64_t part_at[CPU_RECURRENT_PARTS];    // in a row
  int64_t gate_at[CPU_RECURRENT_GATES];    // in a row
  int64_t chunk, chunks;                   // sequences of a work item; items of a direction
  int64_t block_steps;                     // steps whose inputs are projected together
  uint64_t w_at, r_at, bias_at, items_at;  // in the workspace, bytes
  uint64_t item_bytes, item_at[7];         // of one work item; see recurrent_run.c
} cpu_recurrent_prepared;

// Inputs and outputs.
enum {
  CPU_RNN_X,
  CPU_RNN_W,
  CPU_RNN_R,
  CPU_RNN_B,
  CPU_RNN_LENGTHS,
  CPU_RNN_H,
  CPU_RNN_C,
  CPU_RNN_P
};
enum { CPU_RNN_Y, CPU_RNN_Y_H, CPU_RNN_Y_C };

// One step of `count` sequences in one direction.
struct cpu_recurrent_step {
  const cpu_recurrent *kernel;
  const cpu_recurrent_prepared *sizes;
  int32_t direction;
  int32_t backwards;      // order of panels, see cpu_vec_product
  const float *r;         // packed
  const float *r_bias;    // rows of gates; NULL: part of `projected`
  const float *peephole;  // [3 * hidden]; NULL: none
  int64_t count;
  const int64_t *sequences;  // where their states lie: h + sequence * hidden
  float *h, *c, *other;      // states, and as many elements for the cell's own use
  const float **rows;        // room for `count` pointers
  const float *projected;    // `count` rows of gates: W x and the biases
  float *gates;              // `count` rows of gates, for the cell to fill
};

// gates = R states + r_bias, of one part.
void cpu_recurrent_multiply(const cpu_recurrent_step *step, int32_t part, const float *states);

// Lays out the workspace. OUT_OF_MEMORY if it does not fit.
int32_t cpu_recurrent_lay_out(const cpu_recurrent *kernel, cpu_recurrent_prepared *sizes,
                              ops_prepare_reply *reply, ops_error *error);
// Packs the weights that are constant, once.
int32_t cpu_recurrent_pack(cpu_recurrent *kernel, const cpu_recurrent_prepared *sizes,
                           ops_error *error);
int32_t cpu_recurrent_execute(const ops_prepared *prepared, const ops_execute_request *request,
                              ops_error *error);

#endif  // CPU_RECURRENT_H_
