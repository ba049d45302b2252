"""The report: pure, well formed, equal to its records, safe against hostile ones."""

from __future__ import annotations

import csv
import io
import itertools
import random
import re
from collections import Counter
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest

from kinhash.errors import InvalidInput
from kinhash_bench.report.report import Report, make_report
from kinhash_bench.report.result_table import Entry, ResultTable
from kinhash_bench.tasks import Result
from records import DIGESTS, every_section, failed, result

VOID = {"meta", "img", "br", "link", "input", "hr", "wbr"}


class Page(HTMLParser):
    """Reads a page strictly: tags balance; tables, pictures, ids and links are kept."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.captions: dict[str, str] = {}
        self.folded: set[str] = set()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.seen: list[tuple[str, dict[str, str]]] = []
        self._table = ""
        self._text: list[str] | None = None
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.seen.append((tag, given))
        self.ids += [given["id"]] if "id" in given else []
        if given.get("href", "").startswith("#"):
            self.links.append(given["href"][1:])
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self._table = given["id"]
            self.folded |= {given["id"]} if "details" in self.open else set()
            self.tables[self._table] = []
        if tag == "tr":
            self.tables[self._table].append([])
        if tag in ("th", "td", "caption"):
            self._text = []

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag
        if tag in ("th", "td", "caption") and self._text is not None:
            text = " ".join(" ".join(self._text).split())
            if tag == "caption":
                self.captions[self._table] = text
            else:
                self.tables[self._table][-1].append(text)
            self._text = None

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text.append(data)


@pytest.fixture(scope="module")
def records() -> list[Result]:
    return every_section()


@pytest.fixture(scope="module")
def report(records: list[Result]) -> Report:
    return make_report(records)


@pytest.fixture(scope="module")
def page(report: Report) -> Page:
    return Page(report.html)


def table_of(report: Report, name: str) -> ResultTable:
    return next(table for table in report.tables if table.name == name)


def cell(table: ResultTable, row: str, column: str) -> Entry:
    place = [c.full for c in table.columns].index(column)
    return dict(table.rows)[row][place]


def _is(r: Result, dataset: str, method: str, n_bits: int, section: str) -> bool:
    return (r.dataset, r.method, r.n_bits, r.sections) == (dataset, method, n_bits, (section,))


def test_the_same_records_give_the_same_bytes(records: list[Result], report: Report) -> None:
    shuffled = list(records)
    random.Random(5).shuffle(shuffled)
    assert make_report(shuffled).html == report.html
    again = [Result.from_json(one.to_json(), "x") for one in records]
    assert len(make_report(again).html) == len(report.html)


def test_the_page_is_one_file_without_scripts_or_network(report: Report, page: Page) -> None:
    tags = Counter(tag for tag, _ in page.seen)
    assert not {"script", "link", "iframe", "object"} & set(tags)
    for _, given in page.seen:
        for name in ("src", "href"):
            assert given.get(name, "#").startswith(("#", "data:image/")), given
        assert not any(name.startswith("on") for name in given)
    assert "url(" not in report.html
    assert "@import" not in report.html


def test_everything_can_be_read_without_seeing_it(page: Page) -> None:
    assert set(page.captions) == set(page.tables)
    assert all(page.captions.values())
    for tag, given in page.seen:
        if tag == "img":
            assert given["alt"]
        if tag == "th":
            assert given["scope"] in ("col", "row", "colgroup")
        if given.get("class") == "scroll":
            assert given["tabindex"] == "0"
            assert given.get("aria-label") or given["aria-labelledby"] in page.ids
    heads = [int(tag[1]) for tag, _ in page.seen if re.fullmatch("h[1-6]", tag)]
    assert heads[0] == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(heads))


def test_ids_are_unique_and_links_lead_somewhere(page: Page) -> None:
    assert [name for name, count in Counter(page.ids).items() if count > 1] == []
    assert set(page.links) <= set(page.ids)


def test_every_section_is_filled(report: Report) -> None:
    assert report.missing == ()
    assert "Nothing is missing: every section has results." in report.html


def test_numbers_are_those_of_the_records(records: list[Result], report: Report, page: Page) -> None:
    own = [r for r in records if _is(r, "cifar10_gist512", "EMKSH", 16, "table1-cifar10")]
    values = [r.learned.value for r in own if r.learned]
    assert len(values) == 3
    shown = cell(table_of(report, "table1-cifar10"), "EM-KSH", "16 bits learned")
    assert shown.value == pytest.approx(np.mean(values))
    assert shown.spread == pytest.approx(np.std(values, ddof=1))
    assert (shown.low, shown.high) == pytest.approx((np.mean(values) - 0.02, np.mean(values) + 0.03))
    assert shown.n == 3
    row = next(row for row in page.tables["table1-cifar10"] if row[0] == "EM-KSH")
    assert row[4].startswith("0.5344")  # what the paper prints, in the column before ours
    assert row[5].startswith(f"{np.mean(values):.4f} ± {np.std(values, ddof=1):.4f}")


def test_nearest_kin_stand_beside_kin(records: list[Result], report: Report) -> None:
    name = f"nearest-kin-mulan_scene-paper-{DIGESTS['paper'][:6]}-64"
    table = table_of(report, name)
    for method, n_bits in (("ITQ", 64), ("Cosine", None)):
        own = [
            r
            for r in records
            if (r.dataset, r.method, r.n_bits, r.given) == ("mulan_scene", method, n_bits, {})
        ]
        scores = [r.mapped for r in own if r.mapped]
        assert len(scores) == 3
        for column, figures in {
            "kin": [s.value for s in scores],
            "near-kin": [s.near_kin for s in scores],
            "r100": [s.nearest_found for s in scores],
            "distinct": [s.distinct for s in scores],
        }.items():
            assert cell(table, method, f"mapped {column}").value == pytest.approx(np.mean(figures))
    assert table_of(report, name.replace("-64", "-16")).rows


def test_older_results_are_reported_without_nearest_kin() -> None:
    old = [
        replace(
            r,
            **{
                kind: replace(s, near_kin=None, nearest_found=None, distinct=None, distinct_of=None)
                for kind, s in (("learned", r.learned), ("mapped", r.mapped))
                if s
            },
        )
        for r in every_section()
    ]
    report = make_report(old)
    assert not [table for table in report.tables if table.name.startswith("nearest-kin")]
    assert report.missing == ("No results with figures on the nearest kin.",)


def test_seconds_and_memory_are_those_of_the_records(records: list[Result], report: Report) -> None:
    spent = [
        r.seconds["fit"] for r in records if r.dataset == "nuswide" and r.label == "LFH" and r.n_bits == 8
    ]
    shown = cell(table_of(report, "table2-nuswide"), "LFH", "8 bits seconds")
    assert shown.value == pytest.approx(np.mean(spent))
    assert cell(table_of(report, "table2-nuswide"), "LFH", "8 bits paper, seconds").value == 31.05
    peaks = [
        r.peak_bytes for r in records if "memory" in r.sections and r.method == "BSH" and r.n_bits == 256
    ]
    shown = cell(table_of(report, "memory-cifar10_gist512"), "BSH", "256 bits")
    assert shown.value == pytest.approx(peaks[0] / 1e6)


def test_paired_differences_are_taken_query_by_query(records: list[Result], report: Report) -> None:
    def scores(method: str) -> np.ndarray:
        own = [r for r in records if r.dataset == "espgame" and r.method == method and r.n_bits == 64]
        return np.concatenate(
            [r.learned.per_query for r in sorted(own, key=lambda r: r.partition) if r.learned]
        )

    apart = scores("EMKSH") - scores("LFH")
    apart = apart[~np.isnan(apart)]
    assert len(apart) == 3 * 39
    shown = cell(table_of(report, "table1-espgame-paired"), "LFH", "64 bits learned")
    reach = 1.959964 * apart.std(ddof=1) / np.sqrt(len(apart))
    assert shown.value == pytest.approx(apart.mean())
    assert (shown.low, shown.high) == pytest.approx((apart.mean() - reach, apart.mean() + reach))


def test_a_row_with_fewer_partitions_says_so(report: Report, page: Page) -> None:
    shown = cell(table_of(report, "table1-espgame"), "KSH", "8 bits learned")
    assert (shown.n, shown.text) == (1, "n = 1")
    assert shown.spread is None
    row = next(row for row in page.tables["table1-espgame"] if row[0] == "KSH")
    assert "n = 1" in row[2]


def test_stand_ins_never_stand_in_the_papers_column(report: Report) -> None:
    for table in report.tables:
        theirs = [column for column in table.columns if not column.ours]
        if theirs:
            assert re.match(r"table[1-4](-cifar10|-espgame|-nuswide|-table)?$", table.name), table.name
        if "coco" in table.name or "others" in table.name:
            assert theirs == []
    printed = {
        e.value
        for t in report.tables
        for _, es in t.rows
        for c, e in zip(t.columns, es, strict=True)
        if not c.ours
    }
    assert {0.2254, 0.5615, 0.1714, 3096.79} <= printed
    columns = {c.group for t in report.tables for c in t.columns if not c.ours}
    assert not any("coco" in name for name in columns)


def test_csv_and_latex_say_what_the_table_says(report: Report) -> None:
    for table in report.tables:
        rows = list(csv.reader(io.StringIO(table.csv())))
        assert len(rows) == len(table.rows) + 1
        for (label, entries), row in zip(table.rows, rows[1:], strict=True):
            assert len(row) == len(rows[0])
            by_name = dict(zip(rows[0][1:], row[1:], strict=True))
            assert row[0] == label
            for column, entry in zip(table.columns, entries, strict=True):
                shown = by_name[column.full]
                assert shown == (entry.text if entry.value is None else f"{entry.value:.6f}")
                assert by_name.get(f"{column.full} deviation", "") == (
                    "" if entry.spread is None else f"{entry.spread:.6f}"
                )
        latex = table.latex()
        body = [line for line in latex.splitlines() if line.endswith(r"\\")]
        assert all(line.count(" & ") == len(table.columns) for line in body[-len(table.rows) :] if table.rows)
        for (_, entries), line in zip(table.rows, body[len(body) - len(table.rows) :], strict=True):
            for entry in entries:
                assert entry.value is None or entry.main.replace("−", "$-$") in line


def test_failed_cells_are_rows_with_their_reason(report: Report, page: Page) -> None:
    assert cell(table_of(report, "table4-nuswide"), "BSH", "256 bits learned").text == "out of memory"
    assert cell(table_of(report, "table4-nuswide"), "BSH", "256 bits paper").text == "out of memory"
    assert cell(table_of(report, "table1-cifar10"), "FastHash", "8 bits learned").text == "failed"
    partly = cell(table_of(report, "table1-cifar10"), "LFH", "8 bits learned")
    assert partly.value is not None
    assert "1 failed" in partly.text
    rows = {row[0]: row for row in page.tables["failed-table"]}
    assert rows["FastHash"][4] == "ValueError: b.npy is bad"  # without the place it was read from
    assert rows["BSH"][4] == "out of memory: 3 GB"
    assert "/tmp" not in report.html


def test_sweeps_and_their_range(records: list[Result], report: Report) -> None:
    table = table_of(report, "figure2-cifar10_gist512-32")
    assert [column.name for column in table.columns] == ["0.5", "1", "2.5"]
    means = []
    for c in (0.5, 1.0, 2.5):
        own = [r.mapped.value for r in records if r.given.get("clip") == c and r.mapped]
        assert cell(table, "EM-KSH, mapped", f"c {c:g}").value == pytest.approx(np.mean(own))
        means.append(np.mean(own))
    assert f"EM-KSH, mapped: largest minus smallest mean {max(means) - min(means):.4f}." in table.notes
    anchors = table_of(report, "figure3-anchors-cifar10_gist512-32")
    assert [column.full for column in anchors.columns] == ["m 100", "m 2000", "rivals no m"]
    own = [
        r.mapped.value for r in records if _is(r, "cifar10_gist512", "LFH", 32, "table1-cifar10") and r.mapped
    ]
    assert cell(anchors, "LFH, mapped", "rivals no m").value == pytest.approx(np.mean(own))
    queries = table_of(report, "figure3-queries-cifar10_gist512-32")
    assert [column.name for column in queries.columns] == ["2000", "10000"]


def test_protocols_stand_side_by_side(records: list[Result], report: Report) -> None:
    name = "cifar10_efficientnet_lite0_pca256"
    table = table_of(report, f"protocols-{name}-64")
    heads = ["paper learned", "paper mapped", "inductive mapped", "unseen-classes mapped"]
    assert [column.full for column in table.columns] == heads
    for protocol in ("paper", "inductive", "unseen-classes"):
        own = [
            r.mapped.value
            for r in records
            if (r.dataset, r.method, r.protocol) == (name, "ITQ", protocol) and r.mapped
        ]
        assert cell(table, "ITQ", f"{protocol} mapped").value == pytest.approx(np.mean(own))


def test_same_codes_under_other_maps(records: list[Result], report: Report) -> None:
    table = table_of(report, "maps-mulan_scene-paper")
    assert [c.name for c in table.columns] == ["own", "linear", "tuned"] * 2
    for name, given in (("own", {}), ("linear", {"map": "linear"}), ("tuned", {"map": "tuned"})):
        own = [
            r.mapped.value
            for r in records
            if (r.dataset, r.method, r.n_bits, r.given) == ("mulan_scene", "COSDISH", 64, given) and r.mapped
        ]
        assert cell(table, "COSDISH", f"64 bits, mapped {name}").value == pytest.approx(np.mean(own))
    assert cell(table, "EnergyHasher", "64 bits, mapped linear").text == "–"


def test_the_gap_to_the_topline(records: list[Result], report: Report) -> None:
    def scores(label: str, n_bits: int | None) -> np.ndarray:
        own = [r for r in records if (r.dataset, r.label, r.n_bits) == ("mulan_scene", label, n_bits)]
        parts = [r.learned.per_query for r in sorted(own, key=lambda r: r.partition) if r.learned]
        return np.concatenate(parts)

    table = table_of(report, "toplines-table")
    for topline, ours in (("class scores (float)", "EnergyHasher"),):
        row = f"mulan_scene, paper: {topline}"
        assert cell(table, row, "ours").text == f"{ours}, 64 bits"
        expected = np.nanmean(scores(ours, 64) - scores(topline, None))
        assert cell(table, row, "learned gap").value == pytest.approx(expected)


def test_commands_name_sections_that_exist(report: Report) -> None:
    from kinhash_bench.tasks import named_tasks, read_task

    known = {name: set(read_task(name).sections) for name in named_tasks()}
    commands = re.findall(r"kinhash bench (\S+) --only ([\w,-]+)", unescape(report.html))
    commands += re.findall(
        r"kinhash bench (\S+) --only ([\w,-]+)", make_report([result((), "d", "LSH", 8)]).html
    )
    checked = [
        (task, section) for task, sections in commands for section in sections.split(",") if task in known
    ]
    assert len(checked) > 20
    assert [pair for pair in checked if pair[1] not in known[pair[0]]] == []
    own = make_report([result("mine", "digits", "LSH", 8), result("mine", "digits", "SDH", 8)]).html
    assert "kinhash bench TASK.toml --only mine" in own
    assert "--only mine" not in own.replace("TASK.toml --only mine", "")
    assert "kinhash bench smoke --only smoke" in make_report([result("smoke", "digits", "LSH", 8)]).html


def test_an_almost_empty_report_says_what_is_missing() -> None:
    made = make_report([result("table1-cifar10", "cifar10_gist512", "LSH", 8)])
    page = Page(made.html)
    assert len(made.missing) >= 9
    assert made.html.count('class="absent"') == len(made.missing)
    assert "kinhash bench paper --only table4-nuswide" in made.html
    assert "table4" not in page.ids  # what has no result has no section, but stands in the list
    assert "kinhash bench field" not in "".join(made.html.split('class="absent"')[1:])  # nobody ran that task
    assert set(page.captions) == set(page.tables)


def test_a_task_of_ones_own_has_its_title_and_no_list_of_our_tables() -> None:
    rows = [result("mine", "digits", m, 8, task="mine", about="Is it better?") for m in ("LSH", "SDH")]
    made = make_report(rows)
    assert "<h1>Is it better?</h1>" in made.html
    assert made.missing == ()
    assert "missing" not in re.sub(r"<style>.*?</style>", "", made.html, flags=re.S)
    assert "<h1>Results: mine</h1>" in make_report([replace(r, task="", about="") for r in rows]).html
    assert "<h1>Mine</h1>" in make_report(rows, title="Mine").html
    assert "<h1>kinhash: results</h1>" in make_report([result("field-x", "x", "LSH", 8)]).html


def test_one_number_and_its_spread_stand_in_a_cell_and_the_rest_is_folded(report: Report) -> None:
    body = report.html.split("<main")[1]
    assert body.count("<details>") > 40
    for found in re.findall(r"<td[^>]*>.*?</td>", body):
        assert (
            len(re.findall(r"\d\.\d{3,4}", re.sub(r'<span class="(small|more)">.*?</span>', "", found))) <= 1
        )
    assert re.search(r'<span class="more">0\.\d{3}–0\.\d{3}</span>', body)
    page = Page(report.html)
    assert [name for name in page.tables if name not in page.folded] == ["headline", "wins-count"]


def test_the_first_answers_are_those_of_the_records(records: list[Result], report: Report) -> None:
    table = table_of(report, f"first-answers-mulan_scene-paper-{DIGESTS['paper'][:6]}-64")
    own = [
        r.mapped
        for r in records
        if (r.dataset, r.method, r.n_bits, r.given) == ("mulan_scene", "ITQ", 64, {}) and r.mapped
    ]
    for column, figures in {
        "P@100": [s.precision_at["100"] for s in own],
        "radius 2": [s.within_radius for s in own],
        "mAP@1000 by kin": [s.map_at["1000"] for s in own],
        "mAP@1000 by found": [s.map_at_found["1000"] for s in own],
    }.items():
        shown = cell(table, "ITQ", f"mapped {column}")
        assert (shown.value, shown.spread) == pytest.approx((np.mean(figures), np.std(figures, ddof=1)))


def test_results_of_other_code_are_pointed_out_and_one_can_be_chosen() -> None:
    old, new = ({"kinhash": "0.2.0", "source": digest * 6} for digest in ("aa", "bb"))
    rows = [result("field-x", "x", m, 16, environment=e) for m, e in (("SDH", old), ("LFH", new))]
    made = make_report(rows)
    assert made.versions == ("0.2.0+aaaaaaaaaaaa", "0.2.0+bbbbbbbbbbbb")
    assert "made by 2 versions of the code (1 by 0.2.0+aaaaaaaaaaaa, 1 by 0.2.0+bbbbbbbbbbbb)" in made.html
    for at in ("bb", "0.2.0+bb"):
        chosen = make_report(rows, at=at)
        assert chosen.versions == ("0.2.0+bbbbbbbbbbbb",)
        assert "Caution" not in chosen.html
        assert "SDH" not in chosen.html
    with pytest.raises(InvalidInput, match=r"one of 0\.2\.0\+aa"):
        make_report(rows, at="0.3")


def test_every_work_that_is_named_has_an_entry(report: Report) -> None:
    from kinhash_bench.baselines import BASELINES
    from kinhash_bench.report.bibliography import METHODS, SETS, bibliography, works

    known = works()
    assert {*METHODS.values(), *SETS.values()} == set(known)
    for name in BASELINES:
        printed = "nobody prints" not in BASELINES[name].card.source
        entries = bibliography([result("field-x", "x", name, 8)]).count("@")
        assert entries == 1 + printed, name  # the paper, and the method's own
    assert report.bibtex.count("@") < len(known)
    for key in ("hu2017supervised", "kang2016column", "krizhevsky2009learning", "tan2019efficientnet"):
        assert f"{{{key}," in report.bibtex
    for entry in report.bibtex.split("\n\n"):
        assert entry.count("{") == entry.count("}")


def test_only_failures_still_make_a_page() -> None:
    made = make_report(
        [failed("field-mulan_scene", "mulan_scene", m, 16, "") for m in ("EnergyHasher", "SDH")]
    )
    page = Page(made.html)
    assert any("no reason was recorded" in row for row in page.tables["failed-table"])


def test_no_results_are_refused() -> None:
    with pytest.raises(InvalidInput, match="no results"):
        make_report([])


def test_hostile_words_stay_words() -> None:
    evil = '<script>alert("x")</script>&\'"../../x\\'
    found = {"row": 1, "label": evil, "distance": 0, "kin": True, "png": '"><script>'}
    pages = ({"query": {"row": 0, "label": evil, "webp": "UklGRg=="}, "found": [found]},)
    hostile = [
        result(evil, evil, method, bits, part, label=f"{method} {evil}", checksum=evil,
               environment={"cpu": evil}, gallery=pages)
        for method in ("SDH", "LFH") for bits in (8, 16) for part in (0, 1)
    ]  # fmt: skip
    hostile.append(failed(evil, evil, "ITQ", 8, evil, label=evil))
    made = make_report(hostile, title=evil)
    page = Page(made.html)
    assert "script" not in {tag for tag, _ in page.seen}
    assert "<script" not in made.html
    assert any(given.get("src") == "data:image/webp;base64,UklGRg==" for _, given in page.seen)
    for table in made.tables:
        assert re.fullmatch(r"[\w-]+", table.name)
        assert not re.search(
            r"(?<!\\)[&#%_]", re.sub(r" & |\\\\", "", "".join(table.latex().splitlines()[4:-3]))
        )


def test_results_that_do_not_belong_together_are_pointed_out() -> None:
    one = result("field-x", "x", "SDH", 16)
    assert "Caution" not in make_report([one, result("field-x", "x", "LFH", 16)]).html
    other = result("field-x", "x", "LFH", 16, checksum="f" * 64, environment={"kinhash": "9.9"})
    html = make_report([one, other]).html
    assert "the results on x come from 2 different files of that name" in html
    assert "2 versions of the code (1 by 0.1.0+0a1b2c3d4e5f, 1 by 9.9)" in html


def test_two_settings_of_one_label_are_told_apart() -> None:
    rows = [
        result("field-x", "x", "EMKSH", 16, given=given, label="EM-KSH") for given in ({}, {"literal": True})
    ]
    made = make_report(rows)
    labels = [
        row for row, _ in made.tables[[t.name.startswith("field-x") for t in made.tables].index(True)].rows
    ]
    assert sorted(labels) == ["EM-KSH", "EM-KSH (literal = True)"]
