"""Models and codes on disk: one verified file each, arrays and a few facts, never code.

A model file holds the map (see `kinhash.maps`), the name of the estimator, its plain parameters and the
names of the input columns. It holds no training row (but for the centres of an RBF map) and no
class name; the expected-supervision map keeps the anchors' label patterns as 0/1 rows.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import Any

import numpy as np

from ._json import plain
from ._table import Table
from .codes import Codes
from .container import read_container, write_container
from .errors import DamagedFile, InvalidInput
from .maps import Map, map_from_arrays

__all__ = ["HASHERS", "load", "load_codes", "model_id", "save_codes", "save_model"]

HASHERS = Table(
    "hasher",
    {
        "EMBRE": "kinhash.paper_methods:EMBRE",
        "EMExpH": "kinhash.paper_methods:EMExpH",
        "EMKSH": "kinhash.paper_methods:EMKSH",
        "EMLFH": "kinhash.paper_methods:EMLFH",
        "EMSPLH": "kinhash.paper_methods:EMSPLH",
        "EnergyHasher": "kinhash.energy_hasher:EnergyHasher",
    },
    entry_points="kinhash.hashers",
    also="kinhash.baselines:BASELINES",
)


def model_id(map_: Map) -> str | None:
    """Digest of a map's arrays, 32 hex digits; None where the map cannot be stored."""
    try:
        arrays = map_.arrays()
    except InvalidInput:
        return None
    digest = hashlib.blake2b(map_.kind.encode(), digest_size=16)
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.data if array.size else b"")
    return digest.hexdigest()


def save_model(hasher: Any, path: Any) -> None:
    """Write a fitted hasher; called by its ``save``."""
    header = {
        "hasher": type(hasher).__name__,
        "parameters": _plain_parameters(hasher),
        "map": hasher._map.kind,
        "n_bits": int(hasher._n_features_out),
        "n_features": int(hasher.n_features_in_),
        "feature_names": [str(name) for name in getattr(hasher, "feature_names_in_", [])],
        "model_id": hasher.model_id_,
    }
    if header["hasher"] not in HASHERS:
        raise InvalidInput(
            f"{header['hasher']} is in no table, so `load` would not find it",
            f"one of {', '.join(HASHERS)}",
            "Register it under the entry point group 'kinhash.hashers'",
        )
    write_container(path, hasher._map.arrays(), header, "model")


def load(path: Any) -> Any:
    """Read a model that ``save`` wrote: a fitted estimator that encodes exactly as it did."""
    arrays, header = read_container(path, kind="model")
    try:
        hasher = HASHERS[header["hasher"]](**header["parameters"])
        hasher._check_parameters()
        map_ = map_from_arrays(header["map"], arrays)
        names, width, n_bits = header["feature_names"], header["n_features"], header["n_bits"]
        stored = header["model_id"]
        _require_sound(map_, arrays, header)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as error:
        raise DamagedFile(
            f"{path} is a model file with contents this version cannot use ({error})",
            "a file written by `save`",
            "Save the model again with this version",
        ) from error
    hasher._map, hasher._n_features_out, hasher.model_id_ = map_, n_bits, stored
    hasher.n_features_in_ = width
    if names:
        hasher.feature_names_in_ = np.array(names, object)
    return hasher


def _require_sound(map_: Map, arrays: dict[str, Any], header: dict[str, Any]) -> None:
    """The digest says that nobody changed the file by accident; this, that its parts fit together.

    One row is tried: what a stranger wrote fails here and not in the middle of somebody's work.
    """
    width, n_bits, names = header["n_features"], header["n_bits"], header["feature_names"]
    widest = max((array.size for array in arrays.values()), default=0)
    if type(width) is not int or not 1 <= width <= widest or type(n_bits) is not int:
        raise ValueError(f"{width} features and {n_bits} bits")
    if not isinstance(names, list) or len(names) not in (0, width):
        raise ValueError("column names of another number")
    if any(not isinstance(name, str) for name in names) or header["model_id"] != model_id(map_):
        raise ValueError("names that are no text, or another model's id")
    if any(array.dtype.kind == "f" and not np.isfinite(array).all() for array in arrays.values()):
        raise ValueError("numbers that are not finite")
    scores = np.asarray(map_.scores(np.zeros((1, width))))
    if scores.shape != (1, n_bits) or scores.dtype.kind != "f" or map_.n_bits != n_bits:
        raise ValueError(f"{n_bits} bits, and scores of shape {scores.shape}")


def save_codes(codes: Codes, path: Any) -> None:
    """Write codes with their number of bits, ids and model id."""
    arrays = {"packed": codes.packed}
    if codes.ids is not None:
        ids = np.asarray(codes.ids)
        if ids.dtype.kind in "iu":
            arrays["ids"] = ids.astype(np.int64)
        else:
            text = [str(value).encode() for value in ids]
            arrays["id_text"] = np.frombuffer(b"".join(text), np.uint8)
            arrays["id_ends"] = np.cumsum([len(value) for value in text], dtype=np.int64)
    write_container(path, arrays, {"n_bits": codes.n_bits, "model_id": codes.model_id}, "codes")


def load_codes(path: Any, mmap: bool = False) -> Codes:
    """Read codes that `save_codes` or the command line wrote."""
    arrays, header = read_container(path, kind="codes", mmap=mmap)
    try:
        ids = arrays.get("ids")
        if "id_text" in arrays:
            text, ends = arrays["id_text"].tobytes(), arrays["id_ends"].tolist()
            starts = [0, *ends[:-1]] if ends else []
            names = [text[a:b].decode() for a, b in zip(starts, ends, strict=True)]
            ids = np.array(names, np.dtypes.StringDType())  # fixed-width text would drop a NUL at its end
        return Codes(arrays["packed"], header["n_bits"], ids=ids, model_id=header["model_id"])
    except (KeyError, TypeError, ValueError) as error:
        raise DamagedFile(
            f"{path} is a codes file with contents this version cannot use ({error})",
            "a file written by `save_codes`",
            "Encode the rows again",
        ) from error


def _plain_parameters(hasher: Any) -> dict[str, Any]:
    """Constructor parameters that JSON can hold; objects fall back to their defaults on load."""
    kept = {}
    for name, value in hasher.get_params(deep=False).items():
        with suppress(TypeError):
            kept[name] = plain(value, _refuse)
    return kept


def _refuse(value: Any) -> None:
    raise TypeError(f"{value!r} is no value of JSON")
