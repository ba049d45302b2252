"""A linear hasher as an ONNX graph: features in, packed codes out, no Python needed.

The graph does what `encode` does first, in the same precision at every step:
``bits = float32((x − mean) · (1 / scale)) @ W + intercept > 0``, eight bits to a byte, the first bit highest.
Subtraction and scaling are in float64 and give the same digits everywhere, the product is in float32.
Codes with kin and alike bits have two such maps, side by side. Runtimes add the terms of a product in
different orders, and a graph cannot decide a row again as `encode` does. So a margin within rounding error
of zero (about 8 √p 2⁻²⁴ ‖z‖‖w‖ for p features) may fall on the other side; all other bits are equal. The
margins are a second output, so such rows can be seen.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from .._files import replace_file
from ..codes import n_bytes
from ..encoders.linear import LinearMap
from ..encoders.preparation import FAR
from ..encoders.stacked import StackedMap
from ..errors import InvalidInput, MissingExtra

__all__ = ["to_onnx"]

OPSET = 17


def to_onnx(hasher: Any, path: str | os.PathLike[str] | None = None) -> Any:
    """The fitted hasher as an ONNX model, written to ``path``, all or nothing, if one is given.

    Input ``X`` (n, p) float64; outputs ``codes`` (n, bytes) uint8 in np.packbits order and ``margins`` (n, d)
    float32. The metadata holds ``n_bits``, ``model_id`` and, as JSON, ``fields``: what a differing bit of two
    codes counts, see `kinhash.Fields`. Only linear maps on plain features can be exported.
    """
    try:
        import onnx
    except ImportError:
        raise MissingExtra.of("onnx", "onnx") from None
    fitted = getattr(hasher, "fitted_", None)
    parts = () if fitted is None else _parts(fitted.map)
    other = [part for part in parts if not isinstance(part, LinearMap) or part.preparation.rbf is not None]
    if fitted is None or other:
        raise InvalidInput(
            f"A hasher with {_name(other[0]) if other else 'no map yet'} came to be exported",
            "a fitted hasher with a linear map on plain features",
            "Fit with encoder='ridge'",
        )
    model = _model(onnx, parts)
    facts = {
        "n_bits": str(fitted.map.n_bits),
        "model_id": str(getattr(hasher, "model_id_", None) or ""),
        "fields": json.dumps(fitted.fields.as_dict()),
    }
    onnx.helper.set_model_props(model, facts)
    onnx.checker.check_model(model)
    if path is not None:
        replace_file(path, [memoryview(model.SerializeToString())])
    return model


def _parts(map_: Any) -> tuple[Any, ...]:
    """The maps whose bits stand side by side."""
    return map_.parts if isinstance(map_, StackedMap) else (map_,)


def _name(part: Any) -> str:
    return "RBF features" if isinstance(part, LinearMap) else f"a {type(part).__name__}"


def _model(onnx: Any, parts: tuple[LinearMap, ...]) -> Any:
    helper, types = onnx.helper, onnx.TensorProto
    n_features, n_bits = parts[0].n_features, sum(part.n_bits for part in parts)
    width = n_bytes(n_bits)
    constants: dict[str, npt.NDArray[Any]] = {
        "low": np.array(-FAR),  # values farther out are cut, as in `standardise`
        "high": np.array(FAR),
        "zero": np.array(0, np.float32),
        "padding": np.array([0, 0, 0, 8 * width - n_bits], np.int64),
        "by_byte": np.array([-1, width, 8], np.int64),
        "places": 2 ** np.arange(7, -1, -1, dtype=np.int32),
        "last": np.array([2], np.int64),
    }
    node = helper.make_node
    steps = []
    for number, part in enumerate(parts):
        constants |= _constants(part, number)
        steps += _margins(onnx, number)
    steps += [
        node("Concat", [f"margins{number}" for number in range(len(parts))], ["margins"], axis=1),
        node("Greater", ["margins", "zero"], ["ones"]),
        node("Cast", ["ones"], ["bits"], to=types.INT32),
        node("Pad", ["bits", "padding"], ["padded"]),
        node("Reshape", ["padded", "by_byte"], ["eights"]),
        node("Mul", ["eights", "places"], ["weighted"]),
        node("ReduceSum", ["weighted", "last"], ["bytes"], keepdims=0),
        node("Cast", ["bytes"], ["codes"], to=types.UINT8),
    ]
    graph = helper.make_graph(
        steps,
        "kinhash",
        [helper.make_tensor_value_info("X", types.DOUBLE, ["n", n_features])],
        [
            helper.make_tensor_value_info("codes", types.UINT8, ["n", width]),
            helper.make_tensor_value_info("margins", types.FLOAT, ["n", n_bits]),
        ],
        [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    opset = helper.make_opsetid("", OPSET)
    return helper.make_model(graph, opset_imports=[opset], ir_version=8, producer_name="kinhash")


def _constants(part: LinearMap, number: int) -> dict[str, npt.NDArray[Any]]:
    scale = part.preparation.scale.astype(np.float64)
    return {
        f"mean{number}": part.preparation.mean.astype(np.float64),
        f"factor{number}": np.minimum(1 / scale, 1e300),  # as in `standardise`
        f"weights{number}": part.weights,
        f"intercept{number}": part.intercept,
    }


def _margins(onnx: Any, number: int) -> list[Any]:
    """The steps from the features to the margins of one map."""
    node, to = onnx.helper.make_node, onnx.TensorProto.FLOAT
    return [
        node("Sub", ["X", f"mean{number}"], [f"centred{number}"]),
        node("Mul", [f"centred{number}", f"factor{number}"], [f"standardised{number}"]),
        node("Clip", [f"standardised{number}", "low", "high"], [f"cut{number}"]),
        node("Cast", [f"cut{number}"], [f"prepared{number}"], to=to),
        node("MatMul", [f"prepared{number}", f"weights{number}"], [f"product{number}"]),
        node("Add", [f"product{number}", f"intercept{number}"], [f"margins{number}"]),
    ]
