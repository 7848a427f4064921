// SPDX-License-Identifier: Apache-2.0
//
// Every fault and every control, a row each; read by the compiler and by ci/faults.
//
//   FAULT_LIST    X(name, operators, checks, statuses, what is wrong, source)
//   CONTROL_LIST  X(name, operators, what is done otherwise, and right)
//
// operators: where it shows, separated by blanks, or none for the cases of the provider as a
// whole; "library" before them: it is felt before there is an instance; "require": they are
// required; "model": it shows in a graph; "perf": compared in speed with the library without a
// fault. checks: those meant for it, any of which must name it; CHECK/NAME: that case of the
// provider alone may. statuses: of the cases that fail. source: the public bug that it is
// modelled on, PROJECT#NUMBER and a few words, or "".
#ifndef OC_FAULTS_FAULT_LIST_H_
#define OC_FAULTS_FAULT_LIST_H_

// clang-format off
#define FAULT_LIST(X) \
  /* Elementwise */ \
  X(relu_drop_last, "Relu", "unwritten values", "FAIL", \
    "the last element is left out", \
    "") \
  X(relu_nan_to_zero, "Relu", "values invariants", "FAIL", \
    "NaN becomes 0", \
    "pytorch/pytorch#7999 ReLU with NaN as input gives 0") \
  X(relu_infinity_to_largest, "Relu", "values", "FAIL", \
    "infinity becomes a finite number", \
    "") \
  X(neg_head_skipped, "Neg", "unwritten values", "FAIL", \
    "the first vector of eight is left out", \
    "") \
  X(erf_coarse, "Erf", "values", "FAIL", \
    "a polynomial good to 1.5e-7 absolute, bad for small results", \
    "") \
  X(erf_beyond_one, "Erf", "invariants values", "FAIL", \
    "large arguments give more than 1", \
    "openxla/stablehlo#1238 32-bit erf is inaccurate for x > 1, gives 1.0000001") \
  X(cast_truncates_to_half, "Cast", "values", "FAIL", \
    "float16 is cut towards zero instead of rounded", \
    "") \
  X(cast_half_saturates, "Cast", "values", "FAIL", \
    "65520 becomes 65504 instead of infinity", \
    "") \
  X(cast_rounds_to_integer, "Cast", "values", "FAIL", \
    "rounded instead of cut towards zero", \
    "") \
  X(quantize_half_away, "QuantizeLinear", "values", "FAIL", \
    "ties go away from zero instead of to even", \
    "microsoft/onnxruntime#25045 QuantizeLinear of OpenVINO is off by 1: half away " \
    "from zero") \
  X(quantize_half_truncates, "QuantizeLinear", "values", "FAIL", \
    "quotients of float16 are cut instead of rounded", \
    "microsoft/onnxruntime#18576 QuantizeLinear of float16 always rounds down") \
  X(quantize_wraps, "QuantizeLinear", "values", "FAIL", \
    "values beyond the range wrap around", \
    "") \
  X(quantize_zero_point_ignored, "QuantizeLinear", "values", "FAIL", \
    "the optional zero point counts as 0", \
    "") \
  X(add_aligns_left, "Add", "values", "FAIL", \
    "broadcasting aligns shapes at their first dimension", \
    "") \
  X(add_integers_in_float, "Add", "values", "FAIL", \
    "int32 is added in float", \
    "") \
  X(add_strides_ignored, "Add", "strides", "FAIL", \
    "strided inputs are read as contiguous", \
    "vllm-project/vllm#3324 silu_and_mul gives wrong results for non-contiguous " \
    "tensors") \
  X(add_in_place_overwrites, "Add", "values", "FAIL", \
    "in place, an input is overwritten before it is read", \
    "") \
  X(max_drops_nan, "Max", "values", "FAIL", \
    "NaN loses against a number", \
    "microsoft/onnxruntime#21455 Min and Max return the other input for NaN") \
  X(max_of_two, "Max", "values", "FAIL", \
    "inputs after the second are ignored", \
    "") \
  /* Products */ \
  X(matmul_float16_accumulation, "MatMul", "values", "FAIL", \
    "sums are kept in float16", \
    "iree-org/iree#12606 sum of 2000 float16 gives 7316 instead of 6000") \
  X(matmul_bfloat16_inputs, "MatMul", "values", "FAIL", \
    "inputs are rounded to bfloat16 without a word", \
    "") \
  X(matmul_depth_tail, "MatMul", "values", "FAIL", \
    "a depth that is no multiple of four loses its tail", \
    "NVIDIA/cutlass#1412 GEMM silently miscalculates on some shapes") \
  X(matmul_no_depth_unwritten, "MatMul", "unwritten values", "FAIL", \
    "of an inner dimension of 0 nothing is written", \
    "microsoft/onnxruntime#21483 MatMul with inner dimension 0") \
  X(matmul_batch_of_one, "MatMul MatMulInteger", "values", "FAIL", \
    "every batch uses the first matrices", \
    "") \
  X(matmul_adds_to_output, "MatMul", "values unwritten", "FAIL", \
    "results are added to what the output held", \
    "triton-lang/triton#2183 split-K adds to an output that is not zeroed") \
  X(matmul_workspace_overrun, "MatMul", "guard", "CRASH FAIL", \
    "one element behind the workspace is written", \
    "uxlfoundation/oneDNN#6035 1x1 convolution writes past the rtus workspace") \
  X(matmul_reads_past, "MatMul", "guard", "CRASH", \
    "one element behind an input is read", \
    "openvinotoolkit/openvino#36921 out-of-bounds read in a convolution kernel") \
  X(workspace_taken_as_zero, "MatMul", "values unwritten", "FAIL", \
    "the workspace is expected to be zero", \
    "") \
  X(first_weights_kept, "MatMul", "values state", "FAIL FLAKY", \
    "the right matrix of the first run serves later ones", \
    "") \
  X(reorder_copies, "MatMul", "values", "FAIL", \
    "the reorder to a private layout copies only", \
    "") \
  X(matmul_saturates_16, "MatMulInteger", "values", "FAIL", \
    "pairs of products are added in 16 bits and saturate", \
    "uxlfoundation/oneDNN#476 s8s8s32 gemm saturates its intermediate 16 bits") \
  X(matmul_zero_point_ignored, "MatMulInteger", "values", "FAIL", \
    "zero points count as 0", \
    "iree-org/iree#24583 MatMulInteger ignores zero points") \
  X(matmul_first_zero_point, "MatMulInteger", "values", "FAIL", \
    "one zero point serves all columns", \
    "robertknight/rten#1193 zero points of ConvInteger with groups") \
  /* Windows */ \
  X(conv_group_ignored, "Conv", "values", "FAIL", \
    "every group reads the channels of the first", \
    "microsoft/onnxjs#41 Conv with groups is incorrect") \
  X(conv_bias_dropped, "Conv", "values", "FAIL", \
    "the optional bias is ignored", \
    "") \
  X(conv_index_of_16_bits, "Conv", "values unwritten", "FAIL", \
    "indices of elements overflow", \
    "microsoft/onnxruntime#28107 index of 32 bits overflows in CUDA Gather") \
  X(same_lower_as_upper, "Conv MaxPool", "values", "FAIL", \
    "auto_pad SAME_LOWER pads as SAME_UPPER", \
    "root-project/root#21737 SAME_UPPER and SAME_LOWER are swapped") \
  X(pads_transposed, "Conv MaxPool", "values", "FAIL", \
    "pads of height and width are swapped", \
    "") \
  X(dilations_ignored, "MaxPool", "values", "FAIL", \
    "dilations count as 1", \
    "sonos/tract#2847 MaxPool and AveragePool ignored dilations") \
  X(pool_ceil_mode_ignored, "MaxPool", "shape", "FAIL", \
    "ceil_mode counts as 0", \
    "") \
  X(max_pool_padding_is_zero, "MaxPool", "values", "FAIL", \
    "padding takes part as 0", \
    "") \
  X(average_divides_by_kernel, "AveragePool", "values", "FAIL", \
    "windows that ceil_mode lets hang over are divided by all of the kernel", \
    "microsoft/onnxruntime#16203 count_include_pad divides by the kernel's size") \
  X(average_end_padding_ignored, "AveragePool", "values", "FAIL", \
    "padding behind the image does not count", \
    "microsoft/onnxruntime#24681 AveragePool ignores end padding with " \
    "count_include_pad") \
  X(count_include_pad_ignored, "AveragePool", "values", "FAIL", \
    "count_include_pad counts as 0", \
    "VeriSilicon/TIM-VX#423 average pool and count_include_pad") \
  /* Reductions */ \
  X(reduce_float16_accumulation, "ReduceSum", "values", "FAIL", \
    "sums are kept in float16", \
    "ROCm/AMDMIGraphX#1497 float16 reduce_mean is inaccurate") \
  X(reduce_negative_axis, "ReduceSum ReduceMax", "values shape", "FAIL", \
    "negative axes count as 0", \
    "") \
  X(reduce_keeps_dims, "ReduceSum", "shape", "FAIL", \
    "keepdims counts as 1", \
    "") \
  X(reduce_noop_ignored, "ReduceSum", "shape values", "FAIL", \
    "noop_with_empty_axes counts as 0", \
    "") \
  X(reduce_not_deterministic, "ReduceSum", "determinism", "FAIL", \
    "declared bitwise, the last bit depends on the run", \
    "") \
  X(bits_follow_workers, "ReduceSum", "thread_count", "FAIL", \
    "declared bitwise, the last bit depends on the number of the host's workers", \
    "") \
  X(reduce_max_from_zero, "ReduceMax", "values", "FAIL", \
    "the largest is never below 0", \
    "") \
  X(reduce_max_drops_nan, "ReduceMax", "values", "FAIL", \
    "NaN loses against a number", \
    "microsoft/onnxruntime#10514 ReduceMax with NaN values") \
  X(argmax_takes_last, "ArgMax", "values", "FAIL", \
    "of equal elements the last one is taken", \
    "pytorch/pytorch#93630 argmax returns the last index among equals") \
  X(argmax_select_last_ignored, "ArgMax", "values", "FAIL", \
    "select_last_index counts as 0", \
    "ROCm/AMDMIGraphX#2235 select_last_index of ArgMax") \
  /* Normalisations */ \
  X(softmax_wrong_axis, "Softmax", "values invariants", "FAIL", \
    "the neighbouring axis is normalised", \
    "microsoft/onnxruntime#15949 Softmax of NNAPI takes another axis, returns ones") \
  X(softmax_without_maximum, "Softmax", "values invariants", "FAIL", \
    "exponentials are not shifted by the largest", \
    "") \
  X(softmax_sum_of_tile, "Softmax", "values invariants", "FAIL", \
    "the sum lacks the tail of its row", \
    "") \
  X(layer_norm_cancellation, "LayerNormalization", "values", "FAIL", \
    "variance as mean of squares minus squared mean", \
    "microsoft/onnxruntime#21935 LayerNormalization gives NaN for small variances") \
  X(layer_norm_epsilon_outside, "LayerNormalization", "values", "FAIL", \
    "epsilon is added to the deviation, not to the variance", \
    "microsoft/CNTK#3816 epsilon outside the square root gives NaN") \
  X(layer_norm_bias_ignored, "LayerNormalization", "values", "FAIL", \
    "the optional bias is ignored", \
    "") \
  X(layer_norm_last_axis_only, "LayerNormalization", "values", "FAIL", \
    "only the last axis is normalised", \
    "") \
  X(batch_norm_epsilon_dropped, "BatchNormalization", "values", "FAIL", \
    "epsilon counts as 0", \
    "torchcvnn/torchcvnn#32 epsilon is not used") \
  X(batch_norm_variance_as_deviation, "BatchNormalization", "values", "FAIL", \
    "the variance is squared", \
    "") \
  /* Moves */ \
  X(transpose_strides_ignored, "Transpose", "strides", "FAIL", \
    "strided inputs are read as contiguous", \
    "ggml-org/ggml#584 memcpy of tensors that are not contiguous") \
  X(transpose_drops_minus_zero, "Transpose", "values", "FAIL", \
    "-0 becomes 0", \
    "") \
  X(transpose_flushes_denormals, "Transpose", "values", "FAIL", \
    "denormals become 0", \
    "") \
  X(gather_negative_to_zero, "Gather", "values", "FAIL", \
    "negative indices count as 0", \
    "openvinotoolkit/openvino#22716 negative indices of Gather on the GPU") \
  X(gather_clamps_indices, "Gather", "error_path", "FAIL", \
    "indices out of range are clamped", \
    "tensorflow/tensorflow#15091 out-of-range indices give zeros on the GPU") \
  X(refusal_writes_output, "Gather", "error_path", "FAIL", \
    "the output is written before the data is refused", \
    "") \
  X(concat_last_slice_missing, "Concat", "unwritten values", "FAIL", \
    "the last slice of later inputs is not copied", \
    "") \
  X(pad_negative_ignored, "Pad", "values", "FAIL", \
    "negative pads do not cut in front", \
    "") \
  X(pad_reflect_repeats_edge, "Pad", "values", "FAIL", \
    "mode reflect repeats the outermost element", \
    "") \
  X(pad_value_ignored, "Pad", "values", "FAIL", \
    "the optional constant counts as 0", \
    "") \
  X(resize_half_pixel_ignored, "Resize", "values", "FAIL", \
    "half_pixel is taken for asymmetric", \
    "") \
  X(resize_ceil_as_floor, "Resize", "values", "FAIL", \
    "ties of round_prefer_ceil go down", \
    "microsoft/onnxruntime#28291 Resize with half_pixel and round_prefer_ceil") \
  X(resize_floor_rounds, "Resize", "values", "FAIL", \
    "nearest_mode floor rounds", \
    "iree-org/iree#24264 Resize with half_pixel and floor gives wrong results") \
  /* Memory and state */ \
  X(write_past_output, "Relu", "guard", "CRASH FAIL", \
    "one element behind the output is written", \
    "") \
  X(write_before_output, "Relu", "guard", "CRASH FAIL", \
    "one element in front of the output is written", \
    "") \
  X(writes_input, "Relu", "guard inputs", "CRASH FAIL", \
    "an input is written", \
    "") \
  X(device_write_past, "Neg", "guard", "FAIL CRASH", \
    "one element behind the output in device memory is written", \
    "") \
  X(read_after_run, "Relu", "async", "CRASH FLAKY", \
    "the input is read after the run said it was done", \
    "") \
  X(static_scratch, "Relu", "concurrency", "FAIL FLAKY", \
    "all runs compute in one buffer", \
    "microsoft/onnxruntime#19275 concurrent runs of TensorRT corrupt outputs") \
  X(workspace_kind, "Relu", "shape", "FAIL", \
    "prepare asks for a kind of memory that the device lacks", \
    "") \
  X(workspace_alignment, "Relu", "shape", "FAIL", \
    "prepare asks for an alignment of 3", \
    "") \
  X(workspace_huge, "Relu", "status", "FAIL", \
    "prepare asks for 2^64-1 bytes of workspace", \
    "") \
  X(device_memory_misaligned, "", "lifecycle", "FAIL", \
    "device memory is not aligned", \
    "") \
  X(device_memory_kept, "Neg", "leak lifecycle", "FAIL", \
    "device memory is never given back", \
    "") \
  X(leak_of_host_memory, "Relu", "leak lifecycle", "FAIL", \
    "every kernel leaks a block of the host", \
    "microsoft/onnxruntime#21587 memory grows with each run on an NPU") \
  X(kernel_never_destroyed, "Relu", "lifecycle", "FAIL", \
    "destroyed kernels stay counted", \
    "") \
  X(leak_of_heap, "Relu", "leak", "FAIL", \
    "every prepared object leaks heap memory", \
    "") \
  X(execute_allocates, "Relu", "prepares", "FAIL", \
    "execute takes memory from the host on every run", \
    "") \
  X(allocation_unchecked, "Softmax", "allocation process", "FAIL CRASH", \
    "memory of the host is used without a look at whether there is any", \
    "") \
  X(alignment_assumed, "Erf", "alignment", "FAIL", \
    "inputs are read from the next lower multiple of 16", \
    "") \
  X(previous_result_kept, "Erf", "state", "FAIL FLAKY", \
    "the first result of a prepared object serves its later runs", \
    "") \
  X(released_constant_read, "MatMul", "constants async", "FAIL CRASH", \
    "the right matrix is released, then read", \
    "") \
  X(constant_written, "MatMul", "inputs constants", "FAIL CRASH", \
    "a constant is written", \
    "") \
  X(double_free, "Relu", "process", "CRASH", \
    "a destroyed kernel is freed twice", \
    "") \
  X(copy_ignores_offset, "Neg", "values unwritten guard", "FAIL", \
    "copies begin at the start of both blocks", \
    "") \
  /* Streams */ \
  X(event_signalled_early, "Add", "values unwritten async", "FAIL CRASH FLAKY", \
    "events are passed when they are recorded", \
    "CHIP-SPV/chipStar#990 asynchronous calls with events give the wrong answer") \
  X(synchronize_does_not_wait, "Add", "values unwritten async", "FAIL CRASH FLAKY", \
    "synchronize returns at once", \
    "votca/xtp#391 results are copied before the stream has finished") \
  X(wait_ignored, "Add", "order", "FAIL FLAKY", \
    "a stream does not wait for the events of another", \
    "CHIP-SPV/chipStar#152 copies overtake each other") \
  X(async_error_swallowed, "Gather", "error_path", "FAIL", \
    "an error of the worker is dropped", \
    "beehive-lab/TornadoVM#1006 a failed CUDA graph is silent by default") \
  X(capture_keeps_addresses, "Add", "capture", "FAIL", \
    "a replay runs on the captured addresses", \
    "vllm-project/vllm#53915 CUDA graph replays read stale memory") \
  X(copies_overtake, "", "streams/order", "FAIL", \
    "a later copy runs before an earlier one of its stream", \
    "") \
  X(event_stays_at_first_record, "", "streams/events", "FAIL", \
    "recorded anew, an event stays at its first point", \
    "") \
  X(wait_follows_event, "", "time/event_moves", "TIMEOUT", \
    "who waits looks at the event when its turn comes, not when it was told to", \
    "") \
  X(unrecorded_event_passes, "", "streams/unrecorded", "FAIL", \
    "waiting for an event that was never recorded is nothing", \
    "") \
  X(query_stays_busy, "", "streams/query", "FAIL", \
    "a stream is never idle", \
    "") \
  X(destroy_drops_work, "", "streams/drain", "FAIL", \
    "what is pending is dropped when its stream goes", \
    "") \
  X(cancel_fails_stream, "", "streams/cancel", "FAIL", \
    "a cancelled stream stays cancelled", \
    "") \
  X(plain_copy_left_undone, "", "streams/at_once", "FAIL", \
    "a copy without a stream is half done when it returns", \
    "") \
  /* Answers */ \
  X(claim_changes, "Relu", "claim", "FAIL", \
    "asked again, a claim is answered otherwise", \
    "") \
  X(claim_then_unsupported, "Relu", "claim", "FAIL", \
    "rank 3 is claimed, then refused", \
    "") \
  X(silent_fallback, "require Softmax", "require", "FAIL", \
    "nodes are refused without a word, so that another provider runs them", \
    "") \
  X(unknown_shapes_refused, "Softmax", "unknown_shapes", "FAIL", \
    "a claimed node without dimensions cannot be created", \
    "") \
  X(last_plan_only, "Softmax", "two_shapes", "FAIL", \
    "the plan that was prepared last serves every prepared object that it fits into", \
    "") \
  X(last_shape_only, "Relu", "two_shapes", "FAIL", \
    "no more elements are computed than the shape prepared last has", \
    "") \
  X(wrong_status, "Softmax", "error_path", "FAIL", \
    "bad attributes end with INTERNAL", \
    "") \
  X(post_op_never_taken, "library", "post_ops/taken", "FAIL", \
    "Relu behind MatMul is declared as absorbed, and never claimed", \
    "") \
  X(post_op_dropped, "library MatMul", "values", "FAIL", \
    "Relu behind MatMul is claimed, and left out", \
    "") \
  X(record_written_on_success, "", "record/success", "FAIL", \
    "device_info leaves a code in the error record, and succeeds", \
    "") \
  X(record_not_optional, "", "process/none", "CRASH", \
    "refusing to go, an instance writes an error record that is not there", \
    "") \
  X(group_claim_wavers, "", "groups/stable", "FAIL", \
    "every other proposal leaves the last node out", \
    "") \
  X(group_inner_output_lost, "", "groups/results", "FAIL", \
    "a value that is read inside the group and outside is not given", \
    "") \
  X(group_refuses_branches, "", "groups/captures", "FAIL", \
    "a graph in which a node has branches is answered with an error", \
    "") \
  X(group_parts_refused, "", "groups/cycles", "FAIL", \
    "asked anew about a part of a graph, it leaves the first and last node out", \
    "") \
  X(group_wants_neighbours, "", "groups/only_in_group", "FAIL", \
    "claimed only in groups, a node alone is given none", \
    "") \
  X(blob_cut_is_loaded, "", "groups/blobs", "FAIL", \
    "a blob without its end is loaded", \
    "") \
  X(blob_of_another_group, "", "groups/blobs", "FAIL", \
    "a blob is not asked which group it is of", \
    "") \
  X(blob_swaps_operands, "", "groups/blobs", "FAIL", \
    "loaded again, a difference has its operands swapped", \
    "") \
  X(rewrite_swaps_operands, "", "rewrite", "FAIL", \
    "a - b is rewritten to b + (-a)", \
    "") \
  /* The process */ \
  X(segfault, "Relu", "process", "CRASH", \
    "a matrix reads address 16", \
    "") \
  X(hang, "Relu", "time", "TIMEOUT", \
    "seven elements never end", \
    "") \
  X(calls_exit, "Relu", "process", "CRASH", \
    "a matrix calls exit(0)", \
    "") \
  X(fork_returns, "Relu", "process", "CRASH FLAKY", \
    "a matrix forks, and both processes return", \
    "") \
  X(leaves_child, "Relu", "process", "CRASH", \
    "a matrix forks a process and then dies", \
    "") \
  X(changes_rounding, "Relu", "environment", "FAIL", \
    "a matrix leaves the thread rounding up", \
    "") \
  X(dies_at_open, "Relu", "lifecycle process", "CRASH", \
    "create ends the process", \
    "") \
  X(rounds_at_open, "Relu", "lifecycle", "FAIL", \
    "create leaves the thread rounding up", \
    "") \
  X(flushes_denormals_at_open, "Relu", "lifecycle", "FAIL", \
    "create makes the thread flush denormals", \
    "llvm/llvm-project#57589 a shared library with -ffast-math changes the " \
    "floating-point state") \
  X(blocks_signals_at_open, "Relu", "lifecycle", "FAIL", \
    "create blocks a signal", \
    "") \
  X(destroyed_while_in_use, "", "lifecycle/instance_in_use", "FAIL", \
    "an instance goes while its device is open", \
    "") \
  X(closed_with_stream, "", "lifecycle/device_with_stream", "FAIL", \
    "a live stream does not keep its device open", \
    "") \
  X(closed_with_event, "", "lifecycle/device_with_event", "FAIL", \
    "a live event does not keep its device open", \
    "") \
  X(closed_with_allocation, "", "lifecycle/device_with_allocation", "FAIL", \
    "a live allocation does not keep its device open", \
    "") \
  X(closed_with_kernel, "", "lifecycle/device_with_kernel", "FAIL", \
    "a live kernel does not keep its device open", \
    "") \
  X(null_refused, "library", "lifecycle/null", "FAIL", \
    "closing no device is an error", \
    "") \
  X(unknown_option_ignored, "library", "lifecycle/unknown_option", "FAIL", \
    "an option that it does not know is ignored", \
    "") \
  X(any_device_opens, "", "lifecycle/device_index", "FAIL", \
    "any number opens the only device", \
    "") \
  X(device_info_changes, "", "lifecycle/device_info", "FAIL", \
    "a device says something else of itself each time", \
    "") \
  X(instances_share_state, "", "lifecycle/two_instances", "FAIL", \
    "devices do not outlive the end of another instance", \
    "") \
  X(opening_leaks, "", "lifecycle/reopen", "FAIL", \
    "every instance leaks heap memory", \
    "") \
  X(scarcity_is_internal, "", "lifecycle/scarcity", "FAIL", \
    "opened where memory is scarce, it ends with INTERNAL", \
    "") \
  X(host_called_after_destroy, "", "lifecycle/silence process", "FAIL CRASH", \
    "a thread calls the host when the instance is gone", \
    "") \
  X(nothing_is_allocated, "", "lifecycle/memory", "FAIL", \
    "an allocation of 0 bytes succeeds", \
    "") \
  X(thread_left_behind, "", "lifecycle leak", "FAIL", \
    "a thread outlives the instance", \
    "") \
  X(host_memory_left_behind, "Relu", "lifecycle", "FAIL", \
    "the instance leaks a block of the host", \
    "") \
  X(slower, "perf Erf", "performance", "REGRESSION", \
    "every run takes 15 % longer", \
    "") \
  /* The library */ \
  X(wrong_domain, "library Relu", "operator", "FAIL", \
    "Relu is registered in ai.onnx.ml", \
    "") \
  X(opset_before_operator, "library LayerNormalization", "operator", "FAIL", \
    "LayerNormalization is offered for opsets up to 16, which lack it", \
    "") \
  X(optional_not_declared, "library", "schema", "FAIL", \
    "the bias of Conv is declared as required", \
    "") \
  X(declares_no_determinism, "library Relu", "declaration", "FAIL", \
    "Relu promises no determinism", \
    "") \
  X(declares_half_accumulation, "library MatMul", "precision", "FAIL", \
    "MatMul declares sums in float16", \
    "") \
  X(required_slot_missing, "library Relu", "lifecycle process load", "FAIL CRASH NOT_RUN", \
    "Relu has no execute", \
    "") \
  X(accepts_any_version, "library", "negotiation", "FAIL", \
    "versions and struct sizes of the host are not looked at", \
    "") \
  X(reply_overrun, "library", "negotiation", "FAIL CRASH", \
    "the reply is written behind its size", \
    "")

