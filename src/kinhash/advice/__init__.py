"""How many bits, which method, what is lost? Measured on the user's own rows, answered in sentences.

advice = kinhash.advise(X, y)
print(advice)                          # the answer, the tables, how it was measured
advice.recommendation.n_bits           # the same for programs; all of it in advice.as_dict()
advice.draw("advice.png")              # mAP against bits, with intervals
"""

from __future__ import annotations

from ._advice import Advice, Measurement, Recommendation
from ._advise import advise

__all__ = ["Advice", "Measurement", "Recommendation", "advise"]
