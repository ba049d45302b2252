"""Small files in the official layouts, written by the tests, with what they should give."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
from pathlib import Path

import numpy as np

from kinhash_bench.datasets.cifar10 import BATCHES
from kinhash_bench.datasets.mnist import FILES


def write_cifar10(folder: Path, archive: bool, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Pictures (n, 32, 32, 3) and classes, three records per batch."""
    rng = np.random.default_rng(seed)
    pictures = rng.integers(0, 256, (18, 32, 32, 3), dtype=np.uint8)
    classes = rng.integers(0, 10, 18, dtype=np.uint8)
    folder.mkdir(parents=True, exist_ok=True)
    parts = {}
    for k, name in enumerate(BATCHES):
        rows = range(3 * k, 3 * k + 3)
        parts[name] = b"".join(bytes([classes[i]]) + pictures[i].transpose(2, 0, 1).tobytes() for i in rows)
    if archive:
        with tarfile.open(folder / "cifar-10-binary.tar.gz", "w:gz") as tar:
            for name, data in reversed(parts.items()):
                info = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    else:
        inner = folder / "cifar-10-batches-bin"
        inner.mkdir()
        for name, data in parts.items():
            (inner / name).write_bytes(data)
    return pictures, classes


def write_mnist(folder: Path, zipped: bool, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Pictures (n, 5, 4) and classes, 6 for training and 3 for testing."""
    rng = np.random.default_rng(seed)
    pictures = rng.integers(0, 256, (9, 5, 4), dtype=np.uint8)
    classes = rng.integers(0, 10, 9, dtype=np.uint8)
    folder.mkdir(parents=True, exist_ok=True)
    arrays = [pictures[:6], classes[:6], pictures[6:], classes[6:]]
    for name, array in zip(FILES, arrays, strict=True):
        data = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()
        path = folder / (f"{name}.gz" if zipped else name)
        path.write_bytes(gzip.compress(data) if zipped else data)
    return pictures, classes


def write_nuswide(
    folder: Path, nested: bool = True, n: int = 7, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Counts (n, 500) and concepts (n, 81)."""
    rng = np.random.default_rng(seed)
    words, tags = rng.integers(0, 30, (n, 500)), rng.random((n, 81)) < 0.1
    places = ["Groundtruth/AllLabels", "Low_Level_Features", "ImageList"] if nested else ["", "", ""]
    for place in places:
        (folder / place).mkdir(parents=True, exist_ok=True)
    for k in range(81):
        name = "airport" if k == 0 else f"concept{k:02d}"
        text = "".join(f"{int(mark)}\r\n" for mark in tags[:, k])
        (folder / places[0] / f"Labels_{name}.txt").write_bytes(text.encode())
    lines = "".join(" ".join(map(str, row)) + " \n" for row in words)
    (folder / places[1] / "BoW_int.dat").write_text(lines)
    names = [f"actor\\{k:04d}_1.jpg" for k in range(n)]
    (folder / places[2] / "Imagelist.txt").write_text("".join(f"{name}\r\n" for name in names))
    (folder / places[2] / "TrainImagelist.txt").write_text("\n".join(names[1::2]) + "\n")
    (folder / places[2] / "TestImagelist.txt").write_text("\n".join(names[0::2]) + "\n")
    return words, tags


def write_espgame(folder: Path, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """GIST (8, 6) and keywords (8, 4), 5 rows for training and 3 for testing."""
    rng = np.random.default_rng(seed)
    features, tags = rng.standard_normal((8, 6)).astype(np.float32), rng.integers(0, 2, (8, 4))
    folder.mkdir(parents=True, exist_ok=True)
    for part, rows in (("train", slice(0, 5)), ("test", slice(5, 8))):
        annotation = b"".join(struct.pack("<5H", 4, *row) for row in tags[rows])
        (folder / f"espgame_{part}_annot.hvecs").write_bytes(annotation)
        gist = b"".join(struct.pack("<I6f", 6, *row) for row in features[rows])
        (folder / f"espgame_{part}_Gist.fvec").write_bytes(gist)
        (folder / f"espgame_{part}_list.txt").write_text(
            "".join(f"{part}/{k}\n" for k in range(len(tags[rows])))
        )
    (folder / "espgame_dictionary.txt").write_text("sky\nsea\ncar\ndog\n")
    return features, tags


def write_mulan(
    folder: Path, name: str, sparse: bool, split: bool, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Features (9, 4) and tags (9, 3); the labels stand between the features."""
    rng = np.random.default_rng(seed)
    features = np.round(rng.standard_normal((9, 4)) * (rng.random((9, 4)) < 0.6), 3)
    features[:, 3] = rng.integers(0, 3, 9)  # an attribute whose values are listed by name
    tags = rng.integers(0, 2, (9, 3))
    folder.mkdir(parents=True, exist_ok=True)
    head = (
        f"% a comment\n@relation '{name}: -C 3'\n@ATTRIBUTE a numeric\n@attribute 'b c' real\n"
        '@attribute beach {0,1}\n@attribute "sun set" {0,1}\n@attribute d NUMERIC\n'
        "@attribute fall {0, 1}\n@attribute mood {low,mid,high}\n\n@data\n"
    )
    moods = ["low", "mid", "high"]
    rows = []
    for x, y in zip(features, tags, strict=True):
        cells = [x[0], x[1], y[0], y[1], x[2], y[2], moods[int(x[3])]]
        if sparse:
            kept = [f"{k} {cell}" for k, cell in enumerate(cells) if cell not in (0, "low")]
            rows.append("{" + ", ".join(kept) + "}")
        else:
            rows.append(",".join(map(str, cells)))
    parts = {"-train": rows[:6], "-test": rows[6:]} if split else {"": rows}
    for part, lines in parts.items():
        (folder / f"{name}{part}.arff").write_text(head + "\n".join(lines) + "\n")
    labels = "".join(f'<label name="{label}"></label>\n' for label in ("beach", "sun set", "fall"))
    (folder / f"{name}.xml").write_text(
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<labels xmlns="http://mulan.sourceforge.net/labels">\n{labels}</labels>\n'
    )
    return features, tags
