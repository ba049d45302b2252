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
        Case(
            "columns",
            "encode by_name.kin other.csv -o out.kin",
            "There is no column called 'f5'",
            lambda folder: _model_by_name(folder),
        ),
    ]
    return cases


def _model_by_name(folder: Path) -> None:
    from kinhash import EnergyHasher

    pandas = pytest.importorskip("pandas")
    table = pandas.read_csv(folder / "table.csv")
    hasher = EnergyHasher(8, random_state=0).fit(table[[f"f{k}" for k in range(6)]], table["kind"])
    hasher.save(folder / "by_name.kin")
    table.drop(columns=["f5"]).to_csv(folder / "other.csv", index=False)


PARAMETERS = [
    Case("n_bits", FIT.replace("--bits 16", "--bits 0"), "n_bits is 0. Expected an integer from 1 to 1024"),
    Case("n_bits", FIT.replace("--bits 16", "--bits 1025"), "n_bits is 1025"),
    Case("n_bits", FIT.replace("--bits 16", "--bits 3.5"), "'3.5' is not a valid integer"),
    Case("n_bits", "demo --bits 0 -o out.kin", "n_bits is 0"),
    Case("n_bits", "index codes.npy --bits 99 -o out.kin", "99", save("codes.npy", np.ones((3, 2), "u1"))),
    Case("clip", f"{FIT} --set solver=linearized --set solver__clip=2.5997", "2.59"),
    Case("clip", f"{FIT} --method EMKSH --set clip=0", "clip"),
    Case(
        "n_anchors",
        f"{FIT} --set solver.n_anchors=1 --set solver=spectral",
        "n_anchors is 1. Expected an integer of at least 2",
    ),
    Case("energy", f"{FIT} --set energy=khs", "Did you mean 'ksh'?"),
    Case("encoder", f"{FIT} --set encoder=rigde", "Did you mean 'ridge'?"),
    Case("encoder", f"{FIT} --set encoder=rigde --set encoder__alpha=1", "Did you mean 'ridge'?"),
    Case(
        "features",
        f"{FIT} --set encoder=expected --set encoder__features=rfb",
        "Did you mean 'rbf'?",
    ),
    Case(
        "setting of auto",
        f"{FIT} --set solver__n_sweeps=5",
        "solver__n_sweeps was set, and solver is 'auto'. Expected one of columns, coordinate",
    ),
    Case("setting of a number", f"{FIT} --set n_bits__x=5", "n_bits has no settings of its own"),
    Case(
        "label model",
        f"{FIT} --set encoder=expected --set encoder__label_model=ridge",
        "There is no label model called 'ridge'",
    ),
    Case("method", f"{FIT} --method EMKHS", "Did you mean 'EMKSH'?"),
    Case("method", f"{FIT} --method itq", "Did you mean 'ITQ'?"),
    Case("parameter", f"{FIT} --set encoders=ridge", "Did you mean 'encoder'?"),
    Case("parameter", f"{FIT} --set solver=spectral --set solver__n_anchor=3", "Did you mean 'n_anchors'?"),
    Case("parameter", f"{FIT} --set map=linear", "no parameter of EnergyHasher called 'map'"),
    Case("command", "fti X.npy", "Did you mean 'fit'?"),
    Case("option", f"{FIT} --lables y.txt", "No such option"),
    Case("ties", "eval db.kin --labels y.txt --ties sometimes", "value of ties"),
    Case("top", "eval db.kin --labels y.txt --top 0", "top is 0"),
    Case("k", "eval db.kin --labels y.txt -k 0", "k is 0"),
    Case("k", "search index.kin queries.kin -k -1", "-1"),
    Case("k and radius", "search index.kin queries.kin -k 2 --radius 10", "-k or --radius, not both"),
    Case("radius", "eval db.kin --labels y.txt --radius -1", "radius is -1"),
    Case("picture", "advise X.npy --labels y.txt --picture a.svg", "must end in .png"),
    Case("labels", "advise X.npy", "Pass one of --labels, --tags or --label-column."),
]  # fmt: skip

