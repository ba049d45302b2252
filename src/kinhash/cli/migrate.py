"""`kinhash migrate`: the rows of an index encoded anew, and compared before the file is switched."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .._internal.files import BACKUP
from .._internal.types import Ints, LabelsLike
from .terminal import array_option, counted, emit, header_option, json_option, separator_option, table
from .views import load_view, view_option

if TYPE_CHECKING:
    from ..codes import Codes
    from ..index import HammingIndex

__all__ = ["migrate"]

FIRST = 10  # answers of a query that are compared


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
@view_option
@array_option
@header_option
@click.option("--ids", metavar="FILE", help="Ids of the rows of FEATURES; default: row numbers.")
@click.option("--id-column", metavar="NAME", help="The column with the ids; alone, of FEATURES itself.")
@click.option("--labels", metavar="FILE", help="Classes of the rows, to count relevant answers.")
@click.option("--tags", metavar="FILE", help="Tags of the rows, to count relevant answers.")
@click.option("--label-column", "column", metavar="NAME", help="The column of the file of labels or tags.")
@separator_option
@click.option(
    "--queries", type=click.IntRange(1), default=1000, show_default=True, help="Rows used as queries."
)
@click.option("--min-overlap", type=click.FloatRange(0, 1), help="Switch if the overlap is at least this.")
@click.option("--yes", is_flag=True, help="Switch without asking.")
@click.option("-o", "--output", metavar="FILE", help="Leave INDEX as it is, and write this file.")
@click.option("--seed", type=int, default=0, show_default=True, help="Chooses the rows used as queries.")
@json_option
def migrate(
    index: str,
    model: str,
    features: str,
    min_overlap: float | None,
    yes: bool,
    output: str | None,
    as_json: bool,
    **options: Any,
) -> int:
    """Encode the rows of INDEX anew with MODEL, from their FEATURES, and compare before switching.

    Ids and payload stay. New codes are mapped: they follow from features alone. The codes in both indexes
    are the queries, so the old model is not needed. The old file becomes INDEX.bak, or INDEX.bak2, ... where
    there is a backup already; until the new one is complete, INDEX is as it was. Exit code 1: not switched.

    \b
    Examples:
      kinhash migrate index.kin new-model.kin X.npy --labels y.txt
      kinhash migrate index.kin new-model.kin X.npy --ids ids.txt --min-overlap 0.5
      kinhash migrate index.kin new-model.kin X.npy -o new-index.kin
    """
    from .._internal.files import keeping_others_out
    from ..index import HammingIndex
    from .files import expect_output

    if yes and min_overlap is not None:
        raise click.UsageError("Pass --yes or --min-overlap, not both.")
    if not (yes or output or min_overlap is not None or sys.stdin.isatty()):
        raise click.UsageError("There is nobody to ask: pass --yes, --min-overlap or -o FILE.")
    inputs = (model, features, options["ids"], options["labels"], options["tags"])
    expect_output(output or index, *inputs)
    expect_output(output, index)  # -o leaves the index as it is
    start = time.perf_counter()
    with keeping_others_out(index):
        old = HammingIndex.load(index, mmap=False)
        new, found = _compared(old, model, features, **options)
        text = _text(found, old)
        wanted = _wanted(found.overlap, text, yes or output is not None, min_overlap)
        backup = None
        if wanted:
            backup = _kept(index) if output is None else None
            new.save(output or index)
    target = output or index
    result = {"index": target, "switched": wanted, "backup": backup, "rows": len(new), "n_bits": new.n_bits,
              "old_model_id": old.model_id, "model_id": new.model_id, **vars(found),
              "seconds": time.perf_counter() - start}  # fmt: skip
    done = f"{counted(len(new), 'row')} of {new.n_bits} bits written to {target}."
    done += f" The old index is {backup}." if backup else ""
    if backup and not backup.endswith(BACKUP):
        done += f" Earlier backups were kept: remove {index}{BACKUP} and the like if you do not need them."
    said = done if wanted else f"Not switched: {index} is as it was."
    emit(result, f"{text}\n{said} ({result['seconds']:.1f} s)", as_json)
    return 0 if wanted else 1


def _compared(
    old: HammingIndex,
    model: str,
    features: str,
    *,
    view: str | None,
    array: str | None,
    header: bool | None,
    ids: str | None,
    id_column: str | None,
    queries: int,
    seed: int,
    **labels: LabelsLike,
) -> tuple[HammingIndex, Comparison]:
    """The new index, and what its answers have in common with those of the old one."""
    from ..errors import InvalidInput
    from ..index import places_of, recoded
    from .changing import kind_of_ids
    from .features import codes_of_file

    hasher = load_view(model, view)
    if hasher.model_id_ == old.model_id:
        raise InvalidInput("The index is of this model already", "another model", "Pass the new model")
    codes = codes_of_file(hasher, features, array, header, ids, id_column, kind_of_ids(old))
    places_of(old, codes, f"{features} has")  # which names the file where rows are missing
    new = recoded(old, codes)
    return new, _comparison(old, new, queries, seed, _relevance(old, codes, features, **labels))


def _relevance(
    old: HammingIndex,
    codes: Codes,
    features: str,
    *,
    labels: str | None,
    tags: str | None,
    column: str | None,
    tag_separator: str | None,
) -> Any:
    """Which labels each row of the index has (n, t), by ascending id; None without labels."""
    from ..index import places_of
    from .supervision_options import read_supervision, require_one_kind

    if not (labels or tags or column):
        return None
    require_one_kind(labels, tags, column)
    known: Any = read_supervision(features, labels, tags, column, tag_separator, len(codes))
    return known.indicator()[places_of(old, codes)]


def _comparison(old: HammingIndex, new: HammingIndex, n: int, seed: int, labels: LabelsLike) -> Comparison:
    import numpy as np

    from ..index import answers_of_rows

    first = min(FIRST, len(old) - 1)
    if first < 1:
        return Comparison(0, 0)
    rows = np.sort(np.random.default_rng(seed).choice(len(old), min(n, len(old)), replace=False))
    answers = [answers_of_rows(index, rows, first).ids.tolist() for index in (old, new)]
    same = [len(set(before) & set(after)) for before, after in zip(*answers, strict=True)]
    found = Comparison(len(rows), first, float(np.mean(same)) / first)
    if labels is None:
        return found
    place = {name: k for k, name in enumerate(old.ids.tolist())}
    shares = [_relevant(labels, rows, np.array([[place[one] for one in row] for row in part]))
              for part in answers]  # fmt: skip
    return Comparison(found.queries, first, found.overlap, *shares)


def _relevant(labels: LabelsLike, rows: Ints, answers: Ints) -> float | None:
    """The share of answers (q, k) that share a label with their query, over queries that have labels."""
    import numpy as np

    asked = np.repeat(rows, answers.shape[1])
    shared = labels[asked].multiply(labels[answers.ravel()]).sum(axis=1)
    known = np.asarray(labels[asked].sum(axis=1)).ravel() > 0
    return float((np.asarray(shared).ravel()[known] > 0).mean()) if known.any() else None


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
    if old.codes().learned:
        text += "\nThe old codes were learned from labels; the new ones come from features alone."
    return text


def _wanted(overlap: float | None, text: str, yes: bool, min_overlap: float | None) -> bool:
    """Whether to write the new index: as the options say, or as whoever sits there answers."""
    if min_overlap is not None:
        return overlap is None or overlap >= min_overlap
    return yes or click.confirm(f"{text}\nSwitch?", err=True)


def _kept(path: str) -> str:
    """The name of a copy of the old index; earlier backups are not overwritten."""
    from .._internal.files import replace_file

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
