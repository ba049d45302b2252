"""Pairs, clicks, triplets, similarities and trees in files: read, judged, and what was judged is written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import kinhash
from kinhash.codes.codes_file import load_codes

from .conftest import Run, three_classes

FIT = ("--bits", "16", "-o", "m.kin", "--codes", "d.kin")


def pairs(n_pairs: int = 1500, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    y = three_classes(120)[1]
    i, j = np.random.default_rng(seed).integers(0, 120, (2, n_pairs))
    i, j = i[i != j], j[i != j]
    return i, j, np.where(y[i] == y[j], 1, -1)


def write(path: str, *columns: np.ndarray, header: str = "") -> str:
    lines = [",".join(f"{value:g}" for value in row) for row in np.stack(columns, axis=1)]
    Path(path).write_text("\n".join([header, *lines] if header else lines) + "\n")
    return path


def fitted(run: Run, *words: str) -> dict:
    said = run("fit", "X.npy", *words, *FIT, "--json")
    assert said.code == 0, said.err
    return json.loads(said.out)


def ways(name: str) -> tuple[str, ...]:
    """Files of every kind, as options."""
    i, j, s = pairs()
    rng = np.random.default_rng(1)
    if name == "similarity":
        S = sp.coo_array((s.astype(float), (i, j)), shape=(120, 120)).tocsr()
        S = S + S.T
        S.data = np.sign(S.data)
        sp.save_npz("S.npz", sp.csr_matrix(S))
        return "--similarity", "S.npz"
    if name == "full similarity":
        y = three_classes(120)[1]
        np.save("S.npy", np.where(y[:, None] == y, 1.0, -0.5))
        return "--similarity", "S.npy"
    if name == "triplets":
        y = three_classes(120)[1]
        a, b, c = rng.integers(0, 120, (3, 4000))
        keep = (y[a] == y[b]) & (y[a] != y[c]) & (a != b)
        return "--triplets", write("t.csv", a[keep], b[keep], c[keep], header="anchor,nearer,further")
    if name == "clicks":
        return "--pairs", write("p.csv", i[s > 0], j[s > 0])
    if name == "grades":
        return "--pairs", write("p.csv", i, j, s * rng.uniform(0.1, 0.9, len(s)), header="a,b,grade")
    if name == "weights":
        return "--pairs", write("p.csv", i, j, s, rng.random(len(s)))
    if name == "npy":
        np.save("p.npy", np.stack([i, j, s], axis=1))
        return "--pairs", "p.npy"
    if name == "labels beside pairs":
        labels = [f"class-{k}" if n < 40 else "" for n, k in enumerate(three_classes(120)[1])]
        Path("some.txt").write_text("\n".join(labels) + "\n")
        return "--pairs", write("p.csv", i, j, s), "--labels", "some.txt", "--label-weight", "2"
    return "--pairs", write("p.csv", i, j, np.maximum(s, 0), header="left,right,verdict")


MEASURE = {"grades": "in order", "triplets": "in order"}
KINDS = ["verdicts", "clicks", "grades", "weights", "npy", "triplets", "similarity", "full similarity"]


@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
@pytest.mark.parametrize("name", [*KINDS, "labels beside pairs"])
def test_every_kind_is_learned_judged_and_written(name: str, run: Run, folder: Path) -> None:
    result = fitted(run, *ways(name))
    verdict = result["verdict"]
    assert verdict["metric"] == MEASURE.get(name, "ROC AUC")
    scores = {line["name"]: line["score"] for line in verdict["lines"]}
    assert {"codes, mapped database", "float cosine", "sign bits", "LSH"} <= set(scores)
    assert scores["codes, mapped database"] > 0.7
    assert ("Spearman" in verdict["lines"][0]) == (name == "grades")
    assert {"p10", "found"} <= set(verdict["lines"][0])
    assert verdict["sentences"][0].startswith("Verdict: ")
    assert result["held_out"].split()[0].isdigit()
    assert result["held_out"] != "0 rows at random"
    codes, model, X = load_codes("d.kin"), kinhash.load("m.kin"), np.load("X.npy")
    assert codes.learned == (verdict["codes"] == "learned")
    assert result["codes_note"].startswith(f" ({verdict['codes']}")
    if not codes.learned:
        np.testing.assert_array_equal(codes.packed, model.encode(X).packed)


def test_the_codes_written_are_those_that_were_judged(run: Run, folder: Path) -> None:
    """Learned codes of this method are worse than mapped ones on pairs of other rows."""
    X, y = three_classes(600)
    np.save("X.npy", X)
    i, j = np.random.default_rng(0).integers(0, 600, (2, 1200))
    write("p.csv", i[i != j], j[i != j], np.where(y[i] == y[j], 1, -1)[i != j])
    result = fitted(run, "--pairs", "p.csv", "--method", "EMKSH")
    scores = {line["name"]: line["score"] for line in result["verdict"]["lines"]}
    assert scores["codes, learned database"] < scores["codes, mapped database"]
    assert result["verdict"]["codes"] == "mapped"
    codes = load_codes("d.kin")
    assert not codes.learned
    np.testing.assert_array_equal(codes.packed, kinhash.load("m.kin").encode(np.load("X.npy")).packed)
    text = run("fit", "X.npy", "--pairs", "p.csv", "--method", "EMKSH", *FIT).out
    assert "Learned codes do worse than mapped ones" in text
    assert "600 codes written to d.kin (mapped)." in text


def test_pairs_that_say_nothing_are_said_not_to_help(run: Run, folder: Path) -> None:
    i, j, s = pairs()
    write("p.csv", i, j, np.random.default_rng(0).permutation(s))
    said = run("fit", "X.npy", "--pairs", "p.csv", *FIT)
    assert "Verdict: pairs did not help: the codes are the unsupervised ones." in said.out
    assert "Supervision did not help" in said.err
    assert "Held out: " in said.out
    assert "rows at random" not in said.out


def test_what_is_odd_about_pairs_is_counted(run: Run, folder: Path) -> None:
    i, j, s = pairs(400)
    odd = ([5, i[0], 7], [5, j[0], 8], [1, -s[0], 0])
    i, j, s = (np.concatenate([part, more]) for part, more in zip((i, j, s), odd, strict=True))
    said = run("fit", "X.npy", "--pairs", write("p.csv", i, j, s), *FIT)
    assert said.code == 0, said.err
    assert f"1 of {len(s)} verdicts are 0 and count as -1" in said.err
    assert f"1 of {len(s)} pairs are of a row with itself" in said.err
    assert "pairs are listed with contradicting verdicts" in said.err
    assert "of them different" in said.out


@pytest.mark.parametrize("held_out", ["0", "1000"])
def test_all_pairs_of_one_row_are_told_of_once(held_out: str, run: Run, folder: Path) -> None:
    others = np.arange(1, 100)
    write("p.csv", np.zeros(99), others, np.where(others % 3 == 0, 1, -1))
    said = run("fit", "X.npy", "--pairs", "p.csv", *FIT, "--held-out", held_out)
    assert said.code == 0, said.err
    assert "All 99 pairs name row 0" in said.err
    assert said.err.count("name row 0") == 1


def test_grades_that_are_never_below_0_are_told_of_once(run: Run, folder: Path) -> None:
    i, j, s = pairs()
    grades = np.where(s > 0, np.random.default_rng(0).integers(3, 6, len(s)), 0) / 5
    said = run("fit", "X.npy", "--pairs", write("p.csv", i, j, grades), *FIT)
    assert said.code == 0, said.err
    assert said.err.count("No verdict is below 0") == 1
    assert "These go from 0 to 1. If their scale is from 0 to 1, rescale them: 2 * grade - 1." in said.err
    said = run("fit", "X.npy", "--pairs", write("p.csv", i, j, np.maximum(s, 0)), *FIT)
    assert "below 0" not in said.err  # of verdicts in a file, 0 means not similar


def test_triplets_of_a_row_and_itself_are_counted(run: Run, folder: Path) -> None:
    ways("triplets")
    with Path("t.csv").open("a") as file:
        file.write("3,3,4\n7,7,4\n")
    n_lines = len(Path("t.csv").read_text().splitlines()) - 1
    said = run("fit", "X.npy", "--triplets", "t.csv", *FIT)
    assert said.code == 0, said.err
    assert said.err.count(f"2 of {n_lines:,} triplets say that a row is nearer to itself") == 1
    assert f"{n_lines - 2:,} triplets" in said.out


def test_similarities_in_one_direction_are_those_in_both(run: Run, folder: Path) -> None:
    both = fitted(run, *ways("similarity"))
    sp.save_npz("S.npz", sp.csr_matrix(sp.triu(sp.load_npz("S.npz"))))
    one = fitted(run, "--similarity", "S.npz")
    assert one["model_id"] == both["model_id"]


@pytest.mark.parametrize("file", ["--pairs pairs.csv", "--similarity S.npz"])
def test_a_kinship_of_labels_needs_labels(file: str, run: Run, folder: Path) -> None:
    ways("similarity")
    said = run("fit", "X.npy", *file.split(), "--kinship", "tree", *FIT)
    assert said.code == 2
    assert "--kinship says how similar labels are: pass --labels or --tags" in said.err
    assert said.err.count("\n") == 1


def test_nothing_is_held_out_when_asked(run: Run, folder: Path) -> None:
    result = fitted(run, *ways("verdicts"), "--held-out", "0")
    assert (result["verdict"], result["held_out"]) == (None, "nothing")
    assert "as asked" in result["why_no_verdict"]


def test_a_tree_without_branches_is_told_of_once(run: Run, folder: Path) -> None:
    (folder / "y.txt").write_text("\n".join(f"half {k < 2} > {k}" for k in three_classes(120)[1]) + "\n")
    said = run("fit", "X.npy", "--labels", "y.txt", "--kinship", "tree", *FIT)
    assert said.code == 0
    assert said.err.count("No path has two levels") == said.err.count("\n") == 1
    assert "3 of 3 labels hold '>'" in said.err


@pytest.mark.parametrize("form", ["paths", "parents", "numbers", "own names", "own numbers", "tags"])
def test_trees_are_judged_at_every_level(form: str, run: Run, folder: Path) -> None:
    y = three_classes(120)[1]
    names = [str(k) if "numbers" in form else f"c{k}" for k in y]
    rows = sorted({(name, "low" if name.endswith(("0", "1")) else "high") for name in names})
    if form.startswith("own"):  # a name that is its own parent is a root
        rows = sorted({(name, names[0] if name.endswith(("0", "1")) else name) for name in names})
    Path("parents.csv").write_text("name,parent\n" + "".join(f"{name},{above}\n" for name, above in rows))
    if form in ("paths", "tags"):
        names = [f"{dict(rows)[name]}/{name}" for name in names]
    Path("labels.txt").write_text("\n".join(names) + "\n")
    option = "--tags" if form == "tags" else "--labels"
    result = fitted(
        run, option, "labels.txt", "--kinship", "tree" if form in ("paths", "tags") else "parents.csv"
    )
    ours, *_, chance = result["verdict"]["lines"]
    assert ours["mAP 1 up"] > 0.9
    assert ours["p10 1 up"] > 0.9
    share = np.mean([np.mean((y < 2) == kind) for kind in y < 2])  # of rows of a row's own branch
    assert chance["mAP 1 up"] == pytest.approx(share, abs=0.06)
    assert "One level up the tree mAP" in result["verdict"]["sentences"][0]
    assert result["codes_note"] == " (learned)"  # rows kept out, too


@pytest.mark.parametrize(
    "text", ["{0},{1},{1}\n{1},{0},{1}\n{1},{1},{0}\n", "a b c\n{0} {1} {1}\n{1} {0} {1}\n{1} {1} {0}\n"]
)
def test_a_matrix_between_classes_in_text_is_no_table_of_parents(text: str, run: Run, folder: Path) -> None:
    Path("between.csv").write_text(text.format(1, -0.5))
    fitted(run, "--labels", "y.txt", "--kinship", "between.csv")
