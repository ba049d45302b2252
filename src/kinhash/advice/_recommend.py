"""From scores to an answer in sentences. Every claim rests on differences over the same queries."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from .._types import Floats
from ..codes import n_bytes
from ..evaluation import Interval
from ..evaluation.hold_out import label_counts
from ..labels import Labels
from ._advice import COSINE, OURS, RIVALS, Recommendation, Way
from ._measure import MOST_ITQ_COLUMNS, MeasuringPlan, Scores, interval

__all__ = ["recommend", "shortest_enough"]

LEAST_GAIN = 0.02  # of what lies between chance and perfection; less is no sign that labels mean anything
LARGE_GAP = 0.1  # mAP between learned and mapped codes that is worth a word
FEW_ROWS = 10  # of a label
SHARE_OF_FEW = 0.02  # of the rows; fewer rows in small labels do not move a mean

MUCH_MORE = 0.1  # of the ten nearest kin that a longer code must find to be named
ABOUT_AS_MUCH = 0.05
SHOWN = 0.0005  # a difference that the last digit we print does not show is none


class Choice(NamedTuple):
    """The best length of a method, and the shortest that loses no more than the tolerance to it."""

    best: int
    enough: int
    loss: Interval


def best_length(scores: dict[int, Floats]) -> int:
    """The length of the highest mean; of equal ones the shortest."""
    return max(scores, key=lambda n_bits: (float(np.nanmean(scores[n_bits])), -n_bits))


def shortest_enough(scores: dict[int, Floats], tolerance: float) -> Choice:
    """The shortest length whose loss to the best one is below the tolerance, interval and all.

    ``scores`` holds the queries' scores by length. The upper end of the paired interval decides, so few
    queries make the answer careful, not short.
    """
    best = best_length(scores)
    for n_bits in sorted(scores):
        loss = interval(scores[best] - scores[n_bits])
        if loss.high <= tolerance or n_bits == best:
            return Choice(best, n_bits, loss)
    raise AssertionError("the best length is one of the lengths")


def recommend(scores: Scores, labels: Labels, plan: MeasuringPlan) -> Recommendation:
    """The method, the length, what is lost, and what to beware of."""
    case = _Case(scores, plan.bits, plan.tolerance)
    warnings = _warn_of_labels(labels)
    if scores.n_columns > MOST_ITQ_COLUMNS:
        warnings.append(f"ITQ was left out: it takes too long on {scores.n_columns:,} columns.")
    if case.looks_random():
        return _no_answer(case, warnings)
    method = case.method()
    choice = case.choice(method)
    way = (method, choice.enough)
    learned = case.choice(OURS, "learned")
    losses = {
        "to_best": choice.loss,
        "to_longest": case.difference((method, plan.bits[-1]), way),
        "to_float_cosine": case.difference((COSINE, None), way),
        "to_best_without_labels": case.difference(case.best_rival(), way),
    }
    labels_help = case.labels_help()
    gap = case.gap(choice.enough)
    sentences = [
        _length(case, method, choice),
        _method(case, method, choice.enough),
        _against_float(case, way, losses["to_float_cosine"]),
    ]
    if method == OURS:
        sentences.append(_learned(case, learned))
        sentences.append(_looks(case, choice.enough, "tags" if labels.is_tags else "classes"))
        if gap.value > LARGE_GAP:
            warnings.append(_gap(case, choice.enough, gap))
        sentences.append(
            "None of this speaks of kinds of items never labelled: if such will be searched, fit with "
            "encoder='ridge', alike=0.5, kin_weight=1, and compare under the protocol "
            "'unseen-classes' (docs/protocols.md)."
        )
    return Recommendation(
        method, choice.enough, learned.enough, labels_help, losses, tuple(sentences), tuple(warnings)
    )


@dataclass(frozen=True, eq=False)
class _Case:
    """The scores, and the questions one asks of them."""

    scores: Scores
    bits: tuple[int, ...]
    tolerance: float

    def by_length(self, method: str, which: str = "mapped") -> dict[int, Floats]:
        return {n_bits: self.scores.of((method, n_bits), which) for n_bits in self.bits}

    @cache  # noqa: B019  (a case lives as long as one recommendation)
    def choice(self, method: str, which: str = "mapped") -> Choice:
        return shortest_enough(self.by_length(method, which), self.tolerance)

    def mean(self, way: Way, which: str = "mapped") -> float:
        return float(np.nanmean(self.scores.of(way, which)))

    def difference(self, first: Way, second: Way) -> Interval:
        """``first − second`` in mAP over the same queries and rows."""
        return interval(self.scores.of(first) - self.scores.of(second))

    def best_of(self, method: str) -> Way:
        return method, best_length(self.by_length(method))

    def best_rival(self, n_bits: int | None = None) -> Way:
        """The best code that reads no labels, at this length or at its best."""
        known = {method for method, _ in self.scores.mapped}
        names = [method for method in RIVALS if method in known]
        return max(((name, n_bits) if n_bits else self.best_of(name) for name in names), key=self.mean)

    def looks_random(self) -> bool:
        """Whether neither our codes nor float cosine find kin better than a shuffled list would."""
        chance = self.scores.by_chance()
        room = 1 - float(np.nanmean(chance))
        for way in (self.best_of(OURS), (COSINE, None)):
            gain = interval(self.scores.of(way) - chance)
            if gain.low > 0 and gain.value > LEAST_GAIN * room:
                return False
        return True

    def method(self) -> str:
        """Ours where it is better than the best code without labels, mapped or at least learned."""
        ours, rival = self.best_of(OURS), self.best_rival()
        learned = interval(
            self.scores.of((OURS, self.choice(OURS, "learned").best), "learned") - self.scores.of(rival)
        )
        better = self.difference(ours, rival).low > SHOWN or learned.low > self.tolerance
        return OURS if better else rival[0]

    def labels_help(self) -> bool | None:
        """Against float cosine, at the length our codes need."""
        gain = self.difference((OURS, self.choice(OURS).enough), (COSINE, None))
        return True if gain.low > SHOWN else False if gain.high < -SHOWN else None

    def gap(self, n_bits: int) -> Interval:
        """Learned minus mapped, over queries that have kin on both sides."""
        return interval(self.scores.of((OURS, n_bits), "learned") - self.scores.of((OURS, n_bits)))


def _size(n_bits: int) -> str:
    return f"{n_bytes(n_bits):,} byte{'' if n_bytes(n_bits) == 1 else 's'} per item"


def _have(n_bits: int) -> str:
    return f"{_size(n_bits)} {'has' if n_bytes(n_bits) == 1 else 'have'} mAP"


def _spread(difference: Interval) -> str:
    return f"{difference.value:.3f}, interval {difference.low:.3f} to {difference.high:.3f}"


def _length(case: _Case, method: str, choice: Choice) -> str:
    longest = case.bits[-1]
    start = f"Use {choice.enough} bits ({_size(choice.enough)})"
    if len(case.bits) == 1:
        return f"{start}: no other length was asked for."
    if choice.enough == longest:
        return f"{start}: every shorter code may lose more than {case.tolerance:g} mAP. Try longer ones, too."
    if choice.best == choice.enough:
        text = f"{start}: longer codes do no better, shorter ones may lose more than {case.tolerance:g} mAP"
        text = text if choice.enough > case.bits[0] else f"{start}: longer codes do no better"
    else:
        text = (
            f"{start}: the shortest length that loses less than {case.tolerance:g} mAP against the best one, "
            f"{choice.best} bits ({_spread(choice.loss)})"
        )
    if choice.best != longest:
        loss = case.difference((method, longest), (method, choice.enough))
        gain = case.difference((method, choice.enough), (method, longest))
        change = f"loses {_spread(loss)}" if loss.value >= 0 else f"gains {_spread(gain)}"
        text += f"; against the longest, {longest} bits, it {change}"
    return f"{text}."


def _method(case: _Case, method: str, n_bits: int) -> str:
    ours, rival = case.best_of(OURS), case.best_rival()
    if method != OURS:
        return (
            f"Use {method}, which needs no labels: its best mAP is {case.mean(rival):.3f} ({rival[1]} bits), "
            f"that of {OURS} {case.mean(ours):.3f} ({ours[1]} bits), so the labels bring nothing measurable."
        )
    near = case.best_rival(n_bits)
    scores = (
        f"mAP {case.mean((OURS, n_bits)):.3f} at {n_bits} bits, where the best code without labels has "
        f"{case.mean(near):.3f} ({near[0]}; gain {_spread(case.difference((OURS, n_bits), near))})"
    )
    if case.difference(ours, rival).low > SHOWN:
        best = f", and {case.mean(rival):.3f} at its best ({rival[0]}, {rival[1]} bits)"
        return f"Use {OURS}: {scores}{best if rival != near else ''}."
    return (
        f"Use {OURS} with learned codes. On rows no fit saw it is no better than codes without labels "
        f"({scores}); among rows of known label it is."
    )


def _against_float(case: _Case, way: Way, loss: Interval) -> str:
    n_bits = way[1]
    assert n_bits is not None
    floats = f"float cosine on {4 * case.scores.n_columns:,} bytes has {case.mean((COSINE, None)):.3f}"
    scores = f"{case.mean(way):.3f} where {floats}"
    gain = Interval(-loss.value, -loss.high, -loss.low, loss.level, loss.n_queries)
    ours = way[0] == OURS
    if gain.low > SHOWN:
        start = "Labels help, and nothing is lost by coding" if ours else "Nothing is lost by coding"
        return f"{start}: {_have(n_bits)} {scores} (gain {_spread(gain)})."
    if loss.low > SHOWN:
        start = "Labels do not help here" if ours else "The code costs quality"
        return f"{start}: {_have(n_bits)} {scores} (loss {_spread(loss)})."
    start = "Against float cosine these rows show neither gain nor loss"
    return f"{start}: {_have(n_bits)} {scores} (loss {_spread(loss)})."


def _learned(case: _Case, learned: Choice) -> str:
    return (
        f"Where all searched rows are labelled, index their learned codes: {learned.enough} bits suffice, "
        f"with mAP {case.mean((OURS, learned.enough), 'learned'):.3f}."
    )


def _looks(case: _Case, n_bits: int, kind: str) -> str:
    """What the alike bits are good for at the length that suffices, and at one that finds much more."""
    shares = {n: case.scores.looks_of((OURS, n)).nearest_kin_among_100 for n in case.bits if n >= n_bits}
    at_random = case.scores.looks_of((OURS, n_bits)).kin_at_random
    text = (
        f"{_found(case, n_bits, kind)} are among the first hundred answers (kin in random order: "
        f"{100 * at_random:.0f} %)."
    )
    better = min(n for n, share in shares.items() if share >= max(shares.values()) - ABOUT_AS_MUCH)
    if shares[better] <= shares[n_bits] + MUCH_MORE:
        return text
    return f"{text} Where the first answers matter, take {better} bits: it is {100 * shares[better]:.0f} %."


def _found(case: _Case, n_bits: int, kind: str) -> str:
    """As in "Of 64 bits, 16 know your classes; with the other 48, 58 % of the ten nearest kin"."""
    looks = case.scores.looks_of((OURS, n_bits))
    low, high = looks.kin_bits
    found = f"{100 * looks.nearest_kin_among_100:.0f} % of the ten nearest kin"
    if low == n_bits:
        return f"All {n_bits} bits know your {kind}, none what a row looks like: {found}"
    spent = f"{low} to {high}" if low < high else f"{low}"
    left = "others" if low < high else f"other {n_bits - low}"
    return f"Of {n_bits} bits, {spent} know your {kind}; with the {left}, {found}"


def _gap(case: _Case, n_bits: int, gap: Interval) -> str:
    return (
        f"Learned codes are {gap.value:.2f} mAP better than mapped ones at {n_bits} bits: rows that come "
        "later, without labels, will be found less well than the labelled ones. More labelled rows or better "
        "features narrow that gap; more bits help little."
    )


def _no_answer(case: _Case, warnings: list[str]) -> Recommendation:
    ours, chance = case.best_of(OURS), case.scores.by_chance()
    sentence = (
        f"No length can be recommended, and labels do not help: {OURS} has mAP {case.mean(ours):.3f} at its "
        f"best ({ours[1]} bits), float cosine {case.mean((COSINE, None)):.3f}, and a list in random order "
        f"{float(np.nanmean(chance)):.3f}."
    )
    warning = (
        "The labels look random: the features say nothing about them. Check that rows and labels are in the "
        "same order, and that these features can know what the labels mean."
    )
    return Recommendation(None, None, None, False, {}, (sentence,), (warning, *warnings))


def _warn_of_labels(labels: Labels) -> list[str]:
    counts = label_counts(labels)
    thing = "tags" if labels.is_tags else "classes"
    few = (counts > 0) & (counts < FEW_ROWS)
    if counts[few].sum() <= SHARE_OF_FEW * labels.known.sum():
        return []
    rarest = np.flatnonzero(few)[np.argsort(counts[few], kind="stable")][:3]
    named = ", ".join(f"{labels.names[one]} ({counts[one]})" for one in rarest)
    return [
        f"{int(few.sum()):,} of {int((counts > 0).sum()):,} {thing} have fewer than {FEW_ROWS} rows ({named}"
        f"{', ...' if few.sum() > 3 else ''}): they are hard to learn and hardly measured here, since a "
        "query counts only if kin of it is kept out with it."
    ]
