"""`fit` says first what it has read, and speaks up where a file looks like a slip."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from .conftest import Run, three_classes

FIT = ["--bits", "16", "-o", "a.kin"]


def test_the_first_line_says_what_was_read(run: Run, folder: Path) -> None:
    said = run("fit", "X.npy", "--labels", "y.txt", *FIT)
    first = "120 rows × 6 columns, 3 classes, 40 to 40 rows each; first classes: class-0, class-1, class-2."
    assert said.out.splitlines()[0] == first
    assert json.loads(run("fit", "X.npy", "--labels", "y.txt", *FIT, "--json").out)["read"] == first
    said = run("fit", "X.npy", "--tags", "tags.txt", *FIT)
    assert said.out.startswith("120 rows × 6 columns, 3 tags, 1.3 a row; first tags: blue, red, round.\n")
    said = run("fit", "X.npy", "--pairs", "pairs.csv", *FIT)
    assert said.out.startswith("120 rows × 6 columns, 5")
    assert "pairs" in said.out.splitlines()[0]


def test_the_first_line_names_the_columns_of_a_table(run: Run, folder: Path) -> None:
    X, y = three_classes(60)
    heads = ["a", "b", "c", "d", "e", "f", "species", "number"]
    rows = [
        ",".join([*map(str, row), f"kind-{k}", str(i)]) for i, (row, k) in enumerate(zip(X, y, strict=True))
    ]
    (folder / "table.csv").write_text("\n".join([",".join(heads), *rows]) + "\n")
    words = ["--label-column", "species", "--leave-out", "number", "--leave-out", "f", *FIT]
    first = run("fit", "table.csv", *words).out.splitlines()[0]
    assert first.endswith(" Features: a, b, c, d, e; not used as features: f, species, number.")
    many = np.random.default_rng(0).normal(size=(60, 11)).round(3)
    (folder / "wide.csv").write_text(
        "\n".join([",".join(f"x{j}" for j in range(11)), *(",".join(map(str, row)) for row in many)]) + "\n"
    )
    (folder / "y.txt").write_text("\n".join(f"class-{k}" for k in y) + "\n")
    first = run("fit", "wide.csv", "--labels", "y.txt", *FIT).out.splitlines()[0]
    assert first.endswith(" Features: x0, x1, x2, x3, x4, x5, x6, x7 and 3 more; not used as features: none.")


def test_columns_without_names_are_not_named(run: Run, folder: Path) -> None:
    lines = (folder / "table.csv").read_text().splitlines()[1:]
    (folder / "nohead.csv").write_text("\n".join(",".join(line.split(",")[1:-1]) for line in lines) + "\n")
    for more in ([], ["--no-header"]):
        first = run("fit", "nohead.csv", "--labels", "y.txt", *more, *FIT).out.splitlines()[0]
        assert first.startswith("120 rows × 6 columns, 3 classes")
        assert "eatures" not in first


def test_the_first_line_names_the_column_of_lists(run: Run, folder: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    X, y = three_classes(60)
    table = pa.table({"place": [f"p{i}" for i in range(60)], "vector": X.tolist(), "label": y.tolist()})
    parquet.write_table(table, folder / "rows.parquet")
    first = run("fit", "rows.parquet", "--labels", "label", *FIT).out.splitlines()[0]
    assert first.endswith(" Features: vector; not used as features: place, label.")


def test_unknown_rows_are_counted(run: Run, folder: Path) -> None:
    lines = (folder / "y.txt").read_text().splitlines()
    (folder / "y.txt").write_text("\n".join(["", "", *lines[2:]]) + "\n")
    assert "; 2 rows without a label;" in run("fit", "X.npy", "--labels", "y.txt", *FIT).out


@pytest.mark.parametrize("mark", [",", "|"])
@pytest.mark.parametrize("command", ["fit", "advise"])
def test_tags_parted_by_something_else_are_refused(mark: str, command: str, run: Run, folder: Path) -> None:
    text = (folder / "tags.txt").read_text().replace("red", "red;warm").replace(";", mark)
    (folder / "tags.txt").write_text(text)
    words = FIT if command == "fit" else ["--bits", "8", "--splits", "1"]
    said = run(command, "X.npy", "--tags", "tags.txt", *words)
    assert said.code == 2
    assert f"hold '{mark}'" in said.err
    assert f"--tag-separator '{mark}'" in said.err
    assert run(command, "X.npy", "--tags", "tags.txt", "--tag-separator", mark, *words).code == 0
    if command == "fit":  # asked for by name, it is as it should be
        assert run(command, "X.npy", "--tags", "tags.txt", "--tag-separator", ";", *words).code == 0


def test_a_csv_of_tags_parted_by_commas_says_how(run: Run, folder: Path) -> None:
    (folder / "tags.csv").write_text((folder / "tags.txt").read_text().replace(";", ","))
    said = run("fit", "X.npy", "--tags", "tags.csv", *FIT)
    assert said.code == 2
    assert "--tag-separator" in said.err


@pytest.mark.parametrize("mark", [";", "|", ","])
def test_classes_that_are_several_tags_are_noticed(mark: str, run: Run, folder: Path) -> None:
    lines = ["red", f"blue{mark}round", "round", f"blue{mark}red"] * 30
    (folder / "y.txt").write_text("\n".join(lines) + "\n")
    said = run("fit", "X.npy", "--labels", "y.txt", *FIT)
    assert said.code == 0
    assert "60 classes in y.txt look like several tags" in said.err
    assert f"--tag-separator '{mark}'" in said.err


def test_eval_notices_them_too(run: Run, folder: Path) -> None:
    np.save("codes.npy", np.arange(120, dtype=np.uint8)[:, None])
    (folder / "y.txt").write_text("\n".join(["red", "blue;round", "round", "blue;red"] * 30) + "\n")
    said = run("eval", "codes.npy", "--labels", "y.txt")
    assert said.code == 0, said.err
    assert "60 classes in y.txt look like several tags" in said.err


def test_names_with_a_comma_are_classes(run: Run, folder: Path) -> None:
    (folder / "y.txt").write_text("\n".join(["Paris, France", "Lyon, France", "Rome, Italy"] * 40) + "\n")
    assert "Warning" not in run("fit", "X.npy", "--labels", "y.txt", *FIT).err


def odd_table(folder: Path, extra: np.ndarray, name: str) -> None:
    X, y = three_classes(120)
    lines = [",".join([name, *(f"f{k}" for k in range(6)), "kind"])]
    lines += [",".join(map(str, [extra[n], *X[n].tolist(), y[n]])) for n in range(120)]
    (folder / "odd.csv").write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("extra", "says"),
    [
        (np.arange(1000, 1120), "holds whole numbers that ascend"),
        (np.arange(120) * 7 % 120 * 1e5, "like a price"),
    ],
)
def test_columns_that_look_like_no_feature(extra: np.ndarray, says: str, run: Run, folder: Path) -> None:
    odd_table(folder, extra, "number")
    said = run("fit", "odd.csv", "--label-column", "kind", *FIT)
    assert said.code == 0
    assert "Column 'number'" in said.err
    assert says in said.err
    quiet = run("fit", "odd.csv", "--label-column", "kind", "--leave-out", "number", *FIT)
    assert "Warning" not in quiet.err


def test_long_work_is_heard_of_in_a_log(run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Off a terminal a line comes now and then (here: always), and none in short work."""
    words = ["advise", "X.npy", "--labels", "y.txt", "--bits", "8", "--splits", "1"]
    assert run(*words).err == ""
    monkeypatch.setattr("kinhash.cli.terminal.EVERY", 0.0)
    lines = run(*words).err.splitlines()
    assert len(lines) > 2
    assert all("% after" in line for line in lines)
