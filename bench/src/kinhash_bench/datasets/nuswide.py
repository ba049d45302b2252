"""NUS-WIDE from its official files: concepts, bags of visual words, and the list of images.

    Groundtruth/AllLabels/Labels_<concept>.txt   81 files, one 0 or 1 per image
    Low_Level_Features/BoW_int.dat               500 counts per image
    ImageList/Imagelist.txt                      one image per line

The folders may also be left out (all files in one place). TrainImagelist.txt and TestImagelist.txt,
where present beside the list, give the stated split.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from kinhash.data import read_table
from kinhash.errors import FileProblem
from kinhash.labels import Labels
from kinhash.plugins import damaged, reading

from .base import Dataset, Facts, Source, Wanted
from .files import digest_of, read_lines

__all__ = ["FACTS", "SOURCE", "read"]

N_CONCEPTS, N_WORDS = 81, 500
LABELS = Wanted(("Groundtruth/AllLabels", "AllLabels", "Labels_airport.txt"))
WORDS = Wanted(("Low_Level_Features/BoW_int.dat", "NUS_WID_Low_Level_Features/BoW_int.dat", "BoW_int.dat"))
IMAGES = Wanted(("ImageList/Imagelist.txt", "Imagelist.txt"))
ROWS_PER_BLOCK = 4096

FACTS = Facts(
    name="nuswide",
    about="269,648 web images, 500-d bags of visual words, 81 concepts",
    source="https://lms.comp.nus.edu.sg/wp-content/uploads/2019/research/nuswide/NUS-WIDE.html",
    license="research use; see the official page",
    citation="Chua et al., NUS-WIDE: a real-world web image database, CIVR 2009",
    rows=269_648,
    columns=N_WORDS,
    labels=N_CONCEPTS,
    files=(LABELS, WORDS, IMAGES),
    folder="nuswide",
    instead=("nuswide81_tags (tags only)", "coco117266_efficientnet_lite0_pca128"),
)


def read(folder: Path) -> Dataset:
    """Counts (n, 500) float32, the 81 concepts as tags in alphabetical order, image names.

    Rows of images without any concept are kept: they are similar to no other. Peak memory beyond the
    539 MB of features: one block of text lines.
    """
    folder = Path(folder)
    places = [wanted.find(folder) for wanted in FACTS.files]
    for wanted, place in zip(FACTS.files, places, strict=True):
        if place is None:
            raise FileProblem(
                f"{folder} lacks {wanted.any_of[0]}", FACTS.about, f"Get it from {FACTS.source}"
            )
    labels_place, words, image_list = (place for place in places if place is not None)
    label_files = _label_files(labels_place if labels_place.is_dir() else labels_place.parent)
    with reading(image_list, "one image per line") as stream:
        names = [line.strip().replace("\\", "/") for line in read_lines(stream)]
    labels = _read_labels(label_files, len(names))
    features = _read_words(words, len(names))
    train, queries = (
        _part(image_list.with_name(f"{part}Imagelist.txt"), names) for part in ("Train", "Test")
    )
    return FACTS.dataset(
        features,
        labels,
        digest_of([*label_files, words, image_list]),
        names=np.asarray(names),
        train=train,
        queries=queries,
    )


def _label_files(folder: Path) -> list[Path]:
    files = sorted(folder.glob("Labels_*.txt"))
    if len(files) != N_CONCEPTS:
        raise FileProblem(
            f"{folder} holds {len(files)} files Labels_*.txt",
            f"one for each of the {N_CONCEPTS} concepts",
            f"Unpack the ground truth of {FACTS.source} again",
        )
    return files


def _read_labels(files: list[Path], n_rows: int) -> Labels:
    columns = []
    for path in files:
        with reading(path, "one 0 or 1 per line") as stream:
            columns.append(np.flatnonzero(_zeros_and_ones(stream.read(), path, n_rows)))
    indptr = np.concatenate([[0], np.cumsum([len(rows) for rows in columns])])
    by_tag = sp.csc_array(
        (np.ones(indptr[-1], np.int8), np.concatenate(columns), indptr), shape=(n_rows, len(files))
    )
    names = [path.stem.removeprefix("Labels_") for path in files]
    return Labels(np.asarray(names), np.ones(n_rows, bool), tags=sp.csr_array(by_tag))


def _zeros_and_ones(text: bytes, path: Path, n_rows: int) -> npt.NDArray[np.bool_]:
    """Digits must alternate with line ends; compared as bytes, since there are 22 million of them."""
    marks = np.frombuffer(text.translate(None, b"\r \t").rstrip(b"\n") + b"\n", np.uint8)
    digits, ends = marks[::2], marks[1::2]
    fits = len(digits) == len(ends) and (ends == ord("\n")).all() and np.isin(digits, (48, 49)).all()
    if not fits:
        raise damaged(path, "it holds something else than 0 and 1", "one 0 or 1 per line")
    if len(digits) != n_rows:
        raise damaged(path, f"it has {len(digits):,} lines", f"one for each of the {n_rows:,} images")
    return digits == ord("1")


def _read_words(path: Path, n_rows: int) -> npt.NDArray[np.float32]:
    kind = f"{N_WORDS} counts for each of {n_rows:,} images"
    with reading(path, kind) as stream:
        # Two bytes of text are the least a count can take; compared before anything is allocated.
        if path.stat().st_size < n_rows * (2 * N_WORDS - 1):
            raise damaged(path, "the file is too short", kind)
        out = np.empty((n_rows, N_WORDS), np.float32)
        start = 0
        for block in read_table(stream).features().blocks(ROWS_PER_BLOCK):
            if block.shape[1] != N_WORDS or start + len(block) > n_rows:
                raise damaged(path, f"it has {block.shape[1]} columns, or more than {n_rows:,} rows", kind)
            out[start : start + len(block)] = block
            start += len(block)
    if start != n_rows:
        raise damaged(path, f"it has {start:,} rows", kind)
    if not np.isfinite(out).all():
        raise damaged(path, "it holds NaN or infinity", kind)
    return out


def _part(path: Path, names: list[str]) -> npt.NDArray[np.int64] | None:
    if not path.is_file():
        return None
    row = {name: number for number, name in enumerate(names)}
    with reading(path, "one image per line") as stream:
        part = [line.strip().replace("\\", "/") for line in read_lines(stream)]
    strange = next((name for name in part if name not in row), None)
    if strange is not None:
        raise damaged(path, f"it names {strange[:80]!r}, which is not in Imagelist.txt", "images of the list")
    return np.array([row[name] for name in part], np.int64)


SOURCE = Source(FACTS, read)
