"""The splits that others publish under: their sizes, even draws, and lists of rows from files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kinhash import metrics
from kinhash.errors import FileProblem, InvalidInput
from kinhash.paper import LSH
from kinhash_bench.protocols import PROTOCOLS, evaluate, given_partition

CIFAR = np.arange(60_000) % 10


def sizes(split):
    return len(split.query), len(split.train), len(split.database)


def test_the_three_splits_of_cifar10():
    found = {name: PROTOCOLS[name].partition(CIFAR) for name in ("cifar10", "cifar10-1", "cifar10-2")}
    assert {name: sizes(split) for name, split in found.items()} == {
        "cifar10": (1000, 5000, 54_000),
        "cifar10-1": (1000, 5000, 59_000),
        "cifar10-2": (10_000, 50_000, 50_000),
    }
    for name, split in found.items():
        assert split.problem() is None
        assert set(np.bincount(CIFAR[split.query])) == {len(split.query) // 10}
        assert set(np.bincount(CIFAR[split.train])) == {len(split.train) // 10}
        inside = np.isin(split.train, split.database)
        assert inside.all() if name != "cifar10" else not inside.any()


def test_the_others_have_the_sizes_they_are_published_with():
    rng = np.random.default_rng(0)
    tags = rng.random((195_834, 21)) < 0.1
    assert sizes(PROTOCOLS["nuswide-21"].partition(tags.astype(np.uint8))) == (2100, 10_500, 193_734)
    assert sizes(PROTOCOLS["coco"].partition(122_218)) == (5000, 10_000, 117_218)
    assert sizes(PROTOCOLS["mirflickr"].partition(25_000)) == (1000, 4000, 20_000)
    assert sizes(PROTOCOLS["imagenet-100"].partition(np.arange(133_503) % 100)) == (5000, 10_000, 128_503)
    assert [PROTOCOLS[name].top for name in ("nuswide-21", "coco", "imagenet-100", "cifar10")] == [
        5000,
        5000,
        1000,
        None,
    ]


def test_labels_that_do_not_divide_evenly_are_refused():
    with pytest.raises(InvalidInput, match="evenly over 3 labels"):
        PROTOCOLS["cifar10"].partition(np.arange(60_000) % 3)
    with pytest.raises(InvalidInput, match="rows left"):
        PROTOCOLS["cifar10"].partition(np.where(np.arange(60_000) < 590, 0, 1 + np.arange(60_000) % 9))


def test_rows_with_several_tags_are_drawn_once():
    tags = np.random.default_rng(0).random((400, 4)) < 0.5
    few = replace(PROTOCOLS["nuswide-21"], n_queries=20, n_train=40)
    split = few.partition(tags.astype(np.uint8))
    assert sizes(split) == (20, 40, 380)
    assert (tags[split.query].sum(axis=0) >= 5).all()


@pytest.fixture
def lists(tmp_path):
    (tmp_path / "train.txt").write_text("4\n2\n0\n6\n")
    np.save(tmp_path / "query.npy", np.array([9, 1]))
    (tmp_path / "database.txt").write_text("\n".join(map(str, [0, 2, 4, 6, 3, 5, 7, 8])))
    return {
        name: tmp_path / f"{name}.{end}"
        for name, end in (("train", "txt"), ("query", "npy"), ("database", "txt"))
    }


def test_somebodys_lists_of_rows(lists):
    split = given_partition(PROTOCOLS["given"], 10, **lists)
    assert split.train.tolist() == [0, 2, 4, 6]
    assert split.query.tolist() == [1, 9]
    assert split.database.tolist() == [0, 2, 3, 4, 5, 6, 7, 8]
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10, 5)), np.arange(10) % 2
    rules = replace(PROTOCOLS["given"], top=3)
    record = evaluate(LSH(8, random_state=0), (X, y), rules, given_partition(rules, 10, **lists))
    fitted = LSH(8, random_state=0).fit(X[split.train], y[split.train])
    codes = [fitted.encode(X[rows]) for rows in (split.query, split.database)]
    expected = metrics.evaluate(
        *codes, y[split.query], y[split.database], measures="map@3/found", no_kin="zero"
    )
    assert record.mapped.value == pytest.approx(expected)
    assert "by kin found" in record.mapped.metric


def test_lists_that_cannot_be_used_are_refused(lists, tmp_path):
    given = PROTOCOLS["given"]
    with pytest.raises(InvalidInput, match="stands in two of its parts"):
        given_partition(given, 10, train=[0, 1], query=[1, 2], database=[3, 4])
    with pytest.raises(InvalidInput, match="stands in two of its parts"):
        given_partition(given, 10, train=[0, 1], query=[2, 3], database=[3, 4])
    with pytest.raises(InvalidInput, match="Count rows from 0"):
        given_partition(given, 9, **lists)
    with pytest.raises(InvalidInput, match="learned codes"):
        given_partition(PROTOCOLS["paper"], 10, **lists)
    (tmp_path / "train.txt").write_text("zero\n")
    with pytest.raises(FileProblem, match="whole number"):
        given_partition(given, 10, **lists)
    with pytest.raises(InvalidInput, match="given_partition"):
        given.partition(10)
