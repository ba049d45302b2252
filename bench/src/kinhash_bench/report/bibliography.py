"""The works that the methods and data sets of a report come from, as BibTeX; ``works.bib`` holds them all."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources

from ..baselines import BASELINES
from ..tasks.result import Result
from .result_table import slug

__all__ = ["METHODS", "SETS", "bibliography", "works"]

PAPER = "hu2017supervised"
# By the names that methods have in tasks.
METHODS = {
    **dict.fromkeys(("EMKSH", "EMSPLH", "EMLFH", "EMBRE", "EMExpH", "EnergyHasher"), PAPER),
    **dict.fromkeys(("CCAITQ", "ITQ"), "gong2011iterative"),
    "BRE": "kulis2009learning",
    "BSH": "hu2017bayesian",
    "COSDISH": "kang2016column",
    "CRH": "yin2026codebook",
    "CSQ": "yuan2020central",
    "CroVCA": "moummad2025image",
    "DPN": "fan2020deep",
    "FSDH": "gui2018fast",
    "FSSH": "luo2018fast",
    "FastHash": "lin2014fast",
    "GreedyHash": "su2018greedy",
    "HMOH": "lin2020hadamard",
    "HadamardHashing": "koutaki2018hadamard",
    "HashNet": "cao2017hashnet",
    "KSH": "liu2012supervised",
    "LFH": "zhang2014supervised",
    "LSH": "charikar2002similarity",
    "MIHash": "cakir2017mihash",
    "MLH": "norouzi2011minimal",
    "NSH": "liu2016natural",
    "OPQ": "ge2014optimized",
    "OrthoHash": "hoe2021one",
    "SCDH": "chen2020strongly",
    "SDH": "shen2015supervised",
    "SPLH": "wang2010sequential",
    "SpectralHashing": "weiss2008spectral",
    "TALR": "he2018hashing",
    "TSH": "lin2013a",
}
# By what the names of data sets contain: where the rows come from, and their features.
SETS = {
    "cifar10": "krizhevsky2009learning",
    "coco": "lin2014microsoft",
    "espgame": "ahn2004labeling",
    "mirflickr": "huiskes2008the",
    "mulan": "tsoumakas2011mulan",
    "nuswide": "chua2009nuswide",
    "efficientnet": "tan2019efficientnet",
    "gist": "oliva2001modeling",
    "minilm": "wang2020minilm",
}


def works() -> dict[str, str]:
    """Every entry by its key."""
    text = (resources.files(__package__) / "works.bib").read_text(encoding="utf-8")
    entries = [f"@{entry.strip()}\n" for entry in text.split("@")[1:]]
    return {entry[entry.index("{") + 1 : entry.index(",")]: entry for entry in entries}


def bibliography(results: Iterable[Result]) -> str:
    """Entries of the paper, and of every method, data set and kind of features that these results name."""
    found = list(results)
    keys = {PAPER} | {METHODS[r.method] for r in found if r.method in METHODS}
    keys |= {key for part, key in SETS.items() if any(part in r.dataset for r in found)}
    known = works()
    others = sorted({r.method for r in found} - set(METHODS))
    return "\n".join([*(known[key] for key in sorted(keys)), *filter(None, map(_by_card, others))])


def _by_card(method: str) -> str:
    """What the card of a rival without an entry says, as an entry; nothing for lines that no paper prints."""
    card = getattr(BASELINES[method], "card", None) if method in BASELINES else None
    if card is None or "nobody prints" in card.source:
        return ""
    return f"@misc{{{slug(method)},\n  title = {{{{{method}}}}},\n  note = {{{card.source}}}\n}}\n"
