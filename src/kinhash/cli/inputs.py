"""Files that commands take and leave: opened by `kinhash.data`, written all or nothing."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from .._internal.files import expect_plain_file, replace_file
from .._internal.texts import STRING
from .._internal.types import Array, Features
from .._internal.validation import check_finite, check_rows
from ..codes import Codes
from ..data import ID_NAMES, Links, Matrix, read_table, split_column
from ..errors import FileProblem, InvalidInput, warn
from ..pairs import rows_of_ids
from .terminal import bar, counted

if TYPE_CHECKING:
    from ..index import HammingIndex

BLOCK_ROWS = 16_384


def paths_of(*specs: str | None) -> list[str]:
    """The files that options name, without their columns."""
    return [split_column(spec)[0] for spec in specs if spec]


def expect_output(path: str | None, *inputs: str | None) -> None:
    """Refuse, before the work starts, a result that could not be written or would overwrite an input."""
    if path is None:
        return
    expect_plain_file(path)
    target = Path(path)
    folder, reason = target.resolve().parent, None
    if not folder.is_dir():
        reason = f"cannot be written: there is no folder {folder}"
    elif not os.access(folder, os.W_OK):
        reason = f"cannot be written: the folder {folder} is read-only"
    if reason:
        raise FileProblem(f"{path} {reason}", "a file in a folder you can write to", "Choose another place")
    for source in paths_of(*inputs):
        if target.exists() and Path(source).exists() and target.samefile(source):
            raise FileProblem(f"{path} is also an input", "another file for the result", "Rename the output")


# ---- models, codes, indexes --------------------------------------------------------------------


def open_model(spec: str) -> Any:
    """The hasher of ``MODEL[:VIEW]``."""
    from ..files import load

    path, colon, view = spec.rpartition(":")
    if not colon or os.path.lexists(spec):
        path, view = spec, ""
    hasher = load(path)
    if not hasattr(hasher, "encode"):
        kind = type(hasher).__name__
        raise FileProblem(
            f"{path} holds {kind}, not a model", "a file that `kinhash fit` wrote", "Pass the model"
        )
    return hasher.view(view or None)


def open_codes(path: str, n_bits: int | None = None) -> Codes:
    """Codes from a file of ours, or packed bytes from ``.npy``, which carry no model id."""
    from ..codes import as_codes, load_codes

    if not path.lower().endswith(".npy"):
        return as_codes(load_codes(path), n_bits)
    codes = as_codes(np.asarray(read_table(path).features().read()), n_bits)
    warn(f"{path} carries no model id and no digest, so nothing vouches for its codes.")
    return codes


def open_database(path: str, n_bits: int | None = None) -> Codes | HammingIndex:
    """Codes in the order of their rows, or an index."""
    from .._internal.container import container_kind
    from ..index import HammingIndex

    if path.lower().endswith(".npy") or container_kind(path) == "codes":
        return open_codes(path, n_bits)
    return HammingIndex.load(path)


def write_codes(codes: Codes, path: str) -> None:
    """A codes file, or for the extension ``.npy`` the packed bytes alone. All or nothing."""
    from ..codes import save_codes

    if not path.lower().endswith(".npy"):
        save_codes(codes, path)
        return
    content = io.BytesIO()
    np.save(content, codes.packed, allow_pickle=False)
    # A copy: with Python 3.12.1, a buffer of BytesIO that is left in a traceback ends the process.
    replace_file(path, [memoryview(content.getvalue())])


# ---- columns by their roles --------------------------------------------------------------------


def kind_of_ids(index: HammingIndex) -> str | None:
    """As what a file of ids is read for this index; None takes what the file holds."""
    if not len(index):
        return None
    return "number" if index.ids.dtype.kind == "i" else "text"


def read_ids(spec: str | None, n_rows: int | None, kind: str | None = None) -> Array | None:
    """Ids of the rows, if there are any."""
    return None if spec is None else read_table(spec).ids(kind, n_rows)


def read_links(
    spec: str, n_ends: int, n_rows: int, more: Sequence[str] = (), ids: Array | None = None
) -> Links:
    """Lines of rows that belong together: row numbers, or where rows have ids, ids in columns with names."""
    table = read_table(spec)
    if ids is None:
        return table.links(n_ends, n_rows, more)
    names = table.asked or table.names
    if not n_ends <= len(names) <= n_ends + len(more):
        raise InvalidInput(
            f"{table.path} has {len(names)} columns with names",
            f"{n_ends} columns of ids{', and then ' + ', '.join(more) if more else ''}",
            "Give it a first line of names, such as left,right, or name its columns: FILE:COLUMN,COLUMN",
        )
    kind = "number" if ids.dtype.kind in "iu" else "text"
    each = [read_table(table.path, [name]).ids(kind).tolist() for name in names[:n_ends]]
    rows = np.stack([rows_of_ids(one, ids, str(table.path)) for one in each], axis=1)
    rest = np.zeros((len(rows), 0))
    if len(names) > n_ends:
        rest = np.asarray(read_table(table.path, names[n_ends:]).features().read(), np.float64)
    found = dict(zip(more, rest.T, strict=False))
    return Links(rows, found.get("verdict"), found.get("weight"))


def read_labels(labels: str | None, tags: str | None, n_rows: int | None = None) -> Any:
    """What ``--labels`` or ``--tags`` names: classes or sets, a row each; None without either."""
    if labels and tags:
        raise click.UsageError("Pass --labels or --tags, not both.")
    spec = labels or tags
    if spec is None:
        return None
    table = read_table(spec)
    y = table.tags(n_rows) if tags else table.labels(n_rows)
    size = y.shape[0] if hasattr(y, "shape") else len(y)
    if n_rows is not None and size != n_rows:
        remedy = f"If its first line is a name of the column, pass {spec}:NAME" if size == n_rows + 1 else ""
        raise InvalidInput(
            f"{spec} holds {size:,} labels for {n_rows:,} rows", "one label or set of tags per row", remedy
        )
    return as_rows(y)


def as_rows(y: Any) -> Any:
    """Labels as something that an array of row numbers selects from."""
    if hasattr(y, "shape"):
        return y
    rows = np.empty(len(y), object)
    rows[:] = y
    return rows


def known_rows(y: Any) -> Array:
    """Which rows (n,) have a label; empty sets of tags count as known."""
    if y.ndim == 2:
        return np.ones(y.shape[0], bool)
    if y.dtype != object:
        return np.asarray(y == y) & (y != "")
    return np.array([value is not None and value == value for value in y.tolist()], bool)


def read_payload(
    spec: str | None, n_rows: int, ids: Array | None, known: Mapping[str, Any] | None = None
) -> tuple[dict[str, Array] | None, tuple[str, ...]]:
    """Columns of ``--payload FILE[:COLUMN,...]``, and the names of those that the index does not have.

    Without names, all columns; for an index with payload (``known``), those it has. A column called id must
    then hold the ids of the rows in their order, and is left out.
    """
    if spec is None:
        return None, ()
    table, own = read_table(spec), tuple(known or ())
    wanted: list[str] | None = None
    left_out: tuple[str, ...] = ()
    if own and table.asked is None:
        extra = [name for name in table.names if name not in own]
        left_out = tuple(name for name in extra if name.lower() not in ID_NAMES)
        wanted = [*own, *(name for name in extra if name not in left_out)]
    texts = [name for name, column in (known or {}).items() if getattr(column, "dtype", None) == STRING]
    if ids is not None and ids.dtype.kind not in "iu":  # names, which may look like numbers
        texts += [name for name in table.names if name.lower() in ID_NAMES]
    found = table.payload(texts, wanted)
    check_rows(len(next(iter(found.values()))), f"rows in {table.path}", n_rows, "codes")
    if table.asked is None and ids is not None:
        for name in [name for name in found if name.lower() in ID_NAMES and name not in own]:
            _expect_same_ids(table.path, name, found.pop(name), ids)
    return {name: _as_known(column, (known or {}).get(name)) for name, column in found.items()}, left_out


def _expect_same_ids(path: Path, name: str, column: Array, ids: Array) -> None:
    """Refuse a payload in another order than the rows."""
    for row, (here, there) in enumerate(zip(map(str, column.tolist()), map(str, ids.tolist()), strict=True)):
        if here.strip() != there.strip():
            raise InvalidInput(
                f"Row {row} of {path} has the {name} {here!r}, and the code there has {there!r}",
                "the rows of the payload in the order of the codes",
                f"Sort the file, or name its columns: {path}:COLUMN,COLUMN",
            )


def _as_known(column: Array, known: object) -> Array:
    """Numbers in the type of the index where none of them changes."""
    if not isinstance(known, np.ndarray) or known.dtype.kind not in "biuf" or column.dtype.kind not in "biuf":
        return column
    with np.errstate(all="ignore"):
        cast = column.astype(known.dtype)
    same = np.array_equal(cast, column, equal_nan="f" in column.dtype.kind + cast.dtype.kind)
    return cast if (column.dtype == bool) == (cast.dtype == bool) and same else column


# ---- encoding ----------------------------------------------------------------------------------


def columns_beside(features: str, *specs: str | None) -> list[str]:
    """Columns of the file of features that other options name: they are no features."""
    path, named = split_column(features)[0], [split_column(spec) for spec in specs if spec]
    return [name for file, columns in named if file == path for name in columns or ()]


def read_features(spec: str | None, n_rows: int, what: str) -> Features:
    """All rows of a file of features, if there is one: a row for each of ``n_rows`` rows or codes (``what``)."""
    if spec is None:
        return None
    X = read_table(spec).features().read()
    check_rows(X.shape[0], f"rows in {spec}", n_rows, what)
    with naming(spec):
        check_finite(X)
    return X


@contextmanager
def naming(spec: str) -> Iterator[None]:
    """Name the file in errors about what it holds."""
    try:
        yield
    except InvalidInput as error:
        if type(error) is not InvalidInput or spec in error.wrong:
            raise
        raise InvalidInput(f"{spec}: {error.wrong}", error.expected, error.remedy) from error


def matrix_for(hasher: Any, spec: str, without: Iterable[str]) -> Matrix:
    """The features of a file; a table with names of columns is read by the names that the model knows."""
    names = [str(name) for name in getattr(hasher, "feature_names_in_", [])]
    table = read_table(spec)
    if names and table.asked is None and table.written and table.names:
        return read_table(table.path, names).features()
    matrix, width = table.features(without), hasher.n_features_in_
    if names and matrix.column_names is not None and list(matrix.column_names) != names:
        raise InvalidInput(
            f"{spec} has other columns than the model",
            f"the columns of the fit in their order, {', '.join(names[:8])}",
            "Pass a file instead of a pipe: it is read by the names of its columns",
        )
    if matrix.n_columns not in (None, width):
        views = getattr(hasher, "views_", {})
        fitting = [name for name, one in views.items() if one.n_features_in_ == matrix.n_columns]
        raise InvalidInput(
            f"{spec} has {counted(int(matrix.n_columns or 0), 'column')}",
            f"{width}, as the model was fitted on",
            f"Pass the view, too: MODEL:{fitting[0]}"
            if fitting
            else "Encode the features the model was fitted on",
        )
    return matrix


def encode_file(
    model: str,
    spec: str,
    ids: str | None = None,
    id_kind: str | None = None,
    y: Any = None,
    margins: bool = False,
) -> tuple[Codes, Array | None]:
    """Codes of all rows of a file or pipe, block by block; and the margins of their bits, if they are asked for.

    With labels ``y`` (n,), rows that have one get the learned code of their label. Peak memory: the codes and a few
    blocks of rows.
    """
    hasher = open_model(model)
    matrix = matrix_for(hasher, spec, columns_beside(spec, ids))
    parts: list[Codes] = []
    scores: list[Array] = []
    done = 0
    with bar("encoding", matrix.n_rows) as move:
        for block in matrix.blocks(BLOCK_ROWS):
            check_finite(block, done)  # names the row of the file, not of the block
            begin, done = done, done + block.shape[0]
            if y is not None and done > y.shape[0]:
                break
            with naming(spec):
                parts.append(codes_with_labels(hasher, block, None if y is None else y[begin:done]))
                if margins:
                    scores.append(hasher.decision_function(block))
            move(done, None)
    if y is not None and done != y.shape[0]:
        raise InvalidInput(
            f"{spec} has {done:,} rows{' or more' if done > y.shape[0] else ''}, and there are {y.shape[0]:,} labels",
            "a label for each row",
        )
    found = joined(parts)
    return replace(found, ids=read_ids(ids, len(found), id_kind)), np.concatenate(scores) if margins else None


def codes_with_labels(hasher: Any, X: Features, y: Any) -> Codes:
    """Learned codes of the rows that have a label, mapped ones of the others."""
    known = np.zeros(X.shape[0], bool) if y is None else known_rows(y)
    if y is not None and known.all():
        return hasher.learned_codes(X=X, y=y)
    codes = hasher.encode(X)
    if known.any():
        rows = np.flatnonzero(known)
        packed = codes.packed.copy()
        packed[rows] = hasher.learned_codes(X=X[rows], y=y[rows]).packed
        codes = replace(codes, packed=packed, learned=known)
    return codes


def joined(parts: list[Codes]) -> Codes:
    """Codes of one model, one after the other."""
    packed = np.concatenate([part.packed for part in parts])
    return replace(parts[0], packed=packed, learned=np.concatenate([part.learned_rows() for part in parts]))
