"""`encode`, `index`, `search`, `eval`, `info`, `explore` and `export`: what the library says, from files."""

from __future__ import annotations

import io
import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import kinhash
from kinhash import HammingIndex, load_codes

from .conftest import Run, done, say, succeed, three_classes


def write_every_format(X: np.ndarray) -> list[str]:
    """The same rows in files of all kinds."""
    np.save("fortran.npy", np.asfortranarray(X))
    np.save("double.npy", X.astype(np.float64))
    np.savez("one.npz", X=X)
    np.savez("two.npz", X=X, other=X[:, :2])
    sp.save_npz("sparse.npz", sp.csr_matrix(X))
    np.savetxt("plain.csv", X.astype(np.float64), delimiter=",", fmt="%.17g")
    np.savetxt("plain.csv.gz", X.astype(np.float64), delimiter=",", fmt="%.17g")
    np.savetxt("plain.tsv", X.astype(np.float64), delimiter="\t", fmt="%.17g")
    Path("rows.jsonl").write_text("".join(f"{json.dumps({'v': row})}\n" for row in X.tolist()))
    from sklearn.datasets import dump_svmlight_file

    dump_svmlight_file(X.astype(np.float64), np.zeros(len(X)), "plain.svm", zero_based=False)
    names = ["fortran.npy", "double.npy", "one.npz", "two.npz:X", "sparse.npz", "plain.csv", "plain.csv.gz"]
    return [*names, "plain.tsv", "plain.svm", "rows.jsonl", "rows.jsonl:v"]


def test_every_format_gives_the_codes_of_the_array(run: Run, folder: Path) -> None:
    X, _ = three_classes(300, seed=5)
    expected = kinhash.load("model.kin").encode(X)
    for name in write_every_format(X):
        succeed(run, f"encode model.kin {name} -o c.kin")
        codes = load_codes("c.kin")
        np.testing.assert_array_equal(codes.packed, expected.packed, err_msg=name)
        assert (codes.n_bits, codes.model_id) == (16, expected.model_id)
    succeed(run, "encode model.kin double.npy -o c.npy")
    np.testing.assert_array_equal(np.load("c.npy"), expected.packed)


def test_pipes_give_the_same_codes(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.load("X.npy")
    content = io.BytesIO()
    np.save(content, X)
    text = "\n".join(",".join(map(repr, row)) for row in X.astype(np.float64).tolist()).encode()
    for piped in (content.getvalue(), text):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(piped)))
        succeed(run, "encode model.kin - -o c.kin")
        np.testing.assert_array_equal(load_codes("c.kin").packed, kinhash.load("model.kin").encode(X).packed)


def test_a_table_is_read_by_the_names_that_the_model_knows(run: Run, folder: Path) -> None:
    done(run, "fit table.csv --labels :kind --ids :name --bits 16 -o c.kin --codes d.kin")
    lines = [line.split(",") for line in Path("table.csv").read_text().splitlines()]
    Path("turned.csv").write_text("\n".join(",".join(line[::-1]) for line in lines) + "\n")
    expected = kinhash.load("c.kin").encode(np.load("X.npy"))
    for name in ("table.csv", "turned.csv", "X.npy"):
        ids = "" if name == "X.npy" else f"--ids {name}:name"
        done(run, f"encode c.kin {name} {ids} -o codes.kin")
        np.testing.assert_array_equal(load_codes("codes.kin").packed, expected.packed)
    Path("less.csv").write_text("\n".join(",".join(line[:-2]) for line in lines) + "\n")
    assert "no column called 'f5'" in say(run, "encode c.kin less.csv -o x.kin").err


