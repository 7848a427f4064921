# SPDX-License-Identifier: Apache-2.0
"""The cases of ci/oracle: folders of models, and what the reference provider gives for them.

    WORK/contracts/SUITE/CASE     every case of the contracts, as `opsconform bake` stores it
    WORK/models/node/CASE         the official node tests; their inputs alone
    WORK/models/typed/CASE~V=T    the same node with the type variable V of its schema set to T
    WORK/outputs/{node,typed}/…   what `opsconform bake --onnx-tests` stores for both

Models of the latter two whose results round have further data sets: the inputs moved by up to
PERTURBATION units in the last place. How far the reference provider's results move then says how
much of a difference rounding alone can explain (backward error analysis: Higham, Accuracy and
Stability of Numerical Algorithms, chapter 1.5).
"""
import collections
import fnmatch
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys

import ml_dtypes
import numpy as np
import onnx
from onnx import defs, helper, numpy_helper, shape_inference

PERTURBATIONS = 6
PERTURBATION = 4  # units in the last place
RETYPED = 3       # cases of each operator, opset and type

# Operators whose result is an input's element, an integer, or one IEEE 754 operation of the
# type: there is nothing to round differently.
EXACT = set("""
Abs Add And BitCast BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast CastLike Ceil
CenterCropPad Clip Compress Concat ConcatFromSequence Constant ConstantOfShape DepthToSpace
DequantizeLinear Div Equal Expand EyeLike Flatten Floor Gather GatherElements GatherND
GlobalMaxPool Greater GreaterOrEqual Identity IsInf IsNaN LeakyRelu Less LessOrEqual Max MaxPool
MaxUnpool Min Mod Mul Neg NonZero Not OneHot Optional OptionalGetElement OptionalHasElement Or
PRelu Pad Reciprocal ReduceMax ReduceMin Relu Reshape ReverseSequence Round Scatter Sequence
SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength Shape Shrink
Sign Size Slice SpaceToDepth Split SplitToSequence Sqrt Squeeze StringConcat StringSplit Sub
TensorScatter ThresholdedRelu Tile TopK Transpose Trilu Unique Unsqueeze Upsample Where Xor
""".split())
# Operators whose results are functions of single elements, computed without others in between.
ELEMENTWISE = set("""
Acos Acosh Asin Asinh Atan Atanh Celu Cos Cosh Elu Erf Exp Gelu HardSigmoid HardSwish Log Mish Pow
Selu Sigmoid Sin Sinh Softplus Softsign Swish Tan Tanh
""".split())
EXACT_UNLESS = {"ScatterElements": "reduction", "ScatterND": "reduction"}
# Inputs that decide about shapes: they stay as they are.
FIXED_INPUTS = {"Resize": {1, 2, 3}, "Upsample": {1}, "Range": {0, 1, 2}, "STFT": {1, 3}}

RANDOM = {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial",
          "Bernoulli"}

NUMPY_FLOATS = {np.dtype(t) for t in (np.float16, np.float32, np.float64, ml_dtypes.bfloat16)}
NARROW_INTEGERS = {np.dtype(t) for t in (ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.int2,
                                         ml_dtypes.uint2)}
INTEGERS = {np.dtype(helper.tensor_dtype_to_np_dtype(t)) for t in (
    onnx.TensorProto.INT8, onnx.TensorProto.INT16, onnx.TensorProto.INT32, onnx.TensorProto.INT64,
    onnx.TensorProto.UINT8, onnx.TensorProto.UINT16, onnx.TensorProto.UINT32,
    onnx.TensorProto.UINT64)}


class Case:
    """What the workers need; plain data."""

    def __init__(self, name, operator, folder, outputs, kind):
        self.name = name          # "contract/Relu-14/…", "node/test_relu", "typed/…"
        self.operator = operator  # "Relu", "ai.onnx.ml.Scaler"
        self.folder = folder
        self.outputs = outputs    # the folder that holds what the reference provider gives
        self.kind = kind          # contract, node, typed
        self.refused = None       # why the reference provider does not run it
        self.ended = {}           # witnesses that end their process over it, and how


SIZES = re.compile(r"^(contract/[^/]*/[^/]*/[^/.]*)\.[0-9x+]*(?=/|$)")


def without_sizes(case):
    """The name of a contract's case, less the sizes drawn for it: contract/Conv-22/float/auto.1x2x5+…/none."""
    return SIZES.sub(r"\1", case)


def operator_name(node):
    return f"{node.domain}.{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type


