"""See your own codes: one offline page with a map, neighbours, figures and doubtful labels.

page = kinhash.explore(index, y, model=hasher, features=X)
page.save("page.html")
"""

from __future__ import annotations

from ._explore import Explorer, explore

__all__ = ["Explorer", "explore"]
