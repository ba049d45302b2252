"""Contract checks for plugins. A plugin that passes them works everywhere in kinhash.

    from kinhash.testing import check_energy
    check_energy(MyEnergy())

Each check raises an AssertionError that says which promise was broken, and returns nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from ._internal.rows import Rows
from ._internal.stages import Stages
from ._internal.types import Features, Floats, LabelsLike
from .codes import unpack_bits
from .encoders import Encoder, Fitted
from .energies import Energy, PairTerms
from .errors import InvalidInput
from .hashers import Hasher
from .models import Map, WholeMap
from .solvers import DenseProblem, Solver
from .supervision import Training, from_labels

__all__ = ["check_encoder", "check_energy", "check_hasher", "check_solver"]


def check_energy(energy: Energy, n_bits: tuple[int, ...] = (1, 2, 5, 8)) -> None:
    """The parabola is the loss up to a constant, or lies above the loss and touches it at ``xi``.

    Two codes of d bits have only d + 1 inner products, so all are tried, for similar and
    dissimilar pairs and for similarities in between.
    """
    assert isinstance(energy, Energy), f"{energy!r} is not a subclass of kinhash.energies.Energy"
    assert energy.tangent in (None, "mean", "rms"), f"tangent is {energy.tangent!r}"
    for d in n_bits:
        r = np.arange(-d, d + 1, 2.0)
        for s in (-1.0, -0.4, 0.3, 1.0):
            if energy.tangent is None:
                gap = _gap(energy, r, s, d, None)
                assert np.ptp(gap) <= 1e-9 * (1 + np.abs(gap).max()), (
                    f"terms and loss of {energy!r} differ by more than a constant (d={d}, s={s})"
                )
                continue
            low = -d if energy.tangent == "mean" else 0.0
            for xi in np.linspace(low, d, 7):
                _check_touching(energy, r, s, d, float(xi))


def _check_touching(energy: Energy, r: Floats, s: float, d: int, xi: float) -> None:
    gap, touch = _gap(energy, r, s, d, xi), _gap(energy, np.array([xi]), s, d, xi)
    slack = 1e-9 * (1 + np.abs(gap).max())
    assert (gap >= touch - slack).all(), (
        f"the parabola of {energy!r} dips below its loss (d={d}, s={s}, ξ={xi})"
    )


def _gap(energy: Energy, r: Floats, s: float, d: int, xi: float | None) -> Floats:
    """Parabola less loss at inner products ``r``."""
    similarity = np.full_like(r, s)
    terms = energy.terms(similarity, d, None if xi is None else np.full_like(r, xi))
    assert isinstance(terms, PairTerms), f"terms of {energy!r} returned {type(terms).__name__}"
    quadratic = np.asarray(terms.quadratic, np.float64)
    assert np.shape(terms.linear) == r.shape, f"linear of {energy!r} has shape {np.shape(terms.linear)}"
    assert quadratic.shape in ((), r.shape), f"quadratic of {energy!r} has shape {quadratic.shape}"
    loss = np.asarray(energy.loss(r, similarity, d))
    assert loss.shape == r.shape, f"loss of {energy!r} has shape {loss.shape} for inner products {r.shape}"
    gap: Floats = terms.linear * r + quadratic * r**2 - loss
    assert np.isfinite(gap).all(), f"{energy!r} is not finite (d={d}, s={s}, ξ={xi})"
    return gap


def check_solver(solver: Solver, energy: Energy | None = None) -> None:
    """Means and scores come back finite and of the right shape, the same for the same seed.

    The problem, the start and the solver's own settings stay as they were. ``energy`` is what to solve;
    without it the check takes KSH.
    """
    from .energies import KSH

    law = KSH() if energy is None else energy
    settings = _copied_settings(solver)
    labels = np.array([0, 0, 1, 1, 2, 2, 2, 0])
    for d in (1, 4):
        _check_minimize(solver, law, np.where(labels[:, None] == labels, 1.0, -1.0), d)
        _check_solve(solver, law, labels, d)
    assert repr(solver.get_params()) == settings, f"{solver!r} changed its own settings"


def _check_minimize(solver: Solver, law: Energy, targets: Floats, d: int) -> None:
    m = len(targets)
    problem = DenseProblem(law, targets.copy(), np.ones(m), d)
    first = solver.minimize(problem, np.random.default_rng(5))
    again = solver.minimize(problem, np.random.default_rng(5))
    assert first.means.shape == (m, d), f"{solver!r} gave means of shape {first.means.shape}"
    assert np.isfinite(first.means).all(), f"{solver!r} gave means that are not finite"
    assert np.isfinite(first.energies).all(), f"{solver!r} reported energies that are not finite"
    assert first.energies, f"{solver!r} reported no energy"
    assert np.array_equal(first.means, again.means), f"{solver!r} is not repeatable"
    assert np.array_equal(problem.targets, targets), f"{solver!r} changed the problem"
    start = np.full((m, d), 0.5)
    solver.minimize(problem, np.random.default_rng(5), start)
    assert (start == 0.5).all(), f"{solver!r} changed the start it was given"


def _check_solve(solver: Solver, law: Energy, labels: LabelsLike, d: int) -> None:
    supervision = from_labels(labels)
    solutions = [solver.solve(supervision, law, d, np.random.default_rng(5)) for _ in range(2)]
    scores, again = (solution.group_scores(supervision) for solution in solutions)
    assert scores.shape == (supervision.n_groups, d), f"the readout of {solver!r} gave shape {scores.shape}"
    assert np.isfinite(scores).all(), f"the readout of {solver!r} gave scores that are not finite"
    assert np.array_equal(scores, again), f"the readout of {solver!r} is not repeatable"
    phi = solutions[0].marginals(scores)
    assert ((phi >= 0) & (phi <= 1)).all(), f"the readout of {solver!r} gave marginals outside [0, 1]"


def check_encoder(encoder: Encoder, X: Features = None, y: LabelsLike = None) -> None:
    """Fit on a small set: the map has the right shape, is finite, the same for the same seed, and storable
    or clear about not being so. Rows and settings stay as they were.

    Tried with codes that the encoder may turn and with codes that are as they are.
    """
    from .solvers import Coordinate, Spectral

    if X is None:
        X, y = _small_set()
    settings, before = _copied_settings(encoder), np.array(X)
    encoder.check()
    for solver in (Spectral(), Coordinate()):
        first, again = (_encoded(encoder, solver, X, y) for _ in range(2))
        assert isinstance(first, Fitted), f"{encoder!r} returned {type(first).__name__} instead of Fitted"
        assert (first.map.n_features, first.map.n_bits) == (np.shape(X)[1], 8), (
            f"{encoder!r} made a map of {first.map.n_features} columns to {first.map.n_bits} bits"
        )
        scores = first.map.scores(before)
        assert scores.shape == (len(before), 8), f"{encoder!r} has scores of shape {scores.shape}"
        assert np.isfinite(scores).all(), f"{encoder!r} has scores that are not finite"
        assert np.array_equal(scores, again.map.scores(before)), f"{encoder!r} is not repeatable"
        if first.codes is not None:
            assert first.codes.shape == (len(before), 1), f"{encoder!r} left codes {first.codes.shape}"
        _check_rounded(first.map, before)
    assert np.array_equal(before, X), f"{encoder!r} changed the rows"
    assert repr(encoder.get_params()) == settings, f"{encoder!r} changed its own settings"


def _encoded(encoder: Encoder, solver: Solver, X: Features, y: LabelsLike) -> Fitted:
    from .energies import KSH

    supervision = from_labels(y, len(X))
    solution = solver.solve(supervision, KSH(), 8, np.random.default_rng(5))
    return encoder.fit(
        Training(Rows(X), supervision, None, np.random.default_rng(5), Stages(), n_jobs=1), solution
    )


def _check_rounded(map_: Map, X: Floats) -> None:
    """A map in whole numbers agrees with the map, by any way to compute it, and comes back from a file."""
    whole, name = map_.whole(), type(map_).__name__
    if isinstance(whole, WholeMap):
        agree = float(((whole.scores(X) > 0) == (map_.scores(X) > 0)).mean())
        assert agree > 0.99, f"a {name} in whole numbers gives {1 - agree:.1%} of the bits differently"
        assert np.array_equal(whole.run(X), whole.run_with(np, X)), f"kernels of a {name} differ from NumPy"
        stored = WholeMap.from_arrays(whole.arrays()).scores(X)
        assert np.array_equal(stored, whole.scores(X)), f"a stored {name} scores rows differently"


def _copied_settings(thing: BaseEstimator) -> str:
    """What scikit-learn knows of the settings; a clone must have the same."""
    settings = repr(thing.get_params())
    try:
        copy = clone(thing)
    except (RuntimeError, TypeError) as error:
        raise AssertionError(f"{thing!r} cannot be cloned: {error}") from error
    assert repr(copy.get_params()) == settings, f"a clone of {thing!r} has other settings"
    return settings


def check_hasher(hasher: Hasher, X: Features = None, y: LabelsLike = None) -> None:
    """Fit on a small set and check what every hasher promises about codes, margins and repeatability.

    Files are not part of it: a map that cannot be stored is allowed.
    """
    if X is None:
        X, y = _small_set()
    seeded = clone(hasher).set_params(random_state=0)
    fitted = clone(seeded).fit(X, y)
    name, d = type(hasher).__name__, seeded.get_params()["n_bits"]
    codes, bits, margins = fitted.encode(X), fitted.transform(X), fitted.decision_function(X)
    assert codes.shape == (len(X), -(-d // 8)), f"{name} encoded to shape {codes.shape}"
    assert codes.dtype == np.uint8, f"{name} encoded to {codes.dtype}"
    assert margins.shape == (len(X), d), f"{name} has margins of shape {margins.shape}"
    assert np.isfinite(margins).all(), f"{name} has margins that are not finite"
    assert np.array_equal(bits, margins > 0), f"{name}: a bit must be 1 where its margin is above zero"
    assert np.array_equal(unpack_bits(codes, d), bits), f"{name}: encode and transform disagree"
    one_by_one = np.concatenate([fitted.encode(X[i : i + 1]) for i in range(len(X))])
    assert np.array_equal(one_by_one, codes), f"{name} encodes a row alone and in a batch differently"
    assert fitted.codes_.shape == codes.shape, f"{name} has learned codes of shape {fitted.codes_.shape}"
    again = clone(seeded).fit(X, y)
    assert np.array_equal(again.encode(X), codes), f"{name} is not repeatable with a seed"
    assert np.array_equal(again.codes_, fitted.codes_), f"{name} learns other codes with the same seed"
    assert len(fitted.get_feature_names_out()) == d, f"{name} has the wrong number of output names"
    _check_refuses(fitted, np.full((1, np.shape(X)[1]), np.nan), "NaN")
    _check_refuses(fitted, np.zeros((1, np.shape(X)[1] + 1)), "rows of another width")


def _small_set() -> tuple[Floats, Any]:
    """Sixty rows around three centers, and their classes."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    return rng.normal(size=(60, 5)) + 3 * rng.normal(size=(3, 5))[y], y


def _check_refuses(fitted: Any, X: Features, what: str) -> None:
    try:
        fitted.encode(X)
    except InvalidInput:
        return
    raise AssertionError(f"{type(fitted).__name__} encoded {what} instead of refusing")
