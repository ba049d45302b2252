"""Every kernel against its NumPy twin."""

from __future__ import annotations

from itertools import product
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from kinhash.codes import to_words
from kinhash.codes.packed import BitLayout
from kinhash.index.ids import Ids
from kinhash.index.kernels import (
    asymmetric,
    dedupe,
    grouped,
    grouped_margins,
    heap,
    layout,
    merge,
    multi_index,
    numpy_reference,
    passing,
    scalar,
    top_k,
    vector,
)
from kinhash.index.kernels import radius as radius_kernel
from kinhash.index.kernels.bit_weights import near_codes, weighed_bits, weighing_of
from kinhash.index.kernels.bits import lanes
from kinhash.index.kernels.multi_index import build_tables
from kinhash.index.segment import Segment, read_only

from .oracle import cases, random_codes

# Few widths: each is compiled once per process.
WIDTHS = st.sampled_from([1, 60, 64, 128, 200])


def compiled(module, name):
    """A callable of Python for a function that only kernels can call."""
    function = getattr(module, name)
    if name.startswith("any_weighted"):
        return njit(
            lambda blocks, g, queries, i, bounds, least, tag: function(
                blocks, g, queries, i, bounds, least, tag
            )
        )
    if name == "weighted_below":
        return njit(
            lambda blocks, g, query, planes, bound, tag: function(blocks, g, query, planes, bound, tag)
        )
    return njit(lambda blocks, g, queries, i, bounds, tag: function(blocks, g, queries, i, bounds, tag))


INSTRUCTIONS = {
    (module.__name__.rsplit(".")[-1], name): compiled(module, name)
    for module in (vector, scalar)
    for name in vector.__all__
}


@pytest.mark.parametrize("n_words", [1, 3])
@pytest.mark.parametrize("kind", ["vector", "scalar"])
def test_group_instructions(kind, n_words):
    rng = np.random.default_rng(n_words)
    tag = (0,) * n_words
    for trial in range(20):
        codes = to_words(random_codes(rng, 192, 64 * n_words, 5, 0.1))
        blocks = layout.aligned_blocks(192, n_words)
        blocks[:] = numpy_reference.blocks_of(codes)
        queries = to_words(random_codes(rng, 6, 64 * n_words, 5, 0.1))
        queries[0] = codes[70]
        bounds = rng.integers(0, 40 * n_words, 6)
        bounds[0] = trial % 2
        for name in ("any_below", "any_below_4", "mask_below"):
            for first in range(3):
                arguments = (blocks, first, queries, first, bounds, tag)
                assert INSTRUCTIONS[kind, name](*arguments) == getattr(numpy_reference, name)(*arguments)
        least = rng.integers(0, 16, 8 * n_words).astype(np.uint8).view(np.uint64)
        for name in ("any_weighted", "any_weighted_4"):
            arguments = (blocks, 1, queries, 0, 8 * bounds, least, tag)
            assert INSTRUCTIONS[kind, name](*arguments) == getattr(numpy_reference, name)(*arguments)
        planes = rng.integers(0, 2**64, (4, n_words), dtype=np.uint64)
        for bound in (0, 1, 200 * n_words, 10_000):
            arguments = (blocks, 1, queries[0], planes, bound, tag)
            assert INSTRUCTIONS[kind, "weighted_below"](*arguments) == numpy_reference.weighted_below(
                *arguments
            )


def test_near_codes_of_a_group():
    """Those that exist, are nearer than the bound, and pass."""
    rng = np.random.default_rng(5)
    codes = to_words(random_codes(rng, 100, 64, 5, 0.1))
    blocks, queries = layout.blocks_of(codes), to_words(random_codes(rng, 3, 64, 5, 0.1))
    np.testing.assert_array_equal(blocks, numpy_reference.blocks_of(codes))
    bounds, passing = np.array([5, 30, 40]), rng.integers(0, 2**64, 2, dtype=np.uint64)
    for g, i in product(range(2), range(3)):
        near = numpy_reference.hamming(queries[i : i + 1], codes)[0] < bounds[i]
        near &= np.unpackbits(passing.view(np.uint8), bitorder="little")[:100] > 0
        wanted = sum(1 << int(place) for place in np.flatnonzero(near[64 * g : 64 * g + 64]))
        assert near_codes(blocks, 100, g, queries, i, bounds, None, passing, (0,)) == wanted


