"""Charts of codes and of search results, on matplotlib axes::

    import kinhash

    kinhash.plot.neighbors(found, pictures)                  # what queries find, relevant rows framed
    kinhash.plot.distances(queries, database, y_new, y)       # distances of relevant and other rows
    kinhash.plot.bits(hasher.codes_, y)                       # what each bit says
    kinhash.plot.advice(kinhash.advise(X, y))                 # mAP against bits

Every function takes ``ax``, or makes a figure of its own, and returns the axes it drew on. It needs the extra
"plot" (matplotlib).
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["advice", "bits", "distances", "neighbors"]
