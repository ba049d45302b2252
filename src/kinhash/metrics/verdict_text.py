"""A comparison in plain sentences: is it any good, what would do as well, and what is lost.

Every claim rests on the paired 95 % interval of a difference over the same queries.
"""

from __future__ import annotations

from .comparison import (
    CLASSIFIER,
    COSINE,
    ITQ,
    JACCARD_CLASSIFIER,
    LEARNED,
    MAPPED,
    RANDOM,
    UNSUPERVISED,
    Comparison,
)

__all__ = ["behind_unsupervised", "looks_random", "verdict"]

SEEN = ("mAP", "p10", "exact", "Jaccard")  # what a classifier is compared by
NEAR = 0.02  # a smaller loss of nearest rows is not worth a word
FEW_QUERIES = 50  # below this, methods whose intervals overlap count as level
LEAST_GAIN = 0.02  # of what lies between random order and perfection; less says nothing about labels
NAMES = {"exact": "exact match", "near": "the ten nearest relevant rows among the first hundred"}


def verdict(comparison: Comparison) -> list[str]:
    """The sentences, the most important one first."""
    if comparison.score(comparison.ours) != comparison.score(comparison.ours):
        return [
            "Verdict: no query has a relevant row in the database, so nothing can be said; "
            f"{_sizes(comparison)}."
        ]
    sentences = [_gain(comparison)]
    if CLASSIFIER in comparison:
        sentences += [_classifier(comparison), *_lost(comparison), _itself(comparison)]
    return sentences + _of_named_rows(comparison)


def behind_unsupervised(comparison: Comparison) -> list[str]:
    """In which measures the best search that reads no labels does better than the codes."""
    measures = [(comparison.ours, comparison.metric)]
    measures += [(comparison.ours, measure) for measure in _of_first_ten(comparison)]
    if CLASSIFIER in comparison:
        measures.append((MAPPED, "later"))
    measures += [(comparison.ours, f"mAP {up} up") for up in _levels(comparison)]
    behind = []
    for ours, measure in measures:
        # Few held-out partners are found by chance, and the best of many searches by more of it.
        rivals = (COSINE, ITQ) if measure == "found" else UNSUPERVISED
        lines = [name for name in rivals if name in comparison]
        rival = max(lines, key=lambda name: comparison.score(name, measure))
        if comparison.ahead(rival, ours, measure):
            gap = comparison.difference(rival, ours, measure)
            scores = f"{comparison.score(rival, measure):.3f} against {comparison.score(ours, measure):.3f}"
            spread = f"difference {gap.value:.3f}, 95 % interval {gap.low:.3f} to {gap.high:.3f}"
            behind.append(f"{rival} has {measure} {scores} ({spread})")
    return behind


def looks_random(comparison: Comparison) -> bool:
    """Whether neither our codes nor float cosine find more relevant rows first than a random order does.

    By p10, because mAP favors rankings by whole classes: a guessed class beats a random order of rows.
    """
    if RANDOM not in comparison:
        return False
    room = 1 - comparison.score(RANDOM, "p10")
    gains = [comparison.difference(name, RANDOM, "p10") for name in (comparison.ours, COSINE)]
    return not any(gain.low > 0 and gain.value > LEAST_GAIN * room for gain in gains)


def _sizes(comparison: Comparison) -> str:
    before, after = (comparison.facts[f"bytes_per_item_{when}"] for when in ("before", "after"))
    return f"{after:,} byte{'' if after == 1 else 's'} per item instead of {before:,}"


def _gain(comparison: Comparison) -> str:
    """Ours beside the best search that reads no labels, whichever way it falls."""
    behind = behind_unsupervised(comparison)
    if "pull" in comparison.facts and comparison.facts["pull"] == "start":
        checked = comparison.facts.get("checked", True)
        why = "did not help" if checked else "are too few to tell whether they help"
        what = f"{_kind(comparison)} {why}: the codes are the unsupervised ones"
        return f"Verdict: {what}. {_scores(comparison)}"
    if unclear := _unclear(comparison):
        return unclear
    if looks_random(comparison):
        scores = [comparison.score(name, "p10") for name in (comparison.ours, COSINE, RANDOM)]
        return (
            "Verdict: labels bring nothing, since features say nothing about them: p10 is "
            f"{scores[0]:.3f} by these codes, {scores[1]:.3f} by float cosine and {scores[2]:.3f} in random "
            f"order. Do labels and rows belong together? The codes take {_sizes(comparison)}."
        )
    if behind:
        known, more = ("pairs", "pairs") if "kind" in comparison.facts else ("labels", "labeled rows")
        return (
            f"Verdict: a search that reads no {known} does better: {'; '.join(behind)}. The codes take "
            f"{_sizes(comparison)}. Try more bits or more {more} (docs/faq.md)."
        )
    return f"Verdict: {_scores(comparison)}{_further_up(comparison)}"


def _unclear(comparison: Comparison) -> str:
    """The sentence for few queries on which the best search without labels may be as good; else nothing."""
    rival = max((name for name in UNSUPERVISED if name in comparison), key=comparison.score)
    ours, other = (comparison.line(name).interval(comparison.metric) for name in (comparison.ours, rival))
    apart = ours.low > other.high or other.low > ours.high
    if ours.n_queries >= FEW_QUERIES or (apart and ours.n_queries > 1):
        return ""
    asked = f"{ours.n_queries} {'query' if ours.n_queries == 1 else 'queries'}"
    if "kind" in comparison.facts:
        asked = f"{comparison.facts['pairs_held_out']} held-out {_kind(comparison)}"
    return (
        f"Verdict: not clearly better or worse than {rival} on {asked}: {comparison.metric} "
        f"{ours.value:.3f} (95 % interval {ours.low:.3f} to {ours.high:.3f}) against {other.value:.3f} "
        f"({other.low:.3f} to {other.high:.3f}). The codes take {_sizes(comparison)}."
        f"{_further_up(comparison)}"
    )


