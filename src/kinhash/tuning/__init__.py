"""Every choice that a fit makes, made on rows it holds out of itself: splits, scores, search."""

from __future__ import annotations

from .search import Chosen, choose, tune

__all__ = ["Chosen", "choose", "tune"]
