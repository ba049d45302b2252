"""EnergyHasher from labels of every kind and from looks: what codes say of rows, learned or new."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from kinhash import HammingIndex
from kinhash.errors import InvalidInput, KinhashWarning, UnknownName
from kinhash.hasher import ENERGIES, EnergyHasher
from some_rows import classes, distances, order, pairs, same, tags

pytestmark = pytest.mark.usefixtures("quick_fits")

X, Y = classes(n=400)
OLD, NEW = slice(0, 300), slice(300, 400)


def hasher(n_bits=32, **settings):
    return EnergyHasher(n_bits, random_state=0, **settings)


@pytest.fixture(scope="module")
def fitted(quick_fits):
    """A hasher of five classes, fitted on the old rows."""
    return hasher().fit(X[OLD], Y[OLD])


# -- labels ---------------------------------------------------------------------------------------------


def test_new_rows_find_rows_of_their_class(fitted):
    assert order(fitted.encode(X[NEW]), same(Y[NEW], Y[OLD]), fitted.codes_) > 0.97
    assert order(fitted.codes_, same(Y[OLD])) > 0.97
    assert fitted.codes_.learned is True
    assert fitted.encode(X[NEW]).learned is False
    assert fitted.score(X[NEW], Y[NEW]) > 0.9


@pytest.mark.filterwarnings("ignore:.* rows looked at are unlike")
def test_the_looks_of_rows_are_in_all_codes():
    """A class that no label named is told apart from the others by its looks, unless looks count nothing."""
    Z, z = classes(n=400, k=8, seed=1)
    known = z < 4
    found = [hasher(looks=looks).fit(Z[known], z[known]) for looks in (0.5, 0)]
    new = [order(one.encode(Z[~known]), same(z[~known])) for one in found]
    assert new[0] > 0.75
    assert new[0] > new[1]


@pytest.mark.parametrize("kinship", ["auto", "graded", "any"])
def test_tags(kinship):
    Z, sets = tags(n=400)
    found = hasher(kinship=kinship).fit(Z[OLD], sets[OLD])
    share = np.array([[len(a & b) / len(a | b) for b in sets] for a in sets])
    assert order(found.codes_, share[OLD, OLD] > 0) > 0.7
    assert order(found.encode(Z[NEW]), share[NEW, OLD] > 0, found.codes_) > 0.65
    if kinship != "any":
        away = distances(found.codes_)
        assert away[share[OLD, OLD] == 1].mean() < away[share[OLD, OLD] == 0.5].mean()


def test_tags_as_sets_indicators_and_sparse_are_one():
    Z, sets = tags()
    Y01 = np.array([[tag in row for tag in range(6)] for row in sets], int)
    models = {hasher().fit(Z, labels).model_id_ for labels in (sets, Y01, sp.csr_array(Y01), Y01.tolist())}
    assert len(models) == 1


TREES = {
    "paths": (["a/x", "a/y", "b/x", "b/y"], "tree"),
    "tuples": ([("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")], "tree"),
    "parents": ([0, 1, 2, 3], {0: "a", 1: "a", 2: "b", 3: "b"}),
    "sets of paths": ([{"a/x"}, {"a/y"}, {"b/x"}, {"b/y"}], "tree"),
}


@pytest.mark.filterwarnings("ignore:.* bits are constant")
@pytest.mark.parametrize("kind", TREES)
def test_a_tree_orders_leaves_branches_and_others(kind):
    Z, z = classes(n=300, k=4, seed=3)
    names, kinship = TREES[kind]
    labels = [names[c] for c in z]
    found = hasher(kinship=kinship, looks=0.1).fit(Z, labels)
    away = distances(found.codes_)
    leaf, branch = same(z), same(z // 2)
    assert away[leaf].mean() < away[branch & ~leaf].mean() < away[~branch].mean()
    assert np.array_equal(found.learned_codes(Z, labels), found.codes_)


def test_a_matrix_between_classes():
    Z, z = classes(n=300, k=3, seed=4)
    between = np.array([[1, 0.7, -1], [0.7, 1, -1], [-1, -1, 1]])
    away = distances(hasher(kinship=between, looks=0.1).fit(Z, z).codes_)
    assert away[np.ix_(z == 0, z == 1)].mean() < away[np.ix_(z == 0, z == 2)].mean()
    assert away[np.ix_(z == 0, z == 1)].mean() < away[np.ix_(z == 1, z == 2)].mean()


@pytest.mark.parametrize("energy", ENERGIES)
def test_every_energy_learns(energy):
    found = hasher(energy=energy).fit(X[OLD], Y[OLD])
    assert order(found.encode(X[NEW]), same(Y[NEW])) > 0.9


def test_an_energy_by_name_is_the_object():
    from kinhash.paper import LFH, Energy, PairTerms

    by_name, by_object = (hasher(energy=one).fit(X, Y).model_id_ for one in ("lfh", LFH()))
    assert by_name == by_object

    class Mine(Energy):
        def loss(self, r, s, n_bits):
            return (r - n_bits * s) ** 2

        def slope(self, r, s, n_bits):
            return 2 * (r - n_bits * s)

        def terms(self, s, n_bits, xi=None):
            return PairTerms(-2 * n_bits * s, 1.0)

    assert order(hasher(energy=Mine()).fit(X, Y).encode(X), same(Y)) > 0.9


def test_classes_are_names():
    """Text, numbers and pandas columns of the same classes in the same order give the same model."""
    names = np.array(["ant", "bee", "cow", "dog", "eel"])
    models = {hasher().fit(X, labels).model_id_ for labels in (Y, Y + 10, names[Y], names[Y].tolist())}
    assert len(models) == 1


def test_whole_numbers_beside_missing_ones_are_still_whole_numbers():
    """pandas and NumPy make floats of integers beside NaN."""
    labels = np.where(np.arange(400) % 3 == 0, np.nan, Y)
    found = hasher().fit(X, labels)
    assert np.array_equal(found.learned_codes(X, Y), found.learned_codes(X, Y.astype(float)))


# -- no labels, some labels -----------------------------------------------------------------------------


def test_without_labels_codes_follow_looks():
    Z, z = classes(n=300, noise=1.5, seed=5)
    found = hasher(64).fit(Z)
    centered = Z - Z.mean(axis=0)
    unit = centered / np.linalg.norm(centered, axis=1, keepdims=True)
    cosine = unit @ unit.T
    near = cosine > np.sort(cosine, axis=1)[:, [-11]]
    assert order(found.encode(Z), near) > 0.9
    assert found.codes_.learned is False
    assert np.array_equal(found.codes_, found.encode(Z))
    with pytest.raises(InvalidInput, match="no scores of labels"):
        found.learned_codes(Z, z)
    with pytest.raises(InvalidInput, match=r"without labels and with looks=0"):
        hasher(looks=0).fit(Z)


@pytest.mark.filterwarnings("ignore:.*bits are constant on the training rows")
def test_looks_may_come_from_other_features():
    rng = np.random.default_rng(6)
    one, other = rng.integers(0, 4, (2, 400))
    Z = np.hstack([3 * np.eye(4)[one], 3 * np.eye(4)[other]]) + 0.3 * rng.normal(size=(400, 8))
    by_one = hasher().fit(Z, looks_from=np.eye(4)[one] + 0.05 * rng.normal(size=(400, 4)))
    assert order(by_one.encode(Z), same(one)) > 0.9
    assert order(by_one.encode(Z), same(other)) < 0.7
    sparse = hasher().fit(Z, looks_from=sp.csr_array(np.eye(4)[one]))
    assert order(sparse.encode(Z), same(one)) > 0.9
    for bad, says in (
        (np.eye(4), "4 rows and X has 400"),
        (Z * np.nan, "NaN"),
        ([["a"]] * 400, "looks_from"),
    ):
        with pytest.raises(InvalidInput, match=says):
            hasher().fit(Z, looks_from=bad)
    with pytest.raises(InvalidInput, match="looks=0"):
        hasher(looks=0).fit(Z, one, looks_from=Z)


def test_rows_without_labels_have_mapped_codes():
    unknown = np.arange(400) % 4 == 0
    labels = [None if unknown[i] else int(c) for i, c in enumerate(Y)]
    found = hasher().fit(X, labels)
    assert np.array_equal(found.codes_.learned, ~unknown)
    assert np.array_equal(found.codes_[unknown].packed, found.encode(X[unknown]).packed)
    assert (found.report_.n_learned, found.report_.n_rows) == (300, 400)
    assert "300 learned, 100 mapped" in str(found.report_)


def test_kinds_without_any_label_stay_apart():
    """Finding 3: unlabeled rows of new kinds train looks, and have the same weight as labeled ones."""
    Z, z = classes(n=600, k=8, seed=7)
    labels = [int(c) if c < 4 else None for c in z]
    found = hasher(64).fit(Z, labels)
    unlabeled = z >= 4
    assert order(found.encode(Z[unlabeled]), same(z[unlabeled], z), found.codes_) > 0.93


def test_tags_and_paths_may_be_unknown_or_empty():
    Z, sets = tags()
    sets = [None if i % 5 == 0 else set() if i % 7 == 0 else row for i, row in enumerate(sets)]
    found = hasher().fit(Z, sets)
    assert np.array_equal(found.codes_.learned, [row is not None for row in sets])
    paths = [None if i % 5 == 0 else f"{min(row, default=9)}/{i % 2}" for i, row in enumerate(sets) if row]
    some = [i for i, row in enumerate(sets) if row]
    assert hasher(kinship="tree").fit(Z[some], paths).report_.n_learned == sum(p is not None for p in paths)


# -- weights --------------------------------------------------------------------------------------------


def test_rows_of_weight_zero_have_no_say():
    weights = np.tile([0.0, 1.0, 2.0], 400)[:400]
    Z, z = X.copy(), Y.copy()
    Z[weights == 0], z[weights == 0] = 5 * np.random.default_rng(8).normal(size=(134, 16)), 0
    one, other = (hasher().fit(a, b, sample_weight=weights) for a, b in ((X, Y), (Z, z)))
    assert one.model_id_ == other.model_id_
    assert np.array_equal(one.codes_[weights > 0].packed, other.codes_[weights > 0].packed)


def test_a_common_factor_of_weights_changes_nothing():
    weights = np.random.default_rng(9).integers(1, 4, 400).astype(float)
    plain, scaled, huge = (
        hasher().fit(X, Y, sample_weight=weights * factor).model_id_ for factor in (1, 3, 1e307)
    )
    assert plain == scaled == huge
    assert hasher().fit(X, Y, sample_weight=np.full(400, 7.0)).model_id_ == hasher().fit(X, Y).model_id_
    assert plain != hasher().fit(X, Y).model_id_


@pytest.mark.filterwarnings("ignore:.* bits are constant")
@pytest.mark.filterwarnings("ignore:The features of")
def test_weights_draw_rows_more_often():
    """Two labelings disagree about the same rows; the heavier one wins."""
    one, other = Y % 2, (Y > 2).astype(int)
    both = np.concatenate([one, other + 10])
    for heavy, wanted, lost in ((slice(0, 400), one, other), (slice(400, 800), other, one)):
        weights = np.full(800, 0.05)
        weights[heavy] = 1.0
        found = hasher(looks=0.1).fit(np.vstack([X, X]), both, sample_weight=weights).encode(X)
        assert order(found, same(wanted)) > order(found, same(lost))


LABELED = {
    "classes": ({}, lambda: Y),
    "tags": ({}, lambda: [{int(c), 5 + int(c) % 2} for c in Y]),
    "tree": ({"kinship": "tree"}, lambda: [f"{c % 2}/{c}" for c in Y]),
    "tag tree": ({"kinship": "tree"}, lambda: [{f"{c % 2}/{c}"} for c in Y]),
    "matrix": ({"kinship": np.eye(5)}, lambda: Y),
    "energy": ({"energy": "ksh"}, lambda: Y),
}


@pytest.mark.filterwarnings("ignore:.* bits are constant")
@pytest.mark.parametrize("kept", [True, False], ids=["scores kept", "scores twice"])
@pytest.mark.parametrize("kind", LABELED)
def test_a_class_may_weigh_nothing(kind, kept, monkeypatch):
    if not kept:
        monkeypatch.setattr("kinhash.hasher.KEPT_SCORES", 400 * 32 - 1)
    settings, labels = LABELED[kind]
    weights = (Y != 2) * 1.0
    found = hasher(**settings).fit(X, labels(), sample_weight=weights)
    assert np.array_equal(found.codes_.learned, Y != 2)
    assert np.array_equal(found.codes_[Y == 2].packed, found.encode(X[Y == 2]).packed)
    assert order(found.codes_[Y != 2], same(Y[Y != 2])) > 0.9


def test_weights_that_leave_nothing_to_learn_from():
    labels = [int(c) if c == 2 else None for c in Y]
    with pytest.raises(InvalidInput, match="All rows with a label have sample_weight 0"):
        hasher().fit(X, labels, sample_weight=(Y != 2) * 1.0)
    with pytest.raises(InvalidInput, match="only one class"):
        hasher().fit(X, Y, sample_weight=(Y == 2) * 1.0)
    for rows, weights in ((X[:1], None), (X, np.arange(400) == 7)):
        with pytest.raises(InvalidInput, match="only one sample"):
            hasher().fit(rows, sample_weight=weights)


@pytest.mark.filterwarnings("ignore:.* bits are constant")
@pytest.mark.filterwarnings("ignore:The features of")
def test_weights_are_like_repeated_rows():
    """Of few rows, which are all in a batch."""
    counts = np.where(np.arange(100) < 50, 4, 1)
    rows, one, other = X[:50], Y[:50] % 2, (Y[:50] > 2).astype(int)
    labels = np.concatenate([one, other + 10])
    weighted = hasher(looks=0.1).fit(np.vstack([rows, rows]), labels, sample_weight=counts)
    found = weighted.encode(rows)
    assert order(found, same(one)) > order(found, same(other)) + 0.2


# -- codes of rows with labels --------------------------------------------------------------------------


def test_trust_goes_from_the_features_to_the_label():
    alone, of_features = hasher(trust=1.0).fit(X, Y), hasher(trust=0.0).fit(X, Y)
    assert all(len(np.unique(alone.codes_.packed[c == Y], axis=0)) == 1 for c in range(5))
    assert np.array_equal(of_features.codes_, of_features.encode(X))
    assert alone.model_id_ == of_features.model_id_


def test_learned_codes_are_those_of_the_fit(fitted):
    assert np.array_equal(fitted.learned_codes(X[OLD], Y[OLD]), fitted.codes_)
    assert fitted.learned_codes(X[NEW], Y[NEW]).learned is True
    some = fitted.learned_codes(X[5:9], Y[5:9])
    assert np.array_equal(some.packed, fitted.codes_[5:9].packed)
    other = (Y[NEW] + 1) % 5
    before, after = fitted.encode(X[NEW]), fitted.learned_codes(X[NEW], other)
    assert order(after, same(other, Y[OLD]), fitted.codes_) > order(
        before, same(other, Y[OLD]), fitted.codes_
    )


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        ([7] * 100, "does not know 1 of the labels, 7 among them"),
        ([None, 1] * 50, "50 of 100 labels are unknown"),
        ([{1}] * 100, "y holds tags, and the model was fitted on classes"),
        ([1] * 99, "99 labels came with 100 rows"),
        (["1"] * 100, "does not know"),
    ],
)
def test_labels_that_learned_codes_cannot_take(fitted, labels, says):
    with pytest.raises(InvalidInput, match=says):
        fitted.learned_codes(X[NEW], labels)


def test_classes_that_arrive_later():
    Z, z = classes(n=500, k=6, seed=10)
    old, extra = z < 5, np.flatnonzero(z == 5)
    found = hasher().fit(Z[old], z[old])
    before, model = found.codes_, found.model_id_
    found.add_classes(Z[extra[:20]], z[extra[:20]])
    codes = found.learned_codes(Z[extra[20:]], z[extra[20:]])
    away = distances(found.encode(Z[extra[:20]]), codes)
    assert away.mean() < distances(found.encode(Z[extra[:20]]), before).mean()
    assert found.model_id_ == model
    assert np.array_equal(found.learned_codes(Z[old], z[old]), before)
    again = copy.copy(found).add_classes(Z[extra[:20]], z[extra[:20]])  # known by now
    assert np.array_equal(again.learned_codes(Z[extra[20:]], z[extra[20:]]), codes)


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        ([None] * 20, "All labels are missing"),
        ([{9}] * 20, "[Tt]ags came"),
        ([9] * 19, "19 labels came with 20 rows"),
        (["1"] * 20, "text"),
        (["horse"] * 20, "text"),
    ],
)
def test_classes_that_cannot_be_added(fitted, labels, says):
    with pytest.raises(InvalidInput, match=says):
        fitted.add_classes(X[:20], labels)


# -- using a hasher -------------------------------------------------------------------------------------


def test_bits_margins_and_transform_agree(fitted):
    margins = fitted.decision_function(X[NEW])
    assert np.array_equal(margins > 0, fitted.transform(X[NEW]))
    assert np.array_equal(fitted.encode(X[NEW]).bits(), fitted.transform(X[NEW]))
    explained = fitted.explain(X[0], X[1])
    assert explained.distance == distances(fitted.encode(X[:2]))[0, 1]
    assert len(str(explained).splitlines()) == 1 + explained.distance
    assert fitted.explain(sp.csr_array(X[:1]), X[1:2].tolist()).distance == explained.distance
    codes = fitted.encode(X[:3], ids=["a", "b", "c"])
    assert (codes.ids.tolist(), codes.model_id) == (["a", "b", "c"], fitted.model_id_)


def test_no_rows_give_no_codes(fitted):
    assert fitted.encode(X[:0]).shape == (0, 4)
    assert fitted.transform(X[:0]).shape == (0, 32)
    assert fitted.decision_function(X[:0]).shape == (0, 32)


def test_one_search_with_and_without_margins(fitted):
    index = HammingIndex.from_codes(fitted.codes_)
    plain = index.search(fitted.encode(X[NEW]), 10)
    ours = fitted.search(index, X[NEW], 10)
    assert np.array_equal(plain.ids, ours.ids)
    assert np.array_equal(plain.distances, ours.distances)
    margins = fitted.decision_function(X[NEW])
    by_margins = fitted.search(index, X[NEW], 10, margins=True)
    assert np.array_equal(by_margins.ids, index.search(fitted.encode(X[NEW]), 10, margins=margins).ids)
    differ = fitted.codes_.bits()[None] != (margins > 0)[:, None]
    away = (differ * np.abs(margins)[:, None]).sum(axis=2)
    wanted = np.sort(away, axis=1)[:, :10]  # the index rounds margins
    loss = np.take_along_axis(away, by_margins.ids, 1).sum() - wanted.sum()
    assert loss < 0.01 * np.abs(margins).sum()


def test_a_report_says_what_was_learned(fitted):
    report = fitted.report_
    assert (report.n_rows, report.n_bits, report.n_learned) == (300, 32, 300)
    assert report.unique_codes == len(np.unique(fitted.codes_.packed, axis=0))
    assert report.seconds
    assert "300" in str(report)
    assert "300" in report._repr_html_()
    stages: list[str] = []
    hasher(8).listen(stages.append).fit(X[:60], Y[:60])
    assert {"features", "learning", "labels", "codes of the rows"} == set(stages)


def test_a_copy_without_training_encodes_and_holds_nothing_else(fitted):
    light = fitted.without_training()
    assert np.array_equal(light.encode(X), fitted.encode(X))
    with pytest.raises(AttributeError, match="right after fit"):
        light.codes_  # noqa: B018
    assert np.array_equal(light.learned_codes(X, Y), fitted.learned_codes(X, Y))
    assert not hasattr(light, "_trained"), "weights and moments of the learner are of no use to encode"


# -- columns that say nothing ---------------------------------------------------------------------------


def test_columns_of_rounding_errors_have_no_say():
    """Finding 1: a constant column, and one whose spread is 2e-9, beside columns of .025."""
    rng = np.random.default_rng(11)
    Z = np.hstack([0.025 * X[:, :14], np.full((400, 1), 0.0417), 0.01 + 2e-9 * rng.normal(size=(400, 1))])
    Z = Z.astype(np.float32)
    found = hasher().fit(Z[OLD], Y[OLD])
    assert found.report_.facts["columns left out"] == 2
    noisy = (Z + 1e-6 * rng.normal(size=Z.shape)).astype(np.float32)
    assert (found.encode(noisy).bits() == found.encode(Z).bits()).mean() > 0.999


def test_a_column_of_1e8_and_a_little_does_no_harm():
    """As float64 it is a number like others, as float32 a constant."""
    Z = np.column_stack([X, 1e8 + 1e-3 * np.random.default_rng(12).normal(size=400)])
    for rows, dead in ((Z, None), (Z.astype(np.float32), 1)):
        found = hasher().fit(rows[OLD], Y[OLD])
        assert found.report_.facts.get("columns left out") == dead
        assert order(found.encode(rows[NEW]), same(Y[NEW])) > 0.95


@pytest.mark.parametrize("offset", [700.0, 2010.0, -273.15])
def test_a_large_mean_beside_a_small_spread_changes_no_code(offset):
    """Finding 2: years, day numbers, kelvin."""
    plain = hasher().fit(X[OLD], Y[OLD])
    for moved in (X + offset, np.hstack([X[:, :15], X[:, 15:] + offset])):
        found = hasher().fit(moved[OLD], Y[OLD])
        assert (found.encode(moved).bits() == plain.encode(X).bits()).mean() > 0.98
        assert order(found.encode(moved[NEW]), same(Y[NEW])) > 0.9


@pytest.mark.parametrize("size", [1e-200, 1e-30, 1e-6, 1e6, 1e30, 1e150])
def test_the_size_of_all_columns_does_not_matter(size):
    plain, scaled = hasher().fit(X[OLD], Y[OLD]), hasher().fit(X[OLD] * size, Y[OLD])
    assert (scaled.encode(X * size).bits() == plain.encode(X).bits()).mean() > 0.97


# -- what it warns of -----------------------------------------------------------------------------------


DOUBTS = {
    "fit": lambda h: hasher(8).fit(X[:40], np.arange(40)),
    "fit, text nan": lambda h: hasher(8).fit(X, np.array(["nan", "a", "b", "c", "d"])[Y]),
    "fit, tree": lambda h: hasher(8, kinship="tree").fit(X, np.array(list("abcde"))[Y]),
    "fit_pairs": lambda h: hasher(8).fit_pairs(X, *pairs(Y)[:2], pairs(Y)[2].astype(float)),
    "fit_similarity": lambda h: hasher(8).fit_similarity(X, np.where(same(Y), -1.0, 1.0)),
    "fit_triplets": lambda h: hasher(8).fit_triplets(X, [0, 0, 1], [1, 2, 2], [2, 1, 3]),
    "encode": lambda h: h.encode(X * 1000),
    "transform": lambda h: h.transform(X * 1000),
    "decision_function": lambda h: h.decision_function(X * 1000),
    "search": lambda h: h.search(HammingIndex.from_codes(h.codes_), X * 1000, 3),
    "score": lambda h: h.score(X * 1000, Y),
    "add_classes": lambda h: h.add_classes(X * 1000, Y + 5),
    "partial_fit": lambda h: hasher(8).partial_fit(X[:40], np.arange(40)),
    "add_view": lambda h: h.add_view("v", np.zeros((300, 4)), Y[OLD]),
    "fit_transform": lambda h: hasher(8).fit_transform(X[:40], np.arange(40)),
}


@pytest.mark.parametrize("how", DOUBTS)
def test_warnings_point_at_the_line_of_the_caller(fitted, how):
    """Finding 12."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", KinhashWarning)
        DOUBTS[how](copy.deepcopy(fitted))
    ours = [one for one in caught if issubclass(one.category, KinhashWarning)]
    assert ours
    assert {one.filename for one in ours} == {__file__}


