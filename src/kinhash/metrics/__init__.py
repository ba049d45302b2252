"""How good are these codes? Scores that know about ties, and say what they were taken over."""

from __future__ import annotations

from ._report import MeanScore
from .average_precision import MeanAveragePrecision, average_precision, mean_average_precision

__all__ = ["MeanAveragePrecision", "MeanScore", "average_precision", "mean_average_precision"]
