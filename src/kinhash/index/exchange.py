"""Conversion of indexes to and from FAISS and ``.npy``."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._internal.files import replacing_file
from ..codes import KIN_ONLY, BitLayout, Codes, as_codes, n_bytes, unpack_bits
from ..errors import FileProblem, InvalidInput, MissingExtra
from .hamming_index import HammingIndex

__all__ = ["from_faiss", "from_npy", "to_faiss", "to_npy"]


def _faiss() -> Any:
    try:
        import faiss
    except ImportError:
        raise MissingExtra.of("faiss", "faiss") from None
    return faiss


def to_faiss(index: HammingIndex) -> Any:
    """The rows as ``IndexBinaryFlat``, inside ``IndexBinaryIDMap2`` when the ids are not 0, 1, 2, ...

    FAISS counts whole bytes, and padding bits are zero on both sides, so distances are the same; its order
    among equal distances is its own. Payload and model id stay behind. A bit that counts w stands there w
    times (`Codes.repeated`), in queries too, so that plain Hamming distance is the weighted one.
    """
    faiss = _faiss()
    codes = index.codes()
    ids = codes.ids
    assert ids is not None
    if ids.dtype.kind != "i":
        raise InvalidInput(
            "FAISS takes no string ids", "integer ids", "Number the rows and keep a table of names"
        )
    packed = codes.repeated()
    flat = faiss.IndexBinaryFlat(8 * packed.shape[1])
    if np.array_equal(ids, np.arange(len(ids))):
        flat.add(packed)
        return flat
    mapped = faiss.IndexBinaryIDMap2(flat)
    mapped.add_with_ids(packed, ids)
    mapped.own_fields = True
    flat.this.disown()
    return mapped


def from_faiss(
    index: Any, n_bits: int | None = None, model_id: str | None = None, fields: BitLayout = KIN_ONLY
) -> HammingIndex:
    """The codes of an ``IndexBinaryFlat``, or of one inside ``IndexBinaryIDMap`` or ``IndexBinaryIDMap2``.

    With ``fields`` (and ``n_bits``), bits are taken as `to_faiss` repeats them.
    """
    faiss = _faiss()
    ids = None
    if isinstance(index, faiss.IndexBinaryIDMap):  # IDMap2 is one too
        ids = faiss.vector_to_array(index.id_map).astype(np.int64)
        index = faiss.downcast_IndexBinary(index.index)
    if not isinstance(index, faiss.IndexBinaryFlat):
        raise InvalidInput(
            f"A {type(index).__name__} came from FAISS",
            "IndexBinaryFlat, alone or inside IndexBinaryIDMap2",
            "Copy its codes into an IndexBinaryFlat first",
        )
    packed = faiss.vector_to_array(index.xb).reshape(index.ntotal, index.code_size).copy()
    return HammingIndex.from_codes(_unrepeated(packed, n_bits or index.d, fields), ids=ids, model_id=model_id)


def _unrepeated(packed: npt.NDArray[np.uint8], n_bits: int, fields: BitLayout) -> Codes:
    """Undo `Codes.repeated`: the first of each bit's copies."""
    if fields.plain:
        return Codes(packed, n_bits, fields=fields)
    weights = fields.weights(n_bits)
    if packed.shape[1] != n_bytes(int(weights.sum())):
        raise InvalidInput(
            f"Rows of {packed.shape[1]} bytes came from FAISS",
            f"{n_bytes(int(weights.sum()))}: {n_bits} bits, repeated as the fields say",
            "Pass the n_bits and fields the codes were written with",
        )
    firsts = np.cumsum(weights) - weights
    return Codes.from_bits(unpack_bits(packed, int(weights.sum()))[:, firsts], fields=fields)


def to_npy(index: HammingIndex, path: str | os.PathLike[str]) -> None:
    """The packed codes as ``.npy``, in the order of ``index.ids``; all else stays behind, fields included.

    All or nothing.
    """
    with replacing_file(path) as handle, os.fdopen(handle, "wb", closefd=False) as stream:
        np.save(stream, index.codes().packed, allow_pickle=False)


def from_npy(
    path: str | os.PathLike[str], n_bits: int | None = None, fields: BitLayout = KIN_ONLY
) -> HammingIndex:
    """An index of packed codes from ``.npy``, numbered from 0; it carries no model id and no digest."""
    try:
        packed = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as problem:
        raise FileProblem(
            f"{os.fspath(path)} could not be read as .npy: {problem}", "packed uint8 codes", "Check the file"
        ) from problem
    return HammingIndex.from_codes(replace(as_codes(np.asarray(packed), n_bits), fields=fields))
