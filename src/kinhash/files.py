"""`load` opens any kinhash file; models on disk: arrays and a few facts in one verified file, never code.

A model file holds the map, the name of the hasher and its plain parameters, the names of the input columns, what
rows of the fit looked like, and the scores of labels, so that a relabeled item can be coded. Where something was
decided about what is the same, the file holds the decision and its evidence. It holds no training
row and no label's name, only digests of them. Every view has its own map, columns and statistics of rows: arrays
of the first one added start with "view0.". The id of a model is that of its first map, whatever views there are.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ._internal.container import (
    SENSELESS,
    Arrays,
    container_kind,
    read_container,
    require_facts,
    write_container,
)
from ._internal.files import PathLike
from ._internal.registry import Table
from ._internal.texts import plain
from ._internal.types import Facts
from .codes import load_codes, save_codes
from .decision import Decision
from .errors import DamagedFile, FileProblem, InvalidInput, UnknownName

if TYPE_CHECKING:
    from .base import Hasher
    from .models import Model

__all__ = [
    "HASHERS",
    "load",
    "load_codes",
    "load_model",
    "read_model",
    "save_codes",
    "save_model",
    "with_settings",
]

BENCH_HASHERS = (  # methods of kinhash-bench, so that an error can name the package without it
    "BRE", "BSH", "CCAITQ", "COSDISH", "CRH", "CSQ", "CroVCA", "DPN", "EigenITQ", "FSDH", "FSSH",
    "FastHash", "GreedyHash", "HMOH", "HadamardHashing", "HashNet", "ITML", "KSH", "LFH", "MIHash", "MLH", "MMC",
    "NSH", "OrthoHash", "PairLDA", "RandomCodewords", "RotatedPCA", "SCDH", "SDH", "SDML", "SPLH",
    "SpectralHashing", "TALR", "TSH",
)  # fmt: skip
HASHERS = Table(
    "hasher",
    {
        "EMBRE": "kinhash.paper.em:EMBRE",
        "EMExpH": "kinhash.paper.em:EMExpH",
        "EMKSH": "kinhash.paper.em:EMKSH",
        "EMLFH": "kinhash.paper.em:EMLFH",
        "EMSPLH": "kinhash.paper.em:EMSPLH",
        "EnergyHasher": "kinhash.hasher:EnergyHasher",
        "ITQ": "kinhash.paper.unsupervised:ITQ",
        "LSH": "kinhash.paper.unsupervised:LSH",
        "SignBits": "kinhash.paper.unsupervised:SignBits",
    },
    entry_points="kinhash.hashers",
    more_in="kinhash-bench",
    names_there=BENCH_HASHERS,
)

LABELS, SEEN, VIEW = "labels.", "seen.", "view"  # what the arrays are called that are not the map's
MOST_VIEWS = 20
FACTS = {"n_features": int, "feature_names": list}
MODEL_FACTS = {**FACTS, "hasher": str, "parameters": dict, "n_bits": int, "model_id": str, "views": list}

E = TypeVar("E")


def load(path: str | bytes | os.PathLike[str]) -> Any:
    """Open any file that kinhash wrote: a fitted hasher, a `Codes` value, or a `HammingIndex`.

    The type of the result depends on the file. A model encodes exactly as it did when it was saved.

    Parameters
    ----------
    path : path-like
    """
    path = os.fsdecode(path)
    kind = container_kind(path)
    if kind == "model":
        return load_model(path)
    if kind == "codes":
        return load_codes(path)
    if kind == "index":
        from .index import HammingIndex

        return HammingIndex.load(path)
    raise FileProblem(
        f"{path} is a kinhash file of kind {kind[:40]!r}",
        "a model, codes or an index",
        "Open it with the version that wrote it",
    )


def save_model(hasher: Hasher, path: PathLike | bytes) -> None:
    """Write a fitted hasher; called by its ``save``."""
    name = type(hasher).__name__
    if hasher.view_ is not None:
        raise InvalidInput(
            f"View {hasher.view_!r} was to be saved alone",
            "the hasher that it was added to, whose file holds all views",
            "Save that one",
        )
    if name not in HASHERS:
        raise InvalidInput(
            f"{name} is in no table, so `load` would not find it",
            f"one of {', '.join(HASHERS)}",
            "Register it under the entry point group 'kinhash.hashers'",
        )
    n_bits = int(hasher.model_.map.n_bits)
    header: Facts = {
        **_facts(hasher),
        "hasher": name,
        "parameters": {**_plain_parameters(hasher), "n_bits": n_bits},  # it may have been set since the fit
        "n_bits": n_bits,
        "model_id": hasher.model_.map.id(),
        "views": [{"name": view, **_facts(own)} for view, own in hasher.views_.items()],
    }
    arrays = _arrays(hasher.model_)
    if hasher.model_.table is not None:
        arrays |= {f"{LABELS}{name}": array for name, array in hasher.model_.table.arrays().items()}
    for place, view in enumerate(hasher.views_.values()):
        arrays |= {f"{VIEW}{place}.{name}": array for name, array in _arrays(view.model_).items()}
    write_container(os.fsdecode(path), arrays, header, "model")


def _facts(hasher: Hasher) -> Facts:
    names = [str(name) for name in getattr(hasher, "feature_names_in_", [])]
    facts: Facts = {"n_features": int(hasher.n_features_in_), "feature_names": names}
    return facts if hasher.decision_ is None else facts | {"decision": hasher.decision_.as_dict()}


def _arrays(model: Model) -> Arrays:
    arrays: Arrays = dict(model.map.arrays())
    if model.seen is not None:
        arrays |= {f"{SEEN}{name}": array for name, array in model.seen.arrays().items()}
    return arrays


def read_model(path: PathLike) -> tuple[Arrays, Facts]:
    """Arrays and header of a model file; the header has all its fields, of the right types and in range."""
    arrays, header = read_container(path, kind="model")
    try:
        require_facts(header, MODEL_FACTS | ({"decision": dict} if "decision" in header else {}))
        _require_names(header)
        if header["parameters"].get("n_bits") != header["n_bits"]:
            raise ValueError("a parameter n_bits that is not the number of bits")
        if len(header["views"]) > MOST_VIEWS:
            raise ValueError("too many views")
        for facts in header["views"]:
            if not isinstance(facts, dict) or facts.keys() - {"decision"} != {"name", *FACTS}:
                raise ValueError("facts of a view that are missing or unknown")
            if type(facts["n_features"]) is not int or type(facts["feature_names"]) is not list:
                raise ValueError("facts of a view of another type")
            _require_names(facts)
    except SENSELESS as error:
        raise _unusable(path, error) from error
    return arrays, header


def load_model(path: PathLike) -> Hasher:
    """Read a model that ``save`` wrote: a fitted hasher that encodes exactly as it did."""
    from .models import Model, Seen, WholeMap, arrays_id

    arrays, header = read_model(path)
    try:
        known, own = _split(arrays, LABELS)
        views = []
        for place in range(len(header["views"])):
            view, own = _split(own, f"{VIEW}{place}.")
            views.append(view)
        parts = []
        for some, facts in [(own, header), *zip(views, header["views"], strict=True)]:
            seen, of_map = _split(some, SEEN)
            map_ = WholeMap.from_arrays(of_map)
            _require_fit(map_, facts["n_features"], header["n_bits"])
            looked = Seen.from_arrays(seen, map_.n_features) if seen else None
            parts.append((of_map, map_, looked))
        if header["model_id"] != arrays_id(parts[0][0]):
            raise ValueError("another model's id")
        hasher = _unfitted(HASHERS[header["hasher"]], header["parameters"])
        hasher.check_parameters()
        table = None
        if known:
            from .learn.table import LabelTable

            table = LabelTable.from_arrays(known, header["n_bits"])
        _, map_, looked = parts[0]
        hasher._adopt(Model(map_, looked, table))
        _remember(hasher, header)
        for facts, (_, map_, looked) in zip(header["views"], parts[1:], strict=True):
            view = hasher._blank_view(facts["name"])
            if facts["name"] in hasher.views_:
                raise ValueError("views that have one name")
            view._adopt(Model(map_, looked, table))
            view.model_id_ = header["model_id"]
            _remember(view, facts)
            hasher.views_[facts["name"]] = view
    except SENSELESS as error:
        raise _unusable(path, error) from error
    return hasher


def _split(arrays: Arrays, prefix: str) -> tuple[Arrays, Arrays]:
    """The arrays whose names start with ``prefix``, without it, and all others."""
    own = {name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)}
    return own, {name: array for name, array in arrays.items() if not name.startswith(prefix)}


def _remember(hasher: Any, facts: Facts) -> None:
    hasher.n_features_in_ = facts["n_features"]
    if "decision" in facts:
        hasher.decision_ = Decision.from_dict(facts["decision"], hasher.model_.map.n_bits)
    if facts["feature_names"]:
        hasher.feature_names_in_ = np.array(facts["feature_names"], object)


def _require_names(facts: Facts) -> None:
    names = facts["feature_names"]
    if any(not isinstance(name, str) for name in names) or len(names) not in (0, facts["n_features"]):
        raise ValueError("column names that are not text, or of another number")


def _require_fit(map_: Any, width: int, n_bits: int) -> None:
    """Check that map and header fit together; one row is encoded, so that a forged file fails when it is loaded."""
    if (map_.n_features, map_.n_bits) != (width, n_bits):
        raise ValueError(f"{width} columns and {n_bits} bits, and a map of others")
    with np.errstate(all="ignore"):
        scores = np.asarray(map_.scores(np.zeros((1, width))))
    if scores.shape != (1, n_bits) or scores.dtype.kind != "f":
        raise ValueError(f"{n_bits} bits, and scores of shape {scores.shape}")


def _unusable(path: PathLike, error: BaseException) -> DamagedFile:
    return DamagedFile(
        f"{path} is a model file with contents this version cannot use ({str(error)[:300]})",
        "a file written by `save`",
        "Save the model again with this version",
    )


def _plain_parameters(hasher: Any) -> Facts:
    """Constructor parameters that JSON can hold; others fall back to their defaults on load."""
    kept = {}
    for name, value in hasher.get_params(deep=False).items():
        if name == "kinship" and isinstance(value, Mapping):
            value = "tree"  # the file names no label
        with suppress(TypeError):
            kept[name] = plain(value, _refuse)
    return kept


def _unfitted(kind: Any, parameters: Facts) -> Any:
    """A hasher with those parameters. A model is its map: the parameters say how it came about."""
    known = kind().get_params(deep=False)
    return kind(**{name: value for name, value in parameters.items() if name in known})


def _refuse(value: object) -> None:
    raise TypeError(f"{value!r} is no value of JSON")


def with_settings(estimator: E, settings: Mapping[str, object]) -> E:
    """An unfitted estimator like this one, with those settings; names that it does not have are refused."""
    known: dict[str, object] = estimator.get_params(deep=False)  # type: ignore[attr-defined]
    for name in settings:
        if name not in known:
            raise UnknownName.among(f"parameter of {type(estimator).__name__}", name, known)
    return type(estimator)(**{**known, **settings})
