"""MULAN multi-label sets: ``name.xml`` lists the labels, ``.arff`` files hold the rows.

Either ``name-train.arff`` and ``name-test.arff`` (the split MULAN publishes) or one ``name.arff``.
Only the ``.xml`` file says which attributes are labels; the others are features.
"""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from kinhash.labels import Labels
from kinhash.plugins import damaged, reading

from .arff import Arff, read_arff
from .base import Dataset, Facts, Source, Wanted, rows_between
from .files import digest_of

__all__ = ["BIBTEX", "COREL5K", "DELICIOUS", "EMOTIONS", "MEDIAMILL", "SCENE", "YEAST", "read_mulan"]

SITE = "https://mulan.sourceforge.net/datasets-mlc.html"
LICENSE = "offered for research; each set has its own origin"


def read_mulan(folder: str | Path, name: str, facts: Facts | None = None) -> Dataset:
    """Any data set in the MULAN layout: features float32 (CSR where the rows are sparse) and tags."""
    folder = Path(folder)
    xml = _place(folder, _spellings(name, ".xml"))
    files = [_place(folder, _spellings(name, f"-{part}.arff")) for part in ("train", "test")]
    if not files[0].exists():
        files = [_place(folder, _spellings(name, ".arff"))]
    label_names = _label_names(xml)
    parts = [read_arff(path) for path in files]
    for path, part in zip(files, parts, strict=True):
        if part.names != parts[0].names:
            raise damaged(path, f"its attributes differ from those of {files[0].name}", "the same attributes")
    features, tags, feature_names = _divided(parts, label_names, xml, files[0])
    n_train = parts[0].values.shape[0]
    split = len(files) == 2
    return (facts or Facts(name, "", str(folder))).dataset(
        features,
        Labels(np.asarray(label_names), np.ones(tags.shape[0], bool), tags=tags),
        digest_of([xml, *files]),
        feature_names=np.asarray(feature_names),
        train=rows_between(0, n_train) if split else None,
        queries=rows_between(n_train, tags.shape[0]) if split else None,
    )


def _spellings(name: str, ending: str) -> tuple[str, ...]:
    """The names MULAN gives a file: scene-train.arff, but Corel5k-train-sparse.arff."""
    endings = (ending, ending.replace(".arff", "-sparse.arff")) if ".arff" in ending else (ending,)
    return tuple(f"{stem}{end}" for end in endings for stem in (name, name.capitalize()))


def _place(folder: Path, names: tuple[str, ...]) -> Path:
    """The first of these files that is there, else the first, for the error to name."""
    return next((folder / name for name in names if (folder / name).exists()), folder / names[0])


def _label_names(path: Path) -> list[str]:
    kind = "an XML list of labels"
    with reading(path, kind) as stream:
        text = stream.read()
        if b"<!" in text.replace(b"<!--", b""):  # no declarations, so no entities that explode
            raise damaged(path, "it holds declarations", kind, "Remove DOCTYPE and ENTITY lines")
        try:
            root = ElementTree.fromstring(text)
        except LookupError as error:  # an encoding nobody knows
            raise damaged(path, str(error), kind) from error
    names = [element.get("name", "") for element in root.iter() if element.tag.rpartition("}")[2] == "label"]
    if not names or not all(names) or len(set(names)) < len(names):
        raise damaged(path, f"it lists {len(names)} labels, {len(set(names))} of them different", kind)
    return names


