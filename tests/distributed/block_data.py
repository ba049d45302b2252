"""Rows of a few classes or tags, cut into blocks, and the hashers that every engine is held against."""

from __future__ import annotations

import numpy as np

from kinhash import EMKSH, EnergyHasher
from kinhash.encoders.expected_labels import ExpectedLabels
from kinhash.solvers.spectral import Spectral


def classes(n=600, p=8, k=6, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n) % k)
    return (rng.normal(size=(n, p)) + 2 * rng.normal(size=(k, p))[y]).astype(np.float32), y


def indicator(n=600, p=8, t=6, seed=0):
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, t)) < 0.25).astype(np.int8)
    return (Y @ rng.normal(size=(t, p)) * 2 + rng.normal(size=(n, p))).astype(np.float32), Y


def default():
    """The default recipe, but for the choice of features, which takes most of its time."""
    return EnergyHasher(16, encoder=ExpectedLabels(features="plain"), random_state=0)


def linear(encoder="ridge", **settings):
    """A fixed recipe; settings are those of the solver."""
    solver = Spectral(rotation="codes", **settings)
    return EnergyHasher(16, encoder=encoder, solver=solver, alike=0, random_state=0)


def paper():
    return EMKSH(16, n_anchors=50, random_state=0)
