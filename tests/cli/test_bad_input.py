"""One common check for every command: whatever is wrong is one line, exit code 2, and nothing is lost.

Each case is a row of the promise "bad input: a clear error, nothing lost" tried on one command. Outputs
go to ``out.kin``, which holds something already: it must be there unchanged afterwards.
"""

from __future__ import annotations

import builtins
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from .conftest import Run

FIT = "fit X.npy --labels y.txt --bits 16 -o out.kin"
ENCODE = "encode model.kin X.npy -o out.kin"


def nothing(folder: Path) -> None:
    """The files are good; the words are not."""


def rewrite(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        np.save(folder / name, change(np.load(folder / name)))

    return spoil


def text(name: str, content: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).write_text(content) and None


def raw(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        (folder / name).write_bytes(change((folder / name).read_bytes()))

    return spoil


def put(row: int, column: int, value: float) -> Callable[[np.ndarray], np.ndarray]:
    def change(X: np.ndarray) -> np.ndarray:
        X = X.copy()
        X[row, column] = value
        return X

    return change


def save(name: str, array: np.ndarray) -> Callable[[Path], None]:
    return lambda folder: np.save(folder / name, array)


def folder_called(name: str) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).mkdir()

    return spoil


class Case(NamedTuple):
    row: str  # of the table in RELIABILITY
    argv: str
    says: str
    spoil: Callable[[Path], None] = nothing


def feature_cases() -> list[Case]:
    cases = []
    commands = {
        "fit": FIT,
        "encode": ENCODE,
        "search": "search index.kin X.npy --model model.kin",
    }
    for argv in commands.values():
        cases += [
            Case("NaN", argv, "NaN: the first in row 97, column 4", rewrite("X.npy", put(97, 4, np.nan))),
            Case("inf", argv, "infinity: the first in row 0, column 0", rewrite("X.npy", put(0, 0, np.inf))),
            Case("no rows", argv, "(0, 6)", rewrite("X.npy", lambda X: X[:0])),
            Case("no columns", argv, "(120, 0)", rewrite("X.npy", lambda X: X[:, :0])),
            Case("1-D", argv, "(720,)", rewrite("X.npy", np.ravel)),
            Case("not numbers", argv, "dtype <U", rewrite("X.npy", lambda X: X.astype(str))),
        ]
    narrow = rewrite("X.npy", lambda X: X[:, :5])
    cases += [
        Case("columns", ENCODE, "has 5 columns. Expected 6", narrow),
        Case("columns", commands["search"], "has 5 columns. Expected 6", narrow),
    ]
    return cases


PARAMETERS = [
    Case("n_bits", FIT.replace("--bits 16", "--bits 0"), "'0' is not a number of bits"),
    Case("n_bits", FIT.replace("--bits 16", "--bits 99999"), "n_bits is 99999"),
    Case("n_bits", FIT.replace("--bits 16", "--bits 3.5"), "'3.5' is not a number of bits"),
    Case("n_bits", "demo --bits 0", "0 is not in the range"),
    Case("energy", f"{FIT} --energy khs", "'khs' is not one of 'rank'"),
    Case("trust", f"{FIT} --trust 2", "2.0 is not in the range"),
    Case("looks", f"{FIT} --looks -1", "-1.0 is not in the range"),
    Case("held out", f"{FIT} --held-out most", "'most' is neither a number of rows"),
    Case("held out", f"{FIT} --held-out last:119", "fewer than two"),
    Case("command", "fti X.npy", "Did you mean 'fit'?"),
    Case("option", f"{FIT} --lables y.txt", "No such option"),
    Case("ties", "eval db.kin --labels y.txt --ties sometimes", "'sometimes' is not one of"),
    Case("engine", "export db.kin --to sqllite -o out.kin", "'sqllite' is not one of"),
    Case("k", "eval db.kin --labels y.txt -k 0", "0 is not in the range"),
    Case("k", "search index.kin queries.kin -k -1", "-1"),
    Case("picture", "demo -o a.svg", "must end in .png"),
]

SUPERVISION = [
    Case("other length", FIT, "3 labels for 120 rows", text("y.txt", "a\nb\na\n")),
    Case("one too many", FIT, "pass y.txt:NAME", text("y.txt", "kind\n" + "a\nb\n" * 60)),
    Case("other length", FIT.replace("--labels y.txt", "--tags tags.txt"), "120", text("tags.txt", "a\n")),
    Case("other length", "eval db.kin --labels y.txt", "120", text("y.txt", "a\nb\n")),
    Case("other length", f"{FIT} --looks-from few.npy", "7 rows in few.npy came with 120 rows",
         lambda f: np.save(f / "few.npy", np.ones((7, 6)))),
    Case("one class", FIT, "only one class", text("y.txt", "a\n" * 120)),
    Case("untagged", FIT.replace("--labels y.txt", "--tags tags.json"), "No row has a tag",
         text("tags.json", "[" + ", ".join(["[]"] * 120) + "]")),
    Case("no tags", FIT.replace("--labels", "--tags").replace("y.txt", "y.npy"), "not sets of tags",
         save("y.npy", np.arange(120) % 3)),
    Case("tags as labels", FIT.replace("y.txt", "y.npy"), "Pass a 0/1 matrix as tags",
         save("y.npy", np.eye(120, 3, dtype=np.uint8))),
    Case("other separator", FIT.replace("--labels y.txt", "--tags tags.txt"), "parted by ';'",
         text("tags.txt", "a,b\nb,c\n" * 60)),
    Case("no such column", "fit table.csv --labels :species -o out.kin", "There is no column called 'species'"),
    Case("several columns", "fit X.npy --labels table.csv -o out.kin", "Name it: table.csv:name"),
    Case("text in features", FIT.replace("X.npy", "table.csv"), "table.csv:-COLUMN"),
    Case("labels per codes", "eval queries.kin db.kin --labels y.txt", "2 files of codes came with 1"),
    Case("features per codes", "eval queries.kin db.kin --labels y.txt --labels y.txt --features X.npy",
         "2 files of codes came with 1 of --features"),
    Case("features of other rows", "eval db.kin --labels y.txt --features few.npy", "came with 120 codes",
         lambda f: np.save(f / "few.npy", np.ones((7, 6)))),
    Case("three codes", "eval db.kin db.kin db.kin --labels y.txt", "3 files of codes"),
    Case("ids", f"{ENCODE} --ids ids.txt", "2 ids in ids.txt came with 120 rows", text("ids.txt", "1\n2\n")),
    Case("ids", "index db.kin --ids ids.txt -o out.kin", "7", text("ids.txt", "7\n" * 120)),
    Case("a gap in the ids", "index db.kin --ids ids.txt -o out.kin", "row 3 has none",
         text("ids.txt", "a\nb\nc\n\n" + "d\n" * 116)),
    Case("no path", FIT.replace("--labels", "--tree"), "is '/', which is not a path",
         text("y.txt", "a/b\n/\n" * 60)),
]  # fmt: skip

PAIR = "fit X.npy --pairs pairs.csv --bits 16 -o out.kin"
TRIPLET = "fit X.npy --triplets t.csv --bits 16 -o out.kin"
MATRIX = "fit X.npy --similarity S.npy --bits 16 -o out.kin"
PAIRS = [
    Case("out of range", PAIR, "Line 2 of pairs.csv holds 0, 120, no row of the features; so do 1 of 2",
         text("pairs.csv", "0,1,-1\n0,120,1\n")),
    Case("from 1", PAIR, "seem to be counted from 1", text("pairs.csv", "1,2,-1\n120,3,1\n")),
    Case("negative", PAIR, "Line 2 of pairs.csv holds 0, -1", text("pairs.csv", "0,1,-1\n0,-1,1\n")),
    Case("a later line", PAIR, "Line 5 of pairs.csv holds 3, 600",
         text("pairs.csv", "left,right,verdict\n\n0,1,-1\n0,2,1\n3,600,1\n")),
    Case("no lines", PAIR.replace("csv", "npy"), "Row 1 of pairs.npy (the first is 0) holds 3, 600",
         save("pairs.npy", np.array([[0, 1, 1], [3, 600, -1]]))),
    Case("names", PAIR, "rows are numbered from 0, not named", text("pairs.csv", "cat,0,1\ndog,1,0\n")),
    Case("words", PAIR, "line 2, column 3 holds 'similar'", text("pairs.csv", "0,1,1\n0,2,similar\n")),
    Case("floats", PAIR, "Line 2 of pairs.csv holds 0.5, 2", text("pairs.csv", "0,1,-1\n0.5,2,1\n")),
    Case("verdict", PAIR, "Line 2 of pairs.csv holds 7, no verdict", text("pairs.csv", "0,1,-1\n0,2,7\n")),
    Case("missing", PAIR, "holds nan, no verdict", text("pairs.csv", "0,1,-1\n0,2,nan\n")),
    Case("missing row", PAIR, "Line 2 of pairs.csv holds 0, nan", text("pairs.csv", "0,1,-1\n0,nan,1\n")),
    Case("weight", PAIR, "holds -3, no weight", text("pairs.csv", "0,1,-1,1\n0,2,1,-3\n")),
    Case("no verdicts", PAIR, "lines of row, row, verdict", text("pairs.csv", "0,1\n0,2\n")),
    Case("no file", PAIR.replace("pairs.csv", "none.csv"), "none.csv: there is no such file"),
    Case("columns", TRIPLET, "has 2 columns", text("t.csv", "0,1\n0,2\n")),
    Case("twice", TRIPLET, "Line 2 of t.csv holds 3, 4, 4, a row twice", text("t.csv", "0,1,2\n3,4,4\n")),
    Case("shape", MATRIX, "6 columns for 120 rows", lambda f: np.save(f / "S.npy", np.zeros((120, 6)))),
    Case("range", MATRIX, "S holds values", lambda f: np.save(f / "S.npy", np.full((120, 120), 2.0))),
]  # fmt: skip

CODES = [
    Case("length", "eval queries.kin other_db.kin --labels y.txt --labels y.txt", "16 bits"),
    Case("length", "search index.kin other_db.kin", "24 bits"),
    Case("model", "eval twin.kin db.kin --labels y.txt --labels y.txt", "by one model", lambda f: _twin(f)),
    Case("model", "search index.kin twin.kin", "codes made by one model", lambda f: _twin(f)),
    Case("model", "search index.kin X.npy --model other_model.kin", "24 bits"),
    Case("not packed", "eval X.npy --labels y.txt", "packed rows"),
    Case("not packed", "index X.npy -o out.kin", "packed rows"),
    Case("not packed", "search index.kin X.npy", "packed rows"),
    Case("a model as codes", "eval model.kin --labels y.txt", "kind 'model'"),
    Case("a model as codes", "index model.kin -o out.kin", "kind 'model'"),
    Case("a model as an index", "search model.kin queries.kin", "kind 'model'"),
    Case("codes as a model", "encode db.kin X.npy -o out.kin", "holds Codes, not a model"),
]  # fmt: skip


def _twin(folder: Path) -> None:
    """Codes of equal length that another model made."""
    from kinhash import Codes, load_codes, save_codes

    codes = load_codes(folder / "queries.kin")
    save_codes(Codes(codes.packed, codes.n_bits, model_id="f" * 32), folder / "twin.kin")


# Every file argument of every command: the command, the file, and whether its kind is ours.
FILES = [
    (FIT, "X.npy"),
    (FIT, "y.txt"),
    (FIT.replace("--labels y.txt", "--tags tags.txt"), "tags.txt"),
    (PAIR, "pairs.csv"),
    (FIT.replace("X.npy --labels y.txt", "table.csv:-name --labels :kind"), "table.csv"),
    (ENCODE, "X.npy"),
    (ENCODE, "model.kin"),
    ("info model.kin", "model.kin"),
    ("info index.kin", "index.kin"),
    ("index db.kin -o out.kin", "db.kin"),
    ("update index.kin --add queries.kin", "index.kin"),
    ("update index.kin --add queries.kin", "queries.kin"),
    ("update index.kin --upsert X.npy --model model.kin --ids y.txt", "X.npy"),
    ("dedup index.kin --radius 1 -o out.kin", "index.kin"),
    ("migrate index.kin other_model.kin X.npy --yes", "other_model.kin"),
    ("migrate index.kin other_model.kin X.npy --yes --labels y.txt", "y.txt"),
    ("index db.kin -o out.kin --payload table.csv", "table.csv"),
    ("search index.kin queries.kin", "queries.kin"),
    ("search index.kin X.npy --model model.kin", "model.kin"),
    ("eval db.kin --labels y.txt", "y.txt"),
]


def file_cases() -> list[Case]:
    cases = []
    for argv, name in FILES:
        text_file = name.endswith((".txt", ".csv"))
        cases += [
            Case("missing", argv, name, lambda f, n=name: (f / n).unlink()),
            Case("empty", argv, name, raw(name, lambda b: b"")),
            Case("directory", argv, name, folder_called(name)),
            Case("binary", argv, name, raw(name, lambda b: bytes(range(256)) * 8)),
        ]
        if not text_file:
            cases += [
                Case("truncated", argv, name, raw(name, lambda b: b[: len(b) // 2])),
                Case("text", argv, name, raw(name, lambda b: b"1,2,3\n4,5,6\n")),
            ]
        if name.endswith(".kin"):
            cases.append(
                Case("flipped", argv, name, raw(name, lambda b: b[:-9] + bytes([b[-9] ^ 4]) + b[-8:]))
            )
        renamed = name.rsplit(".", 1)[0] + ".foo"
        if not name.endswith(".kin"):
            cases.append(
                Case(
                    "extension",
                    argv.replace(name, renamed),
                    ".foo",
                    lambda f, n=name, r=renamed: (f / n).rename(f / r) and None,
                )
            )
    named, ragged = "a,b,kind\n1,2,x\n3,4,5,y\n", "1,2\n3,4,5\n"
    cases += [
        Case("ragged", "fit r.csv --labels :kind -o out.kin", "line 3 has 4 columns", text("r.csv", named)),
        Case("ragged", "fit r.csv --labels y.txt -o out.kin", "line 2 has 3 columns", text("r.csv", ragged)),
        Case("ragged", "encode model.kin r.csv -o out.kin", "r.csv", text("r.csv", ragged)),
        Case("no folder", FIT.replace("out.kin", "none/out.kin"), "there is no folder"),
        Case("no folder", ENCODE.replace("out.kin", "none/out.kin"), "there is no folder"),
        Case("no folder", "index db.kin -o none/out.kin", "there is no folder"),
        Case("no folder", "demo -o none/out.png", "there is no folder"),
        Case("a folder", FIT.replace("out.kin", "."), "is a folder"),
        Case("a folder", ENCODE.replace("out.kin", "."), "is a folder"),
        Case("a pipe", FIT.replace("out.kin", "pipe"), "is a device", lambda f: os.mkfifo(f / "pipe")),
        Case("a pipe", ENCODE.replace("out.kin", "pipe"), "is a device", lambda f: os.mkfifo(f / "pipe")),
        Case("own input", "encode model.kin X.npy -o X.npy", "also an input"),
        Case("own input", "index db.kin -o db.kin", "also an input"),
        Case("missing", "info nothing.kin", "nothing.kin"),
    ]  # fmt: skip
    return cases


CASES = [*feature_cases(), *PARAMETERS, *SUPERVISION, *PAIRS, *CODES, *file_cases()]


def listing(folder: Path) -> dict[str, bytes | None]:
    return {path.name: path.read_bytes() if path.is_file() else None for path in folder.iterdir()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.argv.split()[0]}: {case.row}")
def test_bad_input_is_one_line_and_nothing_is_lost(case: Case, run: Run, folder: Path) -> None:
    (folder / "out.kin").write_bytes(b"what was there before")
    case.spoil(folder)
    before = listing(folder)
    said = run(*case.argv.split())
    lines = [line for line in said.err.splitlines() if not line.startswith("Warning: ")]
    assert said.code == 2, said
    assert len(lines) == 1, said.err
    assert lines[0].startswith("Error: ")
    assert case.says in lines[0]
    assert "Traceback" not in said.err
    assert said.out == ""
    assert listing(folder) == before


@pytest.mark.parametrize(
    "argv",
    [
        FIT,
        ENCODE,
        "index db.kin -o out.kin",
        "update index.kin --add db.kin",
        "update index.kin --remove 1,2",
        "dedup db.kin --radius 1 -o out.kin",
        "migrate index.kin other_model.kin X.npy --yes",
        f"{ENCODE[:-3]}npy",
    ],
)
def test_a_full_disk_is_one_line_and_leaves_what_was_there(
    argv: str, run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("out.kin", "out.npy"):
        (folder / name).write_bytes(b"what was there before")
    before = listing(folder)

    def full(handle: int, piece: bytes) -> int:
        raise OSError(28, "No space left on device")

    write = os.write
    monkeypatch.setattr(
        os, "write", lambda handle, piece: full(handle, piece) if handle > 2 else write(handle, piece)
    )
    said = run(*argv.split())
    monkeypatch.undo()
    assert said.code == 2
    assert "No space left on device" in said.err
    assert len(said.err.splitlines()) == 1
    assert listing(folder) == before


@pytest.mark.skipif(
    os.name == "nt" or os.geteuid() == 0, reason="the superuser may read and write everything"
)
@pytest.mark.parametrize(("argv", "name"), FILES, ids=str)
def test_no_permission_is_one_line(argv: str, name: str, run: Run, folder: Path) -> None:
    (folder / name).chmod(0)
    said = run(*argv.split())
    assert said.code == 2
    assert name in said.err
    assert len(said.err.splitlines()) == 1


@pytest.mark.parametrize(("argv", "name"), FILES, ids=str)
def test_a_refused_open_is_one_line(
    argv: str, name: str, run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the system answers without permission, injected, so that it is tried for every user."""
    (folder / "out.kin").write_bytes(b"what was there before")
    before = listing(folder)
    real = builtins.open

    def refuse(file: Any, *rest: Any, **more: Any) -> Any:
        if isinstance(file, (str, os.PathLike)) and Path(file).name == name:
            raise PermissionError(13, "Permission denied", str(file))
        return real(file, *rest, **more)

    monkeypatch.setattr(builtins, "open", refuse)
    monkeypatch.setattr(io, "open", refuse)
    said = run(*argv.split())
    monkeypatch.setattr(builtins, "open", real)
    monkeypatch.setattr(io, "open", real)
    assert said.code == 2, said
    assert name in said.err
    assert len(said.err.splitlines()) == 1
    assert "Traceback" not in said.err
    assert listing(folder) == before


def test_plain_codes_are_said_to_carry_no_model(run: Run, folder: Path) -> None:
    said = run("encode", "model.kin", "X.npy", "-o", "codes.npy")
    assert said.code == 0
    said = run("search", "index.kin", "codes.npy", "--json")
    assert said.code == 0
    assert "carries no model id" in said.err
