"""An advice as one reads it: the table, the answer, the protocol."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from ._advice import COSINE, OURS, RIVALS, Figure

if TYPE_CHECKING:
    from ._advice import Advice

__all__ = ["text"]

WIDTH = 100


def text(advice: Advice) -> str:
    """The whole answer in lines of a hundred characters."""
    facts = advice.measurement
    head = (
        f"{facts.rows:,} labelled rows of {facts.columns:,} columns, {facts.labels:,} {facts.kind}; "
        f"a list in random order has mAP {advice.chance.value:.3f}."
    )
    parts = [head, _table(advice), _points("What to do", advice.recommendation.sentences)]
    if advice.recommendation.warnings:
        parts.append(_points("Beware", advice.recommendation.warnings))
    if any(figure.search for figure in advice.figures):
        parts.append(_points("Times on this machine", _times(advice)))
    lines = str(facts).split("\n")
    parts.append("\n".join(textwrap.fill(line, WIDTH) for line in lines))
    return "\n\n".join(parts)


def _points(title: str, sentences: tuple[str, ...]) -> str:
    return "\n".join(
        [
            title,
            *(textwrap.fill(one, WIDTH, initial_indent="- ", subsequent_indent="  ") for one in sentences),
        ]
    )


def _table(advice: Advice) -> str:
    """One line per length, ours first; the recommended one is marked."""
    by_way = {(figure.method, figure.n_bits): figure for figure in advice.figures}
    mine = [figure for figure in advice.figures if figure.method == OURS]
    cosine = by_way[COSINE, None]
    rows = [["bits", "bytes", "learned", "mapped", "95 % interval", *RIVALS, "encode", "search"]]
    for figure in mine:
        others = [by_way.get((method, figure.n_bits)) for method in RIVALS]
        cells = [_score(advice, other) for other in others]
        rows.append([str(figure.n_bits), *_cells(advice, figure), *cells, *_seconds_of(figure)])
    rows.append(["float", *_cells(advice, cosine), *["– "] * len(RIVALS), *_seconds_of(cosine)])
    if not any(figure.search for figure in mine):
        rows = [row[:-2] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    groups = [(OURS, widths[2:5]), ("without labels", widths[5:8]), ("times", widths[8:])]
    heads = [f" {name} ".center(sum(part) + 2 * len(part) - 2, "─") for name, part in groups if part]
    above = " " * (sum(widths[:2]) + 4) + "  ".join(heads)
    note = "mAP; float: cosine of the columns as they are"
    note += "; encode: 1,000 rows; search: one query, a million rows" if len(widths) > 8 else ""
    note += "; * recommended" if advice.recommendation.method else ""
    return "\n".join(
        line.rstrip()
        for line in [above, lines[0], "─" * len(lines[0]), *lines[1:], textwrap.fill(note, WIDTH)]
    )


def _cells(advice: Advice, figure: Figure) -> list[str]:
    learned = "–" if figure.learned is None else f"{figure.learned.value:.3f}"
    interval = f"{figure.mapped.low:.3f} to {figure.mapped.high:.3f}"
    return [f"{figure.bytes_per_item:,}", learned, _score(advice, figure), interval]


def _score(advice: Advice, figure: Figure | None) -> str:
    if figure is None:
        return "– "
    answer = advice.recommendation
    chosen = figure.n_bits is not None and (figure.method, figure.n_bits) == (answer.method, answer.n_bits)
    return f"{figure.mapped.value:.3f}{'*' if chosen else ' '}"


def _seconds_of(figure: Figure) -> list[str]:
    encode = figure.encode_seconds_per_1000
    return [
        "–" if encode is None else _seconds(encode),
        "–" if figure.search is None else _seconds(figure.search.million),
    ]


def _times(advice: Advice) -> tuple[str, ...]:
    """Search times at the recommended length (or the longest), and of float cosine."""
    timed = [figure for figure in advice.figures if figure.method == OURS]
    mine = next((one for one in timed if one.n_bits == advice.recommendation.n_bits), timed[-1])
    ours, floats = mine.search, advice.figure(COSINE).search
    assert ours is not None
    assert floats is not None
    return (
        f"Measured: one query with {mine.n_bits} bits among the {ours.rows:,} rows of a fit takes "
        f"{_seconds(ours.seconds)}, among a million {_seconds(ours.million)} (these codes with one bit in "
        f"eight flipped), exact, the ten nearest; float cosine {_seconds(floats.million)}.",
        f"Extrapolated to a hundred million rows: {_seconds(ours.hundred_million)}, float cosine "
        f"{_seconds(floats.hundred_million)}.",
    )


def _seconds(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.2g} µs"
