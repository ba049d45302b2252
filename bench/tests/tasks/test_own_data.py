"""Tasks on custom files: read, split as the lists say, and known by their contents."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kinhash.errors import FileProblem, InvalidInput, UnknownName
from kinhash.metrics import evaluate
from kinhash.paper import LSH
from kinhash_bench.tasks import Store, plan, read_task, run, run_cell
from kinhash_bench.tasks.custom_data import load_own

TASK = """
about = "Mine"
[data.mine]
features = "X.npy"
labels = "y.npy"
train = "train.txt"
query = "query.npy"
database = "database.txt"
[section.mine]
dataset = "mine"
protocol = "given"
bits = [16]
methods = ["LSH"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    np.save(tmp_path / "X.npy", (rng.normal(size=(60, 8)) + 3 * np.eye(8)[y]).astype(np.float32))
    np.save(tmp_path / "y.npy", y)
    (tmp_path / "train.txt").write_text("\n".join(map(str, range(30))))
    (tmp_path / "database.txt").write_text("\n".join(map(str, range(50))))
    np.save(tmp_path / "query.npy", np.arange(50, 60))
    (tmp_path / "task.toml").write_text(TASK)
    return tmp_path


def test_the_split_of_the_lists_is_what_is_scored(folder: Path) -> None:
    (cell,) = read_task(folder / "task.toml").cells
    result = run_cell(cell, load_own(cell.dataset, cell.files, cell.checksum))
    X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
    hasher = LSH(16, random_state=0).fit(X[:30], y[:30])
    expected = evaluate(hasher.encode(X[50:]), hasher.encode(X[:50]), y[50:], y[:50])
    assert result.ok, result.error
    assert result.mapped is not None
    assert result.mapped.value == pytest.approx(expected)
    assert (result.learned, result.n_train, result.n_database) == (None, 30, 50)
    assert (result.task, result.about) == ("task", "Mine")
    assert str(folder) not in result.to_json()


def test_workers_read_them_too(folder: Path) -> None:
    store = Store(folder / "runs")
    task = read_task(folder / "task.toml")
    todo = plan(task.cells, store).todo
    (result,) = run(todo, store)
    assert result.ok, result.error
    assert not plan(task.cells, store).todo


def test_other_contents_are_other_work(folder: Path) -> None:
    (before,) = read_task(folder / "task.toml").cells
    (folder / "train.txt").write_text("\n".join(map(str, range(29))))
    (after,) = read_task(folder / "task.toml").cells
    assert before.key != after.key


@pytest.mark.parametrize(
    ("old", "new", "error", "words"),
    [
        ('labels = "y.npy"', "", InvalidInput, "features and labels"),
        ('train = "train.txt"', "", InvalidInput, "both train and query"),
        ('features = "X.npy"', 'features = "Z.npy"', FileProblem, "Z.npy is not there"),
        ('features = "X.npy"', 'feature = "X.npy"', UnknownName, "feature"),
        ('features = "X.npy"', "features = 3", InvalidInput, "names of files"),
    ],
)
def test_what_cannot_be_used_is_said_before_the_work(
    folder: Path, old: str, new: str, error: type[Exception], words: str
) -> None:
    (folder / "task.toml").write_text(TASK.replace(old, new))
    with pytest.raises(error, match=words):
        read_task(folder / "task.toml")
