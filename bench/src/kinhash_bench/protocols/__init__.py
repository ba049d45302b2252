"""Named ways to evaluate, so that a number says what it means.

``evaluate(method, data, "paper")`` splits the rows, fits, encodes, ranks and gives a `Record`; the
name and the digest of the `Protocol` stand beside every number. ``PROTOCOLS`` lists the named ones.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "PROTOCOLS",
    "ComparedCodes",
    "Cosine",
    "CosineRanking",
    "FloatRanking",
    "LabelScores",
    "OnlineRecord",
    "OnlineStep",
    "Partition",
    "Protocol",
    "RankingProfile",
    "Record",
    "cosine_ranking",
    "evaluate",
    "evaluate_online",
    "given_partition",
    "nearest_kin_of",
    "ranking_profile",
    "score_rows",
]
