"""Small files of the compact format, as arrays."""

from __future__ import annotations

import io

import numpy as np


def compact_arrays(kind: str, seed: int = 0) -> dict[str, np.ndarray]:
    """The arrays of a small compact file of every kind in use."""
    rng = np.random.default_rng(seed)
    n = 12
    tags = (rng.random((n, 5)) < 0.4).astype(np.int8)
    indptr = np.concatenate([[0], np.cumsum(tags.sum(axis=1))]).astype(np.int32)
    indices = np.concatenate([np.flatnonzero(row) for row in tags]).astype(np.uint8)
    csr = {"label_indptr": indptr, "label_indices": indices, "label_names": np.array(list("abcde"))}
    if kind == "quantized":
        return {
            "gist": rng.integers(0, 256, (n, 4), dtype=np.uint8),
            "scale": rng.random(4).astype(np.float32),
            "offset": rng.standard_normal(4).astype(np.float32),
            "labels": rng.integers(0, 3, n).astype(np.uint8),
        }
    if kind == "half":
        features = rng.standard_normal((n, 4)).astype(np.float16)
        return {"features": features, "n_train": np.array(8), "newid": np.arange(n), **csr}
    if kind == "queries first":
        features = rng.standard_normal((n, 4)).astype(np.float32)
        return {"features": features, "n_query": np.array(2), "n_train": np.array(5), **csr}
    if kind == "sparse":
        x = {"x_indptr": indptr, "x_indices": indices.astype(np.uint16), "x_shape": np.array([n, 6])}
        return {**x, "x_names": np.array(list("uvwxyz")), "image": np.arange(n), **csr}
    if kind == "tags only":
        concepts = {"indptr": indptr, "indices": indices, "concepts": csr["label_names"]}
        marks = rng.random(n) < 0.5
        return {**concepts, "shape": np.array([n, 5]), "is_train": marks, "is_test": ~marks}
    from PIL import Image

    pictures = []
    for _ in range(3):
        stream = io.BytesIO()
        Image.fromarray(rng.integers(0, 256, (8, 6, 3), dtype=np.uint8)).save(stream, "WEBP", lossless=True)
        pictures.append(stream.getvalue())
    ends = np.concatenate([[0], np.cumsum([len(picture) for picture in pictures])])
    return {
        "webp": np.frombuffer(b"".join(pictures), np.uint8),
        "offsets": ends.astype(np.int32),
        "labels": np.array([0, 1, 1], np.uint8),
        "rows": np.array([4, 5, 9], np.int32),
        "class_names": np.array(["x", "y"]),
    }


COMPACT_KINDS = ("quantized", "half", "queries first", "sparse", "tags only", "pictures")
