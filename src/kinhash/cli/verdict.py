"""Where the codes fall short, and which labels are found worst, in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._internal.aliases import Facts
from .terminal import visible

if TYPE_CHECKING:
    from ..metrics import Comparison

__all__ = ["shortfalls", "worst_labels"]

WORSE = 0.02  # a smaller difference may be chance
WORST = 5  # labels that are named


def shortfalls(comparison: Comparison) -> list[str]:
    """Where the codes fall short on the held-out rows, and what to do: sentences, none where they do not."""
    from ..metrics import LEARNED, MAPPED
    from ..solvers import bits_for, comfortable

    facts, found = comparison.facts, []
    scores = {name: comparison.score(name) for name in (LEARNED, MAPPED) if name in comparison}
    if comparison.ours == LEARNED and scores[LEARNED] < scores[MAPPED] - WORSE:
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


def worst_labels(labels: list[Facts], kind: str) -> list[str]:
    """One line with the labels that are found worst; none where there are two at most, or all are found."""
    if len(labels) < 3 or labels[0]["score"] > 1 - WORSE:
        return []
    named = [
        f"{visible(str(one['label']), one_line=True)} {one['score']:.3f}"
        + (f" (cosine {one['other']:.3f})" if one["other"] is not None else "")
        for one in labels[:WORST]
    ]
    return [f"Worst {kind}: {', '.join(named)}; all of them with --json."]