@pytest.mark.parametrize(("group", "start", "stop"), [(0, 0, 64), (0, 0, 1), (2, 140, 200), (1, 70, 75)])
def test_lanes_of_a_group(group, start, stop):
    wanted = sum(1 << place for place in range(64) if start <= 64 * group + place < stop)
    assert lanes(group, start, stop) == wanted


@given(case=cases())
def test_grouping_and_lists(case):
    _, packed, _, _ = case
    words = read_only(to_words(packed))
    results = []
    for module in (dedupe, numpy_reference):
        blocks = layout.aligned_blocks(len(words), words.shape[1])
        code_of_row = np.empty(len(words), np.uint32)
        n_codes = module.group_codes(words, blocks, code_of_row) if len(words) else 0
        starts, rows = np.empty(n_codes + 1, np.uint32), np.empty(len(words), np.uint32)
        module.list_rows(code_of_row, n_codes, starts, rows)
        results.append((n_codes, numpy_reference.codes_of(blocks, n_codes), code_of_row, starts, rows))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_grouping_outgrows_its_table():
    rng = np.random.default_rng(0)
    words = rng.integers(0, 2**64, (40_000, 1), dtype=np.uint64)
    words[20_000:] = words[:20_000]
    blocks, code_of_row = layout.aligned_blocks(40_000, 1), np.empty(40_000, np.uint32)
    assert dedupe.group_codes(read_only(words), blocks, code_of_row) == 20_000
    np.testing.assert_array_equal(code_of_row, np.tile(np.arange(20_000), 2))


@given(
    lists=st.lists(st.lists(st.integers(0, 40), min_size=1, max_size=12), min_size=1, max_size=12),
    room=st.integers(0, 60),
    filled=st.integers(0, 5),
)
def test_merging(lists, room, filled):
    """Runs of any lengths, disjoint as rows are, in the order of their first rows."""
    taken: set[int] = set()
    runs = []
    for run in lists:
        fresh = sorted(set(run) - taken)
        taken |= set(fresh)
        runs += [fresh] if fresh else []
    runs.sort()
    starts = np.cumsum([0, *map(len, runs)]).astype(np.uint32)
    rows = np.concatenate(runs).astype(np.uint32)
    codes = np.arange(len(runs))
    outs = [np.full(filled + room, -1), np.full(filled + room, -1)]
    ends = [
        module.merge_level(codes, 0, len(runs), read_only(starts), read_only(rows), out, filled, None)
        for module, out in zip((merge, numpy_reference), outs, strict=True)
    ]
    assert ends[0] == ends[1]
    np.testing.assert_array_equal(*outs)


@given(keys=st.lists(st.integers(0, 1000), max_size=60, unique=True), room=st.integers(1, 20))
def test_a_heap_keeps_the_smallest_keys(keys, room):
    kept = np.full(room, heap.FAR)
    for key in keys:
        if key < kept[0]:
            heap.put_in_heap(kept, key)
    assert kept[0] == kept.max()
    heap.sort_heap(kept)
    assert kept.tolist() == (sorted(keys) + room * [int(heap.FAR)])[:room]


def test_merging_long_interleaved_lists():
    """Many more rows than there is room for: gathering is cut back, and stops at the right code."""
    rng = np.random.default_rng(1)
    for _ in range(300):
        owner = rng.integers(0, rng.integers(2, 30), rng.integers(50, 400))
        runs = sorted(np.flatnonzero(owner == code).tolist() for code in np.unique(owner))
        starts = np.cumsum([0, *map(len, runs)]).astype(np.uint32)
        rows, codes = np.concatenate(runs).astype(np.uint32), np.arange(len(runs))
        first = int(rng.integers(0, len(runs)))  # so that the rows are not simply 0, 1, 2, ...
        outs = [np.full(rng.integers(1, 40), -1)] * 2
        outs[1] = outs[0].copy()
        for module, out in zip((merge, numpy_reference), outs, strict=True):
            module.merge_level(codes, first, len(runs), read_only(starts), read_only(rows), out, 0, None)
        np.testing.assert_array_equal(*outs)


