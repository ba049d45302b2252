"""One HTML file that asks the network for nothing: sources, data, a model, and a policy that allows no more.

Scripts and style are allowed by their digests alone, and data stand in blocks that no browser runs, with
every ``<`` written as an escape.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

import numpy as np

from .._internal.texts import plain
from .._internal.types import Array, Facts, Matrix
from ..models import WholeMap
from ..models.steps import OWN

SCRIPTS = (
    "model.js",
    "data.js",
    "dom.js",
    "state.js",
    "colors.js",
    "paint.js",
    "map.js",
    "doubts.js",
    "row.js",
    "vector.js",
    "figures.js",
    "start.js",
)


def assemble(title: str, facts: Mapping[str, object], arrays: Mapping[str, Array | bytes]) -> str:
    """The page. ``facts`` are one block of JSON, ``arrays`` one block each of base64, lowest byte first."""
    style = "\n" + _source("page.css")
    scripts = ["\n" + _source(name) for name in SCRIPTS]
    blocks = [_block("facts", as_json(facts))]
    blocks += [_block(f"data-{name}", f'"{_base64(array)}"') for name, array in arrays.items()]
    parts = {
        "title": html.escape(title),
        "policy": html.escape(_policy(style, scripts)),
        "style": style,
        "data": "\n".join(blocks),
        "scripts": "\n".join(f"<script>{script}</script>" for script in scripts),
    }
    # One pass, so that nothing inside the data is taken for a place to fill.
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _source("page.html"))


def as_json(value: object) -> str:
    """JSON that can stand inside a script element: no ``<``, so neither an end tag nor a comment."""
    text = json.dumps(plain(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    text = text.encode("utf-8", "replace").decode("utf-8")  # lone surrogates have no UTF-8
    return text.replace("<", "\\u003c")


def _source(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


def _block(name: str, text: str) -> str:
    return f'<script type="application/json" id="{name}">{text}</script>'


def _base64(array: Array | bytes) -> str:
    if isinstance(array, np.ndarray):
        array = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"))).tobytes()
    return base64.b64encode(array).decode("ascii")


def _policy(style: str, scripts: list[str]) -> str:
    def digest(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    allowed = " ".join(map(digest, scripts))
    return (
        f"default-src 'none'; script-src {allowed}; style-src {digest(style)}; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


# ---- the model: steps and arrays of whole numbers, which ``model.js`` runs in the browser --------------------

LARGEST_MODEL = 8_000_000  # bytes that a model may add to a page
KINDS = ("i1", "u1", "i2", "u2", "i4")  # of whole numbers, the smallest first


@dataclass(frozen=True)
class ModelShown:
    """What a page says about its model, and the arrays of the model by name.

    ``facts["why"]`` is None, or says why the page cannot run the model; then there are no arrays.
    """

    facts: Facts
    arrays: dict[str, Array] = field(default_factory=dict)


def model_shown(model: Any, X: Matrix) -> ModelShown:
    """The model of a hasher, if a browser can run it and if it is small enough. X is what it encodes."""
    whole = model.model_.map
    if not isinstance(whole, WholeMap):
        return ModelShown({"why": f"The page cannot encode vectors: {whole.why_not_whole()}."})
    foreign = sorted({step.kind for step in whole.steps_} - {kind.lower() for kind in OWN})
    if foreign:
        return ModelShown({"why": f"The page cannot encode vectors: it has no step {', '.join(foreign)}."})
    arrays = {f"{i}.{name}": _narrow(a) for i, s in enumerate(whole.steps_) for name, a in s.arrays().items()}
    n_bytes = sum(4 * -(-array.nbytes // 3) for array in arrays.values())  # in base64
    if n_bytes > LARGEST_MODEL:
        return ModelShown(
            {
                "why": f"The page cannot encode vectors: the model would add {n_bytes / 1e6:.1f} MB to it, "
                f"and {LARGEST_MODEL / 1e6:g} MB is the limit."
            }
        )
    facts = {
        "why": None,
        "steps": [[step.kind, list(step.inputs), step.numbers()] for step in whole.steps_],
        "kinds": {name: array.dtype.str[1:] for name, array in arrays.items()},
        "features": whole.n_features,
        "single": X.dtype == np.float32,
    }
    return ModelShown(facts, arrays)


def _narrow(array: Array) -> Array:
    """The same numbers in the smallest type that holds them and that JavaScript has."""
    if array.dtype.kind in "iu":
        low, high = array.min(initial=0), array.max(initial=0)
        for kind in KINDS:
            limits = np.iinfo(kind)
            if limits.min <= low and high <= limits.max:
                return array.astype(kind)
    return array.astype(np.float64)  # whole numbers of a model are below 2⁵³
