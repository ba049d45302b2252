"""The compact format: a data set in one ``.npz`` of plain arrays.

| arrays | meaning |
|---|---|
| ``features`` (n, p) | dense features; ``gist`` and ``bow`` are read as other names for it |
| ``scale``, ``offset`` (p,) | the real features are ``features * scale + offset`` per column |
| ``x_indptr``, ``x_indices``, ``x_shape`` | sparse features as CSR, all ones, or with values ``x_data`` |
| ``x_names`` (p,) | what a column is |
| ``webp`` bytes, ``offsets`` (n + 1,) | pictures; the i-th is ``webp[offsets[i]:offsets[i + 1]]`` |
| ``labels`` (n,), ``class_names`` (K,) | one class per row; names are optional |
| ``label_indptr``, ``label_indices``, ``label_names`` | tags as CSR (``indptr``, ``indices``, ``concepts``) |
| ``image`` (n,) | which item a row is; ``newid`` and ``rows`` too |
| ``n_query``, ``n_train`` | the first rows are queries, then training rows; without ``n_query`` the
training rows come first and the rest are queries |
| ``is_train``, ``is_test`` (n,) | the same as masks |

Other arrays are left alone. ``compact_write`` writes such files.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from kinhash.errors import DamagedFile, MissingExtra
from kinhash.labels import Labels
from kinhash.plugins import damaged, read_npz

from .base import Dataset, Facts, class_labels
from .files import checksum

__all__ = ["read_compact"]

Arrays = dict[str, npt.NDArray[Any]]
KIND = "a data set in the compact .npz format"
MAX_PICTURE = 4096  # pixels along one side


def read_compact(path: str | Path, facts: Facts | None = None, class_names: Iterable[str] = ()) -> Dataset:
    """Read one compact file. ``facts`` bring licence and citation, ``class_names`` missing names.

    Quantized features are expanded once, to float32. Peak memory: file arrays plus features.
    """
    file = _CompactFile(path, read_npz(path))
    features, image_shape = file.features()
    labels = file.labels(list(class_names))
    names = file.first("image", "newid", "rows")
    sizes = {len(part) for part in (labels, names) if part is not None}
    sizes |= {features.shape[0]} if features is not None else set()
    if len(sizes) != 1 or sizes == {0}:
        raise file.problem(f"its parts have different numbers of rows ({sorted(sizes)})")
    train, queries = file.split(sizes.pop())
    return (facts or Facts(Path(path).stem, "", str(path))).dataset(
        features,
        labels,
        checksum(path),
        names=names,
        feature_names=file.text("x_names", features.shape[1]) if features is not None else None,
        train=train,
        queries=queries,
        image_shape=image_shape,
    )


class _CompactFile:
    """The arrays of one file, taken apart with a check at every step."""

    def __init__(self, path: str | Path, arrays: Arrays) -> None:
        self.path, self.arrays = path, arrays

    def problem(self, what: str) -> DamagedFile:
        return damaged(self.path, what, KIND)

    def first(self, *names: str) -> npt.NDArray[Any] | None:
        """The first of these one-dimensional arrays that is there."""
        found = next((self.arrays[name] for name in names if name in self.arrays), None)
        if found is not None and found.ndim != 1:
            raise self.problem(f"{names[0]!r} has {found.ndim} dimensions instead of one")
        try:
            if found is not None and found.dtype.kind == "U":
                found.tolist()  # damaged text can hold numbers that are no characters
        except ValueError:
            raise self.problem(f"{names[0]!r} holds damaged text") from None
        return found

    def text(self, name: str, count: int) -> npt.NDArray[Any] | None:
        found = self.first(name)
        if found is None:
            return None
        if len(found) != count:
            raise self.problem(f"{name!r} has {len(found)} entries for {count} columns")
        return found

    def features(self) -> tuple[Any, tuple[int, ...] | None]:
        if "webp" in self.arrays:
            return self.pictures()
        if "x_indptr" in self.arrays:
            shape = self.arrays.get("x_shape")
            if shape is None or shape.shape != (2,) or shape.dtype.kind not in "iu" or (shape < 0).any():
                raise self.problem("'x_shape' is not a pair of sizes")
            n_rows, n_columns = (int(size) for size in shape)
            sparse = self.csr("x_indptr", "x_indices", n_columns, n_rows, self.arrays.get("x_data"))
            return sparse.astype(np.float32), None
        dense = next((self.arrays[k] for k in ("features", "gist", "bow") if k in self.arrays), None)
        return (None if dense is None else self.expanded(dense)), None

    def expanded(self, dense: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """``dense * scale + offset`` in float32, with one array of that size."""
        if dense.ndim != 2 or dense.dtype.kind not in "biuf" or 0 in dense.shape:
            raise self.problem(f"its features have shape {dense.shape} and dtype {dense.dtype}")
        if ("scale" in self.arrays) != ("offset" in self.arrays):
            raise self.problem("it has only one of 'scale' and 'offset'")
        if "scale" not in self.arrays:
            out = dense.astype(np.float32)
        else:
            scale, offset = self.arrays["scale"], self.arrays["offset"]
            for part in (scale, offset):
                if part.shape != (dense.shape[1],) or part.dtype.kind != "f" or not np.isfinite(part).all():
                    raise self.problem(f"'scale' and 'offset' are not {dense.shape[1]} finite numbers")
            with np.errstate(over="ignore"):  # said below
                out = np.multiply(dense, scale.astype(np.float32), dtype=np.float32)
                out += offset.astype(np.float32)
        if not np.isfinite(out).all():
            raise self.problem("its features hold NaN or infinity")
        return out

    def csr(
        self, indptr: str, indices: str, n_columns: int, n_rows: int | None = None, data: Any = None
    ) -> sp.csr_array:
        starts, columns = self.arrays[indptr], self.arrays.get(indices)
        if columns is None or starts.dtype.kind not in "iu" or columns.dtype.kind not in "iu":
            raise self.problem(f"{indptr!r} and {indices!r} are not whole numbers")
        values = np.ones(columns.shape, np.int8) if data is None else data
        try:
            if values.dtype.kind not in "biuf" or not np.isfinite(values).all():
                raise ValueError("the values are not finite numbers")
            if not len(columns) == len(values) == starts[-1]:
                raise ValueError("the row boundaries do not fit the entries")
            shape = (len(starts) - 1 if n_rows is None else n_rows, n_columns)
            matrix = sp.csr_array((values, columns, starts), shape=shape)
            matrix.check_format(full_check=True)
        except (ValueError, IndexError, TypeError, OverflowError) as error:  # what SciPy raises, too
            raise self.problem(f"{indptr!r} and {indices!r}: {error}") from None
        matrix.sum_duplicates()
        if matrix.nnz != len(values):
            raise self.problem(f"{indices!r}: a row names a column twice")
        return matrix

    def labels(self, class_names: list[str]) -> Labels | None:
        if "labels" in self.arrays:
            classes = self.arrays["labels"]
            if classes.ndim != 1 or classes.dtype.kind not in "iu" or not len(classes) or classes.min() < 0:
                raise self.problem("'labels' is not one class number per row")
            count = int(classes.max()) + 1
            if count > max(len(classes), len(class_names)):
                raise self.problem(f"'labels' holds the class {count - 1} among {len(classes)} rows")
            stored = self.arrays.get("class_names")
            if stored is not None:
                named = self.text("class_names", len(stored))
                class_names = [] if named is None else named.tolist()
            if class_names and len(class_names) < count:
                raise self.problem(f"'labels' holds the class {count - 1} and {len(class_names)} are named")
            return class_labels(classes, class_names or [str(k) for k in range(count)])
        for indptr, indices, tag_names in (
            ("label_indptr", "label_indices", "label_names"),
            ("indptr", "indices", "concepts"),
        ):
            if indptr in self.arrays:
                names = self.first(tag_names)
                if names is None:
                    raise self.problem(f"{tag_names!r} is missing")
                tags = self.csr(indptr, indices, len(names))
                known = np.ones(tags.shape[0], bool)
                return Labels(self.text(tag_names, len(names)), known, tags=tags)  # type: ignore[arg-type]
        return None

    def split(self, n_rows: int) -> tuple[Any, Any]:
        masks = [self.arrays.get("is_train"), self.arrays.get("is_test")]
        if masks[0] is not None and masks[1] is not None:
            if any(m is None or m.shape != (n_rows,) or m.dtype != bool for m in masks):
                raise self.problem("'is_train' and 'is_test' are not one mark per row")
            return np.flatnonzero(masks[0]), np.flatnonzero(masks[1])
        n_query, n_train = self.count("n_query"), self.count("n_train")
        if n_train is None:
            return None, None
        if n_train + (n_query or 0) > n_rows:
            raise self.problem(
                f"it states {n_train} training rows and {n_query or 0} queries of {n_rows} rows"
            )
        if n_query is None:
            return np.arange(0, n_train), np.arange(n_train, n_rows)
        return np.arange(n_query, n_query + n_train), np.arange(0, n_query)

    def count(self, name: str) -> int | None:
        if name not in self.arrays:
            return None
        value = self.arrays[name]
        if value.shape != () or value.dtype.kind not in "iu" or value < 0:
            raise self.problem(f"{name!r} is not a number of rows")
        return int(value)

    def pictures(self) -> tuple[npt.NDArray[np.uint8], tuple[int, ...]]:
        try:
            from PIL import Image
        except ImportError:
            raise MissingExtra.of("pillow", "plot") from None
        stored, offsets = self.first("webp"), self.first("offsets")
        if stored is None or stored.dtype != np.uint8:
            raise self.problem("'webp' does not hold bytes")
        if offsets is None or len(offsets) < 2 or offsets.dtype.kind not in "iu":
            raise self.problem("'offsets' does not hold positions")
        ends = offsets.astype(np.int64)
        if ends[0] != 0 or ends[-1] != len(stored) or (np.diff(ends) <= 0).any():
            raise self.problem("'offsets' do not divide 'webp' into pictures")
        out: npt.NDArray[np.uint8] | None = None
        for k in range(len(ends) - 1):
            try:
                picture = Image.open(io.BytesIO(stored[ends[k] : ends[k + 1]].tobytes()), formats=["WEBP"])
                size = picture.size if max(picture.size) <= MAX_PICTURE else None
                if size is None or (out is not None and size != out.shape[2:0:-1]):
                    raise ValueError(f"another size than the first, {picture.size}")
                pixels = np.asarray(picture.convert("RGB"))
            except (OSError, SyntaxError, ValueError) as error:  # what Pillow raises for damaged pictures
                raise self.problem(f"picture {k} could not be read ({str(error)[:80]})") from error
            if out is None:
                out = np.empty((len(ends) - 1, *pixels.shape), np.uint8)
            out[k] = pixels
        assert out is not None
        return out.reshape(len(out), -1), out.shape[1:]
