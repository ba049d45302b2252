"""Charts: lines that can be distinguished, words beside them, curves averaged over partitions."""

from __future__ import annotations

import base64
import math
import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

from kinhash_bench.report.chart import DASHES, MARKERS, Axis, ChartLine, line_chart
from kinhash_bench.report.report import make_report
from records import every_section, score


def drawn(html: str) -> str:
    """The picture itself; figures are well-formed XML."""
    image = ElementTree.fromstring(html).find("img")
    assert image is not None
    return base64.b64decode(image.attrib["src"].removeprefix("data:image/svg+xml;base64,")).decode()


def test_a_log_axis_has_the_ticks_it_is_given() -> None:
    line = ChartLine("one", (8.0, 16.0, 32.0), (0.1, 0.2, 0.3))
    axis = Axis("bits", log=True, ticks=(8.0, 16.0, 32.0))
    svg = drawn(line_chart("c", "A chart", (line,), axis, Axis("mAP")))
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    assert {"8", "16", "32", "bits", "mAP", "one"} <= set(texts)
    assert not [text for text in texts if "$" in text]


def test_eight_lines_can_be_told_apart_without_color() -> None:
    lines = tuple(ChartLine(f"method {n}", (1.0, 2.0), (0.1 * n, 0.1 * n + 0.01)) for n in range(8))
    html = line_chart("c", "A chart", lines, Axis("x"), Axis("y"))
    svg = drawn(html)
    assert html == line_chart.__wrapped__("c", "A chart", lines, Axis("x"), Axis("y"))
    assert all(f">method {n}<" in svg for n in range(8))
    assert (len(set(MARKERS)), len(set(DASHES))) == (8, 8)
    assert len(set(re.findall(r"stroke-dasharray: ([^;]+);", svg))) == 7  # and one that is whole
    with pytest.raises(ValueError, match="9 lines"):
        line_chart("c", "A chart", (*lines, lines[0]), Axis("x"), Axis("y"))


def test_a_chart_says_in_words_what_it_shows() -> None:
    line = ChartLine("$KSH", (0.5, 2.5), (0.61, 0.62), (0.01, None))
    html = line_chart("c <1>", "mAP & <c>", (line,), Axis("c"), Axis("mAP"))
    figure = ElementTree.fromstring(html)
    assert figure.attrib["id"] == "c--1-"
    assert figure.find("figcaption").text == "mAP & <c>"  # type: ignore[union-attr]
    words = "mAP & <c>. mAP against c: $KSH from 0.61 at 0.5 to 0.62 at 2.5."
    assert figure.find("img").attrib["alt"] == words  # type: ignore[union-attr]
    assert ">$KSH<" in drawn(html)


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
