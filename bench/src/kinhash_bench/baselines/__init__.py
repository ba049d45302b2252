"""The rivals: methods of other papers, under the contract of kinhash's hashers.

Add one: write ``baselines/foo.py`` with a subclass of `kinhash.baselines.Baseline`, `Unsupervised` or of
`TwoStepBaseline` whose ``_solve(training)`` returns a `Solved`, and put a row here and under
``[project.entry-points."kinhash.hashers"]`` in ``bench/pyproject.toml``. Modules named after a rival hold
that rival; those with an underscore (``_rows.py``, ``_two_step.py``, ...) are what rivals share.

LLH (Irie et al., CVPR 2014) is named in the paper and absent here: it is unsupervised, no program of its
authors was found, and what could be read does not fix its objective, its codes of new rows or its constants.
A guess under its name would say nothing about it. POSH (Zhang et al., TKDD 2021) is absent for a like reason:
its public program leaves out the function that learns, and its abstract does not fix an objective.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kinhash.plugins import Table

if TYPE_CHECKING:
    from kinhash.baselines import Baseline, Solved, Unsupervised
    from kinhash.plugins import Training

    from ._two_step import TwoStepBaseline, label_matrix

__all__ = ["BASELINES", "Baseline", "Solved", "Training", "TwoStepBaseline", "Unsupervised", "label_matrix"]

BASELINES = Table(
    "baseline",
    {
        "BRE": "kinhash_bench.baselines.bre:BRE",
        "BSH": "kinhash_bench.baselines.bsh:BSH",
        "CCAITQ": "kinhash_bench.baselines.ccaitq:CCAITQ",
        "COSDISH": "kinhash_bench.baselines.cosdish:COSDISH",
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
        "KSH": "kinhash_bench.baselines.ksh:KSH",
        "LFH": "kinhash_bench.baselines.lfh:LFH",
        "MIHash": "kinhash_bench.baselines.mihash:MIHash",
        "MLH": "kinhash_bench.baselines.mlh:MLH",
        "NSH": "kinhash_bench.baselines.nsh:NSH",
        "OrthoHash": "kinhash_bench.baselines.heads:OrthoHash",
        "RandomCodewords": "kinhash_bench.baselines.random_codewords:RandomCodewords",
        "RotatedPCA": "kinhash_bench.baselines.rotated_pca:RotatedPCA",
        "SCDH": "kinhash_bench.baselines.scdh:SCDH",
        "SDH": "kinhash_bench.baselines.sdh:SDH",
        "SpectralHashing": "kinhash_bench.baselines.spectral_hashing:SpectralHashing",
        "SPLH": "kinhash_bench.baselines.splh:SPLH",
        "TALR": "kinhash_bench.baselines.talr:TALR",
        "TSH": "kinhash_bench.baselines.tsh:TSH",
    },
    also="kinhash.baselines:BASELINES",
)


def __getattr__(name: str) -> Any:
    if name in ("TwoStepBaseline", "label_matrix"):
        from . import _two_step

        return getattr(_two_step, name)
    if name in __all__:
        import kinhash.baselines

        return getattr(kinhash.baselines, name)
    return BASELINES.class_named(name, __name__)
