"""Filters: text, mappings, masks, ids, functions: what passes, what is refused, and prepared ones."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

from kinhash.errors import InvalidInput, UnknownName
from kinhash.index import HammingIndex, column_as_text, value_as_text

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
    return index.search(NOWHERE, len(index), where=where)[0].ids.tolist()


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
        ({"lang": ("en", None)}, [0, 2, 3, 4]),
        ({"tags": "Drama"}, [0, 1]),
        ({"tags": {"War", "Comedy"}}, [1, 3, 4]),
        ({"tags": ("Comedy", "Drama")}, [0, 1, 3]),
        ({"stars": (4, None)}, [0, 4]),
        ({"stars": 2}, [2]),
        ({}, [0, 1, 2, 3, 4]),
        ('year >= 2008 and not lang == "en"', [3]),
        ("year > 2008 or \"War\" in tags and lang != 'en'", [1, 3, 4]),
        ("(year > 2008 or 'War' in tags) and lang != 'en'", [1, 3]),
        ("tags not in ['Drama', \"War\"]", [2, 3]),
        ("'War' not in tags", [0, 2, 3]),
        ("NOT year<2010 AND `lang`in['en']", [4]),
        ("year in []", []),
        ("stars == 4", [0, 4]),
        ("not (year >= 1999 and year <= 2010)", [0, 4]),
        ("not ('War' in tags and lang == 'en')", [0, 1, 2, 3]),
        ("not not year == 1994", [0]),
        (lambda rows: rows["year"] <= 2000, [0, 1]),
        ("year >= 1.999e3 and year <= +2010", [1, 2, 3]),
    ],
)
def test_what_passes(where, rows):
    index = films()
    assert passing(index, where) == rows
    assert passing(index, index.filter(where)) == rows
    assert len(index.filter(where)) == len(rows)
    assert index.search_radius(NOWHERE, 0, where=where)[0].ids.tolist() == rows


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
        (["year >= 2000"], "Numbers and strings came together"),
        ([0, 17], "no row with the id 17"),
        ([True, False], "one boolean for each of 5 rows"),
        (lambda rows: rows["year"], "one boolean for each of 5 rows"),
        ({"year": range(10_001)}, "at most 200 conditions and 10,000 values"),
        (" or ".join(["year == 1"] * 201), "at most 200 conditions"),
        ("year in [" + ",".join("1" * 10_001) + "]", "10,000 values"),
        ("'" * 100_001, "100,001 characters"),
    ],
)
def test_unusable_filters_are_refused(where, says):
    for _ in range(2):
        with pytest.raises(InvalidInput, match=says):
            films().search(NOWHERE, 3, where=where)


def test_unknown_columns_are_named():
    with pytest.raises(UnknownName, match="Did you mean 'year'"):
        passing(films(), "yaer == 3")


def test_text_in_a_list_is_an_id_and_unknown_ids_are_refused():
    """``where=['x >= 5']`` found nothing and said nothing."""
    index = HammingIndex.from_codes(np.zeros((2, 2), np.uint8), ids=["a", "b"], payload={"x": [1, 2]})
    queries = np.zeros((2, 2), np.uint8)
    assert index.search(queries, 1, where=["a"]).ids.tolist() == [["a"], ["a"]]
    with pytest.raises(InvalidInput, match=r"no row with the id 'x >= 5'.*a string, not a list"):
        index.search(queries, 2, where=["x >= 5"])
    found = index.search(queries, 2, where=[None, "x == 2"])
    assert found.ids.tolist() == [["a", "b"], ["b", ""]]
    assert found.counts.tolist() == [2, 1]
    found = index.search(queries, 2, where=[index.filter("x == 1"), "not x == 1"])
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


def test_masked_arrays_count_masked_entries_as_false():
    mask = np.ma.MaskedArray([True, True, False, True, True], [False, True, False, False, False])
    assert passing(films(), mask) == [0, 3, 4]


# ---- generated filters against Python ----------------------------------------------------------

VALUES = {
    "n": [-3, 0, 1, 2, 2.5, 7, 10**18 + 1, -(2**70), 1e300],
    "x": [-1.5, 0, 0.1, 2, 1e-300, 3.25, 10**400],
    "s": ["", "a", "b", "a\0", "it's", 'say "x"', "ä", "zebra", "back\\slash"],
    "t": ["", "a", "b", "c", "d'", "\\"],
    "l": [-1, 0, 3, 5, 2.5],
    "f": [True, False],
}


def some_columns(rng, n):
    return {
        "n": rng.choice([-3, 0, 1, 2, 7, 10**18, 10**18 + 1], n),
        "x": rng.choice([-1.5, 0.0, 0.1, 2.0, 3.25, np.inf, np.nan], n),
        "s": rng.choice(np.array(VALUES["s"], object), n).tolist(),
        "t": [rng.choice(np.array(VALUES["t"], object), rng.integers(0, 4)).tolist() for _ in range(n)],
        "l": [rng.choice([-1, 0, 3, 5], rng.integers(0, 3)).tolist() for _ in range(n)],
        "f": rng.random(n) < 0.5,
    }


def some_expression(rng, depth=0):
    """A filter as text, and the same as a Python function of one row."""
    kind = rng.integers(0, 8) if depth < 4 else 7
    if kind < 2:
        a, b = some_expression(rng, depth + 1), some_expression(rng, depth + 1)
        if kind:
            return f"({a[0]} and {b[0]})", lambda row: a[1](row) and b[1](row)
        return f"({a[0]} or {b[0]})", lambda row: a[1](row) or b[1](row)
    if kind == 2:
        a = some_expression(rng, depth + 1)
        return f"not {a[0]}", lambda row: not a[1](row)
    name = str(rng.choice(list(VALUES)))
    values = [VALUES[name][j] for j in rng.integers(0, len(VALUES[name]), rng.integers(0, 12))]
    some = values or [VALUES[name][0]]
    column = column_as_text(name)

    def any_of(row, passes):
        return any(map(passes, row[name])) if name in "tl" else passes(row[name])

    if kind == 3:
        listed = ", ".join(map(value_as_text, values))
        return f"{column} in [{listed}]", lambda row: any_of(row, lambda own: own in values)
    if kind == 4 and name in "tl":
        wanted = some[0]
        return f"{value_as_text(wanted)} not in {column}", lambda row: wanted not in row[name]
    sign = str(rng.choice(["==", "!=", "<", "<=", ">", ">="]))
    compare = {
        "==": lambda a, b: a == b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
        ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
    }  # fmt: skip
    wanted = some[0]
    if sign == "!=":
        return f"{column} != {value_as_text(wanted)}", lambda row: not any_of(row, lambda own: own == wanted)
    return (
        f"{column} {sign} {value_as_text(wanted)}",
        lambda row: any_of(row, lambda own: compare[sign](own, wanted)),
    )


@pytest.mark.parametrize(
    "seeds", [range(60), pytest.param(range(100, 10_100), marks=pytest.mark.slow)], ids=["some", "all"]
)
def test_generated_filters_equal_python(seeds):
    """60 of 10,000 databases by default, each with seven filters, on one and on several segments."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        n = int(rng.integers(0, 60))
        columns = some_columns(rng, n)
        index = HammingIndex(16)
        cut = int(rng.integers(0, n + 1))
        for part in (slice(0, cut), slice(cut, n)):
            rows = {name: column[part] for name, column in columns.items()}
            index.add(np.zeros((len(rows["n"]), 2), np.uint8), payload=rows)
        plain = {name: np.asarray(c).tolist() if name in "nxf" else c for name, c in columns.items()}
        rows = [{name: column[i] for name, column in plain.items()} for i in range(n)]
        for _ in range(7):
            text, passes = some_expression(rng)
            wanted = [i for i, row in enumerate(rows) if passes(row)]
            assert passing(index, text) == wanted, (seed, text)
            assert len(index.filter(text)) == len(wanted)


