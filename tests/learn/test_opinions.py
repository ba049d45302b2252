"""What opinions say of a batch: gradients against losses that are written out, draws, and rows that are unknown."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from kinhash.learn import opinions
from kinhash.learn.opinions import (
    SHARP,
    TAU,
    TEMPERATURE,
    Batch,
    Classes,
    Looks,
    Matrix,
    PairEnergy,
    Ranking,
    Tags,
    Tree,
    draw_rows,
    slope_of,
)
from kinhash.learn.pairs import Triplets, Verdicts
from kinhash.learn.views import Partners
from kinhash.paper import ENERGIES

N, D, M = 30, 4, 12  # rows, bits, rows of a batch


def a_batch(seed, m=M, repeated=False):
    """Rows, with or without repetition, their bits, and their looks."""
    rng = np.random.default_rng(seed)
    looks = rng.normal(size=(N, 5))
    looks = (looks / np.linalg.norm(looks, axis=1, keepdims=True)).astype(np.float32)
    rows = rng.integers(0, N // 2, m) if repeated else rng.permutation(N)[:m]
    bits = rng.uniform(-0.9, 0.9, (m, D)).astype(np.float32)
    return Batch(rows, bits, lambda: looks[rows]), looks


def check_gradient(opinion, batch, loss, seed):
    """The gradient along random directions against differences of the loss."""
    found, q = opinion.gradient(batch), batch.bits.astype(np.float64)
    assert found.shape == q.shape
    for toward in np.random.default_rng(seed + 1).normal(size=(3, *q.shape)):
        wanted = (loss(q + 1e-5 * toward) - loss(q - 1e-5 * toward)) / 2e-5
        assert (found * toward).sum() == pytest.approx(wanted, abs=5e-4)


def by_hand(kind, seed):
    """A wish, and how much row i wants row j near and how similar they are, one by one."""
    rng = np.random.default_rng(seed + 100)
    known = rng.random(N) > 0.25
    classes = np.where(known, rng.integers(0, 4, N), -1)
    if kind == "classes":
        return Classes(classes), lambda i, j: float(known[i] and classes[i] == classes[j]), None
    if kind == "matrix":
        between = rng.uniform(-1, 1, (4, 4))
        between = np.where(np.eye(4), 1, (between + between.T) / 2)

        def similar(i, j):
            return between[classes[i], classes[j]]

        return (
            Matrix(classes, between),
            lambda i, j: max(similar(i, j), 0) if known[i] and known[j] else 0.0,
            similar,
        )
    if kind == "tree":
        leaves = np.array([[0, 0], [0, 1], [1, 2], [1, 3]])
        levels = np.where(known[:, None], leaves[classes], -1)
        return (
            Tree(levels, np.array([2.0, 1.0])),
            None,
            lambda i, j: 2 * np.average(levels[i] == levels[j], weights=[2, 1]) - 1,
        )
    sets = [set(rng.choice(6, rng.integers(0, 4), replace=False)) if known[i] else set() for i in range(N)]
    tags = sp.csr_array(np.array([[tag in row for tag in range(6)] for row in sets], np.int8))
    graded = kind == "tags"

    def jaccard(i, j):
        share = len(sets[i] & sets[j]) / max(len(sets[i] | sets[j]), 1)
        return share if graded else float(share > 0)

    return Tags(tags, known, graded), lambda i, j: jaccard(i, j) ** 2, lambda i, j: jaccard(i, j) or -1.0


def wants(kind, near, wish, rows):
    """Wishes (m, m), rows summing to one or zero, the own row left out."""
    m, apart = len(rows), rows[:, None] != rows
    if kind == "tree":
        T = np.zeros((m, m))
        for nodes, share in zip(wish.levels[rows].T, (2 / 3, 1 / 3), strict=True):
            same = (nodes[:, None] == nodes) & (nodes >= 0)[:, None] & apart
            T += share * same / np.maximum(same.sum(axis=1, keepdims=True), 1)
    else:
        T = np.array([[near(i, j) if i != j else 0.0 for j in rows] for i in rows])
    return T / np.where(T.sum(axis=1, keepdims=True) > 0, T.sum(axis=1, keepdims=True), 1)


def cross_entropy(T, weights, q, rows):
    """Of wishes and the softmax of agreements, the own row left out."""
    logits = np.where(rows[:, None] != rows, SHARP * (q @ q.T) / D, -np.inf)
    shares = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    shares[rows[:, None] == rows] = 0
    return -(weights[:, None] * (T.sum(axis=1) > 0)[:, None] * T * shares).sum() / len(q)


KINDS = ["classes", "matrix", "tree", "tags", "any"]


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 10_000), repeated=st.booleans())
@settings(max_examples=20)
def test_rankings_by_labels_and_looks(kind, seed, repeated):
    batch, looks = a_batch(seed, repeated=repeated)
    wish, near, _ = by_hand(kind, seed)
    rng = np.random.default_rng(seed + 7)
    weights = [rng.random(N) * (rng.random(N) > 0.2), rng.random(N)]
    of_labels = wants(kind, near, wish, batch.rows)
    cosine = looks[batch.rows] @ looks[batch.rows].T
    of_looks = np.exp((cosine - 1) / TAU) * (batch.rows[:, None] != batch.rows)
    of_looks /= of_looks.sum(axis=1, keepdims=True)

    def loss(q):
        pairs = zip((of_labels, of_looks), weights, strict=True)
        return sum(cross_entropy(T, w[batch.rows], q, batch.rows) for T, w in pairs)

    check_gradient(Ranking([wish, Looks(N)], weights, np.arange(N)), batch, loss, seed)


@pytest.mark.parametrize("name", [name for name in ENERGIES if name != "rank"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("repeated", [False, True])
def test_energies_of_pairs_of_a_batch(kind, name, repeated):
    batch, _ = a_batch(3, repeated=repeated)
    wish, _, similar = by_hand(kind, 3)
    if similar is None:

        def similar(i, j):
            return 1.0 if wish.classes[i] == wish.classes[j] and wish.classes[i] >= 0 else -1.0

    rows = batch.rows[wish.known[batch.rows]]  # the energy is one of labeled rows
    batch = Batch(rows, batch.bits[: len(rows)], batch.units)
    energy, m = ENERGIES.make(name), len(rows)
    weights = np.random.default_rng(4).random(N)
    s = np.array([[similar(i, j) for j in rows] for i in rows], float)
    apart = rows[:, None] != rows
    n_similar, n_other = (((s > 0) == similar) & apart for similar in (True, False))
    n_similar, n_other = (each.sum(axis=1, keepdims=True) for each in (n_similar, n_other))
    share = np.where(s > 0, 0.5 / np.maximum(n_similar, 1), 0.5 / np.maximum(n_other, 1)) * apart
    unit = abs(energy.slope(np.zeros(1), np.ones(1), TEMPERATURE)[0])

    def loss(q):
        each = energy.loss(TEMPERATURE * (q @ q.T) / D, s, TEMPERATURE) / unit / TEMPERATURE
        return (weights[rows][:, None] * share * each).sum() / m

    check_gradient(PairEnergy(wish, slope_of(energy), weights, np.arange(N)), batch, loss, 3)


@pytest.mark.parametrize("name", list(ENERGIES))
def test_energies_of_listed_pairs(name):
    rng, energy = np.random.default_rng(5), ENERGIES.make(name)
    left, right = np.arange(10), np.arange(10, 20)
    s = rng.choice([-1.0, -0.3, 0.6, 1.0], 10)
    opinion = Verdicts(left, right, s, None, slope_of(energy))
    rows = opinion.draw(12, rng)
    bits = rng.uniform(-0.9, 0.9, (len(rows), D)).astype(np.float32)
    k, unit = len(rows) // 2, abs(energy.slope(np.zeros(1), np.ones(1), TEMPERATURE)[0])
    wanted = s[rows[:k]]  # the pair of a row is its number

    def loss(q):
        agreement = (q[:k] * q[k:]).sum(axis=1) / D
        return SHARP * energy.loss(TEMPERATURE * agreement, wanted, TEMPERATURE).mean() / unit / TEMPERATURE

    check_gradient(opinion, Batch(rows, bits, lambda: bits), loss, 5)


def test_triplets():
    rng = np.random.default_rng(6)
    opinion = Triplets(np.arange(6), np.arange(6, 12), np.arange(12, 18))
    rows = opinion.draw(15, rng)
    assert np.array_equal(rows[5:10] - rows[:5], np.full(5, 6))
    bits = rng.uniform(-0.9, 0.9, (15, D)).astype(np.float32)

    def loss(q):
        nearer, further = (SHARP / D * (q[:5] * other).sum(axis=1) for other in (q[5:10], q[10:]))
        return -np.log(np.exp(nearer) / (np.exp(nearer) + np.exp(further))).mean()

    check_gradient(opinion, Batch(rows, bits, lambda: bits), loss, 6)


@pytest.mark.parametrize("own", [0.0, 0.2, 1.0])
def test_partners_of_another_view(own):
    """Of rows whose labels are all known: rows rank partners, and partners rank rows."""
    batch, looks = a_batch(7)
    targets = np.sign(np.random.default_rng(8).normal(size=(N, D))).astype(np.float32)
    wish = Classes(np.arange(N) % 4)
    rows, C = batch.rows, targets[batch.rows].astype(float)
    wanted = [(1.0, wish.classes[rows][:, None] == wish.classes[rows]), (own, np.eye(M))]
    wanted.append((0.3, np.exp((looks[rows] @ looks[rows].T - 1) / TAU)))

    def loss(q):
        logits = SHARP / D * q @ C.T
        total = 0.0
        for axis in (1, 0):
            shares = logits - np.log(np.exp(logits).sum(axis=axis, keepdims=True))
            for weight, T in wanted:
                T = T / T.sum(axis=1, keepdims=True)
                T = T if axis == 1 else T / T.sum(axis=0, keepdims=True)
                total -= weight * (T * shares).sum()
        return total / (2 * M)

    check_gradient(Partners(targets, np.arange(N), wish, own, 0.3), batch, loss, 7)


@pytest.mark.parametrize("kind", ["ranking", "energy"])
def test_blocks_and_threads_do_not_change_a_digit(kind, monkeypatch):
    rng = np.random.default_rng(9)
    bits, looks = (np.tanh(rng.normal(size=(700, 8))).astype(np.float32) / 3 for _ in range(2))
    wish = Classes(rng.integers(-1, 5, 700))
    opinion = (
        Ranking([wish, Looks(700)], [np.ones(700), np.ones(700)], np.arange(700))
        if kind == "ranking"
        else PairEnergy(wish, slope_of(ENERGIES.make("ksh")), np.ones(700), np.arange(700))
    )
    found = [opinion.gradient(Batch(np.arange(700), bits, lambda: looks, jobs)) for jobs in (1, 2, 4)]
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])
    monkeypatch.setattr(opinions, "BLOCK", 1000)
    whole = opinion.gradient(Batch(np.arange(700), bits, lambda: looks, 1))
    np.testing.assert_allclose(whole, found[0], atol=1e-6)


def test_similar_and_other_pairs_are_drawn_equally_often_and_by_weight():
    s, weights = np.array([1.0] + [-1.0] * 9), np.array([1.0] + [0.0] * 8 + [2.0])
    rows = Verdicts(np.arange(10), np.arange(10, 20), s, weights, None).draw(4000, np.random.default_rng(0))
    assert set(rows[:2000].tolist()) == {0, 9}
    assert (rows[:2000] == 0).mean() == 0.5


@given(n=st.integers(1, 60), size=st.integers(1, 40), weighted=st.booleans(), seed=st.integers(0, 99))
def test_rows_of_a_batch_are_those_that_count(n, size, weighted, seed):
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(100)[:n])
    chances = rng.random(100) * (rng.random(100) > 0.3) if weighted else None
    if weighted and not chances[rows].any():
        return
    found = draw_rows(rows, None if chances is None else np.cumsum(chances[rows]), size, rng)
    assert set(found.tolist()) <= set(rows.tolist())
    if weighted:
        assert len(found) == size
        assert (chances[found] > 0).all()
    else:
        assert len(np.unique(found)) == len(found) <= size
        assert n > size or np.array_equal(np.sort(found), rows)


def test_rows_are_drawn_as_often_as_their_weights_say():
    chances = np.repeat([3.0, 1.0], 50)
    found = draw_rows(np.arange(100), np.cumsum(chances), 100_000, np.random.default_rng(0))
    assert (found < 50).mean() == pytest.approx(0.75, abs=0.01)


def test_a_batch_of_one_row_changes_nothing():
    one = Batch(np.array([3]), np.full((1, D), 0.5, np.float32), lambda: np.ones((1, 5), np.float32))
    wish = Classes(np.zeros(N, int))
    for opinion in (
        Ranking([wish, Looks(N)], [np.ones(N), np.ones(N)], np.arange(N)),
        PairEnergy(wish, slope_of(ENERGIES.make("ksh")), np.ones(N), np.arange(N)),
    ):
        assert not opinion.gradient(one).any()
