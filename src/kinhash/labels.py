"""Labels as users hand them in, read once into one value: classes, tags, and paths in a tree.

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
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any, TypeAlias, TypeGuard

import numpy as np
import scipy.sparse as sp

from ._internal.types import Array, Bools, Floats, Ints, LabelsLike
from ._internal.validation import check_rows
from .errors import InvalidInput, warn

__all__ = [
    "Labels",
    "Parents",
    "are_paths",
    "is_missing",
    "labels_of_levels",
    "one_level_warning",
    "read_labels",
    "read_paths",
    "unwrapped",
]

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
            warn(
                f"{np.count_nonzero(classes == place):,} labels are the text {name!r} and count as a class. "
                "If they are missing, pass None or NaN instead: str() and numpy.array() make text of NaN."
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


# -- paths in a tree ---------------------------------------------------------------------------
#
# A label is a path from the root, "sport/football/shoes" or ("sport", "football", "shoes"), of any depth; or
# a class or tag whose parents a table names. Every level is a labeling of its own. Paths that end early are
# padded below their last name, and a level counts by the share of paths that reach it: one path of ten
# levels must not make the others look alike.

SEPARATOR = "/"
SLASH_IN_NAME = "\u2215"  # division slash: "a/b" and "a b" of a table of parents are two names
OTHER_MARKS = (">", "|", "\\", ":", ";", ".", ",")  # that may separate the levels of paths
SHOWN = 6  # names of a circle
Path = tuple[str, ...]
Parents: TypeAlias = Mapping[Any, Any]  # the parent of each label


def one_level_warning(labels: Labels, parents: Parents | None) -> str:
    """Say that a tree has no branches, and which other separator its paths may have."""
    if parents is not None:
        return "No label has a parent but itself, so the tree says no more than plain labels do."
    names = labels.names.tolist()
    found = f"the first label is {names[0]!r}"
    for mark in OTHER_MARKS:
        holding = sum(mark in name for name in names)
        if 2 * holding >= len(names):
            found = f"{holding:,} of {len(names):,} labels hold '{mark}'. Write {SEPARATOR!r} instead"
            break
    return (
        "No path has two levels, so the tree says no more than plain labels do. The separator of levels is "
        f"{SEPARATOR!r}, as in 'sport/football'; {found}."
    )


def read_paths(
    y: LabelsLike, n_rows: int | None, parents: Parents | None = None, n_levels: int = 0
) -> tuple[Labels, Ints, Floats]:
    """Labels named by paths, the tree, and the weights of its levels.

    For one path a row, the tree is the node of each leaf on every level (K, L). For several paths a row,
    whose nodes are tags, it is the level of each tag (t,). It has ``n_levels`` or more: those of the fit,
    where these are other rows.

    >>> labels, levels, weights = read_paths(["pets/cat", "pets/dog", "cars"], None)
    >>> labels.names.tolist(), levels.tolist(), weights.tolist()
    (['cars', 'pets/cat', 'pets/dog'], [[0, 0], [1, 1], [1, 2]], [0.6, 0.4])
    """
    if parents is not None and not _several(y):
        return _classes_by_parents(read_labels(y, n_rows), parents)
    rows = _rows_of_paths(y, n_rows) if parents is None else _rows_by_parents(y, n_rows, parents)
    depth = max((len(path) for row in rows if row is not None for path in row), default=0)
    if not depth:
        raise InvalidInput("No row has a path", "paths such as 'sport/football'", "Pass a path for some rows")
    depth = max(depth, n_levels)
    rows = [None if row is None else [path + ("",) * (depth - len(path)) for path in row] for row in rows]
    leaves = sorted({path for row in rows if row is not None for path in row})
    known = np.array([row is not None for row in rows])
    if _several(y):
        return (*_tags(rows, leaves, known), _weights(leaves))
    place = {leaf: k for k, leaf in enumerate(leaves)}
    classes = np.array([-1 if row is None else place[row[0]] for row in rows], np.int64)
    names = _names([tuple(name for name in leaf if name) for leaf in leaves])
    return Labels(names, known, classes=classes), _levels(leaves), _weights(leaves)


def are_paths(y: LabelsLike) -> bool:
    """Whether every known label is text or a tuple, as one path of a row is."""
    given = y.names.tolist() if isinstance(y, Labels) else unwrapped(y)
    return all(isinstance(one, str | tuple) or is_missing(one) for one in given)


def labels_of_levels(y: LabelsLike, n_rows: int | None, parents: Parents | None = None) -> list[Labels]:
    """The labels on every level of the tree, the leaves first."""
    labels, levels, _ = read_paths(y, n_rows, parents)
    if labels.classes is None:
        tags = sp.csc_array(labels.indicator())
        of_level = [levels == level for level in range(int(levels[-1]), -1, -1)]
        return [
            Labels(labels.names[some], labels.known, tags=sp.csr_array(tags[:, some])) for some in of_level
        ]
    found = []
    for nodes in levels.T[::-1]:
        classes = np.where(labels.known, nodes[labels.classes], -1)
        found.append(Labels(np.arange(int(nodes.max()) + 1), labels.known, classes=classes))
    return found


def _classes_by_parents(labels: Labels, parents: Parents) -> tuple[Labels, Ints, Floats]:
    """Classes keep their names, so that labels of other rows find them without the tree."""
    _require_some_parent(labels, parents)
    paths = [_path_above(name, parents) for name in labels.names.tolist()]
    depth = max(map(len, paths), default=0)
    leaves = [path + ("",) * (depth - len(path)) for path in paths]
    return labels, _levels(leaves), _weights(leaves)


def _levels(leaves: list[Path]) -> Ints:
    """The node of each leaf on every level (K, L)."""
    depth = len(leaves[0])
    return np.stack([_numbered([leaf[: k + 1] for leaf in leaves]) for k in range(depth)], axis=1)


def _weights(leaves: list[Path]) -> Floats:
    """How much each level counts (L,): by the share of paths that reach it, padding left out."""
    reached: Floats = np.array([[bool(name) for name in leaf] for leaf in leaves]).sum(
        axis=0, dtype=np.float64
    )
    weights: Floats = reached / reached.sum()
    return weights


def _tags(rows: list[list[Path] | None], leaves: list[Path], known: Bools) -> tuple[Labels, Ints]:
    """Every row carries its paths and all that lies above them."""
    depth = len(leaves[0])
    nodes = [node for k in range(depth) for node in sorted({leaf[: k + 1] for leaf in leaves})]
    place = {node: number for number, node in enumerate(nodes)}
    carried = [sorted({place[path[: k + 1]] for path in row or () for k in range(depth)}) for row in rows]
    ends = np.cumsum([0, *map(len, carried)])
    columns = np.array([tag for row in carried for tag in row], np.int64)
    tags = sp.csr_array((np.ones(len(columns), np.int8), columns, ends), shape=(len(rows), len(nodes)))
    return Labels(_names(nodes), known, tags=tags), np.array([len(node) - 1 for node in nodes])


def _numbered(nodes: list[Path]) -> Ints:
    """Number of each node among the different ones, in order."""
    place = {node: number for number, node in enumerate(sorted(set(nodes)))}
    return np.array([place[node] for node in nodes], np.int64)


def _names(paths: list[Path]) -> Array:
    return np.array([SEPARATOR.join(path) for path in paths], object).astype(str)


def _several(y: LabelsLike) -> bool:
    """Whether rows are sets or lists of labels; a tuple is one path."""
    if isinstance(y, Labels):
        return y.is_tags
    if sp.issparse(y) or getattr(y, "ndim", 1) == 2:
        return True
    return any(isinstance(row, set | frozenset | list | np.ndarray) for row in y)


def _rows_of_paths(y: LabelsLike, n_rows: int | None) -> list[list[Path] | None]:
    given = _plain_rows(y) if isinstance(y, Labels) else list(unwrapped(y))
    check_rows(len(given), "paths", n_rows)
    rows = [_members(row) for row in given]
    _require_paths(rows)
    return [None if row is None else [_parts(one) for one in row] for row in rows]


def _plain_rows(labels: Labels) -> list[object]:
    """The label of each row, or a set of its tags; None where it is unknown."""
    names = labels.names.tolist()
    if labels.classes is not None:
        return [names[k] if k >= 0 else None for k in labels.classes]
    ends = zip(labels.indicator().indptr[:-1], labels.indicator().indptr[1:], labels.known, strict=True)
    indices = labels.indicator().indices
    return [{names[k] for k in indices[begin:end]} if known else None for begin, end, known in ends]


def _members(row: object) -> list[object] | None:
    """The paths of a row: those that a set or a list holds, or the one that a text or a tuple is.

    None if they are unknown. Missing paths among others are left out, as missing tags are.
    """
    if not isinstance(row, set | frozenset | list | np.ndarray):
        return None if _is_no_path(row) else [row]
    named = [one for one in row if not _is_no_path(one)]
    return named if named or all(isinstance(one, str) for one in row) else None


def _is_no_path(given: object) -> bool:
    return given == () if isinstance(given, tuple) else is_missing(given)


def _parts(given: object) -> Path:
    """The names of a path, stripped; a name may be empty, see `_require_paths`."""
    parts = given.split(SEPARATOR) if isinstance(given, str) else given if isinstance(given, tuple) else ()
    return tuple(str(part).strip() for part in parts)


def _require_paths(rows: list[list[object] | None]) -> None:
    """Refuse paths without a name, or with an empty one."""
    given = [(number, one, _parts(one)) for number, row in enumerate(rows) for one in row or ()]
    wrong = [(number, one, path) for number, one, path in given if not path or not all(path)]
    if not wrong:
        return
    number, first, path = wrong[0]
    raise InvalidInput(
        f"Row {number} of the labels (the first is 0) is {first!r}, which is not a path: "
        f"{_fault(first, path)}; {len(wrong):,} of {len(given):,} paths are wrong",
        "names joined by single slashes, such as 'sport/football', or a tuple of names",
        "Remove slashes at the start and the end, and write doubled ones once; None is an unknown path"
        if path
        else "Pass paths, or plain labels and a table of parents: kinship={label: parent}",
    )


def _fault(given: object, path: Path) -> str:
    """What is wrong with a path that has no name, or an empty one."""
    if not path:
        return "it is neither text nor a tuple"
    if not any(path):
        return "it holds no name"
    if not isinstance(given, str):
        return "a name in it is empty"
    faults = {
        "begins with a slash": not path[0],
        "ends with a slash": not path[-1],
        "has a doubled slash": not all(path[1:-1]),
    }
    return f"it {' and '.join(fault for fault, found in faults.items() if found)}"


def _rows_by_parents(y: LabelsLike, n_rows: int | None, parents: Parents) -> list[list[Path] | None]:
    labels = read_labels(y, n_rows)
    _require_some_parent(labels, parents)
    paths = [_path_above(name, parents) for name in labels.names.tolist()]
    indicator = labels.indicator()
    return [
        [paths[k] for k in indicator.indices[begin:end]] if known else None
        for begin, end, known in zip(indicator.indptr[:-1], indicator.indptr[1:], labels.known, strict=True)
    ]


def _require_some_parent(labels: Labels, parents: Parents) -> None:
    if not any(name in parents for name in labels.names.tolist()):
        raise InvalidInput(
            "kinship names the parent of none of the labels",
            "a parent for some of them: {label: parent, …}",
            f"Check the names; the first labels are {', '.join(map(repr, labels.names.tolist()[:3]))}",
        )


def _path_above(name: object, parents: Parents) -> Path:
    """The path to a name, from its root: a name without a parent, or one that is its own."""
    found = [name]
    while not is_missing(above := parents.get(found[-1])) and above != found[-1]:
        if above in found:
            circle = [*found[found.index(above) :], above]
            shown = circle if len(circle) <= SHOWN else [*circle[: SHOWN - 1], "…", above]
            raise InvalidInput(
                f"{above!r} is above itself in kinship: {' → '.join(map(str, shown))}",
                "parents that lead to a root: a name without a parent, or one that is its own parent",
                "Remove one of these parents",
            )
        found.append(above)
    return tuple(str(one).replace(SEPARATOR, SLASH_IN_NAME) for one in reversed(found))
