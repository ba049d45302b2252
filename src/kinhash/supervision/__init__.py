"""Who is similar to whom, whatever the user handed in."""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["Labels", "read_labels"]
