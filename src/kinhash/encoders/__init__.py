"""Encoders: from features to scores of bits.

An *encoder* holds settings and learns (``fit(training, solution)``); what it learns is a *map*, plain arrays
that give any row its scores. A fit rounds it to whole numbers (`kinhash.models`).

Add one: write ``encoders/foo.py`` with a subclass of `Encoder`, and of `Map` (with its `steps`) if none of
ours fits, and put a row into `ENCODERS` in ``base.py``; other packages use the entry point group
"kinhash.encoders".
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["ENCODERS", "RBF", "Both", "Encoder", "Fitted", "Plain"]