def is_random(model):
    return any(node.op_type in RANDOM or node.op_type == "Dropout" and len(node.input) > 2
               for node in model.graph.node)


# ---- Files ------------------------------------------------------------------------------------

def read_value(path, kind):
    """A value of a data set; `kind` is the TypeProto's."""
    data = path.read_bytes()
    if kind == "sequence_type":
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    if kind == "optional_type":
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    return numpy_helper.to_array(onnx.TensorProto.FromString(data))


def read_values(folder, prefix, infos):
    """Those that there are, in the order of `infos`."""
    values = []
    for index, info in enumerate(infos):
        path = folder / f"{prefix}_{index}.pb"
        if not path.exists():
            break
        values.append(read_value(path, info.type.WhichOneof("value")))
    return values


def inputs_of(model):
    """The inputs that need a value."""
    weights = {tensor.name for tensor in model.graph.initializer}
    return [info for info in model.graph.input if info.name not in weights]


# ---- Perturbed inputs -------------------------------------------------------------------------

def perturb(array, generator):
    """Every element moved by at most PERTURBATION neighbours; zeros and what is not finite stay."""
    bits = {2: np.int16, 4: np.int32, 8: np.int64}[array.dtype.itemsize]
    steps = generator.integers(-PERTURBATION, PERTURBATION + 1, array.shape).astype(bits)
    finite = np.isfinite(array.astype(np.float64)) & (array != 0)
    moved = np.where(finite, array.view(bits) + steps, array.view(bits)).astype(bits)
    moved = moved.view(array.dtype).reshape(array.shape)
    kept = np.isfinite(moved.astype(np.float64)) & (np.sign(moved) == np.sign(array))
    return np.where(kept, moved, array).astype(array.dtype)


def rounds(model):
    """False where every right implementation gives the same bits."""
    for node in model.graph.node:
        unless = EXACT_UNLESS.get(node.op_type)
        if unless and not any(a.name == unless and a.s != b"none" for a in node.attribute):
            continue
        if node.op_type not in EXACT:
            return True
    return False


def elementwise(model):
    return len(model.graph.node) == 1 and model.graph.node[0].op_type in ELEMENTWISE


def movable(model, values):
    """Which of the inputs may be perturbed."""
    node = model.graph.node[0]
    fixed = FIXED_INPUTS.get(node.op_type, set()) if len(model.graph.node) == 1 else set()
    names = {node.input[i] for i in fixed if i < len(node.input)}
    return [isinstance(value, np.ndarray) and value.dtype in NUMPY_FLOATS and value.size > 0
            and info.name not in names
            for info, value in zip(inputs_of(model), values)]


def write_case(folder, model, values):
    """A folder with the data set 0 and, where results round, the perturbed ones."""
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    where = movable(model, values) if rounds(model) and not is_random(model) else []
    sets = 1 + (PERTURBATIONS if any(where) else 0)
    seed = int.from_bytes(hashlib.sha256(folder.name.encode()).digest()[:8], "little")
    for number in range(sets):
        generator = np.random.Generator(np.random.Philox(seed + number))
        data = folder / f"test_data_set_{number}"
        data.mkdir()
        for index, (info, value) in enumerate(zip(inputs_of(model), values)):
            if number and where[index]:
                value = perturb(value, generator)
            (data / f"input_{index}.pb").write_bytes(to_proto(info, value).SerializeToString())


def to_proto(info, value):
    kind = info.type.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.from_list(value, info.name)
    if kind == "optional_type":
        return numpy_helper.from_optional(value, info.name)
    return numpy_helper.from_array(value, info.name)


# ---- Other types ------------------------------------------------------------------------------

def schema_of(model):
    node = model.graph.node[0]
    opset = {entry.domain or "": entry.version for entry in model.opset_import}
    domain = "" if node.domain == "ai.onnx" else node.domain
    try:
        return defs.get_schema(node.op_type, opset.get(domain, 1), domain)
    except defs.SchemaError:
        return None


def variable_of(parameters, index):
    if index < len(parameters):
        return parameters[index].type_str
    last = parameters[-1] if parameters else None
    return last.type_str if last is not None and last.option.name == "Variadic" else None