# ---- prepared filters --------------------------------------------------------------------------


def test_a_prepared_filter_follows_changes():
    index = films()
    filters = {
        "condition": index.filter("year >= 2008"),
        "function": index.filter(lambda rows: rows["year"] >= 2008),
        "mask": index.filter(np.array([False, False, True, True, True])),
        "ids": index.filter([2, 3, 4]),
    }
    assert [passing(index, one) for one in filters.values()] == [[2, 3, 4]] * 4
    new = {"year": [2011], "lang": ["en"], "tags": [[]], "stars": [[]]}
    index.add(NOWHERE, payload=new)
    index.remove([3])
    named = ("mask", "ids")
    expected = {name: [2, 4] if name in named else [2, 4, 5] for name in filters}
    assert {name: passing(index, one) for name, one in filters.items()} == expected
    index.compact()
    assert {name: passing(index, one) for name, one in filters.items()} == expected
    index.update([4], {"year": [1900]})
    expected = {name: [2, 4] if name in named else [2, 5] for name in filters}
    assert {name: passing(index, one) for name, one in filters.items()} == expected
    index.remove([0, 1, 2, 4, 5])
    assert [len(one) for one in filters.values()] == [0] * 4
    index.add(np.zeros((1, 2), np.uint8), ids=[2], payload=new)
    assert passing(index, filters["condition"]) == [2]


def test_a_prepared_function_is_called_once_for_each_state_with_all_rows():
    index, calls = films(), []
    prepared = index.filter(lambda rows: calls.append(len(rows["year"])) or rows["year"] > 2000)
    for _ in range(3):
        passing(index, prepared)
    index.add(NOWHERE, payload={name: column[:1] for name, column in FILMS.items()})
    assert passing(index, prepared) == [2, 3, 4]
    assert calls == [5, 6]


