"""The judge: what is held out, figures by brute force, and sentences that say what the table says."""

from __future__ import annotations

import json
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import spearmanr
from sklearn.base import BaseEstimator
from sklearn.metrics import roc_auc_score

from kinhash import Codes
from kinhash.errors import InvalidInput
from kinhash.labels import read_labels
from kinhash.metrics import (
    COSINE,
    ITQ,
    OPQ,
    RANDOM,
    Classifier,
    Comparison,
    Line,
    Rivals,
    Split,
    compare,
    compare_bits,
    compare_pairs,
    compare_triplets,
    compare_views,
    evaluate,
    hold_out,
    hold_out_pairs,
    log_losses,
    out_of_fold,
    unit_rows,
)
from kinhash.metrics import judge as room

# The names that a user reads in the table.
MAP, FIRST_TEN, LOOKS, UNLABELED = (
    "mAP",
    "first ten relevant",
    "nearest look-alikes found",
    "unlabeled in first ten",
)
CODES, MAPPED = "codes", "codes, database mapped"
LATER_MAP, LATER_TEN = "later rows: mAP", "later rows: first ten"
OLD_TEN, NEW_TEN = "labeled kinds beside new: first ten", "kinds never labeled: first ten"
AUC, IN_ORDER, SPEARMAN = "area under ROC", "in order", "Spearman"
NEIGHBORS, PARTNERS, OWN = "nearest neighbors found", "partners in first ten", "own row in first ten"
OPQ_CODES, LABEL_BYTE, CLASSIFIER = "OPQ", "label byte + PQ", "classifier alone"


class Toy(BaseEstimator):
    """Random projections of the columns; a row of known label has the code of its class as learned code."""

    fits: ClassVar[list] = []

    def __init__(self, n_bits=16, seed=0):
        self.n_bits, self.seed = n_bits, seed

    def fit(self, X, y=None):
        self.directions_ = np.random.default_rng(self.seed).normal(size=(X.shape[1], self.n_bits))
        self.codes_ = self.encode(X)
        Toy.fits.append(y)
        if y is not None and y.classes is not None:
            words = np.random.default_rng(1).integers(
                0, 256, (len(y.names), self.codes_.packed.shape[1]), np.uint8
            )
            packed = np.where(y.known[:, None], words[y.classes], self.codes_.packed)
            self.codes_ = Codes(packed, self.n_bits, learned=True)
        return self

    def fit_pairs(self, X, left, right, same=None, **how):
        self.named = np.unique(np.concatenate([left, right]))
        return self.fit(X)

    def fit_triplets(self, X, anchor, nearer, further):
        self.named = np.unique(np.concatenate([anchor, nearer, further]))
        return self.fit(X)

    def encode(self, X, view=None):
        return Codes.from_bits((X if view is None else X[:, ::-1]) @ self.directions_ > 0)


