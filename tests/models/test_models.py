"""A model is whole numbers: all ways to compute it agree, with Python's own whole numbers too."""

from __future__ import annotations

import json
import os
import pickle

import exact
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made import KINDS, hard_rows, made, stored

import kinhash
from kinhash import gpu
from kinhash.models import (
    Builder,
    Clip,
    Columns,
    Inexact,
    Linear,
    Unit,
    WholeMap,
    kernels,
    packed_codes,
    whole_network,
)
from kinhash.models import model as model_room
from kinhash.models.model import WIDEST_UNIT
from kinhash.models.steps import OWN
from kinhash.plugins import Rows, block_slices, map_blocks
from numpy_card import Twin

MANY = int(os.environ.get("KINHASH_EXAMPLES", "200"))  # 10,000 for the figure in docs/reliability.md
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=MANY, deadline=None)
@given(
    seed=seeds, kind=st.sampled_from(KINDS), p=st.integers(1, 12), d=st.integers(1, 5), h=st.integers(0, 6)
)
def test_scores_are_those_of_exact_whole_numbers(seed, kind, p, d, h):
    model, _, X = made(seed, kind, p, d, h)
    X = hard_rows(X, seed)[[0, 5, 22, 30, 31, 32, 40]]
    scores = model.run(X)
    assert scores.tolist() == [exact.run(model, row) for row in X]
    assert np.array_equal(model.run_with(np, X), scores)
    for place, bound in zip(model._values(X)[1:], model.bounds, strict=True):
        entries = place[0] if isinstance(place, tuple) else place
        assert np.abs(entries).max() <= bound.entry
        assert not bound.positive or entries.min() >= 0
    again = stored(model)
    assert again.id() == model.id()
    assert np.array_equal(again.scores(X), model.scores(X))


def test_every_step_is_in_a_model_here():
    kinds = {step.kind for kind in KINDS for step in made(0, kind)[0].steps_}
    assert kinds == {name.lower() for name in OWN} == set(exact.STEPS)


@pytest.mark.parametrize("kind", KINDS)
def test_rounding_hardly_moves_a_score(kind):
    for seed in range(5):
        model, scores, X = made(seed, kind, p=9, d=20, h=16)
        assert ((model.scores(X) > 0) == (scores(X) > 0)).mean() > 0.995


@pytest.mark.parametrize("p", [64, 384, WIDEST_UNIT, WIDEST_UNIT + 1, 4096])
def test_one_bit_in_a_thousand_differs_from_the_float_map(p):
    """Of rows whose columns are correlated, as real ones are."""
    rng = np.random.default_rng(p)
    X = rng.normal(size=(500, 40)) @ rng.normal(size=(40, p)) + 0.5 * rng.normal(size=(500, p))
    mean, inv = X.mean(axis=0), 1 / X.std(axis=0)
    W, U = rng.normal(size=(p, 64)), rng.normal(size=(p, 32)) / p**0.5
    b, c, V = np.zeros(64), rng.normal(size=32), rng.normal(size=(32, 64)) * p**0.5
    z = (X - mean) * inv
    scores = z @ W + b + np.maximum(z @ U + c, 0) @ V
    found = whole_network(mean, inv, W, b, U, c, V).scores(X)
    assert ((found > 0) != (scores > 0)).mean() <= 0.001


@pytest.mark.parametrize("kind", KINDS)
def test_one_digest_over_batches_threads_twins_types_and_a_card(kind, monkeypatch):
    model, _, X = made(1, kind, p=6, d=11, h=9)
    X = np.tile(hard_rows(X, 3), (12, 1)).astype(np.float32)
    expected = model.run(X)
    for size in (1, 7, 600):
        parts = map_blocks(lambda part: model.run(X[part]), block_slices(len(X), size), n_jobs=2)
        assert np.array_equal(np.concatenate(list(parts)), expected)
    assert np.array_equal(model.run(X[::-1])[::-1], expected)
    assert np.array_equal(model.run(X.astype(np.float64)), expected)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).run(X), expected)
    packed = np.packbits(expected > 0, axis=1)
    monkeypatch.setattr(model_room, "CARD_NUMBERS", 1 << 12)  # several blocks
    assert np.array_equal(packed_codes(model, Rows(X), n_jobs=2), packed)
    monkeypatch.setattr(gpu, "all_cards", lambda: (Twin(),))
    with kinhash.on_gpu():
        assert np.array_equal(packed_codes(model, Rows(X)), packed)
    assert model.run(X[:0]).shape == (0, model.n_bits)


