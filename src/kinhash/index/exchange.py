"""To and from other homes of codes: FAISS and ``.npy``."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .._files import replacing_file
from ..codes import Codes
from ..errors import FileProblem, InvalidInput, MissingExtra
from .hamming_index import HammingIndex

__all__ = ["faiss_of_codes", "from_faiss", "from_npy", "to_faiss", "to_npy"]


def _faiss() -> Any:
    try:
        import faiss
    except ImportError:
        raise MissingExtra.of("faiss", "faiss") from None
    return faiss


def to_faiss(index: HammingIndex) -> Any:
    """The rows as ``IndexBinaryFlat``, inside ``IndexBinaryIDMap2`` when the ids are not 0, 1, 2, ...

    FAISS counts whole bytes, and padding bits are zero on both sides, so distances are the same; its order
    among equal distances is its own. Where bits have weights, a bit that counts w is there w times: ask with
    ``queries.repeated()``. Payload, fields and model id stay behind.
    """
    return faiss_of_codes(index.codes())


def faiss_of_codes(codes: Codes) -> Any:
    """The same of codes with ids."""
    faiss = _faiss()
    ids, packed = codes.ids, codes.repeated()
    assert ids is not None
    if ids.dtype.kind != "i":
        raise InvalidInput(
            "FAISS takes no string ids", "integer ids", "Number the rows and keep a table of names"
        )
    flat = faiss.IndexBinaryFlat(8 * packed.shape[1])
    if np.array_equal(ids, np.arange(len(ids))):
        flat.add(packed)
        return flat
    mapped = faiss.IndexBinaryIDMap2(flat)
    mapped.add_with_ids(packed, ids)
    mapped.own_fields = True
    flat.this.disown()
    return mapped


def from_faiss(index: Any, n_bits: int | None = None, model_id: str | None = None) -> HammingIndex:
    """The codes of an ``IndexBinaryFlat``, or of one inside ``IndexBinaryIDMap`` or ``IndexBinaryIDMap2``.

    They are plain codes: bits that `to_faiss` repeated stay repeated, with the same distances.
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
    return HammingIndex.from_codes(packed, n_bits or index.d, ids=ids, model_id=model_id)


def to_npy(index: HammingIndex, path: str | os.PathLike[str]) -> None:
    """The packed codes as ``.npy``, in the order of ``index.ids``, all or nothing.

    Ids, payload, fields and model id stay behind.
    """
    with replacing_file(path) as handle, os.fdopen(handle, "wb", closefd=False) as stream:
        np.save(stream, index.codes().packed, allow_pickle=False)


def from_npy(path: str | os.PathLike[str], n_bits: int | None = None) -> HammingIndex:
    """An index of packed codes from ``.npy``, numbered from 0; it carries no fields, model id or digest."""
    try:
        packed = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as problem:
        raise FileProblem(
            f"{os.fspath(path)} could not be read as .npy: {problem}", "packed uint8 codes", "Check the file"
        ) from problem
    return HammingIndex.from_codes(np.asarray(packed), n_bits)
