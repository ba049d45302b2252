"""Unsupervised methods to compare with: ITQ, LSH and sign bits.

`kinhash.advise`, ``kinhash fit`` and the explorer measure codes against them. The supervised methods of other
papers are in the package ``kinhash-bench``. A package that adds a method subclasses `Baseline` or
`Unsupervised`, whose ``_solve(training)`` returns a `Solved`, and registers it under the entry point group
"kinhash.hashers".
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["BASELINES", "Baseline", "Solved", "Unsupervised"]
