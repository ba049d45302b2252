"""A fit over blocks in one process, and answers of shards merged."""

from __future__ import annotations

import tracemalloc
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from block_data import Recorder, classes, hasher, indicator

from kinhash.distributed import (
    choose_rows,
    code_block,
    cut_rows,
    fit_blocks,
    packed_model,
)
from kinhash.errors import InvalidInput

pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")


@pytest.mark.parametrize(
    "kind", ["array", "frame", "sparse", "tags", "indicator", "sparse indicator", "functions"]
)
def test_few_rows_give_exactly_the_model_of_fit(kind):
    X, y = indicator() if "indicator" in kind else classes()
    if kind == "frame":
        X, y = pd.DataFrame(X, columns=list("abcdefgh")), pd.Series(y)
    if kind == "sparse":
        X = sp.csr_array(X)
    if kind == "tags":
        y = [{f"t{row % 3}"} if row % 5 else None for row in y]
    if kind == "sparse indicator":
        y = sp.csr_array(y)
    blocks = cut_rows(X, y, 130)
    if kind == "functions":
        blocks = [(partial(lambda part: part, x), partial(lambda part: part, t)) for x, t in blocks]
    found, expected = fit_blocks(Recorder(), blocks), Recorder().fit(X, y)
    assert found.seen == expected.seen
    if kind == "frame":
        assert list(found.X.columns) == list("abcdefgh")


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
def test_beyond_that_rows_are_drawn_evenly_and_alike_in_any_number_of_threads(n_jobs):
    X, y = classes(n=1000)
    sizes = [100] * 10
    wanted = choose_rows(sizes, 400, 0)
    picked = np.concatenate([100 * number + rows for number, rows in wanted.items()])
    assert len(set(picked)) == 400
    assert all(20 <= len(rows) <= 60 for rows in wanted.values())
    found = fit_blocks(Recorder(), cut_rows(X, y, 100), n_rows=400, n_jobs=n_jobs)
    assert found.seen == Recorder().fit(X[picked], y[picked]).seen


def test_blocks_of_any_size_are_drawn_from_by_their_rows():
    wanted = choose_rows([0, 90_000, 10, 0, 9_990], 1_000, 3)
    assert 850 < len(wanted[1]) < 950
    assert sum(map(len, wanted.values())) == 1_000
    assert {0, 3}.isdisjoint(wanted)


def test_rows_are_never_in_memory_at_once():
    def load(number):
        return np.random.default_rng(number).normal(size=(20_000, 50)).astype(np.float32)

    blocks = [
        (partial(load, number), partial(np.random.default_rng(number).integers, 0, 3, 20_000))
        for number in range(20)
    ]
    tracemalloc.start()
    fit_blocks(Recorder(), blocks, n_rows=500, n_jobs=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6  # all of them: 80 MB; a block as it is made: 12 MB


def test_labeled_rows_get_learned_codes_and_empty_blocks_none():
    X, y = classes()
    fitted = hasher().fit(X, y)
    model = packed_model(fitted)
    learned = code_block(X, y, model=model)
    assert (learned == np.asarray(fitted.learned_codes(X=X, y=y))).all()
    assert (code_block(X, model=model) == fitted.encode(X).packed).all()
    assert code_block(X[:0], model=model).shape == (0, 2)


WRONG = [
    (lambda X, y: (), "empty"),
    (lambda X, y: iter([(X, y)]), "pairs"),
    (lambda X, y: [X], "a pair"),
    (lambda X, y: [(X, y[:-1])], "599 labels came with 600 rows"),
    (lambda X, y: [(X, y), (X, None)], "Some blocks have labels"),
    (lambda X, y: [(X, y), (X[:, :3], y)], "differ in their columns"),
    (lambda X, y: [(X[:0], y[:0])], "no rows"),
]


@pytest.mark.parametrize(("make", "says"), WRONG, ids=[says for _, says in WRONG])
def test_wrong_blocks_are_one_error(make, says):
    with pytest.raises(InvalidInput, match=says):
        fit_blocks(Recorder(), make(*classes()))


def test_rows_and_labels_that_differ_in_number_are_not_cut():
    X, y = classes()
    with pytest.raises(InvalidInput, match="599 labels came with 600 rows"):
        cut_rows(X, y[:-1])