def blobs(n=400, n_classes=4, p=8, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    return (rng.normal(size=(n, p)) + 2 * np.eye(p)[y % p]).astype(np.float32), y


@pytest.fixture(scope="module")
def judged():
    X, y = blobs()
    split = hold_out(read_labels(y), np.random.default_rng(0))
    Toy.fits.clear()
    hasher = Toy().fit(X[split.train], read_labels(y)[split.train])
    return X, y, split, hasher, compare(hasher, X, y, split=split, random_state=0)


# -- what is held out -------------------------------------------------------------------------------


def test_the_last_row_of_a_class_is_never_held_out():
    labels = read_labels([*range(15), *range(5), None, None])  # ten classes of one row, two rows unknown
    for seed in range(20):
        train, held_out = hold_out(labels, np.random.default_rng(seed), most=100, share=0.9)
        assert sorted([*train, *held_out]) == list(range(22))
        assert set(labels.classes[train]) >= set(range(15))
        assert labels.known[held_out].all()
        assert len(held_out) == 5
    assert len(hold_out(19, np.random.default_rng(0), share=0.9).held_out) == 0
    assert len(hold_out(50, np.random.default_rng(0), most=3).held_out) == 3


@pytest.mark.parametrize("kind", ["classes", "tags"])
def test_whole_labels_are_held_out(kind):
    y = np.arange(300) % 6
    labels = read_labels(y if kind == "classes" else [{int(c)} | ({"rare"} if False else set()) for c in y])
    for seed in range(5):
        train, held_out = hold_out(labels, np.random.default_rng(seed), share=0.34, whole_labels=True)
        assert len(held_out) == 100  # two of six labels
        assert not set(y[train]) & set(y[held_out])
    few = read_labels(np.arange(90) % 3)
    assert len(hold_out(few, np.random.default_rng(0), share=0.5, whole_labels=True).held_out) == 0
    small = read_labels(np.arange(90) % 9)
    assert len(hold_out(small, np.random.default_rng(0), share=0.5, whole_labels=True).held_out) == 0


@pytest.mark.parametrize("width", [2, 3])
def test_held_out_pairs_name_rows_that_no_other_names(width):
    rng = np.random.default_rng(0)
    block = rng.integers(0, 200, 4000) * 5
    ends = np.stack([block + rng.integers(0, 5, 4000) for _ in range(width)], axis=1)
    held = hold_out_pairs(ends, 1000, rng)
    assert 0.05 < held.mean() < 0.15
    assert not set(ends[held].ravel()) & set(ends[~held].ravel())


def test_where_all_pairs_hang_together_one_end_may_be_known():
    rng = np.random.default_rng(1)
    ends = rng.integers(0, 200, (3000, 2))
    held = hold_out_pairs(ends, 200, rng)
    assert 0.05 < held.mean() < 0.15
    assert (~np.isin(ends[held], ends[~held])).any(axis=1).all()
    assert not hold_out_pairs(ends[:99], 200, rng).any()


# -- rivals -----------------------------------------------------------------------------------------


def test_opq_keeps_the_nearest_centers_and_asks_with_floats():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(600, 10)).astype(np.float32) * np.float32([4, 4, 3, 2, 1, 1, 0.5, 0.5, 0.2, 0.1])
    opq = OPQ(Z, 3, rng)
    np.testing.assert_allclose(opq.rotation @ opq.rotation.T, np.eye(12), atol=1e-4)
    rotated, stored = np.pad(Z, ((0, 0), (0, 2))) @ opq.rotation, opq.stored(Z)
    for part in range(3):
        sides = rotated[:, 4 * part : 4 * part + 4], stored[:, 4 * part : 4 * part + 4]
        nearest = ((sides[0][:, None] - opq.centers[part]) ** 2).sum(axis=2).argmin(axis=1)
        np.testing.assert_allclose(sides[1], opq.centers[part][nearest], atol=1e-5)
    scores = opq.nearness(Z[:5], stored)(np.arange(5))
    squares = ((rotated[:5, None] - stored) ** 2).sum(axis=2) - (rotated[:5, None] ** 2).sum(axis=2)
    np.testing.assert_allclose(scores, -squares / 2, atol=1e-3)
    assert ((rotated - stored) ** 2).sum() < 0.15 * (Z**2).sum()


def test_opq_of_few_rows_and_of_fewer_columns_than_bytes():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(20, 3)).astype(np.float32)
    opq = OPQ(Z, 8, rng)
    near = opq.nearness(Z, opq.stored(Z))(np.arange(20))
    assert (near.argmax(axis=1) == np.arange(20)).all()  # every row is a center


def test_itq_rotates_towards_signs():
    rng = np.random.default_rng(0)
    X = blobs(600)[0]
    Z = unit_rows(X, mean=X.mean(axis=0).astype(float))
    itq = ITQ(Z, 4, rng)
    np.testing.assert_allclose(itq.directions.T @ itq.directions, np.eye(4), atol=1e-4)
    left, _, _ = np.linalg.svd(Z.T @ Z)
    losses = [((np.sign(V) - V) ** 2).sum() for V in (Z @ itq.directions, Z @ left[:, :4])]
    assert losses[0] < losses[1]
    np.testing.assert_array_equal(Codes(itq(Z), 4).bits(), Z @ itq.directions > 0)
    assert ITQ(Z, 24, rng)(Z).shape == (600, 3)  # more bits than columns


