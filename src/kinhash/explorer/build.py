"""From codes, labels and whatever else there is to one page."""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._internal.files import replace_file
from .._internal.types import Array, Bytes, Facts, Floats32, LabelsLike, Matrix
from .._internal.validation import check_finite, check_integer
from ..codes import Codes, CodesLike, pack_bits
from ..errors import InvalidInput
from ..index import HammingIndex
from ..supervision import Labels
from .label_errors import Doubts, by_features, by_neighbors
from .layout import layout
from .model import ModelShown, model_shown
from .page import assemble
from .pictures import Sheets, picture_of_row, sheets
from .quality import bit_figures, quality
from .rows import RowsShown, expect_rows, read_rows, sampled

__all__ = ["Explorer", "explore"]

MOST_ROWS = 50_000
MOST_DOUBTS = 5_000
EXACT = 2**53  # whole numbers up to here are exact in a browser

Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class Explorer:
    """A page to look at codes; a notebook shows it, `save` writes it, ``summary`` has its figures."""

    html: str
    summary: Facts

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page, all or nothing. It opens by a double click and needs no network."""
        replace_file(path, [memoryview(self.html.encode())])

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
    codes : a `HammingIndex`, `Codes`, or packed bytes. What follows is in the order of its rows.
    labels : classes or tags, as `fit` takes them; None or NaN is unknown.
    ids : the id of every row, where an index has ids of its own: they say which row is which.
    text : one text per row, shown beside it and searched.
    pictures : a folder (files named as ids, or one file per row), paths, or an array (n, height, width[, 3]).
    model, features : a fitted hasher and the rows' features: margins make a finer map, neighbors can be
        searched with mapped codes, labels are doubted by label models that did not see them, and the page
        encodes vectors that are pasted into it. Features alone serve for the doubts.
    n_rows : rows on the page at most, 50,000 or fewer; a random sample of more, as the page says.
    random_state : a whole number; the same one gives the same page.
    progress : called with the share of the work that is done and what comes next.

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
    every = read_rows(codes, ids, labels, text)
    expect_model_with_features(model, features)
    source = None
    if pictures is not None:
        in_order = np.empty_like(every.ids)
        in_order[every.numbers] = every.ids
        source = picture_of_row(pictures, in_order, every.n_rows)
    rows = sampled(every, most, np.random.default_rng(seed))
    X = None if features is None else _features_of(features, every.n_rows, rows)
    tell(0.05, "encoding")
    margins = None if model is None else _margins(model, X, rows.codes)
    tell(0.1, "drawing the map")
    mapped = None if margins is None else _mapped(rows.codes, margins)
    places = layout(rows.codes if mapped is None else mapped, margins, seed)
    tell(0.5, "figures")
    shown = _Page(rows, places, mapped, title, seed)
    shown.model = None if model is None else model_shown(model, X)
    shown.judge(X)
    tell(0.65, "doubtful labels")
    shown.doubt(X)
    if source is not None:
        tell(0.85, "pictures")
        shown.pictures = sheets(source, rows.numbers, lambda share: tell(0.85 + 0.1 * share, "pictures"))
    tell(0.97, "writing")
    return shown.explorer()


def expect_model_with_features(model: object, features: Matrix) -> None:
    """Refuse a model that nothing is to be encoded with."""
    if model is not None and features is None:
        raise InvalidInput(
            "A model came without features",
            "the features of the rows, too",
            "Pass features (--features FILE)",
        )


def _features_of(features: Matrix, n_rows: int, rows: RowsShown) -> Matrix:
    expect_rows("rows of features", features.shape[0], n_rows)
    X = features[rows.numbers]
    check_finite(X)
    return X


def _margins(model: Any, X: Matrix, codes: Codes) -> Array:
    margins: Array = np.asarray(model.decision_function(X), np.float32)
    codes.require_same_kind(
        Codes(pack_bits(margins > 0), margins.shape[1], None, model.model_id_, model.fitted_.fields)
    )
    return margins


def _mapped(codes: Codes, margins: Array) -> Codes:
    return Codes(pack_bits(margins > 0), codes.n_bits, fields=codes.fields)


class _Page:
    """What is gathered for the page, step by step."""

    def __init__(
        self, rows: RowsShown, places: Floats32, mapped: Codes | None, title: str, seed: int
    ) -> None:
        self.rows, self.places, self.title, self.seed = rows, places, title, seed
        self.codes = Codes(rows.codes.packed, rows.codes.n_bits, fields=rows.codes.fields)
        same = mapped is not None and np.array_equal(mapped.packed, self.codes.packed)
        self.mapped = None if same else mapped
        self.labels: Labels | None = rows.labels
        self.learned = self.labels is not None and not same and rows.learned
        self.quality: Facts | None = None
        self.doubts: Facts | None = None
        self.pictures: Sheets | None = None
        self.model: ModelShown | None = None

    def judge(self, X: Matrix) -> None:
        """Figures of kinship and of bits."""
        self.bits = bit_figures(self.codes, self.labels)
        if self.labels is not None:
            self.quality = quality(self.codes, self.mapped, self.labels, X)

    def doubt(self, X: Matrix) -> None:
        """The rows whose labels are least expected."""
        labels = self.labels
        if labels is None:
            return
        known = labels.indicator()[np.flatnonzero(labels.known)]
        if known.shape[0] < 10 or len(np.unique(known.indices)) < 2:
            self.doubts = {"how": "Too few rows have a label for any of them to be doubted."}
            return
        if X is None:
            # Mapped codes of rows that were fitted on may remember their labels, too.
            remembering = self.learned or self.codes.fields.alike > 0
            found = by_neighbors(self.codes, labels, remembering)
        else:
            found = by_features(X, labels, self.seed)
        self.doubts = {**_doubt_facts(found), "byCodes": X is None}

    def explorer(self) -> Explorer:
        """The page itself, and its figures."""
        arrays: Facts = {"codes": _words(self.codes)}
        if self.mapped is not None:
            arrays["mapped"] = _words(self.mapped)
        arrays["places"] = np.round(np.clip(self.places, 0, 1) * 65535).astype(np.uint16)
        arrays |= _label_arrays(self.labels)
        if self.pictures is not None:
            arrays["picture-places"] = self.pictures.place.astype(np.int32)
            arrays |= {f"sheet-{k}": image for k, image in enumerate(self.pictures.images)}
        if self.model is not None:
            arrays |= {f"model-{name}": array for name, array in self.model.arrays.items()}
        text = assemble(self.title, self._facts(), arrays)
        return Explorer(text, self._summary(len(text.encode())))

    def _facts(self) -> Facts:
        rows, codes, labels = self.rows, self.codes, self.labels
        sheets = self.pictures
        return {
            "about": self._about(),
            "rows": len(rows),
            "allRows": rows.n_rows,
            "bits": codes.n_bits,
            "words": -(-codes.packed.shape[1] // 4),
            "kinBits": codes.fields.kin(codes.n_bits),
            "kinWeight": codes.fields.kin_weight,
            "alikeWeight": codes.fields.alike_weight,
            "maxDistance": codes.max_distance,
            "ids": _ids(rows.ids),
            "kind": None if labels is None else "tags" if labels.is_tags else "classes",
            "names": [] if labels is None else [str(name) for name in labels.names.tolist()],
            "texts": rows.texts,
            "learned": self.learned,
            "quality": self.quality,
            "bitFigures": self.bits,
            "doubts": self.doubts,
            "model": None if self.model is None else self.model.facts,
            "pictures": None
            if sheets is None
            else {
                "side": sheets.side,
                "columns": sheets.columns,
                "perSheet": sheets.per_sheet,
                "kind": sheets.kind,
                "sheets": len(sheets.images),
            },
        }

    def _about(self) -> str:
        rows = f"{len(self.rows):,} row{'s' if len(self.rows) != 1 else ''}"
        if len(self.rows) < self.rows.n_rows:
            rows += f" of {self.rows.n_rows:,}, a random sample (seed {self.seed})"
        made = "; the map is by the model's margins" if self.mapped is not None else ""
        return f"{rows} · {self.codes.fields.describe(self.codes.n_bits)}{made}"

    def _summary(self, n_bytes: int) -> Facts:
        quality, doubts, sheets = self.quality or {}, self.doubts or {}, self.pictures
        first = dict(quality.get("precision") or [])
        return {
            "rows": len(self.rows),
            "rows_in_all": self.rows.n_rows,
            "n_bits": self.codes.n_bits,
            "labels": 0 if self.labels is None else len(self.labels.names),
            "codes_made_from_labels": self.learned,
            "queries_are_mapped": quality.get("mapped"),
            "map": quality.get("map"),
            "precision_at_10": first.get(10),
            "probably_mislabeled": doubts.get("total"),
            "labels_as_expected": doubts.get("agreement"),
            "labels_judged": doubts.get("how"),
            "pictures": 0 if sheets is None else int((sheets.place >= 0).sum()),
            "bytes": n_bytes,
        }


def _doubt_facts(found: Doubts | None) -> Facts:
    if found is None:
        return {
            "how": "These codes seem to be made from the labels alone, so they can doubt none of them. "
            "Make the page with features (--features FILE)."
        }
    if not found.can_judge:
        ours, usual = found.log_losses
        return {
            "how": f"These labels cannot be judged: {found.how}, expect them hardly better than their "
            f"frequencies do (log loss {ours:.3f} against {usual:.3f}). Nothing is listed."
        }
    ranked = found.ranked()
    listed = ranked[:MOST_DOUBTS]
    columns = (listed, found.given[listed].round(6), found.expected[listed], found.chance[listed].round(6))
    lines = [
        list(line)
        for line in zip(*(c.tolist() for c in columns), found.missing[listed].tolist(), strict=True)
    ]
    return {"how": found.how, "agreement": found.agreement, "total": len(ranked), "rows": lines}


def _words(codes: Codes) -> Bytes:
    """Packed bytes, filled up to whole words of four."""
    return np.pad(codes.packed, ((0, 0), (0, -codes.packed.shape[1] % 4)))


def _label_arrays(labels: Labels | None) -> Facts:
    if labels is None:
        return {}
    known = {"known": labels.known.astype(np.uint8)}
    if labels.classes is not None:
        return {**known, "classes": labels.classes.astype(np.int32)}
    assert labels.tags is not None
    return {
        **known,
        "tag-starts": labels.tags.indptr.astype(np.uint32),
        "tags": labels.tags.indices.astype(np.uint32),
    }


def _ids(ids: Array) -> list[int] | list[str] | None:
    """None for 0, 1, 2, ...; numbers too large for a browser as text."""
    if ids.dtype.kind != "i":
        return [str(name) for name in ids.tolist()]
    if np.array_equal(ids, np.arange(len(ids))):
        return None
    values: list[int] = ids.tolist()
    return values if max(map(abs, values)) < EXACT else list(map(str, values))
