"""Same or not: the radius that `decide` chooses, its guarantee, where it is kept, and what uses it."""

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.datasets import load_digits

import kinhash
from kinhash import Codes, EnergyHasher, HammingIndex
from kinhash.decision import Decision, decide_duplicates, decide_labels, decide_pairs
from kinhash.errors import InvalidInput, KinhashWarning
from kinhash.index import near_duplicates

X, Y = load_digits(return_X_y=True)
FITTED = 1000


@pytest.fixture(scope="module")
def hasher():
    return EnergyHasher(32, random_state=0).fit(X[:FITTED], Y[:FITTED])


@pytest.fixture
def decided(hasher):
    """The hasher after a decision; others find it as it was."""
    hasher.decide(X[FITTED:], Y[FITTED:], max_false=0.05)
    yield hasher
    hasher.__dict__.pop("decision_", None)


def made(rng, n, n_classes=20, spread=1.0, n_bits=48):
    """Classes in 12 dimensions, and random projections of them as codes."""
    centers, W = np.random.default_rng(7).standard_normal((2, 400, 12))
    y = rng.integers(n_classes, size=n)
    rows = 1.6 * centers[y] + spread * rng.standard_normal((n, 12))
    return Codes.from_bits(rows @ W[:n_bits].T > 0), y


def decide(codes, y, max_false, **how):
    rows = np.zeros((len(codes), 2))
    rng = np.random.default_rng(0)
    return decide_labels((codes, codes), (rows, rows), y, max_false=max_false, rng=rng, **how)


def true_shares(codes, y, share_true):
    """The false share at every radius, of all pairs of a large sample."""
    bits = codes.bits().astype(np.float32)
    away = np.rint(bits @ (1 - bits.T) + (1 - bits) @ bits.T).astype(int)
    same = y[:, None] == y
    np.fill_diagonal(away, codes.n_bits + 1)
    f, r = (
        np.bincount(away[kind], minlength=codes.n_bits + 2)[:-1].cumsum() / (kind.sum() - own)
        for kind, own in ((~same, 0), (same, len(y)))
    )
    false = (1 - share_true) * f
    return false / np.maximum(false + share_true * r, 1e-300)


@pytest.mark.parametrize(("max_false", "spread"), [(0.1, 0.6), (0.03, 0.3)])
def test_the_false_share_keeps_its_promise_in_95_of_100_draws(max_false, spread):
    everyone = made(np.random.default_rng(1), 4000, spread=spread)
    shares = true_shares(*everyone, 0.05)
    broken = chosen = 0
    for seed in range(40):
        rows = np.random.default_rng(seed).choice(4000, 400, replace=False)
        decision = decide(everyone[0][rows], everyone[1][rows], max_false, share_true=0.05)
        if decision.radius is not None:
            chosen += 1
            broken += shares[decision.radius] > max_false
    assert chosen >= 20
    assert broken <= 5  # at 5 % each, more come in 1 of 70 runs


def test_rows_that_come_in_clusters_do_not_count_as_independent():
    """Entities with up to a hundred rows, of which some look like another entity: other samples have other ones."""
    rng = np.random.default_rng(3)
    sizes = np.where(rng.random(1500) < 0.02, 60, rng.integers(1, 4, 1500))
    y, centers = np.repeat(np.arange(1500), sizes), rng.standard_normal((1500, 12))
    twins = np.flatnonzero(rng.random(1500) < 0.05)
    centers[twins] = centers[rng.permutation(1500)[: len(twins)]] + 0.3 * rng.standard_normal(
        (len(twins), 12)
    )
    rows = centers[y] + 0.3 * rng.standard_normal((len(y), 12))
    codes = Codes.from_bits(rows @ rng.standard_normal((12, 48)) > 0)
    shares, broken, naive = {}, 0, 0
    for seed in range(20):
        some = np.flatnonzero(np.isin(y, np.random.default_rng(seed).choice(1500, 150, replace=False)))
        decision = decide(codes[some], y[some], 0.05, share_true=0.01)
        shares = shares if len(shares) else true_shares(codes, y, 0.01)
        if decision.radius is not None:
            broken += shares[decision.radius] > 0.05
        # As if all pairs were independent: the largest radius whose share is measured below the limit.
        measured = true_shares(codes[some], y[some], 0.01)
        naive += shares[max(np.flatnonzero(measured <= 0.05), default=0)] > 0.05
    assert broken <= 2
    assert naive >= 4


