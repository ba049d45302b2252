"""The work behind `kinhash fit`, without a word to the terminal."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._internal.types import Ints
from .._internal.validation import check_finite
from ..codes import Codes
from ..errors import DamagedFile, InvalidInput, UnknownName
from ..metrics import (
    FEWEST_PAIRS,
    FEWEST_ROWS,
    SHARE_HELD_OUT,
    Comparison,
    Pairs,
    compare_labels,
    compare_pairs,
    hold_out_pairs,
)
from ..metrics import verdict as sentences
from ..supervision import Labels
from .files import read_ids, write_codes
from .held_out import USUAL, HeldOut, read_times, split_rows
from .reading import columns_used, summary, warn_of_columns
from .supervision_options import read_supervision, require_one_kind
from .text_table import settled
from .views import learn_views, read_views, view_lines

__all__ = ["Done", "Request", "make_hasher", "read_features", "run"]

# Rows held out, how to compare by them, and why there is no verdict where there is none.
Learnt = tuple[Ints, Callable[[], Comparison] | None, str | None]


@dataclass(frozen=True)
class Request:
    """The options of the command line."""

    features: str
    output: str
    codes: str | None = None
    labels: str | None = None
    tags: str | None = None
    pairs: str | None = None
    views: tuple[str, ...] = ()
    label_column: str | None = None
    leave_out: tuple[str, ...] = ()
    tag_separator: str | None = None
    method: str = "EnergyHasher"
    n_bits: int = 64
    kinship: str | None = None
    alike: float | None = None
    kin_weight: int | None = None
    trust: float | None = None
    settings: tuple[str, ...] = ()
    seed: int = 0
    held_out: HeldOut = USUAL
    held_out_by: str | None = None
    array: str | None = None
    ids: str | None = None
    id_column: str | None = None
    header: bool | None = None


@dataclass(frozen=True)
class Done:
    """What came out: the facts for ``--json``, and the verdict if there is one."""

    result: dict[str, Any]
    verdict: Comparison | None


def run(request: Request, listener: Callable[[str], None], tell: Callable[[str], None]) -> Done:
    """Read, keep rows out, fit once, judge, save. The model is the one that was judged.

    ``listener`` hears of every stage, ``tell`` what was read before the work begins.
    """
    request = settled(request)
    require_one_kind(request.labels, request.tags, request.pairs, request.label_column)
    hasher = make_hasher(request)
    clock = [time.perf_counter()]
    X, names = read_features(request)
    supervision = read_supervision(
        request.features, request.labels, request.tags, request.pairs, request.label_column,
        request.tag_separator, X.shape[0],
    )  # fmt: skip
    views = read_views(request.views, X.shape[0])
    id_file = request.ids or (request.features if request.id_column else None)
    ids = read_ids(id_file, request.id_column, X.shape[0])
    read = summary(X, supervision) + columns_used(request.features, names, request.array)
    tell(read)
    warn_of_columns(X, names)
    clock.append(time.perf_counter())
    hasher.listen(lambda stage: listener(stage) if stage else None)
    rng = np.random.default_rng(request.seed)
    if isinstance(supervision, Pairs):
        _require_random(request)
        learned = _learn_pairs(hasher, X, supervision, request.held_out.count, rng)
    else:
        times = _times(request, X.shape[0])
        learned = _learn_labels(hasher, X, supervision, request.held_out, times, rng)
    kept_out, judge, why = learned
    out_of_views = kept_out if isinstance(supervision, Labels) else _some_rows(X.shape[0], request, rng)
    known = supervision if isinstance(supervision, Labels) else None
    crossings = learn_views(hasher, X, views, known, out_of_views)
    if names is not None:
        hasher.feature_names_in_ = np.array(names, object)
    clock.append(time.perf_counter())
    listener("judging")
    verdict = judge() if judge is not None else None
    clock.append(time.perf_counter())
    listener("saving")
    hasher.save(request.output)
    n_mapped = 0
    if request.codes is not None:
        labels = supervision if isinstance(supervision, Labels) else None
        codes, n_mapped = _all_codes(hasher, X, labels, kept_out, ids)
        write_codes(codes, request.codes)
    result = {
        "model": request.output,
        "model_id": hasher.model_id_,
        "method": request.method,
        "read": read,
        "n_bits": int(hasher.n_bits),
        "rows": int(X.shape[0]),
        "columns": int(X.shape[1]),
        "held_out": _how_held_out(request, len(kept_out)),
        "training_rows": int(X.shape[0] - len(kept_out)),
        "unique_codes": hasher.report_.unique_codes,
        "codes_are": hasher.report_.codes,
        "codes": request.codes,
        "views": [one.as_dict() for both in crossings for one in both],
        "view_sentences": view_lines(crossings),
        "codes_note": _codes_note(hasher.report_.codes, n_mapped),
        "verdict": {**verdict.as_dict(), "sentences": sentences(verdict)} if verdict else None,
        "why_no_verdict": why,
        "seconds": dict(zip(("reading", "fit", "judging"), np.diff(clock).tolist(), strict=True)),
    }
    return Done(result, verdict)


def _value(text: str) -> Any:
    """A number or another value of JSON, or the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _kinship(name_or_path: str) -> Any:
    """The name of a kinship, or a matrix between classes from a file."""
    from ..datasets import open_matrix
    from ..supervision import KINSHIPS

    if name_or_path in KINSHIPS:
        return name_or_path
    if not os.path.exists(name_or_path):
        raise UnknownName.among("kinship or file of that name", name_or_path, KINSHIPS)
    return open_matrix(name_or_path).read()


