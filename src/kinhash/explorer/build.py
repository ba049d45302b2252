"""From codes, labels and whatever else there is to one page.

Whatever comes beside the codes is in the order of the *rows*: of the codes themselves, or of ``ids``. On the
page rows stand in the order of ids, so that (distance, place) is the order (distance, id) of `HammingIndex`.
"""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._internal.files import replace_file
from .._internal.types import Array, Facts, Ints, LabelsLike, Matrix, Rng
from .._internal.validation import check_finite, check_integer, check_rows
from ..codes import Codes, CodesLike, as_codes, pack_bits
from ..errors import InvalidInput
from ..index import HammingIndex, as_ids, places_of, sorting_order
from ..labels import Labels, read_labels
from .doubts import judge_labels
from .figures import bit_figures, quality
from .layout import layout
from .page import assemble, model_shown
from .pictures import Sheets, picture_of_row, sheets

MOST_ROWS = 50_000
MOST_DOUBTS = 5_000
LONGEST_TEXT = 400  # letters of a text that a page keeps
EXACT = 2**53  # whole numbers up to here are exact in a browser
NO_FEATURES = (
    "Labels are judged by models that did not see them, and these learn from features. Make the page with "
    "features: kinhash explore … --features FILE (in Python: features=X)."
)
JUDGES = "five classifiers, each fitted without the rows it judges"
Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class Explorer:
    """A page to look at codes; a notebook shows it, `save` writes it, ``summary`` has its figures."""

    html: str
    summary: Facts

    def save(self, path: str | bytes | os.PathLike[str]) -> None:
        """Write the page, all or nothing. It opens by a double click and needs no network."""
        replace_file(os.fsdecode(path), [memoryview(self.html.encode())])

    def _repr_html_(self) -> str:
        frame = 'width="100%" height="720" style="border: 1px solid #8888; border-radius: 6px"'
        return f'<iframe title="kinhash explorer" {frame} srcdoc="{html.escape(self.html)}"></iframe>'

    def __repr__(self) -> str:
        return f"Explorer({self.summary['rows']} rows, {len(self.html) / 1e6:.1f} MB)"


