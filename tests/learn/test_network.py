"""The network: its gradient, where it starts, how it moves, and that whole numbers are the same map."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from kinhash.learn.features import prepare_columns
from kinhash.learn.learner import Adam, Network, NetworkMap, Schedule, Source, train
from kinhash.learn.opinions import Classes, Looks, Ranking
from kinhash.paper import ITQ
from kinhash.plugins import Rows


def rows_and_classes(n=300, p=8, k=4, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(size=(n, p)) + 2 * rng.normal(size=(k, p))[y], y


def random_network(q, d, h, seed=0):
    net = Network(q, d, h)
    net.flat[:] = np.random.default_rng(seed).normal(size=len(net.flat)) / 2
    return net


@pytest.mark.parametrize("h", [0, 1, 7])
def test_the_gradient_is_the_derivative_of_the_scores(h):
    rng = np.random.default_rng(1)
    net, z = random_network(5, 3, h), rng.normal(size=(9, 5)).astype(np.float32)
    change = rng.normal(size=(9, 3)).astype(np.float32)

    def loss(flat):
        moved = Network(5, 3, h)
        moved.flat = flat
        W, U, b, c, V = (
            flat[start : start + size].reshape(shape)
            for start, size, shape in zip(
                np.cumsum([0, 15, 5 * h, 3, h]),
                [15, 5 * h, 3, h, 3 * h],
                [(5, 3), (5, h), 3, h, (h, 3)],
                strict=True,
            )
        )
        return ((z @ W + b + np.maximum(z @ U + c, 0) @ V) * change).sum()

    _, hidden = net.scores(z)
    found, flat = net.gradient(z, hidden, change), net.flat.astype(np.float64)
    assert (net.scores(z)[0] * change).sum() == pytest.approx(loss(flat), abs=1e-4)
    for toward in rng.normal(size=(5, len(flat))):
        wanted = (loss(flat + 1e-6 * toward) - loss(flat - 1e-6 * toward)) / 2e-6
        assert (found * toward).sum() == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize("n_bits", [1, 5, 8, 20])
def test_the_start_has_the_bits_of_itq(n_bits):
    """Of columns that are centered: on rows of unit length, up to the rank of the rows."""
    X = rows_and_classes()[0]
    X -= X.mean(axis=0)
    rows, rng = Rows(X), np.random.default_rng(0)
    columns = prepare_columns(rows, rng)
    net = Network.start(columns(rows, slice(None)), columns.sizes, n_bits, 0, np.random.default_rng(0))
    ours = net.scores(columns(rows, slice(None)))[0] > 0
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    theirs = ITQ(min(n_bits, 8), random_state=0).fit(unit).encode(unit).bits()
    agreement = (2.0 * ours[:, : min(n_bits, 8)] - 1).T @ (2.0 * theirs - 1) / len(X)
    found = np.abs(agreement).max(axis=0)  # each of ITQ's bits, whatever its place and sign
    assert ours.shape == (300, n_bits)
    assert np.median(found) > 0.8
    spread = net.scores(columns(rows, slice(None)))[0].std(axis=0)
    np.testing.assert_allclose(spread, 1, atol=1e-3)


def test_hidden_units_are_quiet_on_most_rows_at_the_start():
    X = rows_and_classes()[0]
    rows, rng = Rows(X), np.random.default_rng(0)
    columns = prepare_columns(rows, rng)
    z = columns(rows, slice(None))
    net = Network.start(z, columns.sizes, 8, 40, rng)
    _, hidden = net.scores(z)
    quiet = (hidden == 0).mean(axis=0)
    assert 0.6 < quiet.mean() < 0.8
    assert quiet.min() > 0.35
    assert np.ptp(quiet) > 0.4  # spread over the rows, also where there are few columns
    assert np.abs(hidden @ net.V).max() < 0.1 * np.abs(z @ net.W).max()
    assert Network.start(z[:3], columns.sizes, 8, 40, rng).U.shape == (8, 3)  # no more units than rows


def test_a_start_toward_scores_is_their_regression():
    rng = np.random.default_rng(2)
    z, toward = rng.normal(size=(200, 6)).astype(np.float32), rng.normal(size=(200, 4))
    net = Network.start(z, np.ones(6, np.float32), 4, 0, rng, toward=toward)
    unit = toward / np.sqrt((toward**2).mean())
    wanted = np.linalg.solve(z.T @ z + 0.01 * 200 * np.eye(6), z.T @ unit)
    np.testing.assert_allclose(net.W, wanted, atol=1e-4)


def test_adam_is_the_published_one():
    rng = np.random.default_rng(3)
    weights = rng.normal(size=50).astype(np.float32)
    adam, plain = Adam(weights), weights.astype(np.float64)
    mean, square = np.zeros(50), np.zeros(50)
    for t in range(1, 30):
        g = rng.normal(size=50).astype(np.float32)
        adam.move(g, 0.01, 2)
        mean, square = 0.9 * mean + 0.1 * g, 0.99 * square + 0.01 * g * g
        plain -= 0.01 * (mean / (1 - 0.9**t)) / (np.sqrt(square / (1 - 0.99**t)) + 1e-7)
    np.testing.assert_allclose(weights, plain, atol=1e-4)


def trained(jobs=1, steps=40, copied=None):
    X, y = rows_and_classes()
    rows, rng = Rows(X), np.random.default_rng(0)
    columns = prepare_columns(rows, rng)
    net = Network.start(columns(rows, slice(None)), columns.sizes, 8, 30, rng)
    net = net if copied is None else copied(net)
    opinion = Ranking([Classes(y), Looks(300)], [np.ones(300), np.full(300, 0.5)], np.arange(300))
    train(Source(columns, rows), [opinion], net, Schedule(steps, 64, 0.01), rng, jobs)
    return NetworkMap(columns, net), X, y


def test_training_brings_rows_of_a_class_together():
    before, X, y = trained(steps=1)
    after = trained()[0]
    agreements = []
    for one in (before, after):
        q = np.sign(one.scores(X))
        r = q @ q.T / 8
        agreements.append(r[y[:, None] == y].mean() - r[y[:, None] != y].mean())
    assert agreements[1] > agreements[0] + 0.05


@pytest.mark.parametrize("copied", [None, copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
@pytest.mark.parametrize("jobs", [1, 3])
def test_threads_and_copies_learn_the_same(jobs, copied):
    one, other = trained()[0], trained(jobs, copied=copied)[0]
    assert np.array_equal(one.network.flat, other.network.flat)
    assert np.shares_memory(other.network.flat, other.network.V)


def test_whole_numbers_are_the_same_map():
    found, X, _ = trained()
    float_scores, whole = found.scores(X), found.whole()
    scores = whole.scores(X)
    assert np.abs(scores - float_scores).max() < 1e-3 * np.abs(float_scores).max()
    firm = np.abs(float_scores) > 1e-3 * np.abs(float_scores).max()
    assert np.array_equal((scores > 0)[firm], (float_scores > 0)[firm])
