"""Every choice that a fit makes, made on rows it holds out of itself: splits, scores, search."""

from __future__ import annotations

from .search import Chosen, tune

__all__ = ["Chosen", "tune"]
