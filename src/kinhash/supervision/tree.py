"""Labels in a tree: the same leaf, the same branch, nothing in common, and every level in between.

A label is a path from the root, "sport/football/shoes" or ("sport", "football", "shoes"), of any depth; or a
class or tag whose parents a table names. Every level is a labeling of its own, and S is the mean of what the
levels say: with one path a row and l of L levels in common, ``S = 2 l / L − 1``. A tree of one level is what
classes and tags are without a tree. Paths that end early are padded below their last name, and a level counts
by the share of paths that reach it: one path of ten levels must not make the others look alike.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from .._internal.types import Array, Bools, Floats, Ints, LabelsLike
from ..errors import InvalidInput, KinhashWarning
from .labeled import ClassSupervision, Parents, TagSupervision
from .labels import Labels, is_missing, read_labels, unwrapped

__all__ = [
    "TreeSupervision",
    "TreeTagSupervision",
    "are_paths",
    "from_paths",
    "labels_of_levels",
    "read_paths",
]

SEPARATOR = "/"
SLASH_IN_NAME = "\u2215"  # division slash: "a/b" and "a b" of a table of parents are two names
OTHER_MARKS = (">", "|", "\\", ":", ";", ".", ",")  # that may separate the levels of paths
SHOWN = 6  # names of a circle
Path = tuple[str, ...]


class TreeSupervision(ClassSupervision):
    """Classes are leaves; ``levels`` (K, L) names the node of each leaf on every level, itself last."""

    levels: Ints

    def __init__(self, labels: Labels, levels: Ints, weights: Floats) -> None:
        super().__init__(labels)
        self.levels = levels
        self.weights = weights  # of levels, (L,), sum 1

    def similarity(self, left: Ints, right: Ints) -> Floats:
        out = np.full((len(left), len(right)), -1.0)
        for nodes, weight in zip(self.levels.T, self.weights, strict=True):
            out += 2 * weight * (nodes[left][:, None] == nodes[right])
        return out

    def pairwise(self, left: Ints, right: Ints) -> Floats:
        return 2 * ((self.levels[left] == self.levels[right]) @ self.weights) - 1

    def product(self, left: Ints, right: Ints, values: Floats) -> Floats:
        """By sums over nodes: time and memory grow with leaves times levels."""
        out = np.tile(-values.sum(axis=0), (len(left), 1))
        for nodes, weight in zip(self.levels.T, self.weights, strict=True):
            sums = np.zeros((int(nodes.max()) + 1, values.shape[1]))
            np.add.at(sums, nodes[right], values)
            out += 2 * weight * sums[nodes[left]]
        return out

    def of_rows(self, rows: Ints) -> TreeSupervision:
        kept = self._kept(rows)
        return TreeSupervision(self._labels_of(rows, kept), self.levels[kept], self.weights)

    @property
    def between(self) -> Floats:  # type: ignore[override]
        """S of all leaves (K, K); asked for only where there are few, see `suited_to`."""
        everyone = np.arange(self.n_groups)
        return self.similarity(everyone, everyone)

    def suited_to(self, n_classes: int) -> ClassSupervision:
        """Where there are more leaves than that, classes whose codewords follow the tree."""
        return self if self.n_groups <= n_classes else ClassSupervision(self.labels, levels=self.levels)


class TreeTagSupervision(TagSupervision):
    """Tags are nodes, of level ``level_of_tag`` (t,). S is the mean over levels of the graded similarity."""

    def __init__(self, labels: Labels, level_of_tag: Ints, weights: Floats) -> None:
        super().__init__(labels, graded=True)
        self.level_of_tag = level_of_tag
        self.weights = weights  # of levels, (L,), sum 1

    def similarity(self, left: Ints, right: Ints) -> Floats:
        return self._mean(lambda sets: self._block(sets, left, right))

    def pairwise(self, left: Ints, right: Ints) -> Floats:
        return self._mean(lambda sets: self._pairs(sets, left, right))

    def _mean(self, of_level: Callable[[sp.csr_array], Floats]) -> Floats:
        levels = range(int(self.level_of_tag[-1]) + 1)
        found = [of_level(sp.csr_array(self.tag_sets[:, self.level_of_tag == level])) for level in levels]
        mean: Floats = sum(weight * part for weight, part in zip(self.weights, found, strict=True))
        return mean

    def of_rows(self, rows: Ints) -> TreeTagSupervision:
        return TreeTagSupervision(self.labels[rows], self.level_of_tag, self.weights)


def from_paths(
    y: LabelsLike, n_rows: int | None, parents: Parents | None
) -> TreeSupervision | TreeTagSupervision:
    """Supervision from paths, or from classes or tags and the parent of each."""
    labels, levels, weights = read_paths(y, n_rows, parents)
    if len(weights) == 1:
        warnings.warn(_one_level_warning(labels, parents), KinhashWarning, stacklevel=6)
    kind = TreeTagSupervision if labels.is_tags else TreeSupervision
    return kind(labels, levels, weights)


def _one_level_warning(labels: Labels, parents: Parents | None) -> str:
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
    """Labels named by paths, the tree (`TreeSupervision.levels`, `TreeTagSupervision.level_of_tag`), and the
    weights of its levels. The tree has ``n_levels`` or more: those of the fit, where these are other rows.

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
    if n_rows is not None and len(given) != n_rows:
        raise InvalidInput(
            f"X has {n_rows} rows and there are paths for {len(given)}",
            "one path, or a set of them, per row",
            "Pass both",
        )
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
