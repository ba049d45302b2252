"""The rivals: every other method, under the same contract.

Add one: write ``baselines/foo.py`` with a subclass of `Baseline`, `Unsupervised` or `TwoStepBaseline` whose
``_solve(training)`` returns a `Solved`, and put a row here. A rival outside the package needs no other names
than those of this module. Modules named after a rival hold that rival; those with an underscore
(``_base.py``, ``_rows.py``, …) are what rivals share.

LLH (Irie et al., CVPR 2014) is named in the paper and absent here: it is unsupervised, no program of its
authors was found, and what could be read does not fix its objective, its codes of new rows or its constants.
A guess under its name would say nothing about it. POSH (Zhang et al., TKDD 2021) is absent for a like reason:
its public program leaves out the function that learns, and its abstract does not fix an objective.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._table import Table

if TYPE_CHECKING:
    from ..training import Training as Training
    from ._base import Baseline as Baseline
    from ._base import Solved as Solved
    from ._base import TwoStepBaseline as TwoStepBaseline
    from ._base import Unsupervised as Unsupervised
    from ._base import label_matrix as label_matrix

__all__ = ["BASELINES", "Baseline", "Solved", "Training", "TwoStepBaseline", "Unsupervised", "label_matrix"]

BASELINES = Table(
    "baseline",
    {
        "BRE": "kinhash.baselines.bre:BRE",
        "BSH": "kinhash.baselines.bsh:BSH",
        "CCAITQ": "kinhash.baselines.ccaitq:CCAITQ",
        "COSDISH": "kinhash.baselines.cosdish:COSDISH",
        "CSQ": "kinhash.baselines.heads:CSQ",
        "DPN": "kinhash.baselines.heads:DPN",
        "EigenITQ": "kinhash.baselines.eigen_itq:EigenITQ",
        "FastHash": "kinhash.baselines.fasthash:FastHash",
        "FSDH": "kinhash.baselines.fsdh:FSDH",
        "FSSH": "kinhash.baselines.fssh:FSSH",
        "GreedyHash": "kinhash.baselines.heads:GreedyHash",
        "HadamardHashing": "kinhash.baselines.hadamard:HadamardHashing",
        "HashNet": "kinhash.baselines.heads:HashNet",
        "HMOH": "kinhash.baselines.hmoh:HMOH",
        "ITQ": "kinhash.baselines.itq:ITQ",
        "KSH": "kinhash.baselines.ksh:KSH",
        "LFH": "kinhash.baselines.lfh:LFH",
        "LSH": "kinhash.baselines.lsh:LSH",
        "MIHash": "kinhash.baselines.mihash:MIHash",
        "MLH": "kinhash.baselines.mlh:MLH",
        "NSH": "kinhash.baselines.nsh:NSH",
        "OrthoHash": "kinhash.baselines.heads:OrthoHash",
        "RandomCodewords": "kinhash.baselines.random_codewords:RandomCodewords",
        "RotatedPCA": "kinhash.baselines.rotated_pca:RotatedPCA",
        "SCDH": "kinhash.baselines.scdh:SCDH",
        "SDH": "kinhash.baselines.sdh:SDH",
        "SignBits": "kinhash.baselines.sign_bits:SignBits",
        "SpectralHashing": "kinhash.baselines.spectral_hashing:SpectralHashing",
        "SPLH": "kinhash.baselines.splh:SPLH",
        "TALR": "kinhash.baselines.talr:TALR",
        "TSH": "kinhash.baselines.tsh:TSH",
    },
    entry_points="kinhash.baselines",
)


def __getattr__(name: str) -> Any:
    if name in __all__:
        from . import _base

        return getattr(_base, name)
    return BASELINES.class_named(name, __name__)