def test_rows_unlike_those_of_the_fit_are_warned_of_once(fitted):
    mine = copy.deepcopy(fitted)
    with pytest.warns(KinhashWarning, match="16 of the last 16 rows looked at are unlike"):
        mine.encode(X * 1000)
    mine.encode(X * 1000)


def test_constant_bits_are_warned_of():
    Z = np.repeat([[0.0, 1], [1, 0]], 30, axis=0)
    with pytest.warns(KinhashWarning, match="bits are constant") as caught:
        found = hasher(8, looks=0).fit(np.hstack([Z, Z]), [0] * 59 + [1])
    dead = np.flatnonzero(np.ptp(found.codes_.bits(), axis=0) == 0)
    assert found.report_.dead_bits == dead.tolist()
    assert len(caught) == 1


# -- what it refuses ------------------------------------------------------------------------------------


BAD = [
    ({"n_bits": 0}, "n_bits is 0"),
    ({"n_bits": 16_385}, "n_bits"),
    ({"n_bits": 8.0}, "n_bits"),
    ({"n_bits": True}, "n_bits"),
    ({"energy": "khs"}, "Did you mean 'ksh'"),
    ({"energy": 3}, "energy is 3"),
    ({"kinship": "gradd"}, "Did you mean 'graded'"),
    ({"kinship": 3}, "kinship is a int"),
    ({"kinship": None}, "kinship is a NoneType"),
    ({"kinship": np.eye(4)}, "there are 5 classes"),
    ({"kinship": "graded"}, "came with classes"),
    ({"kinship": np.triu(np.ones((5, 5)))}, "not symmetric"),
    ({"kinship": np.zeros((5, 5))}, "diagonal"),
    ({"looks": -0.1}, "looks"),
    ({"looks": "much"}, "looks"),
    ({"trust": 1.1}, "trust"),
    ({"trust": float("nan")}, "trust"),
    ({"random_state": "seed"}, "random_state"),
    ({"random_state": -1}, "random_state"),
    ({"n_jobs": 0}, "n_jobs"),
    ({"n_jobs": 1.5}, "n_jobs"),
]


