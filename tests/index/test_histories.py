"""Generated histories of an index against brute force: additions, replacements, removals, files, searches."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

from kinhash import Codes, HammingIndex
from kinhash.codes import weights_of
from kinhash.errors import KinhashWarning
from kinhash.index import near_duplicates

from .oracle import Oracle, same_nearest, same_within

WIDTHS = [1, 3, 8, 31, 64, 65, 100, 128, 200, 256, 700, 1024, 1025, 2048, 4096, 16384]


def some_bits(rng, n, d):
    """Codes that repeat, lie near each other, or are random."""
    kind = rng.integers(0, 3)
    bits = rng.integers(0, 2, (n, d))
    if kind:
        centers = rng.integers(0, 2, (rng.integers(1, 6), d))
        bits = centers[rng.integers(0, len(centers), n)] ^ (rng.random((n, d)) < (kind - 1) * 0.05)
    return bits.astype(np.uint8)


def some_payload(rng, n):
    return {
        "year": rng.integers(1990, 2000, n),
        "lang": rng.choice(["en", "de", "fr", ""], n).tolist(),
        "tags": [rng.choice(["a", "b", "c"], rng.integers(0, 3), replace=False).tolist() for _ in range(n)],
    }


def new_ids(rng, oracle, strings, n):
    taken, found = set(oracle.rows), []
    while len(found) < n:
        name = int(rng.integers(-50, 10**6))
        name = f"r{name}" if strings else name
        if name not in taken:
            taken.add(name)
            found.append(name)
    return found


def some_filter(rng, oracle):
    """A filter in one of its forms, and the ids that pass."""
    ids = oracle.ids
    kind = rng.integers(0, 7)
    if kind == 0 or not ids:
        return None, set(ids)
    if kind == 1:
        mask = rng.random(len(ids)) < rng.random()
        return mask, {name for name, passes in zip(ids, mask, strict=True) if passes}
    if kind == 2:
        some = [ids[j] for j in rng.choice(len(ids), rng.integers(1, len(ids) + 1), replace=False)]
        return some, set(some)
    year = int(rng.integers(1990, 2000))
    if kind == 3:
        passing = {name for name, (_, row, _) in oracle.rows.items() if row["year"] >= year}
        return f"year >= {year}", passing
    if kind == 4:
        passing = {n for n, (_, row, _) in oracle.rows.items() if row["year"] == year or "a" in row["tags"]}
        return f'year == {year} or "a" in tags', passing
    if kind == 5:
        passing = {name for name, (_, row, _) in oracle.rows.items() if row["lang"] in ("en", "")}
        return {"lang": ["en", ""]}, passing
    low = {name for name, (_, row, _) in oracle.rows.items() if row["year"] < year}
    return (lambda columns: columns["year"] < year), low


def change(rng, index, oracle, strings):
    """One change of both; the index that goes on, which a file or a pickle may have replaced."""
    step, n = rng.integers(0, 6), int(rng.integers(0, 25))
    if step < 2 or not oracle.rows:
        ids, bits, payload = new_ids(rng, oracle, strings, n), some_bits(rng, n, index.n_bits), None
        payload = some_payload(rng, n)
        learned = rng.random(n) < rng.choice([0, 0.5, 1])
        index.add(Codes.from_bits(bits, learned=learned), ids, payload)
        oracle.put(bits, ids, payload, learned)
    elif step == 2:
        old = [oracle.ids[j] for j in rng.choice(len(oracle.rows), min(n, len(oracle.rows)), replace=False)]
        ids = [*old, *new_ids(rng, oracle, strings, 3)]
        bits, payload = some_bits(rng, len(ids), index.n_bits), some_payload(rng, len(ids))
        learned = rng.random(len(ids)) < 0.3
        index.upsert(Codes.from_bits(bits, learned=learned), ids, payload)
        oracle.put(bits, ids, payload, learned)
    elif step == 3:
        gone = rng.choice(len(oracle.rows), min(n, len(oracle.rows)), replace=False)
        gone = [oracle.ids[j] for j in gone]
        index.remove(gone)
        oracle.remove(gone)
    elif step == 4:
        some = rng.choice(len(oracle.rows), min(n, len(oracle.rows)), replace=False)
        some = [oracle.ids[j] for j in some]
        years = rng.integers(1990, 2000, len(some))
        index.update(some, {"year": years})
        for name, year in zip(some, years, strict=True):
            oracle.rows[name][1]["year"] = year
    else:
        index.compact()
    return index


def check(rng, index, oracle, strings):
    ids = oracle.ids
    assert len(index) == len(ids)
    assert index.ids.tolist() == ids
    codes = index.codes()
    if ids:
        assert np.array_equal(codes.bits(), np.array([oracle.rows[name][0] for name in ids]))
        assert codes.learned_rows().tolist() == [oracle.rows[name][2] for name in ids]
        assert index.stats().n_learned == codes.learned_rows().sum()
        for column in ("year", "lang", "tags"):
            assert index.payload[column].tolist() == oracle.column(column)
    pad = "" if strings and ids else -1
    q, k = int(rng.integers(0, 10)), int(rng.choice([0, 1, 3, 10, 60]))
    asked = some_bits(rng, q, index.n_bits)
    if ids and q:
        asked[0] = oracle.rows[ids[0]][0]
    where, passing = some_filter(rng, oracle)
    own = [None if rng.random() < 0.3 or not ids else ids[rng.integers(0, len(ids))] for _ in range(q)]
    queries = Codes.from_bits(asked)
    wanted = [oracle.ranked(bits, passing) for bits in asked]
    same_nearest(index.search(queries, k, where=where), wanted, k, pad)
    if rng.random() < 0.3:
        prepared = index.filter(where)
        assert len(prepared) == len(passing)
        same_nearest(index.search(queries, k, where=prepared), wanted, k, pad)
    radius = int(rng.integers(0, max(2, index.n_bits // 3)))
    same_within(index.search_radius(queries, radius, where=where), wanted, radius)
    wanted = [oracle.ranked(bits, passing, mine) for bits, mine in zip(asked, own, strict=True)]
    same_nearest(index.search(queries, k, where=where, exclude=own), wanted, k, pad)
    same_within(index.search_radius(queries, radius, where=where, exclude=own), wanted, radius)
    pairs = [some_filter(rng, oracle) for _ in range(q)]
    if any(not isinstance(one, str) for one, _ in pairs):
        pairs[0] = None, set(ids)
        wanted = [
            oracle.ranked(bits, two[1], mine) for bits, two, mine in zip(asked, pairs, own, strict=True)
        ]
        many = [one for one, _ in pairs]
        same_nearest(index.search(queries, k, where=many, exclude=own), wanted, k, pad)
        same_within(index.search_radius(queries, radius, where=many, exclude=own), wanted, radius)
    margins = rng.normal(size=(q, index.n_bits))
    weights, unit = weights_of(margins)
    found = index.search(None, k, margins=margins, where=where)
    wanted = [
        oracle.ranked(row > 0, passing, None, count.astype(int))
        for row, count in zip(margins, weights, strict=True)
    ]
    for i, one in enumerate(found):
        assert one.ids.tolist() == [name for _, name in wanted[i][:k]]
        assert one.distances.tolist() == [far * unit[i] for far, _ in wanted[i][:k]]


def run(seed, tmp_path, n_bits=None, steps=6):
    rng = np.random.default_rng(seed)
    n_bits = (
        int(rng.choice([1, 8, 31, 64, 65, 128, 1025])) if n_bits is None else n_bits
    )  # three kinds of code
    strings = bool(rng.integers(0, 2))
    index, oracle = HammingIndex(n_bits), Oracle(n_bits)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KinhashWarning)
        for _ in range(steps):
            index = change(rng, index, oracle, strings)
            check(rng, index, oracle, strings)
            if rng.random() < 0.2:
                index.save(tmp_path / "i.kin")
                index = HammingIndex.load(tmp_path / "i.kin", mmap=bool(rng.integers(0, 2)))
            elif rng.random() < 0.1:
                index = pickle.loads(pickle.dumps(index))
        check(rng, index, oracle, strings)


@pytest.mark.parametrize(
    "seeds", [range(40), pytest.param(range(100, 8100), marks=pytest.mark.slow)], ids=["some", "all"]
)
def test_generated_histories_answer_as_brute_force_does(seeds, tmp_path):
    """40 histories of 8,000 by default, each with some 50 batches."""
    for seed in seeds:
        try:
            run(seed, tmp_path)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error


@pytest.mark.parametrize("when", ["never", pytest.param("first", marks=pytest.mark.slow)])
@pytest.mark.parametrize("n_bits", WIDTHS)
def test_every_width(n_bits, when, tmp_path, monkeypatch):
    """In NumPy by default; compiling for every width takes minutes."""
    monkeypatch.setenv("KINHASH_COMPILE", when)
    run(n_bits, tmp_path, n_bits, steps=2)


@pytest.mark.parametrize("seed", range(6))
def test_near_duplicates_are_the_components_of_the_graph(seed):
    rng = np.random.default_rng(seed)
    bits = some_bits(rng, 120, 40)
    radius = int(rng.integers(0, 6))
    far = (bits[:, None] != bits[None]).sum(axis=2)
    group = np.arange(len(bits))
    for _ in range(len(bits)):
        group = np.array([group[far[i] <= radius].min() for i in range(len(bits))])
    for keep in ("first", "last"):
        found = near_duplicates(
            Codes.from_bits(bits, ids=np.arange(len(bits)) * 2), radius, keep=keep, linkage="chain"
        )
        sizes = np.bincount(group, minlength=len(bits))
        members = [i for i in np.argsort(group, kind="stable") if sizes[group[i]] > 1]
        assert found.ids.tolist() == [2 * i for i in members]
        for number in range(found.n_groups):
            rows = found.ids[found.groups == number] // 2
            kept = rows[0] if keep == "first" else rows[-1]
            assert found.ids[(found.groups == number) & found.kept].tolist() == [2 * kept]
            assert found.distances[found.groups == number].tolist() == far[rows, kept].tolist()
        assert len(found.dropped) == len(members) - found.n_groups


def test_many_small_radii_use_tables_and_answer_the_same():
    """From 50,000 codes on, searches that add up build the tables of multi-index hashing."""
    rng = np.random.default_rng(0)
    words = rng.integers(0, 2**63, (60_000, 1), dtype=np.uint64).view(np.uint8)
    index = HammingIndex.from_codes(words)
    asked = words[:1200].copy()
    asked[:, 0] ^= 3
    first, again = index.search_radius(asked[:20], 5), index.search_radius(asked, 5)
    assert index.stats().table_bytes > 0
    assert again.ids[: len(first.ids)].tolist() == first.ids.tolist()
    assert again.distances[: len(first.ids)].tolist() == first.distances.tolist()
    crowded = HammingIndex.from_codes(np.unpackbits(words[:, :2], axis=1)[:, :8].repeat(2, axis=1))
    assert crowded.stats().table_bytes == 0
