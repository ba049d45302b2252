"""Changes: all or nothing, true about learned rows after any history, unknown ids refused."""

from __future__ import annotations

import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from kinhash import Codes, HammingIndex
from kinhash.errors import CodesMismatch, InvalidInput, KinhashWarning
from kinhash.index import ListColumn, recoded

ROWS = np.arange(8, dtype=np.uint8)[:, None]


def rows(*numbers, learned=False, model="m"):
    return Codes(ROWS[list(numbers)], 8, ids=np.array(numbers), model_id=model, learned=learned)


def learned_of(index):
    codes = index.codes()
    return dict(zip(codes.ids.tolist(), codes.learned_rows().tolist(), strict=True))


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        (True, False, "2 mapped rows joined an index of 3 learned rows"),
        (False, True, "2 learned rows joined an index of 3 mapped rows"),
        (True, np.array([True, False]), "1 mapped rows joined an index of 3 learned rows"),
    ],
)
def test_a_warning_turned_into_an_error_changes_nothing(first, second, says):
    """The warning came after the commit: an ``add`` that raised had happened."""
    index = HammingIndex.from_codes(rows(0, 1, 2, learned=first))
    for change in (index.add, index.upsert):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(KinhashWarning, match=says):
                change(rows(5, 6, learned=second))
        assert index.ids.tolist() == [0, 1, 2]
        assert index.codes().learned is first
    with pytest.warns(KinhashWarning, match=says) as caught:
        index.add(rows(5, 6, learned=second))
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a mixture is said once
        index.add(rows(7, learned=first))
    assert index.ids.tolist() == [0, 1, 2, 5, 6, 7]


def test_learned_is_true_of_each_row_after_any_history(tmp_path):
    """It never became False again after the learned rows had gone."""
    index = HammingIndex.from_codes(rows(0, 1, 2, 3, learned=np.array([True, False, True, False])))
    assert learned_of(index) == {0: True, 1: False, 2: True, 3: False}
    index.save(tmp_path / "i.kin")
    assert learned_of(HammingIndex.load(tmp_path / "i.kin")) == learned_of(index)
    index.remove([0])
    index.upsert(rows(2, 5))
    assert index.codes().learned is False
    assert index.stats().n_learned == 0
    index.upsert(rows(1, 2, 3, 5, learned=True))
    assert index.codes().learned is True
    assert recoded(index, rows(1, 2, 3, 5)).codes().learned is False


@pytest.mark.parametrize("payload", [None, {"x": [1]}])
def test_an_empty_index_takes_the_model_of_its_first_codes(payload):
    index = HammingIndex(8)
    index.add(rows(1), payload=payload)
    assert index.model_id == "m"
    with pytest.raises(CodesMismatch, match="model"):
        index.add(rows(2, model="other"), payload=payload)
    assert index.model_id == "m"
    index.remove([1])
    assert index.search(rows(1), 2).counts.tolist() == [0]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda i: i.add(rows(1), None, {"x": [1]}), "a row with the id 1 already"),
        (lambda i: i.add(ROWS[:2], [8, 8], {"x": [1, 2]}), "The id 8 came twice"),
        (lambda i: i.add(ROWS[:2], [8]), "1 ids came with 2 codes"),
        (lambda i: i.add(ROWS[:1], ["a"]), "Numbers and strings"),
        (lambda i: i.add(ROWS[:1], [8], {"y": [1]}), "The payload has the columns"),
        (lambda i: i.add(ROWS[:1], [8], {"x": ["a"]}), "The payload has the columns"),
        (lambda i: i.add(ROWS[:1], [2.5]), "values of type"),
        (lambda i: i.add(ROWS[:1], [2**63], {"x": [1]}), "integers from"),
        (lambda i: i.upsert(ROWS[:1]), "Rows came without ids"),
        (lambda i: i.remove([0, 17]), "no row with the id 17"),
        (lambda i: i.remove([0, 0]), "The id 0 came twice"),
        (lambda i: i.remove(["a"]), "Numbers and strings"),
        (lambda i: i.update([17], {"x": [1]}), "no row with the id 17"),
        (lambda i: i.update([0, 0], {"x": [1, 2]}), "The id 0 came twice"),
        (lambda i: i.update([0], {"z": [1]}), "The payload has the columns"),
        (lambda i: i.update([0], {"x": ["a"]}), "The payload has the columns"),
        (lambda i: i.update([0], {"x": [1, 2]}), "one value for each of the 1 rows"),
        (lambda i: i.search(ROWS[:2], 1, exclude=[0, 17]), "no row with the id 17"),
        (lambda i: i.search(ROWS[:2], 1, exclude=[0]), "1 entries for 2 queries"),
        (lambda i: i.search(ROWS[:2], -1), "k is -1"),
        (lambda i: i.search(ROWS[:2], 1.5), "k is 1.5"),
        (lambda i: i.search(None, 1), "No codes came"),
        (lambda i: i.search(np.zeros((2, 2), np.uint8), 1), "16 bits came to an index of 8"),
        (lambda i: i.search(None, 1, margins=np.zeros((2, 9))), "margins came with shape"),
        (lambda i: i.search(None, 1, margins=np.full((2, 8), np.nan)), "not finite"),
        (lambda i: i.search(ROWS[:3], 1, margins=np.zeros((2, 8))), "another number of codes"),
        (lambda i: i.search_radius(ROWS[:2], -1), "r is -1"),
    ],
)
def test_what_is_refused_changes_nothing(change, says):
    index = HammingIndex.from_codes(rows(0, 1, 2), payload={"x": [5, 6, 7]})
    with pytest.raises(InvalidInput, match=says):
        change(index)
    assert index.ids.tolist() == [0, 1, 2]
    assert index.payload["x"].tolist() == [5, 6, 7]


