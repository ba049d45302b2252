"""`kinhash info`: what is in a file, after every byte of it was verified."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from .._internal.aliases import Facts
from .terminal import emit, json_option, visible

if TYPE_CHECKING:
    from ..codes import Codes

__all__ = ["info"]


@click.command()
@click.argument("file")
@json_option
def info(file: str, as_json: bool) -> None:
    """Say what is in FILE: a model, codes or an index. Its digest is checked first.

    \b
    Example:
      kinhash info model.kin
    """
    if file.lower().endswith(".npy"):
        facts = _plain_codes(file)
    else:
        from ..codes import FORMAT, container_kind

        describe = {"model": _model, "codes": _codes, "index": _index}
        kind = container_kind(file)
        facts = {"kind": kind, "format": FORMAT, **describe.get(kind, _other)(file)}
    facts = {"file": file, **facts, "file_bytes": os.path.getsize(file)}
    width = max(map(len, facts))
    shown = {name.replace("_", " "): visible(_shown(value), one_line=True) for name, value in facts.items()}
    text = "\n".join(f"{name:<{width}}  {value}" for name, value in shown.items())
    emit(facts, text, as_json)


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={entry}" for name, entry in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(str, value[:8])) + (" ..." if len(value) > 8 else "") if value else "none"
    if value is None:
        return "none"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _model(file: str) -> Facts:
    from ..hashers import read_model

    arrays, header = read_model(file)
    return {
        "method": header["hasher"],
        "map": header["map"],
        "n_bits": header["n_bits"],
        "fields": header["fields"],
        "n_features": header["n_features"],
        "feature_names": header["feature_names"],
        "views": {view["name"]: f"{view['n_features']:,} columns" for view in header["views"]},
        "model_id": header["model_id"],
        "parameters": header["parameters"],
        "same_bits": "on every machine; fitted again on another machine, the model may differ",
        "array_bytes": sum(array.nbytes for array in arrays.values()),
    }


def _codes(file: str) -> Facts:
    from ..codes import load_codes

    codes = load_codes(file)
    return _facts_of(codes, codes.model_id)


def _facts_of(codes: Codes, model_id: str | None) -> Facts:
    import numpy as np

    ids = "row numbers" if codes.ids is None else "names" if codes.ids.dtype.kind in "UTO" else "numbers"
    return {
        "rows": len(codes),
        "n_bits": codes.n_bits,
        "fields": codes.fields.as_dict(),
        "bytes_per_item": int(codes.packed.shape[1]),
        "unique_codes": len(np.unique(codes.packed, axis=0)),
        "ids": ids,
        "learned": codes.learned,
        "model_id": model_id,
    }


def _index(file: str) -> Facts:
    from dataclasses import asdict

    from ..index import HammingIndex

    index = HammingIndex.load(file)
    return {**asdict(index.stats()), "payload": list(index.payload)}


def _plain_codes(file: str) -> Facts:
    from .files import open_codes

    return {"kind": "packed codes in .npy, without digest", **_facts_of(open_codes(file), None)}


def _other(file: str) -> Facts:
    from ..codes import read_container

    return {"arrays": {name: list(array.shape) for name, array in read_container(file)[0].items()}}
