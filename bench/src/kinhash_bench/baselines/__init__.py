"""The rivals: methods of other papers, under the contract of kinhash's hashers.

Add one: write ``baselines/foo.py`` with a subclass of `kinhash.paper.Baseline`, `Unsupervised` or of
`TwoStepBaseline` whose ``_solve(training)`` returns a `Solved`, and put a row into ``table.py`` and under
``[project.entry-points."kinhash.hashers"]`` in ``bench/pyproject.toml``. Modules named after a rival hold
that rival; the others (``two_step.py``, ``row_sets.py``, ...) are what rivals share.

LLH (Irie et al., CVPR 2014) is named in the paper and absent here: it is unsupervised, no program of its
authors was found, and what could be read does not fix its objective, its codes of new rows or its constants.
A guess under its name would say nothing about it. POSH (Zhang et al., TKDD 2021) is absent for a like reason:
its public program leaves out the function that learns, and its abstract does not fix an objective.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = [
    "BASELINES",
    "BRE",
    "BSH",
    "CCAITQ",
    "COSDISH",
    "CRH",
    "CSQ",
    "DPN",
    "FSDH",
    "FSSH",
    "HMOH",
    "ITML",
    "KSH",
    "LFH",
    "MLH",
    "MMC",
    "NSH",
    "SCDH",
    "SDH",
    "SDML",
    "SPLH",
    "TALR",
    "TSH",
    "CroVCA",
    "EigenITQ",
    "FastHash",
    "GreedyHash",
    "HadamardHashing",
    "HashNet",
    "MIHash",
    "OrthoHash",
    "PairLDA",
    "RandomCodewords",
    "RotatedPCA",
    "SpectralHashing",
    "TwoStepBaseline",
    "label_matrix",
]
