# SPDX-License-Identifier: Apache-2.0
"""Runs the node tests of the onnx package on a provider library, straight through the ABI.

usage: official_test.py LIBRARY [--list] [--only TEXT]

The expected values are those that onnx publishes with its operators. Each case whose operator
the provider defines is claimed; a claimed case must give the published output. Cases that are
refused are counted by reason. Every kernel also runs with the loops cut into single pieces of
different sizes, so that a result that depends on the split shows.
Exit 0: all claimed cases agree and at least 500 were claimed; 1: not so; 2: no onnx package.
"""
import argparse
import collections
import ctypes as c
import sys
import warnings

try:
    import numpy as np
    import onnx
    import onnx.backend.test.case.node as node_cases
    from onnx import numpy_helper
except ImportError as missing:
    print(f"{missing}; run ci/deps, whose .cache/venv has the packages", file=sys.stderr)
    sys.exit(2)

u64, i64, i32, u32, ptr = c.c_uint64, c.c_int64, c.c_int32, c.c_uint32, c.c_void_p
MAX_RANK, ABI_VERSION = 32, 1
MAGIC = int.from_bytes(b"OPSABI01", "little")


def struct(name, *fields):
    return type(name, (c.Structure,), {"_fields_": list(fields)})


Str = struct("Str", ("data", c.c_char_p), ("size", u64))
Error = struct("Error", ("struct_size", u64), ("code", i32), ("message_size", u32),
               ("vendor_code", i64), ("message", c.c_char * 1000))
Tensor = struct("Tensor", ("dims", ptr), ("strides", ptr), ("memory", ptr), ("byte_offset", u64),
                ("byte_size", u64), ("type", i32), ("rank", i32), ("bit_offset", u32),
                ("layout", u32))
Arg = struct("Arg", ("kind", i32), ("memory_kind", i32), ("tensor", Tensor), ("value", ptr))
Constant = struct("Constant", ("struct_size", u64), ("format", i32), ("rank", i32), ("dims", ptr),
                  ("dense", Arg), ("values", Tensor), ("indices", Tensor), ("offsets", Tensor),
                  ("block_rows", i64), ("block_cols", i64))
TypeInfo = struct("TypeInfo", ("struct_size", u64), ("kind", i32), ("type", i32), ("rank", i32),
                  ("layout", u32), ("dims", ptr), ("symbols", ptr), ("strides", ptr),
                  ("element", ptr))
Attribute = struct("Attribute", ("struct_size", u64), ("name", Str), ("kind", i32),
                   ("reserved", i32), ("count", u64), ("floats", ptr), ("ints", ptr),
                   ("strings", ptr), ("constants", ptr), ("graphs", ptr), ("types", ptr))
Operand = struct("Operand", ("struct_size", u64), ("value", i64), ("name", Str),
                 ("type", c.POINTER(TypeInfo)), ("constant", c.POINTER(Constant)))
Node = struct("Node", ("struct_size", u64), ("name", Str), ("domain", Str), ("op", Str),
              ("overload", Str), ("opset", i32), ("flags", u32), ("attributes", ptr),
              ("attribute_count", u64), ("attribute_stride", u64), ("inputs", ptr),
              ("input_count", u64), ("input_stride", u64), ("outputs", ptr),
              ("output_count", u64), ("output_stride", u64), ("post_ops", ptr),
              ("post_op_count", u64), ("post_op_stride", u64), ("origins", ptr),
              ("origin_count", u64), ("chain_operand_count", u64))
Claim = struct("Claim", ("struct_size", u64), ("answer", i32), ("reason", i32),
               ("preference", i32), ("text_size", u32), ("text", c.c_char * 256))
ArgDef = struct("ArgDef", ("struct_size", u64), ("name", Str), ("type_param", Str),
                ("types", u64), ("memory_kind", i32), ("flags", u32), ("alignment", u64),
                ("read_padding", u64))
KernelDef = struct(
    "KernelDef", ("struct_size", u64), ("domain", Str), ("op", Str), ("since", i32),
    ("until", i32), ("name", Str), ("inputs", ptr), ("input_count", u64), ("input_stride", u64),
    ("outputs", ptr), ("output_count", u64), ("output_stride", u64), ("aliases", ptr),
    ("alias_count", u64), ("alias_stride", u64), ("post_ops", ptr), ("post_op_count", u64),
    ("post_op_stride", u64), ("features", ptr), ("feature_count", u64), ("max_post_ops", u32),
    ("flags", u32), ("dynamic_shape", i32), ("determinism", i32), ("compute_type", i32),
    ("accumulation_type", i32), ("reduced_modes", u32), ("preference", i32), ("api", ptr),
    ("context", ptr))
