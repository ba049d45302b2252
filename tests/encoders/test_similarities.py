"""`prepare_similarities`, a fused loop in float32, against the formula in float64."""

import numpy as np

from kinhash.encoders.fit_kernels import prepare_similarities


def test_the_fused_loop_follows_the_formula():
    rng = np.random.default_rng(0)
    u, z = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in rng.normal(size=(2, 30, 7)))
    factor, origin, width, far = rng.uniform(1, 5, 30), rng.normal(size=30), 0.4, 2.5
    similarity = np.exp(-((u[:, None] - z) ** 2).sum(axis=2) / (2 * width**2))
    expected = np.clip(similarity * factor - origin, -far, far)
    products = (u @ z.T).astype(np.float32)
    squares = ((rows**2).sum(axis=1).astype(np.float32) for rows in (u, z))
    numbers = (np.float32(-1 / (2 * width**2)), factor.astype(np.float32), origin.astype(np.float32))
    prepare_similarities(products, *squares, *numbers, np.float32(far))
    np.testing.assert_allclose(products, expected, atol=2e-5)
