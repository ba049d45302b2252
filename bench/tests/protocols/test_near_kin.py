"""Near-kin by its definition, of codes and of scores."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from kinhash import Codes, metrics
from kinhash.errors import InvalidInput
from kinhash_bench.protocols.near_kin import near_kin, near_kin_from_scores


def case(seed=0, n_queries=15, n_database=150, n_bits=24):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_queries + n_database, 9)) + 3
    y = rng.integers(0, 4, len(X))
    codes = Codes.from_bits(X @ rng.normal(size=(9, n_bits)) > 0)
    return (codes[:n_queries], codes[n_queries:], y[:n_queries], y[n_queries:], X[:n_queries], X[n_queries:])


def relevance(mine, theirs, X_query, X_database, most, own=False):
    """The definition: relevant rows, by cosine around the mean of the database."""
    mean, near = X_database.mean(axis=0), np.zeros((len(mine), len(theirs)), bool)
    for i, (row, label) in enumerate(zip(X_query - mean, mine, strict=True)):
        cosines = []
        for j, other in enumerate(X_database - mean):
            cosine = row @ other / np.linalg.norm(row) / np.linalg.norm(other)
            cosines.append((label == theirs[j] and not (own and i == j), cosine, -j))
        for kin, _, j in sorted(cosines, reverse=True)[:most]:
            near[i, -j] = kin
    return near


@pytest.mark.parametrize("own", [False, True])
def test_near_kin_is_what_its_definition_says(own):
    queries, database, *rest = case(n_database=130)
    if own:
        queries, rest = database, [rest[1], rest[1], rest[3], rest[3]]
    found = near_kin(queries, database, *rest, exclude_self=own)
    expected = metrics.evaluate(queries, database, relevance(*rest, 20, own), exclude_self=own).per_query
    np.testing.assert_allclose(found.per_query, expected)
    recall = metrics.evaluate(
        queries, database, relevance(*rest, 10, own), None, "recall@100", exclude_self=own
    )
    assert found.recall == pytest.approx(recall.value)
    distances = np.stack([database.distances(queries[[i] * len(database)]) for i in range(len(queries))])
    orders_ = [np.lexsort((np.arange(len(row)), row)) for row in distances]
    tens = {tuple(order[order != i][:10] if own else order[:10]) for i, order in enumerate(orders_)}
    assert (found.distinct, found.n_queries) == (len(tens), len(queries))
    assert "different first tens" in str(found)
    floats = near_kin_from_scores(-distances, *rest, exclude_self=own)
    assert (floats.recall, floats.distinct) == pytest.approx((found.recall, found.distinct))
    np.testing.assert_allclose(floats.per_query, found.per_query)


def test_codes_of_classes_alone_have_one_answer_for_each_class():
    *looks, mine, theirs, X, Z = case()
    words = np.random.default_rng(1).integers(0, 2, (4, 24))
    blind = near_kin(*(Codes.from_bits(words[y]) for y in (mine, theirs)), mine, theirs, X, Z)
    assert blind.distinct == len(set(mine))
    assert near_kin(*looks, mine, theirs, X, Z).distinct > 2 * blind.distinct


def test_tags_sparse_features_and_queries_without_relevant_rows():
    queries, database, mine, theirs, *features = case()
    mine, theirs = mine.copy(), theirs.copy()
    mine[3], mine[4] = 9, 8
    theirs[:2] = 8
    found = near_kin(queries, database, mine, theirs, *features)
    assert np.flatnonzero(np.isnan(found.per_query)).tolist() == [3]
    np.testing.assert_allclose(
        found.per_query[4], metrics.evaluate(queries[[4]], database, (theirs == 8)[None]).per_query[0]
    )
    tags = [[{int(c)} for c in y] for y in (mine, theirs)]
    same = near_kin(queries, database, *tags, *features)
    assert same.value == pytest.approx(found.value)
    sparse = near_kin(queries, database, mine, theirs, *(sp.csr_array(X) for X in features))
    assert 0 < sparse.value <= 1
    with pytest.raises(InvalidInput, match="belongs together"):
        near_kin(queries[:3], database, mine, theirs, *features)