def segment(packed, n_bits):
    return Segment.build(to_words(packed), n_bits, Ids(len(packed)))


@st.composite
def weighings(draw):
    """Layouts as the kernels take them, from a share of alike bits: plain ones, and weights from 1 to 15."""
    share, kin, alike = (draw(st.sampled_from(choices)) for choices in ([0, 0.4, 1], [1, 4, 15], [1, 2]))
    return lambda n_bits: weighing_of(BitLayout(round(share * n_bits), kin, alike), n_bits)


@given(word=st.integers(0, 2**64 - 1), weigh=weighings())
def test_weighed_bits(word, weigh):
    weighing = weigh(64)
    bits = np.unpackbits(np.array([word], np.uint64).view(np.uint8)).astype(bool)
    weights = (
        np.ones(64)
        if weighing.planes is None
        else np.unpackbits(weighing.planes.view(np.uint8), axis=1).T @ [1, 2, 4, 8]
    )
    assert weighed_bits(np.uint64(word), weighing.planes, 0) == weights[bits].sum()
    assert weighing.distances(np.array([[word]], np.uint64)).tolist() == [weights[bits].sum()]


@given(case=cases(n_bits=WIDTHS), share=st.floats(0, 1), weigh=weighings())
def test_top_k(case, share, weigh):
    _, packed, queries, n_bits = case
    if not len(packed):
        return
    weighing = weigh(n_bits)
    s, words = segment(packed, n_bits), read_only(to_words(queries))
    k = max(1, round(share * len(packed)))
    found = []
    for module in (top_k, numpy_reference):
        distances, ranks = np.empty((len(words), k), np.uint16), np.empty((len(words), k), np.int64)
        module.top_k(
            s.blocks, s.n_codes, s.starts, s.rows, words, distances, ranks,
            weighing.planes, weighing.least, None, None, (0,) * words.shape[1],
        )  # fmt: skip
        found.append((distances, ranks))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


