"""Readouts in a model file: their fields as arrays, called ``readout.<kind>.<field>``.

Numbers become arrays of one element, words their letters, and one of our own energies its name and settings.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._forms import NUMBER, POSITIVE, TEXT, Form, Forms, text_of
from ..energies import ENERGIES, Energy
from ..solvers.linear_systems import RENORMALIZE
from ..solvers.readout import LinearReadout, PolishReadout, Readout, SolveReadout, VaryingReadout
from ..solvers.sigmoid_line import MAX_CLIP
from ..solvers.targets import TARGETS, Targets
from .base import Arrays, select

__all__ = ["can_be_stored", "readout_arrays", "readout_forms", "readout_from_arrays", "readout_kind"]

KINDS: dict[str, type[Readout]] = {
    "linear": LinearReadout,
    "polish": PolishReadout,
    "solve": SolveReadout,
    "varying": VaryingReadout,
}
PULL = {"matrix": Form("f8", "md"), "constant": Form("f8", "d")}
CLIP = Form("f8", "1", POSITIVE, MAX_CLIP)
SWEEPS = Form("i8", "1", 1, 32)  # fits write 3 and 10; sweeps that never settle must end
FORMS: dict[str, Forms] = {
    "linear": {**PULL, "scale": NUMBER},
    "polish": {**PULL, "gram": Form("f8", "dd"), "bend": NUMBER, "scale": NUMBER, "n_sweeps": SWEEPS},
    "solve": {**PULL, "coupling": Form("f8", "dd"), "clip": CLIP, "how": TEXT},
    "varying": {
        "law": TEXT,
        "law_settings": TEXT,
        "law_values": Form("f8", "*"),
        "targets_kind": TEXT,
        "targets_weights": Form("f8", "m"),
        "targets_offsets": Form("f8", "m"),
        "targets_grand_mean": NUMBER,
        "means": Form("f8", "md"),
        "weights": Form("f8", "m"),
        "clip": CLIP,
        "how": TEXT,
        "curvature": NUMBER,
        "n_sweeps": SWEEPS,
    },
}


def can_be_stored(readout: Readout) -> bool:
    """Whether the readout is one of ours, with an energy of ours."""
    if isinstance(readout, VaryingReadout):
        return law_name(readout.law) is not None
    return type(readout) in KINDS.values()


def readout_arrays(readout: Readout) -> Arrays:
    """What a model file stores."""
    fields = {name: value for name, value in vars(readout).items() if not name.startswith("_")}
    if isinstance(readout, VaryingReadout):
        law, targets = fields.pop("law"), fields.pop("targets")
        given = {name: float(value) for name, value in vars(law).items() if value is not None}
        fields |= {"law": law_name(law), "law_settings": " ".join(given), "law_values": list(given.values())}
        fields |= {f"targets_{name}": value for name, value in vars(targets).items()}
    kind = next(kind for kind, own in KINDS.items() if type(readout) is own)
    stored: Arrays = {}
    for name, form in FORMS[kind].items():
        value = fields[name]
        if isinstance(value, str):
            value = np.frombuffer(value.encode("ascii"), np.uint8)
        # A setting may have come as an integer: clip=2 and clip=2.0 are one model.
        stored[f"readout.{kind}.{name}"] = np.atleast_1d(np.asarray(value, form.dtype))
    return stored


def readout_kind(arrays: Arrays) -> str:
    """Which readout these arrays of a map hold."""
    kinds = {name.split(".")[1] for name in arrays if name.startswith("readout.")}
    if len(kinds) != 1 or not kinds <= KINDS.keys():
        raise ValueError("no readout, an unknown one, or several")
    return kinds.pop()


def readout_forms(kind: str) -> Forms:
    """What `readout_from_arrays` takes: ``m`` anchors, ``d`` bits."""
    return {f"readout.{kind}.{name}": form for name, form in FORMS[kind].items()}


def readout_from_arrays(kind: str, arrays: Arrays) -> Readout:
    """Undo `readout_arrays`; the arrays were checked against `readout_forms`."""
    own = select(arrays, f"readout.{kind}.")
    fields: dict[str, Any] = {
        name: own[name][0].item() if form.shape == "1" else own[name] for name, form in FORMS[kind].items()
    }
    if "how" in fields:
        fields["how"] = text_of(own["how"], RENORMALIZE)
    if kind != "varying":
        return KINDS[kind](**fields)
    targets = Targets(
        text_of(own["targets_kind"], TARGETS),
        own["targets_weights"],
        own["targets_offsets"],
        fields["targets_grand_mean"],
    )
    rest = ("means", "weights", "clip", "how", "curvature", "n_sweeps")
    return VaryingReadout(_law(own), targets, **{name: fields[name] for name in rest})


def law_name(law: Energy) -> str | None:
    """The name of one of our own energies; None for a stranger's, which a file cannot hold."""
    for name in ENERGIES:
        if type(law) is ENERGIES[name] and type(law).__module__.startswith("kinhash.energies."):
            return name
    return None


def _law(own: Arrays) -> Energy:
    names = own["law_settings"].tobytes().decode("ascii").split()
    settings = dict(zip(names, own["law_values"].tolist(), strict=True))
    law: Energy = ENERGIES[text_of(own["law"], ENERGIES)](**settings)
    if law_name(law) is None:
        raise ValueError("an energy of another package")
    return law
