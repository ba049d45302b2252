"""One split, one loss, one rule: what is held out, who is compared, and which candidate is taken."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.neighbors import KNeighborsClassifier

from kinhash import EnergyHasher
from kinhash._internal.rows import Rows
from kinhash._internal.stages import Stages
from kinhash.encoders import hold_out
from kinhash.encoders.base import ENOUGH_ROWS, MOST_ROWS, Candidate
from kinhash.encoders.expected_labels import PENALTIES, ExpectedLabels
from kinhash.encoders.features import RBF, Both, Plain, worth_trying
from kinhash.encoders.label_models import log_losses
from kinhash.encoders.ridge import Ridge
from kinhash.supervision import Training, from_labels, from_pairs
from kinhash.tuning import tune
from kinhash.tuning.tuner import cheapest_good


def rows_and_classes(n=400, k=4, p=6, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    return 2 * rng.normal(size=(k, p))[y] + noise * rng.normal(size=(n, p)), y


def training(X, y, weights=None, seed=0):
    return Training(
        Rows(np.asarray(X, float)), from_labels(y), weights, np.random.default_rng(seed), Stages()
    )


# -- the rule -----------------------------------------------------------------------------------------


candidates = st.integers(2, 30).flatmap(
    lambda n_rows: st.lists(
        st.tuples(
            st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 4.0]), min_size=n_rows, max_size=n_rows),
            st.integers(0, 2),
        ),
        min_size=1,
        max_size=8,
    )
)


@given(given_candidates=candidates)
def test_the_cheapest_within_one_standard_error_by_brute_force(given_candidates):
    tried = [
        Candidate(Plain(), np.array(losses), np.zeros(len(losses)), cost) for losses, cost in given_candidates
    ]
    means = [sum(losses) / len(losses) for losses, _ in given_candidates]
    best = given_candidates[means.index(min(means))][0]
    good = []
    for place, (losses, cost) in enumerate(given_candidates):
        apart = [one - other for one, other in zip(losses, best, strict=True)]
        mean = sum(apart) / len(apart)
        error = (sum((one - mean) ** 2 for one in apart) / len(apart) / len(apart)) ** 0.5
        if mean <= error + 1e-12:
            good.append((cost, place))
    # Means that are level but for the last digit may be taken for one another.
    assert any(cheapest_good(tried) is tried[place] for cost, place in good if cost == min(good)[0])


def test_of_equals_the_first_is_taken_and_a_cheap_one_must_be_good():
    rng = np.random.default_rng(0)
    losses = rng.uniform(1, 2, 100)
    one, same = (Candidate(Plain(), losses, losses, 0) for _ in range(2))
    assert cheapest_good([one, same]) is one
    dear = Candidate(Plain(), losses, losses, 1)
    level = Candidate(Plain(), losses + rng.normal(size=100), losses, 0)
    level = Candidate(Plain(), level.losses - level.losses.mean() + losses.mean() + 0.05, losses, 0)
    assert cheapest_good([dear, level]) is level  # .05 behind, give or take .1
    behind = Candidate(Plain(), losses + 0.05, losses, 0)
    assert cheapest_good([dear, behind]) is dear  # behind on every single row


# -- the split ----------------------------------------------------------------------------------------


@given(
    sizes=st.lists(st.integers(1, 60), min_size=2, max_size=60),
    unknown=st.integers(0, 40),
    seed=st.integers(0, 99),
)
def test_a_fifth_is_held_out_and_no_class_loses_its_last_row(sizes, unknown, seed):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    labels = rng.permutation(np.concatenate([y, np.full(unknown, -1)]))
    known = labels >= 0
    given_labels = [int(c) if c >= 0 else None for c in labels]
    found = hold_out(training(np.zeros((len(labels), 1)), given_labels, seed=seed))
    if len(y) < ENOUGH_ROWS:
        assert found is None
        return
    spare = len(y) - len(sizes)
    if found is None:
        assert spare == 0
        return
    assert len(found.held) == min(len(y) // 5, spare)
    both = np.concatenate([found.part, found.held])
    assert np.array_equal(np.sort(both), np.flatnonzero(known))
    assert set(labels[found.part]) == set(labels[known])


def test_many_rows_are_a_sample_and_weightless_ones_are_left_out():
    n = 3 * MOST_ROWS
    y = np.arange(n) % 3
    weights = (np.arange(n) % 2).astype(float)
    found = hold_out(training(np.zeros((n, 1)), y, weights))
    assert len(found.part) + len(found.held) == MOST_ROWS
    assert len(found.held) == MOST_ROWS // 5
    assert (np.concatenate([found.part, found.held]) % 2 == 1).all()
    assert (np.diff(found.part) < 0).any()  # in random order


def test_pairs_and_tags_are_held_out_too():
    X, y = rows_and_classes()
    left, right = np.arange(399), np.arange(1, 400)
    pairs = from_pairs(left, right, np.where(y[left] == y[right], 1, -1), 400)
    found = hold_out(Training(Rows(X), pairs, None, np.random.default_rng(0), Stages()))
    assert len(found.held) == 80
    found = hold_out(training(X, [{str(c), "all"} for c in y]))
    assert len(found.held) == 80


# -- who is compared ------------------------------------------------------------------------------------


@dataclass(repr=False, kw_only=True)
class Picky(Ridge):
    """An encoder from outside: it leaves its penalty open, and compares by a loss of its own."""

    best: float = 3.0

    def candidates(self, training, solution):
        split = hold_out(training)
        if self.alpha != "auto" or split is None:
            return
        for alpha in (1.0, 2.0, 3.0, 4.0):
            losses = (alpha - self.best) ** 2 + 0.0 * split.held
            yield Candidate(Picky(alpha=alpha, best=self.best), losses, losses + 10, cost=0)


def test_an_encoder_from_outside_is_tuned():
    X, y = rows_and_classes()
    for best in (2.0, 3.0):
        choice = tune(training(X, y), Picky(best=best))
        assert choice.encoder.alpha == best
        assert (choice.loss, choice.chance) == (0.0, 10.0)
    fixed = Picky(alpha=7.0)
    assert tune(training(X, y), fixed).encoder is fixed
    given_encoder = Picky(best=4.0)
    fitted = EnergyHasher(8, encoder=given_encoder, random_state=0).fit(X, y)
    by_hand = EnergyHasher(8, encoder=Picky(alpha=4.0), random_state=0).fit(X, y)
    assert given_encoder.alpha == "auto"
    np.testing.assert_allclose(fitted.decision_function(X), by_hand.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("encoder", [ExpectedLabels(), Picky()], ids=repr)
def test_too_few_rows_leave_an_encoder_as_it_is(encoder):
    X, y = rows_and_classes(n=ENOUGH_ROWS - 1)
    choice = tune(training(X, y), encoder)
    assert choice.encoder is encoder
    assert choice.loss is None
    X, y = rows_and_classes(n=ENOUGH_ROWS)
    assert tune(training(X, y), encoder).encoder is not encoder


def test_nothing_is_compared_where_nothing_is_open():
    X, y = rows_and_classes()
    for encoder in (
        ExpectedLabels(features="plain", penalty=2.0),
        ExpectedLabels(label_model=KNeighborsClassifier(5), features="rbf"),
        Ridge(),
    ):
        choice = tune(training(X, y), encoder)
        assert choice.encoder is encoder
        assert (choice.loss, choice.chance) == (None, None)


def tried(encoder, X, y, seed=0):
    split = hold_out(training(X, y, seed=seed))
    return list(encoder.candidates(training(X, y, seed=seed), None)), split


def gains(one, other):
    """Whether ``one`` has a smaller loss than ``other``, by more than the standard error."""
    less = other.losses - one.losses
    return less.mean() > less.std() / np.sqrt(len(less))


@pytest.mark.parametrize("kind", ["classes", "tags"])
@pytest.mark.parametrize("noise", [0.5, 1.0, 3.0])
def test_candidates_are_tried_as_long_as_they_gain(kind, noise):
    """Features from cheap to dear, penalties of each from strong to weak."""
    X, y = rows_and_classes(noise=noise)
    y = y if kind == "classes" else [{str(c), "odd" if c % 2 else "even"} for c in y]
    found, _ = tried(ExpectedLabels(), X, y)
    by_kind = {}
    for one in found:
        by_kind.setdefault(one.encoder.features.name, []).append(one)
    names = [features.name for features in worth_trying(Rows(X))]
    assert list(by_kind) == names[: len(by_kind)]
    best = []
    for some in by_kind.values():
        assert [one.encoder.penalty for one in some] == list(PENALTIES[: len(some)])
        steps = [gains(one, before) for before, one in pairwise(some)]
        assert all(steps[:-1])
        assert len(some) == len(PENALTIES) or not steps[-1]
        best.append(some[-1] if steps[-1] else some[-2])
    steps = [gains(one, before) for before, one in pairwise(best)]
    assert all(steps[:-1])
    assert len(by_kind) == len(names) or not steps[-1]
    if noise == 3.0:
        assert len(found) < len(names) * len(PENALTIES)
    assert {one.encoder.features.name for one in found if one.cost == 0} == {"plain"}


def test_what_is_fixed_stays_fixed():
    X, y = rows_and_classes()
    found, _ = tried(ExpectedLabels(penalty=5.0, temperature=3.0), X, y)
    assert {(one.encoder.penalty, one.encoder.temperature) for one in found} == {(5.0, 3.0)}
    assert len({one.encoder.features.name for one in found}) == len(found) > 1
    found, _ = tried(ExpectedLabels(features=RBF(n_centers=30)), X, y)
    assert {repr(one.encoder.features) for one in found} == {repr(RBF(n_centers=30))}
    found, _ = tried(ExpectedLabels(label_model=KNeighborsClassifier(5)), X, y)
    assert {type(one.encoder.features) for one in found} >= {Plain, Both}
    assert {one.encoder.penalty for one in found} == {"auto"}
    given_encoder = ExpectedLabels()
    tried(given_encoder, X, y)
    assert (given_encoder.penalty, given_encoder.features) == ("auto", "auto")


def test_losses_are_those_of_scikit_learns_model_on_the_held_out_rows():
    X, y = rows_and_classes(noise=2.0)
    found, split = tried(ExpectedLabels(features="plain"), X, y)
    part, held = X[split.part], X[split.held]
    mean, scale = part.mean(axis=0), part.std(axis=0)
    for one in found:
        theirs = LogisticRegression(C=1 / one.encoder.penalty, tol=1e-8, max_iter=1000)
        theirs.fit((part - mean) / scale, y[split.part])
        expected = log_loss(y[split.held], theirs.predict_proba((held - mean) / scale))
        assert one.losses.mean() == pytest.approx(expected, abs=0.01)
        shares = np.bincount(y[split.part]) / len(split.part)
        assert one.chance.mean() == pytest.approx(-np.log(shares[y[split.held]]).mean(), rel=1e-4)


def test_features_that_do_not_help_are_not_paid_for():
    """Lines divide these classes; only distances from a point divide those."""
    rng = np.random.default_rng(0)
    X, y = rows_and_classes(n=1000, noise=2.0)
    assert tune(training(X, y), ExpectedLabels()).encoder.features.name == "plain"
    angle, ring = rng.uniform(0, 2 * np.pi, 1000), rng.integers(0, 3, 1000)
    X = np.c_[ring * np.cos(angle), ring * np.sin(angle), np.full(1000, 3.0)]
    X += 0.05 * rng.normal(size=X.shape)
    choice = tune(training(X, ring), ExpectedLabels())
    assert choice.encoder.features.name != "plain"
    assert choice.loss < 0.5 * choice.chance


# -- the loss ---------------------------------------------------------------------------------------------


@given(seed=st.integers(0, 999), n=st.integers(1, 12), t=st.integers(2, 6))
def test_log_losses_are_scikit_learns(seed, n, t):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, t, n)
    chances = rng.dirichlet(np.ones(t), n)
    found = log_losses(chances, sp.csr_array(np.eye(t)[y]), True)
    expected = [log_loss([y[i]], chances[i : i + 1], labels=np.arange(t)) for i in range(n)]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    tags, chances = rng.integers(0, 2, (n, t)), rng.uniform(0.01, 0.99, (n, t))
    found = log_losses(chances, sp.csr_array(tags), False)
    expected = [
        sum(log_loss([tags[i, j]], [chances[i, j]], labels=[0, 1]) for j in range(t)) for i in range(n)
    ]
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("exclusive", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_sure_and_wrong_model_has_a_large_and_finite_loss(exclusive, dtype):
    found = log_losses(np.array([[1, 0], [0, 1]], dtype), sp.csr_array([[0.0, 1.0], [0.0, 1.0]]), exclusive)
    assert 10 < found[0] < 100
    assert found[1] < 1e-4
