"""From comparisons to an answer in sentences. Every claim rests on differences over the same queries."""

from __future__ import annotations

import numpy as np

from .._internal.types import Floats
from ..codes import n_bytes
from ..metrics import (
    COSINE,
    ITQ,
    LEARNED,
    LSH,
    MAPPED,
    RANDOM,
    Comparison,
    behind_unsupervised,
    bootstrap_interval,
    label_counts,
    looks_random,
    verdict,
)
from ..supervision import Labels
from .advice import OURS, Recommendation

__all__ = ["recommend", "shortest_enough"]

LARGE_GAP = 0.1  # mAP between labeled and later rows that is worth a word
MORE = 0.05  # share of the nearest relevant rows that a longer code must add to be named
FEW_ROWS = 10  # of a label
SHARE_OF_FEW = 0.02  # of the rows; fewer rows in small labels do not move a mean

Comparisons = dict[int, Comparison]


def shortest_enough(scores: dict[int, Floats], tolerance: float) -> int:
    """The shortest length whose loss to the best one is below the tolerance, interval and all.

    ``scores`` holds the queries' scores by length. The upper end of the paired interval decides, so few
    queries make the answer careful, not short.
    """
    if all(np.isnan(one).all() for one in scores.values()):
        return min(scores)  # held-out rows of many small classes have no kin among each other
    best = max(scores, key=lambda n_bits: (float(np.nanmean(scores[n_bits])), -n_bits))
    return next(
        n_bits
        for n_bits in sorted(scores)
        if n_bits == best
        or bootstrap_interval(scores[best] - scores[n_bits], n_resamples=1000).high <= tolerance
    )


def recommend(comparisons: Comparisons, labels: Labels, tolerance: float, no_itq: bool) -> Recommendation:
    """The method, the length, what is lost, and what to beware of."""
    warnings = _warn_of_labels(labels)
    if no_itq:
        warnings.append("ITQ was left out: it takes too long on this many columns.")

    def enough(name: str, measure: str) -> int:
        scores = {n: one.line(name).measures[measure] for n, one in comparisons.items()}
        return shortest_enough(scores, tolerance)

    seen = [(LEARNED, name) for name in ("mAP", "p10", "exact") if labels.is_tags or name != "exact"]
    n_bits = max(enough(*one) for one in [*seen, (MAPPED, "later")])
    chosen = comparisons[n_bits]
    if looks_random(chosen):
        return _no_answer(chosen, warnings)
    rival = ITQ if ITQ in chosen and chosen.score(ITQ) > chosen.score(LSH) else LSH
    if not _ahead(chosen, rival):
        sentence = (
            f"Use {rival}, which reads no labels: its mAP is {chosen.score(rival):.3f}, that of {OURS} "
            f"{chosen.score(LEARNED):.3f} at {n_bits} bits, so the labels bring nothing measurable."
        )
        length = enough(rival, "mAP")
        found = (sentence, _length(comparisons, length, tolerance), *verdict(chosen))
        return Recommendation(rival, length, _labels_help(chosen), found, tuple(warnings))
    first, *others = verdict(chosen)
    length_and_first = [_length(comparisons, n_bits, tolerance), first]
    if behind_unsupervised(chosen):  # bad news first
        length_and_first.reverse()
    sentences = [*length_and_first, *others, *_longer(comparisons, n_bits)]
    sentences.append(
        "None of this speaks of kinds of items never labeled: for those compare under the protocol "
        "'unseen-classes' (docs/protocols.md)."
    )
    gap = chosen.score(LEARNED) - chosen.score(MAPPED, "later")
    if gap > LARGE_GAP:
        warnings.append(
            "Rows that come later, without labels, are found less well: mAP "
            f"{chosen.score(MAPPED, 'later'):.3f} against {chosen.score(LEARNED):.3f} among "
            "labeled rows. More labeled rows or better features "
            "narrow that gap; more bits help little."
        )
    return Recommendation(OURS, n_bits, _labels_help(chosen), tuple(sentences), tuple(warnings))


def _ahead(one: Comparison, rival: str) -> bool:
    """Whether our codes beat the rival's of the same length, among labeled rows or among later ones."""
    return one.ahead(LEARNED, rival) or one.ahead(MAPPED, rival, "later")


def _labels_help(one: Comparison) -> bool | None:
    ahead = one.ahead(LEARNED, COSINE) or one.ahead(MAPPED, COSINE, "later")
    behind = one.ahead(COSINE, LEARNED) or one.ahead(COSINE, MAPPED, "later")
    return None if ahead == behind else ahead


def _length(comparisons: Comparisons, n_bits: int, tolerance: float) -> str:
    lengths, size, facts = sorted(comparisons), n_bytes(n_bits), comparisons[n_bits].facts
    start = f"Use {n_bits} bits ({size:,} byte{'' if size == 1 else 's'} per item)"
    if len(lengths) == 1:
        return f"{start}: no other length was asked for."
    what = f"{tolerance:g} of mAP{', p10 or exact match' if facts['labels_are'] == 'tags' else ' or p10'}"
    if n_bits == lengths[-1]:
        return f"{start}: every shorter code may lose more than {what}. Try longer ones, too."
    return f"{start}: the shortest length that loses less than {what} against the best one."


def _longer(comparisons: Comparisons, n_bits: int) -> list[str]:
    """The shortest of longer codes that put more of the nearest relevant rows, or a row itself, first."""
    found = {
        n: (one.score(LEARNED, "near"), one.facts["self_retrieval"])
        for n, one in comparisons.items()
        if n >= n_bits
    }
    most = np.max(list(found.values()), axis=0)
    better = min(n for n, both in found.items() if n == max(found) or (np.array(both) >= most - MORE).all())
    if better == n_bits:
        return []
    before, after = found[n_bits], found[better]
    return [
        f"Longer codes find more look-alikes: with {better} bits {after[0]:.0%} of the ten nearest relevant "
        f"rows are among the first hundred ({before[0]:.0%} with {n_bits}), and a training row finds itself "
        f"first in {after[1]:.0%} of cases ({before[1]:.0%})."
    ]


def _no_answer(one: Comparison, warnings: list[str]) -> Recommendation:
    sentence = (
        f"No length can be recommended, and labels do not help: {OURS} has p10 "
        f"{one.score(LEARNED, 'p10'):.3f}, float cosine {one.score(COSINE, 'p10'):.3f}, "
        f"and a random order {one.score(RANDOM, 'p10'):.3f}."
    )
    warning = (
        "The labels look random: the features say nothing about them. Check that rows and labels are in the "
        "same order, and that these features can know what the labels mean."
    )
    return Recommendation(None, None, False, (sentence,), (warning, *warnings))


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
        f"{', ...' if few.sum() > 3 else ''}): they are hard to learn and hardly measured here."
    ]