def explore(
    codes: CodesLike | HammingIndex,
    labels: LabelsLike = None,
    *,
    ids: npt.ArrayLike | None = None,
    text: Iterable[object] | None = None,
    pictures: Any = None,
    model: Any = None,
    features: Matrix = None,
    title: str = "Codes to look at",
    n_rows: int = MOST_ROWS,
    random_state: int = 0,
    progress: Progress | None = None,
) -> Explorer:
    """Make one offline page of codes: a map, neighbors by a click, figures, rows probably mislabeled.

    Parameters
    ----------
    codes : HammingIndex, Codes or array of uint8 (n, bytes)
        The codes. What follows is in the order of its rows.
    labels : array-like (n,) or (n, tags), default=None
        Classes or tags, as `fit` takes them; None or NaN is unknown.
    ids : array-like (n,), default=None
        The id of every row, where an index has ids of its own: they say which row is which.
    text : sequence of str (n,), default=None
        One text per row, shown beside it and searched.
    pictures : folder, sequence of paths, or array (n, height, width[, 3]), default=None
        Files in a folder are named as ids, or one per row in the order of their names.
    model : fitted hasher, default=None
        With it and features, margins make a finer map, neighbors can be searched with mapped codes, and the
        page encodes vectors that are pasted into it.
    features : matrix (n, p), default=None
        The rows' features. Labels are judged by models of them that did not see the labels.
    title : str, default="Codes to look at"
        Title of the page.
    n_rows : int, default=50000
        Rows on the page at most; a random sample of more, as the page says.
    random_state : int, default=0
        The same one gives the same page.
    progress : function, default=None
        Called with the share of the work that is done and what comes next.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kinhash import EnergyHasher
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = EnergyHasher(n_bits=32).fit(X[:300], y[:300])
    >>> page = explore(hasher.codes_, y[:300], pictures=X[:300].reshape(-1, 8, 8))
    >>> page.summary["rows"], page.summary["pictures"]
    (300, 300)
    """
    tell = progress or (lambda share, what: None)
    seed = check_integer("random_state", random_state, 0)
    most = check_integer("n_rows", n_rows, 1, MOST_ROWS)
    tell(0.0, "reading")
    if model is not None and features is None:
        raise InvalidInput(
            "A model came without features",
            "the features of the rows, too",
            "Pass features (--features FILE)",
        )
    every = _read_rows(codes, ids, labels, text)
    source = None
    if pictures is not None:
        in_order = np.empty_like(every.ids)
        in_order[every.numbers] = every.ids
        source = picture_of_row(pictures, in_order, every.n_rows)
    rows = every.sample(most, np.random.default_rng(seed))
    X = None
    if features is not None:
        check_rows(features.shape[0], "rows of features", every.n_rows, "codes")
        X = features[rows.numbers]
        check_finite(X)
    tell(0.05, "encoding")
    margins = mapped = None
    if model is not None:
        margins = np.asarray(model.decision_function(X), np.float32)
        mapped = Codes(pack_bits(margins > 0), margins.shape[1], None, model.model_id_)
        rows.codes.require_same_kind(mapped)
    tell(0.1, "drawing the map")
    places = layout(rows.codes if mapped is None else mapped, margins, seed)
    tell(0.5, "figures")
    if mapped is not None and np.array_equal(mapped.packed, rows.codes.packed):
        mapped = None
    shown = None if model is None else model_shown(model, X)
    bits = bit_figures(rows.codes, rows.labels)
    figures = None if rows.labels is None else quality(rows.codes, mapped, rows.labels, X, seed)
    tell(0.65, "doubtful labels")
    doubts = None if rows.labels is None else _doubts(X, rows.labels, seed)
    images = None
    if source is not None:
        tell(0.85, "pictures")
        images = sheets(source, rows.numbers, lambda share: tell(0.85 + 0.1 * share, "pictures"))
    tell(0.97, "writing")
    decision = None if model is None else model.decision_
    same_within = every.codes.same_within if decision is None else decision.radius

    same_as_model = model is not None and mapped is None
    learned = rows.labels is not None and rows.learned and not same_as_model
    arrays: Facts = {} if mapped is None else {"mapped": mapped.packed}
    arrays = {"codes": rows.codes.packed, **arrays}
    fill = -rows.codes.packed.shape[1] % 4  # bytes up to whole words of four
    arrays = {name: np.pad(packed, ((0, 0), (0, fill))) for name, packed in arrays.items()}
    arrays["places"] = np.round(np.clip(places, 0, 1) * 65535).astype(np.uint16)
    arrays |= _label_arrays(rows.labels) | ({} if images is None else images.arrays())
    if shown is not None:
        arrays |= {f"model-{name}": array for name, array in shown.arrays.items()}
    facts = {
        "about": rows.about(seed) + ("; the map is by the model's margins" if mapped is not None else ""),
        "rows": len(rows),
        "allRows": rows.n_rows,
        "bits": rows.codes.n_bits,
        "words": -(-rows.codes.packed.shape[1] // 4),
        "ids": _ids(rows.ids),
        "kind": None if rows.labels is None else "tags" if rows.labels.is_tags else "classes",
        "names": [] if rows.labels is None else [str(name) for name in rows.labels.names.tolist()],
        "texts": rows.texts,
        "learned": learned,
        "caveat": _caveat(learned, figures),
        "sameWithin": same_within,
        "decision": None if decision is None else decision.text(),
        "quality": figures,
        "bitFigures": bits,
        "doubts": doubts,
        "model": None if shown is None else shown.facts,
        "pictures": None if images is None else images.facts(),
    }
    page = assemble(title, facts, arrays)
    return Explorer(page, _summary(rows, learned, figures, doubts, images, len(page.encode())))


# ---- the rows --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows in the order of their ids. ``numbers`` (n,) says which of the rows handed in each of them is.

    ``n_rows`` were there before a sample was drawn. ``learned``: labels took part in the codes.
    """

    codes: Codes
    ids: Array
    numbers: Ints
    n_rows: int
    labels: Labels | None
    texts: list[str] | None
    learned: bool

    def __len__(self) -> int:
        return len(self.codes)

    def sample(self, most: int, rng: Rng) -> _Rows:
        """At most ``most`` rows, drawn at random, in their order."""
        if len(self) <= most:
            return self
        kept = np.sort(rng.choice(len(self), most, replace=False))
        return replace(
            self,
            codes=self.codes[kept],
            ids=self.ids[kept],
            numbers=self.numbers[kept],
            labels=None if self.labels is None else self.labels[kept],
            texts=None if self.texts is None else [self.texts[row] for row in kept.tolist()],
        )

    def about(self, seed: int) -> str:
        """How many rows, and how long their codes are."""
        rows = f"{len(self):,} row{'s' if len(self) != 1 else ''}"
        if len(self) < self.n_rows:
            rows += f" of {self.n_rows:,}, a random sample (seed {seed})"
        return f"{rows} · {self.codes.n_bits} bits"


def _read_rows(
    codes: CodesLike | HammingIndex,
    ids: npt.ArrayLike | None,
    labels: LabelsLike,
    text: Iterable[object] | None,
) -> _Rows:
    """Codes (an index, `Codes` or packed bytes), and what comes beside them, sorted by id."""
    found = codes.codes() if isinstance(codes, HammingIndex) else as_codes(codes)
    n_rows, own = len(found), found.ids
    if not n_rows:
        raise InvalidInput("There are no rows", "codes of one row at least", "Pass the codes of your rows")
    if isinstance(codes, HammingIndex) and ids is None and not np.array_equal(codes.ids, np.arange(n_rows)):
        raise InvalidInput(
            "The index has ids of its own, and nothing says in which order its rows were",
            "the id of every row, in the order of the labels",
            "Pass ids (--ids FILE), or the codes in place of the index",
        )
    if ids is not None:
        own = as_ids(ids)
    names = np.arange(n_rows) if own is None else as_ids(own)
    check_rows(len(names), "ids", n_rows, "codes")
    if isinstance(codes, HammingIndex):  # its rows are in the order of its ids
        order = places_of(codes, Codes(found.packed, found.n_bits, names), "The ids have")
    else:
        order = sorting_order(names)
        found = found[order]
    known = texts = None
    if labels is not None:
        known = read_labels(labels)
        check_rows(len(known), "labels", n_rows, "codes")
        known = known[order]
    if text is not None:
        given = ["" if one is None else str(one) for one in text]
        check_rows(len(given), "texts", n_rows, "codes")
        short = [one if len(one) <= LONGEST_TEXT else one[: LONGEST_TEXT - 1] + "…" for one in given]
        texts = [short[row] for row in order.tolist()]
    bare = Codes(found.packed, found.n_bits, None, found.model_id, same_within=found.same_within)
    return _Rows(bare, names[order], order, n_rows, known, texts, bool(np.any(found.learned)))


# ---- what the page says of them --------------------------------------------------------------------------


def _caveat(learned: bool, figures: Facts | None) -> str:
    """What stands beside every figure: whose rows these are."""
    if learned and not (figures or {}).get("mapped"):
        return "codes learned from these labels: new rows do worse"
    return "if the model was fitted on these rows, new rows do worse"


def _doubts(X: Matrix, labels: Labels, seed: int) -> Facts:
    """The rows whose labels are least expected, or why none are listed."""
    known = labels.indicator()[np.flatnonzero(labels.known)]
    if X is None:
        return {"how": NO_FEATURES}
    if known.shape[0] < 10 or len(np.unique(known.indices)) < 2:
        return {"how": "Too few rows have a label for any of them to be doubted."}
    found = judge_labels(X, labels, seed)
    if not found.can_judge:
        ours, usual = found.log_losses
        return {
            "how": f"These labels cannot be judged: {JUDGES}, expect them hardly better than their "
            f"frequencies do (log loss {ours:.3f} against {usual:.3f}). Nothing is listed."
        }
    ranked = found.ranked()
    listed = ranked[:MOST_DOUBTS]
    columns = (listed, found.given[listed].round(6), found.expected[listed], found.chance[listed].round(6))
    lines = zip(*(column.tolist() for column in columns), found.missing[listed].tolist(), strict=True)
    return {
        "how": JUDGES,
        "agreement": found.agreement,
        "total": len(ranked),
        "rows": [list(line) for line in lines],
    }


def _summary(
    rows: _Rows, learned: bool, figures: Facts | None, doubts: Facts | None, images: Sheets | None, size: int
) -> Facts:
    said, doubted = figures or {}, doubts or {}
    return {
        "rows": len(rows),
        "rows_in_all": rows.n_rows,
        "n_bits": rows.codes.n_bits,
        "labels": 0 if rows.labels is None else len(rows.labels.names),
        "codes_made_from_labels": learned,
        "queries_are_mapped": said.get("mapped"),
        "map": said.get("map"),
        "precision_at_10": dict(said.get("precision") or []).get(10),
        "probably_mislabeled": doubted.get("total"),
        "labels_as_expected": doubted.get("agreement"),
        "labels_judged": doubted.get("how"),
        "pictures": 0 if images is None else int((images.place >= 0).sum()),
        "bytes": size,
    }


def _label_arrays(labels: Labels | None) -> Facts:
    if labels is None:
        return {}
    known = {"known": labels.known.astype(np.uint8)}
    if labels.classes is not None:
        return {**known, "classes": labels.classes.astype(np.int32)}
    assert labels.tags is not None
    starts, tags = labels.tags.indptr.astype(np.uint32), labels.tags.indices.astype(np.uint32)
    return {**known, "tag-starts": starts, "tags": tags}


def _ids(ids: Array) -> list[int] | list[str] | None:
    """None for 0, 1, 2, ...; numbers too large for a browser as text."""
    if ids.dtype.kind != "i":
        return [str(name) for name in ids.tolist()]
    if np.array_equal(ids, np.arange(len(ids))):
        return None
    values: list[int] = ids.tolist()
    return values if max(map(abs, values)) < EXACT else list(map(str, values))
