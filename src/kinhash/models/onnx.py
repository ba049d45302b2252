"""A whole-number model as an ONNX graph of standard operators.

The graph does what `Step.run` does, operator by operator: sums are of whole numbers and exact in any order,
everything else is rounded by IEEE 754 or looked up. So its bits and margins are those of `encode` and
`decision_function`, in every runtime whose products of float32 keep all digits (no TF32, no bfloat16).

Add a step: one function from its inputs to the name of its result, and one row in `WRITERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._internal.types import Array
from ..codes import n_bytes
from ..errors import InvalidInput, MissingExtra
from .step import BY_ROW, NONE, RELATIVE_BITS, SHARE_BITS, SIMILARITY_BITS, SOLVE_BITS
from .whole import WholeMap

if TYPE_CHECKING:
    from .readout_steps import Settle, Solve
    from .score_steps import (
        Columns,
        Join,
        Linear,
        Lookup,
        Relative,
        Similarities,
        Softmax,
        TagSimilarities,
        Unit,
    )
    from .step import Product

__all__ = ["IR_VERSION", "OPSET", "WRITERS", "Graph", "model_of"]

OPSET, IR_VERSION = 17, 8
WHOLE_TYPES = (np.int8, np.uint8, np.int16, np.int32, np.int64)

Name = str
Value = Name | tuple[Name, Name]  # a value of a model; a Unit step gives rows and their lengths


class Graph:
    """The nodes and constants of a graph in the making. Values are known by their names."""

    def __init__(self, onnx: Any) -> None:
        self.onnx, self.types = onnx, onnx.TensorProto
        self.nodes: list[Any] = []
        self.constants: dict[tuple[str, tuple[int, ...], bytes], tuple[Name, Array]] = {}
        self._casts: dict[tuple[Name, int], Name] = {}
        self._n_names = 0

    def node(
        self, operator: str, *inputs: Name | np.generic | Array, name: Name = "", **attributes: Any
    ) -> Name:
        """Append an operator; the name of its result. Numbers and arrays become constants."""
        names = [one if isinstance(one, str) else self.constant(np.asarray(one)) for one in inputs]
        self._n_names += 1
        name = name or f"v{self._n_names}"
        self.nodes.append(self.onnx.helper.make_node(operator, names, [name], name, **attributes))
        return name

    def constant(self, value: Array) -> Name:
        """The name of a constant; equal ones are stored once."""
        value = np.asarray(value, order="C")
        key = (value.dtype.str, value.shape, value.tobytes())
        return self.constants.setdefault(key, (f"c{len(self.constants)}", value))[0]

    def whole(self, value: Array, dtype: Any = np.float64) -> Name:
        """A constant of whole numbers, stored in the smallest type that holds them and used as ``dtype``."""
        low, high = (value.min(), value.max()) if value.size else (0, 0)
        small = next(t for t in WHOLE_TYPES if np.iinfo(t).min <= low and high <= np.iinfo(t).max)
        return self.cast(self.constant(value.astype(small)), dtype)

    def cast(self, value: Name, dtype: Any) -> Name:
        """A value as another type, cast once."""
        to = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        if (value, to) not in self._casts:
            self._casts[value, to] = self.node("Cast", value, to=to)
        return self._casts[value, to]

    def sum(self, value: Name) -> Name:
        """Sums (n, 1) of rows."""
        return self.node("ReduceSum", value, np.array([1], np.int64), keepdims=1)

    def largest(self, value: Name) -> Name:
        """Largest entries (n, 1) of rows."""
        return self.node("ReduceMax", value, axes=[1], keepdims=1)

    def scaled(self, value: Name, by: float | Array) -> Name:
        """``value · by``; the value itself where ``by`` is 1."""
        return value if np.all(np.equal(by, 1)) else self.node("Mul", value, np.asarray(by, np.float64))

    def rounded(self, value: Name, by: float | Array = 1.0) -> Name:
        """``rint(value · by)``: Round takes ties to even numbers."""
        return self.node("Round", self.scaled(value, by))

    def clipped(self, value: Name, low: float, high: float) -> Name:
        """``clip(value, low, high)``."""
        return self.node("Clip", value, np.float64(low), np.float64(high))

    def product(self, step: Product, value: Name) -> Name:
        """``value @ matrix`` of a step, in float32 where that is exact; the result is float64."""
        factor: Array = step.__dict__["_factor"]
        found = self.node("MatMul", self.cast(value, factor.dtype), self.whole(factor, factor.dtype))
        return found if factor.dtype == np.float64 else self.cast(found, np.float64)

    def look_up(self, table: Array, value: Name, shift: int, wrap: bool = False) -> Name:
        """``table[(value + half) >> shift]``, held at the ends of the table, or around again if ``wrap``."""
        half = 2.0 ** (shift - 1) if shift else 0.0
        moved = self.node("Add", value, np.float64(half)) if half else value
        place = self.node("Floor", self.scaled(moved, 2.0**-shift))
        if wrap:
            place = self.node("Mod", self.cast(place, np.int64), np.int64(len(table)))  # as Python's %
        else:
            place = self.cast(self.clipped(place, 0, len(table) - 1), np.int64)
        return self.node("Gather", self.whole(table), place)


def model_of(map_: WholeMap, double: bool = False) -> Any:
    """The ONNX model of a map: input ``X`` (n, p), outputs ``codes`` (n, bytes) and ``margins`` (n, d).

    ``double`` makes the input float64 in place of float32.
    """
    try:
        import onnx
    except ImportError:
        raise MissingExtra.of("onnx", "onnx") from None
    _require_writable(map_)
    graph = Graph(onnx)
    values: list[Any] = [graph.cast("X", np.float64) if not double else "X"]
    for step in map_.steps_:
        values.append(WRITERS[step.kind](graph, step, *(values[place] for place in step.inputs)))
    scale = np.ldexp(1.0, -map_.units.astype(np.int64))
    graph.node("Mul", values[-1], scale, name="margins")
    _write_codes(graph, values[-1], map_.n_bits)
    return _model(graph, map_, double)


def _require_writable(map_: WholeMap) -> None:
    kinds = {step.kind for step in map_.steps_}
    if "trees" in kinds:
        raise InvalidInput(
            "A model with boosted trees cannot be exported to ONNX: standard operators walk no trees",
            "a model of products and tables",
            "Fit with encoder='expected' or 'ridge'",
        )
    unknown = kinds - WRITERS.keys()
    if unknown:
        raise InvalidInput(
            f"The steps {', '.join(sorted(unknown))} have no translation to ONNX", f"{', '.join(WRITERS)}"
        )


def _write_codes(graph: Graph, scores: Name, n_bits: int) -> None:
    """Bits where scores are above zero, eight to a byte, the first bit highest."""
    bits = graph.cast(graph.node("Greater", scores, np.float64(0)), np.int32)
    width = n_bytes(n_bits)
    if n_bits % 8:
        bits = graph.node("Pad", bits, np.array([0, 0, 0, 8 * width - n_bits], np.int64))
    eights = graph.node("Reshape", bits, np.array([0, width, 8], np.int64))
    weighted = graph.node("Mul", eights, 2 ** np.arange(7, -1, -1, dtype=np.int32))
    total = graph.node("ReduceSum", weighted, np.array([2], np.int64), keepdims=0)
    graph.node("Cast", total, name="codes", to=graph.types.UINT8)


def _model(graph: Graph, map_: WholeMap, double: bool) -> Any:
    helper, types = graph.onnx.helper, graph.types
    described = helper.make_graph(
        graph.nodes,
        "kinhash",
        [helper.make_tensor_value_info("X", types.DOUBLE if double else types.FLOAT, ["n", map_.n_features])],
        [
            helper.make_tensor_value_info("codes", types.UINT8, ["n", n_bytes(map_.n_bits)]),
            helper.make_tensor_value_info("margins", types.DOUBLE, ["n", map_.n_bits]),
        ],
        [graph.onnx.numpy_helper.from_array(value, name) for name, value in graph.constants.values()],
    )
    opset = helper.make_opsetid("", OPSET)
    return helper.make_model(described, opset_imports=[opset], ir_version=IR_VERSION, producer_name="kinhash")


# -- steps: each does what the `run` of its class does -------------------------------------------


def _columns(graph: Graph, step: Columns, x: Name) -> Name:
    centered = graph.node("Sub", x, step.mean)
    return graph.clipped(graph.rounded(centered, step.factor), -step.limit, step.limit)


def _relative(graph: Graph, step: Relative, x: Name) -> Name:
    top = graph.largest(graph.node("Abs", x))
    some = graph.node("Where", graph.node("Greater", top, np.float64(0)), top, np.float64(1))
    return graph.rounded(graph.node("Div", x, some), 2.0**RELATIVE_BITS)


def _unit(graph: Graph, step: Unit, v: Name) -> Value:
    n = graph.node("Sqrt", graph.sum(graph.node("Mul", v, v)))
    factor = graph.node("Div", np.float64(step.length), graph.node("Max", n, np.float64(1)))  # n is 0, or ≥ 1
    return graph.node("Round", graph.node("Mul", v, factor)), n


def _linear(graph: Graph, step: Linear, v: Value, plus: Name | None = None) -> Name:
    if isinstance(v, tuple):
        out = graph.rounded(graph.node("Mul", graph.product(step, v[0]), v[1]), step._scale)
    else:
        out = graph.product(step, v)
        if step.shift.any():
            out = graph.rounded(out, step._scale)
    if step.constant.any():
        out = graph.node("Add", out, graph.whole(step.constant))
    return out if plus is None else graph.node("Add", out, plus)


def _similarities(graph: Graph, step: Similarities, v: Value) -> Name:
    u = v[0] if isinstance(v, tuple) else v
    squares = graph.node("Add", graph.sum(graph.node("Mul", u, u)), graph.whole(step._squares))
    squared = graph.node("Sub", squares, graph.scaled(graph.product(step, u), 2.0))
    if step.root:
        squared = graph.rounded(graph.node("Sqrt", squared))
    return graph.look_up(step.table, squared, step.shift)


def _softmax(graph: Graph, step: Softmax, v: Name) -> Name:
    away = graph.node("Sub", graph.largest(v), v)
    e = graph.look_up(step.table, away, step.shift)
    return graph.rounded(graph.node("Div", e, graph.sum(e)), 2.0**SHARE_BITS)


def _lookup(graph: Graph, step: Lookup, v: Name) -> Name:
    away = graph.node("Sub", v, np.float64(step.low)) if step.low else v
    return graph.look_up(step.table, away, step.shift, bool(step.wrap))


def _tags(graph: Graph, step: TagSimilarities, chances: Name, logs: Name) -> Name:
    none = graph.look_up(step.table, graph.product(step, logs), step.shift)
    if not step.graded:
        return graph.node("Sub", np.float64(2.0**SIMILARITY_BITS), graph.scaled(none, 2.0))
    common = graph.product(step, chances)
    union = graph.node("Add", graph.node("Sub", graph.sum(chances), common), graph.whole(step._sizes))
    shared = graph.rounded(graph.node("Div", common, union), 2.0**SIMILARITY_BITS)
    return graph.node("Sub", shared, none)


def _solve(graph: Graph, step: Solve, b: Name) -> Name:
    clip, part = float(step.clip[0]), 2.0**-SOLVE_BITS
    one = np.float64(1)
    size = graph.largest(graph.node("Add", graph.node("Abs", b), step.sums))
    lam = graph.node("Div", size, np.float64(clip))
    lam = graph.node("Where", graph.node("Greater", lam, np.float64(0)), lam, one)
    away = graph.node("Max", graph.node("Sub", lam, step.values), graph.scaled(lam, 2.0**-20))
    product = graph.node("MatMul", b, graph.whole(step.vectors))
    most = 2 * clip * len(step.vectors)
    along = graph.clipped(graph.node("Div", graph.scaled(product, part), away), -most, most)
    back = graph.node("MatMul", graph.rounded(along, 1 / part), graph.whole(step.vectors.T))
    v = graph.rounded(back, part)
    if step.how == NONE:
        return v
    low, high = graph.node("ReduceMin", v, axes=[1], keepdims=1), graph.largest(v)
    twice = graph.scaled(v, 2.0)
    if step.how == BY_ROW:
        reach = graph.node("Sub", high, low)
        moved = graph.node("Sub", twice, graph.node("Add", low, high))
    else:
        farther = graph.node("Max", graph.node("Abs", low), graph.node("Abs", high))
        reach, moved = graph.scaled(farther, 2.0), twice
    flat = graph.node("Equal", reach, np.float64(0))
    stretched = graph.node("Div", moved, graph.node("Where", flat, one, reach))
    stretched = graph.node("Where", flat, graph.node("Sign", v), stretched)
    return graph.rounded(graph.scaled(stretched, clip), 1 / part)


def _settle(graph: Graph, step: Settle, b: Name) -> Name:
    """Bit k takes the sign of its field, for k = 0 … d − 1, as often as there are sweeps.

    A sweep that changes nothing is followed by others that change nothing, so none ends early.
    """
    d = len(step.coupling)
    coupling = graph.whole(step._coupling)
    one, minus, zero = np.float64(1), np.float64(-1), np.float64(0)
    start = graph.node("Where", graph.node("Greater", b, zero), one, minus)
    begun = len(graph.nodes)
    turn = graph.node("Mod", "turn", np.array([d], np.int64))  # (1,), the bit whose turn it is
    own = graph.node("Gather", coupling, turn, axis=0)  # (1, d)
    bent = graph.sum(graph.node("Mul", "bits", own))
    field = graph.node("Sub", graph.node("Gather", b, turn, axis=1), bent)
    old = graph.node("Gather", "bits", turn, axis=1)
    down = graph.node("Where", graph.node("Less", field, zero), minus, old)
    new = graph.node("Where", graph.node("Greater", field, zero), one, down)
    here = graph.node("Equal", np.arange(d, dtype=np.int64), turn)
    after = graph.node("Where", here, new, "bits")
    go_on = graph.node("Identity", "go")
    inside, graph.nodes[begun:] = graph.nodes[begun:], []
    value, types = graph.onnx.helper.make_tensor_value_info, graph.types
    body = graph.onnx.helper.make_graph(
        inside,
        "settle",
        [value("turn", types.INT64, []), value("go", types.BOOL, []), value("bits", types.DOUBLE, ["n", d])],
        [value(go_on, types.BOOL, []), value(after, types.DOUBLE, ["n", d])],
    )
    ended = graph.node("Loop", np.int64(d * step.n_sweeps), np.bool_(True), start, body=body)
    pull = graph.node("MatMul", ended, graph.whole(step._coupling.T))
    fields = graph.node("Sub", b, pull)
    return graph.node("Where", graph.node("Equal", fields, zero), ended, fields)


def _join(graph: Graph, step: Join, *given: Name) -> Name:
    return graph.node("Concat", *given, axis=1)


WRITERS: dict[str, Callable[..., Value]] = {
    "columns": _columns,
    "join": _join,
    "linear": _linear,
    "lookup": _lookup,
    "relative": _relative,
    "settle": _settle,
    "similarities": _similarities,
    "softmax": _softmax,
    "solve": _solve,
    "tags": _tags,
    "unit": _unit,
}
