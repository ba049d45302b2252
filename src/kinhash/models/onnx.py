"""A fitted hasher as an ONNX file: features in, packed codes out, no Python and no kinhash needed.

The graph does what `Step.run` does, by standard operators: sums are of whole numbers and exact in any order,
everything else is rounded by IEEE 754 or looked up. So its bits and margins are those of `encode` and
`decision_function`, in every runtime whose products of float32 keep all digits (no TF32, no bfloat16).
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .._internal.files import replace_file
from .._internal.types import Array
from ..codes import n_bytes
from ..errors import InvalidInput, MissingExtra
from .model import WholeMap, require_whole
from .steps import Unsupported

OPSET, IR_VERSION = 17, 8
WHOLE_TYPES = (np.int8, np.uint8, np.int16, np.int32, np.int64)

Name = str


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

    def product(self, value: Name, factor: Array) -> Name:
        """``value @ factor`` in the factor's type, float32 where that is exact; the result is float64."""
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
    graph = Graph(onnx)
    values: list[Any] = [graph.cast("X", np.float64) if not double else "X"]
    for step in map_.steps_:
        try:
            values.append(step.onnx(graph, *(values[place] for place in step.inputs)))
        except Unsupported as reason:
            raise InvalidInput(
                f"The model cannot be exported to ONNX: {reason}",
                "a model of products and tables",
                "Fit an EnergyHasher, or any method without trees",
            ) from None
    scale = np.ldexp(1.0, -map_.units.astype(np.int64))
    graph.node("Mul", values[-1], scale, name="margins")
    _write_codes(graph, values[-1], map_.n_bits)
    return _model(graph, map_, double)


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


def to_onnx(hasher: Any, path: str | os.PathLike[str] | None = None, double: bool = False) -> Any:
    """Turn a fitted hasher into an ONNX model, and write it to ``path``, all or nothing, if one is given.

    Input ``X`` (n, p) float32, or float64 with ``double``. Outputs ``codes`` (n, bytes) uint8 in np.packbits
    order and ``margins`` (n, d) float64. Both equal `encode` and `decision_function` exactly, in any batch.
    The metadata holds ``n_bits``, ``model_id`` and ``opset``. Raises `InvalidInput` with the reason for
    models that standard operators cannot express: steps of another package, maps that are not whole numbers.
    """
    fitted = getattr(hasher, "model_", None)
    if fitted is None:
        raise InvalidInput("The hasher is not fitted", "a fitted hasher", "Call fit first")
    model = model_of(require_whole(fitted.map), double)
    import onnx

    facts = {
        "n_bits": str(fitted.map.n_bits),
        "model_id": str(getattr(hasher, "model_id_", None) or ""),
        "opset": str(OPSET),
    }
    onnx.helper.set_model_props(model, facts)
    onnx.checker.check_model(model)
    if path is not None:
        replace_file(path, [memoryview(model.SerializeToString(deterministic=True))])
    return model