def test_rows_without_ids_are_numbered_on():
    index = HammingIndex.from_codes(ROWS[:3])
    index.remove([2])
    assert index.add(ROWS[:2]).tolist() == [3, 4]
    assert index.add(ROWS[:1], [100]).tolist() == [100]
    assert index.add(ROWS[:1]).tolist() == [101]
    assert index.add(ROWS[:0]).tolist() == []


def test_an_empty_batch_needs_no_types():
    index = HammingIndex.from_codes(rows(0, 1), payload={"x": ["a", "b"], "t": [["u"], []]})
    index.add(ROWS[:0], [], {"x": [], "t": []})
    assert len(index) == 2
    index.add(ROWS[:1], [9], {"x": ["c"], "t": [[]]})
    assert index.payload["t"].tolist() == [["u"], [], []]
    assert isinstance(index.payload["t"], ListColumn)


def test_odd_ids_survive(tmp_path):
    names = ["", "a\0", "a", "é" * 40, "z" * 16, "z" * 16 + "\0"]
    index = HammingIndex.from_codes(ROWS[:6], ids=names)
    index.save(tmp_path / "i.kin")
    for one in (index, HammingIndex.load(tmp_path / "i.kin")):
        found = one.search(ROWS[:6], 1)
        assert found.ids[:, 0].tolist() == names
        assert one.search(ROWS[:6], 1, where=["a\0"]).ids.tolist() == [["a\0"]] * 6
        one.remove(["a"])
        assert one.ids.tolist() == sorted(set(names) - {"a"})


def test_hex_text_and_signed_bytes_search_the_same():
    index = HammingIndex.from_codes([row.tobytes().hex() for row in ROWS])
    signed = (ROWS.astype(np.int16) - 128).astype(np.int8)
    for queries in (ROWS, signed, Codes(ROWS, 8), [row.tobytes().hex() for row in ROWS]):
        assert index.search(queries, 1).ids[:, 0].tolist() == list(range(8))
    odd = HammingIndex.from_codes(ROWS << 3, n_bits=5)
    assert odd.search(ROWS << 3, 1).distances.tolist() == [[0]] * 8


def test_scores_run_from_one_to_minus_one():
    index = HammingIndex.from_codes(np.array([[0], [255], [15]], np.uint8))
    found = index.search(np.zeros((1, 1), np.uint8), 4)
    assert found.scores[0, :3].tolist() == [1.0, 0.0, -1.0]
    assert np.isnan(found.scores[0, 3])
    found = index.search(None, 3, margins=np.full((1, 8), -0.5))
    assert found.scores.tolist() == [[1.0, 0.0, -1.0]]
    assert found.distances.tolist() == [[0.0, 2.0, 4.0]]


def test_readers_see_whole_states_while_a_writer_works(tmp_path):
    """Rows come and go in pairs; a search or a file never holds half a pair."""
    index, stop = HammingIndex(8), threading.Event()

    def write():
        for number in range(120):
            index.add(ROWS[:2], [2 * number, 2 * number + 1])
            if number % 3 == 2:
                index.remove([2 * number - 2, 2 * number - 1])
        stop.set()

    def read(_):
        seen = 0
        while not stop.is_set():
            found = index.search_radius(ROWS[:1], 8)
            assert len(found.ids) % 2 == 0
            index.save(tmp_path / f"{threading.get_ident()}.kin")
            saved = HammingIndex.load(tmp_path / f"{threading.get_ident()}.kin")
            assert len(saved) % 2 == 0
            seen += 1
        return seen

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read, k) for k in range(2)]
        pool.submit(write).result()
        assert all(reader.result() > 0 for reader in readers)
    assert len(index) == 160
