from __future__ import annotations

import metric_oracles as oracle
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinhash.errors import InvalidInput
from kinhash.metrics import precision_recall_curve, precision_within_radius, radius_for_precision

ZERO = np.zeros((1, 1), np.uint8)


def brute(queries, codes, kin, radius):
    """Rows and kin within the radius of each query, from unpacked bits."""
    a, b = np.unpackbits(queries, axis=1), np.unpackbits(codes, axis=1)
    near = (a[:, None] != b[None]).sum(axis=2) <= radius
    return near.sum(axis=1), (near & kin).sum(axis=1)


@given(st.integers(0, 2**32), st.integers(0, 20), st.sampled_from(["skip", "zero"]))
def test_precision_within_radius_and_curve_by_brute_force(seed, radius, no_kin):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 256, (40, 2)).astype(np.uint8)
    queries, kin = rng.integers(0, 256, (9, 2)).astype(np.uint8), rng.random((9, 40)) < 0.1
    kin[0, 0] = True
    rows, found = brute(queries, codes, kin, radius)
    per_query = found / np.maximum(rows, 1)
    able = kin.any(axis=1)
    counted = able if no_kin == "skip" else np.ones(9, bool)
    score = precision_within_radius(queries, codes, kin, radius=radius, no_kin=no_kin)
    assert score.value == pytest.approx(per_query[counted].mean())
    assert score.n_empty == (rows[counted] == 0).sum()
    assert score.n_without_kin == (~able).sum()
    np.testing.assert_allclose(score.per_query, np.where(able, per_query, np.nan))
    hit = counted & (rows > 0)
    assert score.value_found == pytest.approx(per_query[hit].mean() if hit.any() else np.nan, nan_ok=True)

    curve = precision_recall_curve(queries, codes, kin)
    at = min(radius, 16)
    assert len(curve.radius) == 17
    assert curve.precision[at] == pytest.approx(per_query[able].mean())
    assert curve.recall[at] == pytest.approx((found[able] / kin[able].sum(axis=1)).mean())
    assert curve.empty[at] == pytest.approx((rows[able] == 0).mean())
    assert curve.rows[at] == pytest.approx(rows.mean())
    pooled = found.sum() / rows.sum() if rows.sum() else np.nan
    assert curve.pooled_precision[at] == pytest.approx(pooled, nan_ok=True)
    assert curve.recall[-1] == 1


@pytest.mark.parametrize(
    ("distances", "kin", "precision", "radius"),
    [
        ([0, 1, 2], [1, 1, 1], 1.0, 8),  # never falls
        ([0, 1, 2], [1, 1, 0], 0.9, 1),  # falls at 2
        ([0, 1, 2, 3], [1, 0, 1, 1], 0.7, 0),  # falls at 1, and what comes later does not matter
        ([0, 1], [0, 1], 0.4, None),  # the nearest row is a stranger
        ([3, 4], [1, 0], 0.9, 3),  # nothing nearer than 3
        ([3, 4], [0, 1], 0.9, None),
    ],
)
def test_radius_for_precision(distances, kin, precision, radius):
    assert radius_for_precision(ZERO, oracle.ladder(distances), [kin], precision=precision) == radius


def test_nothing_to_find():
    nothing = np.zeros((0, 1), np.uint8)
    assert radius_for_precision(ZERO, nothing, [1], [], precision=0.5) is None
    curve = precision_recall_curve(ZERO, nothing, [1], [])
    assert np.isnan(curve.precision).all()
    assert curve.n_without_kin == 1


def test_bad_radius_and_precision():
    for radius in (-1, 1.5, True, None):
        with pytest.raises(InvalidInput, match="radius is"):
            precision_within_radius(ZERO, ZERO, [1], [1], radius=radius)
    for precision in (0, 1.5, float("nan")):
        with pytest.raises(InvalidInput, match="precision is"):
            radius_for_precision(ZERO, ZERO, [1], [1], precision=precision)
