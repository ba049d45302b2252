"""Digits: 1,797 handwritten digits of 8 x 8 pixels that come with scikit-learn."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from .base import Dataset, Facts, Source, class_labels

__all__ = ["FACTS", "SOURCE", "read"]

FACTS = Facts(
    name="digits",
    about="handwritten digits of 8 x 8 pixels, part of scikit-learn: nothing to fetch",
    source="https://archive.ics.uci.edu/dataset/80/optical+recognition+of+handwritten+digits",
    license="CC BY 4.0 (UCI Machine Learning Repository)",
    citation="Alpaydin & Kaynak, Optical recognition of handwritten digits, UCI, 1998",
    rows=1797,
    columns=64,
    labels=10,
)


def read(folder: Path | None = None) -> Dataset:
    """The digits as 64 float32 columns of ink from 0 to 16; ``folder`` is not used."""
    from sklearn.datasets import load_digits

    pixels, classes = load_digits(return_X_y=True)
    features = np.ascontiguousarray(pixels, np.float32)
    return FACTS.dataset(
        features,
        class_labels(classes, [str(digit) for digit in range(10)]),
        hashlib.sha256(features.tobytes() + classes.astype("<i8").tobytes()).hexdigest(),
        image_shape=(8, 8),
    )


SOURCE = Source(FACTS, read)
