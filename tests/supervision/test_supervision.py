"""Who is kin: three routes to S and S·Q, and what is refused at the door."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from kinhash.errors import InvalidInput
from kinhash.supervision import (
    PairSupervision,
    from_labels,
    from_pairs,
    from_similarity,
)
from kinhash.supervision.similarity_matrix import MatrixSupervision


def by_definition(labels):
    """S of rows written out: None is unknown (0), the rest kin when they share a label, else strangers."""
    n = len(labels)
    S = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if labels[i] is not None and labels[j] is not None:
                mine, other = (x if isinstance(x, set) else {x} for x in (labels[i], labels[j]))
                S[i, j] = 1 if mine & other else -1
    return S


def of_rows(supervision):
    """S between rows, through the groups; unknown rows are 0."""
    everyone = np.arange(supervision.n_groups)
    blocks = supervision.similarity(everyone, everyone)
    group, known = supervision.group_of_row, supervision.group_of_row >= 0
    return np.where(np.outer(known, known), blocks[np.ix_(group, group)], 0.0)


classes = st.lists(st.sampled_from(["a", "b", "c", None]), min_size=2, max_size=12)
tags = st.lists(st.one_of(st.none(), st.sets(st.integers(0, 4), max_size=3)), min_size=2, max_size=12).filter(
    lambda rows: any(row is not None for row in rows)
)


@given(labels=st.one_of(classes.filter(lambda rows: any(r is not None for r in rows)), tags))
def test_fact_8_labels_give_s_by_definition(labels):
    supervision = from_labels(labels, len(labels))
    S, expected = of_rows(supervision), by_definition(labels)
    untagged = np.array([row == set() for row in labels])
    # A row with an empty tag set is kin to nobody; whether to itself is never asked.
    off = ~np.eye(len(labels), dtype=bool) | untagged[:, None]
    assert (S[off] == expected[off]).all()


@given(labels=tags, data=st.data())
def test_fact_8_products_by_three_routes_equal_the_dense_product(labels, data):
    """Classes, tags and listed pairs: S·Q without S."""
    single = [None if row is None else (min(row) if row else 9) for row in labels]
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    dense = by_definition([None if row is None else {row} for row in single])
    np.fill_diagonal(dense, 0.0)
    routes = [from_labels(labels), from_labels(single)]
    if len(np.unique(dense[dense != 0])) > 1:
        routes += [from_similarity(sp.csr_array(dense))]
    for supervision in routes:
        left = rng.integers(0, supervision.n_groups, 5)
        right = rng.integers(0, supervision.n_groups, 7)
        Q = rng.normal(size=(7, 3))
        np.testing.assert_allclose(
            supervision.product(left, right, Q), supervision.similarity(left, right) @ Q, atol=1e-12
        )


def test_fact_8_all_routes_agree_on_one_set_of_classes():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 30)
    S = np.where(y[:, None] == y, 1.0, -1.0)
    Q = rng.normal(size=(30, 4))
    everyone = np.arange(30)
    off = S - np.diag(np.diag(S))
    i, j = np.triu_indices(30, 1)
    by_rows = {
        "classes": from_labels(y),
        "tags": from_labels([{c} for c in y.tolist()]),
        "pairs": from_pairs(i, j, S[i, j], 30),
        "sparse": from_similarity(sp.csr_array(off)),
        "dense": from_similarity(S),
        "dense, all rows as anchors": from_similarity(S, anchors=everyone),
    }
    for name, supervision in by_rows.items():
        group = supervision.group_of_row
        product = supervision.product(group, group, Q)
        # Pairs leave the own term out, blocks between groups contain it.
        expected = off @ Q if isinstance(supervision, PairSupervision) else S @ Q
        np.testing.assert_allclose(product, expected, atol=1e-12, err_msg=name)


# -- kinship in degrees -------------------------------------------------------------------------------


@given(labels=tags, kinship=st.sampled_from(["auto", "graded"]))
def test_graded_tags_are_as_similar_as_their_jaccard_index_says(labels, kinship):
    """1 for equal sets, less the fewer tags are common to both, −1 for none."""
    supervision = from_labels(labels, kinship=kinship)
    S = of_rows(supervision)
    for i, mine in enumerate(labels):
        for j, other in enumerate(labels):
            if mine is None or other is None:
                assert S[i, j] == 0
            elif not mine & other:
                assert S[i, j] == -1
            else:
                assert S[i, j] == pytest.approx(len(mine & other) / len(mine | other), abs=1e-6)
    everyone = np.arange(supervision.n_groups)
    Q = np.random.default_rng(0).normal(size=(len(everyone), 2))
    expected = supervision.similarity(everyone, everyone) @ Q
    np.testing.assert_allclose(supervision.product(everyone, everyone, Q), expected, atol=1e-12)


def test_kinship_by_name_says_the_same_of_classes():
    y = ["b", "a", "c", "a"]
    S = [of_rows(from_labels(y, kinship=kinship)) for kinship in ("auto", "any")]
    assert np.array_equal(S[0], S[1])
    assert np.array_equal(S[0], by_definition(y))


@given(seed=st.integers(0, 999), k=st.integers(2, 6))
def test_a_matrix_between_classes_is_taken_in_sorted_order(seed, k):
    rng = np.random.default_rng(seed)
    between = rng.uniform(-1, 1, (k, k))
    between = (between + between.T) / 2
    np.fill_diagonal(between, 1)
    names = rng.permutation([f"class {chr(97 + c)}" for c in range(k)])
    y = [*names.tolist(), None, *rng.choice(names, 5).tolist()]
    place = {name: c for c, name in enumerate(sorted(names.tolist()))}
    for given_matrix in (between, between.tolist()):
        supervision = from_labels(y, kinship=given_matrix)
        S = of_rows(supervision)
        for i, mine in enumerate(y):
            for j, other in enumerate(y):
                known = mine is not None and other is not None
                assert S[i, j] == (between[place[mine], place[other]] if known else 0)
        left, right = rng.integers(0, k, 4), rng.integers(0, k, 9)
        Q = rng.normal(size=(9, 2))
        expected = supervision.similarity(left, right) @ Q
        np.testing.assert_allclose(supervision.product(left, right, Q), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("y", "kinship", "says"),
    [
        ([0, 1], "grade", "Did you mean 'graded'"),
        ([0, 1], "graded", r"came with classes.*K × K matrix"),
        ([0, 1], None, "NoneType that is no matrix"),
        ([0, 1], [1.0, 0.5], "list that is no matrix"),
        ([0, 1, 2], np.eye(2), r"shape \(2, 2\), and there are 3 classes"),
        ([0, 1], np.ones((2, 3)), r"shape \(2, 3\)"),
        ([0, 1], [[1, 2], [2, 1]], r"outside \[−1, 1\]"),
        ([0, 1], [[1, 0.5], [0.2, 1]], "not symmetric"),
        ([0, 1], [[1, np.nan], [np.nan, 1]], "not symmetric, or has entries outside"),
        ([0, 1], [[1, 0], [0, 0.5]], r"kinship\[1, same\] is not 1"),
        ([{0}, {1}], np.eye(2), "came with tags"),
    ],
    ids=str,
)
def test_kinship_that_cannot_be_used(y, kinship, says):
    with pytest.raises(InvalidInput, match=says):
        from_labels(y, kinship=kinship)


@pytest.mark.parametrize(
    "kinship",
    [[["a", "b"], ["b", "a"]], [[1], [1, 0]], sp.csr_array(np.eye(2)), [[None, 0], [0, None]], {"a": 1}],
    ids=["text", "ragged", "sparse", "None", "mapping"],
)
def test_kinship_that_is_no_matrix_of_numbers_is_our_error(kinship):
    with pytest.raises(InvalidInput, match="kinship"):
        from_labels([0, 1], kinship=kinship)


# -- sampled pairs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["labels", "dense", "anchors"])
def test_some_pairs_have_the_similarity_of_their_rows(kind):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 30)
    S = np.where(y[:, None] == y, 1.0, -1.0) * 0.5
    anchors = np.arange(0, 30, 4)
    supervision = {
        "labels": lambda: from_labels([None if i < 5 else int(c) for i, c in enumerate(y)]),
        "dense": lambda: from_similarity(S),
        "anchors": lambda: from_similarity(S[:, anchors], anchors=anchors),
    }[kind]()
    left, right, found = supervision.some_pairs(100, rng)
    assert 50 < len(left) == len(right) == len(found) <= 100
    assert (left != right).all()
    assert np.array_equal(found, (2 if kind == "labels" else 1) * S[left, right])
    if kind == "labels":
        assert min(left.min(), right.min()) >= 5
    if kind == "anchors":
        assert set(right) <= set(anchors)


def test_products_are_cut_into_blocks(monkeypatch):
    rng = np.random.default_rng(1)
    supervision = from_labels([set(rng.integers(0, 6, 2).tolist()) for _ in range(50)])
    everyone = np.arange(supervision.n_groups)
    Q = rng.normal(size=(len(everyone), 2))
    whole = supervision.similarity(everyone, everyone) @ Q
    sizes = []
    plain = type(supervision).similarity
    monkeypatch.setattr("kinhash.supervision.base.block_slices", lambda n, rows: [slice(0, 3), slice(3, n)])
    monkeypatch.setattr(
        type(supervision),
        "similarity",
        lambda self, left, right: sizes.append(len(left)) or plain(self, left, right),
    )
    np.testing.assert_allclose(supervision.product(everyone, everyone, Q), whole, atol=1e-12)
    assert sizes == [3, len(everyone) - 3]


def test_rows_with_equal_tag_sets_share_a_group_and_unknown_rows_have_none():
    supervision = from_labels([{"a", "b"}, {"b", "a"}, set(), None, {"b"}, set()])
    assert supervision.group_of_row.tolist() == [0, 0, 1, -1, 2, 1]
    assert supervision.group_weights().tolist() == [2, 2, 1]
    assert supervision.group_weights(np.array([1.0, 0.5, 3, 9, 2, 0])).tolist() == [1.5, 3, 2]


def test_a_dense_matrix_with_unknown_pairs_is_read_as_pairs():
    S = np.array([[1, 0.5, 0], [0.5, 1, -0.25], [0, -0.25, 1]])
    supervision = from_similarity(S)
    assert isinstance(supervision, PairSupervision)
    assert not supervision.complete
    expected = S - np.eye(3)
    assert (of_rows(supervision) == expected).all()


def test_a_dense_matrix_whose_only_zeros_are_on_the_diagonal_is_complete():
    S = np.array([[0, 0.5, -1], [0.5, 0, -0.25], [-1, -0.25, 0]])
    assert isinstance(from_similarity(S), MatrixSupervision)


def test_similarities_to_anchors_fill_both_directions():
    S = sp.csr_array(np.array([[0, 1.0], [1.0, 0], [-1.0, 0], [0, 0]]))
    supervision = from_similarity(S, anchors=[0, 1])
    assert supervision.listed.toarray().tolist() == [[0, 1, -1, 0], [1, 0, 0, 0], [-1, 0, 0, 0], [0, 0, 0, 0]]
    assert supervision.group_of_row.tolist() == [0, 1, 2, -1]


def test_the_diagonal_of_s_is_ignored():
    rng = np.random.default_rng(2)
    S = rng.uniform(-1, 1, (6, 6))
    S = (S + S.T) / 2
    for value in (-1.0, 0.0, 0.3):
        changed = S.copy()
        np.fill_diagonal(changed, value)
        assert (of_rows(from_similarity(changed)) == of_rows(from_similarity(S))).all()


def test_duplicate_pairs_merge_in_either_direction():
    once = from_pairs([0, 1], [1, 2], [1, -1], 4)
    twice = from_pairs([0, 1, 1, 2], [1, 0, 2, 1], [1, 1, -1, -1], 4)
    assert (once.listed != twice.listed).nnz == 0
    assert once.group_of_row.tolist() == [0, 1, 2, -1]
    booleans = from_pairs([0, 1], [1, 2], [True, False], 4)
    assert (once.listed != booleans.listed).nnz == 0


@pytest.mark.parametrize(
    ("left", "right", "verdict", "says"),
    [
        ([0, 9], [1, 2], [1, -1], r"left\[1\] is 9"),
        ([0, 1], [1, -2], [1, -1], r"right\[1\] is -2"),
        ([0.0, 1.0], [1, 2], [1, -1], "dtype float64"),
        ([0, 1], [1, 2], [1, 1.5], "verdict of pair 1 is 1.5"),
        ([0, 1], [1, 2], [1, np.nan], "verdict of pair 1 is nan"),
        ([0, 1], [1, 2], [1, 1], "All 2 pairs have the verdict 1"),
        ([0, 1], [1, 2], [-1, -1], "All 2 pairs have the verdict -1"),
        ([0, 1], [1, 2], [1], "shape .1,., and there are 2 pairs"),
        ([0, 1], [1, 2], 1, "shape .., and there are 2 pairs"),
        ([], [], [], "There are no pairs: left and right are empty"),
        (np.zeros(0, int), np.zeros(0, int), np.zeros(0, int), "There are no pairs"),
        ([], [1], [1], "left has dtype float64"),
        ([0, 2], [0, 2], [1, -1], "No pair is left"),
        (
            ["cat", "dog"],
            [1, 2],
            [1, -1],
            r"left holds 'cat'; 2 of 2 are text.*0 to 3, not names or ids",
        ),
        ([0, 1], np.array([1, "dog"], object), [1, -1], "right holds 'dog'; 1 of 2 are text"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*of a row with itself")
def test_bad_pairs_are_refused_by_name(left, right, verdict, says):
    with pytest.raises(InvalidInput, match=says):
        from_pairs(left, right, verdict, 4)


@pytest.mark.parametrize(
    ("weight", "says"),
    [
        (
            [1, -3],
            "weight of pair 1 is -3; 1 of 2 are negative or not finite.*numbers, 0 or more",
        ),
        ([np.nan, -3], "weight of pair 0 is nan; 2 of 2 are negative"),
        ([1.0, np.inf], "weight of pair 1 is inf"),
        ([1.0], r"weight has dtype float64 and shape \(1,\)"),
        (["a", "b"], "weight has dtype <U1"),
    ],
)
def test_bad_weights_are_refused_by_name(weight, says):
    with pytest.raises(InvalidInput, match=says):
        from_pairs([0, 1], [1, 2], [1, -1], 4, weight)


ONE_WAY = np.array([[0, 1, 1.0], [-1, 0, 0], [0, 1, 0]])  # but for rows 0 and 1
SYMMETRIC = np.array([[1, 1, -1.0], [1, 1, -1], [-1, -1, 1]])


@pytest.mark.parametrize(
    ("S", "anchors", "says"),
    [
        (np.ones((3, 2)), None, "shape"),
        (np.ones(3), None, "shape"),
        (SYMMETRIC[:2, :2], None, "2 rows and X has 3"),
        (SYMMETRIC * 2, None, "from -2.0 to 2.0"),
        (np.where(SYMMETRIC > 0, np.nan, -1), None, "from nan"),
        (np.triu(SYMMETRIC) + np.tril(-SYMMETRIC, -1), None, "not symmetric"),
        (
            sp.csr_array(np.triu(SYMMETRIC) + np.tril(-SYMMETRIC, -1)),
            None,
            r"3 pairs .*S.T\) / 2",
        ),
        (ONE_WAY, None, "1 pair is listed in both directions.*rows 0 and 1 .*Write 0 in the direction"),
        (sp.csr_array(ONE_WAY), None, "1 pair .* differ by up to 2.*Write 0 in the direction"),
        (ONE_WAY.astype(np.int8), None, "1 pair .* differ by up to 2"),
        (SYMMETRIC[:, :2], [0, 1, 2], "2 columns and 3 anchors"),
        (SYMMETRIC[:, :2], [0, 0], "listed twice"),
        (SYMMETRIC[:, :2], [0, 7], r"anchors\[1\] is 7"),
        (SYMMETRIC[:, [0, 2]], [0, 1], "not symmetric.*Write 0"),
        (np.eye(3), None, "nothing about any pair"),
        (sp.csr_array((3, 3)), None, "nothing about any pair"),
        (SYMMETRIC > 0, None, "dtype bool"),
        (sp.csr_array(SYMMETRIC > 0), None, "dtype bool"),
        (np.ones((3, 3)), None, "every pair"),
        (-np.ones((3, 3)), None, "every pair"),
        (sp.csr_array(np.ones((3, 3))), None, "every pair"),
        (np.array([["a"] * 3] * 3), None, "dtype"),
    ],
)
def test_bad_similarities_are_refused(S, anchors, says):
    with pytest.raises(InvalidInput, match=says):
        from_similarity(S, anchors, 3)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_array, np.int8])
@pytest.mark.parametrize("half", [np.triu, np.tril])
def test_a_pair_may_be_listed_in_one_direction(form, half):
    rng = np.random.default_rng(3)
    S = np.triu(rng.integers(-1, 2, (9, 9)), 1)
    S = 1.0 * (S + S.T)
    expected = of_rows(from_similarity(S))
    np.testing.assert_array_equal(of_rows(from_similarity(form(half(S)))), expected)
    some = np.where(rng.integers(0, 2, S.shape), np.triu(S), S)  # the others in both
    np.testing.assert_array_equal(
        of_rows(from_similarity(form(some))), of_rows(from_similarity(form(some.T)))
    )


def test_similarities_to_anchors_may_be_listed_in_one_direction():
    S = np.array([[0, 1.0], [0, 0], [-1.0, 0.5], [0, 0]])
    expected = [[0, 1, -1, 0], [1, 0, 0.5, 0], [-1, 0.5, 0, 0], [0, 0, 0, 0]]
    for matrix in (S, sp.csr_array(S)):
        assert from_similarity(matrix, anchors=[0, 1]).listed.toarray().tolist() == expected


def test_integer_similarities_are_fine():
    exact = from_similarity(SYMMETRIC.astype(np.int8))
    assert (of_rows(exact) == SYMMETRIC).all()


def test_a_matrix_is_symmetric_among_its_anchors_only():
    S = np.array([[1, -0.5], [0.25, 0.5], [-0.5, 1]])  # columns stand for rows 0 and 2
    supervision = from_similarity(S, anchors=[0, 2])
    assert supervision.similarity(np.arange(3), np.array([0, 2])).tolist() == S.tolist()
