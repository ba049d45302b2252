"""Readouts in older model files: their fields as arrays, called ``readout.<kind>.<field>``.

Numbers are arrays of one element, words their letters.
"""

from __future__ import annotations

from typing import Any

from .._forms import NUMBER, POSITIVE, TEXT, Form, Forms, text_of
from ..models import Arrays
from ..solvers.linear_systems import RENORMALIZE
from ..solvers.readout import LinearReadout, PolishReadout, Readout, SolveReadout
from ..solvers.sigmoid_line import MAX_CLIP
from .base import select

__all__ = ["readout_forms", "readout_from_arrays", "readout_kind"]

KINDS: dict[str, type[Readout]] = {
    "linear": LinearReadout,
    "polish": PolishReadout,
    "solve": SolveReadout,
}
PULL = {"matrix": Form("f8", "md"), "constant": Form("f8", "d")}
CLIP = Form("f8", "1", POSITIVE, MAX_CLIP)
SWEEPS = Form("i8", "1", 1, 32)  # fits write 3 and 10; sweeps that never settle must end
FORMS: dict[str, Forms] = {
    "linear": {**PULL, "scale": NUMBER},
    "polish": {**PULL, "gram": Form("f8", "dd"), "bend": NUMBER, "scale": NUMBER, "n_sweeps": SWEEPS},
    "solve": {**PULL, "coupling": Form("f8", "dd"), "clip": CLIP, "how": TEXT},
}


def readout_kind(arrays: Arrays) -> str:
    """Which readout these arrays of a map hold."""
    kinds = {name.split(".")[1] for name in arrays if name.startswith("readout.")}
    if kinds == {"varying"}:
        raise ValueError("an energy that solves a system for every row: fit again with encoder='ridge'")
    if len(kinds) != 1 or not kinds <= KINDS.keys():
        raise ValueError("no readout, an unknown one, or several")
    return kinds.pop()


def readout_forms(kind: str) -> Forms:
    """What `readout_from_arrays` takes: ``m`` anchors, ``d`` bits."""
    return {f"readout.{kind}.{name}": form for name, form in FORMS[kind].items()}


def readout_from_arrays(kind: str, arrays: Arrays) -> Readout:
    """The readout of these arrays, which were checked against `readout_forms`."""
    own = select(arrays, f"readout.{kind}.")
    fields: dict[str, Any] = {
        name: own[name][0].item() if form.shape == "1" else own[name] for name, form in FORMS[kind].items()
    }
    if "how" in fields:
        fields["how"] = text_of(own["how"], RENORMALIZE)
    return KINDS[kind](**fields)
