"""`kinhash audit`: anybody's codes and labels scored again, and known mistakes looked for."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from kinhash.cli import counted, emit, json_option, table, visible

if TYPE_CHECKING:
    from kinhash.codes import Codes

    from ..audit import Audit

__all__ = ["audit"]


@click.command(short_help="Score anybody's codes again, and look for known mistakes.")
@click.argument("codes")
@click.argument("labels")
@click.option(
    "--queries", nargs=2, metavar="CODES LABELS", help="Codes and labels of queries, if they are other rows."
)
@click.option(
    "--tags",
    is_flag=True,
    help="The files of labels hold the tags of every row, with ';' between them in text.",
)
@click.option("--packed", is_flag=True, help="Bytes of a .npy are eight bits each, even if all are 0 or 1.")
@click.option("--bits", "n_bits", type=int, help="Length of packed codes, if not 8 per byte.")
@click.option("--top", multiple=True, type=click.IntRange(1), help="mAP@TOP; repeatable.  [1000, 5000]")
@json_option
def audit(
    codes: str,
    labels: str,
    queries: tuple[str, str] | None,
    tags: bool,
    packed: bool,
    n_bits: int | None,
    top: tuple[int, ...],
    as_json: bool,
) -> None:
    """Score CODES by LABELS again: exact ties, chance beside every figure, known mistakes looked for.

    CODES is a file of kinhash or a .npy: bits as 0 and 1, signs as -1 and 1, or packed bytes. Without
    --queries every row searches all others and does not find itself.

    \b
    Examples:
      kinhash audit codes.npy labels.npy
      kinhash audit database.npy y.npy --queries queries.npy yq.npy --top 1000
    """
    from ..audit import CUTS, audit_codes
    from ..datasets.files import labels_of_file

    pairs = [(codes, labels), *([queries] if queries else [])]
    read = [read_codes(one, packed, n_bits) for one, _ in pairs]
    known = [labels_of_file(one, tags) for _, one in pairs]
    asked = (read[1], known[1]) if queries else (None, None)
    found = audit_codes(asked[0], read[0], asked[1], known[0], top or CUTS)
    emit({"codes": codes, "labels": labels, **asdict(found)}, _sentences(found), as_json)


def read_codes(path: str, packed: bool, n_bits: int | None) -> Codes:
    """Codes of a file, whatever form their bits have there."""
    import numpy as np

    from kinhash.cli import open_codes
    from kinhash.codes import Codes, as_codes, pack_bits
    from kinhash.data import read_table
    from kinhash.errors import FileProblem

    if not path.lower().endswith(".npy"):
        return open_codes(path, n_bits)
    matrix = np.asarray(read_table(path).features().read())
    values = np.unique(matrix[: 1 << 16])
    if not packed and np.isin(values, (-1, 0, 1)).all() and np.isin(np.unique(matrix), (-1, 0, 1)).all():
        if {-1, 0} <= set(values.tolist()):
            zeros = int((matrix == 0).sum())
            click.echo(visible(f"{path}: {counted(zeros, 'sign')} of 0, read as -1."), err=True)
        return Codes(pack_bits(matrix > 0), matrix.shape[1])
    if matrix.dtype == np.uint8:
        return as_codes(matrix, n_bits)
    raise FileProblem(
        f"{path}: {matrix.dtype} numbers such as {values[0]:.6g} and {values[-1]:.6g}",
        "bits (0 and 1), signs (-1 and 1) or packed bytes (uint8)",
        "Write the signs of the numbers, for example np.save(path, X > 0)",
    )


def _sentences(found: Audit) -> str:
    alone = found.with_own_row is not None
    who = "every row searches the others" if alone else f"{found.n_queries:,} queries search them"
    rows: list[list[str]] = [
        ["kin mAP, ties", "value"],
        ["expected (all orders alike)", f"{found.expected:.4f}"],
        ["best order", f"{found.best:.4f}"],
        ["worst order", f"{found.worst:.4f}"],
        ["order of the database", f"{found.index:.4f}"],
        ["a random ranking", f"{found.random:.4f}"],
    ]
    rows += [["the row itself left in", f"{found.with_own_row:.4f}"]] if alone else []
    lines = [
        f"{counted(found.n_database, 'row')} of {found.n_bits} bits; {who}"
        f" ({found.n_without_kin:,} without relevant rows left out).",
        f"{found.distinct_codes:,} distinct codes, {found.dead_bits:,} dead bits; a row is relevant to a "
        f"query with chance {found.chance:.4f}.",
        "",
        table(rows),
    ]
    if found.at_k:
        heads = ["mAP@K", "by kin", "by found", "random, by kin"]
        figures = [
            [str(one.k), *(f"{value:.4f}" for value in (one.by_kin, one.by_found, one.random_by_kin))]
            for one in found.at_k
        ]
        lines += ["", table([heads, *figures])]
        lines.append(
            "by kin: divided by min(kin, K); by found: by the kin among the first K, as HashNet does."
        )
    lines += ["", *_said(found.findings)]
    if found.one_hot is not None:
        lines.append(
            "A mistake in print: labels as one-hot matrices indexed as if they were lists, so that only the "
            f"first class is compared. These codes would score {found.one_hot:.4f} that way, and a random "
            f"ranking {found.one_hot_random:.4f}."
        )
    return "\n".join(lines)


def _said(findings: Any) -> list[str]:
    if not findings:
        return ["None of the known mistakes was found."]
    return [f"! {finding}" for finding in findings]
