"""Search, scoring and encoding on a GPU. CuPy is imported at first use.

`search` says what is done, on whatever a card is: `Card` runs the kernels of the ``.cu`` files, `Twin` does
the same in NumPy, for tests on machines without a card.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = []
