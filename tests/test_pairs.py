"""EnergyHasher from pairs, clicks, triplets and similarities: what codes say, and how input is read."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from kinhash.errors import InvalidInput, KinhashWarning
from kinhash.hasher import EnergyHasher
from kinhash.learn.opinions import SHARP, Batch
from kinhash.learn.pairs import Clicks, Triplets
from kinhash.pairs import read_clicks, read_pairs, read_similarity, read_triplets
from some_rows import classes, clicks, distances, order, pairs, same

pytestmark = pytest.mark.usefixtures("quick_fits")

X, Y = classes(n=400, k=4, noise=1.5, seed=1)
LEFT, RIGHT, SAME = pairs(Y)
OLD, NEW = slice(0, 300), slice(300, 400)


def hasher(n_bits=32, **settings):
    return EnergyHasher(n_bits, random_state=0, **settings)


def triplets(y, m=2000, seed=0):
    """Rows, others of their label, and others that are not."""
    a, b, c = np.random.default_rng(seed).integers(0, len(y), (3, 6 * m))
    kept = (y[a] == y[b]) & (y[a] != y[c]) & (a != b)
    return a[kept][:m], b[kept][:m], c[kept][:m]


def hidden():
    """Rows whose labels are in columns that are small beside others, and the labels."""
    rng = np.random.default_rng(2)
    Z, z = classes(n=400, p=8, k=2, seed=2)
    return np.hstack([0.3 * Z, rng.normal(size=(400, 8))]), z


WAYS = {
    "verdicts": lambda h, Z, z: h.fit_pairs(Z, *pairs(z)),
    "numbers": lambda h, Z, z: h.fit_pairs(Z, *pairs(z)[:2], np.where(pairs(z)[2], 1, -1)),
    "clicks": lambda h, Z, z: h.fit_pairs(Z, *clicks(z)),
    "triplets": lambda h, Z, z: h.fit_triplets(Z, *triplets(z)),
    "S": lambda h, Z, z: h.fit_similarity(Z, np.where(same(z), 1.0, -1.0)),
    "sparse S": lambda h, Z, z: h.fit_similarity(Z, sparse_similarity(z)),
    "anchors": lambda h, Z, z: h.fit_similarity(Z, np.where(same(z), 1.0, -1.0)[:, :60], np.arange(60)),
}


def sparse_similarity(z):
    left, right, verdict = pairs(z)
    S = sp.csr_array((np.where(verdict, 1.0, -1.0), (left, right)), shape=(len(z), len(z)))
    S.sum_duplicates()
    S.data = np.sign(S.data)
    return S


@pytest.mark.parametrize("how", WAYS)
def test_codes_learn_what_is_said(how):
    """Labels that looks do not show are learned, and hold for rows in no pair."""
    Z, z = hidden()
    Z_old, z_old = Z[OLD], z[OLD]
    looks = order(hasher().fit(Z_old).encode(Z[NEW]), same(z[NEW]))
    found = WAYS[how](hasher(looks=0.2), Z_old, z_old)
    assert order(found.encode(Z[NEW]), same(z[NEW])) > max(0.6, looks + 0.05)
    assert found.codes_.learned is False


@pytest.mark.parametrize("energy", ["ksh", "lfh", "bre", "splh", "exph"])
def test_verdicts_minimize_the_energy_that_was_named(energy):
    found = hasher(energy=energy).fit_pairs(X, LEFT, RIGHT, SAME)
    assert order(found.encode(X), same(Y)) > 0.85
    as_default = found.model_id_ == hasher().fit_pairs(X, LEFT, RIGHT, SAME).model_id_
    assert as_default == (energy in ("ksh", "bre"))  # BRE is KSH times a constant


@pytest.mark.filterwarnings("ignore:.* bits are constant")
def test_labels_beside_pairs():
    """Two labelings: pairs say the one, labels of some rows the other; both are in the codes."""
    rng = np.random.default_rng(3)
    one, other = rng.integers(0, 2, (2, 400))
    signs = 2 * np.stack([one, other], axis=1) - 1
    Z = np.hstack([signs * 0.7, np.zeros((400, 6))]) + rng.normal(size=(400, 8)) * 0.5
    labels = [int(c) if i % 2 else None for i, c in enumerate(other)]
    both = hasher(looks=0.1).fit_pairs(Z, *pairs(one), y=labels)
    alone = hasher(looks=0.1).fit_pairs(Z, *pairs(one))
    assert order(both.encode(Z), same(other)) > order(alone.encode(Z), same(other)) + 0.05
    assert order(both.encode(Z), same(one)) > 0.6
    assert np.array_equal(both.codes_.learned, np.arange(400) % 2 == 1)
    loud = hasher(looks=0.1).fit_pairs(Z, *pairs(one), y=labels, y_weight=20.0)
    assert order(loud.encode(Z), same(other)) > order(both.encode(Z), same(other))
    with pytest.raises(InvalidInput, match="y_weight"):
        hasher().fit_pairs(Z, *pairs(one), y=labels, y_weight=0)


def test_the_order_and_the_direction_of_pairs_do_not_matter():
    mixed = np.random.default_rng(4).permutation(len(LEFT))
    plain = hasher().fit_pairs(X, LEFT, RIGHT, SAME)
    turned = hasher().fit_pairs(X, RIGHT[mixed], LEFT[mixed], SAME[mixed])
    numbers = hasher().fit_pairs(X, LEFT, RIGHT, np.where(SAME, 1, -1))
    assert plain.model_id_ == turned.model_id_ == numbers.model_id_


def test_a_pair_that_is_listed_twice_counts_once():
    """Finding 17, and weights have no unit."""
    some = np.arange(200)
    left, right, verdict = LEFT[some], RIGHT[some], SAME[some]
    again = [np.concatenate([a, a[:50]]) for a in (left, right, verdict)]
    assert hasher().fit_pairs(X, *again).model_id_ == hasher().fit_pairs(X, left, right, verdict).model_id_
    w = np.random.default_rng(5).random(200)
    models = {
        hasher().fit_pairs(X, left, right, verdict, weight=w * c).model_id_ for c in (1, 0.25, 2.0**1020)
    }
    assert len(models) == 1


def test_pairs_of_weight_zero_are_as_good_as_absent():
    wrong = np.arange(len(LEFT)) % 2 == 0
    verdict = np.where(wrong, ~SAME, SAME)
    found = hasher().fit_pairs(X, LEFT, RIGHT, verdict, weight=np.where(wrong, 0.0, 1.0))
    assert order(found.encode(X), same(Y)) > 0.9


@pytest.mark.parametrize("how", ["verdicts", "clicks", "triplets", "S"])
@pytest.mark.parametrize("size", [1e-6, 1e-3, 1.0, 1e6])
def test_constant_columns_and_the_size_of_features_do_not_matter(how, size):
    """Finding 5."""
    plain = WAYS[how](hasher(), X, Y)
    Z = np.hstack([X * size, np.zeros((400, 20)), np.full((400, 2), 3.0 * size)])
    found = WAYS[how](hasher(), Z, Y)
    assert found.report_.facts["columns left out"] == 22
    assert order(found.encode(Z), same(Y)) > order(plain.encode(X), same(Y)) - 0.03
    assert found.report_.dead_bits == []


def test_a_row_with_thousands_of_partners():
    """Finding 6: popular rows cost no more than others, and the rest is learned all the same."""
    Z, z = classes(n=5000, k=5, seed=6)
    popular = np.flatnonzero(z == 0)[0]
    left, right = clicks(z, 3000)
    fans = np.flatnonzero(z == 0)[1:]
    found = hasher().fit_pairs(
        Z, np.concatenate([left, np.full(len(fans), popular)]), np.concatenate([right, fans])
    )
    assert order(found.encode(Z[:500]), same(z[:500])) > 0.9


@given(seed=st.integers(0, 10_000), n=st.integers(4, 40), m=st.integers(2, 120))
def test_rows_a_short_path_of_clicks_away_are_not_taken_as_dissimilar(seed, n, m):
    """The loss of clicks against sums over all rows of a batch, one by one."""
    rng = np.random.default_rng(seed)
    left, right = rng.integers(0, n, (2, m)) if seed % 2 else (np.zeros(m, int), rng.integers(1, n, m))
    left, right = left[left != right], right[left != right]
    links = np.zeros((n, n), bool)
    links[left, right] = links[right, left] = True
    if len(np.unique(np.sort([left, right], axis=0), axis=1).T) < 2:
        return
    opinion = Clicks(*np.unique(np.sort([left, right], axis=0), axis=1), n)
    rows = opinion.draw(16, rng)
    bits = rng.uniform(-0.9, 0.9, (len(rows), 4)).astype(np.float32)
    here = set(rows.tolist())

    def near(a, b):
        between = [c for c in here if links[a, c] and links[c, b]]
        return a == b or links[a, b] or bool(between)

    k = len(rows) // 2
    kept = [[i == j or not near(rows[i], rows[k + j]) for j in range(k)] for i in range(k)]

    def loss(q):
        odds = np.where(kept, np.exp(SHARP * q[:k] @ q[k:].T / 4), 0)
        own = np.diag(odds)
        return -np.mean(np.log(own / odds.sum(axis=1)) + np.log(own / odds.sum(axis=0))) / 2

    found = opinion.gradient(Batch(rows, bits, lambda: bits))
    toward = rng.normal(size=bits.shape)
    q = bits.astype(np.float64)
    wanted = (loss(q + 1e-5 * toward) - loss(q - 1e-5 * toward)) / 2e-5
    assert (found * toward).sum() == pytest.approx(wanted, abs=2e-4)


def test_same_seed_same_codes():
    for how in ("verdicts", "clicks", "triplets", "S"):
        models = {WAYS[how](hasher(8, n_jobs=jobs), X[:200], Y[:200]).model_id_ for jobs in (1, 2)}
        assert len(models) == 1


def test_few_pairs_leave_the_looks_as_they_are():
    """Rows that no pair names follow their looks, with the weight of one voice."""
    Z, z = classes(n=300, k=5, seed=7)
    found = hasher().fit_pairs(Z, *clicks(z, 20))
    assert order(found.encode(Z), same(z)) > 0.9
    assert distances(found.codes_).max() > 8


def test_examples_are_given_up_only_if_held_out_ones_are_clearly_worse():
    """By a coin they are worse in half of the cases."""
    before = np.zeros(20)
    before[:10] = 1
    examples = Triplets(*np.arange(60).reshape(3, 20))
    for change, wanted in ((0, False), (1, False), (5, True)):
        after = before.copy()
        after[: change + 1], after[10:11] = 0, 1  # one more is in order, and some are not
        assert examples.worse(before, after) == wanted
    rng = np.random.default_rng(7)
    with pytest.warns(KinhashWarning, match=r"The triplets did not help on held-out examples: 51% in order"):
        found = EnergyHasher(32, random_state=7).fit_triplets(X, *triplets(rng.permutation(Y), seed=7))
    assert order(found.encode(X), same(Y)) > order(hasher().fit(X).encode(X), same(Y)) - 0.05


# -- how input is read ----------------------------------------------------------------------------------


def test_contradictions_are_averaged_and_counted():
    with pytest.warns(KinhashWarning, match="1 of 2 pairs are listed with contradicting"):
        i, j, s, w = read_pairs([0, 1, 1, 2], [1, 0, 0, 3], [1, 1, -1, -1], 4)
    assert (i.tolist(), j.tolist(), w) == ([0, 2], [1, 3], None)
    assert s.tolist() == pytest.approx([1 / 3, -1])


def test_rows_paired_with_themselves_are_left_out_and_counted():
    with pytest.warns(KinhashWarning, match="1 of 3 pairs are of a row with itself"):
        assert len(read_pairs([0, 1, 2], [0, 2, 3], [1, 1, -1], 4)[0]) == 2
    with pytest.warns(KinhashWarning, match="2 of 3 triplets say that a row is nearer to itself"):
        assert [end.tolist() for end in read_triplets([0, 1, 2], [0, 2, 2], [3, 3, 4], 5)] == [[1], [2], [3]]


def test_pairs_that_all_name_one_row_are_noticed():
    others, verdict = np.arange(1, 21), np.tile([1, -1], 10)
    with pytest.warns(KinhashWarning, match="All 20 pairs name row 0"):
        read_pairs(np.zeros(20, int), others, verdict, 21)
    with pytest.warns(KinhashWarning, match="All 20 pairs name row 0"):
        read_clicks(others, np.zeros(20, int), 21)


def test_triplets_that_contradict_each_other_are_counted():
    with pytest.warns(KinhashWarning, match="2 of 3 triplets contradict"):
        read_triplets([0, 0, 1], [1, 2, 2], [2, 1, 3], 4)


def test_inverted_verdicts_are_warned_of():
    """Finding 9."""
    with pytest.warns(KinhashWarning, match="Similar pairs look less alike.*inverted"):
        found = hasher(8).fit_pairs(X, LEFT, RIGHT, ~SAME)
    assert any("inverted" in doubt for doubt in found.report_.warnings)
    hasher(8).fit_pairs(X, LEFT, RIGHT, SAME)


@pytest.mark.parametrize(
    ("verdict", "says"),
    [
        ([0, 0.2, 1], r"from 0 to 1\. If their scale is from 0 to 1, rescale them: 2 \* grade - 1\.$"),
        ([0.0, 0.2, 0.96], r"from 0 to 0\.96"),
        ([0, 1, 1], r"from 0 to 1\. If 0 means not similar, pass booleans"),
    ],
)
def test_grades_that_are_never_below_0_are_doubtful(verdict, says):
    with pytest.warns(KinhashWarning, match="^No verdict is below 0: .*0 is halfway.*" + says) as caught:
        assert read_pairs([0, 1, 2], [1, 2, 3], verdict, 4)[2].tolist() == verdict
    assert len(caught) == 1
    assert len(read_pairs([0, 1], [1, 2], [True, False], 4)[0]) == 2  # without a warning


@pytest.mark.parametrize(
    ("grades", "says", "expected"),
    [
        ([0.1, 0.5, 0.9], "their median, 0.5", [-0.4, 0, 0.4]),
        ([-0.1, -0.5, -0.9], "their median, -0.5", [0.4, 0, -0.4]),
        ([0.25, 0.5, 1, 1, 1], r"two highest, 0\.75", [-1, -0.5, 0.5, 0.5, 0.5]),
        ([0.2, 0.2, 0.2, 0.6, 0.8], r"two lowest, 0\.4", [-0.5, -0.5, -0.5, 0.5, 1]),
        ([-1, -1, -1, -0.5], r"two lowest, -0\.75", [-1, -1, -1, 1]),
        ([0.5, 0.5, 0.5, 0.25], r"two highest, 0\.375", [1, 1, 1, -1]),
    ],
)
def test_grades_of_one_sign_are_split_in_the_middle(grades, says, expected):
    rows = np.arange(len(grades))
    with pytest.warns(KinhashWarning, match=says):
        found = read_pairs(rows, rows + 1, grades, len(grades) + 1)
    assert found[2].tolist() == pytest.approx(expected)


def test_similarities_are_read_alike_dense_sparse_and_by_anchors():
    rng = np.random.default_rng(8)
    S = rng.choice([-1.0, -0.3, 0.0, 0.6, 1.0], (12, 12))
    S = np.triu(S) + np.triu(S, 1).T
    i, j = np.triu_indices(12, 1)
    wanted = {(a, b): S[a, b] for a, b in zip(i, j, strict=True) if S[a, b]}
    anchors = np.array([3, 0, 7])
    of_anchors = {pair: s for pair, s in wanted.items() if set(pair) & set(anchors.tolist())}
    for given_S, columns, expected in (
        (S, None, wanted),
        (sp.csr_array(S), None, wanted),
        (np.triu(S), None, wanted),
        (S[:, anchors], anchors, of_anchors),
        (sp.csc_array(S[:, anchors]), anchors, of_anchors),
    ):
        left, right, s = read_similarity(given_S, columns, 12, rng)
        assert dict(zip(zip(left.tolist(), right.tolist(), strict=True), s, strict=True)) == expected


def altered(place, value):
    S = np.where(same(Y), 1.0, -1.0)
    S[place] = value
    return S


R = np.arange(20)
V = np.tile([1, -1], 10)
BAD = {
    "empty": (lambda h: h.fit_pairs(X, [], [], []), "There are no pairs: left and right are empty"),
    "lengths": (lambda h: h.fit_pairs(X, R, R[:5] + 1, V), "5 rows in right came with 20 in left"),
    "out of range": (
        lambda h: h.fit_pairs(X, R, R + 390, V),
        r"right\[10\] is 400, but X has 400 rows; 10 of",
    ),
    "negative": (lambda h: h.fit_pairs(X, R - 1, R + 5, V), r"left\[0\] is -1"),
    "from 1": (lambda h: h.fit_pairs(X, np.arange(1, 401), R[[0] * 400], np.tile(V, 20)), "counted from 1"),
    "floats": (lambda h: h.fit_pairs(X, R / 2, R, V), "dtype float64"),
    "text": (lambda h: h.fit_pairs(X, ["a"] * 20, R, V), "left holds 'a'; 20 of 20 are text"),
    "2-D": (lambda h: h.fit_pairs(X, R[:, None], R, V), r"shape \(20, 1\)"),
    "verdicts": (lambda h: h.fit_pairs(X, R, R + 1, V * 3), r"pair 0 is 3; 20 of 20 are outside"),
    "NaN": (lambda h: h.fit_pairs(X, R, R + 1, V * np.nan), "pair 0 is nan"),
    "verdict length": (lambda h: h.fit_pairs(X, R, R + 1, V[:5]), "there are 20 pairs"),
    "verdict text": (lambda h: h.fit_pairs(X, R, R + 1, ["yes"] * 20), "verdict has dtype"),
    "one verdict": (lambda h: h.fit_pairs(X, R, R + 1, [True] * 20), "All 20 pairs have the verdict 1"),
    "weights": (lambda h: h.fit_pairs(X, R, R + 1, V, weight=-np.ones(20)), "weight of pair 0 is -1"),
    "no weight": (lambda h: h.fit_pairs(X, R, R + 1, V, weight=np.zeros(20)), "No pair is left"),
    "weight alone": (lambda h: h.fit_pairs(X, R, R + 1, weight=np.ones(20)), "weight came without same"),
    "one click": (lambda h: h.fit_pairs(X, [0], [1]), "1 similar pairs came"),
    "one triplet end": (
        lambda h: h.fit_triplets(X, R, R + 1, R[:4] + 2),
        "4 rows in further came with 20 in anchor",
    ),
    "row twice": (lambda h: h.fit_triplets(X, [0], [1], [0]), r"Triplet 0 is \(0, 1, 0\)"),
    "nearer is further": (lambda h: h.fit_triplets(X, [0], [1], [1]), "three different rows"),
    "itself": (lambda h: h.fit_triplets(X, [0, 1], [0, 1], [1, 2]), "No triplet is left: all 2 say"),
    "no triplets": (lambda h: h.fit_triplets(X, [], [], []), "anchor, nearer and further are empty"),
    "far": (lambda h: h.fit_triplets(X, [0], [1], [900]), r"further\[0\] is 900"),
    "S booleans": (lambda h: h.fit_similarity(X, same(Y)), "S has dtype bool"),
    "S range": (lambda h: h.fit_similarity(X, altered((0, 1), 2.0)), "values from -1.0 to 2.0"),
    "S NaN": (lambda h: h.fit_similarity(X, altered((0, 1), np.nan)), "nan"),
    "S shape": (lambda h: h.fit_similarity(X, np.eye(5)), "5 rows of S came with 400 rows of X"),
    "S columns": (lambda h: h.fit_similarity(X, np.ones((400, 3))), "n × m with the m rows"),
    "S anchors": (
        lambda h: h.fit_similarity(X, altered((0, 1), 1.0)[:, :3], [0, 1]),
        "2 anchors came with 3 columns",
    ),
    "S twice": (lambda h: h.fit_similarity(X, altered((0, 1), 1.0)[:, :3], [0, 1, 1]), "listed twice"),
    "S not symmetric": (
        lambda h: h.fit_similarity(X, altered((0, 1), 0.5)),
        "1 pair is listed in both directions",
    ),
    "S empty": (lambda h: h.fit_similarity(X, np.eye(400)), "says nothing about any pair"),
    "S one value": (lambda h: h.fit_similarity(X, np.ones((400, 400))), "says 1.0 about every pair"),
    "labels": (lambda h: h.fit_pairs(X, R, R + 1, V, y=Y[:9]), "X has 400 rows and the labels have 9"),
    "labels that say nothing": (lambda h: h.fit_pairs(X, R, R + 1, V, y=[None] * 400), "labels are missing"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_refused_and_counted(what):
    fit, says = BAD[what]
    with pytest.raises(InvalidInput, match=says):
        fit(hasher(8))
