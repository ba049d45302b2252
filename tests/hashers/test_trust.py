"""Learned codes: what labels and features say, mixed; of rows fitted on, of others, of new classes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import small_data
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsRegressor

import kinhash
from kinhash import EnergyHasher, HammingIndex, metrics
from kinhash.encoders.codes_of_rows import Evidence
from kinhash.encoders.expected_labels import ExpectedLabels
from kinhash.encoders.regressor import Regressor
from kinhash.errors import InvalidInput
from kinhash.supervision import read_labels

X, y = load_digits(return_X_y=True)
N = 400
TAGS = [{f"d{c}", "even" if c % 2 == 0 else "odd"} for c in y[:N]]
UNKNOWN = [None if i % 5 == 0 else int(c) for i, c in enumerate(y[:N])]
PLAIN = ExpectedLabels(features="plain", penalty=10.0)


def fit(labels=y[:N], **settings):
    return EnergyHasher(**{"n_bits": 16, "encoder": PLAIN, "random_state": 0} | settings).fit(X[:N], labels)


def noisy_tags():
    """Rows whose features predict their tags in part."""
    rows, tags = small_data.tags(n=300, p=12, t=20)
    return rows + 3 * np.random.default_rng(5).normal(size=rows.shape), tags


def kin_bits(hasher, codes):
    return codes.bits()[:, : hasher.codes_.fields.kin(hasher.n_bits)]


def label_scores(hasher):
    """Scores (n, d) that the labels of the training rows have, NaN for rows without."""
    fitted = hasher.fitted_
    scores = fitted.scores[fitted.group_of_row].astype(np.float64)
    return np.where((fitted.group_of_row >= 0)[:, None], scores, np.nan)


@pytest.fixture(scope="module")
def fitted() -> EnergyHasher:
    return EnergyHasher(32, random_state=0).fit(X[:1000], y[:1000])


# -- the mixture ------------------------------------------------------------------------------------


CASES = {
    "classes": {},
    "kin bits alone": {"alike": 0},
    "tags": {"labels": TAGS},
    "any tag": {"labels": TAGS, "kinship": "any", "alike": 0},
    "unknown rows": {"labels": UNKNOWN},
    "ridge": {"encoder": "ridge"},
    "ridge on tags": {"encoder": "ridge", "labels": TAGS, "solver": "coordinate"},
    "regressor": {"encoder": Regressor(estimator=KNeighborsRegressor(3))},
    "coordinate": {"solver": "coordinate"},
}


@pytest.mark.parametrize("trust", [0.0, 0.2, 0.4, 0.8, 1.0])
@pytest.mark.parametrize("case", list(CASES))
def test_learned_bits_are_signs_of_the_mixture(case, trust):
    hasher = fit(**CASES[case], trust=trust)
    kin = hasher.codes_.fields.kin(16)
    mapped, said = hasher.decision_function(X[:N])[:, :kin], label_scores(hasher)
    mixed = np.where(np.isnan(said), mapped, trust * said + (1 - trust) * mapped)
    found = kin_bits(hasher, hasher.codes_)
    sure = np.abs(mixed) > 1e-4 * np.abs(mixed).max()
    assert sure.mean() > 0.99
    assert np.array_equal(found[sure], (mixed > 0)[sure])


@pytest.mark.parametrize("case", list(CASES))
def test_at_its_ends_trust_is_labels_alone_and_features_alone(case):
    hasher = fit(**CASES[case], trust=0)
    assert np.array_equal(hasher.codes_.packed, hasher.encode(X[:N]).packed)
    hasher = fit(**CASES[case], trust=1)
    labels = CASES[case].get("labels", y[:N])
    learned = kin_bits(hasher, hasher.codes_)
    for some in {frozenset(one) if isinstance(one, set) else one for one in labels} - {None}:
        own = learned[[one == some for one in labels]]
        assert (own == own[0]).all()


def test_trust_changes_neither_the_map_nor_what_labels_say():
    rows, tags = noisy_tags()
    made = (EnergyHasher(16, encoder=PLAIN, trust=trust, random_state=0) for trust in (0.0, 0.4, 1.0))
    hashers = [hasher.fit(rows, tags) for hasher in made]
    assert len({hasher.model_id_ for hasher in hashers}) == 1
    bits = [hasher.codes_.bits() for hasher in hashers]
    assert not np.array_equal(bits[0], bits[2])
    agreed = bits[0] == bits[2]
    assert np.array_equal(bits[1][agreed], bits[0][agreed])
    for one, other in ((0, 1), (1, 2)):
        assert not np.array_equal(bits[one], bits[other])


@given(seed=st.integers(0, 999), trust=st.floats(0, 1))
def test_evidence_by_definition(seed, trust):
    rng = np.random.default_rng(seed)
    table, place = rng.normal(size=(4, 3)), rng.integers(-1, 4, 20)
    scores = rng.normal(size=(20, 3))
    evidence = Evidence(table, place, trust)
    expected = [
        row if group < 0 else trust * table[group] + (1 - trust) * row
        for row, group in zip(scores, place, strict=True)
    ]
    np.testing.assert_allclose(evidence(scores, slice(0, 20)), expected)
    some = rng.permutation(20)[:7]
    np.testing.assert_allclose(evidence(scores[some], some), np.array(expected)[some])


def test_a_row_finds_itself_more_often_than_by_its_label_alone():
    """Rows of equal tags share all kin bits where labels alone decide."""
    rows, tags = noisy_tags()
    first = {}
    for trust in (0.0, 0.4, 1.0):
        hasher = EnergyHasher(64, alike=0, encoder=PLAIN, trust=trust, random_state=0).fit(rows, tags)
        found = HammingIndex.from_codes(hasher.codes_).search(hasher.encode(rows), k=1)
        first[trust] = (found.ids[:, 0] == np.arange(300)).mean()
    assert first[0.0] > first[0.4] > first[1.0] + 0.03


# -- learned codes of labels and features ----------------------------------------------------------------


@pytest.mark.parametrize("case", [case for case in CASES if case not in ("unknown rows", "ridge on tags")])
@pytest.mark.parametrize("trust", [0.4, 1.0])
def test_rows_fitted_on_get_their_codes_again(case, trust, tmp_path):
    hasher = fit(**CASES[case], trust=trust)
    labels, once = CASES[case].get("labels", y[:N]), [hasher]
    if case != "regressor":  # which no model file holds
        hasher.save(tmp_path / "m.kin")
        once.append(kinhash.load(tmp_path / "m.kin"))
    for one in (*once, hasher.without_training()):
        again = one.learned_codes(labels, X[:N])
        assert np.array_equal(again.packed, hasher.codes_.packed)
        assert again.fields == hasher.codes_.fields
        order = np.random.default_rng(0).permutation(N)[:50]
        some = one.learned_codes([labels[i] for i in order], X[order])
        assert np.array_equal(some.packed, hasher.codes_.packed[order])


def test_without_features_labels_alone_must_decide():
    alone = fit(alike=0, trust=1)
    assert np.array_equal(alone.learned_codes(y[:N]).packed, alone.codes_.packed)
    for settings in ({"trust": 0.4, "alike": 0}, {"trust": 1, "alike": 0.5}):
        with pytest.raises(InvalidInput, match=r"without features.*learned_codes\(y, X\)"):
            fit(**settings).learned_codes([1])


@pytest.mark.parametrize("kinship", ["graded", "any"])
def test_tag_sets_that_no_row_had_follow_the_solver(kinship, tmp_path):
    """Two known tags together get the similarities that the supervision gives such a row."""
    hasher = fit(TAGS, kinship=kinship, alike=0, trust=1)
    hasher.save(tmp_path / "m.kin")
    new = [{"d1", "d2"}, {"even"}, {"d3", "even"}, set()]
    together = kinhash.supervision.from_labels(TAGS + new, kinship=kinship)
    groups = together.group_of_row
    # Anchors of this fit are all distinct tag sets, in the order of their first rows.
    anchors = np.unique([groups[TAGS.index(one)] for one in TAGS])
    expected = hasher.fitted_.unrounded.readout.scores(together.similarity(groups[N:], anchors)) > 0
    assert len(anchors) == hasher.fitted_.unrounded.readout.matrix.shape[0]
    for one in (hasher, kinhash.load(tmp_path / "m.kin")):
        assert np.array_equal(one.learned_codes(new).bits(), expected)


@pytest.mark.parametrize("kind", ["classes", "tags"])
def test_labels_without_a_row_in_the_fit_have_no_learned_code(kind, tmp_path):
    given = y[:N] if kind == "classes" else [{int(c)} for c in y[:N]]
    every = read_labels(given)
    kept = np.flatnonzero(y[:N] != 9)
    hasher = EnergyHasher(16, alike=0, trust=1, random_state=0).fit(X[kept], every[kept])
    hasher.save(tmp_path / "m.kin")
    for one in (hasher, kinhash.load(tmp_path / "m.kin")):
        again = one.learned_codes(every[kept])  # nine is among their names, and no row has it
        assert np.array_equal(again.packed, hasher.codes_.packed)
        with pytest.raises(InvalidInput, match="does not know 1 of the labels, 9 among them"):
            one.learned_codes(every)


def test_learned_codes_say_what_they_lack(fitted):
    cases = {"does not know": [11], "unknown": [None], "tags came": [{1}], "2 labels": [1, 2]}
    for says, wrong in cases.items():
        with pytest.raises(InvalidInput, match=says):
            fitted.learned_codes(wrong, X[:1])
    with pytest.raises(InvalidInput, match="without features"):
        fitted.learned_codes([1])


def test_a_relabeled_row_moves_to_its_new_kin():
    hasher = EnergyHasher(32, trust=1, random_state=0).fit(X[:1000], y[:1000])
    row, wrong = X[1000:1001], [(y[1000] + 1) % 10]
    found = HammingIndex.from_codes(hasher.codes_).search(hasher.learned_codes(wrong, row), k=5)
    assert (y[found.ids] == wrong).all()


def test_the_more_a_label_is_trusted_the_nearer_a_relabeled_row_is_to_its_new_kin():
    wrong = (y[N : N + 200] + 1) % 10
    near = []
    for trust in (0.0, 0.4, 0.8, 1.0):
        hasher = fit(trust=trust, alike=0)
        codes = hasher.learned_codes(wrong, X[N : N + 200])
        found = HammingIndex.from_codes(hasher.codes_).search(codes, k=10)
        near.append((y[found.ids] == wrong[:, None]).mean())
    assert near == sorted(near)
    assert near[0] < 0.2
    assert near[-1] > 0.99


def test_learned_codes_say_that_labels_made_them(fitted):
    assert fitted.learned_codes(y[:3], X[:3]).learned
    assert fitted.codes_.learned
    assert not fitted.encode(X[:3]).learned


# -- classes that arrive later ----------------------------------------------------------------------------


@pytest.mark.parametrize("trust", [0.4, 1.0])
@pytest.mark.parametrize("alike", [0, 0.5])
def test_a_class_that_arrives_later_gets_scores_of_its_own(alike, trust, tmp_path):
    late, n = y[:1000] == 9, 1000
    hasher = EnergyHasher(32, alike=alike, trust=trust, random_state=0).fit(X[:n][~late], y[:n][~late])
    before, mapped = hasher.codes_.packed.copy(), hasher.encode(X[:n])
    with pytest.raises(InvalidInput, match="add_classes"):
        hasher.learned_codes(y[:n], X[:n])
    some = y[:n] > 7
    hasher.add_classes(X[:n][some], y[:n][some])  # one of the two is known, and stays as it is
    hasher.save(tmp_path / "m.kin")
    for one in (hasher, kinhash.load(tmp_path / "m.kin")):
        codes = one.learned_codes(y[:n], X[:n])
        assert np.array_equal(codes.packed[~late], before)
        assert one.model_id_ == mapped.model_id
        assert np.array_equal(one.encode(X[:n]).packed, mapped.packed)
    kin = slice(32 - hasher.fitted_.fields.alike)
    if trust == 1:
        usual = hasher.decision_function(X[:n][late])[:, kin].mean(axis=0) > 0
        assert (codes.bits()[late, kin] == usual).all()
        assert not (codes.bits()[~late, kin] == usual).all(axis=1).any()
    queries, new = hasher.encode(X[n:]), y[n:] == 9
    plain = replace(codes, packed=np.where(late[:, None], mapped.packed, codes.packed))
    without, with_own = (
        metrics.mean_average_precision(queries, found, y[n:], y[:n]).per_query[new]
        for found in (plain, codes)
    )
    assert with_own.mean() > without.mean()


@pytest.mark.filterwarnings("ignore:.*too few pairs")
@pytest.mark.filterwarnings("ignore:There are too few pairs")
def test_what_cannot_get_codes_later(fitted):
    for wrong in ([{1}], [1, 2]):
        with pytest.raises(InvalidInput):
            fitted.add_classes(X[:1], wrong)
    pairs = EnergyHasher(8, random_state=0).fit_pairs(X[:20], [0, 1, 2], [3, 4, 5], [1, -1, 1])
    with pytest.raises(InvalidInput, match="fitted on classes"):
        pairs.add_classes(X[:1], [1])
    with pytest.raises(InvalidInput, match="Tags came to add_classes"):
        fit(TAGS).add_classes(X[:1], [{"d1"}])


def test_the_reason_why_codes_of_tags_cannot_be_had_is_true():
    hasher = EnergyHasher(8, encoder="ridge", random_state=0).fit(X[:N], TAGS[:N])
    with pytest.raises(InvalidInput, match="on tags with encoder='expected'"):
        hasher.learned_codes(TAGS[:2], X[:2])


def test_rows_without_tags_have_codes_as_lists_and_as_sets():
    hasher = fit(TAGS)
    assert np.array_equal(hasher.learned_codes([[]], X[:1]), hasher.learned_codes([set()], X[:1]))
