"""An advice as one reads it: what to do, the lengths, the comparison at the recommended one, the protocol."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING

from .._internal.texts import columns
from ..metrics import ITQ, LEARNED, LSH, MAPPED, WIDTH

if TYPE_CHECKING:
    from .advice import Advice

__all__ = ["text"]

SHOWN = ("p10", "exact", "Jaccard", "near")


def text(advice: Advice) -> str:
    """The whole answer in lines of a hundred letters."""
    facts, answer = advice.measurement, advice.recommendation
    lengths = sorted(advice.comparisons)
    shown = answer.n_bits or lengths[-1]
    parts = [
        f"{facts.rows:,} labeled rows of {facts.columns:,} columns, {facts.labels:,} {facts.kind}.",
        _points("What to do", answer.sentences),
        *([_points("Beware", answer.warnings)] if answer.warnings else []),
        _lengths(advice),
        f"{shown} bits beside what else one could do:\n{advice.at(shown)}",
        fill(str(facts), WIDTH),
    ]
    return "\n\n".join(parts)


def _points(title: str, sentences: tuple[str, ...]) -> str:
    return "\n".join(
        [title, *(fill(one, WIDTH, initial_indent="- ", subsequent_indent="  ") for one in sentences)]
    )


def _lengths(advice: Advice) -> str:
    """One line per length: our codes, learned and later, and the codes that read no labels."""
    first = next(iter(advice.comparisons.values()))
    shown = [name for name in SHOWN if name in first.line(LEARNED).measures]
    rivals = [name for name in (ITQ, LSH) if name in first]
    rows = [
        [
            "bits",
            "bytes",
            "mAP",
            "95 % interval",
            *shown,
            "self",
            "later",
            *(f"{name} mAP" for name in rivals),
        ]
    ]
    for n_bits, one in advice.comparisons.items():
        spread = one.line(LEARNED).interval("mAP")
        mark = "*" if n_bits == advice.recommendation.n_bits else ""
        rows.append(
            [
                f"{n_bits}{mark}",
                str(one.line(LEARNED).bytes_per_item),
                f"{spread.value:.3f}",
                f"{spread.low:.3f} to {spread.high:.3f}",
                *(f"{one.score(LEARNED, name):.3f}" for name in shown),
                f"{one.facts['self_retrieval']:.3f}",
                f"{one.score(MAPPED, 'later'):.3f}",
                *(f"{one.score(name):.3f}" for name in rivals),
            ]
        )
    return f"{columns(rows)}\nlearned codes; self: a training row finds itself first; * recommended"