def _divided(
    parts: list[Arff], label_names: list[str], xml: Path, arff: Path
) -> tuple[npt.NDArray[np.float32] | sp.csr_array, sp.csr_array, list[str]]:
    """Columns named in the XML are tags, the rest are features."""
    names = parts[0].names
    place = {name: column for column, name in enumerate(names)}
    absent = next((name for name in label_names if name not in place), None)
    if absent is not None or len(place) < len(names):
        what = f"the label {absent[:60]!r} is no attribute" if absent else "two attributes share a name"
        raise damaged(arff, what, f"attributes that fit {xml.name}")
    label_columns = [place[name] for name in label_names]
    feature_columns = sorted(set(range(len(names))) - set(label_columns))
    if not feature_columns:
        raise damaged(arff, "all of its attributes are labels", "at least one feature")
    if parts[0].is_sparse != parts[-1].is_sparse:
        raise damaged(arff, "one part is sparse and the other is not", "the same kind of rows in both")
    values = sp.csc_array(sp.vstack([p.values for p in parts])) if parts[0].is_sparse else None
    dense = np.concatenate([p.values for p in parts]) if values is None else None
    tags = sp.csr_array(values[:, label_columns] if values is not None else dense[:, label_columns])  # type: ignore[index]
    tags.eliminate_zeros()
    if not (tags.data == 1).all():
        raise damaged(arff, "a label holds something else than 0 and 1", "labels of zeros and ones")
    chosen = values[:, feature_columns] if values is not None else dense[:, feature_columns]  # type: ignore[index]
    features = sp.csr_array(chosen, dtype=np.float32) if values is not None else chosen.astype(np.float32)
    if not np.isfinite(features.data if values is not None else features).all():
        raise damaged(arff, "the features hold NaN or numbers too large for float32", "finite numbers")
    return features, sp.csr_array(tags, dtype=np.int8), [names[column] for column in feature_columns]


def _source(name: str, about: str, citation: str, rows: int, columns: int, labels: int) -> Source:
    compact = f"mulan_{name}"
    facts = Facts(
        name=name,
        about=about,
        source=SITE,
        license=LICENSE,
        citation=citation,
        rows=rows,
        columns=columns,
        labels=labels,
        files=(
            Wanted(_spellings(name, ".xml")),
            Wanted(_spellings(name, "-train.arff") + _spellings(name, ".arff")),
            Wanted(_spellings(name, "-test.arff") + _spellings(name, ".arff")),
        ),
        folder="mulan",
        instead=(compact,) if name in ("corel5k", "scene", "delicious", "bibtex", "yeast") else (),
    )
    return Source(facts, lambda folder: read_mulan(folder, name, facts))


COREL5K = _source(
    "corel5k",
    "5,000 Corel images, 499 region clusters, 374 words (ARFF)",
    "Duygulu et al., Object recognition as machine translation, ECCV 2002",
    5000,
    499,
    374,
)
SCENE = _source(
    "scene",
    "2,407 images, 294 color moments, 6 kinds of scene (ARFF)",
    "Boutell et al., Learning multi-label scene classification, Pattern Recognition 2004",
    2407,
    294,
    6,
)
DELICIOUS = _source(
    "delicious",
    "16,105 web pages, 500 words, 983 tags (ARFF)",
    "Tsoumakas, Katakis & Vlahavas, Effective and efficient multilabel classification, 2008",
    16_105,
    500,
    983,
)
BIBTEX = _source(
    "bibtex",
    "7,395 bibliography entries, 1,836 words, 159 tags (ARFF)",
    "Katakis, Tsoumakas & Vlahavas, Multilabel text classification for automated tag suggestion, 2008",
    7395,
    1836,
    159,
)
YEAST = _source(
    "yeast",
    "2,417 genes, 103 features, 14 functional classes (ARFF)",
    "Elisseeff & Weston, A kernel method for multi-labelled classification, NIPS 2001",
    2417,
    103,
    14,
)
MEDIAMILL = _source(
    "mediamill",
    "43,907 video frames, 120 features, 101 concepts (ARFF)",
    "Snoek et al., The challenge problem for automated detection of 101 semantic concepts, MM 2006",
    43_907,
    120,
    101,
)
EMOTIONS = _source(
    "emotions",
    "593 songs, 72 features, 6 emotions (ARFF)",
    "Trohidis et al., Multi-label classification of music into emotions, ISMIR 2008",
    593,
    72,
    6,
)
