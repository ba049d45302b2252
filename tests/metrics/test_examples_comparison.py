"""The verdict on pairs, clicks and triplets: its figures by brute force, and its sentences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from kinhash import EnergyHasher
from kinhash.baselines import ITQ
from kinhash.errors import InvalidInput
from kinhash.metrics import compare_examples, compare_pairs, compare_triplets, verdict
from kinhash.metrics.comparison import COSINE, LEARNED, MAPPED
from kinhash.supervision import KinExamples, PairExamples, TripletExamples

pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")


def rows_and_pairs(seed=0, n=240):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 4
    X = (rng.normal(size=(n, 8)) + 2 * np.eye(8)[y]).astype(np.float32)
    i, j = rng.integers(0, n, (2, 1500))
    i, j = i[i != j], j[i != j]
    return X, y, i, j, np.where(y[i] == y[j], 1.0, -1.0)


@pytest.fixture(scope="module")
def fitted():
    X, _, i, j, s = rows_and_pairs()
    return X, EnergyHasher(16, random_state=0).fit_pairs(X, i, j, s)


def distances(codes, i, j):
    return np.bitwise_count(codes.packed[i] ^ codes.packed[j]).sum(axis=1).astype(int)


def cosines(X, i, j):
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    return (unit[i] * unit[j]).sum(axis=1)


def test_verdicts_are_scored_by_the_area_under_the_roc_curve(fitted):
    X, hasher = fitted
    i, j, s = (part[:1000] for part in rows_and_pairs(1)[2:])  # few enough to be compared in full
    held, none = PairExamples(i, j, s), PairExamples(i[:0], j[:0], s[:0])
    found = compare_examples(hasher, X, none, held, np.random.default_rng(0))
    mapped = hasher.encode(X)
    assert found.metric == "ROC AUC"
    assert found.score(MAPPED) == pytest.approx(roc_auc_score(s > 0, -distances(mapped, i, j)))
    assert found.score(COSINE) == pytest.approx(roc_auc_score(s > 0, cosines(X, i, j)))


def test_grades_are_scored_by_order_and_rank_correlation(fitted):
    X, hasher = fitted
    _, _, i, j, s = rows_and_pairs(2)
    i, j, s = i[:300], j[:300], (s * np.random.default_rng(0).random(len(s)))[:300]
    held = PairExamples(i, j, s)
    found = compare_examples(hasher, X, held.subset(slice(0)), held, np.random.default_rng(0))
    near = -distances(hasher.encode(X), i, j)
    assert found.score(MAPPED, "Spearman") == pytest.approx(spearmanr(near, s).statistic)
    order = [(np.sign(near[a] - near[b]) + 1) / 2 for a in range(300) for b in range(300) if s[a] > s[b]]
    assert found.score(MAPPED) == pytest.approx(np.mean(order))


def test_clicks_are_scored_against_random_rows_and_by_the_partners_found(fitted):
    X, hasher = fitted
    held = KinExamples(np.array([0, 1, 2, 3]), np.array([4, 5, 6, 7]), len(X))
    learn = KinExamples(np.array([4]), np.array([9]), len(X))
    found = compare_examples(hasher, X, learn, held, np.random.default_rng(0))
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    wanted = []
    for a, b in ((0, 4), (1, 5), (5, 1), (2, 6), (6, 2), (3, 7), (7, 3)):  # row 4 is named elsewhere
        near = unit @ unit[a]
        near[a] = -np.inf
        wanted.append((near > near[b]).sum() < 10)
    assert found.score(COSINE, "p10") == pytest.approx(np.mean(wanted) / 10)
    assert found.score(COSINE, "found") == pytest.approx(np.mean(wanted))  # each has one partner
    everyone = [
        (unit[a] @ unit[b] > unit @ unit[a]).mean()
        for a, b in [(0, 4), (1, 5), (2, 6), (3, 7)]
        for a, b in ((a, b), (b, a))
    ]
    assert found.score(COSINE) == pytest.approx(np.mean(everyone), abs=0.05)  # 200 random rows of all


def test_triplets_are_scored_by_their_share_in_order(fitted):
    X, hasher = fitted
    rng = np.random.default_rng(3)
    a, b, c = rng.integers(0, 240, (3, 100))
    held = TripletExamples(a, b, c)
    found = compare_examples(hasher, X, held.subset(slice(0)), held, rng)
    assert found.score(COSINE) == pytest.approx((cosines(X, a, b) > cosines(X, a, c)).mean(), abs=0.011)


def test_a_hasher_is_fitted_on_the_others_and_learns():
    X, y, i, j, s = rows_and_pairs()
    found = compare_pairs(EnergyHasher(16, random_state=0), X, i, j, s)
    assert found.ahead(found.ours, "ITQ")
    assert found.facts["pairs_held_out"] + found.facts["pairs_learned_from"] == len(
        {frozenset(p) for p in zip(i, j, strict=True)}
    )
    assert "ITQ of the same length" in verdict(found)[0]
    near = [int(np.flatnonzero(y == y[k])[1 + k % 20]) for k in range(240)]
    keep = np.array(near) != np.arange(240)
    triplets = np.arange(240)[keep], np.array(near)[keep], ((np.arange(240) + 1) % 240)[keep]
    assert compare_triplets(EnergyHasher(16, random_state=0), X, *triplets).score(MAPPED) > 0.8


def test_pairs_that_say_nothing_did_not_help():
    X, _, i, j, s = rows_and_pairs()
    noise = np.random.default_rng(0).permutation(s)
    found = compare_pairs(EnergyHasher(16, random_state=0), X, i, j, noise)
    assert verdict(found)[0].startswith(
        "Verdict: pairs did not help: the codes are the unsupervised ones. 2 bytes"
    )
    with pytest.raises(InvalidInput, match="20 pairs or triplets are too few"):
        compare_pairs(EnergyHasher(16), X, np.arange(20), np.arange(20, 40), s[:20])


class WorseLearned:
    """Codes of its own that are random, and a good map."""

    def __init__(self, fitted):
        self.fitted, self.n_bits, self.report_ = fitted, fitted.n_bits, fitted.report_
        packed = np.random.default_rng(0).integers(0, 256, fitted.codes_.packed.shape, np.uint8)
        self.codes_ = fitted._as_codes(packed, learned=True)

    def encode(self, X):
        return self.fitted.encode(X)


def test_where_learned_codes_are_worse_mapped_ones_are_judged(fitted):
    X, hasher = fitted
    _, _, i, j, s = rows_and_pairs(1)
    held = PairExamples(i, j, s)
    found = compare_examples(WorseLearned(hasher), X, held.subset(slice(0)), held, np.random.default_rng(0))
    assert found.score(LEARNED) < 0.6
    assert (found.ours, found.facts["codes"]) == (MAPPED, "mapped")
    assert "Learned codes do worse than mapped ones" in verdict(found)[-1]


def test_the_unsupervised_line_is_itq_of_the_same_length():
    """Up to the rotation that it happens to find."""
    X, y, i, j, _ = rows_and_pairs()
    found = compare_pairs(EnergyHasher(16, random_state=0), X, i, j, y[i] == y[j])
    itq = ITQ(16, random_state=0).fit(X).encode(X)
    auc = roc_auc_score(y[i] == y[j], -distances(itq, i, j))
    assert found.score("ITQ") == pytest.approx(auc, abs=0.08)
