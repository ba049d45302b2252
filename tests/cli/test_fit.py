"""`kinhash fit`: every kind of knowledge is learned, judged on held-out rows, and written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kinhash
from kinhash import EnergyHasher, load_codes

from .conftest import Run, done, say, succeed, three_classes

FIT = "fit X.npy --labels y.txt --bits 16 -o m.kin --codes d.kin"
pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")


def write(path: str, *columns: np.ndarray, header: str = "") -> str:
    lines = [",".join(f"{value:g}" for value in row) for row in np.stack(columns, axis=1)]
    Path(path).write_text("\n".join([header, *lines] if header else lines) + "\n")
    return path


def ways(name: str) -> str:
    """Files of every kind of knowledge, as options."""
    y, rng = three_classes(120)[1], np.random.default_rng(0)
    i, j = rng.integers(0, 120, (2, 1500))
    i, j = i[i != j], j[i != j]
    s = np.where(y[i] == y[j], 1, -1)
    if name == "clicks":
        return "--clicks " + write("p.csv", i[s > 0], j[s > 0])
    if name == "verdicts":
        return "--pairs " + write("p.csv", i, j, s, header="left,right,verdict")
    if name == "grades and weights":
        return "--pairs " + write("p.csv", i, j, s * rng.uniform(0.1, 0.9, len(s)), rng.random(len(s)))
    if name == "npy":
        np.save("p.npy", np.stack([i, j, s], axis=1))
        return "--pairs p.npy"
    if name == "triplets":
        a, b, c = rng.integers(0, 120, (3, 4000))
        keep = (y[a] == y[b]) & (y[a] != y[c]) & (a != b)
        return "--triplets " + write("t.csv", a[keep], b[keep], c[keep], header="anchor,nearer,further")
    if name == "similarity":
        np.save("S.npy", np.where(y[:, None] == y, 1.0, -0.5))
        return "--similarity S.npy"
    if name == "labels beside pairs":
        some = [f"class-{k}" if n < 40 else "" for n, k in enumerate(y)]
        Path("some.txt").write_text("\n".join(some) + "\n")
        return f"{ways('verdicts')} --labels some.txt"
    if name == "tree":
        names = [f"{'low' if k < 2 else 'high'}/{k}" for k in y]
        Path("paths.txt").write_text("\n".join(names) + "\n")
        return "--tree paths.txt"
    return {"labels": "--labels y.txt", "tags": "--tags tags.txt", "nothing": ""}[name]


ROWS = ["labels", "tags", "tree", "nothing"]
LINKS = ["clicks", "verdicts", "grades and weights", "npy", "triplets", "labels beside pairs"]


@pytest.mark.parametrize("name", [*ROWS, *LINKS])
def test_every_kind_is_learned_judged_and_written(name: str, run: Run, folder: Path) -> None:
    result = done(run, f"fit X.npy {ways(name)} --bits 16 -o m.kin --codes d.kin")
    verdict = result["verdict"]
    assert verdict["searches"][0]["bytes_per_item"] == 2
    names = [line["name"] for line in verdict["searches"]]
    assert {"float cosine", "OPQ"} <= {name.split(",")[0] for name in names}
    assert verdict["sentences"]
    codes, model, X = load_codes("d.kin"), kinhash.load("m.kin"), np.load("X.npy")
    assert (len(codes), codes.n_bits, codes.model_id) == (120, 16, result["model_id"])
    assert result["training_rows"] == (108 if name in ROWS else 120)
    mapped = ~np.broadcast_to(codes.learned, len(codes))
    np.testing.assert_array_equal(codes.packed[mapped], model.encode(X).packed[mapped])
    assert mapped.all() == (name in ("nothing", *LINKS[:5]))


def test_the_model_is_the_one_of_the_library_and_rows_held_out_get_codes_of_their_labels(
    run: Run, folder: Path
) -> None:
    result = done(run, f"{FIT} --held-out last:12 --seed 3 --trust 0.7 --looks 0.3")
    X, y = np.load("X.npy"), np.loadtxt("y.txt", dtype=str)
    ours = EnergyHasher(16, trust=0.7, looks=0.3, random_state=3).fit(X[:108], y[:108])
    codes, model = load_codes("d.kin"), kinhash.load("m.kin")
    assert ours.model_id_ == model.model_id_ == result["model_id"]
    np.testing.assert_array_equal(codes.packed[:108], ours.codes_.packed)
    np.testing.assert_array_equal(codes.packed[108:], model.learned_codes(X[108:], y[108:]).packed)
    assert np.all(codes.learned)
    assert result["learned_codes"] == 120


def test_a_label_that_no_row_of_the_fit_has_is_mapped(run: Run, folder: Path) -> None:
    y = np.loadtxt("y.txt", dtype=str)
    y[-1] = "alone"
    np.savetxt("y.txt", y, fmt="%s")
    assert done(run, f"{FIT} --held-out last:12")["learned_codes"] == 119
    codes, model, X = load_codes("d.kin"), kinhash.load("m.kin"), np.load("X.npy")
    assert codes.learned.tolist() == [True] * 119 + [False]
    np.testing.assert_array_equal(codes.packed[-1:], model.encode(X[-1:]).packed)


def test_the_text_has_the_table_and_what_was_written(run: Run, folder: Path) -> None:
    text = succeed(run, FIT)
    for word in ("120 rows × 6 columns, 3 classes (class-0, ", "float cosine", "written to m.kin", "d.kin"):
        assert word in text
    text = succeed(run, f"{FIT} --held-out 0")
    assert "There is no comparison: 0 rows were held out." in text


def test_several_lengths_print_a_table_and_write_nothing(run: Run, folder: Path) -> None:
    before = set(folder.iterdir())
    result = done(run, "fit X.npy --labels y.txt --bits 8,16")
    assert [line["name"] for line in result["verdict"]["searches"]][:2] == ["8 bits", "16 bits"]
    assert set(folder.iterdir()) == before
    for more in ("--pairs pairs.csv", "--view a=X.npy", "-o m.kin"):
        assert say(run, f"fit X.npy --labels y.txt --bits 8,16 {more}").code == 2


@pytest.mark.parametrize("ids", ["", "row 5\n" * 2 + "x\n" * 118, "1\n" * 120])
def test_ids_that_are_not_unique_are_refused_before_the_fit(ids: str, run: Run, folder: Path) -> None:
    Path("ids.txt").write_text(ids or "".join(f"{k}\n" for k in [*range(119), 7]))
    said = run(*FIT.split(), "--ids", "ids.txt")
    assert said.code == 2
    assert "twice, in rows" in said.err
    assert not Path("m.kin").exists()


def test_columns_of_a_table(run: Run, folder: Path) -> None:
    plain = done(run, FIT)["model_id"]
    for words in (
        "table.csv --labels :kind --ids :name",
        "table.csv --labels table.csv:kind --ids table.csv:name",
        "table.csv:f0,f1,f2,f3,f4,f5 --labels :kind --ids :name",
        "table.csv:-name,-kind --labels y.txt --ids :name",
    ):
        result = done(run, f"fit {words} --bits 16 -o c.kin --codes cd.kin")
        assert (result["model_id"], result["columns"]) == (plain, 6), words
        assert load_codes("cd.kin").ids.tolist()[:2] == ["item 0", "item 1"]
    assert "Features: f0, f1" in result["read"]
    said = say(run, "fit table.csv --labels :kind -o c.kin")
    assert "table.csv:-COLUMN" in said.err, "a column of text is no feature"


def test_parquet_of_embeddings(run: Run, folder: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    X, y = three_classes(120)
    tags = [line.split(";") for line in Path("tags.txt").read_text().splitlines()]
    columns = {"id": [f"u{k}" for k in range(120)], "price": np.arange(120) * 1e6, "tags": tags}
    lists = arrow.array(X.tolist(), arrow.list_(arrow.float32()))
    table = arrow.table({**columns, "label": [f"class-{k}" for k in y], "embedding": lists})
    parquet.write_table(table, "rows.parquet", row_group_size=50)
    plain = done(run, FIT)["model_id"]
    for features in ("rows.parquet", "rows.parquet:embedding"):
        result = done(run, f"fit {features} --labels :label --ids :id --bits 16 -o p.kin --codes pd.kin")
        assert result["model_id"] == plain
        assert load_codes("pd.kin").ids.tolist() == columns["id"]
    by_tags = done(run, "fit X.npy --tags tags.txt --bits 16 -o t.kin")["model_id"]
    assert done(run, "fit rows.parquet --tags :tags --bits 16 -o t.kin")["model_id"] == by_tags
    parquet.write_table(arrow.table({"a": lists, "b": lists}), "two.parquet")
    said = run("fit", "two.parquet", "-o", "a.kin")
    assert (said.code, "several columns of lists" in said.err) == (2, True)


def test_views_are_judged_in_both_directions_and_encode(run: Run, folder: Path) -> None:
    X = np.load("X.npy")
    texts = (X @ np.random.default_rng(2).normal(size=(6, 9))).astype(np.float32)
    np.save("T.npy", texts)
    result = done(run, f"{FIT} --view text=T.npy")
    (view,) = result["views"]
    names = [line["name"] for line in view["searches"]]
    assert {"first view → text", "text → first view"} <= set(names)
    model = kinhash.load("m.kin")
    done(run, "encode m.kin:text T.npy -o t.kin")
    np.testing.assert_array_equal(load_codes("t.kin").packed, model.encode(texts, view="text").packed)
    ours = done(run, "search d.kin t.kin -k 5")["neighbors"]
    assert done(run, "search d.kin T.npy --model m.kin:text -k 5")["neighbors"] == ours
    assert done(run, "info m.kin")["views"] == {"text": "9 columns"}
    done(run, "fit X.npy --pairs pairs.csv --view text=T.npy --bits 16 -o n.kin")
    assert done(run, "fit X.npy --view text=T.npy --bits 16 -o n.kin")["views"]
    for words, says in (
        ("--view text", "pass NAME=FILE"),
        ("--view a=X.npy --view a=X.npy", "each name once"),
        ("--view a=few.npy", "7 rows in few.npy came with"),
        ("--view a.b=X.npy", "a.b"),
    ):
        np.save("few.npy", X[:7])
        assert says in say(run, f"fit X.npy {words} -o x.kin").err
    assert "Did you mean 'text'?" in say(run, "encode m.kin:texts T.npy -o t.kin").err


@pytest.mark.parametrize("kind", ["constant", "few", "huge", "tiny", "half", "integers", "missing", "sparse"])
def test_odd_but_sound_input_works(kind: str, run: Run, folder: Path) -> None:
    X, y = three_classes(120)
    labels = [f"class-{k}" for k in y]
    if kind == "constant":
        X[:, 2] = 7
    elif kind == "few":
        X, labels = X[:30], labels[:30]
    elif kind in ("huge", "tiny"):
        X = X.astype(np.float64) * (1e30 if kind == "huge" else 1e-30)
    elif kind == "half":
        X = X.astype(np.float16)
    elif kind == "integers":
        X = np.round(X * 10).astype(np.int16)
    elif kind == "missing":
        labels[5], labels[17] = "", "NaN"
    name = "X.npy"
    if kind == "sparse":
        from sklearn.datasets import dump_svmlight_file

        name = "X.svm"
        dump_svmlight_file(X.astype(np.float64), y, name, zero_based=False)
    np.save("X.npy", X)
    Path("y.txt").write_text("\n".join(labels) + "\n")
    for bits in (1, 64):
        said = say(run, f"fit {name} --labels y.txt --bits {bits} -o m.kin --codes d.kin --json")
        assert said.code == 0, said.err
        assert len(load_codes("d.kin")) == len(X)


def test_a_column_like_an_id_and_missing_words_are_warned_of(run: Run, folder: Path) -> None:
    rows = [f"{k},{x:.3f},{y:.3f}" for k, (x, y) in enumerate(np.load("X.npy")[:, :2].tolist())]
    Path("ids.csv").write_text("\n".join(["number,a,b", *rows]) + "\n")
    Path("y.txt").write_text("\n".join(["NA", *["a", "b"] * 59, "a"]) + "\n")
    said = say(run, "fit ids.csv --labels y.txt --bits 8 -o m.kin")
    assert "Column 'number' holds whole numbers that ascend" in said.err
    assert "'NA' (1 times) is read as an unknown label" in said.err
    assert "1 row without a label" in said.out