def test_pairs_without_common_rows_have_exact_binomial_bounds():
    rng = np.random.default_rng(0)
    n = 400
    away = np.where(np.arange(n) < 200, rng.binomial(16, 0.1, n), rng.binomial(16, 0.5, n))
    bits = np.zeros((2 * n, 16), int)
    for pair, distance in enumerate(away):
        bits[2 * pair, :distance] = 1
    codes, same = Codes.from_bits(bits), np.arange(n) < 200
    ends = np.arange(n) * 2, np.arange(n) * 2 + 1
    plain = np.zeros((2 * n, 1))
    decision = decide_pairs((codes, codes), (plain, plain), ends, same, max_false=0.2, rng=rng)
    assert decision.radius is not None
    accepted = away <= decision.radius
    bound = binomtest(int(accepted[~same].sum()), 200, alternative="less").proportion_ci(1 - 0.04 / 3).high
    assert decision.per_stranger.high == pytest.approx(bound)
    ci = binomtest(int(accepted[same].sum()), 200).proportion_ci(0.95)
    assert (decision.recall.low, decision.recall.high) == pytest.approx((ci.low, ci.high))
    assert decision.false_share.high <= 0.2 < 1
    assert (decision.n_true, decision.n_strangers, decision.n_rows) == (200, 200, 800)


def test_where_no_radius_keeps_the_promise_the_answer_is_none_and_says_what_can_be_reached():
    codes, y = made(np.random.default_rng(0), 300, spread=0.6)
    decision = decide(codes, y, 1e-4)
    assert decision.radius is None
    assert decision.reachable is not None
    assert decision.reachable > 1e-4
    assert "No radius" in str(decision)
    assert "can be reached" in str(decision)
    again = decide(codes, y, decision.reachable)
    assert again.radius == decision.nearest
    noise = Codes.from_bits(np.random.default_rng(0).random((300, 32)) > 0.5)
    assert decide(noise, y, 0.01).reachable is None or decide(noise, y, 0.01).reachable > 0.5


def test_a_decision_is_kept_with_the_model_its_codes_and_its_index(decided, tmp_path):
    decision = decided.decision_
    assert isinstance(decision, Decision)
    assert decision.radius is not None
    assert 0 < decision.false_share.value < decision.false_share.high <= 0.05
    decided.save(tmp_path / "model.kin")
    loaded = kinhash.load(tmp_path / "model.kin")
    assert loaded.decision_ == decision
    assert str(loaded.decision_) == str(decision)
    index = HammingIndex.from_codes(loaded.encode(X[:FITTED]))
    index.save(tmp_path / "index.kin")
    index = HammingIndex.load(tmp_path / "index.kin")
    assert index.same_within == decision.radius
    queries = loaded.encode(X[FITTED:])
    kinhash.codes.save_codes(queries, tmp_path / "codes.kin")
    assert kinhash.load(tmp_path / "codes.kin").same_within == decision.radius
    found, wanted = index.same(queries), index.search_radius(queries, decision.radius)
    assert np.array_equal(found.ids, wanted.ids)
    assert np.array_equal(found.splits, wanted.splits)
    assert np.array_equal(decided.same(index, X[FITTED:]).ids, wanted.ids)
    false = (Y[FITTED:][np.repeat(np.arange(len(queries)), np.diff(found.splits))] != Y[found.ids]).mean()
    assert false < 0.05


def test_a_new_fit_and_codes_of_nobody_have_no_decision(hasher, decided):
    assert decided.codes_.same_within == decided.decision_.radius
    other = EnergyHasher(16, random_state=0).fit(X[:200], Y[:200])
    index = HammingIndex.from_codes(other.encode(X[:200]))
    with pytest.raises(InvalidInput, match="No radius was decided"):
        index.same(other.encode(X[:2]))
    other.decide(X[FITTED:], Y[FITTED:], max_false=0.5)
    assert other.decision_ is not None
    other.fit(X[:200], Y[:200])
    assert other.decision_ is None


def test_learned_codes_in_an_index_are_beyond_the_evidence(decided):
    index = HammingIndex.from_codes(decided.codes_)
    with pytest.warns(KinhashWarning, match="mapped"):
        index.same(decided.encode(X[:2]))