OutputInfo = struct("OutputInfo", ("struct_size", u64), ("mode", i32), ("type", i32),
                    ("rank", i32), ("layout", u32), ("max_bytes", u64),
                    ("dims", i64 * MAX_RANK))
PrepareRequest = struct("PrepareRequest", ("struct_size", u64), ("inputs", ptr),
                        ("input_count", u64), ("input_stride", u64), ("output_layouts", ptr),
                        ("aliases", ptr), ("alias_count", u64), ("alias_stride", u64))
PrepareReply = struct("PrepareReply", ("struct_size", u64), ("prepared", ptr), ("outputs", ptr),
                      ("output_count", u64), ("output_stride", u64), ("workspace_size", u64),
                      ("workspace_alignment", u64), ("workspace_memory_kind", i32),
                      ("reserved", i32), ("implementation", Str))
ExecuteRequest = struct("ExecuteRequest", ("struct_size", u64), ("inputs", ptr),
                        ("input_count", u64), ("outputs", ptr), ("output_count", u64),
                        ("output_dims", ptr), ("workspace", ptr), ("workspace_offset", u64),
                        ("workspace_size", u64), ("call", ptr), ("correlation", u64))
status = c.CFUNCTYPE
KernelApi = struct(
    "KernelApi", ("struct_size", u64), ("claim", status(i32, ptr, ptr, ptr, ptr, ptr)),
    ("create", status(i32, ptr, ptr, ptr, ptr, ptr)), ("destroy", status(None, ptr)),
    ("released_constants", ptr), ("query_layouts", ptr),
    ("prepare", status(i32, ptr, ptr, ptr, ptr)), ("prepared_destroy", status(None, ptr)),
    ("execute", status(i32, ptr, ptr, ptr, ptr)), ("cost", ptr), ("save", ptr))
Body = status(None, ptr, i64, i64, i32)
HOST_SLOTS = [
    ("log", status(None, ptr, i32, Str)), ("allocate", status(ptr, ptr, u64, u64)),
    ("free", status(None, ptr, ptr)), ("parallel_for", status(None, ptr, i64, i64, Body, ptr)),
    ("worker_count", status(i32, ptr)), ("profile_enabled", status(i32, ptr)), ("profile", ptr),
    ("set_output_shape", ptr), ("values", ptr),
    ("packed_acquire", status(i32, ptr, ptr, Str, i32, u64, u64, ptr, ptr, ptr, ptr)),
    ("packed_commit", status(None, ptr, ptr)), ("packed_release", status(None, ptr, ptr)),
    ("get_extension", ptr), ("is_cancelled", ptr)]
HostApi = struct("HostApi", ("struct_size", u64), ("version", u32), ("reserved", u32), *HOST_SLOTS)
InstanceApi = struct(
    "InstanceApi", ("struct_size", u64), ("create", status(i32, ptr, ptr, ptr, u64, ptr, ptr)),
    ("destroy", status(i32, ptr, ptr)), ("device_count", ptr),
    ("device_open", status(i32, ptr, u64, ptr, ptr)), ("device_close", status(i32, ptr, ptr)),
    ("device_info", ptr), ("device_reset", ptr))
Provider = struct(
    "Provider", ("struct_size", u64), ("name", Str), ("vendor", Str), ("version", Str),
    ("kernels", ptr), ("kernel_count", u64), ("kernel_stride", u64), ("schemas", ptr),
    ("schema_count", u64), ("schema_stride", u64), ("rewrites", ptr), ("rewrite_count", u64),
    ("rewrite_stride", u64), ("instance", c.POINTER(InstanceApi)), ("memory", ptr),
    ("stream", ptr), ("group", ptr), ("get_extension", ptr), ("unload_safe", i32),
    ("reserved", i32))
QueryRequest = struct("QueryRequest", ("struct_size", u64), ("magic", u64), ("min", u32),
                      ("max", u32), ("features", u64), ("sanitizer", u32), ("reserved", u32))
QueryReply = struct("QueryReply", ("struct_size", u64), ("magic", u64), ("version", u32),
                    ("min", u32), ("max", u32), ("sanitizer", u32), ("offered", u64),
                    ("required", u64), ("provider", c.POINTER(Provider)))

