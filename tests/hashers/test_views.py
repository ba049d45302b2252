"""Views: other features of the same kind of items get codes that are compared with those of the first."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from small_data import two_views

import kinhash
from kinhash import EMKSH, EnergyHasher, HammingIndex
from kinhash.baselines import ITQ
from kinhash.encoders.expected_labels import ExpectedLabels
from kinhash.errors import InvalidInput, KinhashWarning, UnknownName
from kinhash.metrics import precision_at_k

X, T, Y = two_views()
NAMES = np.array(["a/cat", "a/dog", "b/car", "b/bus"])
PLAIN = ExpectedLabels(features="plain", penalty=1.0)


def fitted(n_bits=32, **settings):
    return EnergyHasher(n_bits, random_state=0, **settings).fit(X[:200], Y[:200])


def first_ten_share_the_class(hasher, view="text"):
    index = HammingIndex.from_codes(hasher.encode(X[:200]))
    found = hasher.search(index, T[200:], 10, view=view).ids
    return (Y[found] == Y[200:, None]).mean()


KINDS = {
    "classes": ({}, Y),
    "matrix": ({"kinship": 2 * np.eye(4) - 1 + 0.5 * (1 - np.eye(4))}, Y),
    "tree": ({"kinship": "tree"}, NAMES[Y]),
    "parents": ({"kinship": {0: "a", 1: "a", 2: "b", 3: "b"}}, Y),
    "tags": ({}, [{int(c), 4 + c % 2} for c in Y]),
    "indicator": ({"kinship": "any"}, np.eye(4, dtype=int)[Y]),
    "tag tree": ({"kinship": "tree"}, [{name} for name in NAMES[Y]]),
    "names": ({}, NAMES[Y].tolist()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_features_with_the_same_labels_give_the_kin_bits_of_the_first_view(kind):
    settings, y = KINDS[kind]
    hasher = EnergyHasher(16, alike=0, encoder=PLAIN, random_state=0, **settings).fit(X, y)
    hasher.add_view("same", X, y)
    ours, theirs = hasher.encode(X, view="same"), hasher.encode(X)
    assert (ours.bits() == theirs.bits()).mean() > 0.999
    assert ours.model_id == theirs.model_id
    hasher.add_view("text", T, y)
    assert precision_at_k(hasher.encode(T, view="text"), theirs, Y, Y, k=10) > 0.9


def test_rows_of_a_view_find_their_class_whichever_way_it_was_learned():
    hasher = fitted().add_view("labels", T[:200], Y[:200])
    hasher.add_view("both", T[:200], Y[:200], beside=X[:200])
    hasher.add_view("pairs", T[:200], beside=X[:200])
    for name in ("labels", "both", "pairs"):
        assert first_ten_share_the_class(hasher, name) > 0.95
    assert hasher.view("labels").report_.facts["penalty"] > 0
    assert "pull" in str(hasher.view("both").report_)


def test_a_view_may_lack_classes_and_rows_may_lack_labels():
    some = Y != 2
    known = np.where(np.arange(some.sum()) % 5 == 0, None, Y[some])
    hasher = EnergyHasher(16, alike=0, random_state=0).fit(X, Y).add_view("text", T[some], known)
    assert precision_at_k(hasher.encode(T[some], view="text"), hasher.encode(X), Y[some], Y, k=10) > 0.9


def test_partners_find_each_other():
    hasher = fitted(64).add_view("text", T[:200], beside=X[:200])
    texts, pictures = hasher.encode(T[200:], view="text"), hasher.encode(X[200:])
    own = np.arange(100)
    assert float(precision_at_k(texts, pictures, own, own, k=10)) * 10 > 0.8
    labels_alone = fitted(64).add_view("text", T[:200], Y[:200]).encode(T[200:], view="text")
    assert float(precision_at_k(labels_alone.kin_alone(), pictures.kin_alone(), own, own, k=10)) * 10 < 0.6


def test_a_linear_hasher_is_found_again_through_turned_columns():
    turned = X @ np.linalg.qr(np.random.default_rng(0).normal(size=(8, 8)))[0] + 5
    for hasher in (ITQ(16, random_state=0).fit(X), EMKSH(16, random_state=0).fit(X, Y)):
        hasher.add_view("turned", turned, beside=X)
        assert (hasher.encode(turned, view="turned").bits() == hasher.encode(X).bits()).mean() > 0.93


def test_pairs_name_rows_in_any_order_and_as_often_as_they_like():
    order = np.random.default_rng(0).permutation(200)
    twice = np.r_[order, order[:50]]
    hasher = fitted().add_view("text", T[:200][order], beside=X[:200], pairs=(np.arange(200), order))
    assert first_ten_share_the_class(hasher) > 0.95
    hasher.add_view("twice", T[twice], beside=X[:200], pairs=(np.arange(250), twice))
    assert first_ten_share_the_class(hasher, "twice") > 0.95


def test_views_of_a_hasher_fitted_on_pairs():
    left, right = np.random.default_rng(0).integers(0, 200, (2, 3000))
    apart = left != right
    similar = Y % 2 == 0  # which ITQ does not see
    hasher = EnergyHasher(16, random_state=0)
    hasher.fit_pairs(X[:200], left[apart], right[apart], similar[left[apart]] == similar[right[apart]])
    hasher.add_view("text", T[:200], beside=X[:200])
    found = (
        HammingIndex.from_codes(hasher.encode(X[:200])).search(hasher.encode(T[200:], view="text"), 10).ids
    )
    assert (similar[found] == similar[200:, None]).mean() > 0.95
    with pytest.raises(InvalidInput, match="does not hold the label model"):
        hasher.add_view("other", T[:200], Y[:200])


def test_pairs_of_rows_that_have_nothing_in_common_stay_at_the_regression():
    noise = np.random.default_rng(1).normal(size=(200, 5))
    hasher = fitted().add_view("noise", noise, beside=X[:200])
    assert hasher.view("noise").report_.facts["pull"] == "start"


def test_a_view_in_another_order_than_its_partners_is_warned_of():
    rng, y = np.random.default_rng(2), np.arange(600) % 6
    pictures, texts = (rng.normal(size=(600, p)) + 3 * np.eye(p)[y] for p in (8, 12))
    hasher = EnergyHasher(16, random_state=0).fit(pictures, y).add_view("text", texts, beside=pictures)
    assert hasher.view("text").report_.facts["held_out_in_order"] > 0.6
    with pytest.warns(KinhashWarning, match=r"do not find the rows they belong with: .* nearer than 0\.[45]"):
        hasher.add_view("text", texts[rng.permutation(600)], beside=pictures)


def test_the_first_view_and_its_indexes_stay_as_they_are():
    hasher = fitted()
    before, name, learned = hasher.encode(X), hasher.model_id_, hasher.codes_
    hasher.add_view("text", T[:200], Y[:200]).add_view("text", T[:200], beside=X[:200])
    np.testing.assert_array_equal(hasher.encode(X).packed, before.packed)
    assert hasher.model_id_ == name
    assert hasher.codes_.packed is learned.packed
    HammingIndex.from_codes(before).search(hasher.encode(T, view="text"), 3)
    assert list(hasher.views_) == ["text"]


# ---- look-alike bits ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def silent():
    """A view that was learned from labels alone, and codes of both views."""
    hasher = fitted(48).add_view("text", T[:200], Y[:200])
    return hasher, hasher.encode(T[200:], view="text"), hasher.encode(X[:200])


def test_queries_of_a_view_without_look_alike_bits_are_ranked_by_kin_bits_alone(silent):
    hasher, asked, database = silent
    assert not asked.knows_looks
    assert not asked.bits()[:, 24:].any()
    away = 3 * (asked.bits()[:, None, :24] != database.bits()[:, :24]).sum(axis=2)
    nearest = np.argsort(away, axis=1, kind="stable")[:, :20]
    index = HammingIndex.from_codes(database)
    answers = [index.search(asked, 20), index.search(asked[:1], 20)]
    answers += [hasher.search(index, T[200:], 20, floats, view="text") for floats in (None, "alike")]
    for found in answers:
        np.testing.assert_array_equal(found.ids, nearest[: len(found.ids)])
        np.testing.assert_allclose(found.distances, np.take_along_axis(away, nearest, 1)[: len(found.ids)])
    np.testing.assert_array_equal(asked.distances(database[:100]), np.diag(away))
    np.testing.assert_array_equal(asked.kin_alone().bits(), asked.bits()[:, :24])
    margins = np.abs(hasher.decision_function(T[200:], view="text")[:, :24])
    by_margin = 3 * ((asked.bits()[:, None, :24] != database.bits()[:, :24]) * margins[:, None]).sum(axis=2)
    for floats in ("kin", "both"):
        ids = hasher.search(index, T[200:], 1, floats, view="text").ids[:, 0]
        np.testing.assert_allclose(by_margin[np.arange(100), ids], by_margin.min(axis=1), rtol=1e-9)
    margins = hasher.decision_function(T[200:], view="text")
    kin, both = (index.search(asked, 20, margins=margins, margins_of=of) for of in ("kin", None))
    np.testing.assert_array_equal(kin.ids, both.ids)
    np.testing.assert_array_equal(kin.distances, both.distances)


def test_a_radius_needs_all_bits(silent):
    _, asked, database = silent
    with pytest.raises(InvalidInput, match="A radius came with codes of a view"):
        HammingIndex.from_codes(database).search_radius(asked, 5)


def test_that_look_alike_bits_are_not_known_travels_with_codes_and_models(silent, tmp_path):
    hasher, asked, _ = silent
    kinhash.save_codes(asked, tmp_path / "c.kin")
    assert not kinhash.load_codes(tmp_path / "c.kin").knows_looks
    hasher.save(tmp_path / "m.kin")
    assert not kinhash.load(tmp_path / "m.kin").encode(T[200:], view="text").knows_looks
    assert not asked[:3].knows_looks


def test_without_look_alike_bits_nothing_is_missing():
    hasher = fitted(alike=0).add_view("text", T[:200], Y[:200])
    assert hasher.encode(T, view="text").knows_looks


# ---- files, copies and other ways to use it -----------------------------------------------------


def test_a_model_file_holds_all_views(tmp_path):
    frame = pd.DataFrame(T, columns=[f"word {k}" for k in range(12)])
    hasher = fitted().add_view("text", frame[:200], Y[:200], beside=X[:200])
    hasher.add_view("bare", T[:200], Y[:200]).save(tmp_path / "m.kin")
    loaded = kinhash.load(tmp_path / "m.kin")
    assert loaded.model_id_ == hasher.model_id_
    for name, rows in (("text", frame), ("bare", T)):
        ours, theirs = loaded.encode(rows, view=name), hasher.encode(rows, view=name)
        np.testing.assert_array_equal(ours.packed, theirs.packed)
        assert ours.model_id == hasher.model_id_
        margins = loaded.decision_function(rows, view=name)
        np.testing.assert_array_equal(margins, hasher.decision_function(rows, view=name))
        np.testing.assert_array_equal(loaded.transform(rows, view=name), ours.bits())
    loaded.add_view("more", T[:200], beside=X[:200]).save(tmp_path / "n.kin")
    assert list(kinhash.load(tmp_path / "n.kin").views_) == ["text", "bare", "more"]
    with pytest.raises(InvalidInput, match="does not hold the label model"):
        loaded.add_view("labels", T[:200], Y[:200])
    with pytest.raises(InvalidInput, match=r"View 'text': The feature names should match"):
        loaded.encode(frame.rename(columns={"word 3": "word x"}), view="text")
    np.testing.assert_array_equal(
        loaded.encode(frame[frame.columns[::-1]], view="text").packed,
        hasher.encode(frame, view="text").packed,
    )


def test_a_copy_of_a_view_without_its_training_has_codes_of_the_same_model():
    hasher = fitted(16).add_view("text", T[:200], Y[:200])
    light = hasher.view("text").without_training()
    assert light.encode(T).model_id == hasher.model_id_
    assert len(HammingIndex.from_codes(hasher.encode(X)).search(light.encode(T[:2]), 3).ids) == 2


def test_copies_have_the_views_and_new_fits_do_not():
    hasher = fitted().add_view("text", T[:200], Y[:200])
    codes = hasher.encode(T, view="text").packed
    for copy in (pickle.loads(pickle.dumps(hasher)), hasher.without_training()):
        np.testing.assert_array_equal(copy.encode(T, view="text").packed, codes)
    assert not hasattr(clone(hasher), "views_")
    assert not hasher.fit(X, Y).views_


def test_same_seed_same_view_with_any_number_of_threads():
    codes = []
    for n_jobs in (1, 2):
        hasher = fitted(n_jobs=n_jobs).add_view("text", T[:200], Y[:200], beside=X[:200])
        codes.append(hasher.add_view("pairs", T[:200], beside=X[:200]).encode(T, view="text").packed)
        codes.append(hasher.encode(T, view="pairs").packed)
    np.testing.assert_array_equal(codes[0], codes[2])
    np.testing.assert_array_equal(codes[1], codes[3])


def test_learned_codes_and_scores_of_a_view():
    hasher = fitted(16, alike=0, trust=1.0).add_view("text", T[:200], Y[:200])
    codes = hasher.learned_codes(Y[200:], T[200:], view="text")
    np.testing.assert_array_equal(codes.packed, hasher.learned_codes(Y[200:], X[200:]).packed)
    assert hasher.score(T[200:], Y[200:], view="text") > 0.9


@pytest.mark.parametrize("how", ["labels", "pairs"])
def test_wide_sparse_views_go_through_fewer_columns(how):
    rng = np.random.default_rng(0)
    words = sp.csr_array((rng.random((300, 5000)) < 0.002 + 0.02 * (np.arange(5000) % 4 == Y[:, None])) * 1.0)
    known = {"y": Y[:200]} if how == "labels" else {"beside": X[:200]}
    hasher = fitted(16, alike=0).add_view("words", words[:200], **known)
    found = precision_at_k(hasher.encode(words[200:], view="words"), hasher.encode(X), Y[200:], Y, k=10)
    assert found > 0.8


def test_rows_unlike_those_of_a_view_are_warned_of_by_its_name():
    hasher = fitted().add_view("text", T[:200], Y[:200])
    with pytest.warns(KinhashWarning, match="View 'text': 16 of the last 16 rows"):
        hasher.encode(1000 * T, view="text")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hasher.encode(X)


def test_labels_that_the_features_of_a_view_do_not_predict_are_warned_of():
    hasher = EnergyHasher(16, alike=0, random_state=0).fit(X, Y)
    with pytest.warns(KinhashWarning, match="View 'noise': Features hardly predict"):
        hasher.add_view("noise", np.random.default_rng(0).normal(size=(300, 4)), Y)


WRONG = {
    "no view": (lambda h: fitted().encode(T, view="text"), "no view called 'text': the hasher has none"),
    "width": (lambda h: h.encode(T[:, :5], view="text"), "View 'text': X has 5 features, but EnergyHasher"),
    "other view": (lambda h: h.encode(T), "Pass view='text' if these are rows of that view"),
    "nothing known": (lambda h: h.add_view("b", T), "add_view was called with rows alone"),
    "pairs alone": (lambda h: h.add_view("b", T, Y, pairs=([0], [0])), "pairs came without beside"),
    "not aligned": (lambda h: h.add_view("b", T[:9], beside=X), "The view has 9 rows and beside has 300"),
    "no such row": (lambda h: h.add_view("b", T, beside=X, pairs=([0, 1], [0, 900])), "is 900, but X"),
    "uneven": (lambda h: h.add_view("b", T, beside=X, pairs=([0, 1], [0])), "lists of 2 and 1 rows"),
    "no pairs": (lambda h: h.add_view("b", T, beside=X, pairs=3), "pairs is not two lists"),
    "beside": (lambda h: h.add_view("b", T, beside=T), "X has 12 features"),
    "new label": (lambda h: h.add_view("b", T, Y + 1), "does not have 1 of the labels, 4 among them"),
    "tags": (lambda h: h.add_view("b", T, [{1}] * 300), "The view has tags and the first view has classes"),
    "one class": (lambda h: h.add_view("b", T, Y * 0), "only one class"),
    "length": (lambda h: h.add_view("b", T, Y[:9]), "X has 300 rows and the labels have 9"),
    "NaN": (lambda h: h.add_view("b", T * np.nan, Y), "NaN"),
    "name": (lambda h: h.add_view("b c", T, Y), "A view was called 'b c'"),
    "view of a view": (lambda h: h.view("text").add_view("b", T, Y), "was to be added to view 'text'"),
    "fitted alone": (lambda h: h.view("text").fit(T, Y), "View 'text' was to be fitted alone"),
    "saved alone": (lambda h: h.view("text").save("x.kin"), "View 'text' was to be saved alone"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_be_done_is_said(what):
    call, says = WRONG[what]
    hasher = fitted(16).add_view("text", T[:200], Y[:200])
    with pytest.raises(InvalidInput, match=says):
        call(hasher)
    assert list(hasher.views_) == ["text"]


def test_an_unknown_view_is_an_unknown_name():
    hasher = fitted(16).add_view("text", T[:200], Y[:200])
    with pytest.raises(UnknownName, match=r"Expected one of text\. Did you mean 'text'\?"):
        hasher.encode(T, view="texts")


def test_there_are_not_too_many_views():
    hasher = ITQ(4, random_state=0).fit(X)
    for k in range(20):
        hasher._take_view(hasher._blank_view(str(k)), hasher.fitted_)
    with pytest.raises(InvalidInput, match="The hasher has 20 views"):
        hasher.add_view("more", T, beside=X)
