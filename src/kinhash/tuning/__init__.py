"""Every choice that a fit makes, made on rows it holds out of itself: splits, scores, search."""

from __future__ import annotations

from .search import Chosen, choose, tune
from .sharing import Wish

__all__ = ["Chosen", "Wish", "choose", "tune"]
