"""Models and codes on disk: one verified file each, arrays and a few facts, never code.

A model file holds the map (see `kinhash.encoders`), the name of the estimator, its plain parameters, the
names of the input columns, what rows of the fit looked like, and the codes of classes, so that a relabeled
item can be coded. It holds no training row (but for the centers of similarities) and no class name, only
digests of them; a map of tags keeps the anchors' tags as 0/1 rows.

The map is whole numbers (`kinhash.models.WholeMap`). Every view has its own map, columns and statistics of
rows: arrays of the first one added start with "view0.". The model's id is that of the first map, whatever
views there are.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from .._internal.files import PathLike
from .._internal.json import plain
from .._internal.registry import Table
from .._internal.types import Array, Facts
from ..codes import (
    SENSELESS,
    Arrays,
    BitLayout,
    Form,
    check_forms,
    read_container,
    read_share,
    require_facts,
    write_container,
)
from ..errors import DamagedFile, InvalidInput
from .views import MOST_VIEWS, VIEW_NAME

if TYPE_CHECKING:
    from ..energies import Energy
    from ..models import Map, Seen, WholeMap
    from .base import Hasher

__all__ = ["BENCH_HASHERS", "HASHERS", "load_model", "part_tables", "read_model", "save_model"]

BENCH_HASHERS = (  # methods of kinhash-bench, so that an error can name the package without it
    "BRE", "BSH", "CCAITQ", "COSDISH", "CSQ", "DPN", "EigenITQ", "FSDH", "FSSH", "FastHash",
    "GreedyHash", "HMOH", "HadamardHashing", "HashNet", "ITML", "KSH", "LFH", "MIHash", "MLH", "MMC",
    "NSH", "OrthoHash", "PairLDA", "RandomCodewords", "RotatedPCA", "SCDH", "SDH", "SDML", "SPLH",
    "SpectralHashing", "TALR", "TSH",
)  # fmt: skip
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
    names_there=BENCH_HASHERS,
)

BETWEEN = {"kinship": Form("f8", "kk", -1, 1)}
# What the arrays are called that are not the map's.
LABELS, SEEN, KINSHIP, VIEW = "labels.", "seen.", "kinship", "view"
VIEW_FACTS = {"name": str, "n_features": int, "feature_names": list, "knows_looks": bool}
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


def part_tables() -> dict[str, Mapping[str, type]]:
    """Where the objects that settings may be are found; loaded late, since codes need no scikit-learn."""
    from ..encoders import ENCODERS, FEATURES
    from ..solvers import SOLVERS

    return {"solver": SOLVERS, "first": SOLVERS, "encoder": ENCODERS, "features": FEATURES}


def _of_map(arrays: Arrays) -> Arrays:
    """The arrays of the map itself."""
    others = LABELS, SEEN, VIEW
    return {name: each for name, each in arrays.items() if name != KINSHIP and not name.startswith(others)}


def save_model(hasher: Hasher, path: PathLike) -> None:
    """Write a fitted hasher; called by its ``save``."""
    n_bits = int(hasher.fitted_.map.n_bits)
    header: Facts = {
        "hasher": type(hasher).__name__,
        "parameters": {**_plain_parameters(hasher), "n_bits": n_bits},  # it may have been set since the fit
        "map": hasher.fitted_.map.kind,
        "n_bits": n_bits,
        "n_features": int(hasher.n_features_in_),
        "feature_names": [str(name) for name in getattr(hasher, "feature_names_in_", [])],
        "model_id": hasher.fitted_.map.id(),
        "fields": hasher.fitted_.fields.as_dict(),
    }
    if hasher.fitted_.mapped_share is not None:
        header["mapped_share"] = hasher.fitted_.mapped_share
    if hasher.view_ is not None:
        raise InvalidInput(
            f"View {hasher.view_!r} was to be saved alone",
            "the hasher that it was added to, whose file holds all views",
            "Save that one",
        )
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
    if hasher.views_:
        header["views"] = [_view_facts(name, view) for name, view in hasher.views_.items()]
        for place, view in enumerate(hasher.views_.values()):
            arrays |= {f"{VIEW}{place}.{name}": array for name, array in _view_arrays(view).items()}
    kinship = getattr(hasher, "kinship", None)
    if kinship is not None and not isinstance(kinship, str | Mapping):
        arrays[KINSHIP] = np.asarray(kinship, np.float64)
    write_container(path, arrays, header, "model")


def _view_facts(name: str, view: Hasher) -> Facts:
    return {
        "name": name,
        "n_features": int(view.n_features_in_),
        "feature_names": [str(column) for column in getattr(view, "feature_names_in_", [])],
        "knows_looks": view.fitted_.knows_looks,
    }


def _view_arrays(view: Hasher) -> Arrays:
    arrays: Arrays = view.fitted_.map.arrays()
    if view.fitted_.seen is not None:
        arrays |= {f"{SEEN}{name}": array for name, array in view.fitted_.seen.arrays().items()}
    return arrays


def read_model(path: PathLike) -> tuple[Arrays, Facts]:
    """Arrays and header of a model file; the header has all its fields, of the right types and in range."""
    arrays, header = read_container(path, kind="model")
    try:
        mapped_share, views = read_share(header.pop("mapped_share", None)), header.pop("views", [])
        _require_header(header)
        _require_views(views)
        header["mapped_share"], header["views"] = mapped_share, views
    except SENSELESS as error:
        raise _unusable_model(path, error) from error
    return arrays, header


def load_model(path: PathLike) -> Hasher:
    """Read a model that ``save`` wrote: a fitted estimator that encodes exactly as it did."""
    from ..encoders import Fitted, LabelCodes, select
    from ..models import Seen, WholeMap, arrays_id

    arrays, header = read_model(path)
    own, known, seen = _of_map(arrays), select(arrays, LABELS), select(arrays, SEEN)
    try:
        views = _read_views(arrays, header)
        if header["model_id"] != arrays_id(own):
            raise ValueError("another model's id")
        hasher = _unfitted(HASHERS[header["hasher"]], header["parameters"])
        hasher.check_parameters()
        map_ = WholeMap.from_arrays(own)
        _require_fit(map_, header)
        fields = BitLayout.from_dict(header["fields"])
        fields.check(header["n_bits"])
        labels = LabelCodes.from_arrays(known, map_, fields.kin(map_.n_bits)) if known else None
        looked = Seen.from_arrays(seen, map_.n_features) if seen else None
        if KINSHIP in arrays:
            hasher.kinship = _kinship(arrays[KINSHIP], hasher)
    except SENSELESS as error:
        raise _unusable_model(path, error) from error
    share = header["mapped_share"]
    hasher.adopt(Fitted(map_, fields=fields, labels=labels, seen=looked, mapped_share=share))
    hasher.model_id_ = header["model_id"]
    _remember_columns(hasher, header)
    for facts, view_map, view_seen in views:
        view = hasher._blank_view(facts["name"])
        knows = facts["knows_looks"]
        hasher._take_view(view, Fitted(view_map, fields=fields, seen=view_seen, knows_looks=knows))
        _remember_columns(view, facts)
    return hasher


def _remember_columns(hasher: Hasher, facts: Facts) -> None:
    hasher.n_features_in_ = facts["n_features"]
    if facts["feature_names"]:
        hasher.feature_names_in_ = np.array(facts["feature_names"], object)


def _read_views(arrays: Arrays, header: Facts) -> list[tuple[Facts, WholeMap, Seen | None]]:
    """Facts, map and statistics of rows of every view."""
    from ..encoders import select
    from ..models import Seen, WholeMap

    found: list[tuple[Facts, WholeMap, Seen | None]] = []
    left = {name for name in arrays if name.startswith(VIEW)}
    for place, facts in enumerate(header["views"]):
        own = select(arrays, f"{VIEW}{place}.")
        left -= {f"{VIEW}{place}.{name}" for name in own}
        map_, seen = WholeMap.from_arrays(_of_map(own)), select(own, SEEN)
        if len(own) != len(_of_map(own)) + len(seen):
            raise ValueError("a view with arrays that are unknown")
        _require_fit(map_, {**facts, "n_bits": header["n_bits"]})
        found.append((facts, map_, Seen.from_arrays(seen, map_.n_features) if seen else None))
    if left:
        raise ValueError(f"arrays of no view: {', '.join(sorted(left)[:5])}")
    return found


def _kinship(between: Array, hasher: Hasher) -> list[list[float]]:
    """Similarities between classes, as the parameter of that name."""
    from ..supervision import check_kinship

    if "kinship" not in hasher.get_params(deep=False):
        raise ValueError("similarities of classes that nothing asks for")
    check_forms({KINSHIP: between}, BETWEEN)
    kinship: list[list[float]] = between.tolist()
    check_kinship(kinship)
    return kinship


def _require_views(views: object) -> None:
    """A list of what `_view_facts` says of every view."""
    if not isinstance(views, list) or len(views) > MOST_VIEWS:
        raise ValueError("views that are no list, or too many")
    for facts in views:
        if not isinstance(facts, dict) or facts.keys() != VIEW_FACTS.keys():
            raise ValueError("facts of a view that are missing or unknown")
        if any(type(facts[name]) is not kind for name, kind in VIEW_FACTS.items()):
            raise ValueError("facts of a view of another type")
        if not VIEW_NAME.fullmatch(facts["name"]):
            raise ValueError("a view without a proper name")
        _require_names(facts)
    if len({facts["name"] for facts in views}) != len(views):
        raise ValueError("views that have one name")


def _require_names(facts: Facts) -> None:
    names = facts["feature_names"]
    if any(not isinstance(name, str) for name in names) or len(names) not in (0, facts["n_features"]):
        raise ValueError("column names that are no text, or of another number")


def _require_header(header: Facts) -> None:
    require_facts(header, MODEL_FACTS)
    _require_names(header)
    if header["map"] != "whole":
        raise ValueError("a map in floating point, of a version before the first release: fit again")
    if header["parameters"].get("n_bits") != header["n_bits"]:
        raise ValueError("a parameter n_bits that is not the number of bits")


def _require_fit(map_: Map, header: Facts) -> None:
    """Check that map and header fit together; the digest only shows that the file is undamaged.

    One row is encoded, so that a forged file fails when it is loaded and not later.
    """
    width, n_bits = header["n_features"], header["n_bits"]
    if (map_.n_features, map_.n_bits) != (width, n_bits):
        raise ValueError(f"{width} columns and {n_bits} bits, and a map of others")
    with np.errstate(all="ignore"):
        scores = np.asarray(map_.scores(np.zeros((1, width))))
    if scores.shape != (1, n_bits) or scores.dtype.kind != "f":
        raise ValueError(f"{n_bits} bits, and scores of shape {scores.shape}")


def _unusable_model(path: PathLike, error: BaseException) -> DamagedFile:
    return DamagedFile(
        f"{path} is a model file with contents this version cannot use ({str(error)[:300]})",
        "a file written by `save`",
        "Save the model again with this version",
    )


def _plain_parameters(thing: Any) -> Facts:
    """Constructor parameters that JSON can hold; other objects fall back to their defaults on load.

    A solver or an encoder is written as its name and settings.
    """
    kept, tables = {}, part_tables()
    for name, value in thing.get_params(deep=False).items():
        if name == "kinship" and isinstance(value, Mapping):
            value = "tree"  # the file names no label
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


def _plain_energy(energy: Energy) -> Facts:
    """The row of an energy in our table and its settings; of others the name alone."""
    from ..energies import ENERGIES, Absent

    if isinstance(energy, Absent):
        return {"absent": energy.name}
    row = next((row for row in ENERGIES if type(energy) is ENERGIES[row]), None)
    settings = plain(vars(energy), _refuse) if row is not None else None
    return {"absent": type(energy).__name__} if row is None else {"name": row, "settings": settings}


def _energy(stored: Facts) -> Energy:
    from ..energies import ENERGIES, Absent

    if "absent" in stored:
        return Absent(str(stored["absent"])[:100])
    return ENERGIES[stored["name"]](**stored["settings"])


def _unfitted(kind: Any, parameters: Facts) -> Any:
    """A hasher, solver or encoder with those parameters; names that this version does not have are left out.

    A model is its map: the parameters say how it came about.
    """
    known = kind().get_params(deep=False)
    given, tables = {}, part_tables()
    for name, value in parameters.items():
        if name not in known:
            continue
        if name in tables and isinstance(value, dict):
            value = _unfitted(tables[name][value["name"]], value["settings"])
        if name == "energy" and isinstance(value, dict):
            value = _energy(value)
        given[name] = value
    return kind(**given)


def _refuse(value: object) -> None:
    raise TypeError(f"{value!r} is no value of JSON")