#define CONTROL_LIST(X) \
  X(reordered_sums, "Conv ReduceSum", \
    "sums run in another order") \
  X(split_k, "MatMul", \
    "the depth is cut in pieces that are summed apart, from behind") \
  X(winograd, "library Conv", \
    "rows of 3x3 convolutions by Winograd's F(2, 3)") \
  X(caching_allocator, "Neg", \
    "device memory that was given back serves again") \
  X(private_layout, "MatMul", \
    "the right matrix may come transposed, in a layout of its own") \
  X(lazy_start, "Add", \
    "the worker of a stream starts with its first command") \
  X(slow_completion, "Add Neg", \
    "commands end late") \
  X(only_in_group, "Relu Gather", \
    "nodes are claimed in groups only") \
  X(groups_only, "", \
    "elementwise nodes are claimed in groups only, and run in groups of any size") \
  X(groups_of_one, "", \
    "every elementwise node is a group of its own") \
  X(thread_pool, "Relu", \
    "elements are shared among threads that the kernel starts and joins") \
  X(fourier, "library Conv", \
    "rows of convolutions as products of their Fourier transforms, in double") \
  X(in_place_through_copy, "Add", \
    "in place by way of a copy of the input") \
  X(generous_workspace, "MatMul", \
    "more workspace than needed, at a larger alignment, used from its end") \
  X(declared_read_padding, "library Relu", \
    "reads behind the input as far as the definition declares") \
  X(host_allocations, "Softmax", \
    "kernels keep memory of the host until they are destroyed") \
  X(fused_products, "MatMul", \
    "products and sums are rounded once, together") \
  X(double_sums, "MatMul", \
    "sums are kept in double")
// clang-format on

#endif  // OC_FAULTS_FAULT_LIST_H_
