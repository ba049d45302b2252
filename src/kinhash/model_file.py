"""Models and codes on disk: one verified file each, arrays and a few facts, never code.

A model file holds the map (see `kinhash.encoders`), the name of the estimator, its plain parameters, the
names of the input columns, what rows of the fit looked like, and the codes of classes, so that a relabeled
item can be coded. It holds no training row (but for the centers of similarities) and no class name, only
digests of them; a map of tags keeps the anchors' tags as 0/1 rows.

The map is whole numbers (`kinhash.models.WholeMap`). Files of older versions hold maps in floating point,
which are rounded when they are loaded; they keep their id, so that an index of their codes goes on.
"""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from ._forms import Form, check_forms
from ._json import plain
from ._table import Table
from .codes_file import SENSELESS, read_share, require_facts
from .container import Arrays, read_container, write_container
from .errors import DamagedFile, InvalidInput
from .fields import Fields

if TYPE_CHECKING:
    from .encoders import Map

__all__ = ["HASHERS", "arrays_id", "load_model", "model_id", "part_tables", "read_model", "save_model"]

HASHERS = Table(
    "hasher",
    {
        "EMBRE": "kinhash.hashers.paper:EMBRE",
        "EMExpH": "kinhash.hashers.paper:EMExpH",
        "EMKSH": "kinhash.hashers.paper:EMKSH",
        "EMLFH": "kinhash.hashers.paper:EMLFH",
        "EMSPLH": "kinhash.hashers.paper:EMSPLH",
        "EnergyHasher": "kinhash.hashers.energy:EnergyHasher",
    },
    entry_points="kinhash.hashers",
    also="kinhash.baselines:BASELINES",
    more_in="kinhash-bench",
)

ID = re.compile("[0-9a-f]{32}")
BETWEEN = {"kinship": Form("f8", "kk", -1, 1)}
LABELS, SEEN, KINSHIP = "labels.", "seen.", "kinship"  # what the arrays are called that are not the map's
MODEL_FACTS = {
    "hasher": str,
    "parameters": dict,
    "map": str,
    "n_bits": int,
    "n_features": int,
    "feature_names": list,
    "model_id": str,
    "fields": dict,
}


def part_tables() -> dict[str, Any]:
    """Where the objects that settings may be are found; loaded late, since codes need no scikit-learn."""
    from .encoders import ENCODERS
    from .encoders.features import FEATURES
    from .solvers import SOLVERS

    return {"solver": SOLVERS, "first": SOLVERS, "encoder": ENCODERS, "features": FEATURES}


def model_id(map_: Map) -> str | None:
    """Digest of a map's arrays, 32 hex digits; None where the map cannot be stored."""
    try:
        arrays = map_.arrays()
    except InvalidInput:
        return None
    return arrays_id(map_.kind, arrays)


def arrays_id(kind: str, arrays: Arrays) -> str:
    """The same from what a file holds: the kind of a map and its arrays."""
    digest = hashlib.blake2b(kind.encode(), digest_size=16)
    for name in sorted(_of_map(arrays)):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.data if array.size else b"")
    return digest.hexdigest()


def _of_map(arrays: Arrays) -> Arrays:
    """The arrays of the map itself."""
    others = LABELS, SEEN
    return {name: each for name, each in arrays.items() if name != KINSHIP and not name.startswith(others)}


def save_model(hasher: Any, path: Any) -> None:
    """Write a fitted hasher; called by its ``save``."""
    n_bits = int(hasher.fitted_.map.n_bits)
    header: dict[str, Any] = {
        "hasher": type(hasher).__name__,
        "parameters": {**_plain_parameters(hasher), "n_bits": n_bits},  # it may have been set since the fit
        "map": hasher.fitted_.map.kind,
        "n_bits": n_bits,
        "n_features": int(hasher.n_features_in_),
        "feature_names": [str(name) for name in getattr(hasher, "feature_names_in_", [])],
        "model_id": model_id(hasher.fitted_.map),
        "fields": hasher.fitted_.fields.as_dict(),
    }
    if hasher.model_id_ != header["model_id"]:
        header["known_as"] = hasher.model_id_  # the id of the older file that the map was rounded from
    if hasher.fitted_.mapped_share is not None:
        header["mapped_share"] = hasher.fitted_.mapped_share
    if header["hasher"] not in HASHERS:
        raise InvalidInput(
            f"{header['hasher']} is in no table, so `load` would not find it",
            f"one of {', '.join(HASHERS)}",
            "Register it under the entry point group 'kinhash.hashers'",
        )
    arrays = hasher.fitted_.map.arrays()
    if hasher.fitted_.labels is not None:
        arrays |= {f"{LABELS}{name}": array for name, array in hasher.fitted_.labels.arrays().items()}
    if hasher.fitted_.seen is not None:
        arrays |= {f"{SEEN}{name}": array for name, array in hasher.fitted_.seen.arrays().items()}
    kinship = getattr(hasher, "kinship", None)
    if kinship is not None and not isinstance(kinship, str):
        arrays[KINSHIP] = np.asarray(kinship, np.float64)
    write_container(path, arrays, header, "model")