@pytest.mark.parametrize(("settings", "says"), BAD, ids=repr)
def test_settings_out_of_range_are_named(settings, says):
    with pytest.raises(InvalidInput, match=says):
        EnergyHasher(**({"n_bits": 8} | settings)).fit(X, Y)


UNUSED = {
    "kinship": ({"kinship": "any"}, lambda h: h.fit(X)),
    "a matrix": ({"kinship": np.eye(5)}, lambda h: h.fit(X)),
    "parents": ({"kinship": {0: 1}}, lambda h: h.fit_triplets(X, [0], [1], [2])),
    "trust": ({"trust": 1.0}, lambda h: h.fit(X)),
    "energy": ({"energy": "ksh"}, lambda h: h.fit(X)),
    "energy of clicks": ({"energy": "ksh"}, lambda h: h.fit_pairs(X, [0, 1, 2], [3, 4, 5])),
    "trust of pairs": ({"trust": 0.9}, lambda h: h.fit_pairs(X, [0, 1, 2], [3, 4, 5], [1, 1, -1])),
    "energy of triplets": ({"energy": "lfh"}, lambda h: h.fit_triplets(X, [0], [1], [2])),
}


@pytest.mark.parametrize("what", UNUSED)
def test_settings_that_a_fit_does_not_use_are_refused(what):
    """Finding 13."""
    settings, fit = UNUSED[what]
    with pytest.raises(InvalidInput, match=f"{next(iter(settings))}.*labels|labels.*{next(iter(settings))}"):
        fit(hasher(8, **settings))


