"""The verdict `kinhash fit` and `kinhash demo` end with, as text, and what it says of single labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._terminal import table, visible

if TYPE_CHECKING:
    from ..evaluation import Comparison

__all__ = ["looks_sentence", "shortfalls", "verdict_text", "worst_labels"]

WORSE = 0.02  # a smaller difference may be chance
WORST = 5  # labels that are named


def verdict_text(comparison: Comparison) -> str:
    """The table of search methods, and below it how it was measured."""
    rows = [["", "bytes per item", comparison.metric, "95 % interval"]]
    for line in comparison.lines:
        interval = f"{line.low:.3f} to {line.high:.3f}"
        rows.append([line.name, f"{line.bytes_per_item:,}", f"{line.score:.3f}", interval])
    return f"{table(rows)}\n{comparison.protocol}"


def looks_sentence(facts: dict[str, Any]) -> list[str]:
    """What the alike bits are good for, or what codes without them cannot do; nothing for pairs."""
    if "near_kin" not in facts:
        return []
    kind = facts["labels_are"]
    found = (
        f"{facts['nearest_kin_among_100']:.0%} of the ten nearest kin are among the first hundred answers; "
        f"{facts['distinct_answers_of']:,} queries get {facts['distinct_answers']:,} different first tens."
    )
    if not facts["alike_bits"]:
        return [f"All {facts['n_bits']} bits say who is kin, none what a row looks like: {found}"]
    n_kin = facts["n_bits"] - facts["alike_bits"]
    return [f"{n_kin} bits know your {kind}; with the other {facts['alike_bits']}, {found}"]


def shortfalls(comparison: Comparison) -> list[str]:
    """Where the codes fall short on the rows kept out, and what to do: sentences, none where they do not."""
    from ..evaluation.comparison import LEARNED, MAPPED
    from ..solvers.codewords import bits_for, comfortable

    facts, found = comparison.facts, []
    scores = {line.name: line.score for line in comparison.lines}
    if LEARNED in scores and scores[LEARNED] < scores[MAPPED] - WORSE:
        found.append(
            f"Learned codes find less ({scores[LEARNED]:.3f}) than mapped ones ({scores[MAPPED]:.3f}). "
            "Search a database of mapped codes: kinhash encode."
        )
    if facts.get("labels_are") == "classes" and facts["labels"] > comfortable(facts["n_bits"]):
        shared = facts["classes_sharing_a_code"]
        found.append(
            f"{facts['n_bits']} bits hold {comfortable(facts['n_bits']):,} classes well, and there are "
            f"{facts['labels']:,}" + (f"; {shared:,} share a code" if shared else "") + ". "
            f"Try --bits {bits_for(facts['labels'])}."
        )
    labels = facts.get("by_label", [])
    behind = [one for one in labels if one["score"] < one["other"] - 0.1]
    if len(labels) > 2 and behind:
        kind = facts["labels_are"]
        found.append(
            f"Float cosine finds {len(behind):,} of {len(labels):,} {kind} better by more than .1. "
            "Try more bits, or more rows of those."
        )
    return found + worst_labels(labels, facts.get("labels_are", "labels"))


def worst_labels(labels: list[dict[str, Any]], kind: str) -> list[str]:
    """One line with the labels that are found worst; none where there are two at most, or all are found."""
    if len(labels) < 3 or labels[0]["score"] > 1 - WORSE:
        return []
    named = [
        f"{visible(str(one['label']), one_line=True)} {one['score']:.3f}"
        + (f" (cosine {one['other']:.3f})" if one["other"] is not None else "")
        for one in labels[:WORST]
    ]
    return [f"Worst {kind}: {', '.join(named)}; all of them with --json."]
