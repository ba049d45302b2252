"""Same or not on the command line: fit decides, search and dedup use it, pairs name ids, a bridge keeps the index."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_digits

import kinhash

X, Y = load_digits(return_X_y=True)


@pytest.fixture
def rows(folder):
    rng = np.random.default_rng(0)
    np.save("X.npy", X)
    (folder / "y.txt").write_text("\n".join(map(str, Y)))
    (folder / "ids.txt").write_text("\n".join(f"row {i}" for i in range(len(X))))
    left, right = rng.integers(len(X), size=(2, 3000))
    left, right = left[left != right], right[left != right]
    verdicts = np.where(Y[left] == Y[right], 1, -1)
    lines = [f"row {i},row {j},{v}" for i, j, v in zip(left, right, verdicts, strict=True)]
    (folder / "named.csv").write_text("\n".join(["left,right,verdict", *lines]))
    lines = [f"{i},{j},{v}" for i, j, v in zip(left, right, verdicts, strict=True)]
    (folder / "numbered.csv").write_text("\n".join(lines))
    return folder


def test_fit_decides_on_rows_that_it_held_out_and_search_finds_what_is_the_same(rows, run):
    said = run(
        "fit", "X.npy", "--labels", "y.txt", "--bits", 32, "--max-false", "5%", "-o", "model.kin", "--json"
    )
    decision = json.loads(said.out)["decision"]
    assert decision["radius"] is not None
    assert decision["n_rows"] > 400
    model = kinhash.load("model.kin")
    assert model.decision_.radius == decision["radius"]
    assert "Same within" in run("info", "model.kin").out
    assert run("encode", "model.kin", "X.npy", "-o", "codes.kin").code == 0
    assert run("index", "codes.kin", "--ids", "ids.txt", "-o", "index.kin").code == 0
    found = json.loads(run("search", "index.kin", "X.npy", "--model", "model.kin", "--same", "--json").out)
    assert found["same_within"] == decision["radius"]
    assert max(max(one["distances"]) for one in found["neighbors"]) == decision["radius"]
    by_radius = run("dedup", "index.kin", "--radius", decision["radius"], "--json").out
    decided = run("dedup", "index.kin", "--json").out
    assert json.loads(decided)["dropped"] == json.loads(by_radius)["dropped"]
    assert (
        run("fit", "X.npy", "--labels", "y.txt", "--bits", 16, "-o", "other.kin", "--held-out", 0).code == 0
    )
    said = run("migrate", "index.kin", "other.kin", "X.npy", "--ids", "ids.txt", "--yes")
    assert "decide again" in said.out
    assert kinhash.load("index.kin").same_within is None


def test_pairs_name_ids_as_well_as_numbers(rows, run):
    fit = ("fit", "X.npy", "--bits", 16, "--held-out", 0)
    assert run(*fit, "--pairs", "numbered.csv", "-o", "a.kin").code == 0
    assert run(*fit, "--pairs", "named.csv", "--ids", "ids.txt", "-o", "b.kin").code == 0
    assert kinhash.load("a.kin").model_id_ == kinhash.load("b.kin").model_id_
    (rows / "bad.csv").write_text("left,right,verdict\nrow 1,nobody,1\nrow 1,row 3,-1\n")
    said = run(*fit, "--pairs", "bad.csv", "--ids", "ids.txt", "-o", "c.kin")
    assert said.code == 2
    assert "'nobody'" in said.err


def test_known_duplicates_choose_the_radius_of_dedup(rows, run):
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (1000, 64))
    bits[800:] = bits[:200] ^ (rng.random((200, 64)) < 0.03)
    names = np.array([f"item {i}" for i in range(1000)])
    kinhash.codes.save_codes(kinhash.Codes.from_bits(bits, ids=names), "codes.kin")
    (rows / "known.csv").write_text("a,b\n" + "\n".join(f"item {i},item {800 + i}" for i in range(150)))
    said = run("dedup", "codes.kin", "--max-false", "4%", "--pairs", "known.csv", "--json")
    result = json.loads(said.out)
    assert result["decision"]["false_share"][2] <= 0.04
    assert 150 <= result["dropped"] <= 202


@pytest.mark.filterwarnings("ignore")
def test_rows_of_a_new_embedding_model_search_the_old_codes(rows, run):
    np.save("new.npy", np.tanh(X @ np.random.default_rng(0).standard_normal((64, 48)) / 30))
    assert (
        run("fit", "X.npy", "--labels", "y.txt", "--bits", 32, "--held-out", 0, "-o", "model.kin").code == 0
    )
    assert run("encode", "model.kin", "X.npy", "-o", "codes.kin").code == 0
    said = run("bridge", "model.kin", "--old", "X.npy", "--new", "new.npy", "-o", "model2.kin", "--json")
    verdict = json.loads(said.out)["verdict"]
    figures = {one["name"]: one["figures"]["nearest by old cosine"] for one in verdict["searches"]}
    assert figures["the bridge"] > 0.9 * figures["everything encoded anew"]
    found = json.loads(
        run("search", "codes.kin", "new.npy", "--model", "model2.kin:new", "-k", 10, "--json").out
    )
    near = np.array([one["ids"] for one in found["neighbors"]])
    assert (Y[near] == Y[:, None]).mean() > 0.9
    said = run("bridge", "model.kin", "--old", "X.npy", "--new", "y.txt", "-o", "model2.kin")
    assert said.code in (0, 2)
