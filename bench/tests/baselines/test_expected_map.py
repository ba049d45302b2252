"""map="expected": our map on the rivals' codes."""

from __future__ import annotations

import numpy as np
import pytest
from rival_cases import classes, signs, tags

import kinhash
from kinhash._internal.rows import Rows
from kinhash._internal.stages import Stages
from kinhash.errors import InvalidInput
from kinhash.hashers.base import Training
from kinhash.solvers.sample import draw_sample
from kinhash.supervision import from_labels
from kinhash.testing import check_hasher
from kinhash_bench.baselines import BASELINES
from kinhash_bench.baselines.expected_readout import RIDGE, codes_readout, energy_readout, group_means

pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")

QUICK = {"TSH": {"n_partners": 20}, "BSH": {"n_sweeps": 2}}


def has_codes(name):
    """Rows of the table whose codes are learned apart from their map: those that let one choose the map."""
    return "map" in BASELINES[name]().get_params()


LEARNED = [name for name in BASELINES if has_codes(name)]


def rival(name, n_bits=8, **settings):
    return BASELINES[name](random_state=0).set_params(
        n_bits=n_bits, map="expected", **QUICK.get(name, {}), **settings
    )


def training_of(X, y, weights=None):
    supervision = from_labels(y, len(X))
    return Training(Rows(X), supervision, weights, np.random.default_rng(0), Stages())


@pytest.mark.parametrize("name", LEARNED)
def test_every_rival_with_learned_codes_takes_it_and_keeps_the_contract(name, tmp_path):
    check_hasher(rival(name))
    X, y = classes()
    fitted = rival(name).fit(X, y)
    own = rival(name).set_params(map="own").fit(X, y)
    assert np.array_equal(fitted.codes_, own.codes_)  # the codes stay the rival's
    fitted.save(tmp_path / "model.kin")
    assert np.array_equal(kinhash.load(tmp_path / "model.kin").encode(X), fitted.encode(X))


@pytest.mark.parametrize("make", [classes, tags])
def test_rows_that_are_easy_to_label_get_the_rivals_own_codes(make):
    X, y = make(n=600, p=10)
    fitted = rival("SDH", 16).fit(X * 5, y)
    mapped = fitted.transform(X * 5) * 2.0 - 1
    assert (mapped == signs(fitted)).mean() > 0.9
    assert fitted.report_.facts["readout"] in ("codes", "energy")
    assert fitted.report_.facts["penalty"] > 0


def test_it_is_chosen_on_rows_split_off_only_where_there_are_enough():
    X, y = classes(n=120)
    assert rival("SDH").fit(X, y).report_.facts["penalty"] == 1.0
    assert rival("SDH").fit(X, y).report_.facts["readout"] == "codes"


@pytest.mark.parametrize("n", [400, 4400], ids=["all rows are tried", "a part is tried"])
def test_its_features_are_similarities_where_only_distances_tell_the_classes_apart(n):
    rng = np.random.default_rng(0)
    ring, angle = np.arange(n) % 3, rng.uniform(0, 2 * np.pi, n)
    X = np.c_[ring * np.cos(angle), ring * np.sin(angle), np.full(n, 3.0)] + 0.05 * rng.normal(size=(n, 3))
    assert rival("COSDISH").fit(X, ring).report_.facts["features"] in ("rbf", "both")
    line = np.c_[ring + 0.05 * rng.normal(size=n), rng.normal(size=(n, 2))]
    assert rival("COSDISH").fit(line, ring).report_.facts["features"] == "plain"


def test_codes_readout_repeats_the_codes_of_rows_whose_similarities_are_known():
    X, Y = tags(n=200, t=5)
    training = training_of(X, Y)
    codes = np.random.default_rng(1).choice([-1.0, 1.0], (training.supervision.n_groups, 12))
    sample = draw_sample(training.supervision, 1000, training.rng)
    group = training.supervision.group_of_row
    means = group_means(training, codes[group])
    assert np.array_equal(means, codes)
    readout = codes_readout(training, sample, means)
    S = training.supervision.similarity(np.arange(len(codes)), sample.groups)
    assert ((readout.scores(S) > 0) == (codes > 0)).mean() > 0.95
    K = np.column_stack([S[group], np.ones(len(group))])  # the same ridge, row by row
    gram = K.T @ K
    gram += RIDGE * np.trace(gram) / len(gram) * np.eye(len(gram))
    by_rows = K @ np.linalg.solve(gram, K.T @ codes[group])
    assert np.allclose(readout.scores(S)[group], by_rows)


def test_energy_readout_never_loses_to_a_flip_of_one_bit():
    X, y = classes(n=150, k=6)
    training = training_of(X, y)
    supervision, d = training.supervision, 10
    codes = np.random.default_rng(2).choice([-1.0, 1.0], (6, d))
    sample = draw_sample(supervision, 1000, training.rng)
    readout = energy_readout(training, sample, codes)
    w = sample.weights / sample.weights.sum()
    S_anchors = supervision.similarity(sample.groups, sample.groups)
    grand = w @ S_anchors @ w
    S = np.random.default_rng(3).uniform(-1, 1, (40, len(sample.groups)))
    bits = np.where(readout.scores(S) > 0, 1.0, -1.0)

    def energy(u):
        return (w * (d * (S - grand) - u @ codes[sample.groups].T) ** 2).sum(axis=1)

    for k in range(d):
        flipped = bits.copy()
        flipped[:, k] *= -1
        assert (energy(bits) <= energy(flipped) + 1e-9).all()


def test_group_means_know_weights_and_unknown_rows():
    X, _ = classes(n=6, k=2)
    labels = np.array([0.0, 0, 0, 1, 1, np.nan])
    weights = np.array([1.0, 2, 1, 0, 3, 1])
    codes = np.array([[1.0], [-1], [1], [1], [-1], [1]])
    found = group_means(training_of(X, labels, weights), codes)
    assert np.allclose(sorted(found[:, 0]), [-1, 0])


def test_pairs_have_no_labels_to_expect():
    X, _ = classes(n=20)
    with pytest.raises(InvalidInput, match=r"map='expected' was asked for with pairs"):
        rival("COSDISH").fit_pairs(X, [0, 1, 2], [3, 4, 5], [1, -1, 1])


def test_methods_without_codes_of_their_own_do_not_offer_it():
    for name in ("KSH", "BRE", "ITQ", "FastHash"):
        assert "map" not in BASELINES[name]().get_params()
