"""Charts: points where they belong, lines that can be told apart, curves averaged over partitions."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinhash_bench.report.chart import HEIGHT, LETTERS, WIDTH, Axis, ChartLine, line_chart
from kinhash_bench.report.report import make_report
from records import every_section, score

NUMBERS = st.floats(1e-3, 1e4)


def drawn(html: str) -> ElementTree.Element:
    """The chart as a tree; figures are well-formed XML."""
    return ElementTree.fromstring(html).find("svg")  # type: ignore[return-value]


def paths(svg: ElementTree.Element) -> list[list[tuple[float, float]]]:
    found = []
    for group in svg.iter("g"):
        numbers = re.findall(r"[ML]?([\d.-]+) ([\d.-]+)", group[0].attrib["d"])
        found.append([(float(x), float(y)) for x, y in numbers])
    return found


@given(
    points=st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=12, unique_by=lambda p: p[0]),
    log=st.booleans(),
)
def test_points_lie_inside_and_in_order(points: list[tuple[float, float]], log: bool) -> None:
    xs, ys = zip(*sorted(points), strict=True)
    svg = drawn(line_chart("c", "A chart", [ChartLine("one", xs, ys)], Axis("x", log=log), Axis("y")))
    ((*shown,),) = paths(svg)
    assert len(shown) == len(xs)
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in shown)
    assert [x for x, _ in shown] == sorted(x for x, _ in shown)
    order = np.argsort(ys, kind="stable")
    heights = [-shown[i][1] for i in order]
    assert all(b >= a - 1e-9 for a, b in itertools.pairwise(heights))


def test_a_log_axis_spaces_ratios_evenly() -> None:
    line = ChartLine("one", (8.0, 16.0, 32.0), (0.1, 0.2, 0.3))
    axis = Axis("bits", log=True, ticks=(8.0, 16.0, 32.0))
    svg = drawn(line_chart("c", "A chart", [line], axis, Axis("mAP")))
    (((a, _), (b, _), (c, _)),) = paths(svg)
    assert b - a == pytest.approx(c - b, abs=0.2)
    texts = [text.text for text in svg.iter("text")]
    assert {"8", "16", "32", "bits", "mAP"} <= set(texts)


def test_eight_lines_can_be_told_apart_without_colour() -> None:
    lines = [ChartLine(f"method {n}", (1.0, 2.0), (0.1 * n, 0.1 * n + 0.01)) for n in range(8)]
    html = line_chart("c", "A chart", lines, Axis("x"), Axis("y"))
    svg = drawn(html)
    groups = list(svg.iter("g"))
    dashes = {group[0].attrib.get("stroke-dasharray", "") for group in groups}
    markers = {
        re.sub(r"[\d.]+ [\d.]+", "", group[1].attrib.get("d", group[1].attrib["class"])) for group in groups
    }
    letters = [text.text for text in svg.iter("text") if text.attrib.get("class") == "letter"]
    assert (len(dashes), len(markers)) == (8, 8)
    assert sorted(letters) == list(LETTERS)
    assert all(f"<b>{letter}</b> method {n}" in html for n, letter in enumerate(LETTERS))
    with pytest.raises(ValueError, match="9 lines"):
        line_chart("c", "A chart", [*lines, lines[0]], Axis("x"), Axis("y"))


@given(ends=st.lists(st.floats(0, 1), min_size=2, max_size=8))
def test_letters_never_lie_on_each_other(ends: list[float]) -> None:
    lines = [ChartLine(f"m{n}", (1.0, 2.0), (0.5, end)) for n, end in enumerate(ends)]
    svg = drawn(line_chart("c", "A chart", lines, Axis("x"), Axis("y")))
    heights = sorted(float(t.attrib["y"]) for t in svg.iter("text") if t.attrib.get("class") == "letter")
    assert all(b - a >= 15.9 for a, b in itertools.pairwise(heights))
    assert all(0 < y <= HEIGHT for y in heights)


def test_a_chart_says_in_words_what_it_shows() -> None:
    line = ChartLine("EM-KSH", (0.5, 2.5), (0.61, 0.62), (0.01, None))
    svg = drawn(line_chart("c", "mAP & <c>", [line], Axis("c"), Axis("mAP")))
    title, words = svg.find("title"), svg.find("desc")
    assert title is not None
    assert words is not None
    assert title.text == "mAP & <c>"
    assert words.text == "mAP & <c>. mAP against c: EM-KSH from 0.61 at 0.5 to 0.62 at 2.5."
    assert svg.attrib["aria-labelledby"] == "c-t c-d"


def test_look_ups_of_older_results_are_not_drawn_as_a_ranking() -> None:
    """Means over radii count an empty look-up as precision 0, so such curves climb where none should."""
    assert "along the ranking" in make_report(every_section()).html
    old = [
        replace(
            r,
            **{
                kind: replace(s, ranked_precision=(), recall=(0.1, 1.0), precision=(0.0, 0.2))
                for kind, s in (("learned", r.learned), ("mapped", r.mapped))
                if s
            },
        )
        for r in every_section()
    ]
    made = make_report(old)
    assert not [table for table in made.tables if "precision" in table.name]
    assert score("x").ranked_precision[0] > score("x").ranked_precision[-1]


def test_curves_have_their_numbers_beside_them() -> None:
    made = make_report(every_section())
    table = next(t for t in made.tables if t.name == "curves-mulan_scene-paper-precision-learned-table")
    row, entries = table.rows[0]
    own = [
        r
        for r in every_section()
        if (r.dataset, r.label, r.n_bits) == ("mulan_scene", row, 64) and not r.given
    ]
    at_half = [r.learned.ranked_precision[10] for r in own if r.learned]
    place = [column.name for column in table.columns].index("0.5")
    assert entries[place].value == pytest.approx(np.mean(at_half))
    assert entries[place].spread == pytest.approx(np.std(at_half, ddof=1))
    seconds = next(t for t in made.tables if t.name == "curves-mulan_scene-paper-seconds-table")
    spent = [r.seconds["fit"] for r in own]
    place = [column.full for column in seconds.columns].index("64 bits training seconds")
    assert math.isclose(dict(seconds.rows)[row][place].value or 0, float(np.mean(spent)))