def make_hasher(request: Request) -> Any:
    """The method by its name, with its parameters checked before anything is read."""
    from ..hashers import HASHERS, with_settings

    chosen: dict[str, Any] = {"n_bits": request.n_bits, "random_state": request.seed}
    if request.kinship is not None:
        chosen["kinship"] = _kinship(request.kinship)
    for name in ("alike", "kin_weight", "trust"):
        if getattr(request, name) is not None:
            chosen[name] = getattr(request, name)
    for setting in request.settings:
        name, _, text = setting.partition("=")
        name = name.strip().replace(".", "__")
        chosen[name] = _value(text)
    hasher = with_settings(HASHERS[request.method](), chosen)
    hasher.check_parameters()
    if not hasher.storable:
        raise InvalidInput(
            f"{request.method} makes models that cannot be written to a file",
            "a method whose model is plain arrays",
            "Use it from Python and keep it with joblib, or choose another --method",
        )
    return hasher


def read_features(request: Request) -> tuple[Any, tuple[str, ...] | None]:
    """All rows, without the columns that are labels, ids or left out; and the names of the columns."""
    from ..datasets import open_matrix

    no_features = set(request.leave_out)
    if request.held_out_by is not None and not os.path.lexists(request.held_out_by):
        no_features.add(request.held_out_by)
    if request.label_column and (request.labels or request.tags or request.pairs) in (None, request.features):
        no_features.add(request.label_column)
    if request.id_column and request.ids in (None, request.features):
        no_features.add(request.id_column)
    matrix = open_matrix(
        request.features, name=request.array, header=request.header, without=sorted(no_features)
    )
    try:
        X = matrix.read()
    except DamagedFile as error:
        if matrix.column_names is None:
            raise
        remedy = "Columns that are no features: --label-column NAME, --id-column NAME, --leave-out NAME"
        raise DamagedFile(error.wrong, error.expected, remedy) from error
    check_finite(X)
    return X, matrix.column_names


def _require_random(request: Request) -> None:
    if request.held_out.last or request.held_out_by is not None:
        raise InvalidInput(
            "Pairs cannot be held out by their order",
            "labels or tags, whose rows come one after the other",
            "Leave --held-out-by and last: away, or keep the later pairs out of the file",
        )


