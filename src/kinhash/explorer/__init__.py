"""See your own codes: one offline page with a map, neighbors, figures and doubtful labels.

page = kinhash.explore(index, y, model=hasher, features=X)
page.save("page.html")
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["Explorer", "explore"]
