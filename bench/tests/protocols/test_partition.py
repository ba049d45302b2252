"""Partitions: sizes, disjoint parts, the same rows for ever, and files that hold them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinhash.errors import DamagedFile, FileProblem, InvalidInput
from kinhash_bench.protocols import PROTOCOLS, Partition, Protocol

SMALL = Protocol("small", n_queries=3, n_validation=2)
PARTS = ("train", "validation", "query", "database", "unseen")


def rows_of(partition):
    return {part: getattr(partition, part).tolist() for part in PARTS}


def test_the_paper_splits_as_it_says():
    large, small = PROTOCOLS["paper"].partition(60_000), PROTOCOLS["paper"].partition(2_407)
    assert (len(large.query), len(large.validation), len(large.train)) == (1000, 1000, 58_000)
    assert (len(small.query), len(small.validation), len(small.train)) == (481, 481, 1445)
    for partition in (large, small):
        assert (partition.database == partition.train).all()
        assert partition.problem() is None


def test_one_bit_takes_a_thousand_rows():
    partition = PROTOCOLS["paper-one-bit"].partition(60_000)
    sizes = [len(getattr(partition, part)) for part in PARTS]
    assert sizes == [1000, 0, 1000, 1000, 0]


@given(n=st.integers(10, 400), number=st.integers(0, 1000), seed=st.integers(0, 1000), data=st.data())
def test_parts_are_disjoint_and_complete(n, number, seed, data):
    name = data.draw(st.sampled_from(["paper", "inductive", "pairs"]))
    partition = replace(PROTOCOLS[name], seed=seed).partition(n, number)
    parts = [partition.train, partition.validation, partition.query]
    if name == "inductive":
        parts.append(partition.database)
        assert abs(len(partition.train) - len(partition.database)) <= 1
    if name == "pairs":
        assert (partition.database == partition.query).all()
    together = np.concatenate(parts)
    assert np.array_equal(np.sort(together), np.arange(n))
    assert all((np.diff(rows) > 0).all() for rows in parts)
    assert len(partition.query) == len(partition.validation) == min(1000, n // 5)


def test_partitions_are_the_same_for_ever():
    # These rows are part of what `small` means: other rows need another MEANING in _protocol.py.
    assert rows_of(SMALL.partition(15, 0)) == {
        "train": [0, 4, 5, 6, 7, 8, 9, 10, 12, 14],
        "validation": [1, 2],
        "query": [3, 11, 13],
        "database": [0, 4, 5, 6, 7, 8, 9, 10, 12, 14],
        "unseen": [],
    }
    assert rows_of(SMALL.partition(15, 0)) == rows_of(SMALL.partition(["a", "b", "c"] * 5))


def test_numbers_and_seeds_give_other_rows():
    drawn = [SMALL.partition(1000, number).query.tolist() for number in range(5)]
    drawn += [replace(SMALL, seed=seed).partition(1000).query.tolist() for seed in range(1, 5)]
    assert len({tuple(rows) for rows in drawn}) == 9


def test_protocols_share_their_queries():
    queries = [PROTOCOLS[name].partition(5000, 3).query for name in ("paper", "inductive", "pairs")]
    assert np.array_equal(queries[0], queries[1])
    assert np.array_equal(queries[0], queries[2])


def test_every_row_asks_about_as_often():
    asked = np.concatenate([SMALL.partition(15, number).query for number in range(1000)])
    counts = np.bincount(asked, minlength=15)  # 200 on average, deviation 12.6
    assert (np.abs(counts - 200) < 65).all()


def test_unseen_classes_are_unseen():
    y = np.random.default_rng(0).integers(0, 10, 2000)
    chosen = set()
    for number in range(20):
        partition = PROTOCOLS["unseen-classes"].partition(y, number)
        assert partition.problem() is None
        trained, kept = set(y[partition.train]) | set(y[partition.validation]), set(partition.unseen.tolist())
        assert set(y[partition.query]) == set(y[partition.database]) == kept
        assert trained == set(range(10)) - kept
        assert len(kept) == 3
        assert len(partition.query) == int(0.2 * np.isin(y, list(kept)).sum())
        sizes = [len(getattr(partition, part)) for part in PARTS[:4]]
        assert sum(sizes) == 2000
        chosen.add(tuple(sorted(kept)))
    assert len(chosen) > 10


def test_unseen_tags_are_unseen():
    rng = np.random.default_rng(1)
    Y = (rng.random((500, 12)) < 0.15).astype(int)
    partition = PROTOCOLS["unseen-classes"].partition(Y, 2)
    assert len(partition.unseen) == 4
    assert not Y[partition.train][:, partition.unseen].any()
    assert not Y[partition.validation][:, partition.unseen].any()
    assert Y[partition.query][:, partition.unseen].any(axis=1).all()
    assert Y[partition.database][:, partition.unseen].any(axis=1).all()


def test_untagged_rows_can_be_dropped():
    tags = [{"a"}, set(), {"b"}, None, {"a", "b"}] * 10
    kept = SMALL.partition(tags)
    dropped = replace(SMALL, untagged="drop").partition(tags)
    assert len(kept.train) == 45
    assert len(dropped.train) == 25
    used = np.concatenate([dropped.train, dropped.query, dropped.validation])
    assert all(tags[row] for row in used)


@pytest.mark.parametrize(
    ("protocol", "rows", "message"),
    [
        (PROTOCOLS["paper"], 4, "4 rows are too few for the protocol 'paper'"),
        (PROTOCOLS["paper"], 0, "0 rows are too few"),
        (PROTOCOLS["pairs"], 9, "too few"),
        (PROTOCOLS["paper-one-bit"], 1200, "960 rows are left to train on. Expected 1000"),
        (PROTOCOLS["unseen-classes"], 100, "splits by labels"),
        (replace(SMALL, untagged="drop"), 100, "splits by labels"),
        (PROTOCOLS["unseen-classes"], ["a", "b", "c"] * 30, "3 different labels"),
        (PROTOCOLS["paper"], None, "No labels"),
    ],
)
def test_what_cannot_be_split(protocol, rows, message):
    with pytest.raises(InvalidInput, match=message):
        protocol.partition(rows)


@pytest.mark.parametrize("number", [-1, 1.5, True, "0"])
def test_the_number_of_a_partition(number):
    with pytest.raises(InvalidInput, match="partition is"):
        SMALL.partition(100, number)


# -- files -------------------------------------------------------------------------------------


def test_a_file_gives_the_partition_back(tmp_path):
    drawn = PROTOCOLS["unseen-classes"].partition(list("abcdefghij") * 20, 4)
    drawn.save(tmp_path / "split.npz")
    found = Partition.load(tmp_path / "split.npz")
    assert rows_of(found) == rows_of(drawn)
    for field in ("protocol", "digest", "number", "n_rows"):
        assert getattr(found, field) == getattr(drawn, field)
    assert "unseen-classes@b9fe519f5943 number 4: 112 train" in repr(found)


def test_files_hold_no_pickle(tmp_path):
    SMALL.partition(50).save(tmp_path / "split.npz")
    with np.load(tmp_path / "split.npz", allow_pickle=False) as arrays:
        assert {arrays[name].dtype.kind for name in arrays.files} == {"U", "i"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train": None}, "called 'train'"),
        ({"train": np.array([0.5])}, "called 'train'"),
        ({"train": np.array([[1, 2]])}, "called 'train'"),
        ({"query": np.array([3, 1])}, "query rows are not ascending"),
        ({"query": np.array([50])}, "below 50"),
        ({"query": np.array([-1])}, "below 50"),
        ({"query": np.array([2**64 - 1], np.uint64)}, "below 50"),
        ({"validation": np.arange(50)}, "a row stands in two of its parts"),
        ({"database": np.arange(50)}, "a row stands in two of its parts"),
        ({"unseen": np.array([2, 1])}, "unseen labels"),
        ({"digest": None}, "'digest'"),
        ({"number": np.array([1, 2])}, "'number'"),
        ({"protocol": np.array(3)}, "'protocol'"),
    ],
)
def test_damaged_files_are_refused(tmp_path, change, message):
    SMALL.partition(50).save(tmp_path / "split.npz")
    with np.load(tmp_path / "split.npz") as stored:
        arrays = {**stored, **change}
    np.savez(tmp_path / "wrong.npz", **{name: value for name, value in arrays.items() if value is not None})
    with pytest.raises(DamagedFile, match=message):
        Partition.load(tmp_path / "wrong.npz")


def test_mutated_files_give_the_documented_error(tmp_path):
    whole = SMALL.partition(50)
    whole.save(tmp_path / "split.npz")
    good = (tmp_path / "split.npz").read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(300):
        bad = bytearray(good)
        for place in rng.integers(0, len(good), 3):
            bad[place] = rng.integers(0, 256)
        (tmp_path / "bad.npz").write_bytes(
            bad[: rng.integers(1, len(bad) + 1)] if rng.random() < 0.3 else bad
        )
        try:
            found = Partition.load(tmp_path / "bad.npz")
        except FileProblem:
            refused += 1
        else:  # bytes that carry no data, such as dates of the archive
            assert rows_of(found) == rows_of(whole)
    assert refused > 150


def test_missing_and_unwritable_files(tmp_path):
    with pytest.raises(FileProblem, match="no such file"):
        Partition.load(tmp_path / "none.npz")
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileProblem, match="could not be written"):
        SMALL.partition(50).save(tmp_path / "file" / "split.npz")