def read_model(path: Any) -> tuple[Arrays, dict[str, Any]]:
    """Arrays and header of a model file; the header has all its fields, of the right types and in range."""
    arrays, header = read_container(path, kind="model")
    try:
        mapped_share, known_as = read_share(header.pop("mapped_share", None)), header.pop("known_as", None)
        _require_header(header)
        if known_as is not None and not (isinstance(known_as, str) and ID.fullmatch(known_as)):
            raise ValueError("an id that is none")
        header |= {"mapped_share": mapped_share, "known_as": known_as or header["model_id"]}
    except SENSELESS as error:
        raise _unusable_model(path, error) from error
    return arrays, header


def load_model(path: Any) -> Any:
    """Read a model that ``save`` wrote: a fitted estimator that encodes exactly as it did."""
    from .encoders import Fitted, map_from_arrays
    from .encoders.base import select
    from .encoders.label_codes import LabelCodes
    from .models import Seen

    arrays, header = read_model(path)
    own, known, seen = _of_map(arrays), select(arrays, LABELS), select(arrays, SEEN)
    try:
        if header["model_id"] != arrays_id(header["map"], own):
            raise ValueError("another model's id")
        hasher = _unfitted(HASHERS[header["hasher"]], header["parameters"])
        hasher.check_parameters()
        map_ = map_from_arrays(header["map"], own)
        between = _between(map_, arrays, hasher)
        map_ = _rounded(map_)
        _require_fit(map_, header)
        fields = Fields.from_dict(header["fields"])
        fields.check(header["n_bits"])
        labels = LabelCodes.from_arrays(known, map_, fields.kin(map_.n_bits)) if known else None
        looked = Seen.from_arrays(seen, map_.n_features) if seen else None
        if between is not None:
            hasher.kinship = _kinship(between)
    except SENSELESS as error:
        raise _unusable_model(path, error) from error
    share = header["mapped_share"]
    hasher.adopt(Fitted(map_, fields=fields, labels=labels, seen=looked, mapped_share=share))
    hasher.model_id_ = header["known_as"]
    hasher.n_features_in_ = header["n_features"]
    if header["feature_names"]:
        hasher.feature_names_in_ = np.array(header["feature_names"], object)
    return hasher


def _rounded(map_: Map) -> Map:
    """A map of ours in whole numbers; refused where an older file's cannot be rounded.

    Maps of other packages stay as they are.
    """
    from .models import Builder, Inexact

    if type(map_).__module__.startswith("kinhash.encoders."):
        for part in getattr(map_, "parts", (map_,)):
            preparation = part.preparation  # type: ignore[union-attr]
            if preparation.rbf is None and len(preparation.scale) > 1 and (preparation.scale == 1).all():
                raise Inexact("columns as they came, of a spread that the file does not know: fit again")
        builder = Builder(map_.n_features)
        return builder.build(*map_.steps(builder))
    return map_


def _between(map_: Map, arrays: Arrays, hasher: Any) -> Any:
    """Similarities between classes, if there are any; older files have them in the map."""
    if KINSHIP not in arrays:
        return getattr(getattr(map_, "expected", None), "between", None)
    if map_.kind != "whole" or "kinship" not in hasher.get_params(deep=False):
        raise ValueError("similarities of classes that nothing asks for")
    check_forms({KINSHIP: arrays[KINSHIP]}, BETWEEN)
    return arrays[KINSHIP]


def _kinship(between: Any) -> list[list[float]]:
    from .supervision import check_kinship

    kinship: list[list[float]] = np.asarray(between).tolist()
    check_kinship(kinship)
    return kinship