@pytest.mark.parametrize("stage", ["labels", "learning"])
def test_after_a_fit_that_failed_the_hasher_is_as_before(stage, monkeypatch):
    found = hasher(8).fit(X, Y).add_view("text", X[:, :5], Y)
    before, model = found.encode(X), found.model_id_
    labels, error = (Y * 0, InvalidInput) if stage == "labels" else (Y, MemoryError)
    if stage == "learning":
        monkeypatch.setattr("kinhash.hasher.train", lambda *_: (_ for _ in ()).throw(MemoryError))
    with pytest.raises(error):
        found.fit(X[:, :3], labels)
    assert np.array_equal(found.encode(X), before)
    assert (found.n_features_in_, found.model_id_, list(found.views_)) == (16, model, ["text"])
    assert np.array_equal(found.codes_, found.learned_codes(X, Y))


def test_more_labels_than_are_kept_are_warned_of(monkeypatch):
    monkeypatch.setattr("kinhash.learn.table.MOST_LABELS", 4)
    with pytest.warns(KinhashWarning, match="^5 labels are more than the 4"):
        found = hasher(8).fit(X, Y)
    assert found.codes_.learned is False
    assert np.array_equal(found.codes_, found.encode(X))


def test_names_that_do_not_exist(fitted):
    with pytest.raises(InvalidInput, match="no view called 'text': the hasher has none"):
        fitted.encode(X, view="text")
    with pytest.raises(UnknownName):
        hasher(8, energy="none").fit(X, Y)