def _times(request: Request, n_rows: int) -> Any:
    """When rows came, where that decides which are held out."""
    if request.held_out_by is None:
        return None
    own = not os.path.lexists(request.held_out_by)
    path, column = (request.features, request.held_out_by) if own else (request.held_out_by, None)
    return read_times(path, column, n_rows)


def _learn_labels(
    hasher: Any, X: Any, labels: Labels, wanted: HeldOut, times: Any, rng: np.random.Generator
) -> Learnt:
    train, kept_out, queries = split_rows(labels, wanted, times, rng)
    hasher.fit(*((X[train], labels[train]) if len(kept_out) else (X, labels)))
    if len(queries):
        return kept_out, lambda: compare_labels(hasher, X, labels, train, queries, rng), None
    why = f"Nothing was held out (that takes {FEWEST_ROWS} rows), so there is no verdict."
    if wanted.count == 0:
        why = "Nothing was held out, as asked, so there is no verdict."
    elif len(kept_out):
        why = "None of the held-out rows has a label, so there is no verdict."
    return kept_out, None, why


def _learn_pairs(hasher: Any, X: Any, pairs: Pairs, most: int, rng: np.random.Generator) -> Learnt:
    from ..supervision import from_pairs

    from_pairs(pairs.left, pairs.right, pairs.verdict, X.shape[0])  # errors count pairs as the file does
    learned, kept_out = hold_out_pairs(pairs, SHARE_HELD_OUT if most else 0.0, rng)
    hasher.fit_pairs(X, learned.left, learned.right, learned.verdict)
    none = np.empty(0, np.int64)
    if kept_out is None:
        why = f"Nothing was held out (that takes {FEWEST_PAIRS} pairs of each kind), so there is no verdict."
        return none, None, why
    return none, lambda: compare_pairs(hasher, X, learned, kept_out, rng), None


def _some_rows(n_rows: int, request: Request, rng: np.random.Generator) -> Ints:
    """Rows to judge views by, where pairs are kept out of the fit and not rows."""
    most = min(request.held_out.count, int(SHARE_HELD_OUT * n_rows)) if request.views else 0
    return np.sort(rng.permutation(n_rows)[:most])


def _all_codes(hasher: Any, X: Any, labels: Labels | None, kept_out: Ints, ids: Any) -> tuple[Codes, int]:
    """One code per row of the file, and how many of them are mapped beside learned ones.

    Held-out rows get the learned codes of their labels, as the others have, where the model has such codes:
    among learned codes mapped ones may be nearer to every query.
    """
    codes = hasher.codes_
    if not len(kept_out):
        return replace(codes, ids=ids), 0
    whole = np.empty((X.shape[0], codes.packed.shape[1]), np.uint8)
    fitted = np.ones(X.shape[0], bool)
    fitted[kept_out] = False
    whole[fitted] = codes.packed
    known, mapped = hasher.fitted_.labels, kept_out
    if labels is not None and known is not None:
        able = known.knows(labels[kept_out])
        by_label, mapped = kept_out[able], kept_out[~able]
        if len(by_label):
            whole[by_label] = hasher.learned_codes(labels[by_label], X[by_label]).packed
    if len(mapped):
        whole[mapped] = hasher.encode(X[mapped]).packed
    return replace(codes, packed=whole, ids=ids), len(mapped)


def _how_held_out(request: Request, n_kept_out: int) -> str:
    if request.held_out_by is not None:
        return f"the {n_kept_out:,} latest rows by {request.held_out_by}"
    return f"the last {n_kept_out:,} rows" if request.held_out.last else f"{n_kept_out:,} rows at random"


def _codes_note(kind: str, n_mapped: int) -> str:
    kept = f"; mapped for {n_mapped:,} of the held-out rows" if n_mapped and kind == "learned" else ""
    return f" ({kind}{kept})"
