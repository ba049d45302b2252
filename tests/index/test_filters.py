"""Filters: conditions as values and text, columns of lists, and filters prepared for many searches."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinhash.codes import read_container, write_container
from kinhash.errors import DamagedFile, InvalidInput, UnknownName
from kinhash.index import HammingIndex, ListColumn, Not, matching
from kinhash.index.conditions import AllOf, AnyOf, Between, OneOf
from kinhash.index.grammar import column_as_text, parsed, value_as_text
from kinhash.index.lists import kind_of
from kinhash.index.segment import Segment

from .filter_cases import check_filter_case
from .oracle import random_codes

FILMS = {
    "year": [1994, 1999, 2008, 2010, 2020],
    "lang": ["en", "de", "en", "fr", "en"],
    "tags": [["Drama"], ["Drama", "War"], [], {"Comedy"}, ("War",)],
    "stars": [[5, 4], [3], [1, 2], [], [4]],
}
NOWHERE = np.zeros((1, 2), np.uint8)


def films(**other):
    return HammingIndex.from_codes(np.zeros((5, 2), np.uint8), payload=FILMS | other)


def passing(index, where):
    return index.search(NOWHERE, len(index), where=where).ids[0].tolist()


@pytest.mark.parametrize("first", range(0, 100, 10))
def test_generated_filters_equal_python(first):
    assert sum(check_filter_case(seed, most_rows=80) for seed in range(first, first + 10)) > 0


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 10_000, 1000))
def test_many_generated_filters_equal_python(first):
    assert sum(check_filter_case(seed) for seed in range(first, first + 1000)) > 1000


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ({"year": (1999, 2010)}, [1, 2, 3]),
        ({"year": (None, 1999)}, [0, 1]),
        ({"year": (2008.5, None)}, [3, 4]),
        ({"year": (Fraction(3997, 2), 10**30)}, [1, 2, 3, 4]),
        ({"year": (2010, 1999)}, []),
        ({"year": (None, None)}, [0, 1, 2, 3, 4]),
        ({"year": [1999, 2010]}, [1, 3]),
        ({"year": Not((1999, 2010))}, [0, 4]),
        ({"lang": Not({"en", "de"})}, [3]),
        ({"lang": ("en", None)}, [0, 2, 3, 4]),
        ({"tags": "Drama"}, [0, 1]),
        ({"tags": {"War", "Comedy"}}, [1, 3, 4]),
        ({"tags": Not("Drama")}, [2, 3, 4]),
        ({"tags": ("Comedy", "Drama")}, [0, 1, 3]),
        ({"stars": (4, None)}, [0, 4]),
        ({"stars": 2}, [2]),
        (Not({"tags": "War", "lang": "en"}), [0, 1, 2, 3]),
        (Not([0, 1]), [2, 3, 4]),
        (Not(lambda rows: rows["year"] > 2000), [0, 1]),
        (Not(Not("year == 1994")), [0]),
        ({}, [0, 1, 2, 3, 4]),
        ('year >= 2008 and not lang == "en"', [3]),
        ("year > 2008 or \"War\" in tags and lang != 'en'", [1, 3, 4]),
        ("(year > 2008 or 'War' in tags) and lang != 'en'", [1, 3]),
        ("tags not in ['Drama', \"War\"]", [2, 3]),
        ("'War' not in tags", [0, 2, 3]),
        ("NOT year<2010 AND `lang`in['en']", [4]),
        ("year in []", []),
        ("stars == 4", [0, 4]),
        ("year >= 1.999e3 and year <= +2010", [1, 2, 3]),
    ],
)
def test_what_passes(where, rows):
    index = films()
    assert passing(index, where) == rows
    assert passing(index, index.filter(where)) == rows
    assert len(index.filter(where)) == len(rows)
    assert index.search_radius(NOWHERE, 0, where=where)[0].ids.tolist() == rows


def test_text_and_mapping_are_one_condition():
    assert parsed("a == 1 and (b < 2 or not c in ['x'])") == AllOf(
        (
            OneOf("a", (1,)),
            AnyOf((Between("b", None, 2, high_open=True), Not(OneOf("c", ("x",))))),
        )
    )
    assert parsed(r"""a == 'it\'s \\' or `odd name` == "\"" """) == AnyOf(
        (OneOf("a", ("it's \\",)), OneOf("odd name", ('"',)))
    )
    assert parsed("flag == TRUE and x != -.5e-3") == AllOf(
        (OneOf("flag", (True,)), Not(OneOf("x", (-0.0005,))))
    )
    assert parsed("jahr.größe > 3") == Between("jahr.größe", 3, None, low_open=True)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "at its end"),
        ("year >= ", "at its end, after 'year >= '"),
        ("year >> 3", "character 7, '> 3'"),
        ("year = 3", "character 6, '= 3'"),
        ("year", "at its end"),
        ("year == lang", "character 9, 'lang'"),
        ("year == 3 year == 4", "character 11, 'year == 4'"),
        ("(year == 3", "at its end"),
        ("year == 3)", "character 10"),
        ("lang == 'en", 'character 9, "\'en"'),
        ("3 == year", "character 3, '== year'"),
        ("year in 3", "character 9"),
        ("year in [3 4]", "character 12, '4]'"),
        ("year in [3,]", "character 12, ']'"),
        ("year not 3", "character 10"),
        ("'x' in 'y'", "character 8"),
        ("year == 12abc", "character 9, '12abc'"),
        ("__import__('os')", "character 11"),
        ("and", "character 1"),
        ("year == 1" + 5000 * "0", "character 9"),
        ("(" * 200 + "year == 3" + ")" * 200, "character 101"),
        ("not " * 5000 + "year == 3", "at most 100"),
    ],
)
def test_errors_of_text_point_at_the_place(text, says):
    with pytest.raises(InvalidInput) as problem:
        films().search(NOWHERE, 3, where=text)
    assert says in str(problem.value)


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ({"year": (1, 2, 3)}, "tuple of 3 values"),
        ({"year": ("a", None)}, "'a' of the payload column 'year'"),
        ({"year": (float("nan"), None)}, "nan"),
        ({"tags": 3}, "column 'tags', which holds strings"),
        ({"stars": "x"}, "column 'stars', which holds numbers"),
        ({"year": [[1]]}, "column 'year'"),
        ('year == "x"', "column 'year', which holds numbers"),
        ({"lang": "\ud800"}, "valid Unicode"),
    ],
)
def test_unusable_conditions_are_refused(where, says):
    for _ in range(2):
        with pytest.raises(InvalidInput, match=says):
            films().search(NOWHERE, 3, where=where)


def test_unknown_columns_are_named():
    with pytest.raises(UnknownName, match="Did you mean 'year'"):
        passing(films(), "yaer == 3")


def test_strings_in_a_list_are_ids_unless_another_entry_is_a_filter():
    index = HammingIndex.from_codes(np.zeros((2, 2), np.uint8), ids=["a", "b"], payload={"x": [1, 2]})
    queries = np.zeros((2, 2), np.uint8)
    assert index.search(queries, 2, where=["a", "x == 2"]).ids.tolist() == [["a"], ["a"]]
    found = index.search(queries, 2, where=[None, "x == 2"])
    assert [one.ids.tolist() for one in found] == [["a", "b"], ["b"]]
    found = index.search(queries, 2, where=[index.filter("x == 1"), Not("x == 1")])
    assert [one.ids.tolist() for one in found] == [["a"], ["b"]]


def test_numbers_are_compared_by_value_in_every_type():
    column = [0, 1, 2, 2**53 + 1]
    for dtype in (np.int64, np.uint64, np.float64, np.float32):
        index = HammingIndex.from_codes(np.zeros((4, 2), np.uint8), payload={"x": np.array(column, dtype)})
        own = np.array(column, dtype).tolist()
        for bound in (-(10**40), -1, 0.5, 1, Fraction(3, 2), 2**53, 2**53 + 1, 2**53 + 2, 10**400, np.inf):
            assert passing(index, {"x": (bound, None)}) == [i for i in range(4) if own[i] >= bound]
            assert passing(index, {"x": (None, bound)}) == [i for i in range(4) if own[i] <= bound]
            assert passing(index, {"x": bound}) == [i for i in range(4) if own[i] == bound]


# ---- prepared and remembered -----------------------------------------------------------------


def test_a_condition_is_evaluated_once_for_each_segment():
    index = films()
    with mock.patch.object(matching, "_compared", wraps=matching._compared) as compared:
        for where in ({"year": 1999}, "year == 1999", [{"year": 1999}, None], {"year": [1999.0]}):
            index.search(np.zeros((2, 2), np.uint8), 3, where=where)
        index.search(NOWHERE, 3, where="not year == 1999 and lang == 'en'")
        assert compared.call_count == 2
        index.add(NOWHERE, payload={name: column[:1] for name, column in FILMS.items()})
        assert passing(index, {"year": 1999}) == [1]
        assert compared.call_count == 3
        for year in range(2 * matching.KEPT):
            passing(index, {"year": year})
        assert all(len(one.filtering.kept) == matching.KEPT for one in index._state.segments)


def test_a_prepared_filter_follows_changes():
    index = films()
    filters = {
        "condition": index.filter("year >= 2008"),
        "function": index.filter(lambda rows: rows["year"] >= 2008),
        "mask": index.filter(np.array([False, False, True, True, True])),
        "other rows": index.filter(Not([True, True, False, False, False])),
        "ids": index.filter([2, 3, 4, 5]),
    }
    assert [passing(index, one) for one in filters.values()] == [[2, 3, 4]] * 5
    new = {"year": [2011], "lang": ["en"], "tags": [[]], "stars": [[]]}
    index.add(NOWHERE, payload=new)
    index.remove([3])
    expected = {name: [2, 4] if name in ("mask", "other rows") else [2, 4, 5] for name in filters}
    assert {name: passing(index, one) for name, one in filters.items()} == expected
    index.compact()
    assert {name: passing(index, one) for name, one in filters.items()} == expected
    index.remove([0, 1, 2, 4, 5])
    assert [len(one) for one in filters.values()] == [0] * 5
    index.add(np.zeros((1, 2), np.uint8), ids=[2], payload=new)
    assert passing(index, filters["condition"]) == [2]


def test_a_prepared_function_sees_all_rows_after_a_change():
    """Also where a change left some segments as they were, or took one away."""
    index = HammingIndex.from_codes(np.zeros((5, 2), np.uint8), payload={"year": [1, 2, 3, 4, 8]})
    prepared = index.filter(lambda rows: rows["year"] == rows["year"].max())
    for year, latest in ((7, [4]), (9, [5])):
        index.add(NOWHERE, ids=[5], payload={"year": [year]})
        assert index.stats().n_segments == 2
        assert passing(index, prepared) == latest
        index.remove([5])
        assert passing(index, prepared) == [4]


def test_a_prepared_function_is_called_once_for_each_state():
    index, calls = films(), []
    prepared = index.filter(lambda rows: calls.append(1) or rows["year"] > 2000)
    for _ in range(3):
        passing(index, prepared)
    assert len(calls) == 1
    index.remove([4])
    assert passing(index, prepared) == [2, 3]
    assert len(calls) == 2


def test_a_prepared_filter_belongs_to_its_index():
    index = films()
    prepared = index.filter({"lang": "en"})
    with pytest.raises(InvalidInput, match="another index"):
        films().search(NOWHERE, 1, where=prepared)
    assert repr(prepared) == "Filter(3 of 5 rows)"
    other, again = pickle.loads(pickle.dumps((index, prepared)))
    assert passing(other, again) == [0, 2, 4]


def test_the_mask_of_a_prepared_filter_is_a_copy():
    index, mask = films(), np.array([True, False, False, True, False])
    prepared = index.filter(mask)
    mask[:] = True
    assert passing(index, prepared) == [0, 3]


@pytest.mark.parametrize("n_distinct", [20, 2000])
@pytest.mark.parametrize("share", [0.001, 0.03, 0.4, 0.97])
def test_rows_in_place_and_copied_give_the_same_answers(n_distinct, share):
    """Few rows are copied, many are masked, and a prepared filter copies them after a while."""
    rng = np.random.default_rng(n_distinct)
    packed = random_codes(rng, 6000, 64, n_distinct, 0.01)
    index = HammingIndex.from_codes(packed, payload={"x": rng.random(6000)})
    queries = random_codes(rng, 9, 64, 5, 0.1)
    passes = index.payload["x"] < share
    distances = np.bitwise_count(queries[:, None] ^ packed[None]).sum(axis=-1, dtype=int)
    where, prepared = {"x": (None, share)}, index.filter({"x": (None, share)})
    for k in (1, 10, 700):
        count = min(k, int(passes.sum()))
        truth = [np.lexsort((np.arange(6000), np.where(passes, row, 999)))[:count] for row in distances]
        for late in (False, True):
            for part in prepared._parts(index._state.segments):
                part.parts.seconds = 1e9 if late else 0.0
            for one in (where, prepared):
                found = index.search(queries, k, where=one)
                np.testing.assert_array_equal(found.ids, truth)
                near = index.search_radius(queries, 24, where=one)
                assert near.ids.tolist() == [
                    int(i)
                    for row in distances
                    for i in np.lexsort((np.arange(6000), row))
                    if row[i] <= 24 and passes[i]
                ]


@pytest.mark.parametrize("leading", [0.0, 0.01, 0.2])
def test_many_codes_at_one_distance_that_pass_late(leading):
    """Candidates fill the list with ties, and their first passing rows are not in the order of codes."""
    rng = np.random.default_rng(0)
    places = np.array([(i, j) for i in range(64) for j in range(i)])
    ones = np.zeros((len(places), 64), np.uint8)
    np.put_along_axis(ones, places, 1, axis=1)
    packed = np.packbits(np.vstack([ones, ones[rng.permutation(len(ones))]]), axis=1)
    index = HammingIndex.from_codes(packed)
    assert index.stats().n_codes == len(ones) == 2016
    for _ in range(10):
        mask = rng.random(len(packed)) < 0.5
        mask[: len(ones)] = rng.random(len(ones)) < leading  # the smallest row of each code
        for k in (1, 3, 40):
            found = index.search(np.zeros((1, 8), np.uint8), k, where=mask)
            np.testing.assert_array_equal(found.ids[0], np.flatnonzero(mask)[:k])


def test_any_number_of_threads_prepares_one_answer():
    rng = np.random.default_rng(0)
    packed = random_codes(rng, 3000, 64, 400, 0.02)
    tags = [["even"] if i % 2 == 0 else ["odd", "all"] for i in range(3000)]
    index = HammingIndex.from_codes(packed, payload={"tags": tags})
    prepared = index.filter({"tags": "odd"})
    truth = index.search(packed[:50], 7, where=np.arange(3000) % 2 == 1).ids

    def one(number):
        where = [prepared, {"tags": "odd"}, "'odd' in tags", Not("'even' in tags")][number % 4]
        return index.search(packed[:50], 7, where=where).ids

    with ThreadPoolExecutor(4) as threads:
        for found in threads.map(one, range(24)):
            np.testing.assert_array_equal(found, truth)


def test_small_radii_by_hashing_are_filtered():
    rng = np.random.default_rng(0)
    packed = random_codes(rng, 5000, 64, 30, 0.03)
    index = HammingIndex.from_codes(packed, payload={"x": np.arange(5000) % 3})
    truth = [row.ids.tolist() for row in index.search_radius(packed[:20], 2, where={"x": [0, 1]})]
    with mock.patch.object(Segment, "_tables_for", lambda segment, n, r: segment.build_tables()):
        found = index.search_radius(packed[:20], 2, where={"x": [0, 1]})
    assert [row.ids.tolist() for row in found] == truth
    assert sum(map(len, truth)) > 20


# ---- lists as payload ------------------------------------------------------------------------


def test_lists_of_every_container():
    wanted = [["a"], [], ["a", "b"]]
    columns = [
        wanted,
        [("a",), (), ("a", "b")],
        [{"a"}, set(), {"b", "a"}],
        [np.array(row, str) for row in wanted],
        np.array([["a"], [], ["a", "b"]], object),
        pd.Series(wanted),
        pl.Series(wanted),
        ListColumn.of(wanted, "x"),
    ]
    for column in columns:
        index = HammingIndex.from_codes(np.zeros((3, 2), np.uint8), payload={"tags": column})
        assert index.payload["tags"].tolist() == wanted
        assert passing(index, {"tags": "a"}) == [0, 2]
    frame = pd.DataFrame({"n": [1, 2, 3], "tags": wanted})
    index = HammingIndex.from_codes(np.zeros((3, 2), np.uint8), payload=frame)
    seen = lambda rows: np.array([len(row) == 2 for row in rows["tags"]])  # noqa: E731
    assert passing(index, seen) == [2]
    column = index.payload["tags"]
    assert (column[-1], column[1], len(column), repr(column)) == (
        ["a", "b"],
        [],
        3,
        "ListColumn(3 lists of strings)",
    )
    assert column[1:].tolist() == wanted[1:]
    with pytest.raises(IndexError):
        column[3]


@pytest.mark.parametrize(
    ("column", "says"),
    [
        ([["a"], "b", []], "Row 1 of the payload column 'x' is 'b'"),
        ([["a"], None, []], "Row 1 of the payload column 'x' is None"),
        (["b", ["a"], []], "lists in some rows|dtype object"),
        ([["a"], [1], []], "hold 1"),
        ([[1], [None], []], "hold None"),
        ([[1], [2**64], []], "hold 18446744073709551616"),
        ([[[1]], [], []], "hold"),
        ([["a"], []], r"shape \(2,\)"),
        (np.zeros((3, 2)), "shape"),
        (["a", None, "b"], "none missing"),
    ],
)
def test_unusable_lists_are_refused_in_words(column, says):
    with pytest.raises(InvalidInput, match=says):
        HammingIndex.from_codes(np.zeros((3, 2), np.uint8), payload={"x": column})


@pytest.mark.parametrize("payload", [[1, 2, 3], [{"year": 1}], np.zeros(3), "year"])
def test_a_payload_without_names_is_refused_in_words(payload):
    with pytest.raises(InvalidInput, match="columns by name"):
        HammingIndex.from_codes(np.zeros((3, 2), np.uint8), payload=payload)


def test_lists_live_through_changes_and_files(tmp_path):
    index = films(marks=[[0.5], [], [], [], [1.5]], flags=[[True], [], [False], [], []])
    row = {"year": [1], "lang": ["x"], "tags": [["New"]], "stars": [[]], "marks": [[2.5]], "flags": [[]]}
    index.add(NOWHERE, payload=row)
    index.upsert(NOWHERE, [2], payload=row)
    index.remove([0])
    assert index.stats().n_segments > 1
    index.save(tmp_path / "index.kin")
    for one in (HammingIndex.load(tmp_path / "index.kin"), pickle.loads(pickle.dumps(index))):
        assert one.payload["tags"].tolist() == [["Drama", "War"], ["New"], ["Comedy"], ["War"], ["New"]]
        assert one.payload["stars"].tolist() == [[3], [], [], [4], []]
        assert passing(one, {"marks": (1.5, None)}) == passing(index, {"marks": (1.5, None)}) == [2, 4, 5]
        assert passing(one, {"flags": [True, False]}) == []
        assert one.payload["flags"].values.dtype == bool
    for wrong in (row | {"tags": [[1]]}, row | {"tags": ["New"]}, row | {"lang": [["x"]]}):
        with pytest.raises(InvalidInput, match="tags"):
            index.add(NOWHERE, payload=wrong)


@pytest.mark.parametrize(
    ("value", "condition"),
    [(1.5, "1.5 in scores"), (True, "true in scores"), (2**62, f"{2**62} in scores"), ("a", "'a' in scores")],
)
def test_a_segment_of_empty_lists_does_not_stop_a_filter(value, condition):
    index = HammingIndex.from_codes(np.zeros((100, 2), np.uint8), payload={"scores": [[]] * 100})
    for strange in (value, np.nan, None, 2**63, (0.5, 2.5), Not(1.5)):
        expected = list(range(100)) if isinstance(strange, Not) else []
        assert passing(index, {"scores": strange}) == expected
    index.add(NOWHERE, payload={"scores": [[value]]})
    assert passing(index, condition) == passing(index, {"scores": value}) == [100]
    assert passing(index, f"not {condition}") == list(range(100))
    if not isinstance(value, str):
        assert passing(index, {"scores": 2**63}) == passing(index, {"scores": np.nan}) == []
    with pytest.raises(InvalidInput, match="which holds"):
        passing(index, {"scores": None})


def test_columns_of_lists_that_begin_empty():
    index = HammingIndex.from_codes(np.zeros((2, 2), np.uint8), payload={"x": [[], []]})
    assert passing(index, {"x": 3}) == passing(index, {"x": "a"}) == []
    assert passing(index, {"x": Not("a")}) == [0, 1]
    index.add(NOWHERE, payload={"x": [["a"]]})
    assert passing(index, {"x": "a"}) == [2]


@pytest.mark.parametrize(
    "forging",
    [
        {"payload.2.lists": lambda a: a[:-1]},
        {"payload.2.lists": lambda a: a.astype(np.int32)},
        {"payload.2.lists": lambda a: a[::-1].copy()},
        {"payload.2.lists": lambda a: a + 1},
        {"payload.2.lists": lambda a: a - 2},
        {"payload.2.values.ends": lambda a: a[:-1]},
        {"payload.2.values.text": lambda a: a[:-1]},
        {"payload.3.values": lambda a: a[:-1]},
        {"payload.3.values": lambda a: a.astype(np.float16)},
        {"payload.3.values": lambda a: a[:, None]},
        {"payload.3.values": None},
    ],
)
def test_forged_lists_are_refused(forging, tmp_path):
    films().save(tmp_path / "index.kin")
    arrays, header = read_container(tmp_path / "index.kin")
    for name, change in forging.items():
        if change is None:
            del arrays[name]
        else:
            arrays[name] = change(arrays[name].copy())
    write_container(tmp_path / "forged.kin", arrays, header, "index")
    with pytest.raises(DamagedFile):
        HammingIndex.load(tmp_path / "forged.kin")


@pytest.mark.parametrize("kind", ["mask", "not mask", "ids"])
def test_a_prepared_filter_names_the_rows_of_its_making(kind):
    mask, ids = np.array([True, True, True, False, False, False]), [0, 1, 2]
    where = {"mask": mask, "not mask": Not(~mask), "ids": ids}[kind]
    index = HammingIndex.from_codes(np.zeros((6, 2), np.uint8))
    prepared = index.filter(where)
    mask[:] = False
    ids[:] = [5]
    index.remove([0])
    index.add(NOWHERE)  # as many rows as before, and another one among them
    for one in (pickle.loads(pickle.dumps(prepared)), prepared):
        assert one._index.search(NOWHERE, 6, where=one).ids[0].tolist() == [1, 2]
    index.remove([3])
    assert len(pickle.loads(pickle.dumps(prepared))) == 2


def test_a_prepared_mask_of_an_empty_index_names_no_row():
    index = HammingIndex(16)
    prepared = index.filter(np.zeros(0, bool))
    index.add(NOWHERE)
    assert index.search(NOWHERE, 1, where=prepared).ids.tolist() == [[]]


def test_lists_without_values_take_the_type_of_those_that_come_later(tmp_path):
    index = HammingIndex.from_codes(np.zeros((40, 2), np.uint8), payload={"stars": [[]] * 40})
    index.add(NOWHERE, payload={"stars": [[]]})
    index.add(NOWHERE, payload={"stars": [[5]]})
    assert len(index._state.segments) > 1
    for refused in ([["five"]], [5]):
        with pytest.raises(InvalidInput, match="lists of int64"):
            index.add(NOWHERE, payload={"stars": refused})
    assert passing(index, "5 in stars") == [41]
    index.add(NOWHERE, payload={"stars": [[]]})
    index.save(tmp_path / "i.kin")
    again = HammingIndex.load(tmp_path / "i.kin")
    assert again.payload["stars"].tolist() == [[]] * 41 + [[5], []]
    assert passing(again, "stars > 4") == [41]


def test_no_rows_of_a_column_of_lists():
    column = ListColumn.of([["a"], [], ["b", "c"]], "x")
    for none in (column[0:0], column[np.empty(0, np.int64)], column[np.zeros(3, bool)]):
        assert none.tolist() == list(none) == []
    assert column.tolist() == [["a"], [], ["b", "c"]]


def test_an_index_without_rows_keeps_its_columns(tmp_path):
    index = films()
    kinds = {name: kind_of(column) for name, column in index.payload.items()}
    row = {name: column[:1] for name, column in index.payload.items()}
    index.remove(index.ids)
    index.compact()
    index.remove([])
    index.save(tmp_path / "index.kin")
    for one in (index, HammingIndex.load(tmp_path / "index.kin"), pickle.loads(pickle.dumps(index))):
        assert len(one) == 0
        assert {name: kind_of(column) for name, column in one.payload.items()} == kinds
        for wrong in (None, {"year": [1]}, row | {"year": ["1"]}):
            with pytest.raises(InvalidInput, match="those of the index"):
                one.add(NOWHERE, payload=wrong)
        one.add(NOWHERE, payload=row)
        assert one.payload["tags"].tolist() == row["tags"].tolist()
        one.save(tmp_path / "again.kin")
    assert HammingIndex.load(tmp_path / "again.kin").payload["tags"].tolist() == row["tags"].tolist()


VALUES = (
    st.text(max_size=8) | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)


@given(st.text(max_size=8), VALUES)
def test_names_and_values_are_read_as_they_are_written(name, value):
    column = column_as_text(name)
    if column is None:
        assert not name or "`" in name
    else:
        assert parsed(f"{column} == {value_as_text(value)}") == OneOf(name, (value,))


@pytest.mark.parametrize("name", ["and", "True", "a b", "2nd", " x", "a.b"])
def test_only_plain_names_stand_without_backquotes(name):
    assert (column_as_text(name) == name) == (name == "a.b")