@pytest.mark.parametrize(
    "how", ["", "--margins", "--where kind=='class-1'", "--margins --where kind!='class-0'"]
)
def test_search_gives_the_answers_of_the_library(how: str, run: Run, folder: Path) -> None:
    succeed(run, "index db.kin -o pay.kin --payload table.csv:kind,name")
    index, model, X = HammingIndex.load("pay.kin"), kinhash.load("model.kin"), np.load("X.npy")[:25]
    np.save("q.npy", X)
    found = done(run, f"search pay.kin q.npy --model model.kin -k 7 --show name,kind {how}")["neighbors"]
    margins = model.decision_function(X) if "--margins" in how else None
    where = how.partition("--where ")[2] or None
    more = {} if margins is None else {"margins": margins}
    by_index = index.search(model.encode(X), 7, where=where, **more)
    by_hasher = model.search(index, X, 7, where=where, margins="--margins" in how)
    names, kinds = index.payload["name"], index.payload["kind"]
    for one, ours, theirs in zip(found, by_index, by_hasher, strict=True):
        assert one["ids"] == ours.ids.tolist() == theirs.ids.tolist()
        assert one["distances"] == pytest.approx(ours.distances.tolist())
        np.testing.assert_array_equal(ours.distances, theirs.distances)
        assert one["payload"]["name"] == [names[place] for place in one["ids"]]
        assert one["payload"]["kind"] == [kinds[place] for place in one["ids"]]


def test_search_by_codes_within_a_radius_and_in_words(run: Run, folder: Path) -> None:
    ours = HammingIndex.load("index.kin").search_radius(load_codes("queries.kin"), 2)
    found = done(run, "search index.kin queries.kin --radius 2")["neighbors"]
    assert [one["ids"] for one in found] == [one.ids.tolist() for one in ours]
    assert done(run, "search db.kin queries.kin --radius 2")["neighbors"] == found, "codes do for an index"
    np.save("plain.npy", load_codes("queries.kin").packed)
    said = say(run, "search index.kin plain.npy -k 1")
    assert (said.code, "carries no model id" in said.err) == (0, True)
    succeed(run, "index db.kin -o pay.kin --payload table.csv:kind")
    text = succeed(run, "search pay.kin queries.kin -k 2 --show kind")
    assert text.splitlines()[0].split() == ["query", "place", "id", "distance", "kind"]
    assert "100 more queries: --json." in text
    assert "class-0" in text
    said = succeed(run, "search pay.kin queries.kin --where kind=='nothing'")
    assert "Nothing was found. Searched the 0 of 120 rows" in said


def test_eval_is_what_the_metrics_say(run: Run, folder: Path) -> None:
    from sklearn.metrics import average_precision_score

    from kinhash.metrics import evaluate

    X, y = (
        np.load("X.npy") + np.random.default_rng(0).normal(size=(120, 6)) * 3,
        np.loadtxt("y.txt", dtype=str),
    )
    np.save("noisy.npy", X)
    result = done(run, "eval queries.kin --labels y.txt --features noisy.npy")
    codes = load_codes("queries.kin")
    assert result["value"] == pytest.approx(evaluate(codes, codes, y, y, exclude_self=True))
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    others = ~np.eye(120, dtype=bool)
    oracle = [
        average_precision_score((y == y[q])[others[q]], (unit @ unit[q])[others[q]]) for q in range(120)
    ]
    assert result["float_cosine"] == pytest.approx(np.mean(oracle))
    assert result["own_row_left_out"]
    assert {one["label"] for one in result["by_label"]} == {"class-0", "class-1", "class-2"}
    two = done(run, "eval queries.kin db.kin --labels y.txt --labels y.txt -k 3 --ties pessimistic")
    assert {"precision_at_3"} <= set(two)
    assert "holds learned codes" in say(run, "eval db.kin --labels y.txt").err
    assert done(run, "eval queries.kin --tags tags.txt")["value"] > 0.9


def test_info_says_what_is_in_a_file_and_what_is_installed(run: Run, folder: Path) -> None:
    assert done(run, "info model.kin")["n_features"] == 6
    assert done(run, "info db.kin")["learned"] == 120
    assert done(run, "info index.kin")["kind"] == "index"
    np.save("plain.npy", load_codes("db.kin").packed)
    assert done(run, "info plain.npy")["rows"] == 120
    assert done(run, "info")["kinhash"] == kinhash.__version__


