"""Results of strangers: what has wrong types is refused in our words, and words stay words."""

from __future__ import annotations

import copy
import csv
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kinhash.errors import DamagedFile, KinhashError
from kinhash_bench.report.all_methods import multi_label
from kinhash_bench.report.report import make_report
from kinhash_bench.report.result_table import Column, Entry, ResultTable
from kinhash_bench.tasks import Result, read_results
from records import every_section, failed, result

STRANGE: list[Any] = [
    None, True, -1, 0, 3, 10**30, 1.5, -0.0, 1e308, "", "x", "<evil>", "\ud800", [], [1], ["a"], [[]], {},
    {"a": 1}, {"<evil>": 1}, {"a": {"b": []}}, [None], [{}], {"load": "x"}, "UklGRg==",
]  # fmt: skip


def places(plain: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value inside."""
    found = [path] if path else []
    if isinstance(plain, dict):
        for name, value in plain.items():
            found += places(value, (*path, name))
    elif isinstance(plain, list):
        for number, value in enumerate(plain[:3]):
            found += places(value, (*path, number))
    return found


def changed(plain: Any, path: tuple[Any, ...], value: Any) -> Any:
    plain = copy.deepcopy(plain)
    inner = plain
    for step in path[:-1]:
        inner = inner[step]
    if value is STRANGE:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return plain


def some_records() -> list[Result]:
    """One of each section and kind."""
    seen, kept = set(), []
    for one in every_section():
        kind = (one.sections, one.status, one.protocol, bool(one.given), bool(one.gallery))
        if kind not in seen:
            seen.add(kind)
            kept.append(one)
    return kept


def test_wrong_types_anywhere_give_our_error() -> None:
    """Every value of every kind of record in turn is replaced by something strange, or left out."""
    rng = np.random.default_rng(0)
    records = some_records()
    refused = 0
    for number, record in enumerate(records):
        plain = json.loads(record.to_json())
        beside = [one for one in records if set(one.sections) & set(record.sections)][:4]
        for path in places(plain):
            some = [STRANGE[k] for k in rng.choice(len(STRANGE), 2 if number % 3 == 0 else 1, replace=False)]
            for value in some if rng.random() < 0.8 else [STRANGE]:
                try:
                    read = Result.from_json(json.dumps(changed(plain, path, value)), "a.json")
                    html = make_report([read, *beside]).html
                except KinhashError:
                    refused += 1
                    continue
                assert "<evil" not in html
                html.encode()
    assert refused > 300


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "3",
        '"x"',
        "null",
        "{}",
        '{"format": 1}',
        "[" * 100_000,
        '{"format": NaN}',
        "\ud800",
        "{",
        b"\xff\xfe",
    ],
)
def test_what_is_no_result_is_refused(text: str | bytes) -> None:
    raw = text if isinstance(text, bytes) else text.encode(errors="surrogatepass")
    with pytest.raises(DamagedFile, match=r"a\.json"):
        Result.from_json(raw, "a.json")


def test_numbers_that_are_not_finite_are_refused() -> None:
    text = result("field-x", "x", "SDH", 16).to_json()
    seconds = json.loads(text)["seconds"]["fit"]
    for bad in ("NaN", "Infinity", "1e999", "1" + "0" * 400):
        with pytest.raises(DamagedFile):
            Result.from_json(text.replace(str(seconds), bad), "a.json")


def test_a_distance_is_escaped() -> None:
    """Also where results come from Python and no file was checked."""
    evil = "<script>alert(1)</script>"
    page = {
        "query": {"row": 0, "label": "a"},
        "found": [{"row": 1, "label": "b", "distance": evil, "kin": True}],
    }
    html = make_report([result("gallery", "x", "EnergyHasher", 8, gallery=(page,))]).html
    assert "<script" not in html
    assert "&lt;script&gt;" in html


def test_a_zip_bomb_is_not_read(tmp_path: Path) -> None:
    bomb = tmp_path / "runs.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("a.json", "w") as stream:
        for _ in range(130):
            stream.write(b" " * (1 << 20))
    assert bomb.stat().st_size < 1 << 20
    with pytest.raises(DamagedFile, match="larger than"):
        read_results(bomb)


def test_an_archive_whose_contents_are_damaged(tmp_path: Path) -> None:
    good = tmp_path / "runs.zip"
    with zipfile.ZipFile(good, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.json", result("field-x", "x", "SDH", 16).to_json())
    whole = good.read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.integers(0, len(whole), 300):
        raw = bytearray(whole)
        raw[place] ^= 1 << int(rng.integers(8))
        good.write_bytes(raw)
        try:
            read_results(good)
        except KinhashError:
            continue


def test_cells_of_a_csv_are_no_formulas() -> None:
    evil = ['=HYPERLINK("http://x")', "+1+1", "-2+3", "@SUM(A1)", "\t=1", "-0.5", "+3", "plain"]
    rows = tuple((text, (Entry(text=text),)) for text in evil)
    table = ResultTable("t", "caption", "=corner", (Column("=name"),), rows)
    cells = [cell for row in csv.reader(io.StringIO(table.csv())) for cell in row]
    for cell in cells:
        number = cell.lstrip("+-").replace(".", "").isdigit()
        assert number or not cell.startswith(("=", "+", "-", "@", "\t"))
    assert "-0.5" in cells
    assert "plain" in cells


def test_a_set_we_do_not_know_has_tags_if_its_result_says_so() -> None:
    assert not multi_label(result("field-x", "my_classes", "SDH", 16))
    assert not multi_label(result("field-x", "delicious", "SDH", 16, tags=False))
    assert multi_label(result("field-x", "my_tags", "SDH", 16, tags=True))
    assert multi_label(result("field-x", "delicious", "SDH", 16))
    assert not multi_label(failed("field-x", "cifar10_gist512", "SDH", 16, "no"))
