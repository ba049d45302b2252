"""The commands do what they say: files in every format, codes as in Python, results as text and JSON."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import kinhash
from kinhash import BitLayout, HammingIndex, load
from kinhash.codes.codes_file import load_codes
from kinhash.errors import InvalidInput

from .conftest import Run, three_classes


def succeed(run: Run, argv: str) -> str:
    said = run(*argv.split())
    assert said.code == 0, said.err
    assert said.err == ""
    return said.out


def test_fit_ends_with_a_verdict_on_rows_it_did_not_see(run: Run, folder: Path) -> None:
    out = succeed(run, "fit X.npy --labels y.txt --bits 16 -o m.kin --codes d.kin --json")
    result = json.loads(out)
    verdict = result["verdict"]
    scores = {line["name"]: line for line in verdict["lines"]}
    assert list(scores) == [
        "codes, learned database",
        "codes, mapped database",
        "float cosine",
        "sign bits",
        "LSH",
        "classifier, true labels",
        "random order",
    ]
    assert all(0 <= line["low"] <= line["score"] <= line["high"] <= 1 for line in scores.values())
    assert scores["codes, mapped database"]["score"] > scores["LSH"]["score"]
    assert [line["bytes_per_item"] for line in scores.values()] == [2, 2, 24, 1, 2, 1, 0]
    assert all(0 <= line[name] <= 1 for line in scores.values() for name in ("p10", "near"))
    assert scores["random order"]["p10"] == pytest.approx(1 / 3, abs=0.02)
    assert 0 <= verdict["self_retrieval"] <= 1
    assert verdict["sentences"][0].startswith("Verdict: ")
    assert verdict["queries"] == 12
    assert result["training_rows"] == 108
    assert set(result["seconds"]) == {"starting", "reading", "fit", "judging", "total"}
    text = succeed(run, "fit X.npy --labels y.txt --bits 16 -o m.kin --codes d.kin")
    for word in (
        "Protocol: 12 rows were held out",
        "Ties: expected",
        "Verdict: not clearly better or worse than float cosine on 12 queries",
        "The codes take 2 bytes per item instead of 24.",
        "A classifier with 1 byte per item",
        "find that row first in",
    ):
        assert word in text


def test_a_method_that_only_maps_is_not_said_to_have_learned_codes(run: Run, folder: Path) -> None:
    text = succeed(run, "fit X.npy --labels y.txt --method ITQ --bits 4 -o m.kin")
    assert "learned" not in text.lower()
    assert "all codes come from features, since this method learns a map alone" in " ".join(text.split())
    assert "1 byte per item instead of 24" in text
    assert text.count("mapped on 108") == 1, "the same number is not said twice"
    result = json.loads(succeed(run, "fit X.npy --labels y.txt --method ITQ --bits 4 -o m.kin --json"))
    assert result["verdict"]["lines"][0]["name"] == "codes, mapped database"
    assert result["codes_are"] == result["verdict"]["codes"] == "mapped"
    assert "unique_codes_learned" not in result["verdict"]
    result = json.loads(succeed(run, "fit X.npy --labels y.txt --method EMKSH --bits 4 -o m.kin --json"))
    assert result["verdict"]["lines"][0]["name"] == "codes, learned database"
    assert result["codes_are"] == "learned"


def test_the_verdict_is_what_the_metrics_say_of_the_rows_kept_out(run: Run, folder: Path) -> None:
    from kinhash.metrics import mean_average_precision
    from kinhash.supervision import read_labels

    noisy = np.load("X.npy") + 3 * np.random.default_rng(0).normal(size=(120, 6)).astype(np.float32)
    np.save("X.npy", noisy)  # so that no two lines of the table agree by chance
    result = json.loads(
        succeed(run, "fit X.npy --labels y.txt --bits 16 --seed 3 -o m.kin --codes d.kin --json")
    )
    X, y = np.load("X.npy"), np.loadtxt("y.txt", dtype=str)
    model, codes = kinhash.load("m.kin"), load_codes("d.kin")
    mapped = model.encode(X)
    labels = read_labels(y)
    from kinhash.metrics import hold_out_rows

    train, queries = hold_out_rows(labels, 1000, 0.1, np.random.default_rng(3))
    by_label = model.learned_codes(y[queries], X[queries])  # as rows of the fit have them
    np.testing.assert_array_equal(codes.packed[queries], by_label.packed)
    assert result["codes_note"] == " (learned)"
    again = kinhash.EnergyHasher(16, random_state=3).fit(X[train], labels[train])
    np.testing.assert_array_equal(again.codes_, codes.packed[train])
    assert again.model_id_ == model.model_id_ == codes.model_id == result["model_id"]
    scores = {line["name"]: line["score"] for line in result["verdict"]["lines"]}
    for name, database in (("learned", codes[train]), ("mapped", mapped[train])):
        oracle = mean_average_precision(mapped[queries], database, y[queries], y[train])
        assert scores[f"codes, {name} database"] == pytest.approx(oracle, abs=1e-12)
    assert len({round(score, 6) for score in scores.values()}) == 7
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    from sklearn.metrics import average_precision_score

    cosine = [average_precision_score(y[train] == y[q], unit[train] @ unit[q]) for q in queries]
    assert scores["float cosine"] == pytest.approx(np.mean(cosine), abs=1e-6)


def test_rows_kept_out_whose_label_no_other_row_has_are_mapped(run: Run, folder: Path) -> None:
    y = np.loadtxt("y.txt", dtype=str)
    y[-1] = "alone"
    np.savetxt("y.txt", y, fmt="%s")
    result = json.loads(
        succeed(run, "fit X.npy --labels y.txt --bits 16 --held-out last:12 -o m.kin --codes d.kin --json")
    )
    model, codes, X = kinhash.load("m.kin"), load_codes("d.kin"), np.load("X.npy")
    assert result["codes_note"] == " (learned; mapped for 1 of the held-out rows)"
    np.testing.assert_array_equal(codes.packed[-1:], model.encode(X[-1:]).packed)
    np.testing.assert_array_equal(codes.packed[-12:-1], model.learned_codes(y[-12:-1], X[-12:-1]).packed)
    with pytest.raises(InvalidInput, match="does not know 1 of the labels, 'alone' among them"):
        model.learned_codes(["alone"], X[-1:])


def test_nothing_kept_out_when_asked(run: Run, folder: Path) -> None:
    result = json.loads(succeed(run, "fit X.npy --labels y.txt --held-out 0 -o m.kin --json"))
    assert result["verdict"] is None
    assert result["training_rows"] == 120
    assert "no verdict" in succeed(run, "fit X.npy --labels y.txt --held-out 0 -o m.kin")


def test_tags_pairs_and_tables(run: Run, folder: Path) -> None:
    tags = json.loads(succeed(run, "fit X.npy --tags tags.txt --bits 8 -o t.kin --json"))
    assert "shared tag" in tags["verdict"]["protocol"]
    assert {"exact", "Jaccard", "nDCG"} <= set(tags["verdict"]["lines"][0])
    pairs = json.loads(succeed(run, "fit X.npy --pairs pairs.csv --bits 8 -o p.kin --json"))
    assert pairs["verdict"]["metric"] == "ROC AUC"
    assert pairs["verdict"]["lines"][1]["score"] > 0.9
    table = "fit table.csv --label-column kind --id-column name --bits 8 -o c.kin --codes d.kin --json"
    assert json.loads(succeed(run, table))["columns"] == 6
    assert load_codes("d.kin").ids.tolist()[:2] == ["item 0", "item 1"]
    # The same table is read by the column names the model knows, in whatever order they stand.
    succeed(run, "encode c.kin table.csv --id-column name -o by_name.kin")
    np.testing.assert_array_equal(
        load_codes("by_name.kin").packed, kinhash.load("c.kin").encode(np.load("X.npy"))
    )
    pandas = pytest.importorskip("pandas")
    turned = pandas.read_csv("table.csv").iloc[:, ::-1]
    turned.to_csv("turned.csv", index=False)
    succeed(run, "encode c.kin turned.csv -o turned.kin")
    np.testing.assert_array_equal(load_codes("turned.kin").packed, load_codes("by_name.kin").packed)


def write_every_format(folder: Path, X: np.ndarray) -> list[str]:
    np.save(folder / "fortran.npy", np.asfortranarray(X))
    np.save(folder / "double.npy", X.astype(np.float64))
    np.savez(folder / "one.npz", X=X)
    sp.save_npz(folder / "sparse.npz", sp.csr_matrix(X))
    np.savetxt(folder / "plain.csv", X.astype(np.float64), delimiter=",", fmt="%.17g")
    np.savetxt(folder / "plain.tsv", X.astype(np.float64), delimiter="\t", fmt="%.17g")
    from sklearn.datasets import dump_svmlight_file

    dump_svmlight_file(X.astype(np.float64), np.zeros(len(X)), str(folder / "plain.svm"), zero_based=False)
    names = ["fortran.npy", "double.npy", "one.npz", "sparse.npz", "plain.csv", "plain.tsv", "plain.svm"]
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        return names
    columns = {f"c{k}": X[:, k] for k in range(X.shape[1])}
    pyarrow.parquet.write_table(pyarrow.table(columns), folder / "plain.parquet")
    pyarrow.parquet.write_table(pyarrow.table({"v": list(X)}), folder / "lists.parquet")
    return [*names, "plain.parquet", "lists.parquet"]


def test_every_format_gives_the_codes_of_the_array(run: Run, folder: Path) -> None:
    X, _ = three_classes(300, seed=5)
    expected = kinhash.load("model.kin").encode(X)
    for name in write_every_format(folder, X):
        succeed(run, f"encode model.kin {name} -o c.kin")
        codes = load_codes("c.kin")
        np.testing.assert_array_equal(codes.packed, expected, err_msg=name)
        assert codes.n_bits == 16
        assert codes.model_id == kinhash.load("model.kin").model_id_
    succeed(run, "encode model.kin double.npy -o c.npy")
    np.testing.assert_array_equal(np.load("c.npy"), expected)


def test_blocks_and_pipes_give_the_same_codes(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kinhash.cli import features

    X = np.load("X.npy")
    expected = kinhash.load("model.kin").encode(X)
    monkeypatch.setattr(features, "BLOCK_ROWS", 7)
    content = io.BytesIO()
    np.save(content, X)
    text = "\n".join(",".join(map(repr, row)) for row in X.astype(np.float64).tolist()).encode()
    for piped in (content.getvalue(), text):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(piped)))
        succeed(run, "encode model.kin - -o c.kin")
        np.testing.assert_array_equal(load_codes("c.kin").packed, expected)


@pytest.mark.parametrize(
    "kind", ["constant", "duplicate", "few", "huge", "tiny", "half", "integers", "missing"]
)
def test_odd_but_sound_input_works(kind: str, run: Run, folder: Path) -> None:
    X, y = three_classes(120)
    labels = [f"class-{k}" for k in y]
    if kind == "constant":
        X[:, 2] = 7
    elif kind == "duplicate":
        X = X[np.arange(120) % 9]
    elif kind == "few":
        X, labels = X[:30], labels[:30]
    elif kind in ("huge", "tiny"):
        X = X.astype(np.float64) * (1e30 if kind == "huge" else 1e-30)
    elif kind == "half":
        X = X.astype(np.float16)
    elif kind == "integers":
        X = np.round(X * 10).astype(np.int16)
    else:
        labels[5] = labels[17] = ""
    np.save("X.npy", X)
    Path("y.txt").write_text("\n".join(labels) + "\n")
    for bits in (1, 64):
        out = run(*f"fit X.npy --labels y.txt --bits {bits} -o m.kin --codes d.kin --json".split())
        assert out.code == 0, out.err
        scores = [line["score"] for line in json.loads(out.out)["verdict"]["lines"]]
        assert all(score is not None and 0 <= score <= 1 for score in scores)
        assert len(load_codes("d.kin")) == len(X)


def test_wide_and_sparse_features_are_judged_like_dense_ones(run: Run, folder: Path) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = sp.random(90, 1500, 0.02, random_state=1, format="csr") + sp.csr_matrix(
        (np.ones(90), (np.arange(90), y * 10)), shape=(90, 1500)
    )
    sp.save_npz("wide.npz", sp.csr_matrix(X))
    np.save("wide.npy", X.toarray())
    Path("y.txt").write_text("\n".join(map(str, y)) + "\n")
    found = []
    for name in ("wide.npz", "wide.npy"):
        out = succeed(run, f"fit {name} --labels y.txt --bits 8 -o m.kin --json")
        found.append([line["score"] for line in json.loads(out)["verdict"]["lines"]])
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)
    assert rng is not None


def test_index_and_search_answer_like_brute_force(run: Run, folder: Path) -> None:
    succeed(run, "index db.kin -o i.kin")
    found = json.loads(succeed(run, "search i.kin queries.kin -k 4 --json"))["neighbors"]
    database, queries = load_codes("db.kin").repeated(), load_codes("queries.kin").repeated()
    for query, one in zip(queries, found, strict=True):
        distances = np.bitwise_count(database ^ query).sum(axis=1)
        order = np.lexsort((np.arange(120), distances))[:4]
        assert one["ids"] == order.tolist()
        assert one["distances"] == distances[order].tolist()
    by_features = json.loads(succeed(run, "search i.kin X.npy --model model.kin -k 4 --json"))["neighbors"]
    assert by_features == found
    within = json.loads(succeed(run, "search i.kin queries.kin --radius 0 --json"))["neighbors"]
    assert all(set(one["distances"]) <= {0} for one in within)
    of_codes = json.loads(succeed(run, "search db.kin queries.kin -k 4 --json"))["neighbors"]
    assert of_codes == found
    text = succeed(run, "search i.kin queries.kin -k 2")
    assert "order: distance, then id. 100 more queries" in text


def test_search_says_what_a_file_is_not(run: Run, folder: Path) -> None:
    assert "model.kin is a kinhash file of kind 'model'" in run("search", "model.kin", "queries.kin").err
    assert "X.npy is not a kinhash file" in run("search", "X.npy", "queries.kin").err


def test_ids_travel_with_the_rows(run: Run, folder: Path) -> None:
    Path("ids.txt").write_text("\n".join(f"item-{k:03d}" for k in range(120)) + "\n")
    succeed(run, "encode model.kin X.npy --ids ids.txt -o c.kin")
    succeed(run, "index c.kin -o i.kin")
    found = json.loads(succeed(run, "search i.kin c.kin -k 120 --json"))["neighbors"]
    assert found[7]["query"] == "item-007"
    assert "item-007" in found[7]["ids"]
    assert json.loads(succeed(run, "info c.kin --json"))["ids"] == "names"


def test_eval_is_the_metric(run: Run, folder: Path) -> None:
    from kinhash.metrics import mean_average_precision

    codes, y = load_codes("queries.kin"), np.loadtxt("y.txt", dtype=str)
    alone = json.loads(succeed(run, "eval queries.kin --labels y.txt --json"))
    assert alone["value"] == pytest.approx(mean_average_precision(codes, codes, y, y, exclude_self=True))
    assert alone["band"][0] <= alone["value"] <= alone["band"][1]
    both = json.loads(succeed(run, "eval queries.kin db.kin --labels y.txt --labels y.txt --top 5 --json"))
    assert both["value"] == pytest.approx(mean_average_precision(codes, load_codes("db.kin"), y, y, top=5))
    tagged = json.loads(succeed(run, "eval queries.kin --tags tags.txt --json"))
    assert 0 < tagged["value"] <= 1
    assert "ties: expected" in succeed(run, "eval queries.kin --labels y.txt")


def test_eval_with_features_is_the_metric_of_nearest_kin(run: Run, folder: Path) -> None:
    from kinhash.metrics import distinct_answers, near_kin

    codes, database = load_codes("queries.kin"), load_codes("db.kin")
    X, y = np.load("X.npy"), np.loadtxt("y.txt", dtype=str)
    two = "eval queries.kin db.kin --labels y.txt --labels y.txt"
    for words, near in (
        (f"{two} --features X.npy --features X.npy", near_kin(codes, database, y, y, X, X)),
        ("eval queries.kin --labels y.txt --features X.npy",
         near_kin(codes, codes, y, y, X, X, exclude_self=True)),
    ):  # fmt: skip
        found = json.loads(succeed(run, f"{words} --json"))
        answers = {line["name"]: line for line in found["answers"]}
        assert list(answers) == ["these codes", "float cosine", "classifier, true labels", "random order"]
        assert answers["these codes"]["near"] == pytest.approx(near.recall)
        assert answers["these codes"]["p10"] == pytest.approx(found["precision_at_10"])
        assert answers["classifier, true labels"]["p10"] > 0.9 > answers["random order"]["p10"]
        assert (found["distinct_answers"], found["distinct_answers_of"]) == (near.distinct, 120)
    plain = json.loads(succeed(run, f"{two} --json"))
    assert plain["distinct_answers"] == distinct_answers(codes, database)
    assert [line["name"] for line in plain["answers"]] == ["these codes", "random order"]
    assert "near" not in plain["answers"][0]
    assert f"120 queries get {plain['distinct_answers']} different first tens" in succeed(run, two)


def test_info_describes_every_kind_of_file(run: Run, folder: Path) -> None:
    assert json.loads(succeed(run, "info model.kin --json"))["method"] == "EnergyHasher"
    assert json.loads(succeed(run, "info db.kin --json"))["rows"] == 120
    assert json.loads(succeed(run, "info index.kin --json"))["n_rows"] == 120
    fields = load_codes(folder / "db.kin").fields
    for file in ("model.kin", "db.kin", "queries.kin", "index.kin"):
        assert json.loads(succeed(run, f"info {file} --json"))["fields"] == fields.as_dict(), file
        assert f"alike={fields.alike}, kin_weight={fields.kin_weight}" in succeed(run, f"info {file}")
    assert "model id" in succeed(run, "info model.kin")
    succeed(run, "encode model.kin X.npy -o c.npy")
    said = run("info", "c.npy")
    assert "without digest" in said.out
    assert "carries no model id" in said.err


def test_every_method_can_be_named(run: Run, folder: Path) -> None:
    from kinhash.hashers.model_file import HASHERS

    for name in HASHERS:
        said = run(*f"fit X.npy --labels y.txt --method {name} --bits 4 -o m.kin --json".split())
        if not HASHERS[name].storable:  # said before anything is fitted
            assert said.code == 2
            assert "cannot be written to a file" in said.err
            continue
        assert said.code == 0, f"{name}: {said.err}"
        assert json.loads(run("info", "m.kin", "--json").out)["method"] == name


def test_the_demo_prints_its_table_and_draws(run: Run, folder: Path) -> None:
    pytest.importorskip("matplotlib")
    out = succeed(run, "demo --bits 32 -o demo.png")
    for word in (
        "learned database",
        "mapped database",
        "float cosine",
        "sign bits",
        "LSH",
        "Protocol",
        "Try next",
    ):
        assert word in out
    from PIL import Image

    with Image.open("demo.png") as picture:
        assert picture.width > 800
        colors = {color for _, color in picture.convert("RGB").getcolors(1 << 24)}
    assert any(green > red + 60 for red, green, _ in colors)  # frames around kin
    assert any(red > green + 100 for red, green, _ in colors)  # crosses over strangers
    assert Path("demo.png").stat().st_size < 200_000
    result = json.loads(succeed(run, "demo --bits 8 -o demo.png --json"))
    scores = {line["name"]: line["score"] for line in result["verdict"]["lines"]}
    assert scores["codes, mapped database"] > scores["float cosine"] > scores["LSH"]


def test_help_of_every_command_has_an_example(run: Run) -> None:
    from kinhash.cli import COMMANDS
    from kinhash.cli import kinhash as group

    listed = succeed(run, "--help")
    for name, (_, line) in COMMANDS.items():
        assert line in " ".join(listed.split())
        command = group.get_command(None, name)
        names = [f"{name} {sub}" for sub in command.commands] if hasattr(command, "commands") else [name]
        for each in names:
            text = succeed(run, f"{each} --help")
            assert f"  kinhash {each} " in text or f"  kinhash {each}\n" in text
            assert "--json" in text


def test_help_imports_next_to_nothing() -> None:
    program = (
        "import sys\nfrom kinhash.cli import main\ntry:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(sorted(set(sys.modules) & {'numpy', 'scipy', 'sklearn', 'numba', 'rich', 'matplotlib'}))"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[-1] == "[]"


def test_completion_knows_the_commands(folder: Path) -> None:
    import os

    words = {"_KINHASH_COMPLETE": "bash_complete", "COMP_WORDS": "kinhash e", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "kinhash"],
        env={**os.environ, **words},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["plain,encode", "plain,explore", "plain,export", "plain,eval"]


def test_python_dash_m_is_the_same_command(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kinhash", "info", "db.kin", "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["kind"] == "codes"
    assert done.stderr == ""


def test_a_closed_pipe_is_no_error(folder: Path) -> None:
    command = f"{sys.executable} -m kinhash search index.kin queries.kin --all | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("query")
    assert done.stderr == ""


def test_eval_of_learned_codes_says_that_it_flatters(run: Run, folder: Path) -> None:
    """Codes of `fit --codes` know that labels made them; codes of `encode` carry no such mark."""
    said = run("eval", "db.kin", "--labels", "y.txt")
    assert said.code == 0
    assert "db.kin holds learned codes" in said.err
    assert run("eval", "queries.kin", "--labels", "y.txt").err == ""
    assert run("eval", "queries.kin", "db.kin", "--labels", "y.txt", "--labels", "y.txt").err == ""
    assert json.loads(run("info", "db.kin", "--json").out)["learned"] is True
    assert json.loads(run("info", "queries.kin", "--json").out)["learned"] is False


def test_codes_of_a_method_that_only_maps_are_not_called_learned(run: Run, folder: Path) -> None:
    said = run(
        "fit",
        "X.npy",
        "--labels",
        "y.txt",
        "--method",
        "ITQ",
        "--bits",
        "4",
        "-o",
        "itq.kin",
        "--codes",
        "c.kin",
    )
    assert "written to c.kin (mapped)" in said.out
    assert run("eval", "c.kin", "--labels", "y.txt").err == ""


def test_info_says_what_another_machine_changes(run: Run, folder: Path) -> None:
    assert "fitted again on another machine, the model may differ" in run("info", "model.kin").out


def test_classes_are_scored_one_by_one_worst_first(run: Run, folder: Path) -> None:
    fitted = json.loads(succeed(run, "fit X.npy --labels y.txt --bits 16 -o m.kin --codes db.kin --json"))
    scored = json.loads(run("eval", "db.kin", "--labels", "y.txt", "--json").out)
    for labels in (fitted["verdict"]["by_label"], scored["by_label"]):
        scores = [one["score"] for one in labels]
        assert len(scores) > 1
        assert scores == sorted(scores)
    counts = [one["queries"] for one in fitted["verdict"]["by_label"]]
    assert sum(counts) == fitted["verdict"]["queries"]


def test_float_queries(run: Run, folder: Path) -> None:
    """A model with alike bits: its margins count, and only where there is a model."""
    hasher = load("model.kin")
    hasher.adopt(replace(hasher.fitted_, fields=BitLayout(6, 4), labels=None)).save("fields.kin")
    X = np.load("X.npy")
    index = HammingIndex.from_codes(hasher.encode(X))
    index.save("i.kin")
    for floats in ("both", "kin", "alike"):
        said = succeed(run, f"search i.kin X.npy --model fields.kin --floats {floats} -k 4 --json")
        found = json.loads(said)["neighbors"]
        expected = hasher.search(index, X, 4, floats=floats)
        assert [row["ids"] for row in found] == expected.ids.tolist()
        assert [row["distances"] for row in found] == expected.distances.tolist()
    said = run("search", "i.kin", "X.npy", "--floats", "kin")
    assert said.code == 2
    assert "--floats needs --model" in said.err
    assert "kin_weight=4" in succeed(run, "info i.kin")


def test_search_takes_a_filter_as_text(run: Run, folder: Path) -> None:
    codes = load_codes("db.kin")
    payload = {"year": np.arange(120) + 1900, "tags": [["old"] if i < 50 else [] for i in range(120)]}
    HammingIndex.from_codes(codes, payload=payload).save("films.kin")
    where = "year >= 1940 and 'old' in tags"
    for how in ("-k 99", "--radius 999"):
        said = run("search", "films.kin", "queries.kin", *how.split(), "--where", where, "--json")
        assert said.code == 0, said.err
        for one in json.loads(said.out)["neighbors"]:
            assert sorted(one["ids"]) == list(range(40, 50))
        assert (json.loads(said.out)["rows"], json.loads(said.out)["passed"]) == (120, 10)
    said = run("search", "films.kin", "queries.kin", "--where", where)
    assert "Searched the 10 of 120 rows that pass the filter; order" in said.out
    assert (
        "Nothing was found. Searched the 0 of 120 rows"
        in run("search", "films.kin", "queries.kin", "--where", "year > 3000").out
    )
    assert "Searched 120 rows; order" in run("search", "films.kin", "queries.kin").out
    said = run("search", "films.kin", "queries.kin", "--where", "year >> 1940")
    assert (said.code, said.out) == (2, "")
    assert "character 7, '> 1940'" in said.err
    assert "no payload" in run("search", "db.kin", "queries.kin", "--where", "year > 1").err
