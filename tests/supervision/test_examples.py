"""Examples of every kind, by brute force: what is drawn, where the energy pushes, how codes are scored."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from kinhash import EnergyHasher
from kinhash.energies import ENERGIES
from kinhash.errors import InvalidInput, KinhashWarning
from kinhash.metrics import compare_pairs
from kinhash.supervision import (
    MixedSupervision,
    from_kin,
    from_labels,
    from_pairs,
    from_similarity,
    from_triplets,
)
from kinhash.supervision.examples import PairExamples, agreement_of
from kinhash.supervision.kin_only import SHARPNESS, KinExamples
from kinhash.supervision.triplets import TripletExamples


def numeric_gradient(loss, means, step=1e-4):
    out = np.zeros(means.shape)
    for place in np.ndindex(means.shape):
        moved = [means.astype(np.float64).copy() for _ in range(2)]
        moved[0][place] += step
        moved[1][place] -= step
        out[place] = (loss(moved[0]) - loss(moved[1])) / (2 * step)
    return out


@pytest.mark.parametrize("name", list(ENERGIES))
@given(n_bits=st.integers(1, 8), s=st.sampled_from([-1.0, -0.3, 0.0, 0.6, 1.0]), r=st.floats(-7.9, 7.9))
def test_the_slope_of_an_energy_is_the_derivative_of_its_loss(name, n_bits, s, r):
    energy, r = ENERGIES[name](), np.clip(r, -n_bits, n_bits)
    near = (energy.loss(np.array([r + 1e-5, r - 1e-5]), np.full(2, s), n_bits) @ [1, -1]) / 2e-5
    assert energy.slope(np.array([r]), np.array([s]), n_bits)[0] == pytest.approx(near, abs=1e-5)


def energy_of(agreement, s):
    """Any smooth energy of agreements; its derivative is what `push` is given."""
    return (agreement - s) ** 2 / 2


def force(agreement, s):
    return (agreement - s).astype(np.float32)


def test_pairs_push_along_the_gradient_of_the_mean_energy():
    rng = np.random.default_rng(0)
    means, s = rng.uniform(-0.9, 0.9, (6, 4)).astype(np.float32), np.array([1.0, -1.0, 0.3])

    def loss(q):
        return np.mean([energy_of(q[i] @ q[i + 3] / 4, s[i]) for i in range(3)])

    pairs = PairExamples(np.arange(3), np.arange(3, 6), s)
    np.testing.assert_allclose(pairs.push(means, s, force), numeric_gradient(loss, means), atol=1e-5)


def test_triplets_push_along_the_gradient_of_the_mean_energy():
    rng = np.random.default_rng(1)
    means = rng.uniform(-0.9, 0.9, (6, 4)).astype(np.float32)

    def loss(q):
        return np.mean([energy_of(q[i] @ (q[i + 2] - q[i + 4]) / 4, 1.0) for i in range(2)])

    triplets = TripletExamples(np.arange(2), np.arange(2, 4), np.arange(4, 6))
    np.testing.assert_allclose(triplets.push(means, None, force), numeric_gradient(loss, means), atol=1e-5)


def test_similar_pairs_push_along_the_gradient_of_the_cross_entropy():
    rng = np.random.default_rng(2)
    means = rng.uniform(-0.9, 0.9, (6, 4)).astype(np.float32)
    near = np.zeros((3, 3), bool)
    near[0, 2] = True

    def loss(q):
        odds = np.exp(SHARPNESS * q[:3] @ q[3:].T / 4)
        odds[near] = 0
        own = np.diag(odds)
        return -np.mean(np.log(own / odds.sum(axis=1)) + np.log(own / odds.sum(axis=0))) / 2

    pairs = KinExamples(np.arange(3), np.arange(3, 6), 6)
    # The length of a step is that of pairs: the gradient, less the factor that the softmax brings.
    wanted = numeric_gradient(loss, means) * 2 / SHARPNESS
    np.testing.assert_allclose(pairs.push(means, near, force), wanted, atol=1e-5)


def test_rows_a_short_path_away_are_not_taken_as_dissimilar():
    """0–1–2 is a path, 3–4 and 5–6 are pairs of their own."""
    pairs = from_kin([0, 1, 3, 5], [1, 2, 4, 6], 7).examples[0]
    for seed in range(20):
        rows, near = pairs.draw(8, np.random.default_rng(seed))
        left, right = rows[:8], rows[8:]
        for i in range(8):
            for j in range(8):
                linked = {int(left[i]), int(right[j])} <= {0, 1, 2} or {left[i], right[j]} <= {3, 4}
                linked |= {left[i], right[j]} <= {5, 6}
                assert near[i, j] == (linked and i != j)


@given(seed=st.integers(0, 200), graded=st.booleans())
def test_the_score_of_pairs_is_the_share_of_ordered_pairs_of_pairs(seed, graded):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 256, (12, 1), np.uint8)
    left, right = rng.integers(0, 12, (2, 30))
    s = rng.choice([-1.0, -0.2, 0.4, 1.0] if graded else [-1.0, 1.0], 30)
    if len(np.unique(s)) < 2:
        return
    found = PairExamples(left, right, s).score(agreement_of(codes.__getitem__), rng)
    near = -np.bitwise_count(codes[left] ^ codes[right]).sum(axis=1).astype(int)
    order = [(np.sign(near[i] - near[j]) + 1) / 2 for i in range(30) for j in range(30) if s[i] > s[j]]
    assert found.score == pytest.approx(np.mean(order))
    assert found.influences.sum() == pytest.approx(0, abs=1e-12)
    if not graded:
        assert found.score == pytest.approx(roc_auc_score(s > 0, near))


def test_the_error_of_an_auc_is_that_of_many_draws():
    """The root of the summed squares of influences, against the spread over samples of the same law."""
    rng = np.random.default_rng(0)
    scores, errors = [], []
    for _ in range(200):
        s = np.repeat([1.0, -1.0], 60)
        distance = np.clip(rng.normal(3 - s, 1.5, 120), 0, 8).astype(int)
        codes = np.concatenate([np.zeros((1, 1), np.uint8), ((1 << distance) - 1).astype(np.uint8)[:, None]])
        found = PairExamples(np.zeros(120, int), np.arange(1, 121), s).score(
            agreement_of(codes.__getitem__), rng
        )
        scores.append(found.score)
        errors.append(np.sqrt((found.influences**2).sum()))
    assert np.mean(errors) == pytest.approx(np.std(scores), rel=0.2)


def test_triplets_are_scored_by_the_share_in_order():
    codes = np.array([[0b0000], [0b0001], [0b0011], [0b0001]], np.uint8)
    triplets = TripletExamples(np.array([0, 0, 0]), np.array([1, 2, 1]), np.array([2, 1, 3]))
    assert triplets.score(agreement_of(codes.__getitem__), np.random.default_rng(0)).score == pytest.approx(
        (1 + 0 + 0.5) / 3
    )


def test_similar_and_other_pairs_are_drawn_equally_often_and_by_weight():
    s, weights = np.array([1.0] + [-1.0] * 9), np.array([1.0] + [0.0] * 8 + [2.0])
    pairs = PairExamples(np.arange(10), np.arange(10, 20), s, weights)
    rows, known = pairs.draw(4000, np.random.default_rng(0))
    assert (known > 0).mean() == pytest.approx(0.5, abs=0.05)
    assert set(rows[:4000].tolist()) == {0, 9}


# -- what comes in -------------------------------------------------------------------------------------


def test_contradictions_are_averaged_and_counted():
    with pytest.warns(KinhashWarning, match="1 of 2 pairs are listed with contradicting"):
        found = from_pairs([0, 1, 1, 2], [1, 0, 0, 3], [1, 1, -1, -1], 4)
    assert found.pairs.similarity.tolist() == pytest.approx([1 / 3, -1])
    assert found.pairs.weights.tolist() == [3, 1]


def test_rows_paired_with_themselves_are_left_out_and_counted():
    with pytest.warns(KinhashWarning, match="1 of 3 pairs are of a row with itself"):
        found = from_pairs([0, 1, 2], [0, 2, 3], [1, 1, -1], 4)
    assert len(found.pairs.left) == 2


def test_pairs_that_all_name_one_row_are_noticed():
    others, verdict = np.arange(1, 21), np.tile([1, -1], 10)
    with pytest.warns(KinhashWarning, match="All 20 pairs name row 0"):
        from_pairs(np.zeros(20, int), others, verdict, 21)
    with pytest.warns(KinhashWarning, match="All 20 pairs name row 0"):
        from_kin(others, np.zeros(20, int), 21)


def test_triplets_that_contradict_each_other_are_counted():
    with pytest.warns(KinhashWarning, match="2 of 3 triplets contradict"):
        from_triplets([0, 0, 1], [1, 2, 2], [2, 1, 3], 4)


def test_what_is_out_of_range_is_counted():
    with pytest.raises(InvalidInput, match=r"left\[1\] is 9, but X has 5 rows; 2 of 3 are out of range"):
        from_kin([0, 9, 7], [1, 2, 3], 5)
    with pytest.raises(InvalidInput, match="seem to be counted from 1"):
        from_kin([1, 2, 5], [2, 3, 4], 5)
    with pytest.raises(InvalidInput, match=r"pair 1 is 3; 2 of 3 are outside"):
        from_pairs([0, 1, 2], [1, 2, 3], [1, 3, 5], 5)


def test_grades_of_one_sign_are_split_at_their_median():
    for sign, rescale in ((1, "No verdict is below 0.*0.1 to 0.9.*2 . grade"), (-1, "^")):
        with pytest.warns(KinhashWarning, match=rf"{rescale}.*one sign.* {sign * 0.5}") as caught:
            found = from_pairs([0, 1, 2], [1, 2, 3], sign * np.array([0.1, 0.5, 0.9]), 4)
        assert len(caught) == 1
        assert found.pairs.similarity.tolist() == pytest.approx([-0.4 * sign, 0, 0.4 * sign])


@pytest.mark.parametrize(
    ("verdict", "says"),
    [
        (
            [0, 0.2, 1],
            r"from 0 to 1\. If their scale is from 0 to 1, rescale them: 2 \* grade - 1\.$",
        ),
        ([0.0, 0.2, 0.96], r"from 0 to 0\.96"),
        ([0, 1, 1], r"from 0 to 1\. If 0 means not similar, pass booleans"),
    ],
)
def test_grades_that_are_never_below_0_are_doubtful(verdict, says):
    with pytest.warns(KinhashWarning, match="^No verdict is below 0: .*0 is halfway.*" + says) as caught:
        found = from_pairs([0, 1, 2], [1, 2, 3], verdict, 4)
    assert len(caught) == 1
    assert found.pairs.similarity.tolist() == verdict
    assert len(from_pairs([0, 1], [1, 2], [True, False], 4).pairs.left) == 2  # without a warning


def test_doubts_about_examples_are_told_once():
    """A comparison reads all pairs, and fits on a part of them."""
    rng = np.random.default_rng(0)
    X, grades, hasher = (
        rng.normal(size=(300, 4)),
        rng.choice([0, 0.2, 1.0], 299),
        EnergyHasher(8, random_state=0),
    )
    one_row, others = np.zeros(299, int), np.arange(1, 300)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", KinhashWarning)
        compare_pairs(hasher, X, rng.permutation(300)[:299], others, grades)
        from_kin(one_row, others, 300).examples[0].fit(hasher, X)
    said = [str(one.message) for one in caught]
    assert sum("No verdict is below 0" in one for one in said) == 1
    assert sum("pairs name row 0" in one for one in said) == 1
    with pytest.warns(KinhashWarning, match="pairs name row 0"):
        from_kin(one_row, others, 300)


def test_triplets_of_a_row_and_itself_are_left_out_and_counted():
    with pytest.warns(KinhashWarning, match="2 of 3 triplets say that a row is nearer to itself"):
        (found,) = from_triplets([0, 1, 2], [0, 2, 2], [3, 3, 4], 5).examples
    assert found.ends.tolist() == [[1, 2, 3]]


@pytest.mark.parametrize(
    ("grades", "says", "expected"),
    [
        ([0.25, 0.5, 1, 1, 1], r"two highest, 0\.75", [-1, -0.5, 0.5, 0.5, 0.5]),
        ([0.2, 0.2, 0.2, 0.6, 0.8], r"two lowest, 0\.4", [-0.5, -0.5, -0.5, 0.5, 1]),
        ([-1, -1, -1, -0.5], r"two lowest, -0\.75", [-1, -1, -1, 1]),
        ([0.5, 0.5, 0.5, 0.25], r"two highest, 0\.375", [1, 1, 1, -1]),
    ],
)
def test_grades_whose_median_is_an_extreme_are_split_beside_it(grades, says, expected):
    rows = np.arange(len(grades))
    with pytest.warns(KinhashWarning, match=says):
        found = from_pairs(rows, rows + 1, grades, len(grades) + 1)
    assert found.pairs.similarity.tolist() == pytest.approx(expected)
    assert found.pairs.is_enough()


@pytest.mark.parametrize(
    ("given_triplets", "says"),
    [
        (([0], [1], [1]), "three different rows"),
        (([0], [1], [0]), r"Triplet 0 is \(0, 1, 0\).*three different rows"),
        (([0, 1], [0, 1], [1, 2]), "No triplet is left: all 2 say"),
        (([], [], []), "There are no triplets: anchor, nearer and further are empty"),
        ((["a"], [1], [2]), "anchor holds 'a'; 1 of 1 are text"),
        (([0], [1], [9]), r"further\[0\] is 9"),
        (([0, 1], [1], [2]), "lengths 2, 1 and 1"),
    ],
)
def test_bad_triplets_are_refused(given_triplets, says):
    with pytest.raises(InvalidInput, match=says):
        from_triplets(*given_triplets, 5)


def test_pairs_beside_labels_are_examples_of_both():
    y = [0] * 5 + [1] * 5 + [None, None]
    pairs = from_pairs([10, 0], [11, 10], [1, -1], 12)
    found = MixedSupervision((pairs, from_labels(y)), (1.0, 3.0), np.random.default_rng(0))
    assert [one.weight for one in found.examples] == [1.0, 3.0]
    assert (found.group_of_row >= 0).all()
    of_labels = found.examples[1]
    same = np.array([y[i] == y[j] for i, j in of_labels.ends])
    np.testing.assert_array_equal(of_labels.similarity, np.where(same, 1.0, -1.0))
    assert len(of_labels.left) == 10 * 9 / 2  # each once, in whichever direction,
    assert of_labels.weights.sum() > 15_000  # and weighted by how often it was drawn


@pytest.mark.parametrize(
    ("y", "says"),
    [
        ([None] * 40, "All 40 labels are missing"),
        ([0] + [None] * 39, "only one class"),
        ([0] * 20 + [None] * 20, "only one class"),
        ([0, 0, 1] + [None] * 37, "1 similar and 2 dissimilar pairs of rows, and at least 10 of each"),
        ([{"a"}] * 20 + [None] * 20, "Every row carries tag 'a'"),
    ],
)
def test_labels_that_say_nothing_are_left_out(y, says):
    pairs = from_pairs([0, 1], [2, 3], [1, -1], 40)
    with pytest.warns(KinhashWarning, match=f"labels were left out: .*{says}.* uses the pairs alone"):
        found = MixedSupervision((pairs, from_labels(y)), (1.0, 2.0), np.random.default_rng(0))
    assert [one.weight for one in found.examples] == [1.0]
    np.testing.assert_array_equal(np.flatnonzero(found.group_of_row >= 0), np.arange(4))


@pytest.mark.filterwarnings("ignore:No two rows share a class")
def test_labels_that_no_two_rows_share_are_left_out():
    pairs = from_pairs([0, 1], [2, 3], [1, -1], 40)
    with pytest.warns(KinhashWarning, match="0 similar and 780 dissimilar pairs"):
        found = MixedSupervision((pairs, from_labels(range(40))), (1.0, 1.0), np.random.default_rng(0))
    assert len(found.examples) == 1


def test_similarities_of_one_sign_are_left_out_beside_labels():
    S = sp.csr_array(([0.5, 0.9], ([0, 1], [2, 3])), shape=(40, 40))
    S = from_similarity(sp.csr_array(S + S.T))
    with pytest.warns(KinhashWarning, match="2 similar and 0 dissimilar pairs.* uses the labels alone"):
        found = MixedSupervision((S, from_labels([0, 1] * 20)), (1.0, 1.0), np.random.default_rng(0))
    assert len(found.examples) == 1
    with pytest.raises(InvalidInput, match=r"learned\. .*2 similar and 0.*40 labels are missing"):
        MixedSupervision((S, from_labels([None] * 40)), (1.0, 1.0), np.random.default_rng(0))


@pytest.mark.parametrize("kinship", ["any", "graded"])
def test_pairs_sampled_from_tags_have_the_similarity_of_their_rows(kinship):
    rng = np.random.default_rng(0)
    supervision = from_labels(
        [set(rng.choice(5, rng.integers(0, 4), replace=False)) for _ in range(40)], kinship=kinship
    )
    found = supervision.sampled_pairs(500, rng)
    group = supervision.group_of_row
    for i, j, s in zip(found.left, found.right, found.similarity, strict=True):
        assert s == pytest.approx(supervision.similarity(group[[i]], group[[j]])[0, 0])
    assert (found.similarity > -1).mean() > 0.4
