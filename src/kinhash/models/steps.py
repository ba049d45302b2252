"""The table of steps. Add one: a class in a file beside this one, a row here, and its translations.

Translations are in `onnx.py` and `explorer/model.js`.
"""

from __future__ import annotations

from .readout_steps import Settle, Solve, TreesStep
from .score_steps import Columns, Join, Linear, Lookup, Relative, Similarities, Softmax, TagSimilarities, Unit
from .step import Step

__all__ = [
    "STEPS",
    "Columns",
    "Join",
    "Linear",
    "Lookup",
    "Relative",
    "Settle",
    "Similarities",
    "Softmax",
    "Solve",
    "Step",
    "TagSimilarities",
    "TreesStep",
    "Unit",
]

STEPS: dict[str, type[Step]] = {
    "columns": Columns,
    "join": Join,
    "linear": Linear,
    "lookup": Lookup,
    "relative": Relative,
    "settle": Settle,
    "similarities": Similarities,
    "softmax": Softmax,
    "solve": Solve,
    "tags": TagSimilarities,
    "trees": TreesStep,
    "unit": Unit,
}
