"""`--view` in the command line: fit, encode, search, info, export and explore."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import kinhash
from kinhash import HammingIndex

from .conftest import Run


@pytest.fixture
def texts(folder: Path) -> np.ndarray:
    """Other columns of the same rows, in T.npy."""
    X = np.load("X.npy")
    found: np.ndarray = (X @ np.random.default_rng(2).normal(size=(6, 9))).astype(np.float32)
    np.save("T.npy", found)
    return found


def test_fit_adds_views_and_judges_both_directions(run: Run, folder: Path, texts: np.ndarray) -> None:
    command = ("fit", "X.npy", "--view", "text=T.npy", "--bits", 16, "-o", "m.kin")
    said = run(*command, "--labels", "y.txt", "--codes", "db.kin", "--json")
    assert said.code == 0, said.err
    result = json.loads(said.out)
    there, back = result["views"]
    assert (there["asked"], there["searched"], back["asked"], back["searched"]) == (
        None,
        "text",
        "text",
        None,
    )
    for one in (there, back):
        assert one["queries"] == 12
        assert one["rows"] == 108
        assert one["scores"]["mAP"] > 0.9 > 0.5 > one["chance"]["mAP"] > 0.3
        assert one["scores"]["p10"] > 0.9 > one["chance"]["p10"]
    assert run("encode", "m.kin", "T.npy", "--view", "text", "-o", "t.kin").code == 0
    hasher, codes = kinhash.load("m.kin"), kinhash.load_codes("t.kin")
    np.testing.assert_array_equal(codes.packed, hasher.encode(texts, view="text").packed)
    index = HammingIndex.from_codes(kinhash.load_codes("db.kin"))
    ours = index.search(codes, 5).ids.tolist()
    for command in (("t.kin",), ("T.npy", "--model", "m.kin", "--view", "text")):
        found = json.loads(run("search", "db.kin", *command, "-k", 5, "--json").out)["neighbors"]
        assert [one["ids"] for one in found] == ours
    assert json.loads(run("info", "m.kin", "--json").out)["views"] == {"text": "9 columns"}
    spoken = run(
        "fit", "X.npy", "--view", "text=T.npy", "--bits", 16, "-o", "m.kin", "--tags", "tags.txt"
    ).out
    assert "text → the first view: mAP " in " ".join(spoken.split())


def test_views_beside_pairs_are_judged_by_their_own_rows(run: Run, folder: Path, texts: np.ndarray) -> None:
    said = run("fit", "X.npy", "--view", "text=T.npy", "--pairs", "pairs.csv", "-o", "m.kin", "--json")
    assert said.code == 0, said.err
    for one in json.loads(said.out)["views"]:
        assert set(one["scores"]) == {"own"}
        assert one["scores"]["own"] > one["chance"]["own"]


@pytest.mark.parametrize(
    "learn",
    ["--pairs pairs.csv --labels y.txt", "--labels y.txt --set encoder=ridge", "--labels y.txt --method ITQ"],
)
def test_views_are_learned_where_labels_are_known_and_the_fit_has_no_label_model(
    learn: str, run: Run, folder: Path, texts: np.ndarray
) -> None:
    said = run("fit", "X.npy", "--view", "text=T.npy", *learn.split(), "-o", "m.kin", "--json")
    assert said.code == 0, said.err
    for one in json.loads(said.out)["views"]:
        assert set(one["scores"]) == {"mAP", "p10", "own"}


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("fit X.npy --view text --labels y.txt -o n.kin", "pass NAME=FILE"),
        ("fit X.npy --view a=X.npy --view a=X.npy --labels y.txt -o n.kin", "each name once"),
        ("fit X.npy --view a=short.npy --labels y.txt -o n.kin", "short.npy has 7 rows"),
        ("fit X.npy --view a.b=X.npy --labels y.txt -o n.kin", "A view was called 'a.b'"),
        ("fit X.npy --view a=nan.npy --labels y.txt -o n.kin", "nan.npy: Input X contains NaN"),
        ("encode model.kin X.npy --view text -o t.kin", "no view called 'text': the hasher has none"),
        ("search db.kin queries.kin --view text", "--view needs --model"),
        ("export db.kin --to sqlite -o x.db --view text", "--view has no effect on codes"),
        ("encode views.kin T.npy -o t.kin", "Pass --view text"),
        ("encode views.kin T.npy --view texts -o t.kin", "Did you mean 'text'?"),
    ],
)
def test_what_cannot_be_done_is_said(
    command: str, says: str, run: Run, folder: Path, texts: np.ndarray
) -> None:
    np.save("short.npy", texts[:7])
    np.save("nan.npy", np.where(np.arange(9) == 4, np.nan, texts))
    hasher = kinhash.load("model.kin").add_view("text", texts, beside=np.load("X.npy"))
    hasher.save("views.kin")
    said = run(*command.split())
    assert said.code != 0
    assert says in " ".join(said.err.split())


def test_a_view_is_exported_and_explored(run: Run, folder: Path, texts: np.ndarray) -> None:
    pytest.importorskip("onnxruntime")
    hasher = kinhash.load("model.kin").add_view("text", texts, beside=np.load("X.npy"))
    hasher.save("views.kin")
    said = run("export", "views.kin", "--to", "onnx", "--view", "text", "-o", "t.onnx", "--json")
    assert said.code == 0, said.err
    result = json.loads(said.out)
    assert result["check"]["passed"]
    assert result["input"][2] == 9
    assert result["model_id"] == hasher.model_id_
    said = run(
        "explore", "db.kin", "--model", "views.kin", "--view", "text", "--features", "T.npy", "-o", "p.html"
    )
    assert said.code == 0, said.err


@pytest.mark.parametrize("command", ["--view text=T.npy -o T.npy", "--held-out-by when.txt --codes when.txt"])
def test_no_file_of_a_view_or_of_times_is_overwritten(
    command: str, run: Run, folder: Path, texts: np.ndarray
) -> None:
    Path("when.txt").write_text("\n".join(map(str, range(len(texts)))))
    before = Path("T.npy").read_bytes(), Path("when.txt").read_bytes()
    said = run("fit", "X.npy", "--labels", "y.txt", "-o", "n.kin", *command.split())
    assert said.code != 0
    assert "is also an input" in said.err
    assert (Path("T.npy").read_bytes(), Path("when.txt").read_bytes()) == before


def test_an_index_of_a_view_is_added_to_and_migrated(run: Run, folder: Path, texts: np.ndarray) -> None:
    for seed in (0, 1):
        command = ("fit", "X.npy", "--labels", "y.txt", "--bits", 16, "--seed", seed, "-o", f"{seed}.kin")
        assert run(*command, "--view", "text=T.npy").code == 0
    assert run("encode", "0.kin", "T.npy", "--view", "text", "-o", "t.kin").code == 0
    assert run("index", "t.kin", "-o", "i.kin").code == 0
    hint = run("migrate", "i.kin", "1.kin", "T.npy", "--yes")
    assert "Pass --view text" in hint.err
    assert run("migrate", "i.kin", "1.kin", "T.npy", "--view", "text", "-o", "i.kin").code != 0
    said = run("migrate", "i.kin", "1.kin", "T.npy", "--view", "text", "--yes")
    assert said.code == 0, said.err
    assert run("add", "i.kin", "T.npy", "--model", "1.kin", "--view", "text").code == 0
    packed = kinhash.load("1.kin").encode(texts, view="text").packed
    np.testing.assert_array_equal(kinhash.load("i.kin").codes().packed, np.tile(packed, (2, 1)))
    assert "--view needs --model" in run("add", "i.kin", "t.kin", "--view", "text").err
