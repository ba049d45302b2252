"""How many bits, which method, what is lost? Measured on the user's own rows, answered in sentences.

advice = kinhash.advise(X, y)
print(advice)                          # the answer, the tables, how it was measured
advice.recommendation.n_bits           # the same for programs; all of it in advice.as_dict()
advice.draw("advice.png")              # mAP against bits, with intervals
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["Advice", "advise"]
