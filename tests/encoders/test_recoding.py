"""Codes of tag sets that were fitted to the map's bits: the same in the fit and from a model file later."""

from __future__ import annotations

import numpy as np
import pytest

import kinhash
from kinhash import EnergyHasher
from kinhash._stages import Stages
from kinhash.encoders.expected_labels import ExpectedLabels
from kinhash.encoders.recoding import Recoding
from kinhash.errors import InvalidInput
from kinhash.rows import Rows
from kinhash.solvers.sample import draw_sample
from kinhash.supervision import from_labels
from kinhash.training import Training

PLAIN = ExpectedLabels(features="plain", penalty=1.0, temperature=1.0, recode=1.5)


def tagged_rows(n=500, t=7, p=10, seed=0):
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, t)) < 0.25).astype(np.uint8)
    return Y @ rng.normal(size=(t, p)) + rng.normal(size=(n, p)), Y


def test_bits_settle_where_the_formula_says():
    X, Y = tagged_rows(60, 4, 3)
    rng = np.random.default_rng(1)
    training = Training(Rows(X), from_labels(Y), None, rng, Stages(), 1)
    supervision = training.supervision
    groups, n_bits, curvature = np.arange(supervision.n_groups), 5, 1.5
    scores, bits = rng.normal(size=(len(groups), n_bits)), rng.random((60, n_bits)) < 0.5
    sample = draw_sample(supervision, 1000, rng)
    own = supervision.group_of_row
    recoding, found = Recoding.fit(training, groups, scores, np.arange(60), bits, sample, curvature)

    S = np.where(Y @ Y.T > 0, 1.0, -1.0)
    first = np.array([np.flatnonzero(own == g)[0] for g in groups])
    b = np.where(bits, 1.0, -1.0)
    pull, gram = S[first] @ b / 60 - S.mean() * b.mean(axis=0), b.T @ b / 60
    codes, counts = np.where(scores > 0, 1.0, -1.0), np.bincount(own)[:, None]
    scale = (counts * codes * pull).sum() / (counts * (codes @ gram) * codes).sum()
    if scale > 0:
        for _ in range(10):
            for k in range(n_bits):
                others = gram[k] @ codes.T - gram[k, k] * codes[:, k]
                field = pull[:, k] / scale - curvature * others
                codes[:, k] = np.where(field == 0, codes[:, k], np.sign(field))
    assert scale == pytest.approx(recoding.scale)
    np.testing.assert_array_equal(found, codes > 0)
    shared = Y[first].astype(int) @ recoding.patterns.T.astype(int) > 0
    np.testing.assert_array_equal(recoding.of_tags(scores, shared), found)


@pytest.mark.parametrize("alike", [0, 0.4])
@pytest.mark.parametrize("encoder", [PLAIN, ExpectedLabels(features="plain")], ids=["given", "auto"])
def test_learned_codes_of_rows_fitted_on_are_theirs(alike, encoder, tmp_path):
    X, Y = tagged_rows()
    sets: list = [{f"tag {t}" for t in np.flatnonzero(row)} for row in Y]
    assert any(not one for one in sets)  # rows without tags take part
    sets[:5] = [None] * 5
    hasher = EnergyHasher(24, encoder=encoder, alike=alike, random_state=0).fit(X, sets)
    if encoder is PLAIN:
        assert hasher.report_["recode"] == 1.5
    hasher.save(tmp_path / "m.kin")
    for one in (hasher, kinhash.load(tmp_path / "m.kin")):
        again = one.learned_codes(sets[5:], X[5:])
        np.testing.assert_array_equal(again.packed, hasher.codes_.packed[5:])
        with pytest.raises(InvalidInput, match="1 of 1 labels are unknown"):
            one.learned_codes([None], X[:1])
        some = [{"tag 3"}, {"tag 0", "tag 3"}]  # other tags are not even named
        np.testing.assert_array_equal(
            one.learned_codes(some, X[5:7]).packed, hasher.learned_codes(some, X[5:7]).packed
        )


@pytest.mark.parametrize(
    "forge",
    [
        lambda a: a | {"recoded.patterns": a["recoded.patterns"] | 1},
        lambda a: a | {"recoded.sums": a["recoded.sums"][:, :-1]},
        lambda a: a | {"recoded.sums": a["recoded.sums"].astype(np.int32)},
        lambda a: a | {"recoded.gram": a["recoded.gram"] * np.nan},
        lambda a: a | {"recoded.n_rows": np.array([0.0])},
        lambda a: a | {"recoded.n_rows": np.array([1e9])},
        lambda a: a | {"recoded.odd": a["recoded.n_rows"]},
        lambda a: {name: array for name, array in a.items() if name != "recoded.gram"},
        lambda a: a | {"recoded.patterns": np.zeros((len(a["recoded.sums"]), 9), np.uint8)},
    ],
    ids=["padding", "bits", "dtype", "nan", "no rows", "many rows", "odd", "missing", "tags"],
)
def test_a_forged_recoding_is_refused(forge):
    X, Y = tagged_rows()
    fitted = EnergyHasher(16, encoder=PLAIN, alike=0, random_state=0).fit(X, Y).fitted_
    arrays = fitted.labels.arrays()
    again = type(fitted.labels).from_arrays(arrays, fitted.map)
    assert again.recoding.scale == fitted.labels.recoding.scale
    with pytest.raises(ValueError, match=r"."):
        type(fitted.labels).from_arrays(forge(arrays), fitted.map)