SUPERVISION = [
    Case("other length", FIT, "120", text("y.txt", "a\nb\na\n")),
    Case("one too many", FIT, "--label-column", text("y.txt", "kind\n" + "a\nb\n" * 60)),
    Case("other length", FIT.replace("--labels y.txt", "--tags tags.txt"), "120", text("tags.txt", "a\n")),
    Case("other length", "eval db.kin --labels y.txt", "120", text("y.txt", "a\nb\n")),
    Case("one class", FIT, "only one class", text("y.txt", "a\n" * 120)),
    Case("untagged", FIT.replace("--labels y.txt", "--tags tags.json"), "No row has a tag",
         text("tags.json", "[" + ", ".join(["[]"] * 120) + "]")),
    Case("no tags", FIT.replace("--labels", "--tags").replace("y.txt", "y.npy"), "not sets of tags",
         save("y.npy", np.arange(120) % 3)),
    Case("no labels", "fit X.npy -o out.kin", "or one of --pairs, --triplets and --similarity"),
    Case("two kinds", f"{FIT} --tags tags.txt", "--labels and --tags together"),
    Case("no such column", "fit table.csv --label-column species -o out.kin",
         "There is no column called 'species'"),
    Case("text in features", FIT.replace("X.npy", "table.csv"), "--leave-out NAME"),
    Case("labels per codes", "eval queries.kin db.kin --labels y.txt", "2 files of codes came with 1"),
    Case("features per codes", "eval queries.kin db.kin --labels y.txt --labels y.txt --features X.npy",
         "2 files of codes came with 1 of --features"),
    Case("features of other rows", "eval db.kin --labels y.txt --features few.npy", "there are 120 codes",
         lambda f: np.save(f / "few.npy", np.ones((7, 6)))),
    Case("three codes", "eval db.kin db.kin db.kin --labels y.txt", "3 files of codes"),
    Case("classes and tags", "eval queries.kin db.kin --labels y.txt --labels ind.npy", "the same kind",
         save("ind.npy", np.eye(120, 3, dtype=np.uint8))),
    Case("ids", f"{ENCODE} --ids ids.txt", "ids for 120 rows", text("ids.txt", "1\n2\n")),
    Case("ids", "index db.kin --ids ids.txt -o out.kin", "7", text("ids.txt", "7\n" * 120)),
]  # fmt: skip