@pytest.mark.parametrize("kind", ["dense", "sparse", "wide"])
def test_rivals_find_what_is_near(kind):
    X, y = blobs(300, 3)
    X = np.hstack([X, np.zeros((300, 600), np.float32)]) if kind == "wide" else X
    X = sp.csr_array(X) if kind == "sparse" else X
    rows = np.arange(300)
    rivals = Rivals(X, rows, 16, np.random.default_rng(0))
    for one in rivals.unsupervised():
        scores = one.scores(rows[:30], rows[30:], None)
        assert evaluate(scores, None, y[:30], y[30:]).per_query.mean() > 0.5, one.name
    labels = read_labels(y)
    ((alone,), bytes_), predicted = rivals.informed(labels, rows)
    hidden = read_labels([None if i % 2 else int(c) for i, c in enumerate(y)])[rows[30:]]
    assert (alone.scores(rows[:30], rows[30:], hidden)(rows[:30])[:, ~hidden.known] == 0).all()
    assert (predicted(rows).classes == y).mean() > 0.8
    assert alone.bytes_per_item == 1
    assert {one.bytes_per_item for one in bytes_} == {2}
    scores = bytes_[-1].scores(rows[:30], rows[30:], labels[rows[30:]])
    assert evaluate(scores, None, y[:30], y[30:]).per_query.mean() > 0.8


def test_a_classifier_learns_and_never_judges_a_row_it_saw():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    X = rng.normal(size=(200, 5)) + 4 * np.eye(5)[y]
    X[:, 4] = 7  # a column that says nothing
    labels = read_labels([int(k) if i % 9 else None for i, k in enumerate(y)])
    for rows in (X, sp.csr_array(X)):
        assert (Classifier.fit(rows, labels)(rows).argmax(axis=1) == y).mean() > 0.95
    chances = Classifier.fit(X, read_labels(np.eye(3, dtype=int)[y]))(X)
    assert ((chances > 0.5) == np.eye(3)[y]).mean() > 0.95
    losses = log_losses(chances, read_labels(np.eye(3, dtype=int)[y]))
    expected = -np.log(np.where(np.eye(3)[y] > 0, chances, 1 - chances.astype(float))).sum(axis=1)
    np.testing.assert_allclose(losses, expected, rtol=1e-5)
    noise, seen, right = rng.normal(size=(200, 150)), [], []  # wide enough to remember every label
    for rows, p in out_of_fold(noise, labels, 0):
        seen += rows.tolist()
        right += (p.argmax(axis=1) == y[rows]).tolist()
    assert sorted(seen) == np.flatnonzero(labels.known).tolist()
    assert np.mean(right) < 0.5


# -- labels -----------------------------------------------------------------------------------------


def test_figures_are_those_of_the_metrics(judged):
    X, y, (train, held), hasher, found = judged
    new, mapped = hasher.encode(X[held]), hasher.encode(X[train])
    own = Codes(hasher.codes_.packed, 16)
    for name, codes in ((CODES, own), (MAPPED, mapped)):
        assert found.score(name, MAP) == pytest.approx(
            evaluate(new, codes, y[held], y[train]).per_query.mean()
        )
        assert found.score(name, FIRST_TEN) == pytest.approx(
            float(evaluate(new, codes, y[held], y[train], measures="precision@10"))
        )
        later = evaluate(new, new, y[held], y[held], exclude_self=True).per_query
        assert found.score(name, LATER_MAP) == pytest.approx(later.mean())
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    cosine = evaluate(unit[held] @ unit[train].T, None, y[held], y[train]).per_query
    np.testing.assert_allclose(found.line(COSINE).measures[MAP], cosine, rtol=1e-6)
    assert found.score(RANDOM, FIRST_TEN) == pytest.approx((y[held][:, None] == y[train]).mean())
    assert found.line(LABEL_BYTE).bytes_per_item == found.line(OPQ_CODES).bytes_per_item == 2
    counted = ("queries", "database_rows", "training_rows", "unlabeled_rows")
    assert [found.facts[name] for name in counted] == [40, 360, 360, 0]


def test_kinds_never_labeled_are_judged_by_a_fit_without_their_labels(judged):
    X, y, (train, held), _, found = judged
    hidden = Toy.fits[-1]
    new_kinds = np.setdiff1d(y, hidden.classes[hidden.known])
    assert len(new_kinds) == 1
    assert (hidden.known == ~np.isin(y[train], new_kinds)).all()
    again = Toy().fit(X[train], hidden)
    first = evaluate(
        again.encode(X[held]), Codes(again.codes_.packed, 16), y[held], y[train], measures="precision@10"
    )
    is_new = np.isin(y[held], new_kinds)
    assert found.score(CODES, NEW_TEN) == pytest.approx(first.per_query[is_new].mean())
    assert found.score(CODES, OLD_TEN) == pytest.approx(first.per_query[~is_new].mean())
    assert found.facts["queries_of_new_kinds"] == is_new.sum()
    assert any(one.startswith("Kinds never labeled: first ten") for one in found.sentences)


