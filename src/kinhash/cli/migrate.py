"""`kinhash migrate`: the rows of an index encoded anew, and compared before the file is switched."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np

from .._internal.files import BACKUP, keeping_others_out, replace_file
from ..errors import InvalidInput
from ..index import HammingIndex, places_of, recoded
from ..labels import read_labels as read_labels_of
from .inputs import encode_file, expect_output, kind_of_ids, open_model, read_labels
from .terminal import counted, emit, file_option, json_option, output_option, refuse, table

FIRST, QUERIES = 10, 1000  # answers that are compared, and the largest number of rows whose answers are


@dataclass(frozen=True)
class Comparison:
    """The first answers of some rows: the share that both indexes give, and the share relevant in each."""

    queries: int
    first: int
    overlap: float | None = None
    relevant_old: float | None = None
    relevant_new: float | None = None


@click.command()
@click.argument("index")
@click.argument("model")
@click.argument("features")
@file_option("ids", "Ids of the rows of FEATURES; default: row numbers.")
@file_option("labels", "Classes of the rows, to count relevant answers.")
@file_option("tags", "Tags of the rows, to count relevant answers.")
@click.option("--min-overlap", type=click.FloatRange(0, 1), help="Switch if the overlap is at least this.")
@click.option("--yes", is_flag=True, help="Switch without asking.")
@output_option("Leave INDEX as it is, and write this file.", required=False)
@json_option
def migrate(
    index: str,
    model: str,
    features: str,
    ids: str | None,
    labels: str | None,
    tags: str | None,
    min_overlap: float | None,
    yes: bool,
    output: str | None,
    as_json: bool,
) -> int:
    """Encode the rows of INDEX anew with MODEL[:VIEW], from their FEATURES, and compare before switching.

    Ids and payload stay. New codes are mapped: they follow from features alone. The codes in both indexes
    are the queries, so the old model is not needed. The old file becomes INDEX.bak, or INDEX.bak2, ... where
    there is a backup already; until the new one is complete, INDEX is as it was. Exit code 1: not switched.

    \b
    Examples:
      kinhash migrate index.kin new-model.kin X.npy --labels y.txt
      kinhash migrate index.kin new-model.kin X.npy --ids ids.txt --min-overlap 0.5
      kinhash migrate index.kin new-model.kin X.npy -o new-index.kin
    """
    somebody = yes or output or min_overlap is not None or sys.stdin.isatty()
    refuse(
        (yes and min_overlap is not None, "Pass --yes or --min-overlap, not both."),
        (not somebody, "There is nobody to ask: pass --yes, --min-overlap or -o FILE."),
    )
    expect_output(output or index, model, features, ids, labels, tags)
    expect_output(output, index)  # -o leaves the index as it is
    start = time.perf_counter()
    with keeping_others_out(index):
        old = HammingIndex.load(index, mmap=False)
        new, found = _compared(old, model, features, ids, labels, tags)
        text = _text(found, old)
        wanted = _wanted(found.overlap, text, yes or output is not None, min_overlap)
        backup = None
        if wanted:
            backup = _back_up(index) if output is None else None
            new.save(output or index)
    target = output or index
    result = {"index": target, "switched": wanted, "backup": backup, "rows": len(new), "n_bits": new.n_bits,
              "old_model_id": old.model_id, "model_id": new.model_id, **vars(found),
              "seconds": time.perf_counter() - start}  # fmt: skip
    done = f"{counted(len(new), 'row')} of {new.n_bits} bits written to {target}."
    if old.same_within is not None and new.same_within is None:
        done += " The decision about what is the same was the old model's: decide again with the new one."
    done += f" The old index is {backup}." if backup else ""
    if backup and not backup.endswith(BACKUP):
        done += f" Earlier backups were kept: remove {index}{BACKUP} and the like if you do not need them."
    said = done if wanted else f"Not switched: {index} is as it was."
    emit(result, f"{text}\n{said} ({result['seconds']:.1f} s)", as_json)
    return 0 if wanted else 1


def _compared(
    old: HammingIndex, model: str, features: str, ids: str | None, labels: str | None, tags: str | None
) -> tuple[HammingIndex, Comparison]:
    """The new index, and what its answers have in common with those of the old one."""
    if open_model(model).model_id_ == old.model_id:
        raise InvalidInput("The index is of this model already", "another model", "Pass the new model")
    codes, _ = encode_file(model, features, ids, kind_of_ids(old))
    places = places_of(old, codes, f"{features} has")  # which names the file where rows are missing
    new = recoded(old, codes)
    y = read_labels(labels, tags, len(codes))
    first = min(FIRST, len(old) - 1)
    if first < 1:
        return new, Comparison(0, 0)
    rows = np.sort(np.random.default_rng(0).choice(len(old), min(QUERIES, len(old)), replace=False))
    answers = [
        index.search(index.codes()[rows], first, exclude=index.ids[rows]).ids.tolist() for index in (old, new)
    ]
    same = [len(set(before) & set(after)) for before, after in zip(*answers, strict=True)]
    overlap = float(np.mean(same)) / first
    if y is None:
        return new, Comparison(len(rows), first, overlap)
    carried = read_labels_of(y).indicator()[places].astype(np.int64)  # in the order of the index
    place = {name: row for row, name in enumerate(old.ids.tolist())}
    labeled = carried[rows].sum(axis=1) > 0
    shares = []
    for part in answers:
        found = np.array([[place[one] for one in row] for row in part], np.int64)[labeled]
        own = carried[np.repeat(rows[labeled], first)]
        hits = own.multiply(carried[found.ravel()]).sum(axis=1) > 0
        shares.append(float(np.mean(hits)) if len(hits) else None)
    return new, Comparison(len(rows), first, overlap, *shares)


def _text(found: Comparison, old: HammingIndex) -> str:
    if found.overlap is None:
        return "Too few rows to compare."
    text = (
        f"Of the first {found.first} answers of {found.queries:,} rows, {found.overlap:.0%} are the same in "
        "both indexes."
    )
    if found.relevant_old is not None and found.relevant_new is not None:
        rows = [["first answers", "old", "new"],
                ["relevant", f"{found.relevant_old:.3f}", f"{found.relevant_new:.3f}"]]  # fmt: skip
        text = f"{table(rows)}\n{text}"
    if np.any(old.codes().learned):
        text += "\nThe old codes were learned from labels; the new ones come from features alone."
    return text


def _wanted(overlap: float | None, text: str, yes: bool, min_overlap: float | None) -> bool:
    """Whether to write the new index: as the options say, or as whoever sits there answers."""
    if min_overlap is not None:
        return overlap is None or overlap >= min_overlap
    return yes or click.confirm(f"{text}\nSwitch?", err=True)


def _back_up(path: str) -> str:
    """The name of a copy of the old index; earlier backups are not overwritten."""
    content = Path(path).read_bytes()
    backup, number = f"{path}{BACKUP}", 1
    while os.path.lexists(backup):
        alike = os.path.isfile(backup) and os.path.getsize(backup) == len(content)
        if alike and Path(backup).read_bytes() == content:  # of a migration that was killed, for example
            return backup
        number += 1
        backup = f"{path}{BACKUP}{number}"
    replace_file(backup, [memoryview(content)])
    return backup
