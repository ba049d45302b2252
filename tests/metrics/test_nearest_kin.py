"""Near-kin scores against a definition written with loops."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from kinhash import BitLayout, Codes, metrics
from kinhash.errors import InvalidInput
from kinhash.metrics.nearest_kin import some_queries


def case(seed=0, n_queries=15, n_database=150, n_bits=24):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries + n_database, 9)) + 3
    y = rng.integers(0, 4, len(X))
    fields = BitLayout(alike=16, kin_weight=4)
    codes = Codes.from_bits(X @ rng.normal(size=(9, n_bits)) > 0, fields=fields)
    return (codes[:n_queries], codes[n_queries:], y[:n_queries], y[n_queries:], X[:n_queries], X[n_queries:])


def relevance(y_query, y_database, X_query, X_database, most):
    """The definition: kin, by cosine around the mean of the database."""
    mean = X_database.mean(axis=0)
    near = np.zeros((len(y_query), len(y_database)), bool)
    for i, (own, label) in enumerate(zip(X_query - mean, y_query, strict=True)):
        cosines = []
        for j, row in enumerate(X_database - mean):
            cosine = own @ row / np.linalg.norm(own) / np.linalg.norm(row)
            cosines.append((label == y_database[j], cosine, -j))
        for kin, _, j in sorted(cosines, reverse=True)[:most]:
            near[i, -j] = kin
    return near


def test_near_kin_is_what_its_definition_says():
    queries, database, *rest = case()
    found = metrics.near_kin(queries, database, *rest)
    expected = metrics.mean_average_precision(queries, database, relevance(*rest, 20))
    assert found.value == pytest.approx(expected)
    recall = metrics.recall_at_k(queries, database, relevance(*rest, 10), k=100).value
    assert found.recall == pytest.approx(recall)
    distances = np.stack([database.distances(queries[[i] * len(database)]) for i in range(len(queries))])
    tens = {tuple(np.lexsort((np.arange(len(row)), row))[:10].tolist()) for row in distances}
    assert (found.distinct, found.n_queries) == (len(tens), len(queries))


def test_codes_of_classes_alone_have_one_answer_for_each_class():
    *looks, mine, theirs, X, Z = case()
    words = np.random.default_rng(1).integers(0, 2, (4, 24))
    blind = metrics.near_kin(*(Codes.from_bits(words[y]) for y in (mine, theirs)), mine, theirs, X, Z)
    assert blind.distinct == len(set(mine))
    seeing = [
        Codes.from_bits(np.hstack([words[y], codes.bits()]), fields=BitLayout(24, 4))
        for y, codes in zip((mine, theirs), looks, strict=True)
    ]
    found = metrics.near_kin(*seeing, mine, theirs, X, Z)
    assert found.value > blind.value + 0.1
    assert found.distinct > 2 * blind.distinct


def test_tags_and_sparse_features_are_taken():
    queries, database, mine, theirs, *features = case()
    tags = [[{int(c)} for c in y] for y in (mine, theirs)]
    same = metrics.near_kin(queries, database, *tags, *features)
    assert same.value == pytest.approx(metrics.near_kin(queries, database, mine, theirs, *features).value)
    sparse = metrics.near_kin(queries, database, mine, theirs, *(sp.csr_array(X) for X in features))
    assert 0 < sparse.value <= 1


def test_codes_without_their_labels_are_refused():
    queries, database, mine, theirs, *features = case()
    with pytest.raises(InvalidInput, match="belongs together"):
        metrics.near_kin(queries[:3], database, mine, theirs, *features)


def all_distances(queries, database):
    return np.stack([database.distances(queries[[i] * len(database)]) for i in range(len(queries))])


def test_scores_and_codes_agree_on_the_same_ranking():
    queries, database, *rest = case()
    scores = -all_distances(queries, database)
    codes, floats = metrics.near_kin(queries, database, *rest), metrics.near_kin_from_scores(scores, *rest)
    assert (floats.value, floats.recall) == pytest.approx((codes.value, codes.recall))
    assert (floats.distinct, floats.n_queries) == (codes.distinct, codes.n_queries)
    np.testing.assert_allclose(floats.per_query, codes.per_query)


def test_a_row_does_not_find_itself():
    """Rows that search each other score as each of them searching all but itself."""
    _, codes, _, y, _, X = case(n_database=130)
    found = metrics.near_kin(codes, codes, y, y, X, X, exclude_self=True)
    scores = -all_distances(codes, codes)
    floats = metrics.near_kin_from_scores(scores, y, y, X, X, exclude_self=True)
    unit = X - X.mean(axis=0)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    expected, shares, tens = [], [], set()
    for i in range(len(codes)):
        rest = np.flatnonzero(np.arange(len(codes)) != i)
        kin = rest[y[rest] == y[i]]
        near = kin[np.argsort(-(unit[kin] @ unit[i]), kind="stable")]
        alone = codes[[i]], codes[rest]
        expected.append(metrics.mean_average_precision(*alone, np.isin(rest, near[:20])[None]))
        shares.append(metrics.recall_at_k(*alone, np.isin(rest, near[:10])[None], k=100).value)
        tens.add(tuple(rest[np.argsort(-scores[i, rest], kind="stable")[:10]].tolist()))
    for one in (found, floats):
        np.testing.assert_allclose(one.per_query, expected)
        assert one.recall == pytest.approx(np.mean(shares))
        assert (one.distinct, one.n_queries) == (len(tens), len(codes))


def test_queries_without_kin_are_left_out_and_few_kin_are_enough():
    queries, database, mine, theirs, *features = case()
    mine, theirs = mine.copy(), theirs.copy()
    mine[3], mine[4] = 9, 8
    theirs[:2] = 8
    found = metrics.near_kin(queries, database, mine, theirs, *features)
    assert np.flatnonzero(np.isnan(found.per_query)).tolist() == [3]
    wanted = metrics.average_precision(queries[4], database, (theirs == 8)[None])
    np.testing.assert_allclose(found.per_query[4], wanted)
    again = metrics.near_kin_from_scores(-all_distances(queries, database), mine, theirs, *features)
    assert (again.value, again.recall) == pytest.approx((found.value, found.recall))


def test_some_queries_are_spread_over_all():
    assert some_queries(20).tolist() == list(range(20))
    chosen = some_queries(60_000)
    assert (len(chosen), chosen[0], chosen[-1]) == (500, 0, 59_999)
    assert np.diff(chosen).max() <= 121