def _scores(comparison: Comparison) -> str:
    """Sizes, and our scores beside float cosine's."""
    measures = [comparison.metric, *_of_first_ten(comparison)]
    scores = [f"{name} {comparison.score(comparison.ours, name):.3f}" for name in measures]
    cosine = [f"{comparison.score(COSINE, name):.3f}" for name in measures]
    others = ""
    if RANDOM in comparison:
        others = f" and random order {comparison.score(RANDOM, 'p10'):.3f}"
    elif ITQ in comparison:
        unread = [f"{comparison.score(ITQ, name):.3f}" for name in measures]
        others = f" and ITQ of the same length {' and '.join(unread)}"
    return (
        f"{_sizes(comparison)}, and {' and '.join(scores)}, where float cosine has "
        f"{' and '.join(cosine)}{others}."
    )


def _of_first_ten(comparison: Comparison) -> list[str]:
    """The measure of the first ten answers, if there is one: of partners, or of relevant rows."""
    measures = comparison.line(comparison.ours).measures
    return [name for name in measures if name in ("found", "p10")][:1]


def _levels(comparison: Comparison) -> list[int]:
    """How many levels above the leaves of a tree were measured: 1, 2, ..."""
    measures = comparison.line(comparison.ours).measures
    return [up for up in range(1, len(measures)) if f"mAP {up} up" in measures]


def _further_up(comparison: Comparison) -> str:
    found = [
        f"{up} up the tree mAP {comparison.score(comparison.ours, f'mAP {up} up'):.3f} "
        f"({comparison.score(COSINE, f'mAP {up} up'):.3f})"
        for up in _levels(comparison)
    ]
    return f" {_listed(found)}.".replace(" 1 up", " One level up", 1) if found else ""


def _kind(comparison: Comparison) -> str:
    return "triplets" if comparison.facts["kind"] == "triplets" else "pairs"


def _of_named_rows(comparison: Comparison) -> list[str]:
    """Whether rows that pairs name have codes of their own, and what these are worth."""
    facts, named = comparison.facts, []
    if facts.get("partners_score") is not None:
        named.append(
            f"Rows that {_kind(comparison)} name have learned codes, from their features and their partners: "
            f"{facts['partners_score']:.3f} of held-out {_kind(comparison)} between such rows are in order, "
            f"{facts['score_without']:.3f} by codes of features alone."
        )
    if LEARNED in comparison and comparison.ours == MAPPED:
        scores = f"{comparison.score(LEARNED):.3f} against {comparison.score(MAPPED):.3f}"
        named.append(
            f"Learned codes do worse than mapped ones ({scores}): search a database of mapped codes."
        )
    return named


def _classifier(comparison: Comparison) -> str:
    """Whether logistic regression with the database's own labels does as well."""
    ours, best = comparison.ours, JACCARD_CLASSIFIER if JACCARD_CLASSIFIER in comparison else CLASSIFIER
    line = comparison.line(best)
    measures = [name for name in SEEN if name in line.measures]
    ahead = [name for name in measures if comparison.ahead(ours, best, name)]
    behind = [name for name in measures if comparison.ahead(best, ours, name)]
    if ahead and behind:
        how = f"is ahead in {_listed(behind)} and behind in {_listed(ahead)}"
    elif behind and behind != measures:
        how = f"is ahead in {_listed(behind)}"
    else:
        how = "does less well here" if ahead else "does better here" if behind else "does as well here"
    scores = [f"{name} {line.mean(name):.3f} against {comparison.score(ours, name):.3f}" for name in measures]
    size = line.bytes_per_item
    by = ", ranked by expected Jaccard" if best == JACCARD_CLASSIFIER else ""
    near = f"{line.mean('near'):.0%} of the ten nearest relevant rows among the first hundred"
    return (
        f"A classifier with {size} byte{'' if size == 1 else 's'} per item (logistic regression, and the "
        f"true labels of the database{by}) {how}: {', '.join(scores)}. It knows no order among rows of the "
        f"same labels: it finds {near}, these codes {comparison.score(ours, 'near'):.0%}."
    )


def _lost(comparison: Comparison) -> list[str]:
    """What float cosine shows and the codes do not."""
    ours, lost = comparison.ours, []
    for measure in ("exact", "Jaccard", "near"):
        if measure not in comparison.line(COSINE).measures:
            continue
        gap = comparison.difference(COSINE, ours, measure)
        if gap.low > (NEAR if measure == "near" else 0):
            scores = f"{comparison.score(ours, measure):.3f} against {comparison.score(COSINE, measure):.3f}"
            lost.append(f"{NAMES.get(measure, measure)} {scores}")
    return [f"Lost against float cosine: {_listed(lost)}."] if lost else []


def _itself(comparison: Comparison) -> str:
    facts = comparison.facts
    return (
        f"A training row's own features, encoded as a new row, find that row first in "
        f"{facts['self_retrieval']:.0%} of {facts['self_retrieval_of']:,} cases."
    )


def _listed(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
