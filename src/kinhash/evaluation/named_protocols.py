"""The named protocols. All hand the columns over as they are: a method prepares its own features."""

from __future__ import annotations

from .protocol import Protocol

__all__ = ["INDUCTIVE", "PAIRS", "PAPER", "PAPER_ONE_BIT", "UNSEEN_CLASSES"]

# The paper's own: the training rows are also the database, by learned and by mapped codes.
PAPER = Protocol("paper")

# Its table of single bits: 1,000 rows to learn from, which are the database, and as many queries.
PAPER_ONE_BIT = Protocol("paper-one-bit", n_train=1000, n_validation=0)

# What a search service meets: the database comes after training, so nobody knows its labels.
INDUCTIVE = Protocol("inductive", database="apart", codes=("mapped",))

# New kinds of items: queries and database are of classes that were never trained on.
UNSEEN_CLASSES = Protocol("unseen-classes", split="classes", database="apart", codes=("mapped",))

# Is a pair kin? Every pair of two rows kept out, judged by its Hamming distance.
PAIRS = Protocol("pairs", database="queries", codes=("mapped",), measure="pair auc")