def test_a_prepared_filter_belongs_to_its_index_and_survives_a_pickle():
    index = films()
    prepared = index.filter({"lang": "en"})
    mask = np.array([True, False, False, True, False])
    masked = index.filter(mask)
    mask[:] = True  # the filter has its own
    with pytest.raises(InvalidInput, match="another index"):
        films().search(NOWHERE, 1, where=prepared)
    assert repr(prepared) == "Filter(3 of 5 rows)"
    other, again, third = pickle.loads(pickle.dumps((index, prepared, masked)))
    assert passing(other, again) == [0, 2, 4]
    assert passing(other, third) == [0, 3]


@pytest.mark.parametrize("n_distinct", [20, 2000])
@pytest.mark.parametrize("share", [0.001, 0.03, 0.4, 0.97])
def test_rows_in_place_and_copied_give_the_same_answers(n_distinct, share):
    """Few rows are copied, many are masked, and a prepared filter copies them after many queries."""
    rng = np.random.default_rng(n_distinct)
    packed = rng.integers(0, 256, (n_distinct, 8), dtype=np.uint8)[rng.integers(0, n_distinct, 6000)]
    index = HammingIndex.from_codes(packed, payload={"x": rng.random(6000)})
    queries = rng.integers(0, 256, (9, 8), dtype=np.uint8)
    passes = index.payload["x"] < share
    distances = np.bitwise_count(queries[:, None] ^ packed[None]).sum(axis=-1, dtype=int)
    where, prepared = {"x": (None, share)}, index.filter({"x": (None, share)})
    for k in (1, 10, 700):
        count = min(k, int(passes.sum()))
        truth = [np.lexsort((np.arange(6000), np.where(passes, row, 999)))[:count] for row in distances]
        for _ in range(2):
            for one in (where, prepared):
                found = index.search(queries, k, where=one)
                np.testing.assert_array_equal(found.ids[:, :count], truth)
                near = index.search_radius(queries, 24, where=one)
                assert near.ids.tolist() == [
                    int(i)
                    for row in distances
                    for i in np.lexsort((np.arange(6000), row))
                    if row[i] <= 24 and passes[i]
                ]
            index.search(np.tile(queries, (2000, 1)), 1, where=prepared)


@pytest.mark.parametrize("leading", [0.0, 0.01, 0.2])
def test_many_codes_at_one_distance_that_pass_late(leading):
    """Candidates fill the list with ties, and their first passing rows are not in the order of codes."""
    rng = np.random.default_rng(0)
    places = np.array([(i, j) for i in range(64) for j in range(i)])
    ones = np.zeros((len(places), 64), np.uint8)
    np.put_along_axis(ones, places, 1, axis=1)
    packed = np.packbits(np.vstack([ones, ones[rng.permutation(len(ones))]]), axis=1)
    index = HammingIndex.from_codes(packed)
    for _ in range(10):
        mask = rng.random(len(packed)) < 0.5
        mask[: len(ones)] = rng.random(len(ones)) < leading  # the smallest row of each code
        for k in (1, 3, 40):
            found = index.search(np.zeros((1, 8), np.uint8), k, where=mask)
            np.testing.assert_array_equal(found.ids[0], np.flatnonzero(mask)[:k])


def test_any_number_of_threads_prepares_one_answer():
    rng = np.random.default_rng(0)
    packed = rng.integers(0, 256, (3000, 8), dtype=np.uint8)
    tags = [["even"] if i % 2 == 0 else ["odd", "all"] for i in range(3000)]
    index = HammingIndex.from_codes(packed, payload={"tags": tags})
    prepared = index.filter({"tags": "odd"})
    truth = index.search(packed[:50], 7, where=np.arange(3000) % 2 == 1).ids

    def one(number):
        where = [prepared, {"tags": "odd"}, "'odd' in tags", "not 'even' in tags"][number % 4]
        return index.search(packed[:50], 7, where=where).ids

    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(one, range(40)):
            np.testing.assert_array_equal(found, truth)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_payload_may_be_a_data_frame(frame):
    index = HammingIndex.from_codes(np.zeros((2, 1), np.uint8), payload=frame({"a": [1, 2], "b": ["x", "y"]}))
    assert index.search(np.zeros((1, 1), np.uint8), 1, where="a == 2 and b == 'y'").ids.tolist() == [[1]]


@pytest.mark.parametrize(
    ("payload", "says"),
    [
        ([1, 2, 3, 4, 5], "columns by name"),
        ({"a": [1, 2]}, "one value for each of the 5 rows"),
        ({"a": [1, None, 3, 4, 5]}, "has dtype object"),
        ({"a": [[1], [2], 3, [4], [5]]}, "Row 2"),
        ({"a": [["x"], ["y", 1], [], [], []]}, "hold 1"),
        ({"a": np.array(["2020-01-01"] * 5, "datetime64[D]")}, "dates"),
    ],
)
def test_unusable_payloads_are_refused(payload, says):
    with pytest.raises(InvalidInput, match=says):
        HammingIndex.from_codes(np.zeros((5, 1), np.uint8), payload=payload)