def _require_header(header: dict[str, Any]) -> None:
    require_facts(header, MODEL_FACTS)
    names = header["feature_names"]
    if any(not isinstance(name, str) for name in names) or len(names) not in (0, header["n_features"]):
        raise ValueError("column names that are no text, or of another number")
    if header["parameters"].get("n_bits") != header["n_bits"]:
        raise ValueError("a parameter n_bits that is not the number of bits")


def _require_fit(map_: Map, header: dict[str, Any]) -> None:
    """The digest says that nobody changed the file by accident; this, that map and header fit together.

    One row is tried: what a stranger wrote fails here and not in the middle of somebody's work.
    """
    width, n_bits = header["n_features"], header["n_bits"]
    if (map_.n_features, map_.n_bits) != (width, n_bits):
        raise ValueError(f"{width} columns and {n_bits} bits, and a map of others")
    with np.errstate(all="ignore"):
        scores = np.asarray(map_.scores(np.zeros((1, width))))
    if scores.shape != (1, n_bits) or scores.dtype.kind != "f":
        raise ValueError(f"{n_bits} bits, and scores of shape {scores.shape}")


def _unusable_model(path: Any, error: BaseException) -> DamagedFile:
    return DamagedFile(
        f"{path} is a model file with contents this version cannot use ({str(error)[:300]})",
        "a file written by `save`",
        "Save the model again with this version",
    )


def _plain_parameters(thing: Any) -> dict[str, Any]:
    """Constructor parameters that JSON can hold; other objects fall back to their defaults on load.

    A solver or an encoder is written as its name and settings.
    """
    kept, tables = {}, part_tables()
    for name, value in thing.get_params(deep=False).items():
        if name == "kinship" and not isinstance(value, str):
            continue  # the map holds what it says between classes
        if name in tables and hasattr(value, "get_params"):
            row = next((row for row in tables[name] if type(value) is tables[name][row]), None)
            if row is None:
                continue
            value = {"name": row, "settings": _plain_parameters(value)}
        if name == "energy" and not isinstance(value, str):
            value = _plain_energy(value)
        with suppress(TypeError):
            kept[name] = plain(value, _refuse)
    return kept


def _plain_energy(energy: Any) -> dict[str, Any]:
    """The row of an energy in our table and its settings; of others the name alone."""
    from .energies import ENERGIES
    from .energies.absent import Absent

    if isinstance(energy, Absent):
        return {"absent": energy.name}
    row = next((row for row in ENERGIES if type(energy) is ENERGIES[row]), None)
    settings = plain(vars(energy), _refuse) if row is not None else None
    return {"absent": type(energy).__name__} if row is None else {"name": row, "settings": settings}


def _energy(stored: dict[str, Any]) -> Any:
    from .energies import ENERGIES
    from .energies.absent import Absent

    if "absent" in stored:
        return Absent(str(stored["absent"])[:100])
    return ENERGIES[stored["name"]](**stored["settings"])


def _unfitted(kind: Any, parameters: dict[str, Any]) -> Any:
    """A hasher, solver or encoder with those parameters; names that this version does not have are left out.

    A model is its map: the parameters say how it came about, and files of older versions have others.
    """
    known = kind().get_params(deep=False)
    given, tables = {}, part_tables()
    for name, value in _of_this_version(kind.__name__, parameters).items():
        if name not in known:
            continue
        if name in tables and isinstance(value, dict):
            value = _unfitted(tables[name][value["name"]], value["settings"])
        if name == "energy" and isinstance(value, dict):
            value = _energy(value)
        given[name] = value
    return kind(**given)


def _of_this_version(kind: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters of a model file; those of files written before ``trust`` was one, in today's words.

    Learned codes followed from labels alone then, and tags were similar if they shared one.
    """
    if kind == "EnergyHasher" and "trust" not in parameters:
        parameters = {**parameters, "trust": 1.0, "kinship": "any"}
    retired = {
        "label_model": ("auto", "ridge"),
        "n_centers": (None,),
        "alike": ("auto",),
        "kin_weight": ("auto",),
    }
    return {name: value for name, value in parameters.items() if value not in retired.get(name, ())}


def _refuse(value: Any) -> None:
    raise TypeError(f"{value!r} is no value of JSON")
