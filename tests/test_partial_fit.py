"""Rows that come in parts: partial_fit keeps what it knew, learns what is new, and says what it cannot do."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from kinhash.errors import InvalidInput, KinhashWarning
from kinhash.files import load
from kinhash.hasher import EnergyHasher, Reservoir
from kinhash.labels import read_labels
from some_rows import classes, order, same, tags

pytestmark = pytest.mark.usefixtures("quick_fits")

X, Y = classes(n=400, k=5, seed=1)


def hasher(n_bits=32, **settings):
    return EnergyHasher(n_bits, random_state=0, **settings)


def in_parts(rows, labels, edges, found=None):
    found = hasher() if found is None else found
    for a, b in zip([0, *edges], [*edges, rows.shape[0]], strict=True):
        found.partial_fit(rows[a:b], None if labels is None else labels[a:b])
    return found


def test_the_first_part_is_a_fit():
    one, other = hasher().partial_fit(X, Y), hasher().fit(X, Y)
    assert one.model_id_ == other.model_id_
    assert np.array_equal(one.codes_, other.codes_)


def test_parts_give_codes_as_good_as_one_fit():
    found = in_parts(X, Y, [100, 200, 300])
    assert order(found.encode(X), same(Y)) > order(hasher().fit(X, Y).encode(X), same(Y)) - 0.03
    assert len(found.codes_) == 100
    assert np.array_equal(found.codes_, found.learned_codes(X[300:], Y[300:]))
    assert found.report_.n_learned == 400


def test_classes_may_come_late():
    by_class = np.argsort(Y, kind="stable")
    found = in_parts(X[by_class], Y[by_class], [160, 240, 320])
    assert order(found.encode(X), same(Y)) > 0.9
    assert found.learned_codes(X, Y).learned is True


@pytest.mark.filterwarnings("ignore:.* bits are constant")
def test_labels_of_parts_long_gone_are_still_known(monkeypatch):
    import kinhash.hasher

    monkeypatch.setattr(kinhash.hasher, "RESERVOIR", 3)
    by_class = np.argsort(Y, kind="stable")
    found = in_parts(X[by_class], Y[by_class], [160, 240, 320])
    assert len(found.learned_codes(X, Y)) == 400


@pytest.mark.parametrize("kind", ["tags", "none", "some", "later", "sparse"])
def test_what_parts_may_hold(kind):
    rows, labels = X, Y
    if kind == "tags":
        rows, labels = tags(n=400)
    elif kind == "none":
        labels = None
    elif kind == "some":
        labels = [None if i % 3 else int(c) for i, c in enumerate(Y)]
    elif kind == "sparse":
        rows = sp.csr_array(X)
    found = hasher()
    for a in (0, 150, 300):
        b = a + 150
        found.partial_fit(rows[a:b], None if labels is None or (kind == "later" and a == 0) else labels[a:b])
    if kind != "tags":
        assert order(found.encode(rows), same(Y)) > 0.9
    assert (found.model_.table is None) == (kind == "none")


def test_parts_may_be_sparse_and_dense():
    found = hasher().partial_fit(sp.csr_array(X[:150]), Y[:150]).partial_fit(X[150:300], Y[150:300])
    found.partial_fit(sp.csr_array(X[300:]), Y[300:])
    dense = in_parts(X, Y, [150, 300])
    assert np.array_equal(found.encode(X), dense.encode(X))


@pytest.mark.filterwarnings("ignore:.* bits are constant")
@pytest.mark.parametrize("several", [False, True])
def test_paths_in_parts_may_be_text_or_tuples(several):
    names = ["a/x", "a/y", "b/x", "b/y", "c"]
    text = [{names[c]} if several else names[c] for c in Y]
    tuples = [{tuple(names[c].split("/"))} if several else tuple(names[c].split("/")) for c in Y]
    one, other = (in_parts(X, y, [150, 300], hasher(kinship="tree", looks=0.1)) for y in (text, tuples))
    assert np.array_equal(one.learned_codes(X, text), other.learned_codes(X, tuples))
    assert order(other.encode(X), same(Y)) > 0.9


def test_views_that_a_part_removes_are_named():
    found = hasher().partial_fit(X[:200], Y[:200]).add_view("text", X[:200, :8], Y[:200])
    with pytest.warns(KinhashWarning, match="no views any more. Add them again: text"):
        found.partial_fit(X[200:], Y[200:])
    assert not found.views_


def test_copies_continue_alike_and_threads_do_not_matter(tmp_path):
    one, other = in_parts(X[:200], Y[:200], [100]), in_parts(X[:200], Y[:200], [100], hasher(n_jobs=1))
    copy = pickle.loads(pickle.dumps(one))
    models = {each.partial_fit(X[200:], Y[200:]).model_id_ for each in (one, other, copy)}
    assert len(models) == 1
    one.save(tmp_path / "m.kin")
    loaded = load(tmp_path / "m.kin")
    assert np.array_equal(loaded.encode(X), one.encode(X))
    for without in (loaded, one.without_training()):
        with pytest.raises(InvalidInput, match="A model from a file"):
            without.partial_fit(X, Y)


def test_a_fit_is_not_continued_and_a_new_fit_forgets_the_parts():
    """A fit keeps no rows: twenty more would be all that the model knows."""
    found, says = hasher().fit(X[:300], Y[:300]), "partial_fit was called after fit"
    before = found.encode(X)
    with pytest.raises(InvalidInput, match=says):
        found.partial_fit(X[300:320], Y[300:320])
    assert np.array_equal(found.encode(X), before)
    found = in_parts(X, Y, [200])
    assert found.fit(X[:100], Y[:100]).model_id_ == hasher().fit(X[:100], Y[:100]).model_id_
    with pytest.raises(InvalidInput, match=says):
        found.partial_fit(X[100:], Y[100:])
    with pytest.raises(InvalidInput, match=says):
        hasher().fit(X, looks_from=X[:, :8]).partial_fit(X)


WRONG = {
    "NaN": (np.where(np.arange(400)[:, None] == 3, np.nan, X), Y, "NaN.*row 3"),
    "width": (X[:, :3], Y, "3 features"),
    "lengths": (X, Y[:5], "400 rows and the labels have 5"),
    "tags": (X, [{1}] * 400, "tags|classes"),
    "text": (X, ["a", "b"] * 200, "mix"),
    "no rows": (X[:0], Y[:0], "no rows"),
}


@pytest.mark.parametrize("what", WRONG)
def test_parts_that_cannot_be_used_leave_the_model_as_it_was(what):
    rows, labels, says = WRONG[what]
    found = in_parts(X[:200], Y[:200], [100])
    before = found.encode(X)
    with pytest.raises(InvalidInput, match=says):
        found.partial_fit(rows, labels)
    assert np.array_equal(found.encode(X), before)
    clean = in_parts(X[:200], Y[:200], [100])
    assert found.partial_fit(X[200:], Y[200:]).model_id_ == clean.partial_fit(X[200:], Y[200:]).model_id_


def test_a_part_that_ends_in_an_error_has_not_happened():
    """With warnings as errors it raised after the codes had changed and the views were gone."""
    found, other = (hasher().partial_fit(X[:200], Y[:200]).add_view("v", X, Y) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(KinhashWarning, match="no views any more"):
            found.partial_fit(X[200:], Y[200:])
    assert np.array_equal(found.encode(X, view="v"), other.encode(X, view="v"))
    for one in (found, other):
        with pytest.warns(KinhashWarning, match="no views any more"):
            one.partial_fit(X[200:], Y[200:])
    assert np.array_equal(found.encode(X), other.encode(X))


def test_every_row_that_was_seen_is_as_likely_to_be_kept(monkeypatch):
    import kinhash.hasher

    monkeypatch.setattr(kinhash.hasher, "RESERVOIR", 20)
    kept = np.zeros(100)
    for seed in range(300):
        rng = np.random.default_rng(seed)
        rows = np.arange(100.0)[:, None]
        sample = Reservoir(rows[:0], None).with_rows(rows[:30], read_labels(np.arange(30)), rng)
        for a, b in ((30, 35), (35, 90), (90, 100)):
            sample = sample.with_rows(rows[a:b], read_labels(np.arange(a, b)), rng)
        names = sample.labels.names[sample.labels.classes]
        assert np.array_equal(names, sample.X[:, 0])
        kept[sample.X[:, 0].astype(int)] += 1
    thirds = [kept[:30].mean(), kept[30:90].mean(), kept[90:].mean()]
    np.testing.assert_allclose(np.array(thirds) / 300, 0.2, atol=0.03)
