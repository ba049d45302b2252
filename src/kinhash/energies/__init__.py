"""Energies: what a pair of codes costs, given how similar the pair is.

Add one: write ``energies/foo.py`` with a subclass of `Energy` and put a row here.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["ENERGIES", "Energy", "PairTerms"]