def test_pairs_are_named_by_ids_and_clicks_have_all_other_rows_as_strangers(hasher):
    rng = np.random.default_rng(0)
    rows, y = X[FITTED:], Y[FITTED:]
    left, right = rng.permutation(len(rows))[:700].reshape(2, -1)
    same, names = y[left] == y[right], np.array([f"row {i}" for i in range(len(rows))])
    by_number = hasher.decide_pairs(rows, left, right, same, max_false=0.1)
    by_name = hasher.decide_pairs(rows, names[left], names[right], same, max_false=0.1, ids=names)
    assert by_number == by_name
    assert by_number.share_true == pytest.approx(same.mean())
    with pytest.raises(InvalidInput, match="no id of a row"):
        hasher.decide_pairs(rows, ["nobody"], ["row 1"], [True], ids=names)
    assert hasher.decide_pairs(rows, left, right, same, max_false=0.1, share_true=0.001).radius is None
    clicks = hasher.decide_pairs(rows, left[same], right[same], max_false=0.5)
    assert clicks.n_true == same.sum()
    assert clicks.n_strangers > 1000
    del hasher.decision_


def test_a_view_has_a_decision_of_its_own(tmp_path):
    h = EnergyHasher(32, random_state=0).fit(X[:FITTED], Y[:FITTED])
    rng = np.random.default_rng(0)
    Z = X @ rng.standard_normal((64, 40))
    h.add_view("other", Z[:FITTED], beside=X[:FITTED])
    h.decide(X[FITTED:], Y[FITTED:], max_false=0.05)
    assert h.encode(Z[:3], view="other").same_within is None
    crossed = h.decide(Z[FITTED:], Y[FITTED:], max_false=0.1, view="other", beside=X[FITTED:])
    assert crossed.n_true + crossed.n_strangers == (len(X) - FITTED) * (len(X) - FITTED - 1)
    assert h.encode(Z[:3], view="other").same_within == crossed.radius
    h.save(tmp_path / "model.kin")
    loaded = kinhash.load(tmp_path / "model.kin")
    assert loaded.view("other").decision_ == crossed
    assert loaded.decision_ == h.decision_ != crossed


@pytest.mark.parametrize("share", [0, 1, -0.1, "1 %"])
def test_shares_are_between_0_and_1(hasher, share):
    with pytest.raises(InvalidInput, match="a share between 0 and 1"):
        hasher.decide(X[FITTED:], Y[FITTED:], max_false=share)


def test_one_kind_of_pair_is_not_enough(hasher):
    with pytest.raises(InvalidInput, match="There is no pair of strangers"):
        hasher.decide(X[FITTED : FITTED + 5], [1] * 5)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("keep", ["first", "last"])
def test_star_groups_are_those_of_brute_force(seed, keep):
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2, (40, 16))[rng.integers(0, 40, 300)] ^ (rng.random((300, 16)) < 0.05)
    radius, names = int(rng.integers(0, 5)), 3 * np.arange(300)
    far = (bits[:, None] != bits).sum(axis=2)
    owner, order = np.full(300, -1), np.arange(300)[:: 1 if keep == "first" else -1]
    for row in order:
        if owner[row] < 0:
            owner[(owner < 0) & (far[row] <= radius)] = row
    found = near_duplicates(Codes.from_bits(bits, ids=names), radius, keep=keep)
    kept = found.ids[found.kept][found.groups] // 3
    assert dict(zip((found.ids // 3).tolist(), kept.tolist(), strict=True)) == {
        row: int(owner[row]) for row in range(300) if (owner == owner[row]).sum() > 1
    }
    assert found.distances.tolist() == far[found.ids // 3, kept].tolist()
    assert found.distances.max(initial=0) <= radius


def test_known_duplicates_choose_the_radius_of_their_search():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (3000, 48))
    bits[2000:] = bits[:1000] ^ (rng.random((1000, 48)) < 0.03)
    bits[1000:1200] = bits[rng.permutation(1000)[:200]] ^ (
        rng.random((200, 48)) < 0.25
    )  # alike, and not the same
    names = np.array([f"item {i}" for i in range(3000)])
    index = HammingIndex.from_codes(Codes.from_bits(bits, ids=names))
    some = rng.permutation(1000)[:600]
    decision = decide_duplicates(index, names[some], names[2000 + some], max_false=0.02)
    assert decision.radius is not None
    found = near_duplicates(index, decision.radius)
    row = {name: number for number, name in enumerate(names)}
    dropped = [
        (row[a], row[b])
        for a, b in zip(found.ids, found.ids[found.kept][found.groups], strict=True)
        if a != b
    ]
    right = [abs(a - b) == 2000 for a, b in dropped]
    assert np.mean(right) >= 0.98
    assert sum(right) >= 900
    with pytest.raises(InvalidInput, match="No radius was decided"):
        near_duplicates(index, "decided")
