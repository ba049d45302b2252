"""The data of `learner_figures`: published sets in a folder, and small sets made here."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from .learner_scores import Array, unit

__all__ = ["TAGGED", "UNLABELED", "draw", "load"]

SEED = 20_261_119
MOST_ROWS = 20_000
FILES = {
    "newsgroups": "newsgroups20_tree_minilm384",
    "network": "cifar10_efficientnet_lite0_pca256",
    "gist": "cifar10_gist512",
    "icd10": "icd10cm_tree_minilm384",
    "reuters": "reuters21578_minilm384",
    "coco": "coco117266_efficientnet_lite0_pca128",
    "mirflickr": "mirflickr25k_usertags",
    "corel5k": "mulan_corel5k",
    "bibtex": "mulan_bibtex",
    "quora": "quora_pairs_minilm384",
    "mrpc": "mrpc_pairs_minilm384",
    "stsb": "stsb_graded_minilm384",
}
UNLABELED = ("quora", "mrpc", "stsb")
TAGGED = ("reuters", "coco", "mirflickr", "corel5k", "bibtex")


@lru_cache(maxsize=3)
def load(name: str) -> tuple[Array, Array]:
    """Features (n, p) as float32, and classes (n,) or tags (n, t) as 0 and 1; every row has a label."""
    if name == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return X.astype(np.float32), y
    if name in MADE:
        return MADE[name](np.random.default_rng(SEED))
    z = np.load(Path(os.environ["KINHASH_DATA"]) / f"{FILES[name]}.npz")
    X = _features(z)
    if "label_indptr" in z.files:
        tags = np.zeros((len(X), len(z["label_names"])), np.float32)
        tags[np.repeat(np.arange(len(X)), np.diff(z["label_indptr"])), z["label_indices"]] = 1
        some = tags.any(axis=1)
        return X[some], tags[some]
    if "leaf" not in z.files:
        return X, np.zeros(len(X), np.int64) if name in UNLABELED else z["labels"].astype(np.int64)
    y = z["leaf"] if name == "newsgroups" else z["node_parent"][z["leaf"]]  # 267 groups of diagnoses
    many = np.isin(y, np.flatnonzero(np.bincount(y) >= 6))
    return X[many], np.unique(y[many], return_inverse=True)[1]


def _features(z: Any) -> Array:
    if "x_indptr" in z.files:
        X = np.zeros(tuple(z["x_shape"]), np.float32)
        X[np.repeat(np.arange(len(X)), np.diff(z["x_indptr"])), z["x_indices"]] = 1
        return X
    X = z["gist"] if "gist" in z.files else z["features"]
    return np.asarray(X * z["scale"] + z["offset"] if "scale" in z.files else X, np.float32)


def _blobs(rng: np.random.Generator, n: int = 4_000) -> tuple[Array, Array]:
    y = rng.integers(10, size=n)
    return (3 * rng.standard_normal((10, 16))[y] + rng.standard_normal((n, 16))).astype(np.float32), y


def _cities(rng: np.random.Generator, n: int = 4_000) -> tuple[Array, Array]:
    """Latitude and longitude of places around 40 cities, eight in each of five countries anywhere."""
    city = rng.integers(40, size=n)
    centers = np.column_stack([rng.uniform(-60, 70, 40), rng.uniform(-180, 180, 40)])
    return (centers[city] + 4 * rng.standard_normal((n, 2))).astype(np.float32), city % 5


def _column(rng: np.random.Generator, n: int = 4_000) -> tuple[Array, Array]:
    x = rng.uniform(-3, 3, (n, 1)).astype(np.float32)
    return x, (np.sin(6 * x[:, 0]) > 0).astype(np.int64)


def _rings(rng: np.random.Generator, n: int = 4_000) -> tuple[Array, Array]:
    y, angle = rng.integers(4, size=n), rng.uniform(0, 2 * np.pi, n)
    radius = 1 + y + 0.15 * rng.standard_normal(n)
    return (radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])).astype(np.float32), y


def _sphere(rng: np.random.Generator, n: int = 4_000) -> tuple[Array, Array]:
    """Directions in space; each belongs to the class of the nearest of 40 places."""
    X, places = (unit(rng.standard_normal((size, 3))) for size in (n, 40))
    return X, (X @ places.T).argmax(axis=1) % 5


MADE = {
    "blobs": _blobs,
    "manyblobs": lambda rng: _blobs(rng, 20_000),
    "latlon": _cities,
    "column": _column,
    "rings": _rings,
    "sphere": _sphere,
}


def draw(name: str, partition: int) -> tuple[Array, Array, np.random.Generator]:
    """At most 20,000 rows of a set in random order."""
    X, y = load(name)
    rng = np.random.default_rng((SEED, partition))
    rows = rng.permutation(len(X))[:MOST_ROWS]
    return X[rows], y[rows], rng