@pytest.mark.parametrize("name", kernels.__all__)
@given(seed=seeds, dtype=st.sampled_from([np.float32, np.float64]))
@settings(deadline=None)
def test_what_answers_until_a_kernel_is_compiled_gives_its_bits(name, seed, dtype):
    rng = np.random.default_rng(seed)
    n, p, q = rng.integers(1, 9, 3)
    x = (rng.normal(size=(n, p)) * 10.0 ** rng.integers(-30, 30, (n, 1))).astype(dtype)
    x[0] = 0
    v = rng.integers(-(2**20), 2**20, (n, p)).astype(dtype)
    u, c = rng.integers(-500, 500, (n, p)), rng.integers(-500, 500, (q, p))
    squares, lengths = (c * c).sum(axis=1).astype(float), np.sqrt(rng.integers(0, 2**40, (n, 1)))
    table = rng.integers(0, 2**15, rng.integers(1, 400)).astype(float)
    shift = np.int64(rng.integers(0, 12))
    rest = {
        "whole_columns": (x, rng.normal(size=p), 10.0 ** rng.uniform(-3, 3, p), 2.0**20),
        "unit_rows": (v, 4096.0),
        "lengthened": (v.astype(np.float32), lengths, np.ldexp(1.0, rng.integers(-20, 3, p)), v[0] * 1.0),
        "similarities": ((u @ c.T).astype(np.float32), u.astype(dtype), squares, shift, False, table),
    }[name]
    kernel, answers = getattr(kernels, name), []
    for way in (kernel, kernels.plain(getattr(kernels.steps, name))):
        out = [np.empty((n, q))] if name == "similarities" else [np.empty((n, p))]
        out += [np.empty((n, 1))] if name == "unit_rows" else []
        way(*rest, *out)
        answers.append(out)
    assert all(np.array_equal(*two) for two in zip(*answers, strict=True))


# -- ends of the ranges --


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e-8, 1e8, 1e30, 1e298, np.nan, np.inf])
def test_weights_of_any_size_are_exact_or_refused(kind, size):
    try:
        model, _, X = made(0, kind, size=size)
    except Inexact:
        return
    assert np.isfinite(size)
    X = hard_rows(X)[:8]
    assert np.isfinite(model.scores(X)).all()
    assert model.run(X).tolist() == [exact.run(model, row) for row in X]
    assert np.array_equal(stored(model).run(X), model.run(X))


def test_only_columns_that_count_move_a_score():
    model, _, X = made(3, "network")
    left_out = model.steps_[0].factor == 0
    assert left_out.any()
    assert np.array_equal(model.run(np.where(left_out, -1e300, X)), model.run(X))


def test_a_row_on_the_boundary_has_the_bit_0_and_constants_decide_where_nothing_else_does():
    none = np.zeros((3, 0)), np.zeros(0), np.zeros((0, 3))
    still = whole_network(np.zeros(3), np.ones(3), np.zeros((3, 3)), np.array([1e30, -1e-30, 0.0]), *none)
    assert np.array_equal(still.scores(np.ones((1, 3))) > 0, [[True, False, False]])


def test_wide_rows_are_multiplied_in_float64():
    rng = np.random.default_rng(0)
    p = WIDEST_UNIT + 1
    W, U, V = rng.normal(size=(p, 3)), rng.normal(size=(p, 2)), rng.normal(size=(2, 3))
    model = whole_network(np.zeros(p), np.ones(p), W, np.ones(3), U, np.ones(2), V)
    assert [step.kind for step in model.steps_] == ["columns", "linear", "linear", "clip", "linear"]
    X = rng.normal(size=(2, p))
    assert model.run(X).tolist() == [exact.run(model, row) for row in X]


