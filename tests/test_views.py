"""Views: other features of the same kind of items get codes that are compared with those of the first."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from kinhash import HammingIndex
from kinhash.errors import InvalidInput, KinhashWarning, UnknownName
from kinhash.files import load
from kinhash.hasher import EnergyHasher
from some_rows import classes, order, same

pytestmark = pytest.mark.usefixtures("quick_fits")

X, Y = classes(n=300, p=16, k=4, seed=1)
# Texts are other columns of the same items: what tells items apart is in both.
T = np.hstack([X[:, :8] @ np.random.default_rng(2).normal(size=(8, 8)), X[:, 8:]])[:, ::-1] + 3
T = T[:, :12] + 0.2 * np.random.default_rng(3).normal(size=(300, 12))
NAMES = np.array(["a/cat", "a/dog", "b/car", "b/bus"])
OLD, NEW = slice(0, 200), slice(200, 300)


def fitted(n_bits=32, **settings):
    return EnergyHasher(n_bits, random_state=0, **settings).fit(X[OLD], Y[OLD])


@pytest.fixture(scope="module")
def three(quick_fits):
    """A hasher with views that were learned in all three ways."""
    found = fitted().add_view("labels", T[OLD], Y[OLD]).add_view("beside", T[OLD], beside=X[OLD])
    return found.add_view("both", T[OLD], Y[OLD], beside=X[OLD])


@pytest.mark.parametrize("way", ["labels", "beside", "both"])
def test_rows_of_a_view_find_rows_of_the_first(three, way):
    asked = three.encode(T[NEW], view=way)
    assert order(asked, same(Y[NEW], Y[OLD]), three.codes_) > 0.95
    index = HammingIndex.from_codes(three.codes_)
    found = three.search(index, T[NEW], 10, view=way)
    assert np.array_equal(found.ids, index.search(asked, 10).ids)
    assert (Y[OLD][found.ids] == Y[NEW][:, None]).mean() > 0.9
    margins = three.search(index, T[NEW], 10, margins=True, view=way)
    assert (Y[OLD][margins.ids] == Y[NEW][:, None]).mean() > 0.9
    assert three.score(T[NEW], Y[NEW], view=way) > 0.85
    assert asked.model_id == three.model_id_
    assert "bits as in the first view" in three.view(way).report_.facts


def test_partners_find_each_other():
    found = EnergyHasher(64, random_state=0).fit(X[OLD]).add_view("text", T[OLD], beside=X[OLD])
    assert order(found.encode(T[NEW], view="text"), np.eye(100, dtype=bool), found.encode(X[NEW])) > 0.9


KINDS = {
    "matrix": ({"kinship": 2 * np.eye(4) - 1 + 0.5 * (1 - np.eye(4))}, Y),
    "tree": ({"kinship": "tree"}, NAMES[Y]),
    "parents": ({"kinship": {0: "a", 1: "a", 2: "b", 3: "b"}}, Y),
    "tags": ({}, [{int(c), 4 + c % 2} for c in Y]),
    "indicator": ({"kinship": "any"}, np.eye(4, dtype=int)[Y]),
    "tag tree": ({"kinship": "tree"}, [{name} for name in NAMES[Y]]),
    "unknown among them": ({}, [None if i % 5 == 0 else str(c) for i, c in enumerate(Y)]),
    "an energy": ({"energy": "ksh"}, Y),
}


@pytest.mark.filterwarnings("ignore:.* bits are constant")
@pytest.mark.parametrize("kind", KINDS)
def test_views_of_all_kinds_of_labels(kind):
    settings, y = KINDS[kind]
    found = EnergyHasher(16, random_state=0, **settings).fit(X, y).add_view("text", T, y)
    assert order(found.encode(T, view="text"), same(Y), found.codes_) > 0.9


def test_a_view_may_lack_classes():
    some = Y != 2
    found = fitted(16).add_view("text", T[some], np.where(np.arange(some.sum()) % 5 == 0, None, Y[some]))
    assert order(found.encode(T[some], view="text"), same(Y[some], Y), found.encode(X)) > 0.9


def test_a_view_may_lack_classes_of_a_matrix():
    some = Y != 2
    found = EnergyHasher(16, kinship=np.eye(4), random_state=0).fit(X, Y).add_view("text", T[some], Y[some])
    assert order(found.encode(T[some], view="text"), same(Y[some], Y), found.encode(X)) > 0.9


DEEP = np.array(["x", "a/cat", "a/dog/small", "b/car"])


@pytest.mark.filterwarnings("ignore:.* bits are constant")
@pytest.mark.parametrize("several", [False, True])
def test_paths_of_a_view_may_end_early(several):
    y = [{name} if several else str(name) for name in DEEP[Y]]
    found = EnergyHasher(16, kinship="tree", random_state=0).fit(X, y).add_view("text", T, y)
    assert order(found.encode(T, view="text"), same(Y), found.codes_) > 0.9


def test_pairs_may_name_rows_of_one_class():
    some = np.flatnonzero(Y == 1)
    found = EnergyHasher(16, random_state=0).fit(X, Y).add_view("text", T, Y, beside=X, pairs=(some, some))
    assert found.view("text").report_.n_rows == len(some)


@pytest.mark.filterwarnings("ignore:.* bits are constant")
def test_a_view_warns_once():
    with pytest.warns(KinhashWarning, match="No two rows share a class") as caught:
        EnergyHasher(8, random_state=0).fit(X, Y).add_view("text", T[[Y.argmin(), Y.argmax()]], [0, 3])
    assert sum("No two rows" in str(one.message) for one in caught) == 1


def test_classes_of_a_table_of_parents_keep_their_names_in_a_file(tmp_path):
    """A slash in the name of a class is no path."""
    names = np.array(["a/1", "a 2", "/b", "c//"])
    kinship = {"a/1": "a", "a 2": "a", "/b": "b", "c//": "b"}
    found = EnergyHasher(16, kinship=kinship, random_state=0).fit(X, names[Y])
    found.save(tmp_path / "m.kin")
    loaded = load(tmp_path / "m.kin")
    assert np.array_equal(loaded.learned_codes(X, names[Y]), found.codes_)
    for one in (loaded, found):
        one.add_view("text", T, names[Y])
        assert order(one.encode(T, view="text"), same(Y), found.codes_) > 0.9
    one.add_classes(X[:5], ["/d"] * 5)
    assert one.learned_codes(X[:1], ["/d"]).learned is True


def test_pairs_name_rows_in_any_order_and_as_often_as_they_like():
    mixed = np.random.default_rng(0).permutation(200)
    twice = np.r_[mixed, mixed[:50]]
    found = fitted().add_view("text", T[OLD][mixed], beside=X[OLD], pairs=(np.arange(200), mixed))
    found.add_view("twice", T[twice], beside=X[OLD], pairs=(np.arange(250), twice))
    for view in ("text", "twice"):
        assert order(found.encode(T[NEW], view=view), same(Y[NEW], Y[OLD]), found.codes_) > 0.95


def test_a_hasher_without_labels_has_views_by_partners():
    found = EnergyHasher(32, random_state=0).fit(X[OLD]).add_view("text", T[OLD], beside=X[OLD])
    assert order(found.encode(T[NEW], view="text"), same(Y[NEW], Y[OLD]), found.codes_) > 0.9
    with pytest.raises(InvalidInput, match="no scores of labels"):
        found.add_view("labels", T[OLD], Y[OLD])


def test_the_first_view_and_its_indexes_stay_as_they_are(three):
    plain = fitted()
    assert np.array_equal(three.encode(X).packed, plain.encode(X).packed)
    assert three.model_id_ == plain.model_id_
    assert np.array_equal(three.codes_.packed, plain.codes_.packed)
    assert list(three.views_) == ["labels", "beside", "both"]


def test_a_new_embedding_model_beside_the_old_one():
    """The same rows through other columns: codes of new rows agree in most bits."""
    turned = X @ np.linalg.qr(np.random.default_rng(0).normal(size=(16, 16)))[0] + 5
    found = fitted().add_view("new", turned[OLD], beside=X[OLD])
    assert (found.encode(turned[NEW], view="new").bits() == found.encode(X[NEW]).bits()).mean() > 0.85


def test_learned_codes_of_a_view(three):
    codes = three.learned_codes(T[NEW], Y[NEW], view="labels")
    assert codes.learned is True
    assert order(codes, same(Y[NEW], Y[OLD]), three.codes_) > 0.95


def test_wide_sparse_views():
    rng = np.random.default_rng(0)
    words = sp.csr_array((rng.random((300, 5000)) < 0.002 + 0.02 * (np.arange(5000) % 4 == Y[:, None])) * 1.0)
    found = fitted(16).add_view("words", words[:200], Y[OLD])
    assert order(found.encode(words[200:], view="words"), same(Y[NEW], Y[OLD]), found.codes_) > 0.85


def test_files_and_copies_hold_all_views(three, tmp_path):
    frame = pd.DataFrame(T, columns=[f"word {k}" for k in range(12)])
    found = copy.copy(three)
    found.views_ = dict(three.views_)
    found.add_view("named", frame[OLD], Y[OLD]).save(tmp_path / "m.kin")
    loaded = load(tmp_path / "m.kin")
    assert list(loaded.views_) == [*three.views_, "named"]
    for again in (loaded, pickle.loads(pickle.dumps(found)), found.without_training()):
        for name in found.views_:
            rows = frame if name == "named" else T
            assert np.array_equal(again.encode(rows, view=name), found.encode(rows, view=name))
            assert again.encode(rows, view=name).model_id == found.model_id_
            assert np.array_equal(
                again.learned_codes(rows, Y, view=name), found.learned_codes(rows, Y, view=name)
            )
    loaded.save(tmp_path / "again.kin")
    assert (tmp_path / "again.kin").read_bytes() == (tmp_path / "m.kin").read_bytes()
    assert np.array_equal(
        loaded.encode(frame[frame.columns[::-1]], view="named"), found.encode(frame, view="named")
    )
    with pytest.raises(InvalidInput, match=r"View 'named': The feature names should match"):
        loaded.encode(frame.rename(columns={"word 3": "word x"}), view="named")
    loaded.add_view("more", T[OLD], Y[OLD], beside=X[OLD])
    assert order(loaded.encode(T[NEW], view="more"), same(Y[NEW], Y[OLD]), three.codes_) > 0.95
    assert not hasattr(clone(found), "views_")
    assert not found.fit(X, Y).views_


def test_same_seed_same_view_with_any_number_of_threads():
    codes = {
        fitted(n_jobs=jobs)
        .add_view("text", T[OLD], Y[OLD], beside=X[OLD])
        .encode(T, view="text")
        .packed.tobytes()
        for jobs in (1, 2)
    }
    assert len(codes) == 1


def test_rows_unlike_those_of_a_view_are_warned_of_by_its_name(three):
    mine = copy.deepcopy(three)
    with pytest.warns(KinhashWarning, match="View 'both': 16 of the last 16 rows") as caught:
        mine.encode(1000 * T, view="both")
    assert caught[0].filename == __file__
    mine.encode(X)


WRONG = {
    "no view": (lambda h: fitted(8).encode(T, view="text"), "no view called 'text': the hasher has none"),
    "width": (lambda h: h.encode(T[:, :5], view="both"), "View 'both': X has 5 features, but EnergyHasher"),
    "other view": (lambda h: h.encode(T), "Pass view='labels' if these are rows of that view"),
    "nothing known": (lambda h: h.add_view("b", T), "add_view was called with rows alone"),
    "pairs alone": (lambda h: h.add_view("b", T, Y, pairs=([0], [0])), "pairs came without beside"),
    "not aligned": (lambda h: h.add_view("b", T[:9], beside=X), "X has 9 rows and beside has 300"),
    "no such row": (lambda h: h.add_view("b", T, beside=X, pairs=([0, 1], [0, 900])), "outside 0 to 299"),
    "uneven": (lambda h: h.add_view("b", T, beside=X, pairs=([0, 1], [0])), "two lists of row numbers"),
    "floats": (lambda h: h.add_view("b", T, beside=X, pairs=([0.5], [0])), "two lists of row numbers"),
    "no pairs": (lambda h: h.add_view("b", T, beside=X, pairs=3), "pairs"),
    "three lists": (lambda h: h.add_view("b", T, beside=X, pairs=([0], [1], [2])), "pairs"),
    "beside": (lambda h: h.add_view("b", T, beside=T), "X has 12 features"),
    "new label": (lambda h: h.add_view("b", T, Y + 1), "does not know 1 of the labels, 4 among them"),
    "tags": (lambda h: h.add_view("b", T, [{1}] * 300), "y holds tags, and the model was fitted on classes"),
    "one class": (lambda h: h.add_view("b", T, Y * 0), "only one class"),
    "length": (lambda h: h.add_view("b", T, Y[:9]), "X has 300 rows and the labels have 9"),
    "NaN": (lambda h: h.add_view("b", T * np.nan, Y), "NaN"),
    "name": (lambda h: h.add_view("b c", T, Y), "A view was called 'b c'"),
    "number": (lambda h: h.add_view(3, T, Y), "A view was called 3"),
    "view of a view": (lambda h: h.view("both").add_view("b", T, Y), "add_view was called on view 'both'"),
    "fit of a view": (lambda h: h.view("both").fit(T, Y), "fit was called on view 'both'"),
    "save of a view": (lambda h: h.view("both").save("x"), "was to be saved alone"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_refused(three, what):
    use, says = WRONG[what]
    before = list(three.views_)
    with pytest.raises(InvalidInput, match=says):
        use(three)
    assert list(three.views_) == before


def test_names_of_views_are_suggested(three):
    with pytest.raises(UnknownName, match="Did you mean 'labels'"):
        three.encode(T, view="label")
    many = copy.copy(three)
    many.views_ = {f"v{k}": three.view("both") for k in range(20)}
    with pytest.raises(InvalidInput, match="20 views already"):
        many.add_view("one", T, Y)
