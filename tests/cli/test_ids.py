"""Ids in files: what a command stores is what another command finds, however odd the ids are."""

from __future__ import annotations

import csv
import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

import kinhash
from kinhash import Codes, HammingIndex, load_codes, save_codes
from kinhash.cli import kinhash as program
from kinhash.data import ids_as_text, read_table
from kinhash.errors import KinhashError

from .conftest import Run, done, succeed

# Each of these was once taken for another id, or for none.
ODD = ["1", "1.0", "1e1", "10", "+5", "5", "-0", "0", "\uff11", "007", "7", "nan", "null", "NA", "None", "id",
       "lead", " lead", "lead ", "\tlead", "\ufefflead", "lead\r", "a\rb", "a\nb", "a,b", "a;b", '"a"', 'a"b',
       '"', "#1", "", " ", "\u2028", "\x85", "9007199254740993", "9223372036854775808", "1_000",
       "é", "e\u0301"]  # fmt: skip
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6)
NAMES = st.lists(st.sampled_from(ODD) | TEXT | st.integers().map(str), min_size=2, max_size=8, unique=True)
ENDINGS = st.sampled_from([".txt", ".csv", ".tsv"])
PAIRS = [["1.0", "1"], ["1e1", "10"], ["lead", "lead "], [" lead", "lead"], ["+5", "5"], ["\uff11", "1"],
         ["\ufefflead", "lead"], ["lead\r", "lead"], ["nan", "1"], ["null", "a"], ["007", "7"]]  # fmt: skip


def command(*argv: object) -> None:
    program.main([str(word) for word in argv], standalone_mode=False)


def equal_codes(n: int) -> Codes:
    return Codes(np.zeros((n, 1), np.uint8), 8)


def ids_of(path: Path) -> list[object]:
    return HammingIndex.load(path, mmap=False).ids.tolist()  # type: ignore[no-any-return]


def written(names: list[str], path: Path) -> Path:
    try:
        path.write_bytes(ids_as_text(names, str(path)).encode())
    except KinhashError:  # a line of text holds neither line ends nor nothing
        assert path.suffix == ".txt"
        assert any(not name or {"\r", "\n"} & set(name) for name in names)
        assume(False)
    return path