def test_too_many_columns_for_exact_distances_are_refused():
    with pytest.raises(Inexact, match="too many for exact distances"):
        Builder(10_000_000).unit_similarities(np.zeros((1, 10_000_000), np.float32), 1.0)


# -- hostile models: refused when made, and when loaded --


def columns(p=2, limit=2**20):
    return Columns((0,), np.zeros(p), np.ones(p), limit)


def linear(inputs, weight, shift=0, constant=0, p=2):
    return Linear(
        inputs, np.full((p, 2), weight, np.int32), np.full(2, shift, np.int16), np.full(2, constant, np.int64)
    )


HOSTILE = {
    "sums beyond 2^53": (linear((1,), 2**31 - 1, p=3), [columns(3, 2**24)], "A product can reach"),
    "shifted beyond 2^53": (linear((1,), 2**20, shift=40), [columns()], "A score can reach"),
    "constants": (linear((1, 2), 1, constant=2**52), [columns(), linear((1,), 1, 0, 2**52)], "A score"),
    "lengths given back": (linear((2,), 2000, shift=30), [columns(), Unit((1,), 4096)], "A score can reach"),
    "lengths left over": (Unit((1,), 4096), [columns()], "none that gives scores"),
    "lengths clipped": (Clip((2,), -1, 1), [columns(), Unit((1,), 4096)], "after one that keeps lengths"),
    "lengths added": (linear((1, 2), 1), [columns(), Unit((1,), 4096)], "after one that keeps lengths"),
    "squares too large": (Unit((3,), 1), [columns(), linear((1,), 2**30), Clip((2,), -9, 2**51)], "squares"),
    "another width": (linear((1,), 1, p=3), [columns()], "3 rows of weights for 2 entries"),
    "other widths added": (linear((1, 2), 1, p=3), [columns(3), columns(3)], "different widths"),
    "other columns": (columns(3), [columns(2), linear((1,), 1)], "3 columns and not 2|2 columns and not 3"),
    "its own value": (linear((2,), 1), [columns()], "value of a later one"),
    "a later value": (linear((7,), 1), [columns()], "value of a later one"),
    "the row itself": (linear((0,), 1), [columns()], "takes the row itself"),
    "no row": (Columns((1,), np.zeros(2), np.ones(2), 5), [columns()], "takes the row itself, or does not"),
    "too many inputs": (linear((1, 1, 1), 1), [columns()], "of 3 inputs"),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_model_that_could_leave_its_range_is_refused_when_made_and_when_loaded(name):
    last, before, says = HOSTILE[name]
    steps, p = (*before, last), len(before[0].mean)
    with pytest.raises(Inexact, match=says):
        WholeMap(p, steps, np.zeros(2, np.int16))
    arrays = {f"{i}.{key}": each for i, step in enumerate(steps) for key, each in step.arrays().items()}
    listed = [[step.kind, list(step.inputs), step.numbers()] for step in steps]
    arrays |= {"steps": text(listed), "units": np.zeros(2, np.int16)}
    with pytest.raises(Inexact, match=says):
        WholeMap.from_arrays(arrays)


def text(listed):
    raw = listed if isinstance(listed, str) else json.dumps(listed)
    return np.frombuffer(raw.encode("ascii"), np.uint8)


def put(value, place=0):
    def change(array):
        array[place] = value
        return array

    return change


ARRAYS = [  # of the network: 0 columns, 1 unit, 2 linear, 3 linear, 4 clip, 5 linear
    ("0.mean", lambda a: a.astype(np.float16), "f2"),
    ("0.mean", lambda a: a[:-1], "shape"),
    ("0.mean", put(np.nan), "mean holds values"),
    ("0.factor", put(np.inf), "factor holds values"),
    ("0.factor", put(np.nan), "factor holds values"),
    ("0.factor", put(-1.0), "factor holds values"),
    ("2.weights", lambda a: a[:-1], "6 rows of weights for 7 entries"),
    ("2.weights", lambda a: a.astype(np.int64), "i8"),
    ("2.weights", lambda a: a[:, :-1], "shift"),
    ("2.weights", lambda a: a[None], "shape"),
    ("2.shift", put(1000), "score can reach"),
    ("2.shift", put(1001), "shift holds values"),
    ("5.constant", put(2**63 - 1), "constant holds values"),
    ("5.constant", put(-(2**63)), "constant holds values"),
    ("5.weights", lambda a: np.full_like(a, 2**31 - 1), "can reach"),
    ("units", put(1001), "units holds values"),
    ("units", lambda a: np.full_like(a, -1000), "beyond the range of float64"),
    ("units", lambda a: a[:-1], "3 scores and 2 units"),
    ("units", lambda a: a.astype(np.float64), "f8"),
    ("steps", lambda a: a[:-1], "Expecting"),
    ("steps", lambda a: a.astype(np.int16), "not text"),
    ("steps", lambda a: np.full(200_000, 91, np.uint8), "not text"),
    ("steps", lambda a: np.full(50_000, 91, np.uint8), "levels"),
]
STEPS = [
    (lambda s: s.clear(), "no list of steps"),
    (lambda s: s.extend(s * 20), "too long"),
    (lambda s: s.__setitem__(0, "columns"), "does not know"),
    (lambda s: s[0].__setitem__(0, "strange"), "does not know"),
    (lambda s: s[0].__setitem__(0, ["columns"]), "does not know"),
    (lambda s: s[2].__setitem__(1, 1), "invalid input"),
    (lambda s: s[2].__setitem__(1, [True]), "invalid input"),
    (lambda s: s[2].__setitem__(1, [-1]), "a later one"),
    (lambda s: s[2].__setitem__(1, []), "of 0 inputs"),
    (lambda s: s[0][2].__setitem__("limit", 2**24 + 1), "limit of a step 'columns'"),
    (lambda s: s[0][2].__setitem__("limit", 2.0), "limit of a step 'columns'"),
    (lambda s: s[0][2].__setitem__("limit", True), "limit of a step 'columns'"),
    (lambda s: s[0][2].__setitem__("more", 1), "missing or unknown"),
    (lambda s: s[1][2].clear(), "missing or unknown"),
    (lambda s: s[4][2].__setitem__("high", 0), "high of a step 'clip'"),
    (lambda s: s[4][2].__setitem__("low", 1), "low of a step 'clip'"),
    (lambda s: s[4][2].__setitem__("high", 2**52), "high of a step 'clip'"),
    (lambda s: s.append(["join", [2], {}]), "keeps lengths"),
    (lambda s: s.append(["join", [6] * 65, {}]), "of 65 inputs"),
    (lambda s: s.extend(["join", [len(s)] * 64, {}] for i in range(5)), "side by side"),
    (lambda s: s.pop(), "3 scores|5 scores|units|unknown"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(ARRAYS) + len(STEPS)))
def test_forged_arrays_and_lists_of_steps_are_refused(number):
    arrays = {name: each.copy() for name, each in made(0, "network")[0].arrays().items()}
    if number < len(ARRAYS):
        name, change, says = ARRAYS[number]
        arrays[name] = change(arrays[name])
    else:
        change, says = STEPS[number - len(ARRAYS)]
        steps = json.loads(arrays["steps"].tobytes())
        change(steps)
        arrays["steps"] = text(steps)
    with pytest.raises(ValueError, match=says):
        WholeMap.from_arrays(arrays)


@pytest.mark.parametrize("name", ["5.more", "9.weights", "x", "2.weights.x"])
def test_arrays_that_no_step_reads_are_refused(name):
    arrays = made(0, "network")[0].arrays()
    with pytest.raises(ValueError, match="unknown"):
        WholeMap.from_arrays({**arrays, name: np.zeros(1)})
