"""A Parquet file of embeddings with labels and ids goes through every command as it is."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import kinhash
from kinhash.codes.codes_file import load_codes

from .conftest import Run, three_classes

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

N = 120
LISTS = {
    "list": lambda X: arrow.array(X.tolist(), arrow.list_(arrow.float32())),
    "large_list": lambda X: arrow.array(X.tolist(), arrow.large_list(arrow.float64())),
    "fixed_size_list": lambda X: arrow.array(X.tolist(), arrow.list_(arrow.float32(), X.shape[1])),
}


def ids_of(n: int) -> list[str]:
    return [f"3f2504e0-4f89-11d3-9a0c-{k:012d}" for k in range(n)]


def write(path: Path, **columns: object) -> None:
    parquet.write_table(arrow.table(columns), path, row_group_size=50)


@pytest.mark.parametrize("kind", LISTS)
@pytest.mark.parametrize("named", [True, False])
def test_fit_encode_index_and_search(kind: str, named: bool, run: Run, folder: Path) -> None:
    """The same model as from .npy and .txt, whether the columns are named or found."""
    X, y = three_classes(N)
    write(
        folder / "rows.parquet",
        id=ids_of(N), price=np.arange(N) * 1e6, label=[f"class-{k}" for k in y], embedding=LISTS[kind](X),
    )  # fmt: skip
    words = "--features embedding --labels label --ids id" if named else "--leave-out price"
    said = run(
        "fit",
        "rows.parquet",
        *words.split(),
        *["--bits", "16", "-o", "p.kin", "--codes", "p_db.kin", "--json"],
    )
    assert said.code == 0, said.err
    assert json.loads(said.out)["model_id"] == kinhash.load(folder / "model.kin").model_id_
    assert load_codes(folder / "p_db.kin").ids.tolist() == ids_of(N)
    words = "--features embedding --ids id" if named else ""
    assert run("encode", "p.kin", "rows.parquet", *words.split(), "-o", "p_codes.kin").code == 0
    codes = load_codes(folder / "p_codes.kin")
    np.testing.assert_array_equal(codes.packed, kinhash.load("model.kin").encode(X).packed)
    assert codes.ids.tolist() == ids_of(N)
    bare = "bare.kin"
    assert run("encode", "p.kin", "X.npy", "-o", bare).code == 0
    assert run("index", bare, "--ids", "rows.parquet", "-o", "p_index.kin").code == 0
    found = json.loads(run("search", "p_index.kin", "rows.parquet", "--model", "p.kin", "--json").out)
    assert found["neighbors"][0]["ids"][0].startswith("3f2504e0")
    assert run("eval", "p_codes.kin", "--labels", "rows.parquet", "--label-column", "label").code == 0


def test_advise_finds_the_columns(run: Run, folder: Path) -> None:
    X, y = three_classes(N)
    write(folder / "rows.parquet", id=np.arange(N), label=y, embedding=LISTS["list"](X))
    quick = ["--bits", "8", "--splits", "1", "--json"]
    mine = json.loads(run("advise", "rows.parquet", *quick).out)
    theirs = json.loads(run("advise", "X.npy", "--labels", "y.txt", *quick).out)
    assert mine["recommendation"] == theirs["recommendation"]


@pytest.mark.parametrize("tags", ["lists", "text"])
def test_tags_in_a_column(tags: str, run: Run, folder: Path) -> None:
    X, _ = three_classes(N)
    rows = [line.split(";") for line in (folder / "tags.txt").read_text().splitlines()]
    column = rows if tags == "lists" else [";".join(row) for row in rows]
    write(folder / "rows.parquet", key=np.arange(N), tags=column, embedding=LISTS["list"](X))
    words = ["--tags", "tags", "--bits", "16", "--json", "-o"]
    mine = json.loads(run("fit", "rows.parquet", *words, "a.kin").out)
    theirs = json.loads(run("fit", "X.npy", "--tags", "tags.txt", *words[2:], "b.kin").out)
    assert mine["model_id"] == theirs["model_id"]
    assert mine["columns"] == 6


def test_a_name_that_is_no_file_is_a_column_of_a_csv_too(run: Run, folder: Path) -> None:
    words = [
        "table.csv",
        "--labels",
        "kind",
        "--ids",
        "name",
        "--bits",
        "16",
        "-o",
        "a.kin",
        "--codes",
        "a_db.kin",
        "--json",
    ]
    said = run("fit", *words)
    assert said.code == 0, said.err
    assert json.loads(said.out)["columns"] == 6
    assert load_codes(folder / "a_db.kin").ids[0] == "item 0"


def test_two_columns_that_could_be_meant_are_asked_about(run: Run, folder: Path) -> None:
    X, y = three_classes(N)
    lists = LISTS["list"](X)
    write(folder / "two.parquet", a=lists, b=lists, label=y)
    said = run("fit", "two.parquet", "-o", "a.kin")
    assert said.code == 2
    assert "several columns of lists" in said.err
    write(folder / "vague.parquet", a=lists, color=y, shape=y)
    said = run("fit", "vague.parquet", "-o", "a.kin")
    assert said.code == 2
    assert "--label-column" in said.err
