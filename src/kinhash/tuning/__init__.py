"""Choices that a fit makes on rows it holds out of itself: one split, one loss, one rule."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = []
