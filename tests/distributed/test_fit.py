"""Fits over blocks in one process: against the ordinary fit, and against themselves cut and run otherwise."""

from __future__ import annotations

import pickle
import re
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from block_data import classes, default, indicator, linear, paper
from sklearn.base import clone
from threadpoolctl import threadpool_info, threadpool_limits

from kinhash import EnergyHasher, load
from kinhash.baselines import BASELINES
from kinhash.distributed import LocalBlocks, cut_rows, fit, fit_blocks, learn_from
from kinhash.distributed.tree import merge_in_order
from kinhash.encoders.expected_labels import ExpectedLabels
from kinhash.encoders.features import RBF
from kinhash.encoders.ridge import Ridge
from kinhash.errors import InvalidInput

pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")


@pytest.mark.parametrize("data", [classes, indicator])
@pytest.mark.parametrize(
    "more", [{}, {"encoder": ExpectedLabels(features="plain"), "alike": 0.5}], ids=["default", "alike"]
)
def test_a_recipe_with_choices_gives_the_model_of_fit(data, more):
    X, y = data()
    whole = EnergyHasher(16, random_state=0, **more).fit(X, y)
    parts = fit_blocks(EnergyHasher(16, random_state=0, **more), cut_rows(X, y, 77))
    assert parts.model_id_ == whole.model_id_
    assert np.array_equal(parts.codes_, whole.codes_)
    assert parts.report_.n_rows == parts.report_.facts["n_sampled"] == len(X)


@pytest.mark.parametrize("data", [classes, indicator])
@pytest.mark.parametrize("solver", ["spectral", "coordinate"])
@pytest.mark.parametrize("trust", [0.4, 1.0])
def test_a_fixed_recipe_gives_the_model_of_fit_up_to_rounding(data, solver, trust):
    X, y = data()
    hasher = linear().set_params(trust=trust)
    if solver == "coordinate":
        hasher.set_params(solver="coordinate")
    whole, parts = clone(hasher).fit(X, y), fit_blocks(clone(hasher), cut_rows(X, y, 77))
    margins = whole.fitted_.unrounded.scores(X)
    np.testing.assert_allclose(parts.fitted_.unrounded.scores(X), margins, atol=1e-4 * np.abs(margins).max())
    same = parts.learned_codes(y, X).bits() == whole.codes_.bits()
    assert same.all() if trust == 1 else same.mean() > 0.998
    assert parts.report_.n_rows == len(X)


def rbf():
    return linear(encoder=Ridge(features=RBF(n_centers=30)))


@pytest.mark.parametrize("make", [default, linear, paper, rbf])
@pytest.mark.parametrize("data", [classes, indicator])
def test_threads_and_loaders_do_not_change_a_bit(make, data):
    X, y = data()
    blocks = cut_rows(X, y, 77)
    lazy = [(partial(np.array, x), partial(np.array, t)) for x, t in blocks]
    models = {fit_blocks(make(), b, n_jobs=jobs).model_id_ for b in (blocks, lazy) for jobs in (1, 2, 3)}
    assert len(models) == 1


def test_one_block_is_cut_inside_like_many_rows_are():
    """Blocks larger than the summing size are summed in pieces, whose order is fixed."""
    X, y = classes(n=9000)
    margins = linear().fit(X, y).fitted_.unrounded.scores(X[:500])
    for rows in (9000, 5000, 4096):
        found = fit_blocks(linear(), cut_rows(X, y, rows)).fitted_.unrounded.scores(X[:500])
        np.testing.assert_allclose(found, margins, atol=1e-4 * np.abs(margins).max())


def test_beyond_the_limit_a_draw_is_learned_from_and_codes_are_not_kept():
    X, y = classes(n=3000)
    whole = default().fit(X, y)
    parts = learn_from(default(), LocalBlocks(cut_rows(X, y, 250)), sample_rows=1500)
    assert parts.report_.facts["n_sampled"] == 1500
    assert parts.report_.n_rows == 3000
    assert parts.model_id_ != whole.model_id_
    assert parts.score(X, y) > whole.score(X, y) - 0.02
    with pytest.raises(AttributeError, match="codes_ is kept only"):
        parts.codes_  # noqa: B018
    again = learn_from(default(), LocalBlocks(cut_rows(X, y, 250), 1), sample_rows=1500)
    assert again.model_id_ == parts.model_id_


def test_the_model_is_an_ordinary_one(tmp_path):
    X, y = classes()
    for make in (default, linear):
        hasher = fit_blocks(make(), cut_rows(X, y, 100))
        hasher.save(tmp_path / "model.kin")
        again = load(tmp_path / "model.kin")
        assert np.array_equal(again.encode(X), hasher.encode(X))
        assert again.model_id_ == hasher.model_id_


def test_a_fit_over_blocks_goes_on_with_partial_fit():
    X, y = classes()
    parts = fit_blocks(linear(), cut_rows(X[:400], y[:400], 100)).partial_fit(X[400:], y[400:])
    stream = linear().partial_fit(X[:400], y[:400]).partial_fit(X[400:], y[400:])
    margins = stream.fitted_.unrounded.scores(X)
    np.testing.assert_allclose(parts.fitted_.unrounded.scores(X), margins, atol=1e-4 * np.abs(margins).max())
    assert parts.report_.n_rows == 600


def test_rows_without_labels_have_no_say():
    X, y = classes()
    known = np.arange(len(y)) % 3 > 0
    some = np.where(known, y, np.nan)
    for make in (default, linear):
        parts = fit_blocks(make(), cut_rows(X, some, 100))
        only = fit_blocks(make(), cut_rows(X[known], y[known], 80))
        assert (parts.encode(X).packed == only.encode(X).packed).mean() > 0.99