@pytest.mark.parametrize("keep", ["first", "last"])
@pytest.mark.parametrize("names", PAIRS)
@pytest.mark.parametrize("dropped", ["d.txt", "d.csv"])
def test_remove_takes_the_row_that_dedup_named(
    names: list[str], keep: str, dropped: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    HammingIndex.from_codes(equal_codes(2), ids=names).save("e.kin")
    said = run(*f"dedup e.kin --radius 0 --keep {keep} --dropped {dropped}".split())
    if (
        "\r" in "".join(names)
        and names[0] == sorted(names, reverse=keep == "first")[0]
        and dropped == "d.txt"
    ):
        assert "cannot be written to d.txt" in said.err
        assert "Name a .csv file" in said.err
        assert not Path(dropped).exists()
        return
    succeed(run, f"update e.kin --remove {dropped}")
    assert ids_of(Path("e.kin")) == [min(names) if keep == "first" else max(names)]


@settings(deadline=None, max_examples=150)
@given(NAMES, ENDINGS, st.sampled_from(["first", "last"]))
@example(ODD, ".csv", "first")
@example(ODD, ".tsv", "last")
def test_dedup_and_remove_agree_about_every_id(names: list[str], ending: str, keep: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        index, dropped = Path(folder, "e.kin"), Path(folder, f"d{ending}")
        HammingIndex.from_codes(equal_codes(len(names)), ids=names).save(index)
        kept = min(names) if keep == "first" else max(names)
        written([name for name in names if name != kept], dropped).unlink()
        command("dedup", index, "--radius", 0, "--keep", keep, "--dropped", dropped, "--json")
        command("update", index, "--remove", dropped, "--json")
        assert ids_of(index) == [kept]


def stored(names: list[str]) -> list[object]:
    """What an index is made of: integers if all are written as Python writes them."""
    try:
        numbers = [int(name) for name in names]
    except ValueError:
        return sorted(names)
    fits = all(-(2**63) <= number < 2**63 for number in numbers)
    same = [str(number) for number in numbers] == [name.strip() for name in names]
    return sorted(numbers) if fits and same else sorted(names)


@settings(deadline=None, max_examples=100)
@given(NAMES, ENDINGS)
@example(["1", "2", "3"], ".txt")
@example(["id", "1", "2"], ".txt")
@example(["9007199254740993", "9007199254740992"], ".txt")
@example([name for name in ODD if name], ".csv")
def test_what_a_command_makes_others_find(names: list[str], ending: str) -> None:
    assume("" not in names)  # a missing id, in a file that makes rows
    assume(len(set(stored(names))) == len(names))  # " 1" and "1" are one number
    with tempfile.TemporaryDirectory() as here:
        folder = Path(here)
        index, codes, file = folder / "e.kin", folder / "c.kin", written(names, folder / f"ids{ending}")
        save_codes(equal_codes(len(names)), codes)
        command("index", codes, "--ids", file, "-o", index, "--json")
        wanted = stored(names)
        assert ids_of(index) == wanted

        save_codes(Codes(np.full((len(names), 1), 7, np.uint8), 8), codes)
        command("update", index, "--upsert", codes, "--ids", file, "--json")
        assert ids_of(index) == wanted, "all replaced, none added"
        assert HammingIndex.load(index, mmap=False).codes().packed.tolist() == [[7]] * len(names)

        for dropped in (codes.with_suffix(".csv"), codes.with_suffix(ending)):
            command("dedup", index, "--radius", 0, "--dropped", dropped, "--json")
            command("update", index, "--remove", dropped, "-o", folder / "left.kin", "--json")
            assert ids_of(folder / "left.kin") == wanted[:1]
        command("update", index, "--remove", file, "--json")
        assert ids_of(index) == []
        command("update", index, "--add", codes, "--ids", file, "--json")
        assert ids_of(index) == wanted


@settings(deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=NAMES, ending=ENDINGS, seed=st.integers(0, 99))
@example(names=[name for name in ODD if name], ending=".csv", seed=0)
def test_encode_and_migrate_agree_about_every_id(
    made: Path, names: list[str], ending: str, seed: int
) -> None:
    assume("" not in names)
    assume(len(set(stored(names))) == len(names))
    X, model = np.load(made / "X.npy")[: len(names)], kinhash.load(made / "other_model.kin")
    order = np.random.default_rng(seed).permutation(len(names))
    with tempfile.TemporaryDirectory() as here:
        folder = Path(here)
        np.save(folder / "X.npy", X)
        file = written(names, folder / f"ids{ending}")
        command(
            "encode", made / "model.kin", folder / "X.npy", "--ids", file, "-o", folder / "c.kin", "--json"
        )
        command("index", folder / "c.kin", "-o", folder / "e.kin", "--json")
        np.save(folder / "X.npy", X[order])
        file = written([names[place] for place in order], folder / f"ids{ending}")
        argv = (
            "migrate",
            folder / "e.kin",
            made / "other_model.kin",
            folder / "X.npy",
            "--ids",
            file,
            "--yes",
        )
        command(*argv, "--json")
        new = HammingIndex.load(folder / "e.kin", mmap=False)
        assert new.ids.tolist() == stored(names)
        place = {name: k for k, name in enumerate(names)}
        rows = [place.get(str(one), -1) for one in new.ids.tolist()]
        assume(-1 not in rows)  # a number with spaces around it
        np.testing.assert_array_equal(new.codes().packed, model.encode(X[rows]).packed)


def test_upsert_replaces_rows_whose_names_look_like_numbers(run: Run, folder: Path) -> None:
    codes = load_codes("db.kin")[np.arange(3)]
    HammingIndex.from_codes(codes, ids=["1.0", "2.0", "abc"]).save("e.kin")
    save_codes(codes[np.arange(2)], "two.kin")
    Path("ids.txt").write_text("1.0\n2.0\n")
    said = json.loads(succeed(run, "update e.kin --upsert two.kin --ids ids.txt --json"))
    assert (said["added"], said["replaced"]) == (0, 2)
    np.save("two.npy", np.load("X.npy")[:2])
    said = done(run, "update e.kin --upsert two.npy --model model.kin --ids ids.txt")
    assert (said["added"], said["replaced"]) == (0, 2)
    assert ids_of(Path("e.kin")) == ["1.0", "2.0", "abc"]


@pytest.mark.parametrize(
    ("content", "removed"),
    [
        ("3\n7\n", [3, 7]),
        ("id\n3\n7\n", [3, 7]),
        ("3\r\n7\r\n\r\n", [3, 7]),
        ("\ufeff 3\n+7\n", [3, 7]),
        ("3.0\n1e1\n", [3, 10]),
        ("3\n1.5\n", "holds '1.5'"),
        ("1.5\n3\n", "holds '1.5'"),
        ("nan\n3\n", "holds 'nan'"),
        ("007\n3\n", "holds '007'"),
        ("3\n\uff17\n", "holds '\uff17'"),
        ("3\n\n7\n", "one id per row"),
        ("3\n9223372036854775808\n", "9223372036854775808"),
    ],
)
@pytest.mark.parametrize("ending", ["txt", "csv"])
def test_an_index_of_numbers_takes_numbers_alone(
    content: str, removed: list[int] | str, ending: str, run: Run, folder: Path
) -> None:
    name = f"gone.{ending}"
    Path(name).write_bytes(content.encode())
    before = Path("index.kin").read_bytes()
    if ending == "csv" and "\n\n" in content:
        removed = [3, 7]  # no row of a table
    if isinstance(removed, str):
        said = run("update", "index.kin", "--remove", name)
        assert said.code == 2
        assert removed in said.err
        assert Path("index.kin").read_bytes() == before
    else:
        succeed(run, f"update index.kin --remove {name}")
        assert sorted(set(range(120)) - set(ids_of(Path("index.kin")))) == removed  # type: ignore[type-var]


def test_names_on_the_command_line_keep_their_spaces(run: Run, folder: Path) -> None:
    HammingIndex.from_codes(equal_codes(3), ids=[" lead", "lead", "b"]).save("e.kin")
    assert "no row with the id ' b'" in run("update", "e.kin", "--remove", "lead, b").err
    succeed(run, "update e.kin --remove b")
    assert run("update", "e.kin", "--remove", " lead").code == 0
    assert ids_of(Path("e.kin")) == ["lead"]


def test_files_with_types(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    for values, kind, found in (
        (["1.0", "1"], None, ["1.0", "1"]),
        (["2", "1"], None, ["2", "1"]),
        (["2", "1"], "number", [2, 1]),
        ([2, 1], "text", ["2", "1"]),
        ([2.0, 1.0], None, [2, 1]),
        ([2.5, 1.0], None, None),
        ([2.0, 1.0], "text", None),
        ([float("nan"), 1.0], None, None),
        ([True, False], None, None),
    ):
        for name in ("i.json", "i.npy", "i.npz", "i.parquet"):
            path = tmp_path / name
            spec = f"{path}:id" if name.endswith(("npz", "parquet")) else path
            if name == "i.json":
                path.write_text(json.dumps(values))
            elif name == "i.npy":
                np.save(path, np.array(values))
            elif name == "i.npz":
                np.savez(path, id=np.array(values), x=np.arange(2))
            else:
                parquet.write_table(pyarrow.table({"id": values, "x": [1, 2]}), path)
            if found is None:
                with pytest.raises(KinhashError):
                    read_table(spec).ids(kind)
            else:
                assert read_table(spec).ids(kind).tolist() == found, (name, values)
    (tmp_path / "i.json").write_text(json.dumps(["a", "\ud800"]))
    with pytest.raises(KinhashError, match="valid Unicode"):
        read_table(tmp_path / "i.json").ids()


def test_a_payload_of_names_that_look_like_numbers(run: Run, folder: Path) -> None:
    save_codes(equal_codes(3), "c.kin")
    Path("rows.csv").write_text("Id,year\n1e1,7\n+5,8\n1.50,9\n")
    argv = "index c.kin --ids rows.csv:Id --payload rows.csv -o e.kin"
    assert json.loads(succeed(run, f"{argv} --json"))["payload"] == ["year"]
    assert ids_of(Path("e.kin")) == ["+5", "1.50", "1e1"]
    Path("turned.csv").write_text("Id,year\n10,7\n+5,8\n1.50,9\n")
    said = run(*argv.replace("--payload rows", "--payload turned").split())
    assert "Row 0 of turned.csv has the Id '10', and the code there has '1e1'" in said.err


def test_the_table_of_groups_names_the_rows_too(run: Run, folder: Path) -> None:
    names = [name for name in ODD if name]
    HammingIndex.from_codes(equal_codes(len(names)), ids=names).save("e.kin")
    succeed(run, "dedup e.kin --radius 0 -o g.csv")
    with open("g.csv", newline="", encoding="utf-8") as file:
        assert [row[0] for row in csv.reader(file)] == ["id", *sorted(names)]
    succeed(run, "update e.kin --remove g.csv:id")
    assert ids_of(Path("e.kin")) == []


def test_fit_writes_the_ids_as_they_are(run: Run, folder: Path) -> None:
    names = [name for name in ODD if name]
    names += [f"row {k}" for k in range(120 - len(names))]
    written(names, Path("ids.csv"))
    succeed(run, "fit X.npy --labels y.txt --bits 8 --ids ids.csv -o m.kin --codes c.kin --json")
    assert load_codes("c.kin").ids.tolist() == names
    succeed(run, "index c.kin -o e.kin")
    succeed(run, "update e.kin --remove ids.csv")
    assert ids_of(Path("e.kin")) == []