PAIR = "fit X.npy --pairs pairs.csv --bits 16 -o out.kin"
TRIPLET = "fit X.npy --triplets t.csv --bits 16 -o out.kin"
MATRIX = "fit X.npy --similarity S.npy --bits 16 -o out.kin"
PAIRS = [
    Case("out of range", PAIR, "Line 2 of pairs.csv holds 0, 120; 1 of 2 name no row of the features",
         text("pairs.csv", "0,1,-1\n0,120,1\n")),
    Case("from 1", PAIR, "seem to be counted from 1", text("pairs.csv", "1,2,-1\n120,3,1\n")),
    Case("from 1", PAIR, "seem to be counted from 1", text("pairs.csv", "1,2,-1\n3,120,1\n")),
    Case("negative", PAIR, "Line 2 of pairs.csv holds 0, -1", text("pairs.csv", "0,1,-1\n0,-1,1\n")),
    Case("a later line", PAIR, "Line 5 of pairs.csv holds 3, 600; 1 of 3",
         text("pairs.csv", "left,right,verdict\n\n0,1,-1\n0,2,1\n3,600,1\n")),
    Case("no lines", PAIR.replace("csv", "npy"), "Row 1 of pairs.npy (the first is 0) holds 3, 600",
         save("pairs.npy", np.array([[0, 1, 1], [3, 600, -1]]))),
    Case("names", PAIR, "Line 1 of pairs.csv has 'cat' for a row; 2 of 2 lines hold words. Expected row "
         "numbers, not names or ids: rows are numbered from 0", text("pairs.csv", "cat,0,1\ndog,1,0\n")),
    Case("only names", PAIR, "Line 2 of pairs.csv has 'dog' for a row",
         text("pairs.csv", "a,b\ndog,mouse\n")),
    Case("one line of names", PAIR, "Line 1 of pairs.csv has 'a' for a row", text("pairs.csv", "a,b\n")),
    Case("words", PAIR, "Line 2 of pairs.csv has 'similar' for the verdict; 1 of 2 lines hold words. "
         "Expected a number from −1", text("pairs.csv", "0,1,1\n0,2,similar\n")),
    Case("i = j", PAIR, "All 1 pairs", text("pairs.csv", "0,1,-1\n3,3,1\n")),
    Case("floats", PAIR, "Line 2 of pairs.csv holds 0.5, 2; 1 of 2 name no row",
         text("pairs.csv", "0,1,-1\n0.5,2,1\n")),
    Case("verdict", PAIR, "Line 2 of pairs.csv holds the verdict 7; 1 of 2 are outside [−1, 1]",
         text("pairs.csv", "0,1,-1\n0,2,7\n")),
    Case("grade", PAIR, "2 of 3 are outside", text("pairs.csv", "0,1,-1\n0,2,2.5\n0,3,5\n")),
    Case("missing", PAIR, "holds the verdict nan; 1 of 2 are outside [−1, 1]. Expected a number from −1 (not "
         "similar) to 1 (similar). Remove lines without", text("pairs.csv", "0,1,-1\n0,2,nan\n")),
    Case("missing row", PAIR, "Line 2 of pairs.csv holds 0, nan", text("pairs.csv", "0,1,-1\n0,nan,1\n")),
    Case("weight", PAIR, "Line 2 of pairs.csv holds the weight -3; 1 of 2 are negative or not finite. "
         "Expected a finite number, 0 or more", text("pairs.csv", "0,1,-1,1\n0,2,1,-3\n")),
    Case("weight", PAIR, "the weight nan; 1 of 2", text("pairs.csv", "0,1,-1,1\n0,2,1,nan\n")),
    Case("all 0", PAIR, "All 2 pairs have the verdict 0.", text("pairs.csv", "0,1,0\n0,2,0\n")),
    Case("no file", PAIR.replace("pairs.csv", "none.csv"), "none.csv: there is no such file of pairs. "
         "Expected lines of row, row"),
    Case("no file", TRIPLET, "t.csv: there is no such file of triplets"),
    Case("no file", MATRIX, "S.npy: there is no such file of similarities"),
    Case("no kin", PAIR, "All 2 pairs have the verdict -1", text("pairs.csv", "0,1,-1\n0,2,-1\n")),
    Case("no strangers", PAIR, "All 2 pairs have the verdict 1", text("pairs.csv", "0,1,1\n0,2,1\n")),
    Case("one column", PAIR, "has 1 column.", text("pairs.csv", "0\n0\n")),
    Case("one click", PAIR, "1 similar pairs came", text("pairs.csv", "0,1\n1,0\n")),
    Case("clicks", PAIR + " --method EMKSH", "cannot learn from similar pairs alone",
         text("pairs.csv", "0,1\n2,3\n")),
    Case("weights", PAIR + " --method EMKSH", "weights of pairs", text("pairs.csv", "0,1,1,1\n2,3,-1,2\n")),
    Case("columns", TRIPLET, "has 2 columns", text("t.csv", "0,1\n0,2\n")),
    Case("twice", TRIPLET, "Line 2 of t.csv holds 3, 4, 4; 1 of 2 name a row twice",
         text("t.csv", "0,1,2\n3,4,4\n")),
    Case("itself", TRIPLET, "t.csv: No triplet is left: all 1 say", text("t.csv", "3,3,4\n")),
    Case("names", TRIPLET, "Line 2 of t.csv has 'x' for a row", text("t.csv", "0,1,2\n3,4,x\n")),
    Case("out of range", TRIPLET, "Line 2 of t.csv holds 3, 5, 120; 1 of 2",
         text("t.csv", "0,1,2\n3,5,120\n")),
    Case("method", TRIPLET + " --method EMKSH", "cannot learn from triplets",
         text("t.csv", "0,1,2\n3,5,7\n")),
    Case("shape", MATRIX, "S has shape (120, 6)", lambda f: np.save(f / "S.npy", np.zeros((120, 6)))),
    Case("range", MATRIX, "S holds values", lambda f: np.save(f / "S.npy", np.full((120, 120), 2.0))),
    Case("two kinds", PAIR + " --similarity X.npy", "--pairs and --similarity together"),
    Case("weight of nothing", PAIR + " --label-weight 2", "pass both"),
    Case("two parents", FIT + " --kinship p.csv", "the parents 'up' and 'down'",
         text("p.csv", "a,up\na,down\nb,up\n")),
    Case("three columns", FIT + " --kinship p.csv", "Line 3 of p.csv has 3 columns; 2 of 3 lines do not have "
         "two. Expected lines of name, parent", text("p.csv", "a,up\n\nb,up,top\nc,up,top\n")),
    Case("one column", FIT + " --kinship p.csv", "Line 1 of p.csv has 1 column; 3 of 3 lines",
         text("p.csv", "a\nb\nc\n")),
    Case("a ragged matrix", FIT + " --kinship p.csv", "line 2 has 2 columns. Expected 3 numbers",
         text("p.csv", "1,0,0\n0,1\n0,0,1\n")),
    Case("no parent", FIT + " --kinship p.csv", "names the parent of none",
         text("p.csv", "a,up\nb,up\nc,up\n")),
    Case("no path", FIT + " --kinship tree", "Row 1 of the labels (the first is 0) is '/', which is not a "
         "path: it holds no name; 60 of 120 paths are wrong", text("y.txt", "a/b\n/\n" * 60)),
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
    Case("codes as a model", "encode db.kin X.npy -o out.kin", "kind 'codes'"),
]  # fmt: skip


