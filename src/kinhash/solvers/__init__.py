"""Solvers minimize an energy over a sample. They return its codes and a readout for all other rows.

They know no features. Add one: write ``solvers/foo.py`` with a subclass of `Solver` (``minimize`` and
``readout``) and put a row here; other packages use the entry point group "kinhash.solvers".
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["SOLVERS", "Solution", "Solver"]
