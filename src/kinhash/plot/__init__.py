"""Pictures of codes and of what they find, on matplotlib axes::

    import kinhash

    kinhash.plot.neighbours(found, pictures)                  # what queries find, kin framed
    kinhash.plot.distances(queries, database, y_new, y)       # how far kin and strangers are
    kinhash.plot.bits(hasher.codes_, y)                       # what each bit says
    kinhash.plot.advice(kinhash.advise(X, y))                 # mAP against bits

Every function takes ``ax``, or makes a figure of its own, and returns the axes it drew on. It needs the extra
"plot" (matplotlib).
"""

from __future__ import annotations

from ._advice import advice
from ._bits import bits
from ._distances import distances
from ._neighbours import neighbours

__all__ = ["advice", "bits", "distances", "neighbours"]
