"""Metrics from their definitions, one finished order at a time."""

from __future__ import annotations

from itertools import permutations

import numpy as np


def ladder(distances):
    """Codes of 8 bits at these distances from the zero code."""
    return np.array([[(0xFF00 >> d) & 0xFF] for d in distances], np.uint8).reshape(-1, 1)


def all_orders(distances):
    """Every order of the rows in which no row stands before a nearer one."""
    distances = np.asarray(distances)
    for order in permutations(range(len(distances))):
        if (np.diff(distances[list(order)]) >= 0).all():
            yield list(order)


def ap(grades, top=None):
    kin = np.asarray(grades) > 0
    places = np.flatnonzero(kin) + 1
    if len(places) == 0:
        return np.nan
    top = len(kin) if top is None else top
    precisions = np.arange(1, len(places) + 1) / places
    return precisions[places <= top].sum() / min(len(places), top)


def precision(grades, k):
    kin = np.asarray(grades) > 0
    return kin[:k].sum() / k if kin.any() else np.nan


def recall(grades, k):
    kin = np.asarray(grades) > 0
    return kin[:k].sum() / kin.sum() if kin.any() else np.nan


def ndcg(grades, top=None, exponential=False):
    gains = np.asarray(grades, float)
    gains = 2**gains - 1 if exponential else gains
    discounts = 1 / np.log2(2 + np.arange(len(gains)))
    ideal = (np.sort(gains)[::-1] * discounts)[:top].sum()
    return (gains * discounts)[:top].sum() / ideal if ideal > 0 else np.nan


def ap_found(grades, top):
    """Divided by the relevant rows that stand among the first ``top``; 0 where none does."""
    kin = np.asarray(grades) > 0
    if not kin.any():
        return np.nan
    places = np.flatnonzero(kin[:top]) + 1
    return (np.arange(1, len(places) + 1) / places).mean() if len(places) else 0.0