def test_the_comparison_prints_and_is_json(judged):
    *_, found = judged
    text = str(found)
    assert "look-alikes" in text
    assert all(line.name in text for line in found.lines)
    assert all(sentence[:40] in text for sentence in found.sentences)
    read = json.loads(json.dumps(found.as_dict()))
    assert [one["name"] for one in read["searches"]] == [line.name for line in found.lines]
    assert read["searches"][0]["figures"][MAP] == found.score(CODES, MAP)
    assert read["searches"][0]["low"] <= found.score(CODES, MAP) <= read["searches"][0]["high"]
    assert read["sentences"] == found.sentences


def test_unlabeled_rows_stand_in_the_database():
    X, y = blobs()
    y = [int(c) if i % 3 else None for i, c in enumerate(y)]
    found = compare(Toy(), X, y, random_state=0)
    assert found.facts["training_rows"] == found.facts["database_rows"] == 400 - found.facts["queries"]
    assert found.facts["unlabeled_rows"] == 134
    assert found.score(RANDOM, UNLABELED) == pytest.approx(134 / found.facts["database_rows"])
    assert found.score(CODES, UNLABELED) > 0.8  # queries are mapped as unlabeled rows are
    assert any(f"134 of {found.facts['training_rows']} rows have no label" in one for one in found.sentences)


def test_tags_and_trees():
    X, y = blobs(400, 6)
    tags = [{int(c), 100 + int(c) % 2} for c in y]
    found = compare(Toy(), X, tags, random_state=0, above=[read_labels(y % 2)])
    assert LABEL_BYTE not in found
    assert found.line(CLASSIFIER).bytes_per_item == 2
    assert {"Jaccard of first ten", f"{FIRST_TEN}, 1 level up"} <= found.line(CODES).measures.keys()
    assert found.facts["labels_are"] == "tags"


def test_without_labels_the_nearest_neighbors_are_counted():
    X, _ = blobs()
    split = hold_out(400, np.random.default_rng(0))
    found = compare(Toy(64).fit(X[split.train]), X, split=split, random_state=0)
    assert found.score(COSINE, NEIGHBORS) > 0.95
    assert found.score(OPQ_CODES, NEIGHBORS) > 0.9
    train, held = X[split.train], X[split.held_out]
    unit = [
        rows / np.linalg.norm(rows, axis=1, keepdims=True)
        for rows in (held - train.mean(0), train - train.mean(0))
    ]
    near = np.argsort(-(unit[0] @ unit[1].T), axis=1)[:, :10]
    hasher = Toy(64).fit(train)
    relevance = np.zeros((40, 360), int)
    np.put_along_axis(relevance, near, 1, axis=1)
    from kinhash.metrics import evaluate

    expected = evaluate(hasher.encode(held), hasher.encode(train), relevance, None, "recall@100")
    assert found.score(CODES, NEIGHBORS) == pytest.approx(float(expected))
    assert (found.ours, found.facts["codes"]) == (CODES, "mapped")


def test_lengths_are_compared_on_one_split():
    X, y = blobs(300)
    found = compare_bits(lambda n: Toy(n), X, y, (64, 8, 16), random_state=0)
    assert [line.name for line in found.lines[:3]] == ["8 bits", "16 bits", "64 bits"]
    assert found.sentences[0].startswith(f"Use {found.facts['n_bits']} bits")
    assert found.facts["n_bits"] in (8, 16, 64)
    assert "OPQ, 16 bits" in found
    assert "8 bits" in str(found)
    with pytest.raises(InvalidInput, match="bits is empty"):
        compare_bits(Toy, X, y, ())


def test_too_few_rows_are_refused():
    X, y = blobs(15)
    with pytest.raises(InvalidInput, match="No row could be held out"):
        compare(Toy(), X, y)
    with pytest.raises(InvalidInput, match="20 pairs or triplets are too few"):
        compare_pairs(Toy(), *blobs(40)[:1], np.arange(20), np.arange(20, 40))


# -- pairs, triplets, views ---------------------------------------------------------------------------


