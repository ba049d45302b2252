"""The compiled loops of exp, log and tanh against long arithmetic, one number at a time."""

import math
from fractions import Fraction

import numpy as np
import pytest

from kinhash._elementary_loops import exponentials, exponentials_less_one, hyperbolic_tangents, logarithms

X = np.concatenate([np.linspace(-40, 40, 801), np.random.default_rng(0).normal(0, 1e-3, 200)])


@pytest.mark.parametrize(
    ("loop", "truth", "x"),
    [
        (exponentials, math.exp, X),
        (exponentials_less_one, math.expm1, X),
        (hyperbolic_tangents, math.tanh, X),
        (logarithms, math.log, np.exp(X)),
    ],
)
def test_within_a_few_units_in_the_last_place(loop, truth, x):
    out = np.empty_like(x)
    loop(x, out)
    expected = np.array([truth(each) for each in x.tolist()])
    assert (np.abs(out - expected) <= 5 * np.spacing(np.abs(expected))).all()


def test_scaling_by_a_power_of_two_rounds_once():
    x = np.array([-745.0, -709.5, -1000.0, 709.0])
    out = np.empty_like(x)
    exponentials(x, out)
    assert Fraction(out[0]) == Fraction(2) ** -1074
    assert out[2] == 0
    assert np.isfinite(out).all()
