"""Contract checks for plugins. A plugin that passes them works everywhere in kinhash.

    from kinhash.testing import check_energy
    check_energy(MyEnergy())

Each check raises an AssertionError that says which promise was broken, and returns nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from ._internal.types import Features, Floats, LabelsLike
from .base import Hasher
from .codes import unpack_bits
from .errors import InvalidInput
from .paper.energies import Energy, PairTerms

__all__ = ["check_energy", "check_hasher"]


def check_energy(energy: Energy, n_bits: tuple[int, ...] = (1, 2, 5, 8)) -> None:
    """The parabola is the loss up to a constant, or lies above the loss and touches it at ``xi``.

    Two codes of d bits have only d + 1 inner products, so all are tried, for similar and
    dissimilar pairs and for similarities in between.
    """
    assert isinstance(energy, Energy), f"{energy!r} is not a subclass of kinhash.paper.Energy"
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
