"""Blocks of rows in any order give the model of one fit with the same anchors."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from small_data import classes, tags

from kinhash import EMBRE, EMKSH, EMLFH, EMSPLH, EMExpH, EnergyHasher, load
from kinhash.encoders.features import RBF
from kinhash.encoders.ridge import Ridge
from kinhash.errors import InvalidInput, KinhashWarning
from kinhash.solvers.coordinate import Coordinate
from kinhash.solvers.linearized import Linearized
from kinhash.solvers.mean_field import MeanField
from kinhash.solvers.spectral import Spectral

pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")

STREAMS = {
    "EMKSH": EMKSH(8),
    "EMLFH": EMLFH(8),
    "EMBRE": EMBRE(8),
    "EMExpH": EMExpH(8),
    "EMSPLH": EMSPLH(),
    "rounded at one half": EMKSH(8, rounding="half"),
    "penalty by cross-validation": EMKSH(8, alpha="gcv"),
    "coordinate": EnergyHasher(8, solver=Coordinate(), encoder="ridge", alike=0, trust=1),
    "linearized": EnergyHasher(8, solver=Linearized(), encoder="ridge", alike=0, trust=1),
    "mean field": EnergyHasher(8, solver=MeanField(), encoder="ridge", alike=0, trust=1),
    "spectral": EnergyHasher(8, solver=Spectral(rotation="codes"), encoder="ridge", alike=0, trust=1),
    "rbf": EnergyHasher(
        8, solver=Coordinate(), encoder=Ridge(alpha=1.0, features=RBF(n_centers=20)), alike=0, trust=1
    ),
    "the paper's, put together": EnergyHasher(
        8, solver=Linearized(targets="given", rounding="mean", merge=False), encoder="ridge", alike=0, trust=1
    ),
}
ANCHORS = np.arange(60)


def with_anchors(name, anchors):
    """A fresh hasher of that name, its anchors a setting of the solver where it has one."""
    hasher = clone(STREAMS[name]).set_params(random_state=0)
    where = "solver__anchors" if "solver" in hasher.get_params(deep=False) else "anchors"
    return hasher.set_params(**{where: anchors})


def stream(hasher, X, y, edges, order=None, weights=None):
    """partial_fit on blocks cut at ``edges``; the first block stays first, the rest in any order."""
    parts = list(zip([0, *edges], [*edges, len(y)], strict=True))
    for place in [0, *(order if order is not None else range(1, len(parts)))]:
        a, b = parts[place]
        hasher.partial_fit(X[a:b], y[a:b], None if weights is None else weights[a:b])
    return hasher


@pytest.mark.parametrize("name", list(STREAMS))
@pytest.mark.parametrize("kind", [classes, tags])
def test_blocks_in_any_order_give_the_model_of_one_fit(name, kind):
    X, y = kind(n=240)
    base = with_anchors(name, ANCHORS)
    if name == "rbf":  # centers are drawn from the first block, so one fit sees the same only as one block
        whole = pickle.loads(pickle.dumps(base)).partial_fit(X, y)
        first = whole.fitted_.unrounded.scores(X)
        assert np.isfinite(first).all()
        return
    whole = pickle.loads(pickle.dumps(base)).fit(X, y)
    margins, codes = whole.fitted_.unrounded.scores(X), whole.codes_
    for edges, order in (([60, 100, 200], [3, 1, 2]), ([60, 100, 200], None), ([200], None), ([], None)):
        parts = stream(pickle.loads(pickle.dumps(base)), X, y, edges, order)
        found = parts.fitted_.unrounded.scores(X)
        np.testing.assert_allclose(found, margins, atol=1e-4 * np.abs(margins).max())
        # Equal up to bits whose margin lies within rounding error.
        assert ((found > 0) == (margins > 0))[np.abs(margins) > 1e-3 * np.abs(margins).max()].all()
        assert np.array_equal(parts.learned_codes(y), codes)


@pytest.mark.parametrize("kinship", ["any", "graded"])
@pytest.mark.parametrize("solver", [Coordinate(), Spectral(rotation="codes")], ids=repr)
@pytest.mark.parametrize("trust", [0.0, 0.4])
def test_blocks_mix_labels_and_features_as_one_fit_does(solver, kinship, trust):
    X, y = tags(n=240)
    solver = clone(solver).set_params(anchors=ANCHORS)
    base = EnergyHasher(
        8, solver=solver, encoder="ridge", alike=0, trust=trust, kinship=kinship, random_state=0
    )
    whole, parts = clone(base).fit(X, y), stream(clone(base), X, y, [60, 100, 200], [3, 1, 2])
    # Equal up to bits whose margin lies within rounding error.
    assert (parts.learned_codes(y, X).bits() == whole.codes_.bits()).mean() > 0.998
    some = parts.learned_codes(y[:50], X[:50])
    assert np.array_equal(some.packed, parts.learned_codes(y, X).packed[:50])
    if trust == 0:
        assert np.array_equal(parts.learned_codes(y, X).packed, parts.encode(X).packed)
    with pytest.raises(InvalidInput, match="without features"):
        parts.learned_codes(y)


@pytest.mark.parametrize("name", ["EMKSH", "coordinate", "rbf"])
def test_anchors_are_drawn_from_the_first_block(name):
    X, y = classes(n=240)
    base = with_anchors(name, None)
    one = stream(pickle.loads(pickle.dumps(base)), X, y, [100, 150, 200])
    other = stream(pickle.loads(pickle.dumps(base)), X, y, [100, 150, 200], [3, 2, 1])
    margins = one.fitted_.unrounded.scores(X)
    np.testing.assert_allclose(other.fitted_.unrounded.scores(X), margins, atol=2e-4 * np.abs(margins).max())
    assert np.array_equal(one.learned_codes(y), other.learned_codes(y))


def test_the_size_of_blocks_does_not_change_a_digit():
    """Rows wait until a block of the fixed size is full, so sums are always cut alike."""
    X, y = classes(n=9000, p=3)
    models = []
    for edges in ([500, 6000], [500, 501, 4096, 4097], [500, 8999]):
        models.append(stream(EMKSH(8, anchors=ANCHORS, random_state=0), X, y, edges))
    assert len({model.model_id_ for model in models}) == 1


def test_sparse_blocks_and_blocks_with_new_labels():
    X, y = tags(n=240)
    dense = stream(EMKSH(8, anchors=ANCHORS, random_state=0), X, y, [60, 120])
    sparse = stream(EMKSH(8, anchors=ANCHORS, random_state=0), sp.csr_array(X), y, [60, 120])
    assert np.array_equal(dense.encode(X), sparse.encode(X))
    Z, z = classes(n=240)
    order = np.argsort(z, kind="stable")  # the first block holds classes 0 and 1 only
    late = stream(EMKSH(8, random_state=0), Z[order], z[order], [96])
    assert np.isfinite(late.decision_function(Z)).all()
    assert late.learned_codes(z).shape == (240, 1)


def test_weights_and_unknown_rows_in_blocks():
    X, y = classes(n=240)
    w = np.random.default_rng(0).integers(0, 3, 240).astype(float)
    w[:60] = 1
    hasher = EMKSH(8, anchors=ANCHORS, random_state=0)
    weighted = stream(hasher, X, y, [60, 150], weights=w).fitted_.unrounded.scores(X)
    rows = np.repeat(np.arange(240), w.astype(int))
    repeated = EMKSH(8, anchors=ANCHORS, random_state=0).fit(X[rows], y[rows]).fitted_.unrounded.scores(X)
    np.testing.assert_allclose(weighted, repeated, atol=1e-4)
    unknown = [None if 100 <= i < 140 else int(c) for i, c in enumerate(y)]
    kept = np.array([label is not None for label in unknown])
    some = stream(EMKSH(8, anchors=ANCHORS, random_state=0), X, unknown, [60, 150]).fitted_.unrounded.scores(
        X
    )
    less = EMKSH(8, anchors=ANCHORS, random_state=0).fit(X[kept], y[kept]).fitted_.unrounded.scores(X)
    np.testing.assert_allclose(some, less, atol=1e-4)


def test_a_streamed_model_is_usable_after_every_block(tmp_path):
    X, y = classes(n=240)
    hasher = EMKSH(8, random_state=0)
    scores = []
    for a in (0, 80, 160):
        hasher.partial_fit(X[a : a + 80], y[a : a + 80])
        scores.append(hasher.score(X, y))
    assert min(scores) > 0.5
    hasher.save(tmp_path / "m.kin")
    assert np.array_equal(load(tmp_path / "m.kin").encode(X), hasher.encode(X))
    assert np.array_equal(pickle.loads(pickle.dumps(hasher)).encode(X), hasher.encode(X))
    with pytest.raises(AttributeError, match="learned_codes"):
        hasher.codes_  # noqa: B018
    assert hasher.report_.facts["energy"]


def test_a_new_fit_forgets_the_blocks():
    X, y = classes(n=240)
    hasher = stream(EMKSH(8, random_state=0), X, y, [100])
    hasher.fit(X[:100], y[:100])
    fresh = EMKSH(8, random_state=0).fit(X[:100], y[:100])
    assert np.array_equal(hasher.encode(X), fresh.encode(X))
    with pytest.raises(InvalidInput, match="partial_fit"):
        hasher.learned_codes(y)


def test_learned_codes_need_labels():
    X, y = classes(n=240)
    hasher = stream(EMKSH(8, random_state=0), X, y, [100])
    with pytest.raises(InvalidInput, match="unknown"):
        hasher.learned_codes([0, None])


def test_bad_blocks_leave_the_model_as_it_was():
    X, y = classes(n=240)
    hasher = stream(EMKSH(8, random_state=0), X, y, [100])
    before = hasher.fitted_.unrounded.scores(X)
    bad = X.copy()
    bad[3, 2] = np.nan
    for features, labels in ((bad, y), (X[:, :3], y), (X, y[:5]), (X, None), (X, [{1}] * 240)):
        with pytest.raises(InvalidInput):
            hasher.partial_fit(features, labels)
    assert np.array_equal(hasher.fitted_.unrounded.scores(X), before)
    hasher.partial_fit(X[:10], y[:10])
    other = stream(EMKSH(8, random_state=0), X, y, [100]).partial_fit(X[:10], y[:10])
    assert hasher.model_id_ == other.model_id_


@pytest.mark.parametrize(
    "excluded",
    [
        EnergyHasher(8),
        EnergyHasher(8, encoder="ridge"),
        EnergyHasher(8, encoder="ridge", solver="spectral"),
        EnergyHasher(8, encoder="ridge", solver="coordinate", alike=0.5),
        EnergyHasher(8, encoder="ridge", solver="coordinate"),
        EnergyHasher(8, encoder="ridge", solver=Coordinate(rounding="median"), alike=0),
        EnergyHasher(8, encoder="expected", solver="coordinate", alike=0),
        EnergyHasher(8, encoder="ridge", solver="coordinate", alike=0, kinship=np.eye(5)),
        EMKSH(8, literal=True),
    ],
    ids=repr,
)
def test_what_excludes_blocks_is_said(excluded):
    X, y = classes(n=100)
    assert not hasattr(excluded, "partial_fit")
    with pytest.raises(AttributeError) as caught:
        excluded.partial_fit(X, y)
    assert "needs all rows at once" in str(caught.value)
    assert "; or use fit." in str(caught.value)
    assert "partial_fit" not in dir(excluded)
    assert "partial_fit" in dir(EMKSH(8))


@pytest.mark.parametrize("kind", ["classes", "tags"])
def test_labels_that_come_later_are_counted(kind):
    """Three come late, in two blocks; each block warns of what is new, and known ones are not mentioned."""
    X, y = classes(n=240)
    late = y.copy()
    late[120:160] = [10, 11] * 20
    late[200:] = 12
    labels = late if kind == "classes" else [{int(k)} for k in late]
    hasher = EMKSH(8, random_state=0).partial_fit(X[:120], labels[:120])
    with pytest.warns(KinhashWarning, match=f"^2 {kind} have no row among the anchors.*'10'"):
        hasher.partial_fit(X[120:200], labels[120:200])
    with pytest.warns(KinhashWarning, match=f"^3 {kind} have no row among the anchors.*'12'"):
        hasher.partial_fit(X[200:], labels[200:])
    hasher.partial_fit(X[200:], labels[200:])
