"""What an `EnergyHasher` was asked to do, as one value that travels through the learning steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..energies import Energy
from ..maps import Map
from .features import FeatureOptions

__all__ = ["Part", "Settings"]


@dataclass(frozen=True)
class Settings:
    """Parameters of one fit, checked and resolved."""

    n_bits: int
    energy: Energy
    solver: Any
    targets: str
    curvature: float
    lean: float
    rotation: str
    n_anchors: int
    anchors: npt.NDArray[np.int64] | None
    n_sweeps: int
    clip: float
    renormalise: str
    rounding: str
    map: Any
    label_model: Any
    label_penalty: float | None
    alpha: float | str
    features: FeatureOptions


@dataclass(frozen=True)
class Part:
    """Some bits of a code: their map, their learned bits by group (g, d), and φ of the groups.

    Bits that no label decides (feature bits) have ``bits`` None: the training rows take the map's.
    """

    map: Map
    bits: npt.NDArray[np.bool_] | None
    marginals: npt.NDArray[np.float64] | None
    facts: dict[str, Any]