def _twin(folder: Path) -> None:
    """Codes of equal length that another model made."""
    from kinhash import Codes
    from kinhash.codes.codes_file import load_codes, save_codes

    codes = load_codes(folder / "queries.kin")
    save_codes(Codes(codes.packed, codes.n_bits, model_id="f" * 32), folder / "twin.kin")


# Every file argument of every command: the command, the file, and whether its kind is ours.
FILES = [
    (FIT, "X.npy"),
    (FIT, "y.txt"),
    (FIT.replace("--labels y.txt", "--tags tags.txt"), "tags.txt"),
    (PAIR, "pairs.csv"),
    (FIT.replace("X.npy --labels y.txt", "table.csv --label-column kind --leave-out name"), "table.csv"),
    (ENCODE, "X.npy"),
    (ENCODE, "model.kin"),
    ("info model.kin", "model.kin"),
    ("info db.kin", "db.kin"),
    ("info index.kin", "index.kin"),
    ("index db.kin -o out.kin", "db.kin"),
    ("add index.kin queries.kin", "index.kin"),
    ("add index.kin queries.kin", "queries.kin"),
    ("upsert index.kin X.npy --model model.kin --ids y.txt", "X.npy"),
    ("upsert index.kin X.npy --model model.kin --ids y.txt", "model.kin"),
    ("remove index.kin --ids 1,2", "index.kin"),
    ("dedup db.kin --radius 1 -o out.kin", "db.kin"),
    ("dedup index.kin --radius 1 -o out.kin", "index.kin"),
    ("migrate index.kin other_model.kin X.npy --yes", "index.kin"),
    ("migrate index.kin other_model.kin X.npy --yes", "other_model.kin"),
    ("migrate index.kin other_model.kin X.npy --yes --labels y.txt", "y.txt"),
    ("index db.kin -o out.kin --payload table.csv", "table.csv"),
    ("search index.kin queries.kin", "index.kin"),
    ("search index.kin queries.kin", "queries.kin"),
    ("search index.kin X.npy --model model.kin", "model.kin"),
    ("eval db.kin --labels y.txt", "db.kin"),
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
        Case("ragged", "fit r.csv --label-column kind -o out.kin", "line 3 has 4", text("r.csv", named)),
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
        "add index.kin queries.kin",
        "remove index.kin --ids 1,2",
        "dedup db.kin --radius 1 -o out.kin",
        "migrate index.kin other_model.kin X.npy --yes",
        f"{ENCODE[:-3]}npy",
        "demo -o out.png",
    ],
)
def test_a_full_disk_is_one_line_and_leaves_what_was_there(
    argv: str, run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("out.kin", "out.npy", "out.png"):
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
