"""What users hand in as labels, read once into one value.

Accepted: 1-D classes (numbers, strings, booleans), a 2-D 0/1 indicator matrix (dense, sparse or a
DataFrame), or a list of tag sets. The rules for what is missing:

* ``None`` or NaN in place of a class, a tag set or a whole indicator row: **unknown**. The row has
  no say in who is kin, and nothing is assumed about it.
* Empty text in place of a class is **unknown**, too, in Python as in files; among tags it is no tag.
* An empty tag set or an all-zero indicator row: **kin to nobody**, not even to other such rows.
* An integer −1 is a class like any other.
* A single column ``(n, 1)`` is read as classes, as scikit-learn does.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .errors import InvalidInput

__all__ = ["Labels", "read_labels"]

UNKNOWN = -1


@dataclass(frozen=True, eq=False)
class Labels:
    """Classes or tags of ``n`` rows.

    ``classes`` (n,) holds positions in ``names`` with −1 for unknown rows, and ``tags`` is None; or
    ``tags`` (n, len(names)) is a 0/1 CSR matrix and ``classes`` is None. ``known`` (n,) is False for
    rows nothing is known about.
    """

    names: npt.NDArray[Any]
    known: npt.NDArray[np.bool_]
    classes: npt.NDArray[np.int64] | None = None
    tags: sp.csr_array | None = None

    def __len__(self) -> int:
        return len(self.known)

    def __getitem__(self, rows: Any) -> Labels:
        if self.classes is not None:
            return Labels(self.names, self.known[rows], classes=self.classes[rows])
        assert self.tags is not None
        return Labels(self.names, self.known[rows], tags=self.tags[rows])

    @property
    def is_tags(self) -> bool:
        """Whether a row can carry several labels."""
        return self.tags is not None

    def indicator(self) -> sp.csr_array:
        """The labels as a 0/1 CSR matrix (n, len(names)); unknown rows are empty."""
        if self.tags is not None:
            return self.tags
        assert self.classes is not None
        rows = np.flatnonzero(self.known)
        ones = np.ones(len(rows), np.int8)
        shape = (len(self), len(self.names))
        return sp.csr_array((ones, (rows, self.classes[rows])), shape=shape)

    def renamed(self, names: npt.NDArray[Any]) -> Labels:
        """The same labels counted in another vocabulary that contains ours."""
        place = _places(self.names, names)
        if self.classes is not None:
            moved = np.where(self.known, place[self.classes], UNKNOWN)
            return Labels(names, self.known, classes=moved)
        assert self.tags is not None
        tags = sp.csr_array(
            (self.tags.data, place[self.tags.indices], self.tags.indptr), shape=(len(self), len(names))
        )
        tags.sort_indices()
        return Labels(names, self.known, tags=tags)

    def aligned(self, other: Labels) -> tuple[Labels, Labels]:
        """Both label sets in their common vocabulary, so that they can be compared."""
        if self.is_tags != other.is_tags:
            kinds = ["classes", "tags"]
            raise InvalidInput(
                f"One side has {kinds[self.is_tags]} and the other has {kinds[other.is_tags]}",
                "the same kind of labels on both sides",
                "Pass both as classes, or both as tags",
            )
        if len(self.names) == len(other.names) and (self.names == other.names).all():
            return self, other
        names = _sorted_unique([*self.names.tolist(), *other.names.tolist()])
        return self.renamed(names), other.renamed(names)

    def followed_by(self, other: Labels) -> Labels:
        """Both label sets as one, ours first, in their common vocabulary."""
        ours, theirs = self.aligned(other)
        known = np.concatenate([ours.known, theirs.known])
        if ours.classes is not None and theirs.classes is not None:
            return Labels(ours.names, known, classes=np.concatenate([ours.classes, theirs.classes]))
        return Labels(ours.names, known, tags=sp.csr_array(sp.vstack([ours.tags, theirs.tags], format="csr")))


def read_labels(y: Any, n_rows: int | None = None) -> Labels:
    """Read classes, an indicator matrix or tag sets; see the rules at the top of this file.

    >>> read_labels(["cat", None, "dog"]).classes
    array([ 0, -1,  1])
    >>> read_labels([{"sky", "sea"}, set(), {"sea"}]).tags.toarray()
    array([[1, 1],
           [0, 0],
           [1, 0]], dtype=int8)
    """
    if isinstance(y, Labels):
        labels = y
    elif sp.issparse(y):
        labels = _from_sparse(y)
    elif _is_tag_sets(y):
        labels = _from_tag_sets(list(y))
    else:
        labels = _from_array(_as_array(y))
    if n_rows is not None and len(labels) != n_rows:
        raise InvalidInput(
            f"X has {n_rows} rows and the labels have {len(labels)} (inconsistent numbers of samples)",
            "one label, or one set of tags, per row",
            "Pass X and y that belong together",
        )
    return labels


def _as_array(y: Any) -> npt.NDArray[Any]:
    if y is None:
        raise InvalidInput(
            "No labels were given: this method requires y to be passed, but the target y is None",
            "classes, an indicator matrix or tag sets",
            "Pass y, or use fit_pairs or fit_similarity",
        )
    if hasattr(y, "to_numpy"):  # pandas and polars
        y = y.to_numpy()
    if np.ma.isMaskedArray(y):  # what is masked is unknown
        y = np.ma.filled(y.astype(object), None)
    if isinstance(y, (list, tuple)) and any(row is None for row in y):
        widths = {len(row) for row in y if _is_tag_set(row)}
        if len(widths) == 1:  # an indicator some of whose rows are unknown
            y = [[np.nan] * max(widths) if row is None else row for row in y]
    try:
        array = np.asarray(y)
    except ValueError as error:
        raise InvalidInput(
            f"The labels could not be read as an array ({error})",
            "classes (1-D), an indicator matrix (2-D) or a list of tag sets",
            "Write tag sets as sets: [{'a', 'b'}, {'c'}]",
        ) from error
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim not in (1, 2):
        raise InvalidInput(
            f"The labels have {array.ndim} dimensions",
            "classes (1-D) or an indicator matrix (2-D)",
            "Reshape y to (n,) or (n, number of tags)",
        )
    return array


def _from_array(array: npt.NDArray[Any]) -> Labels:
    if array.ndim == 2:
        return _from_indicator(array)
    missing = _missing(array)
    if np.iscomplexobj(array) or (array.dtype.kind == "f" and np.isinf(array[~missing]).any()):
        raise InvalidInput(
            "The labels contain infinity or complex numbers",
            "classes as integers or strings",
            "Clean y, or put None or NaN where the class is unknown",
        )
    known = ~missing
    classes = np.full(len(array), UNKNOWN, np.int64)
    if array.dtype == object:
        names = _sorted_unique(array[known].tolist())
        classes[known] = _places(array[known], names)
    else:
        names, classes[known] = np.unique(array[known], return_inverse=True)
    return Labels(names, known, classes=classes)


def _from_indicator(array: npt.NDArray[Any]) -> Labels:
    if array.dtype == object or array.dtype.kind in "US":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise InvalidInput(
                f"The 2-D labels have dtype {array.dtype}",
                "an indicator matrix of zeros and ones",
                "Pass tag names as sets: [{'a', 'b'}, {'c'}]",
            ) from None
    missing = _missing(array)
    known = np.asarray(~missing.all(axis=1))
    partly = missing.any(axis=1) & known
    if partly.any():
        raise InvalidInput(
            f"Row {int(partly.argmax())} of the indicator matrix is missing in some columns only",
            "rows that are known, or NaN throughout",
            "Fill the row, or set all of it to NaN",
        )
    ones = np.asarray(array == 1)
    wrong = ~(ones | (array == 0)) & known[:, None]
    if wrong.any():
        row, column = np.argwhere(wrong)[0].tolist()
        raise InvalidInput(
            f"The 2-D labels hold {array[row, column]!r} in row {row}, column {column}",
            "an indicator matrix of zeros and ones",
            "Pass tag ids as sets: [{1, 2}, {3}], or classes as a 1-D array",
        )
    return Labels(np.arange(array.shape[1]), known, tags=_csr(sp.csr_array(ones & known[:, None])))


def _from_sparse(y: Any) -> Labels:
    matrix = sp.csr_array(y)
    if not (matrix.has_canonical_format and (matrix.data == 1).all()):
        matrix = matrix.copy()  # tidied below, and the caller's must stay as it is
        matrix.eliminate_zeros()
    if not (matrix.data == 1).all():
        value = matrix.data[matrix.data != 1][0]
        raise InvalidInput(
            f"The sparse labels hold {value!r}",
            "an indicator matrix of zeros and ones",
            "Set every stored value to 1",
        )
    return Labels(np.arange(matrix.shape[1]), np.ones(matrix.shape[0], bool), tags=_csr(matrix))


def _from_tag_sets(rows: list[Any]) -> Labels:
    known = np.array([_is_tag_set(row) for row in rows], bool)
    sets = [
        {_plain(tag) for tag in row} - {"", b""} if ok else set() for row, ok in zip(rows, known, strict=True)
    ]
    names = _sorted_unique([tag for row in sets for tag in row])
    place = {name: position for position, name in enumerate(names.tolist())}
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in sets])])
    indices = np.array([place[tag] for row in sets for tag in row], np.int64)
    tags = sp.csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=(len(rows), len(names)))
    return Labels(names, known, tags=_csr(tags))


def _csr(matrix: sp.csr_array) -> sp.csr_array:
    matrix = sp.csr_array(matrix, dtype=np.int8)
    if not (matrix.has_canonical_format and (matrix.data == 1).all()):
        matrix.sum_duplicates()  # sorts the indices, too
        matrix.data[:] = 1
    return matrix


def _is_tag_set(row: Any) -> bool:
    return isinstance(row, Collection) and not isinstance(row, (str, bytes))


def _is_tag_sets(y: Any) -> bool:
    """Sets, or lists that are ragged or hold strings; plain rows of numbers are an indicator."""
    if isinstance(y, np.ndarray):
        if y.dtype != object or y.ndim != 1:
            return False
    elif hasattr(y, "to_numpy"):
        y = y.to_numpy()
        if getattr(y, "ndim", 1) != 1:
            return False
    elif not isinstance(y, (list, tuple)):
        return False
    rows = [row for row in y if _is_tag_set(row)]
    if not rows:
        return False
    if any(isinstance(row, (set, frozenset)) for row in rows):
        return True
    if len({len(row) for row in rows}) > 1:
        return True
    return any(isinstance(tag, str) for row in rows for tag in row)


def _missing(array: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    missing = np.zeros(array.shape, np.bool_)
    if array.dtype.kind == "f":
        np.isnan(array, out=missing)
    elif array.dtype.kind in "UST":
        missing[:] = np.strings.str_len(array) == 0
    elif array.dtype == object:
        missing[:] = [_is_missing(x) for x in array]
    return missing


def _is_missing(x: Any) -> bool:
    """None, empty text, float NaN, and pandas.NA, which is equal to nothing."""
    if isinstance(x, (str, bytes)):
        return not x
    return x is None or type(x).__name__ == "NAType" or bool(x != x)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _sorted_unique(values: list[Any]) -> npt.NDArray[Any]:
    try:
        unique = set(values)
    except TypeError:
        raise InvalidInput(
            "Some labels are not hashable", "numbers or strings", "Convert the labels to strings"
        ) from None
    try:
        ordered = sorted(unique)
    except TypeError:  # numbers and strings together: any fixed order will do
        ordered = sorted(unique, key=lambda value: (type(value).__name__, str(value)))
    array = np.empty(len(ordered), object)
    array[:] = ordered
    return np.asarray(ordered) if len({type(v) for v in ordered}) == 1 else array


def _places(values: npt.NDArray[Any], names: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    place = {name: position for position, name in enumerate(names.tolist())}
    return np.array([place[value] for value in values.tolist()], np.int64).reshape(len(values))
