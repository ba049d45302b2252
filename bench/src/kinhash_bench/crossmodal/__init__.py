"""Cross-modal rivals: two kinds of features of the same rows (pictures and captions), one code space.

``CROSS_MODAL["SCM"](64, random_state=0).fit(X, T, Y).encode(T, view=1)``. Add one: a subclass of `CrossModal`
in a file of its own, whose ``_solve`` gives a map for either view, and a row in ``table.py``.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["BATCH", "CCAITQ2", "CROSS_MODAL", "DCH", "SCM", "CrossModal", "SePH"]
