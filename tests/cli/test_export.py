"""`kinhash export`: what it writes, what it prints, and what it says when it cannot."""

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path

import numpy as np
import pytest

from kinhash import Codes, HammingIndex
from kinhash.codes.codes_file import load_codes
from kinhash.engines import ENGINES, search

from .conftest import Run

FILES = {"duckdb": "duckdb", "faiss": "faiss", "parquet": "duckdb", "sqlite": "sqlite3", "usearch": "usearch"}


@pytest.mark.parametrize("engine", FILES)
def test_codes_go_to_an_engine_and_are_checked(engine: str, run: Run, folder: Path) -> None:
    pytest.importorskip(FILES[engine], reason=f"{engine} is not installed")
    said = run("export", "db.kin", "--to", engine, "-o", "there", "--json")
    assert said.code == 0, said.err
    result = json.loads(said.out)
    assert result["rows"] == 120
    assert result["n_bits"] == 16
    codes, queries = load_codes(folder / "db.kin"), load_codes(folder / "queries.kin")
    assert codes.fields.kin_weight > 1, "or this is about plain codes only"
    assert result["fields"] == codes.fields.as_dict()
    assert result["stored_bits"] == (codes.max_distance if engine in ("faiss", "usearch") else 16)
    assert result["check"] == {
        "n_queries": 20, "k": 10, "distances_equal": True, "ids_equal": True, "asked": True, "passed": True,
    }  # fmt: skip
    ours, theirs = HammingIndex.from_codes(codes).search(queries, 7), search(engine, "there", queries, 7)
    np.testing.assert_array_equal(ours.ids, theirs.ids)
    np.testing.assert_array_equal(ours.distances, theirs.distances)


def test_parquet_is_written_without_the_engine_that_searches_it(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow", reason="parquet is not installed")
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "duckdb", None)
        said = run("export", "db.kin", "--to", "parquet", "-o", "codes.parquet", "--json")
    assert said.code == 0, said.err
    assert "codes.parquet is written, and its answers are not checked." in said.err
    assert "'duckdb', which is not installed" in said.err
    assert (json.loads(said.out)["rows"], json.loads(said.out)["check"]) == (120, None)
    assert (folder / "codes.parquet").exists()


def test_the_printed_statement_runs(run: Run, folder: Path) -> None:
    said = run("export", "db.kin", "--to", "sqlite", "-o", "shop.db", "--table", "shoes")
    assert said.code == 0, said.err
    assert "120 codes of 16 bits written to shop.db for sqlite." in said.out
    assert "Checked 20 queries with 10 neighbors each: the engine's distances and ids equal ours." in said.out
    text = said.out[said.out.index("with _x as") :].partition("\n\n")[0]
    db = sqlite3.connect(folder / "shop.db")
    rows = db.execute(text).fetchall()
    db.close()
    codes = load_codes(folder / "db.kin")
    ours = HammingIndex.from_codes(codes).search(codes[:1], 10)[0]
    assert rows == list(zip(ours.ids.tolist(), ours.distances.tolist(), strict=True))


def test_the_command_says_what_bits_count(run: Run, folder: Path) -> None:
    codes = load_codes(folder / "db.kin")
    kin, alike, weight = 16 - codes.fields.alike, codes.fields.alike, codes.fields.kin_weight
    counts = f"{kin} kin bits (each counts {weight}), {alike} alike bits (each counts 1)."
    said = run("export", "db.kin", "--to", "sqlite", "-o", "shop.db").out
    assert counts in said
    assert "repeated" not in said, "SQL adds up the fields itself"
    said = run("export", "db.kin", "--to", "vespa", "-o", "there").out
    assert counts in said
    assert f"{weight * kin + alike} bits per row. Queries must be the same: codes.repeated()." in said
    np.save(folder / "plain.npy", codes.packed)
    assert "kin bits" not in run("export", "plain.npy", "--to", "vespa", "-o", "plain").out


@pytest.mark.parametrize("engine", ["elasticsearch", "opensearch", "vespa"])
def test_files_for_a_server(engine: str, run: Run, folder: Path) -> None:
    said = run("export", "db.kin", "--to", engine, "-o", "there", "--check", "5")
    assert said.code == 0, said.err
    assert "POST /" in said.out
    assert "the server itself was not asked" in said.out
    assert (folder / "there" / "kinhash.json").exists()


