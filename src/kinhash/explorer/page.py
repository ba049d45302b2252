"""One HTML file that asks the network for nothing: sources, data and a policy that allows no more.

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
from importlib import resources

import numpy as np

from .._internal.json import plain
from .._internal.types import Array

__all__ = ["as_json", "assemble"]

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
