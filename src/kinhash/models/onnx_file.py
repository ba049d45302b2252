"""A fitted hasher as an ONNX file: features in, packed codes out, no Python and no kinhash needed.

`kinhash.models.onnx` translates the steps of the model; this file adds what a reader of codes must know.
"""

from __future__ import annotations

import json
import os
from typing import Any

from .._internal.files import replace_file
from ..errors import InvalidInput
from . import require_whole
from .onnx import OPSET, model_of

__all__ = ["to_onnx"]


def to_onnx(hasher: Any, path: str | os.PathLike[str] | None = None, double: bool = False) -> Any:
    """Turn a fitted hasher into an ONNX model, and write it to ``path``, all or nothing, if one is given.

    Input ``X`` (n, p) float32, or float64 with ``double``. Outputs ``codes`` (n, bytes) uint8 in np.packbits
    order and ``margins`` (n, d) float64. Both equal `encode` and `decision_function` exactly, in any batch.
    The metadata holds ``n_bits``, ``model_id``, ``opset`` and, as JSON, ``fields``: what a differing bit of
    two codes counts, see `kinhash.BitLayout`. Raises `InvalidInput` with the reason for the few models that
    standard operators cannot express: boosted trees, and maps that are not whole numbers.
    """
    fitted = getattr(hasher, "fitted_", None)
    if fitted is None:
        raise InvalidInput("The hasher is not fitted", "a fitted hasher", "Call fit first")
    model = model_of(require_whole(fitted.map), double)
    import onnx

    facts = {
        "n_bits": str(fitted.map.n_bits),
        "model_id": str(getattr(hasher, "model_id_", None) or ""),
        "fields": json.dumps(fitted.fields.as_dict()),
        "opset": str(OPSET),
    }
    onnx.helper.set_model_props(model, facts)
    onnx.checker.check_model(model)
    if path is not None:
        replace_file(path, [memoryview(model.SerializeToString(deterministic=True))])
    return model
