"""The work behind `kinhash fit`, without a word to the terminal."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._internal.types import Array, Facts, Features, Ints, Rng
from .._internal.validation import check_finite
from ..errors import DamagedFile, InvalidInput
from ..metrics import SHARE_HELD_OUT, Comparison
from ..metrics import verdict as sentences
from .files import read_ids, write_codes
from .held_out import USUAL, HeldOut, read_times
from .learning import all_codes, learn_between, learn_labels, named_as_fitted
from .pair_files import read_between
from .reading import columns_used, summary, warn_of_columns
from .supervision_options import read_kinship, read_supervision, require_some_kind
from .text_table import settled
from .views import learn_views, read_views, view_lines

if TYPE_CHECKING:
    from ..hashers import Hasher

__all__ = ["Done", "Request", "make_hasher", "read_features", "run"]


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
    triplets: str | None = None
    similarity: str | None = None
    label_weight: float = 1.0
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

    result: Facts
    verdict: Comparison | None


def run(request: Request, listener: Callable[[str], None], tell: Callable[[str], None]) -> Done:
    """Read, keep rows out, fit once, judge, save. The model is the one that was judged.

    ``listener`` is called with the name of every stage, ``tell`` with a summary of what was read.
    """
    request = settled(request)
    require_some_kind(request)
    hasher = make_hasher(request)
    clock = [time.perf_counter()]
    X, names = read_features(request)
    between, labels = read_between(request, X.shape[0]), None
    if between is None or request.labels or request.tags or request.label_column:
        labels = read_supervision(
            request.features, request.labels, request.tags, request.label_column, request.tag_separator,
            X.shape[0],
        )  # fmt: skip
    views = read_views(request.views, X.shape[0])
    id_file = request.ids or (request.features if request.id_column else None)
    ids = read_ids(id_file, request.id_column, X.shape[0])
    read = summary(X, labels, None if between is None else between.read)
    read += columns_used(request.features, names, request.array)
    tell(read)
    warn_of_columns(X, names)
    clock.append(time.perf_counter())
    hasher.listen(lambda stage: listener(stage) if stage else None)
    rng = np.random.default_rng(request.seed)
    if between is not None:
        _require_random(request)
        learned = learn_between(hasher, X, between, labels, request, rng)
    else:
        assert labels is not None
        learned = learn_labels(hasher, X, labels, request, _times(request, X.shape[0]), rng)
    kept_out = learned.kept_out
    out_of_views = kept_out if between is None or len(kept_out) else _some_rows(X.shape[0], request, rng)
    crossings = learn_views(hasher, X, views, labels, out_of_views)
    if names is not None:
        hasher.feature_names_in_ = np.array(names, object)
    clock.append(time.perf_counter())
    listener("judging")
    verdict = learned.judge() if learned.judge is not None else None
    clock.append(time.perf_counter())
    listener("saving")
    hasher.save(request.output)
    codes_are, n_mapped = _codes_to_write(hasher, verdict), 0
    if request.codes is not None:
        codes, n_mapped = all_codes(hasher, X, named_as_fitted(hasher, labels), kept_out, ids)
        if codes_are == "mapped" and codes.learned:
            codes, n_mapped = hasher.encode(X, ids=ids), 0
        write_codes(codes, request.codes)
    result = {
        "model": request.output,
        "model_id": hasher.model_id_,
        "method": request.method,
        "read": read,
        "n_bits": int(hasher.n_bits),
        "rows": int(X.shape[0]),
        "columns": int(X.shape[1]),
        "held_out": learned.held_out or _how_held_out(request, len(kept_out)),
        "training_rows": int(X.shape[0] - len(kept_out)),
        "unique_codes": hasher.report_.unique_codes,
        "codes_are": hasher.report_.codes,
        "codes": request.codes,
        "views": [one.as_dict() for both in crossings for one in both],
        "view_sentences": view_lines(crossings),
        "codes_note": _codes_note(codes_are, n_mapped),
        "verdict": {**verdict.as_dict(), "sentences": sentences(verdict)} if verdict else None,
        "why_no_verdict": learned.why,
        "seconds": dict(zip(("reading", "fit", "judging"), np.diff(clock).tolist(), strict=True)),
    }
    return Done(result, verdict)


def _value(text: str) -> object:
    """A number or another value of JSON, or the text itself."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def make_hasher(request: Request) -> Hasher:
    """The method by its name, with its parameters checked before anything is read."""
    from ..hashers import HASHERS, with_settings

    chosen: Facts = {"n_bits": request.n_bits, "random_state": request.seed}
    if request.kinship is not None:
        chosen["kinship"] = read_kinship(request.kinship)
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


def read_features(request: Request) -> tuple[Features, tuple[str, ...] | None]:
    """All rows, without the columns that are labels, ids or left out; and the names of the columns."""
    from ..datasets import open_matrix

    no_features = set(request.leave_out)
    if request.held_out_by is not None and not os.path.lexists(request.held_out_by):
        no_features.add(request.held_out_by)
    if request.label_column and (request.labels or request.tags) in (None, request.features):
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
            "Pairs or triplets cannot be held out by their order",
            "labels or tags, whose rows come one after the other",
            "Leave --held-out-by and last: away, or keep the later ones out of the file",
        )


def _times(request: Request, n_rows: int) -> Array | None:
    """When rows came, where that decides which are held out."""
    if request.held_out_by is None:
        return None
    own = not os.path.lexists(request.held_out_by)
    path, column = (request.features, request.held_out_by) if own else (request.held_out_by, None)
    return read_times(path, column, n_rows)


def _some_rows(n_rows: int, request: Request, rng: Rng) -> Ints:
    """Rows to judge views by, where pairs are kept out of the fit and not rows."""
    most = min(request.held_out.count, int(SHARE_HELD_OUT * n_rows)) if request.views else 0
    return np.sort(rng.permutation(n_rows)[:most])


def _codes_to_write(hasher: Hasher, verdict: Comparison | None) -> str:
    """Learned or mapped: what the verdict speaks of."""
    return str(hasher.report_.codes if verdict is None else verdict.facts["codes"])


def _how_held_out(request: Request, n_kept_out: int) -> str:
    if request.held_out_by is not None:
        return f"the {n_kept_out:,} latest rows by {request.held_out_by}"
    return f"the last {n_kept_out:,} rows" if request.held_out.last else f"{n_kept_out:,} rows at random"


def _codes_note(kind: str, n_mapped: int) -> str:
    kept = f"; mapped for {n_mapped:,} of the held-out rows" if n_mapped and kind == "learned" else ""
    return f" ({kind}{kept})"
