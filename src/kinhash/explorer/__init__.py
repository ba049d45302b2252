"""See your own codes: one offline page with a map, neighbors, figures and doubtful labels.

page = kinhash.explore(index, y, model=hasher, features=X)
page.save("page.html")
"""

from .build import Explorer as Explorer
from .build import explore as explore

__all__ = ["Explorer", "explore"]
