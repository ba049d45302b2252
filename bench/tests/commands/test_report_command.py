"""`kinhash report`: from a folder of results to a page and its tables; bad input is one line."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest
from command_line import Run

from kinhash_bench.report.report import make_report
from kinhash_bench.tasks import Store
from records import every_section, failed, result


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report") / "runs"
    store = Store(folder)
    for method in ("EnergyHasher", "EMKSH", "SDH"):
        for n_bits in (16, 64):
            store.add(result("field-mulan_scene", "mulan_scene", method, n_bits))
    store.add(failed("field-mulan_scene", "mulan_scene", "KSH", 16, "out of memory: 9 GB"))
    return folder


@pytest.fixture
def runs(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(written, tmp_path / "runs"))


def test_a_page_and_its_tables(run: Run, runs: Path) -> None:
    said = run("report", "runs", "-o", "page.html", "--csv", "a/tables", "--latex", "a/tables", "--json")
    assert said.code == 0, said.err
    facts = json.loads(said.out)
    assert (facts["results"], facts["failed"]) == (7, 1)
    page = Path("page.html").read_text(encoding="utf-8")
    assert facts["bytes"] == len(page.encode())
    assert "out of memory" in page
    names = {path.name for path in Path("a/tables").iterdir()}
    assert names == {f"{table}.{ending}" for table in facts["tables"] for ending in ("csv", "tex")}
    assert sorted(facts["table_files"]) == sorted(f"a/tables/{name}" for name in names)
    assert any("float rankings" in line for line in facts["missing"])
    assert not any("Table 1" in line for line in facts["missing"])  # that of another task


def test_the_works_behind_it_and_one_version_of_the_code(run: Run, runs: Path) -> None:
    said = run("report", "runs", "-o", "page.html", "--bibtex", "refs.bib", "--at", "0.1.0", "--json")
    assert said.code == 0, said.err
    assert json.loads(said.out)["versions"] == ["0.1.0+0a1b2c3d4e5f"]
    assert "shen2015supervised" in Path("refs.bib").read_text(encoding="utf-8")
    wrong = run("report", "runs", "-o", "other.html", "--at", "7")
    assert wrong.code == 2
    assert "0.1.0+0a1b2c3d4e5f" in wrong.err
    assert not Path("other.html").exists()
    Store("runs").add(result("field-mulan_scene", "mulan_scene", "LFH", 16, environment={"kinhash": "0.0.9"}))
    assert "Mixed: made by 0.0.9, 0.1.0+0a1b2c3d4e5f." in run("report", "runs", "-o", "page.html").out


def test_the_page_is_the_same_from_another_place(run: Run, runs: Path) -> None:
    assert run("report", "runs", "-o", "one.html").code == 0
    runs.rename("moved")
    with zipfile.ZipFile("runs.zip", "w") as archive:
        for path in sorted(Path("moved").iterdir(), reverse=True):
            archive.write(path)
    assert run("report", "moved", "-o", "two.html").code == 0
    assert run("report", "runs.zip", "-o", "three.html").code == 0
    assert Path("one.html").read_bytes() == Path("two.html").read_bytes() == Path("three.html").read_bytes()


def test_it_says_what_is_missing_and_takes_a_title(run: Run, runs: Path) -> None:
    said = run("report", "runs", "-o", "page.html", "--title", "Ours & <theirs>")
    assert said.code == 0
    assert said.out.startswith("7 results (1 failed), ")
    assert "gaps, listed on the page under What is missing." in said.out
    page = Path("page.html").read_text(encoding="utf-8")
    assert "No results of float rankings" in page
    assert "<h1>Ours &amp; &lt;theirs&gt;</h1>" in page


def damage(runs: Path) -> None:
    path = sorted(runs.iterdir())[0]
    path.write_text(path.read_text()[:-40])


def another_format(runs: Path) -> None:
    path = sorted(runs.iterdir())[0]
    path.write_text(path.read_text().replace('"format": 1', '"format": 99'))


def not_sections(runs: Path) -> None:
    path = sorted(runs.iterdir())[0]
    plain = json.loads(path.read_text())
    plain["sections"] = 3
    path.write_text(json.dumps(plain))


def empty(runs: Path) -> None:
    for path in runs.iterdir():
        path.unlink()


def a_file(runs: Path) -> None:
    shutil.rmtree(runs)
    runs.write_text("x")


def nothing(runs: Path) -> None:
    """The results are good; the words are not."""


BAD = {
    "no folder": ("report nothing -o page.html", "nothing: not found", nothing),
    "empty folder": ("report runs -o page.html", "holds no results", empty),
    "a file": ("report runs -o page.html", "neither a folder nor a zip", a_file),
    "damaged": ("report runs -o page.html", "not a result of kinhash bench", damage),
    "format": ("report runs -o page.html", "another format", another_format),
    "sections": ("report runs -o page.html", "not a result of kinhash bench", not_sections),
    "no output": ("report runs", "-o", nothing),
    "output is a folder": ("report runs -o runs", "is a folder", nothing),
    "output nowhere": ("report runs -o none/page.html", "there is no folder", nothing),
    "csv is a file": ("report runs -o page.html --csv page.html", "page.html is a file", nothing),
    "latex below a file": ("report runs -o page.html --latex page.html/x", "cannot be made", nothing),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line_and_nothing_is_written(case: str, run: Run, runs: Path) -> None:
    argv, says, spoil = BAD[case]
    Path("page.html").write_text("what was there before")
    spoil(runs)
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    said = run(*argv.split())
    assert said.code == 2
    assert len(said.err.splitlines()) == 1
    assert says in said.err
    assert said.out == ""
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


def test_records_survive_their_file(tmp_path: Path) -> None:
    """Results read back make the page that results in memory make, up to steps of 1/65,534 per query."""
    from kinhash_bench.tasks import read_results

    records = every_section()
    with zipfile.ZipFile(tmp_path / "runs.zip", "w") as archive:
        for record in records:
            archive.writestr(f"{record.key}.json", record.to_json())
    again = make_report(read_results(tmp_path / "runs.zip"))
    fresh = make_report(records)
    for table, same in zip(again.tables, fresh.tables, strict=True):
        assert [row for row, _ in table.rows] == [row for row, _ in same.rows]
        for (_, left), (_, right) in zip(table.rows, same.rows, strict=True):
            values = [entry.value for entry in right]
            assert [entry.value for entry in left] == pytest.approx(values, abs=2e-5)