@pytest.mark.slow
def test_kernels_are_compiled_ahead_of_time(run: Run, tmp_path: Path) -> None:
    """A process that finds them in the cache compiles nothing."""
    program = [sys.executable, "-m", "kinhash", "info", "--compile", "--json"]
    env = {"NUMBA_CACHE_DIR": str(tmp_path), "PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)}
    first, second = (
        json.loads(subprocess.run(program, env=env, capture_output=True, check=True).stdout) for _ in range(2)
    )
    assert first["kernels"] > 0
    assert str(tmp_path) in first["cache"]
    assert second["kernels"] == 0


def test_demo_learns_judges_and_draws(run: Run, folder: Path) -> None:
    result = done(run, "demo --bits 16")
    assert result["verdict"]["searches"][0]["bytes_per_item"] == 2
    pytest.importorskip("matplotlib")
    assert done(run, "demo --bits 16 -o digits.png")["picture"] == "digits.png"
    assert Path("digits.png").read_bytes()[:4] == b"\x89PNG"


# ---- explore and export ------------------------------------------------------------------------


def test_explore_makes_a_page_of_files(run: Run, folder: Path) -> None:
    words = "--labels table.csv:kind --text table.csv:name --model model.kin --features X.npy"
    result = done(run, f"explore db.kin {words} -o page.html")
    assert (result["rows"], result["labels"]) == (120, 3)
    assert result["probably_mislabeled"] is not None
    page = Path("page.html").read_text(encoding="utf-8")
    assert "item 119" in page
    assert len(page.encode()) == result["bytes"]
    assert done(run, "explore index.kin --tags tags.txt -o t.html")["labels"] == 3
    Path("ids.txt").write_text("".join(f"n{k}\n" for k in range(120)))
    succeed(run, "index db.kin --ids ids.txt -o named.kin")
    refused = say(run, "explore named.kin --labels y.txt -o p.html")
    assert (refused.code, "--ids" in refused.err) == (2, True)
    assert done(run, "explore named.kin --labels y.txt --ids ids.txt -o p.html")["rows"] == 120
    said = say(run, "explore db.kin --labels y.txt -o p.html")
    assert "this flatters" in said.out


def test_an_engine_gets_codes_and_its_answers_are_checked(run: Run, folder: Path) -> None:
    Path("ids.txt").write_text("".join(f"{1000 - k}\n" for k in range(120)))
    result = done(run, "export db.kin --to sqlite -o shop.db --table shoes --ids ids.txt")
    assert (result["rows"], result["n_bits"], result["check"]["passed"]) == (120, 16, True)
    db = sqlite3.connect("shop.db")
    rows = db.execute(result["statement"]).fetchall()
    db.close()
    codes = load_codes("db.kin")
    ours = HammingIndex.from_codes(codes, ids=1000 - np.arange(120)).search(codes[:1], 10)[0]
    assert rows == list(zip(ours.ids.tolist(), ours.distances.tolist(), strict=True))
    before = Path("shop.db").read_bytes()
    said = say(run, "export db.kin --to sqlite -o shop.db --table shoes")
    assert (said.code, "--overwrite" in said.err) == (2, True)
    assert Path("shop.db").read_bytes() == before
    succeed(run, "export db.kin --to sqlite -o shop.db --table shoes --overwrite")


def test_without_what_searches_an_engine_its_answers_are_not_checked(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow", reason="parquet is not installed")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    said = say(run, "export db.kin --to parquet -o codes.parquet --json")
    assert (said.code, json.loads(said.out)["check"]) == (0, None)
    assert "codes.parquet is written, and its answers are not checked." in said.err


def test_a_model_becomes_onnx_and_is_checked(run: Run, folder: Path) -> None:
    pytest.importorskip("onnxruntime")
    result = done(run, "export model.kin --to onnx -o model.onnx")
    assert result["check"]["passed"]
    assert result["input"] == ["X", "float32", 6]
    said = say(run, "export model.kin --to onnx -o model.onnx")
    assert (said.code, "--overwrite" in said.err) == (2, True)
