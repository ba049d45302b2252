"""The named protocols: a name, and where the protocol of that name is."""

from __future__ import annotations

from kinhash.plugins import Table

__all__ = ["PROTOCOLS"]

PROTOCOLS = Table(
    "protocol",
    {
        "paper": "kinhash_bench.protocols.named_protocols:PAPER",
        "paper-one-bit": "kinhash_bench.protocols.named_protocols:PAPER_ONE_BIT",
        "inductive": "kinhash_bench.protocols.named_protocols:INDUCTIVE",
        "unseen-classes": "kinhash_bench.protocols.named_protocols:UNSEEN_CLASSES",
        "pairs": "kinhash_bench.protocols.named_protocols:PAIRS",
        "cifar10": "kinhash_bench.protocols.named_protocols:CIFAR10",
        "cifar10-1": "kinhash_bench.protocols.named_protocols:CIFAR10_1",
        "cifar10-2": "kinhash_bench.protocols.named_protocols:CIFAR10_2",
        "nuswide-21": "kinhash_bench.protocols.named_protocols:NUSWIDE21",
        "coco": "kinhash_bench.protocols.named_protocols:COCO",
        "mirflickr": "kinhash_bench.protocols.named_protocols:MIRFLICKR",
        "imagenet-100": "kinhash_bench.protocols.named_protocols:IMAGENET100",
        "given": "kinhash_bench.protocols.named_protocols:GIVEN",
    },
    entry_points="kinhash_bench.protocols",
)
