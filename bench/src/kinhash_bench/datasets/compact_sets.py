"""The published compact files, as ``compact_sets.toml`` lists them."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

from .base import Facts, Figures, Source, Wanted
from .compact import read_compact


def _source(name: str, known: dict[str, Any]) -> Source:
    class_names, sha256 = known.pop("class_names", ()), known.pop("sha256")
    figures, file = Figures(**known.pop("figures", {})), f"{name}.npz"
    wanted = Wanted((file,), checksum=f"sha256:{sha256}")
    facts = Facts(name, **known, files=(wanted,), figures=figures)
    return Source(facts, lambda folder: read_compact(folder / file, facts, class_names))


def __getattr__(name: str) -> Source:
    """The set of that name, in capitals as in the table of data sets."""
    listed = tomllib.loads(files(__package__).joinpath("compact_sets.toml").read_text("utf-8"))
    known = listed["sets"].get(name.lower())
    if known is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    family = listed["families"].get(known.pop("family", None), {})
    return _source(name.lower(), {**family, **known})
