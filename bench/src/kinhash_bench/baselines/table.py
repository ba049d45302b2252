"""The table of rivals: a name, and where the class of that name is."""

from __future__ import annotations

from kinhash.plugins import Table

__all__ = ["BASELINES"]

BASELINES = Table(
    "baseline",
    {
        "BRE": "kinhash_bench.baselines.bre:BRE",
        "BSH": "kinhash_bench.baselines.bsh:BSH",
        "CCAITQ": "kinhash_bench.baselines.ccaitq:CCAITQ",
        "COSDISH": "kinhash_bench.baselines.cosdish:COSDISH",
        "CRH": "kinhash_bench.baselines.heads:CRH",
        "CroVCA": "kinhash_bench.baselines.heads:CroVCA",
        "CSQ": "kinhash_bench.baselines.heads:CSQ",
        "DPN": "kinhash_bench.baselines.heads:DPN",
        "EigenITQ": "kinhash_bench.baselines.eigen_itq:EigenITQ",
        "FastHash": "kinhash_bench.baselines.fasthash:FastHash",
        "FSDH": "kinhash_bench.baselines.fsdh:FSDH",
        "FSSH": "kinhash_bench.baselines.fssh:FSSH",
        "GreedyHash": "kinhash_bench.baselines.heads:GreedyHash",
        "HadamardHashing": "kinhash_bench.baselines.hadamard:HadamardHashing",
        "HashNet": "kinhash_bench.baselines.heads:HashNet",
        "HMOH": "kinhash_bench.baselines.hmoh:HMOH",
        "ITML": "kinhash_bench.baselines.metric_learners:ITML",
        "KSH": "kinhash_bench.baselines.ksh:KSH",
        "LFH": "kinhash_bench.baselines.lfh:LFH",
        "MIHash": "kinhash_bench.baselines.mihash:MIHash",
        "MLH": "kinhash_bench.baselines.mlh:MLH",
        "MMC": "kinhash_bench.baselines.metric_learners:MMC",
        "NSH": "kinhash_bench.baselines.nsh:NSH",
        "OrthoHash": "kinhash_bench.baselines.heads:OrthoHash",
        "PairLDA": "kinhash_bench.baselines.metric_learners:PairLDA",
        "RandomCodewords": "kinhash_bench.baselines.random_codewords:RandomCodewords",
        "RotatedPCA": "kinhash_bench.baselines.rotated_pca:RotatedPCA",
        "SCDH": "kinhash_bench.baselines.scdh:SCDH",
        "SDH": "kinhash_bench.baselines.sdh:SDH",
        "SDML": "kinhash_bench.baselines.metric_learners:SDML",
        "SpectralHashing": "kinhash_bench.baselines.spectral_hashing:SpectralHashing",
        "SPLH": "kinhash_bench.baselines.splh:SPLH",
        "TALR": "kinhash_bench.baselines.talr:TALR",
        "TSH": "kinhash_bench.baselines.tsh:TSH",
        # Those of kinhash itself.
        "ITQ": "kinhash.paper:ITQ",
        "LSH": "kinhash.paper:LSH",
        "SignBits": "kinhash.paper:SignBits",
    },
)