@given(case=cases(n_bits=WIDTHS), share=st.floats(0, 1), weigh=weighings(), listed=st.booleans())
def test_top_k_of_passing_rows(case, share, weigh, listed):
    """With the bits of the codes, and with all bits set, where the lists decide."""
    rng, packed, queries, n_bits = case
    mask = rng.random(len(packed)) < rng.choice([0.1, 0.5, 0.9])
    if not mask.any():
        return
    weighing, s, words = weigh(n_bits), segment(packed, n_bits), read_only(to_words(queries))
    k, found = max(1, round(share * int(mask.sum()))), []
    mask.flags.writeable = False
    for module in (passing, numpy_reference):
        bits = np.zeros(-(-s.n_codes // 64), np.uint64)
        starts = s.starts if s.starts.size else read_only(np.arange(s.n_codes + 1, dtype=np.uint32))
        rows = s.rows if s.rows.size else read_only(np.arange(s.n_codes, dtype=np.uint32))
        module.passing_codes(mask, starts, rows, bits)
        found.append(bits)
    np.testing.assert_array_equal(*found)
    bits = read_only(np.full_like(bits, 2**64 - 1) if listed and s.starts.size else bits)
    found = []
    for module in (top_k, numpy_reference):
        distances, ranks = np.empty((len(words), k), np.uint16), np.empty((len(words), k), np.int64)
        module.top_k(
            s.blocks, s.n_codes, s.starts, s.rows, words, distances, ranks,
            weighing.planes, weighing.least, bits, mask, (0,) * words.shape[1],
        )  # fmt: skip
        found.append((distances, ranks))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


@given(case=cases(n_bits=WIDTHS), radius=st.integers(0, 210), weigh=weighings())
def test_scan_and_probe_within_a_radius(case, radius, weigh):
    _, packed, queries, n_bits = case
    if not len(packed):
        return
    s, words = segment(packed, n_bits), read_only(to_words(queries))
    tag = (0,) * words.shape[1]
    for weighing in (weigh(n_bits), weighing_of(BitLayout(), n_bits)):
        arguments = (s.blocks, s.n_codes, words, radius, weighing.planes, weighing.least, None, tag)
        truth = numpy_reference.scan_within(*arguments)
        np.testing.assert_array_equal(np.sort(radius_kernel.scan_within(*arguments)), truth)
    if radius <= 3 * -(-packed.shape[1] // 2):  # beyond, chunks would be enumerated almost whole
        tables = build_tables(s.blocks, s.n_codes, packed.shape[1])
        np.testing.assert_array_equal(np.sort(tables.within(s.blocks, words, radius)), truth)


@given(
    case=cases(n_bits=WIDTHS), share=st.floats(0, 1), kind=st.sampled_from(["normal", "ties", "zeros", "one"])
)
def test_top_k_weighted(case, share, kind):
    rng, packed, queries, n_bits = case
    if not len(packed):
        return
    s, words = segment(packed, n_bits), read_only(to_words(queries))
    weights = np.zeros((len(words), 64 * words.shape[1]))
    shape = (len(words), n_bits)
    values = {"normal": np.abs(rng.normal(size=shape)), "ties": rng.integers(0, 3, shape).astype(float)}
    values |= {"zeros": np.zeros(shape), "one": np.eye(len(words), n_bits) * 7}
    weights[:, :n_bits] = values[kind]
    planes, steps = asymmetric.bit_planes(weights)
    k = max(1, round(share * len(packed)))
    found = []
    for module in (asymmetric, numpy_reference):
        distances, ranks = np.empty((len(words), k)), np.empty((len(words), k), np.int64)
        module.top_k_weighted(
            s.blocks,
            s.n_codes,
            s.starts,
            s.rows,
            words,
            weights,
            planes,
            steps,
            distances,
            ranks,
            (0,) * words.shape[1],
        )
        found.append((distances, ranks))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])


@given(
    case=cases(n_bits=WIDTHS),
    share=st.floats(0, 1),
    alike=st.floats(0.1, 0.9),
    weights=st.tuples(st.sampled_from([1, 4, 15]), st.sampled_from([1, 3])),
)
def test_groups(case, share, alike, weights):
    """Both searches in two steps, on groups of any size."""
    rng, packed, queries, n_bits = case
    if not len(packed):
        return
    fields = BitLayout(round(alike * n_bits), *weights)
    s, words = segment(packed, n_bits), read_only(to_words(queries))
    kin, tag = weighing_of(fields, n_bits).kin, (0,) * words.shape[1]
    with mock.patch.object(grouped, "LARGE_ENOUGH", 0):
        made = grouped.build_groups(numpy_reference.codes_of(s.blocks, s.n_codes), kin)
    groups = (made.kin, made.starts, made.codes, made.blocks, kin)
    k = max(1, round(share * len(packed)))
    margins = np.zeros((len(words), 64 * words.shape[1]))
    margins[:, :n_bits] = np.abs(rng.normal(size=(len(words), n_bits))) * rng.integers(0, 2, n_bits)
    bounds = asymmetric.bit_planes(np.where(np.unpackbits(kin.view(np.uint8)), 0.0, margins))
    whole, floats = [], []
    for module in (grouped, numpy_reference):
        distances, ranks = np.empty((len(words), k), np.uint16), np.empty((len(words), k), np.int64)
        module.top_k_grouped(*groups, *weights, s.starts, s.rows, words, distances, ranks, tag)
        whole.append((distances, ranks))
    for module in (grouped_margins, numpy_reference):
        distances, ranks = np.empty((len(words), k)), np.empty((len(words), k), np.int64)
        answer = (words, margins, *bounds, distances, ranks)
        module.top_k_weighted_grouped(*groups, s.starts, s.rows, *answer, tag)
        floats.append((distances, ranks))
    np.testing.assert_array_equal(*[pair[0] for pair in whole])
    np.testing.assert_array_equal(*[pair[1] for pair in whole])
    np.testing.assert_array_equal(*[pair[0] for pair in floats])
    np.testing.assert_array_equal(*[pair[1] for pair in floats])


@given(case=cases(n_bits=WIDTHS), share=st.floats(0, 1))
def test_a_kept_part_is_what_building_it_would_give(case, share):
    rng, packed, _, n_bits = case
    whole = segment(packed, n_bits)
    np.testing.assert_array_equal(whole.words(), to_words(packed))
    mask = rng.random(len(packed)) < share
    part, built = whole.keep(mask), segment(packed[mask], n_bits)
    assert part.n_codes == built.n_codes
    for name in ("blocks", "starts", "rows"):
        np.testing.assert_array_equal(getattr(part, name), getattr(built, name))
    np.testing.assert_array_equal(part.ids.all(), np.flatnonzero(mask))


@given(case=cases(n_bits=st.sampled_from([16, 40, 64, 128])))
def test_tables(case):
    _, packed, _, n_bits = case
    s = segment(packed, n_bits)
    for chunk in range(-(-packed.shape[1] // 2)):
        results = []
        for module in (multi_index, numpy_reference):
            offsets, codes = np.empty(65537, np.uint32), np.empty(s.n_codes, np.uint32)
            values = np.empty(s.n_codes if s.blocks.shape[2] == 1 else 0, np.uint64)
            module.build_table(s.blocks, s.n_codes, chunk, offsets, codes, values)
            results.append((offsets, codes, values))
        for ours, theirs in zip(*results, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_every_kernel_has_a_twin():
    modules = (
        vector, top_k, radius_kernel, multi_index, dedupe, merge, asymmetric, grouped, grouped_margins,
        passing,
    )  # fmt: skip
    helpers = {
        "exact_distance", "fill_table", "count_passing", "first_passing", "mark_rows", "merge_levels",
        "with_room",
    }  # fmt: skip
    public = {name for module in modules for name in module.__all__} - helpers
    kernels = {name for name in public if any(hasattr(getattr(m, name, None), "py_func") for m in modules)}
    assert kernels >= {"top_k", "scan_within", "probe", "group_codes", "merge_level", "top_k_weighted"}
    assert all(hasattr(numpy_reference, name) for name in kernels | set(vector.__all__))


@pytest.mark.parametrize("n_bits", [40, 64, 128])
def test_probe_finds_every_near_code_once(n_bits):
    """Codes a few bits apart in several chunks, at every small radius."""
    rng = np.random.default_rng(n_bits)
    packed = random_codes(rng, 600, n_bits, 3, 0.04)
    s, words = segment(packed, n_bits), read_only(to_words(packed[:20]))
    tables = build_tables(s.blocks, s.n_codes, packed.shape[1])
    for radius in range(12):
        truth = numpy_reference.scan_within(
            s.blocks, s.n_codes, words, radius, None, None, None, (0,) * words.shape[1]
        )
        np.testing.assert_array_equal(np.sort(tables.within(s.blocks, words, radius)), truth)


def test_the_bound_loses_nothing_where_it_is_tight():
    """Short codes with few differing bits: the integer bound is next to the true sum."""
    rng = np.random.default_rng(2)
    packed = np.arange(256, dtype=np.uint8)[:, None]
    s = segment(packed, 8)
    for _ in range(200):
        rng.shuffle(packed)
        s = segment(packed, 8)
        query = read_only(to_words(packed[:1]))
        weights = np.zeros((1, 64))
        weights[0, :8] = rng.integers(1, 16, 8) * rng.choice([1.0, 1.0, 0.7])
        planes, steps = asymmetric.bit_planes(weights)
        found = []
        for module in (asymmetric, numpy_reference):
            distances, ranks = np.empty((1, 6)), np.empty((1, 6), np.int64)
            module.top_k_weighted(
                s.blocks, s.n_codes, s.starts, s.rows, query, weights, planes, steps, distances, ranks, (0,)
            )
            found.append(ranks)
        np.testing.assert_array_equal(*found)


@settings(max_examples=5)
@given(st.integers(0, 2**32))
def test_long_candidate_lists_are_cut_back(seed):
    """Ever nearer codes: the list of candidates overflows again and again."""
    rng = np.random.default_rng(seed)
    n = 20_000
    weight = np.linspace(64, 0, n).astype(int)
    bits = np.arange(64) < weight[:, None]
    packed = np.packbits(rng.permuted(bits, axis=1), axis=1)
    s = segment(packed, 64)
    query = read_only(np.zeros((1, 1), np.uint64))
    distances, ranks = s.top_k(query, 30)
    ones = np.bitwise_count(packed).sum(axis=1)
    np.testing.assert_array_equal(ranks[0], np.argsort(ones, kind="stable")[:30])
    np.testing.assert_array_equal(distances[0], np.sort(ones)[:30])
