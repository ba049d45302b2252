"""Validation of everything that enters an index. Inner code trusts its arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from .._internal.texts import STRING
from .._internal.types import Array, Floats, Ints, Words
from .._internal.validation import check_choice
from ..codes import BitLayout, Codes, as_codes, to_words
from ..errors import CodesMismatch, InvalidInput
from .ids import MOST_IDS, IdsLike, as_ids
from .lists import Column, ListColumn, kind_of
from .segment import Segment, read_only

__all__ = [
    "UNFAIR_SHARE",
    "kin_margins",
    "known_columns",
    "left_out",
    "new_ids",
    "query_words",
    "require_looks",
    "same_columns",
    "same_type",
    "unfair_mixture",
    "weighted_queries",
]

Columns = dict[str, Column]


UNFAIR_SHARE = 0.3  # twice the 15 % of the rows that `Codes.mapped_share` is measured with


def unfair_mixture(share: float) -> str:
    """Warning for an index in which mapped rows would be ranked before learned ones."""
    return (
        "Learned and mapped rows are in one index. With this model, mapped rows that are 15 % of the rows "
        f"take {share:.0%} of the first ten answers. Code all rows in one way: learned_codes(y, X) for rows "
        "with labels, or encode(X) for all; or fit with a smaller trust."
    )


def query_words(
    codes: Codes | npt.ArrayLike | None, n_bits: int, model_id: str | None, fields: BitLayout
) -> Words:
    """Codes of the right length, model and fields as words (n, W); bare arrays count as having them."""
    if codes is None:
        raise InvalidInput("No codes came", "packed codes, or margins", "Pass the queries")
    bare = not isinstance(codes, Codes)
    codes = as_codes(codes, n_bits if bare else None)
    if codes.n_bits != n_bits:
        raise CodesMismatch(
            f"Codes of {codes.n_bits} bits came to an index of {n_bits} bits",
            "codes of one length",
            "Encode with the model the index was made with",
        )
    if model_id and codes.model_id and model_id != codes.model_id:
        raise CodesMismatch(
            f"Codes of model {codes.model_id[:12]} came to an index of model {model_id[:12]}",
            "codes made by one model",
            "Encode with the model the index was made with",
        )
    if not bare and codes.fields != fields:
        raise CodesMismatch(
            f"Codes with {codes.fields} came to an index with {fields}",
            "codes whose bits count alike",
            "Encode with the model the index was made with",
        )
    return read_only(to_words(codes.packed))


def kin_margins(codes: object) -> Floats | None:
    """Margins (q, n_bits) with which kin bits count as usual and look-alike bits do not count.

    For queries whose look-alike bits are not known; None for others.
    """
    if not isinstance(codes, Codes) or codes.knows_looks or not codes.fields.alike:
        return None
    margins = np.where(codes.bits() > 0, 1.0, -1.0)
    margins[:, codes.fields.kin(codes.n_bits) :] = 0
    return margins


def require_looks(codes: object) -> None:
    """Refuse queries whose look-alike bits are not known: a radius would count them."""
    if kin_margins(codes) is not None:
        raise InvalidInput(
            "A radius came with codes of a view that has no look-alike bits",
            "codes with all bits known",
            "Use search(codes, k), or learn the look-alike bits with add_view(..., beside=X)",
        )


def weighted_queries(
    codes: Codes | npt.ArrayLike | None,
    margins: npt.ArrayLike,
    margins_of: str | None,
    n_bits: int,
    fields: BitLayout,
) -> tuple[Codes | npt.ArrayLike, Floats, Floats]:
    """The query codes, the weight of every bit of their words (q, 64 W), and the sum of the weights."""
    margins = np.asarray(margins, np.float64)
    if margins.ndim != 2 or margins.shape[1] != n_bits or not np.isfinite(margins).all():
        raise InvalidInput(
            f"The margins came with shape {margins.shape}, or are not finite",
            f"finite numbers of shape (queries, {n_bits})",
            "Pass the scores whose signs are the query bits",
        )
    if codes is None:
        codes = np.packbits(margins > 0, axis=1)
    elif len(codes) != len(margins):  # type: ignore[arg-type]
        raise InvalidInput(
            f"{len(margins)} rows of margins came with another number of codes", "one per query", "Pass both"
        )
    weights = np.zeros((len(margins), -(-n_bits // 64) * 64))
    weights[:, :n_bits] = _bit_weights(np.abs(margins), margins_of, fields)
    total = weights.sum(axis=1)
    return codes, weights, np.where(total > 0, total, 1.0)


def _bit_weights(margins: Floats, margins_of: str | None, fields: BitLayout) -> Floats:
    """What each bit of each query counts (q, n_bits): its field's weight, times its margin where named.

    Of two fields, each gets margins of mean 1 over the query's bits, so that their shares stay as they are.
    """
    n_bits = margins.shape[1]
    n_kin = fields.kin(n_bits)
    weights = np.tile(fields.weights(n_bits).astype(np.float64), (len(margins), 1))
    check_choice("margins_of", margins_of, (None, "kin", "alike"))
    for name, bits in (("kin", slice(n_kin)), ("alike", slice(n_kin, n_bits))):
        part = margins[:, bits]
        if margins_of in (None, name) and part.size:
            if 0 < n_kin < n_bits:
                mean = part.mean(axis=1, keepdims=True)
                part = part / np.where(mean > 0, mean, 1.0)
            weights[:, bits] *= part
    return weights


def left_out(
    exclude: object, n_queries: int, segments: Sequence[Segment]
) -> tuple[Array, Ints] | tuple[None, None]:
    """The ids to be left out, and the numbers of the queries they belong to."""
    if exclude is None:
        return None, None
    entries = list(exclude) if isinstance(exclude, (list, tuple)) else np.asarray(exclude).tolist()
    if not isinstance(entries, list) or len(entries) != n_queries:
        came = f"{len(entries)} entries" if isinstance(entries, list) else "one entry"
        raise InvalidInput(
            f"exclude came with {came} for {n_queries} queries",
            "an id, or None, for every query",
            "Pass as many entries as queries",
        )
    owners = np.array([number for number, entry in enumerate(entries) if entry is not None], np.int64)
    own = as_ids([entry for entry in entries if entry is not None], "ids to exclude")
    return same_type(own, segments), owners


def new_ids(ids: IdsLike | None, n_rows: int, next_id: int, segments: Sequence[Segment]) -> Array:
    """Ids for new rows: those given, or the next numbers."""
    if ids is None:
        if n_rows and segments and segments[0].ids.are_strings:
            raise InvalidInput("Rows came without ids", "string ids, as the index has", "Pass ids")
        if n_rows and next_id + n_rows > MOST_IDS:
            raise InvalidInput(
                f"There are no numbers for {n_rows} rows after the id {next_id - 1}",
                "ids up to 2**63 - 1",
                "Pass ids for these rows",
            )
        return np.arange(next_id, next_id + n_rows, dtype=np.int64)
    values = as_ids(ids)
    if len(values) != n_rows:
        raise InvalidInput(f"{len(values)} ids came with {n_rows} codes", "one id per code", "Pass both")
    return same_type(values, segments)


def same_type(ids: Array, segments: Sequence[Segment]) -> Array:
    """Raise if numbers and strings are mixed."""
    if segments and len(ids) and (ids.dtype == STRING) != segments[0].ids.are_strings:
        raise InvalidInput(
            "Numbers and strings came together as ids",
            "strings" if segments[0].ids.are_strings else "integers",
            "Pass ids as the index has them",
        )
    return ids


def same_columns(columns: Columns, known: Mapping[str, Column] | None) -> Columns:
    """The payload columns in the order of the index; other columns or types than those known are refused."""
    if known is None:
        return columns
    columns = {name: _retyped(column, known.get(name)) for name, column in columns.items()}
    untyped = {name for name, column in known.items() if _has_no_type(column)}
    untyped &= {name for name, column in columns.items() if isinstance(column, ListColumn)}
    kinds = [
        {name: name in untyped or kind_of(column) for name, column in some.items()}
        for some in (known, columns)
    ]
    if kinds[0] != kinds[1]:
        names = ", ".join(f"{name} ({kind_of(column)})" for name, column in known.items())
        came = ", ".join(f"{name} ({kind_of(column)})" for name, column in columns.items())
        if not came:
            raise InvalidInput(
                "The rows came without payload, and the index has payload columns",
                f"those of the index: {names}",
                "Pass these columns with the same types (--payload on the command line)",
            )
        if not names:
            raise InvalidInput(
                f"The payload has the columns {came}, and the index has no payload",
                "rows without payload",
                "Leave it out, or build the index again with payload",
            )
        raise InvalidInput(
            f"The payload has the columns {came}",
            f"those of the index: {names}",
            "Pass the same columns with the same types",
        )
    return {name: columns[name] for name in known}


def _has_no_type(column: Column) -> bool:
    """Whether it has lists and all of them are empty."""
    return isinstance(column, ListColumn) and not len(column.values)


def known_columns(segments: Sequence[Segment]) -> dict[str, Column]:
    """Each payload column in the first segment where its type is known."""
    return {name: _known(name, segments) for name in segments[0].payload}


def _known(name: str, segments: Sequence[Segment]) -> Column:
    columns = [segment.payload[name] for segment in segments]
    return next((column for column in columns if not _has_no_type(column)), columns[0])


def _retyped(column: Column, known: Column | None) -> Column:
    """Lists that are all empty have no type of their own: they take that of the index."""
    if isinstance(column, ListColumn) and isinstance(known, ListColumn) and not len(column.values):
        return ListColumn(known.values[:0].copy(), column.ends)
    return column
