"""The table of cross-modal rivals: a name, and where the class of that name is."""

from __future__ import annotations

from kinhash.plugins import Table

__all__ = ["CROSS_MODAL"]

CROSS_MODAL = Table(
    "cross-modal method",
    {
        "BATCH": "kinhash_bench.crossmodal.batch:BATCH",
        "CCA-ITQ": "kinhash_bench.crossmodal.cca_itq:CCAITQ2",
        "DCH": "kinhash_bench.crossmodal.dch:DCH",
        "SCM-seq": "kinhash_bench.crossmodal.scm:SCM",
        "SePH_km": "kinhash_bench.crossmodal.seph:SePH",
    },
)