def pairs(seed=0, n=240, m=700):
    X, y = blobs(n, seed=seed)
    i, j = np.random.default_rng(seed).integers(0, n, (2, m))
    i, j = i[i != j], j[i != j]
    return X, i, j, np.where(y[i] == y[j], 1.0, -1.0)


def cosines(X, i, j):
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    return (unit[i] * unit[j]).sum(axis=1)


def test_verdicts_grades_and_triplets_by_brute_force():
    X, i, j, same = pairs()
    hasher, all_held = Toy().fit(X), np.ones(len(i), bool)
    found = compare_pairs(hasher, X, i, j, same, held=all_held, random_state=0)
    bits = hasher.codes_.bits().astype(int)
    near = -np.abs(bits[i] - bits[j]).sum(axis=1)
    assert found.metric == AUC
    assert found.score(CODES) == pytest.approx(roc_auc_score(same > 0, near))
    assert found.score(COSINE) == pytest.approx(roc_auc_score(same > 0, cosines(X, i, j)))
    grades = same * np.random.default_rng(0).integers(1, 9, len(same))
    found = compare_pairs(hasher, X, i, j, grades, held=all_held, random_state=0)
    assert found.score(CODES, SPEARMAN) == pytest.approx(spearmanr(near, grades).statistic)
    order = [(np.sign(near[a] - near[grades < grades[a]]) + 1) / 2 for a in range(len(grades))]
    assert found.score(CODES, IN_ORDER) == pytest.approx(np.concatenate(order).mean())
    a, b, c = np.random.default_rng(3).integers(0, 240, (3, 100))
    found = compare_triplets(hasher, X, a, b, c, held=np.ones(100, bool), random_state=0)
    expected = (np.sign(cosines(X, a, b).astype(np.float32) - cosines(X, a, c).astype(np.float32)) + 1) / 2
    assert found.score(COSINE) == pytest.approx(expected.mean(), abs=0.011)
    assert "nearer row is nearer" in found.protocol


def test_clicks_are_scored_against_random_rows_and_by_the_partners_found():
    X = pairs()[0]
    i, j = np.array([0, 1, 2, 3, 4]), np.array([4, 5, 6, 7, 9])
    held = np.array([True, True, True, True, False])  # row 4 is named by a pair of the fit
    found = compare_pairs(Toy().fit(X), X, i, j, held=held, random_state=0)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    wanted = []
    for a, b in ((0, 4), (1, 5), (5, 1), (2, 6), (6, 2), (3, 7), (7, 3)):
        near = unit @ unit[a]
        near[a] = -np.inf
        wanted.append((near > near[b]).sum() < 10)
    assert found.score(COSINE, PARTNERS) == pytest.approx(np.mean(wanted))
    everyone = [(unit[a] @ unit[b] > unit @ unit[a]).mean() for a, b in zip(i[:4], j[:4], strict=True)]
    assert found.score(COSINE) == pytest.approx(np.mean(everyone), abs=0.08)  # 200 random rows of all


def test_a_copy_is_fitted_on_the_pairs_that_are_not_held_out(monkeypatch):
    X, i, j, same = pairs()
    fitted = []
    monkeypatch.setattr(Toy, "fit_pairs", lambda self, X, left, *_: fitted.append(len(left)) or self.fit(X))
    found = compare_pairs(Toy(), X, i, j, same, random_state=0)
    assert found.facts["held_out"] + found.facts["learned_from"] == len(i)
    assert fitted == [found.facts["learned_from"]]
    assert any("which reads no pairs" in one or "which reads none" in one for one in found.sentences)


def test_views_search_each_other():
    X, y = blobs(200)
    Z = X[:, ::-1] + np.float32(0.01)
    split = hold_out(read_labels(y), np.random.default_rng(0))
    found = compare_views(Toy(32).fit(X), "mirror", X, Z, y, split=split, random_state=0)
    assert found.score("first view → mirror", OWN) > 0.9
    assert found.score("mirror → first view", FIRST_TEN) > found.score(RANDOM, FIRST_TEN) + 0.2
    assert found.score(RANDOM, OWN) == pytest.approx(0.5)  # ten of twenty
    assert found.score(f"{COSINE}, first view → mirror", OWN) < 0.9  # columns in another order
    alone = compare_views(Toy(32).fit(X), "mirror", X, Z[:, :8], split=split, random_state=0)
    assert list(alone.lines[0].measures) == [OWN]
    assert "own row" in str(alone)


# -- sentences ----------------------------------------------------------------------------------------

