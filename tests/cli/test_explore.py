"""`kinhash explore`: from files to a page, and what it says when they do not fit."""

from __future__ import annotations

import json

import numpy as np
import pytest

from kinhash import load_codes
from kinhash.index import HammingIndex


def test_from_files_to_a_page(run, folder):
    texts = [f"item {k}" for k in range(120)]
    (folder / "texts.txt").write_text("\n".join(texts) + "\n")
    done = run(
        "explore", "index.kin", "--labels", "y.txt", "--text", "texts.txt", "-o", "page.html", "--json"
    )
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told["rows"] == 120
    assert told["labels"] == 3
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "item 119" in page
    assert len(page.encode()) == told["bytes"]
    again = run(
        "explore",
        "db.kin",
        "--labels",
        "y.txt",
        "--text",
        "texts.txt",
        "--title",
        "index.kin",
        "-o",
        "again.html",
    )
    assert again.code == 0, again.err
    assert "needs no network" in again.out
    assert (folder / "again.html").read_text(encoding="utf-8") == page  # codes or an index: the same page


def test_model_and_features_and_tags(run, folder):
    done = run(
        "explore",
        "db.kin",
        "--tags",
        "tags.txt",
        "--model",
        "model.kin",
        "--features",
        "X.npy",
        "-o",
        "p.html",
        "--json",
    )
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert told["labels"] == 3
    assert told["probably_mislabeled"] is not None
    assert 'id="data-model-' in (folder / "p.html").read_text(encoding="utf-8")  # it encodes vectors


def test_columns_of_one_table(run, folder):
    learn = ["fit", "table.csv", "--label-column", "kind", "--leave-out", "name", "--bits", 16, "-o", "t.kin"]
    assert run(*learn, "--codes", "t-codes.kin").code == 0
    table = ["--model", "t.kin", "--features", "table.csv", "--label-column", "kind", "--text-column", "name"]
    done = run("explore", "t-codes.kin", *table, "-o", "p.html", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["labels"] == 3
    assert "item 119" in (folder / "p.html").read_text(encoding="utf-8")


def test_pictures_of_a_folder(run, folder):
    image = pytest.importorskip("PIL.Image")
    (folder / "pictures").mkdir()
    for row in range(120):
        image.new("L", (4, 4), row).save(folder / "pictures" / f"{row:04d}.png")
    done = run("explore", "db.kin", "--labels", "y.txt", "--pictures", "pictures", "-o", "p.html", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["pictures"] == 120


def test_a_sample_is_said(run, folder):
    done = run("explore", "db.kin", "--labels", "y.txt", "--rows", 30, "-o", "p.html")
    assert done.code == 0
    assert "30 rows (a sample of 120)" in done.out


def test_ids_of_an_index_name_the_rows(run, folder):
    names = [f"n{k:03d}" for k in np.random.default_rng(0).permutation(120)]
    (folder / "ids.txt").write_text("\n".join(names) + "\n")
    HammingIndex.from_codes(load_codes("db.kin"), ids=names).save("named.kin")
    refused = run("explore", "named.kin", "--labels", "y.txt", "-o", "p.html")
    assert refused.code == 2
    assert "--ids" in refused.err
    done = run("explore", "named.kin", "--labels", "y.txt", "--ids", "ids.txt", "-o", "p.html", "--json")
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--labels", "y.txt", "--tags", "tags.txt"], "not both"),
        (["--model", "model.kin"], "--features"),
        (["--label-column", "a"], "--labels"),
        (["--labels", "missing.txt"], "missing.txt"),
        (["--labels", "y.txt", "--pictures", "nowhere"], "no folder"),
        (["--rows", "60000"], "50000"),
    ],
)
def test_bad_words_are_refused_in_one_line(run, folder, words, said):
    done = run("explore", "db.kin", *words, "-o", "p.html")
    assert done.code == 2
    assert said in done.err
    assert done.err.count("\n") == 1
    assert not (folder / "p.html").exists()


def test_a_model_in_place_of_codes_is_named(run, folder):
    done = run("explore", "model.kin", "-o", "p.html")
    assert done.code == 2
    assert "is a model" in done.err


def test_a_page_never_takes_the_place_of_an_input(run, folder):
    done = run("explore", "db.kin", "--labels", "y.txt", "-o", "y.txt")
    assert done.code == 2
    assert "also an input" in done.err


def test_the_figure_comes_with_its_caveat(run, folder):
    said = run("explore", "db.kin", "--labels", "y.txt", "-o", "p.html")
    assert "This flatters: the kin bits seem to be made from these very labels." in said.out
    said = run("explore", "queries.kin", "--labels", "y.txt", "-o", "p.html")
    assert "Rows that the model was fitted on do better than new ones." in said.out
    said = run(*"explore db.kin --labels y.txt --model model.kin --features X.npy -o p.html".split())  # noqa: SIM905
    assert "This flatters" not in said.out
    assert "do better than new ones" in said.out
