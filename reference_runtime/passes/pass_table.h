// SPDX-License-Identifier: Apache-2.0
//
// The list of all passes, in the order in which they run: name, lowest level, what it does. The
// functions of pass X are the constant rt_pass_X of file X.c.
//
// clang-format off
RT_PASS(freeze_initializers, 1, "makes inputs that have a default constants (with --freeze-initializers)")
RT_PASS(dead_nodes, 1, "removes nodes and constants whose results nothing reads")
RT_PASS(shape_constants, 1, "replaces shape computations whose result is known")
RT_PASS(constant_folding, 1, "computes what depends on constants alone")
RT_PASS(identity, 1, "removes Identity")
RT_PASS(common_subexpressions, 1, "computes equal nodes once")
// clang-format on
