"""Choices that a fit makes on rows it holds out of itself: one split, one loss, one rule."""

from __future__ import annotations

from .tuner import ENOUGH_ROWS, Choice, hold_out, tune

__all__ = ["ENOUGH_ROWS", "Choice", "hold_out", "tune"]
