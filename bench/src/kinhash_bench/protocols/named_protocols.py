"""The named protocols. All hand the columns over as they are: a method prepares its own features."""

from __future__ import annotations

from dataclasses import replace

from .protocol import Protocol

__all__ = [
    "CIFAR10",
    "CIFAR10_1",
    "CIFAR10_2",
    "COCO",
    "GIVEN",
    "IMAGENET100",
    "INDUCTIVE",
    "MIRFLICKR",
    "NUSWIDE21",
    "PAIRS",
    "PAPER",
    "PAPER_ONE_BIT",
    "UNSEEN_CLASSES",
]

# The paper's own: the training rows are also the database, by learned and by mapped codes.
PAPER = Protocol("paper")

# Its table of single bits: 1,000 rows to learn from, which are the database, and as many queries.
PAPER_ONE_BIT = Protocol("paper-one-bit", n_train=1000, n_validation=0)

# As in a search service: the database comes after training, so its labels are unknown.
INDUCTIVE = Protocol("inductive", database="apart", codes=("mapped",))

# New kinds of items: queries and database are of classes that were never trained on.
UNSEEN_CLASSES = Protocol("unseen-classes", split="classes", database="apart", codes=("mapped",))

# Is a pair kin? Every pair of two rows kept out, judged by its Hamming distance.
PAIRS = Protocol("pairs", database="queries", codes=("mapped",), measure="pair auc")

# What deep methods are published under, by the sizes of the paper of HashNet (Cao, Long, Wang, Yu, ICCV 2017)
# and of DeepHash-pytorch, whose names these are. Rows are drawn here; for the authors' own lists see GIVEN.
# All score mapped codes, and divide mAP@K by the kin found.
_DEEP = Protocol("deep", n_validation=0, codes=("mapped",), divide_by="found", no_kin="zero", database="rest",
                 n_train=2)  # fmt: skip

# CIFAR-10: 100 queries and 500 training rows of each class; the database is 54,000 rows without the training
# rows, or 59,000 with them; or 1,000 queries and 5,000 training rows, which are the database.
CIFAR10 = replace(_DEEP, name="cifar10", split="evenly", n_queries=1000, n_train=5000, database="others")
CIFAR10_1 = replace(CIFAR10, name="cifar10-1", database="rest")
CIFAR10_2 = replace(
    CIFAR10,
    name="cifar10-2",
    n_queries=10_000,
    n_train=50_000,
    database="training",
    codes=("learned", "mapped"),
)

# NUS-WIDE, the 195,834 images of its 21 most frequent concepts: 100 queries and 500 training rows of each.
NUSWIDE21 = replace(_DEEP, name="nuswide-21", split="evenly", n_queries=2100, n_train=10_500, top=5000)

# COCO 2014, the 122,218 images with a category: 5,000 queries, 10,000 training rows out of the database.
COCO = replace(_DEEP, name="coco", n_queries=5000, n_train=10_000, top=5000)

# MIRFLICKR-25000: 1,000 queries, 4,000 training rows, and the other 20,000 as the database.
MIRFLICKR = replace(_DEEP, name="mirflickr", n_queries=1000, n_train=4000, database="others")

# ImageNet, 100 classes: 50 queries of each (its validation images), 100 training rows of each out of the
# database of 128,503. The authors' list of training rows has 130 of each.
IMAGENET100 = replace(_DEEP, name="imagenet-100", split="evenly", n_queries=5000, n_train=10_000, top=1000)

# Given lists of rows.
GIVEN = replace(_DEEP, name="given", split="given", n_train=None)