def test_empty_blocks_and_blocks_of_one_class_are_fine():
    X, y = classes()
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    plain = fit_blocks(linear(), cut_rows(X, y, 100))
    blocks = cut_rows(X, y, 100)
    blocks.insert(3, (X[:0], y[:0]))
    np.testing.assert_allclose(
        fit_blocks(linear(), blocks).fitted_.unrounded.scores(X), plain.fitted_.unrounded.scores(X), atol=1e-4
    )


def test_sparse_blocks_give_the_model_of_dense_ones():
    X, y = classes()
    X[X < 0.5] = 0
    for make in (default, linear):
        dense = fit_blocks(make(), cut_rows(X, y, 100))
        sparse = fit_blocks(make(), cut_rows(sp.csr_array(X), y, 100))
        assert sparse.model_id_ == dense.model_id_


def test_rivals_learn_from_blocks_too():
    X, y = classes()
    name = next(iter(BASELINES))
    whole = BASELINES[name](8, random_state=0).fit(X, y)
    assert fit_blocks(BASELINES[name](8, random_state=0), cut_rows(X, y, 100)).model_id_ == whole.model_id_


def broken(change):
    X, y = classes(n=120)
    blocks = [[np.array(x), np.array(t)] for x, t in cut_rows(X, y, 40)]
    change(blocks)
    return [tuple(block) for block in blocks]


def spoil(place, value):
    def change(blocks):
        blocks[1][0][place] = value

    return change


BAD = {
    "a NaN": (spoil((3, 2), np.nan), r"In block 1: .*NaN: the first in row 3, column 2"),
    "another width": (lambda blocks: blocks[2].__setitem__(0, blocks[2][0][:, :5]), "columns"),
    "too few labels": (
        lambda blocks: blocks[2].__setitem__(1, blocks[2][1][:9]),
        "In block 2: X has 40 rows",
    ),
    "text": (lambda blocks: blocks[0].__setitem__(0, blocks[0][0].astype(str)), "Block 0 .*dtype"),
    "no label": (lambda blocks: [b.__setitem__(1, np.full(40, np.nan)) for b in blocks], "Nothing is known"),
    "one class": (lambda blocks: [b.__setitem__(1, np.zeros(40)) for b in blocks], "one class"),
    "classes and tags": (lambda blocks: blocks[1].__setitem__(1, np.ones((40, 3))), "classes and the other"),
}


@pytest.mark.parametrize("make", [default, linear])
@pytest.mark.parametrize("what", list(BAD))
def test_bad_blocks_are_named(make, what):
    change, message = BAD[what]
    with pytest.raises(InvalidInput, match=message) as caught:
        fit_blocks(make(), broken(change))
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # it must survive the way home


@pytest.mark.parametrize(
    ("blocks", "message"), [(iter([]), "list_iterator"), ([], "empty"), ((b for b in ()), "generator")]
)
def test_blocks_must_be_readable_more_than_once(blocks, message):
    with pytest.raises(InvalidInput, match=message):
        fit_blocks(default(), blocks)


def test_anchors_are_refused():
    X, y = classes()
    with pytest.raises(InvalidInput, match="anchors=None"):
        fit_blocks(linear(anchors=[1, 2, 3]), cut_rows(X, y))
    with pytest.raises(InvalidInput, match="600 rows and there are 599"):
        cut_rows(X, y[1:])


def test_a_block_is_summed_on_one_thread_of_blas_wherever_it_lies(monkeypatch):
    """On a worker nobody else holds BLAS, and the last digits of targets would follow its cores."""
    X, y = classes()
    seen = []
    sums = fit.sum_block

    def on_a_worker(number, X, y, *, anchored, width):
        scores = type(anchored).scores

        def watched(self, labels):
            # Other packages (FAISS) bring a BLAS of their own, which computes nothing of ours.
            ours = [pool for pool in threadpool_info() if re.search(r"[/\\](numpy|scipy)", pool["filepath"])]
            assert ours
            seen.extend(pool["num_threads"] for pool in ours if pool["user_api"] == "blas")
            return scores(self, labels)

        with monkeypatch.context() as patch:
            patch.setattr(type(anchored), "scores", watched)
            return sums(number, X, y, anchored=anchored, width=width)

    class Bare(LocalBlocks):
        """Blocks of an engine that holds no BLAS."""

        def reduce(self, look, merge):
            parts = [look(number, *block) for number, block in enumerate(self.blocks)]
            return merge_in_order(parts, merge)

    monkeypatch.setattr(fit, "sum_block", on_a_worker)
    with threadpool_limits(2, user_api="blas"):
        model = learn_from(linear(), Bare(cut_rows(X, y, 77)))
    assert set(seen) == {1}
    assert model.model_id_ == fit_blocks(linear(), cut_rows(X, y, 77)).model_id_


def test_blocks_that_are_no_pairs_are_refused():
    with pytest.raises(InvalidInput, match="pair"):
        fit_blocks(EnergyHasher(8), [np.ones((3, 2))])
    with pytest.raises(InvalidInput, match="rows"):
        cut_rows(np.ones((3, 2)), [0, 1, 0], rows=0)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.coo_array, sp.csc_matrix])
def test_sparse_labels_are_cut_like_dense_ones(kind):
    X, y = indicator()
    y = np.asarray(y)
    parts = cut_rows(kind(X), kind(y), 70)
    assert np.array_equal(np.concatenate([labels.toarray() for _, labels in parts]), y)
    assert np.array_equal(np.concatenate([rows.toarray() for rows, _ in parts]), X)
    with pytest.raises(InvalidInput, match="labels"):
        cut_rows(X, kind(y[1:]))
