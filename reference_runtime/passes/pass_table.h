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
RT_PASS(dropout, 1, "removes Dropout outside of training")
RT_PASS(cast_chains, 1, "removes casts to the same type, merges casts that lose nothing")
RT_PASS(slice_elimination, 1, "removes Slices of everything")
RT_PASS(pad_elimination, 1, "removes Pads by nothing")
RT_PASS(expand_elimination, 1, "removes Expand and Tile to the shape that is there")
RT_PASS(concat_elimination, 1, "removes and merges Concat, alone or behind Split")
RT_PASS(neutral_operands, 1, "removes x*1, x-0 and the like")
RT_PASS(reshapes, 1, "removes and merges Reshape, Flatten, Squeeze, Unsqueeze")
RT_PASS(transpose_sinking, 1, "moves Transposes together, so that they merge")
RT_PASS(transposes, 1, "cancels and merges Transposes")
RT_PASS(gemm_transpose, 1, "lets Gemm read transposed matrices")
RT_PASS(pad_fusion, 1, "makes Pad the padding of Conv and pooling")
RT_PASS(relu_clip, 1, "makes Relu a bound of Clip")
RT_PASS(not_where, 1, "exchanges the branches of Where behind Not")
RT_PASS(space_to_depth, 1, "makes Slices and Concat SpaceToDepth")
RT_PASS(initializer_sharing, 1, "keeps equal constants once")
RT_PASS(common_subexpressions, 1, "computes equal nodes once")
RT_PASS(batch_normalization, 2, "folds BatchNormalization into Conv, ConvTranspose, Gemm, MatMul")
RT_PASS(scale_folding, 2, "folds constant factors and summands into Conv, ConvTranspose, Gemm, MatMul")
RT_PASS(matmul_add, 2, "makes MatMul and Add Gemm")
RT_PASS(gemm_sum, 2, "makes what is added to Gemm its C")
RT_PASS(normalization_fusion, 2, "makes LayerNormalization and RMSNormalization of their formulas")
RT_PASS(gelu, 2, "makes Gelu of its formulas, with erf or tanh")
RT_PASS(swish, 2, "makes x*sigmoid(a*x) Swish")
RT_PASS(hard_swish, 2, "makes HardSwish of its formulas")
RT_PASS(div_by_constant, 2, "multiplies by the reciprocal")
RT_PASS(post_operations, 2, "joins what works element by element to the product before it, as far as a provider absorbs it")
// clang-format on