libc = c.CDLL(None)
libc.aligned_alloc.restype = ptr
libc.aligned_alloc.argtypes = [c.c_size_t, c.c_size_t]
libc.free.argtypes = [ptr]


def text(s):
    return s.data[: s.size].decode() if s.size else ""


def make_str(value, keep):
    data = value if isinstance(value, bytes) else value.encode()
    keep.append(data)
    return Str(data, len(data))


def new(cls, keep, **fields):
    item = cls(struct_size=c.sizeof(cls), **fields)
    keep.append(item)
    return item


def address(item):
    return c.cast(c.pointer(item), ptr)


class Host:
    """The services a host lends; loops are cut into pieces of `piece` items."""

    def __init__(self):
        self.piece = 1 << 62
        self.live = 0
        api = HostApi(struct_size=c.sizeof(HostApi), version=ABI_VERSION)
        for name, kind in HOST_SLOTS:
            if kind is not ptr:
                setattr(api, name, kind(getattr(self, name)))
        self.api = api

    def log(self, _, severity, message):
        print("log", severity, text(message))

    def allocate(self, _, size, alignment):
        self.live += 1
        return libc.aligned_alloc(alignment, (size + alignment - 1) // alignment * alignment)

    def free(self, _, memory):
        self.live -= memory is not None
        libc.free(memory)

    def parallel_for(self, _, count, grain, body, context):
        for begin in range(0, count, self.piece):
            body(context, begin, min(count, begin + self.piece), 0)

    def worker_count(self, _):
        return 1

    def profile_enabled(self, _):
        return 0

    def packed_acquire(self, _, source, packing, kind, size, alignment, out_packed, out_memory,
                       out_fill, error):
        memory = self.allocate(None, size, alignment)
        c.cast(out_packed, c.POINTER(ptr))[0] = memory
        c.cast(out_memory, c.POINTER(ptr))[0] = memory
        c.cast(out_fill, c.POINTER(i32))[0] = 1
        return 0

    def packed_commit(self, _, packed):
        pass

    def packed_release(self, _, packed):
        self.free(None, packed)


class Failure(Exception):
    pass


class Refused(Exception):
    pass


class Device:
    def __init__(self, library):
        self.host = Host()
        query = c.CDLL(library).ops_provider_query
        request = QueryRequest(struct_size=c.sizeof(QueryRequest), magic=MAGIC, min=ABI_VERSION,
                               max=ABI_VERSION)
        reply = QueryReply(struct_size=c.sizeof(QueryReply))
        self.check(query(c.byref(request), c.byref(reply), None))
        self.provider = reply.provider.contents
        base, stride = self.provider.kernels, self.provider.kernel_stride
        self.defs = [KernelDef.from_address(base + i * stride)
                     for i in range(self.provider.kernel_count)]
        self.instance, self.device = ptr(), ptr()
        api = self.provider.instance.contents
        self.check(api.create(address(self.host.api), None, None, 0, address(self.instance), None))
        self.check(api.device_open(self.instance, 0, address(self.device), None))

    def close(self):
        api = self.provider.instance.contents
        self.check(api.device_close(self.device, None))
        self.check(api.destroy(self.instance, None))
        if self.host.live:
            raise Failure(f"{self.host.live} allocations were not given back")

    def check(self, code, error=None):
        if code:
            raise Failure(f"status {code} {error.message.decode() if error else ''}")

    def find(self, op, opset, types, outputs):
        found = None
        for row in self.defs:
            if text(row.op) != op or row.since > opset or 0 < row.until < opset:
                continue
            found = "types"
            if fits(row.inputs, row.input_count, row.input_stride, types) and fits(
                    row.outputs, row.output_count, row.output_stride, outputs):
                return row
        raise Refused(f"{op}: {found or 'opset'}")


def fits(base, count, stride, types):
    params = {}
    rows = [ArgDef.from_address(base + i * stride) for i in range(count)]
    if len(types) > count and not (rows and rows[-1].flags & 2):
        return False
    for i, element in enumerate(types):
        row = rows[min(i, count - 1)]
        if element is None:
            if not row.flags & 1:
                return False
            continue
        if not row.types >> element & 1:
            return False
        if params.setdefault(text(row.type_param), element) != element:
            return False
    return all(row.flags & 3 for row in rows[len(types):])


def onnx_type(array):
    return onnx.helper.np_dtype_to_tensor_dtype(array.dtype)


def make_tensor(array, keep):
    dims = (i64 * max(1, array.ndim))(*array.shape)
    strides = (i64 * max(1, array.ndim))(
        *[np.prod(array.shape[i + 1:], dtype=np.int64) for i in range(array.ndim)])
    keep += [dims, strides, array]
    return Tensor(dims=address(dims), strides=address(strides), memory=array.ctypes.data,
                  byte_size=array.nbytes, type=onnx_type(array), rank=array.ndim)


def make_arg(array, keep):
    if array is None:
        return Arg(kind=0)
    return Arg(kind=1, tensor=make_tensor(array, keep))


def make_operand(array, known, keep):
    if array is None:
        return Operand(struct_size=c.sizeof(Operand), value=-1)
    dims = (i64 * max(1, array.ndim))(*array.shape)
    keep.append(dims)
    info = new(TypeInfo, keep, kind=1, type=onnx_type(array), rank=array.ndim, dims=address(dims))
    operand = new(Operand, keep, type=c.pointer(info))
    if known:
        constant = new(Constant, keep, rank=array.ndim, dims=address(dims),
                       dense=make_arg(array, keep))
        operand.constant = c.pointer(constant)
    return operand


def make_attribute(proto, keep):
    A = onnx.AttributeProto
    value = onnx.helper.get_attribute_value(proto)
    item = Attribute(struct_size=c.sizeof(Attribute), name=make_str(proto.name, keep),
                     kind=proto.type)
    values = value if isinstance(value, list) else [value]
    item.count = len(values)
    if proto.type in (A.FLOAT, A.FLOATS):
        array = (c.c_float * max(1, len(values)))(*values)
        item.floats = address(array)
    elif proto.type in (A.INT, A.INTS):
        array = (i64 * max(1, len(values)))(*values)
        item.ints = address(array)
    elif proto.type in (A.STRING, A.STRINGS):
        array = (Str * max(1, len(values)))(*[make_str(v, keep) for v in values])
        item.strings = address(array)
    elif proto.type == A.TENSOR:
        tensor = np.ascontiguousarray(numpy_helper.to_array(value)).reshape(tuple(value.dims))
        constant = make_operand(tensor, True, keep).constant
        array = (ptr * 1)(c.cast(constant, ptr))
        item.constants = address(array)
    else:
        raise Refused("attribute kind")
    keep.append(array)
    return item


def run_node(device, node, opset, inputs, expected, constants):
    keep = []
    error = new(Error, keep)
    types = [None if a is None else onnx_type(a) for a in inputs]
    row = device.find(node.op_type, opset, types,
                      [None if a is None else onnx_type(a) for a in expected])
    api = KernelApi.from_address(row.api)

    def operands(arrays, known):
        made = (Operand * max(1, len(arrays)))(*[make_operand(a, known, keep) for a in arrays])
        keep.append(made)
        return made

    attributes = (Attribute * max(1, len(node.attribute)))(
        *[make_attribute(a, keep) for a in node.attribute])
    ins, outs = operands(inputs, constants), operands(expected, False)
    view = Node(struct_size=c.sizeof(Node), name=make_str(node.name, keep),
                op=make_str(node.op_type, keep), opset=opset, attributes=address(attributes),
                attribute_count=len(node.attribute), attribute_stride=c.sizeof(Attribute),
                inputs=address(ins), input_count=len(inputs), input_stride=c.sizeof(Operand),
                outputs=address(outs), output_count=len(expected),
                output_stride=c.sizeof(Operand))
    claim = Claim(struct_size=c.sizeof(Claim))
    device.check(api.claim(device.device, address(row), address(view), address(claim),
                           address(error)), error)
    if claim.answer != 1:
        raise Refused(f"{node.op_type}: {claim.text.decode()}")
    kernel, prepared = ptr(), None
    device.check(api.create(device.device, address(row), address(view), address(kernel),
                            address(error)), error)
    try:
        known = operands(inputs, True)
        infos = (OutputInfo * max(1, len(expected)))(
            *[OutputInfo(struct_size=c.sizeof(OutputInfo)) for _ in expected])
        request = PrepareRequest(struct_size=c.sizeof(PrepareRequest), inputs=address(known),
                                 input_count=len(inputs), input_stride=c.sizeof(Operand))
        reply = PrepareReply(struct_size=c.sizeof(PrepareReply), outputs=address(infos),
                             output_count=len(expected), output_stride=c.sizeof(OutputInfo))
        device.check(api.prepare(kernel, address(request), address(reply), address(error)), error)
        prepared = reply.prepared
        outputs = []
        for info, want in zip(infos, expected):
            shape = tuple(info.dims[: info.rank])
            if want is not None and (shape != want.shape or info.type != onnx_type(want)):
                raise Failure(f"output is {shape} type {info.type}, expected {want.shape} "
                              f"{want.dtype}")
            outputs.append(None if want is None else
                           np.frombuffer(bytearray(b"\xa5" * want.nbytes), want.dtype)
                           .reshape(want.shape).copy())
        in_args = (Arg * max(1, len(inputs)))(*[make_arg(a, keep) for a in inputs])
        out_args = (Arg * max(1, len(outputs)))(*[make_arg(a, keep) for a in outputs])
        space = np.full(reply.workspace_size + 64, 0xa5, np.uint8)
        offset = -space.ctypes.data % 64
        run = ExecuteRequest(struct_size=c.sizeof(ExecuteRequest), inputs=address(in_args),
                             input_count=len(inputs), outputs=address(out_args),
                             output_count=len(outputs), workspace=space.ctypes.data + offset,
                             workspace_size=reply.workspace_size)
        device.check(api.execute(prepared, address(run), None, address(error)), error)
        return outputs
    finally:
        api.prepared_destroy(prepared)
        api.destroy(kernel)


# Cases whose published values are rounded to four digits.
ROUNDED = {"test_averagepool_2d_ceil_last_window_starts_on_pad"}


def compare(got, want, rounded):
    for index, (g, w) in enumerate(zip(got, want)):
        if w is None or w.size == 0:
            continue
        if w.dtype == bool or np.issubdtype(w.dtype, np.integer):
            same = np.array_equal(g, w)
        else:
            coarse = w.dtype.itemsize == 2
            same = np.allclose(g.astype(np.float64), w.astype(np.float64), equal_nan=True,
                               rtol=1e-2 if coarse else 1e-3 if rounded else 2e-5,
                               atol=1e-3 if coarse else 1e-6)
        if not same:
            worst = np.abs(g.astype(np.float64) - w.astype(np.float64)).max()
            raise Failure(f"output {index} differs by {worst}: {g.ravel()[:8]} expected "
                          f"{w.ravel()[:8]}")


def as_array(value):
    if value is None:
        return None
    if not isinstance(value, (np.ndarray, np.generic)):
        raise Refused("not a tensor")
    array = np.asarray(value)
    if array.dtype == object or array.dtype.kind in "US":
        raise Refused("not a tensor of numbers")
    return np.ascontiguousarray(array).reshape(array.shape)


def run_case(device, case):
    nodes = case.model.graph.node
    if len(nodes) != 1 or nodes[0].domain not in ("", "ai.onnx"):
        raise Refused("not a single node of ai.onnx")
    node = nodes[0]
    opset = next(o.version for o in case.model.opset_import if o.domain in ("", "ai.onnx"))
    for values, results in case.data_sets:
        given = dict(zip([i.name for i in case.model.graph.input], values))
        wanted = dict(zip([o.name for o in case.model.graph.output], results))
        inputs = [as_array(given.get(name)) if name else None for name in node.input]
        expected = [as_array(wanted.get(name)) if name else None for name in node.output]
        for constants, piece in ((False, 1 << 62), (True, 7)):
            device.host.piece = piece
            compare(run_node(device, node, opset, inputs, expected, constants), expected,
                    case.name in ROUNDED)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("--list", action="store_true", help="print refused cases")
    parser.add_argument("--only", default="", help="cases whose name contains the text")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    device = Device(arguments.library)
    known = {text(row.op) for row in device.defs}
    counts, failures = collections.Counter(), []
    for case in node_cases.collect_testcases(None):
        if case.model is None or arguments.only not in case.name:
            continue
        if {n.op_type for n in case.model.graph.node} - known:
            counts["other operators"] += 1
            continue
        try:
            run_case(device, case)
            counts["agree"] += 1
        except Refused as reason:
            counts["refused"] += 1
            if arguments.list:
                print(f"refused {case.name}: {reason}")
        except Failure as reason:
            failures.append(case.name)
            print(f"FAIL {case.name}: {reason}")
    device.close()
    print(", ".join(f"{n} {what}" for what, n in counts.items()), f"{len(failures)} failed")
    enough = counts["agree"] >= 500 or arguments.only
    return 0 if enough and not failures else 1


if __name__ == "__main__":
    sys.exit(main())