NOISE = 0.01 * np.random.default_rng(0).normal(size=200)


def table(n=200, facts=None, **changes):
    """Good codes beside worse searches; ``changes`` are figures of lines by a word."""
    names = {"ours": CODES, "mapped": MAPPED, "cosine": COSINE, "opq": OPQ_CODES, "byte": LABEL_BYTE,
             "classifier": CLASSIFIER, "chance": RANDOM}  # fmt: skip
    good = {MAP: 0.9, FIRST_TEN: 0.9, LOOKS: 0.9, LATER_TEN: 0.9}
    given = {name: {m: v - 0.3 for m, v in good.items()} for name in names}
    given |= {"ours": good, "mapped": good, "chance": {MAP: 0.1, FIRST_TEN: 0.1}}
    lines = []
    for number, (word, name) in enumerate(names.items()):
        noise = np.roll(NOISE, number) - NOISE.mean()  # lines differ by luck alone
        values = {m: (v + noise)[:n] for m, v in {**given[word], **changes.get(word, {})}.items()}
        lines.append(Line(name, {"cosine": 1024, "classifier": 1, "chance": 0}.get(word, 8), values))
    return Comparison(tuple(lines), "", {"kind": "labels", "line": CODES, **(facts or {})})


def test_good_codes_are_one_sentence():
    (said,) = table().sentences
    assert said == (
        "8 bytes per item: first ten relevant 0.900 (float cosine 0.600, OPQ 0.600, label byte + PQ 0.600, "
        "classifier alone 0.600, random order 0.100)."
    )


LABEL = {"label": "z", "queries": 3, "score": 0.2, "other": 0.5}
KINDS = {"ours": {NEW_TEN: 0.5, OLD_TEN: 0.9}, "cosine": {NEW_TEN: 0.7, OLD_TEN: 0.8}}
SAID = {
    "The codes find fewer than float cosine (first ten relevant 0.900 against 0.950).": {
        "cosine": {FIRST_TEN: 0.95}
    },
    "The codes find fewer than OPQ at the same bytes, which reads no labels": {"opq": {FIRST_TEN: 0.95}},
    "Labels did not help: OPQ, which reads none, does as well": {"opq": {FIRST_TEN: 0.9, MAP: 0.9}},
    "A label byte and PQ at the same bytes find more": {"byte": {FIRST_TEN: 0.95}},
    "A classifier and true labels, 1 byte per item, do better (mAP 0.900 against 0.950": {
        "classifier": {MAP: 0.95}
    },
    "Lost against float cosine: nearest look-alikes found 0.900 against 0.950.": {"cosine": {LOOKS: 0.95}},
    "Rows that come later, without labels, are found less well": {"cosine": {LATER_TEN: 0.95}},
    "Kinds never labeled: first ten 0.500, float cosine 0.700; labeled kinds in the same database 0.900, "
    "float cosine 0.800.": KINDS,
    "For kinds never labeled float cosine finds more": KINDS,
    "Labels bring nothing": {"ours": {FIRST_TEN: 0.1}, "cosine": {FIRST_TEN: 0.1}},
    "A row of the fit, encoded again, finds itself first in 50% of cases.": {"ours": {room.ITSELF: 0.5}},
    "Learned codes do worse than mapped ones (mAP 0.900 against 0.950)": {"mapped": {MAP: 0.95}},
    "Only 30 held-out rows were judged: differences may be luck.": {"n": 30},
    "Nothing can be said: no held-out row has a relevant row": {"ours": {FIRST_TEN: np.nan}},
    "take 2.0 times their fair share": {"facts": {"mixture": 2.0}},
    "Worst tags by mAP: z 0.200 (float cosine 0.500)": {
        "facts": {"by_label": [LABEL] * 3, "labels_are": "tags"}
    },
    "Worst labels by mAP: z 0.200 (float cosine 0.500).": {
        "facts": {"by_label": [LABEL, *[{**LABEL, "score": 1.0}] * 4]}  # four are found whole
    },
}


@pytest.mark.parametrize(("words", "given"), SAID.items())
def test_where_we_lose_is_said(words, given):
    said = table(**given).sentences
    assert any(words in one for one in said), said
    assert not any(words in one for one in table().sentences)


def test_a_split_is_two_arrays_of_rows():
    assert Split(np.arange(3), np.arange(0)).train.tolist() == [0, 1, 2]
