"""ESP GAME in the TagProp layout: annotation in ``.hvecs`` files, GIST in ``.fvec`` files.

Both are rows of binary numbers, each preceded by its length: ``.hvecs`` two-byte integers after a
two-byte length, ``.fvec`` four-byte floats after a four-byte length, least significant byte first.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from kinhash.errors import FileProblem
from kinhash.labels import Labels
from kinhash.plugins import damaged, read_bytes, reading

from .base import Dataset, Facts, Source, Wanted, rows_between
from .files import digest_of, read_lines

__all__ = ["FACTS", "SOURCE", "read", "read_vectors"]

LAYOUT = {".hvecs": ("<u2", "<u2"), ".fvec": ("<u4", "<f4")}  # length, values
FILES = (
    "espgame_train_annot.hvecs",
    "espgame_test_annot.hvecs",
    "espgame_train_Gist.fvec",
    "espgame_test_Gist.fvec",
    "espgame_dictionary.txt",
)

FACTS = Facts(
    name="espgame",
    about="20,770 images of the ESP game, 512-d GIST, 268 keywords",
    source="https://lear.inrialpes.fr/people/guillaumin/data.php (espgame.20091111.tar.bz2)",
    license="research use; see the official page",
    citation="Guillaumin et al., TagProp: discriminative metric learning for image annotation, ICCV 2009",
    rows=20_770,
    columns=512,
    labels=268,
    files=tuple(Wanted((name,)) for name in FILES),
    folder="espgame",
    instead=("espgame_tags (tags only)", "coco20770_gist512"),
)


def read_vectors(path: str | Path) -> npt.NDArray[np.generic]:
    """The rows (n, length) of an ``.hvecs`` or ``.fvec`` file. Peak memory: twice the file."""
    path = Path(path)
    length_type, value_type = LAYOUT[path.suffix]
    kind = f"rows of equal length in the {path.suffix} format"
    head, item = np.dtype(length_type).itemsize, np.dtype(value_type).itemsize
    with reading(path, kind) as stream:
        size = path.stat().st_size
        raw = read_bytes(stream, size, path, kind)
    length = int(raw[:head].view(length_type)[0]) if size >= head else 0
    stride = head + item * length
    if length == 0 or size % stride:
        raise damaged(path, f"{size:,} bytes are no whole number of rows of length {length:,}", kind)
    rows = raw.reshape(-1, stride)
    if (rows[:, :head] != rows[0, :head]).any():
        row = int((rows[:, :head] != rows[0, :head]).any(axis=1).argmax())
        raise damaged(path, f"row {row} states another length than row 0", kind)
    values: npt.NDArray[np.generic] = np.ascontiguousarray(rows[:, head:]).view(value_type)
    return values


def read(folder: Path) -> Dataset:
    """GIST (20,770, 512) float32 and keywords as tags, the 18,689 training rows first.

    Image names come from ``espgame_train_list.txt`` and ``espgame_test_list.txt`` where present.
    """
    folder = Path(folder)
    paths = [folder / name for name in FILES]
    parts = [read_vectors(path) for path in paths[:4]]
    with reading(paths[4], "one keyword per line") as stream:
        words = [line.strip() for line in read_lines(stream)]
    for k, path in enumerate(paths[:2]):
        _check_annotation(path, parts[k], paths[k + 2], parts[k + 2], len(words))
    if parts[2].shape[1] != parts[3].shape[1]:
        raise damaged(paths[3], f"it has {parts[3].shape[1]} columns", f"{parts[2].shape[1]}, as in training")
    features = np.concatenate(parts[2:4]).astype(np.float32, copy=False)
    if not np.isfinite(features).all():
        raise damaged(paths[2], "the features hold NaN or infinity", "finite numbers")
    tags = sp.csr_array(np.concatenate(parts[:2]).astype(np.int8))
    return FACTS.dataset(
        features,
        Labels(np.asarray(words), np.ones(len(features), bool), tags=tags),
        digest_of(paths),
        names=_names(folder, [len(part) for part in parts[:2]]),
        train=rows_between(0, len(parts[0])),
        queries=rows_between(len(parts[0]), len(features)),
    )


def _check_annotation(
    path: Path,
    annotation: npt.NDArray[np.generic],
    features_path: Path,
    features: npt.NDArray[np.generic],
    n_words: int,
) -> None:
    if annotation.shape[1] != n_words:
        raise damaged(path, f"it has {annotation.shape[1]} columns", f"one for each of {n_words} keywords")
    if not np.isin(annotation, (0, 1)).all():
        raise damaged(path, "it holds something else than 0 and 1", "an annotation of zeros and ones")
    if len(features) != len(annotation):
        raise damaged(features_path, f"it has {len(features)} rows", f"{len(annotation)}, as in {path.name}")


def _names(folder: Path, sizes: list[int]) -> npt.NDArray[np.str_] | None:
    lists = [folder / f"espgame_{part}_list.txt" for part in ("train", "test")]
    if not all(path.is_file() for path in lists):
        return None
    names = []
    for path, size in zip(lists, sizes, strict=True):
        with reading(path, "one image per line") as stream:
            lines = [line.strip() for line in read_lines(stream)]
        if len(lines) != size:
            raise FileProblem(f"{path} names {len(lines)} images", f"{size} of them", "Fetch the list again")
        names += lines
    return np.asarray(names)


SOURCE = Source(FACTS, read)