def test_ids_and_overwriting(run: Run, folder: Path) -> None:
    (folder / "ids.txt").write_text("".join(f"{1000 - k}\n" for k in range(120)))
    said = run("export", "db.kin", "--to", "sqlite", "-o", "x", "--ids", "ids.txt", "--check", "0", "--json")
    assert said.code == 0, said.err
    assert json.loads(said.out)["check"] is None
    before = (folder / "x").read_bytes()
    said = run("export", "db.kin", "--to", "sqlite", "-o", "x")
    assert said.code == 2
    assert "--overwrite" in said.err
    assert len(said.err.splitlines()) == 1
    assert (folder / "x").read_bytes() == before
    assert run("export", "db.kin", "--to", "sqlite", "-o", "x", "--overwrite").code == 0
    assert (folder / "x").read_bytes() != before


def test_an_engine_that_miscounts_is_an_exit_code(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its statement looks at a code turned round, so its distances are others."""

    def turned(code: Codes) -> Codes:
        return Codes.from_bits(code.bits()[:, ::-1], fields=code.fields)

    kind = ENGINES["sqlite"]
    honest = kind.statement
    monkeypatch.setattr(kind, "statement", lambda self, code, *rest: honest(self, turned(code), *rest))
    said = run("export", "db.kin", "--to", "sqlite", "-o", "x")
    assert said.code == 1
    assert "distances differ from ours" in said.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--to duckbd -o x", "Did you mean 'duckdb'?"),
        ("--to sqlite", "Missing option"),
        ("-o x", "Missing option"),
        ("--to sqlite -o none/x", "there is no folder"),
        ("--to sqlite -o db.kin", "also an input"),
        ("--to sqlite -o x --table Shoes", "lower-case letters"),
        ("--to usearch -o x --ids names.txt", "strings"),
        ("--to sqlite -o x --ids few.txt", "120"),
        ("--to sqlite -o x --bits 12", "16 bits"),
        ("--to sqlite -o x --check -1", "-1"),
        ("--to vespa -o none/x", "could not be written"),
    ],
)
def test_what_cannot_be_done_is_one_line(words: str, says: str, run: Run, folder: Path) -> None:
    (folder / "names.txt").write_text("".join(f"shoe-{k}\n" for k in range(120)))
    (folder / "few.txt").write_text("1\n2\n")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    said = run("export", "db.kin", *words.split())
    assert said.code == 2
    assert says in said.err
    assert len(said.err.splitlines()) == 1
    assert said.out == ""
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_server_that_is_down_is_one_line_without_the_password(run: Run, folder: Path) -> None:
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    said = run("export", "db.kin", "--to", "postgres", "--dsn", "postgresql://me:secret@127.0.0.1:1/x")
    assert said.code == 2
    assert "could not be written" in said.err
    assert "secret" not in said.err
    assert len(said.err.splitlines()) == 1


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_a_model_goes_to_onnx_and_is_checked(kind: str, run: Run, folder: Path) -> None:
    pytest.importorskip("onnx", reason="onnx is not installed")
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    double = ["--double"] if kind == "float64" else []
    said = run("export", "model.kin", "--to", "onnx", "-o", "model.onnx", "--json", *double)
    assert said.code == 0, said.err
    result = json.loads(said.out)
    assert result["input"] == ["X", kind, 6]
    assert result["check"] == {"n_rows": 20, "passed": True}
    assert result["bytes"] == (folder / "model.onnx").stat().st_size
    session = runtime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    (codes,) = session.run(["codes"], {"X": np.load("X.npy").astype(kind)})
    np.testing.assert_array_equal(codes, load_codes("queries.kin").packed)
    said = run("export", "model.kin", "--to", "onnx", "-o", "model.onnx", "--overwrite", "--check", 3)
    assert said.code == 0, said.err
    assert "Checked 3 rows in onnxruntime: codes and margins equal ours." in said.out


def test_an_onnx_file_with_other_codes_is_an_exit_code(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    from kinhash.hashers.base import Hasher

    monkeypatch.setattr(Hasher, "decision_function", lambda self, rows: np.zeros((len(rows), 16)))
    said = run("export", "model.kin", "--to", "onnx", "-o", "model.onnx")
    assert said.code == 1
    assert "codes and margins differ from ours" in said.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("db.kin --to onnx -o x", "model"),
        ("model.kin --to onnx -o model.kin", "also an input"),
        ("model.kin --to onnx -o y.txt", "--overwrite"),
        ("model.kin --to onnx -o x --table shoes", "--table has no effect"),
        ("model.kin --to onnx -o x --bits 16", "--bits has no effect"),
        ("db.kin --to sqlite -o x --double", "--double has no effect"),
    ],
)
def test_what_cannot_be_exported_to_onnx_is_one_line(words: str, says: str, run: Run, folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    said = run("export", *words.split())
    assert said.code == 2
    assert says in said.err
    assert len(said.err.splitlines()) == 1
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