def convert(array, dtype):
    """The same numbers in another type as far as it has them; fractions are scaled for integers."""
    if array.dtype.kind in "OUSc":
        return None
    wide = array.astype(np.float64)
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return wide > 0
    if dtype in INTEGERS:
        wide = np.clip(np.nan_to_num(wide), -2.0**60, 2.0**60)
        if array.dtype.kind not in "iub" and np.any(wide != np.rint(wide)):
            wide = wide * 10
        info = np.iinfo(dtype)
        return np.clip(np.rint(np.abs(wide) if info.min == 0 else wide), info.min,
                       min(info.max, 2**53)).astype(dtype)
    if dtype in NARROW_INTEGERS:
        info = ml_dtypes.iinfo(dtype)
        return np.clip(np.rint(np.nan_to_num(wide)), info.min, info.max).astype(dtype)
    if np.dtype(dtype).itemsize == 1:  # narrow formats: numbers that they hold
        info = ml_dtypes.finfo(dtype)
        low = float(info.smallest_normal) if dtype == ml_dtypes.float8_e8m0fnu else float(info.min)
        wide = np.clip(np.nan_to_num(wide), low, float(info.max))
    return wide.astype(dtype)


def retype(model, values, variable, element):
    """Model and values with the type variable set to an element type; None if it makes no sense."""
    schema, node = schema_of(model), model.graph.node[0]
    dtype = helper.tensor_dtype_to_np_dtype(element)
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    new_values = list(values)
    infos = {info.name: info for info in list(changed.graph.input) + list(changed.graph.output)}
    positions = {info.name: i for i, info in enumerate(inputs_of(changed))}
    parameters = [(node.input, schema.inputs), (node.output, schema.outputs)]
    for names, formals in parameters:
        for index, name in enumerate(names):
            if not name or variable_of(formals, index) != variable:
                continue
            if name not in infos or infos[name].type.WhichOneof("value") != "tensor_type":
                return None
            infos[name].type.tensor_type.elem_type = element
            if name in positions:
                value = new_values[positions[name]]
                converted = convert(value, dtype) if isinstance(value, np.ndarray) else None
                if converted is None:
                    return None
                new_values[positions[name]] = converted
    changed.ir_version = max(changed.ir_version, 13)
    return (changed, new_values) if infer_outputs(changed, schema) else None


def infer_outputs(model, schema):
    """Gives the outputs whose type variable no input has the type that onnx infers; False where
    the model is none."""
    node = model.graph.node[0]
    fixed = {variable_of(schema.inputs, i) for i, name in enumerate(node.input) if name}
    free = {name for i, name in enumerate(node.output)
            if variable_of(schema.outputs, i) not in fixed}
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    for info in bare.graph.output:
        info.ClearField("type")
    try:
        inferred = shape_inference.infer_shapes(bare, strict_mode=True)
    except shape_inference.InferenceError:
        return False
    for info, found in zip(model.graph.output, inferred.graph.output):
        element = found.type.tensor_type.elem_type
        if info.name in free and info.type.HasField("tensor_type") and element:
            info.type.tensor_type.elem_type = element
    return True


def targets(model):
    """(variable, element type) that the schema allows and the model does not have."""
    schema, node = schema_of(model), model.graph.node[0]
    if schema is None or model.graph.initializer or len(model.graph.node) != 1:
        return
    if node.op_type == "BitCast" or any(a.type == a.GRAPH for a in node.attribute):
        return  # a width, or a body, that fits the given types alone
    types = {info.name: info.type.tensor_type.elem_type for info in model.graph.input}
    present = {}
    for index, name in enumerate(node.input):
        variable = variable_of(schema.inputs, index)
        if name in types and variable:
            present.setdefault(variable, types[name])
    for constraint in schema.type_constraints:
        if constraint.type_param_str not in present:
            continue
        for text in sorted(constraint.allowed_type_strs):
            match = re.fullmatch(r"tensor\((\w+)\)", text)
            if not match or match.group(1) in ("string", "complex64", "complex128"):
                continue
            element = onnx.TensorProto.DataType.Value(match.group(1).upper())
            if (node.op_type, element) == ("DequantizeLinear", onnx.TensorProto.FLOAT8E8M0):
                continue  # y would have the scale's type, which T3 does not allow
            if element != present[constraint.type_param_str]:
                yield constraint.type_param_str, element


# ---- Everything -------------------------------------------------------------------------------

def base_operators(folders):
    """The operator that a test is about: an expanded body is about the operator it defines."""
    operators = {}
    for folder in folders:
        model = onnx.load(folder / "model.onnx", load_external_data=False)
        operators[folder.name] = operator_name(model.graph.node[0]) if model.graph.node else "-"
    for name in operators:
        base = re.sub(r"_expanded(_ver\d+)?$", "", name)
        operators[name] = operators.get(base, operators[name])
    return operators


