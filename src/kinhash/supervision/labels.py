"""What users hand in as labels, read once into one value.

Accepted: 1-D classes (numbers, strings, booleans), a 2-D 0/1 indicator matrix (dense, sparse or a
DataFrame), or a list of tag sets. The rules for what is missing:

* ``None``, NaN, NaT or ``pandas.NA`` in place of a class, a tag set or a whole indicator row:
  **unknown**. The row is left out of all similarities.
* Empty text in place of a class is **unknown**, too, in Python as in files; among tags it is no tag.
* A missing tag inside a tag set is left out; a set of missing tags only is **unknown**.
* The text ``"nan"`` is a class and gives a warning: ``numpy.array(["a", nan])`` makes text of NaN.
* An empty tag set or an all-zero indicator row: similar to **no other row**, nor to other such rows.
* An integer −1 is a class like any other.
* A single column ``(n, 1)`` is read as classes, as scikit-learn does.
* Text and numbers together are refused: it would be a guess whether 1 and "1" are the same class.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any, TypeGuard

import numpy as np
import scipy.sparse as sp

from .._internal.types import Array, Bools, Ints, LabelsLike
from ..errors import InvalidInput, KinhashWarning

__all__ = ["Labels", "is_missing", "read_labels", "unwrapped"]

UNKNOWN = -1
MISSING_AS_TEXT = ("nan", "NaN", "NaT", "None", "<NA>")  # what str() makes of a missing value


@dataclass(frozen=True, eq=False)
class Labels:
    """Classes or tags of ``n`` rows.

    ``classes`` (n,) holds positions in ``names`` with −1 for unknown rows, and ``tags`` is None; or
    ``tags`` (n, len(names)) is a 0/1 CSR matrix and ``classes`` is None. ``known`` (n,) is False for
    rows nothing is known about.
    """

    names: Array
    known: Bools
    classes: Ints | None = None
    tags: sp.csr_array | None = None

    def __len__(self) -> int:
        return len(self.known)

    def __getitem__(self, rows: Array | slice) -> Labels:
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

    def renamed(self, names: Array) -> Labels:
        """The same labels counted in another vocabulary that contains ours."""
        place = _places(self.names.tolist(), names)
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


def read_labels(y: LabelsLike, n_rows: int | None = None) -> Labels:
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
    else:
        y = unwrapped(y)
        labels = _from_tag_sets(list(y)) if _is_tag_sets(y) else _from_array(_as_array(y))
    if n_rows is not None and len(labels) != n_rows:
        raise InvalidInput(
            f"X has {n_rows} rows and the labels have {len(labels)} (inconsistent numbers of samples)",
            "one label, or one set of tags, per row",
            "Pass X and y that belong together",
        )
    return labels


def _as_array(y: LabelsLike) -> Array:
    if y is None:
        raise InvalidInput(
            "No labels were given: this method requires y to be passed, but the target y is None",
            "classes, an indicator matrix or tag sets",
            "Pass y, or use fit_pairs or fit_similarity",
        )
    try:
        array = _array_of_list(y) if isinstance(y, (list, tuple)) else np.asarray(y)
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


def _array_of_list(y: Sequence[object]) -> Array:
    """Classes as objects, which NumPy cannot merge or rename; rows of an indicator as a 2-D array."""
    width = max((len(row) for row in y if _is_tag_set(row)), default=None)
    if width is None:
        return _objects(list(y))
    return np.asarray([row if _is_tag_set(row) or not is_missing(row) else [np.nan] * width for row in y])


def _from_array(array: Array) -> Labels:
    if array.ndim == 2:
        return _from_indicator(array)
    if array.dtype.kind == "T":  # its missing values are objects
        array = array.astype(object)
    missing = _missing_in(array)
    known = ~missing
    present = [_plain(value) for value in array[known]] if array.dtype == object else array[known]
    if _has_infinity(present):
        raise InvalidInput(
            "The labels contain infinity or complex numbers",
            "classes as integers or strings",
            "Clean y, or put None or NaN where the class is unknown",
        )
    classes = np.full(len(array), UNKNOWN, np.int64)
    if isinstance(present, list):
        names = _sorted_unique(present)
        classes[known] = _places(present, names)
    else:
        names, classes[known] = np.unique(present, return_inverse=True)
    _warn_of_missing_as_text(names, classes)
    return Labels(names, known, classes=classes)


def _has_infinity(present: list[object] | Array) -> bool:
    if isinstance(present, list):
        return any(isinstance(x, complex) or (isinstance(x, float) and math.isinf(x)) for x in present)
    return np.iscomplexobj(present) or (present.dtype.kind == "f" and bool(np.isinf(present).any()))


def _warn_of_missing_as_text(names: Array, classes: Ints) -> None:
    for place, name in enumerate(names.tolist()):
        if isinstance(name, str) and name in MISSING_AS_TEXT:
            warnings.warn(
                f"{np.count_nonzero(classes == place):,} labels are the text {name!r} and count as a class. "
                "If they are missing, pass None or NaN instead: str() and numpy.array() make text of NaN.",
                KinhashWarning,
                stacklevel=2,
            )


def _from_indicator(array: Array) -> Labels:
    if array.dtype == object or array.dtype.kind in "US":
        try:
            array = np.where(_missing_in(array), np.nan, array).astype(np.float64)
        except (TypeError, ValueError):
            raise InvalidInput(
                f"The 2-D labels have dtype {array.dtype}",
                "an indicator matrix of zeros and ones",
                "Pass tag names as sets: [{'a', 'b'}, {'c'}]",
            ) from None
    missing = _missing_in(array)
    known = np.asarray(~missing.all(axis=1) | (array.shape[1] == 0))
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


def _from_sparse(y: LabelsLike) -> Labels:
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


def _from_tag_sets(rows: list[object]) -> Labels:
    sets = [_tags_of(row, number) for number, row in enumerate(rows)]
    known = np.array([tags is not None for tags in sets], bool)
    listed = [tags or set() for tags in sets]
    names = _sorted_unique([tag for tags in listed for tag in tags])
    place = {name: position for position, name in enumerate(names.tolist())}
    indptr = np.concatenate([[0], np.cumsum([len(tags) for tags in listed])])
    indices = np.array([place[tag] for tags in listed for tag in tags], np.int64)
    tags = sp.csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=(len(rows), len(names)))
    return Labels(names, known, tags=_csr(tags))


def _tags_of(row: object, number: int) -> set[object] | None:
    """The tags of a row without missing ones; None if nothing is known about the row."""
    if _is_tag_set(row):
        tags = {_plain(tag) for tag in row}
        named = {tag for tag in tags if not is_missing(tag)}
        return named if named or tags <= {"", b""} else None
    if is_missing(row):
        return None
    raise InvalidInput(
        f"Row {number} of the labels is {str(row)[:40]!r} and other rows are sets of tags",
        "a set of tags in every row, or None where they are unknown",
        "Write a single tag as a set: {'a'}",
    )


def _csr(matrix: sp.csr_array) -> sp.csr_array:
    matrix = sp.csr_array(matrix, dtype=np.int8)
    if not (matrix.has_canonical_format and (matrix.data == 1).all()):
        matrix.sum_duplicates()  # sorts the indices, too
        matrix.data[:] = 1
    return matrix


def _is_tag_set(row: object) -> TypeGuard[Collection[object]]:
    return isinstance(row, Collection) and not isinstance(row, (str, bytes))


def _is_tag_sets(y: LabelsLike) -> bool:
    """Sets, or lists that are ragged or hold strings; plain rows of numbers are an indicator."""
    of_objects = isinstance(y, np.ndarray) and y.dtype == object and y.ndim == 1
    rows = [row for row in y if _is_tag_set(row)] if of_objects or isinstance(y, (list, tuple)) else []
    ragged = bool(rows) and (len({len(row) for row in rows}) > 1 or not any(map(len, rows)))
    sets = any(isinstance(row, (set, frozenset)) for row in rows)
    return ragged or sets or any(isinstance(tag, str) for row in rows for tag in row)


def _sorted_unique(values: list[Any]) -> Array:
    """The different values in order: an array of their type where it holds them exactly, else of objects."""
    try:
        unique = set(values)
    except TypeError:
        raise InvalidInput(
            "Some labels are not hashable", "numbers or strings", "Convert the labels to strings"
        ) from None
    _require_one_kind(unique)
    try:
        ordered = sorted(unique)
    except TypeError:  # objects without an order: any fixed one will do
        ordered = sorted(unique, key=lambda value: (type(value).__name__, str(value)))
    array = np.asarray(ordered)
    return array if array.shape == (len(ordered),) and array.tolist() == ordered else _objects(ordered)


def _places(values: list[object], names: Array) -> Ints:
    place = {name: position for position, name in enumerate(names.tolist())}
    return np.array([place[value] for value in values], np.int64).reshape(len(values))


def unwrapped(y: LabelsLike) -> Any:
    """Columns of dataframes and masked arrays as NumPy arrays or lists; no value is rounded or lost."""
    if np.ma.isMaskedArray(y):
        values: Any = np.array(y.data, object)
        values[np.ma.getmaskarray(y)] = None
        return values
    if getattr(y, "ndim", 1) == 2 and hasattr(y, "to_numpy"):
        return _from_frame(y)
    if hasattr(y, "to_pylist"):  # pyarrow
        return y.to_pylist()
    if hasattr(y, "null_count") and hasattr(y, "to_list"):  # polars rounds integers beside nulls
        return y.to_list() if y.null_count() or y.dtype.is_nested() else y.to_numpy()
    if hasattr(y, "to_numpy") and hasattr(y, "dtype"):  # pandas
        return y.to_numpy() if isinstance(y.dtype, np.dtype) else y.to_numpy(dtype=object)
    return y


def _from_frame(y: LabelsLike) -> Any:
    """A dataframe with one column as that column; a wider one as a 2-D array."""
    if y.shape[1] == 1:
        return unwrapped(y.iloc[:, 0] if hasattr(y, "iloc") else y.to_series(0))
    simple = not hasattr(y, "iloc") or all(isinstance(dtype, np.dtype) for dtype in y.dtypes)
    return y.to_numpy() if simple else y.to_numpy(dtype=object)


def _missing_in(array: Array) -> Bools:
    """Where values are missing, in the shape of the array."""
    if array.dtype.kind == "f":
        return np.isnan(array)
    if array.dtype.kind in "mM":
        return np.isnat(array)
    if array.dtype.kind in "US":
        return np.strings.str_len(array) == 0
    if array.dtype == object:
        return np.array([is_missing(x) for x in array.flat], np.bool_).reshape(array.shape)
    return np.zeros(array.shape, np.bool_)


def is_missing(x: object) -> bool:
    """None, empty text, pandas.NA, and NaN and NaT, which are not equal to themselves."""
    if isinstance(x, (str, bytes)):
        return not x
    return x is None or type(x).__name__ == "NAType" or bool(x != x)


def _plain(value: object) -> object:
    """Scalars of NumPy as Python's own; dates stay, which would become integers."""
    return value.item() if isinstance(value, np.generic) and value.dtype.kind not in "mM" else value


def _objects(values: list[object]) -> Array:
    """A 1-D array of these very values."""
    return np.fromiter(values, object, len(values))


def _require_one_kind(values: set[object]) -> None:
    """Refuse text among numbers: "1" and 1 may be the same label, or not."""
    examples = {_kind(value): value for value in values}
    if len(examples) > 1:
        (one, first), (other, second) = sorted(examples.items())[:2]
        raise InvalidInput(
            f"The labels mix {one} and {other}, for example {first!r:.40} and {second!r:.40}",
            "labels of one type",
            "Convert the labels to one type, and leave None where a label is unknown",
        )


def _kind(value: object) -> str:
    kinds = ((str, "text"), (bytes, "bytes"), (Number, "numbers"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "other objects")
