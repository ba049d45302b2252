"""Rows that are probably mislabelled: those whose own label is least expected of them.

A row that was learned from remembers its label, so nothing it taught may judge it. With features, a label
model is fitted five times, each time without the rows it judges. Without features, rows are judged by the
labels of their nearest neighbours, by bits that no label has made: of learned codes, the alike bits.

The order is by the chance of the label given (self-confidence). For tags it is by the least expected tag, or
lack of one, relative to how common it is: a rare tag is never likely, and no wonder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._blocks import block_slices
from .._stages import Stages
from .._types import Floats, Ints
from ..codes import Codes, pack_bits
from ..encoders.expected_labels import fit_label_model
from ..encoders.features import RBF, FeatureMap, Plain
from ..encoders.label_models import LabelModel
from ..encoders.labelled import labelled_set, prepared_like
from ..evaluation.hold_out import folds
from ..index import HammingIndex
from ..labels import Labels
from ..rows import Rows
from ..supervision import from_labels
from ..training import Training

__all__ = ["Doubts", "by_features", "by_neighbours", "out_of_fold", "seem_learned"]

FOLDS = 5
PENALTIES = (100.0, 10.0, 1.0)
TRIED_ROWS = 10_000  # rows on which a penalty is chosen
FEWEST_ROWS = 1000
MOST_WORK = 150_000_000  # rows times columns times labels of one fit: seconds
MOST_CHANCES = 20_000_000
DOUBTFUL_RATIO = 0.1  # a tag, or lack of one, ten times less likely than it is common
FEWEST_CARRIERS = 5  # nobody can tell what rows of a rarer label are like
NEIGHBOURS = 20
USUAL = 0.75
FLOOR = 1e-6
MOST_RBF = 10_000_000  # rows times centres beyond which plain columns must do

Chances = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Doubts:
    """For every row: the chance of its label ``given``, the label ``expected`` instead, and its chance.

    For tags these are of the least expected one: ``expected`` is the tag in question, and ``missing`` says
    that the row lacks it. ``score`` orders rows, the most doubtful has the smallest. Rows of unknown label
    have NaN. ``how`` says in a sentence who judged.
    """

    given: Floats
    expected: Ints
    chance: Floats
    missing: npt.NDArray[np.bool_]
    score: Floats
    doubtful: npt.NDArray[np.bool_]
    how: str

    @property
    def agreement(self) -> float:
        """Share of the labels that are as expected; a judge with a low one finds hard rows, not wrong."""
        judged = ~np.isnan(self.given)
        return float(1 - self.doubtful[judged].mean()) if judged.any() else 0.0

    def ranked(self) -> Ints:
        """Rows of which another label is expected, the most doubtful first."""
        rows = np.flatnonzero(self.doubtful)
        return rows[np.lexsort((-self.chance[rows], self.score[rows]))]


def by_features(X: Any, labels: Labels, seed: int, centers: Any = None) -> Doubts:
    """From label models that did not see the rows they judge; ``centers`` are those of an RBF map, if any."""
    enough = _rows_to_fit(X.shape[1], labels)
    some = f" on {enough:,} rows," if enough < labels.known.sum() * (1 - 1 / FOLDS) else ""
    out = _nothing(len(labels), f"{FOLDS} label models, each fitted{some} without the rows it judges")
    for held, chances in out_of_fold(X, labels, seed, centers):
        _judge_rows(out, held, chances, labels)
    return out


def out_of_fold(X: Any, labels: Labels, seed: int, centers: Any = None) -> Iterator[tuple[Ints, Chances]]:
    """Block by block, rows of known label and their chances (k, t) by a label model of the other folds.

    Where columns times labels make a fit long, it takes some of the rows. Memory: 80 MB of chances.
    """
    rng = np.random.default_rng(seed)
    known = np.flatnonzero(labels.known)
    training = Training(Rows(X), from_labels(labels, len(labels)), None, rng, Stages())
    order = known[rng.permutation(len(known))]
    small = centers is None or len(known) * len(centers.centers) > MOST_RBF
    features: FeatureMap = Plain() if small else RBF()
    judge = _Judge(training, labels, features, None if small else centers)
    splits, enough, at_once = (
        folds(len(order), FOLDS),
        _rows_to_fit(X.shape[1], labels),
        _rows_at_once(labels),
    )
    tried = min(TRIED_ROWS, enough)
    penalty = judge.best_penalty(order[splits[0].train[:tried]], order[splits[0].held_out[:at_once]])
    for split in splits:
        ask = judge.fitted(order[split.train[:enough]], penalty)
        for part in block_slices(len(split.held_out), at_once):
            held = order[split.held_out[part]]
            yield held, ask(held)


def _rows_to_fit(n_columns: int, labels: Labels) -> int:
    return max(FEWEST_ROWS, MOST_WORK // max(1, n_columns * len(labels.names)))


def _rows_at_once(labels: Labels) -> int:
    return max(1, min(TRIED_ROWS, MOST_CHANCES // max(1, len(labels.names))))


def by_neighbours(codes: Codes, labels: Labels, learned: bool) -> Doubts | None:
    """From the labels of the twenty nearest others; None where no bit says anything but the labels.

    Of ``learned`` codes the kin bits have no say.
    """
    if learned and not codes.fields.alike:
        return None
    known = np.flatnonzero(labels.known)
    k = min(NEIGHBOURS, len(known) - 1)
    if k < 1:
        return None
    asked = (
        _alike_only(codes[known])
        if learned
        else Codes(codes.packed[known], codes.n_bits, fields=codes.fields)
    )
    found = HammingIndex.from_codes(asked).search(asked, k, exclude=np.arange(len(known)))
    indicator = sp.csr_array(labels[known].indicator(), dtype=np.float32)
    starts = np.arange(0, found.ids.size + 1, k)
    near = sp.csr_array((np.ones(found.ids.size, np.float32), found.ids.ravel(), starts), (len(known),) * 2)
    usual = np.asarray(indicator.mean(axis=0)).ravel()
    bits = "alike bits" if learned else "bits"
    out = _nothing(len(labels), f"the labels of the {k} nearest other rows, by their {bits}")
    for part in block_slices(len(known), _rows_at_once(labels)):
        votes = (near[part] @ indicator).toarray()
        _judge_rows(out, known[part], (votes + usual) / (k + 1), labels)
    return out


def seem_learned(codes: Codes, labels: Labels) -> bool:
    """Whether three in four rows have the kin bits that are usual for their label, as learned codes do.

    Not all, because rows kept out of a fit carry mapped codes among learned ones. Mapped codes of classes
    told apart with ease look the same; then only the alike bits judge, which is less, but not wrong.
    """
    n_kin = codes.fields.kin(codes.n_bits)
    known = np.flatnonzero(labels.known)
    kin = pack_bits(codes.bits()[known, :n_kin])
    groups = from_labels(labels, len(labels)).group_of_row[known]
    joined = np.column_stack([groups.astype(np.int64)[:, None].view(np.uint8), kin])
    pairs, counts = np.unique(joined, axis=0, return_counts=True)
    own = np.ascontiguousarray(pairs[:, :8]).view(np.int64)[:, 0]
    usual = np.zeros(int(groups.max(initial=0)) + 1, np.int64)
    np.maximum.at(usual, own, counts)
    in_company = usual > 1  # a row that is alone with its label has the usual code whoever made it
    return bool(usual[in_company].sum() >= USUAL * max(1, np.bincount(groups)[in_company].sum()))


@dataclass(frozen=True)
class _Judge:
    """Fits label models on some rows and asks them about others."""

    training: Training
    labels: Labels
    features: FeatureMap
    centers: Any

    def fitted(self, train: Ints, penalty: float) -> Callable[[Ints], Chances]:
        """A label model of these rows, as a function from other rows to chances."""
        rng = np.random.default_rng(0)
        labelled = labelled_set(self.training, self.features, rng, np.sort(train), self.centers)
        model: LabelModel = fit_label_model("logistic", labelled, penalty)

        def ask(held: Ints) -> Chances:
            return np.asarray(model.probabilities(prepared_like(self.training, labelled, held)), np.float32)

        return ask

    def best_penalty(self, train: Ints, held: Ints) -> float:
        """The one with the smallest log loss on rows kept out."""
        truth = self.labels.indicator()[held].toarray().astype(bool)
        losses = []
        for penalty in PENALTIES:
            p = np.clip(self.fitted(train, penalty)(held), FLOOR, 1 - FLOOR)
            loss = np.where(truth, -np.log(p), 0 if self.labels.classes is not None else -np.log1p(-p))
            losses.append(float(loss.sum()))
        return PENALTIES[int(np.argmin(losses))]


def _nothing(n_rows: int, how: str) -> Doubts:
    given, chance, score = np.full((3, n_rows), np.nan)
    missing, doubtful = np.zeros((2, n_rows), bool)
    return Doubts(given, np.zeros(n_rows, np.int64), chance, missing, score, doubtful, how)


def _judge_rows(out: Doubts, rows: Ints, chances: Any, labels: Labels) -> None:
    """Write what these chances (k, t) say of these rows into ``out``."""
    at = np.arange(len(rows))
    sizes = np.asarray(labels.indicator().sum(axis=0)).ravel()
    if labels.classes is not None:
        own = labels.classes[rows]
        out.given[rows] = chances[at, own]
        others = chances.copy()
        others[at, own] = -1
        out.expected[rows] = others.argmax(axis=1)
        out.chance[rows] = others.max(axis=1)
        out.score[rows] = out.given[rows]
        out.doubtful[rows] = (out.chance[rows] > out.given[rows]) & (sizes[own] >= FEWEST_CARRIERS)
        return
    carried = labels.indicator()[rows].toarray().astype(bool)
    usual = sizes / max(1, int(labels.known.sum()))
    as_it_is = np.where(carried, chances, 1 - chances)
    ratio = as_it_is / np.maximum(np.where(carried, usual, 1 - usual), FLOOR)
    ratio[:, sizes < FEWEST_CARRIERS] = 1.0
    worst = ratio.argmin(axis=1)
    out.given[rows] = as_it_is[at, worst]
    out.expected[rows] = worst
    out.chance[rows] = 1 - as_it_is[at, worst]
    out.missing[rows] = ~carried[at, worst]
    out.score[rows] = ratio[at, worst]
    out.doubtful[rows] = ratio[at, worst] < DOUBTFUL_RATIO


def _alike_only(codes: Codes) -> Codes:
    bits = codes.bits()[:, codes.fields.kin(codes.n_bits) :]
    return Codes(pack_bits(bits), bits.shape[1])