def write_models(source, target):
    """The official tests, and each operator in its other types."""
    folders = sorted(path.parent for path in (source / "node").glob("*/model.onnx"))
    operators = base_operators(folders)
    written = collections.Counter()
    for folder in folders:
        model = onnx.load(folder / "model.onnx")
        values = read_values(folder / "test_data_set_0", "input", inputs_of(model))
        write_case(target / "node" / folder.name, model, values)
        if is_random(model):
            continue
        for variable, element in targets(model):
            text = onnx.TensorProto.DataType.Name(element).lower()
            key = (operator_name(model.graph.node[0]), schema_of(model).since_version, variable,
                   text)
            if written[key] >= RETYPED:
                continue
            made = retype(model, values, variable, element)
            if made:
                written[key] += 1
                write_case(target / "typed" / f"{folder.name}~{variable}={text}", *made)
    typed = {path.name: operators[path.name.split("~")[0]]
             for path in (target / "typed").iterdir()}
    (target / "operators.json").write_text(json.dumps({"node": operators, "typed": typed}),
                                           encoding="utf-8")


def bake(opsconform, words):
    """Runs `opsconform bake`; the cases that it does not store, with the reason."""
    done = subprocess.run([opsconform, "bake", *map(str, words)], capture_output=True, text=True,
                          check=False)
    if done.returncode not in (0, 1, 6):
        sys.exit(f"ci/oracle: error: opsconform bake ends with {done.returncode}: {done.stderr}")
    return dict(re.findall(r"error: (?:onnx/)?(\S+) is not stored: \w+ (.*)", done.stderr))


def fresh(folder, stamp):
    """True if `folder` was made from what `stamp` names; else it is emptied."""
    mark = folder / "stamp"
    if mark.exists() and mark.read_text(encoding="utf-8") == stamp:
        return True
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return False


def digest(*paths):
    total = hashlib.sha256()
    for path in paths:
        total.update(pathlib.Path(path).read_bytes())
    return total.hexdigest()


def link(models, cases, folder):
    """A folder that holds these cases of `models` alone."""
    shutil.rmtree(folder, ignore_errors=True)
    for case in cases:
        place = folder / case.folder.relative_to(models)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(case.folder)


def model_cases(opsconform, source, work, choose):
    """Those of the official node tests and their retyped forms that `choose` leaves."""
    models, outputs = work / "models", work / "outputs"
    stamp = f"{source.name} {onnx.__version__} {digest(__file__)}"
    if not fresh(models, stamp):
        write_models(source, models)
        (models / "stamp").write_text(stamp, encoding="utf-8")
    operators = json.loads((models / "operators.json").read_text(encoding="utf-8"))
    cases = choose([Case(f"{kind}/{name}", operator, models / kind / name, outputs / kind / name,
                         kind)
                    for kind in ("node", "typed")
                    for name, operator in sorted(operators[kind].items())])
    shutil.rmtree(outputs, ignore_errors=True)
    if not cases:
        return []
    link(models, cases, work / "chosen")
    refused = bake(opsconform, [outputs, "--onnx-tests", work / "chosen", "--timeout", 60])
    for case in cases:
        case.refused = refused.get(case.name)
    return cases


def contract_cases(opsconform, work, words):
    """Every case of the contracts; `words` are options of opsconform that leave some out."""
    folder = work / "contracts"
    shutil.rmtree(folder, ignore_errors=True)
    refused = bake(opsconform, [folder, *words])
    if refused:
        sys.exit(f"ci/oracle: error: the reference provider has no value for {refused}")
    for path in sorted(folder.glob("*/*/case.json")):
        name = f"contract/{path.parent.parent.name}/{path.parent.name.replace('~', '/')}"
        operator = path.parent.parent.name.rsplit("-", 1)[0]
        yield Case(name, operator, path.parent, path.parent, "contract")


def select(cases, pattern):
    return [case for case in cases if fnmatch.fnmatch(case.name, pattern)]


def sample(cases, each):
    """A few cases of every operator and kind, always the same ones."""
    groups = collections.defaultdict(list)
    for case in cases:
        groups[case.operator, case.kind].append(case)
    chosen = []
    for group in groups.values():
        group.sort(key=lambda case: hashlib.sha256(case.name.encode()).digest())
        chosen += group[:each]
    return sorted(chosen, key=lambda case: case.name)
