"""`kinhash fit`: learn, save, and judge on held-out rows."""

from __future__ import annotations

import time
from typing import Any

import click

from .._internal.aliases import Facts
from .held_out import USUAL, read_held_out
from .terminal import (
    array_option,
    bar,
    counted,
    emit,
    header_option,
    json_option,
    separator_option,
    talk,
    unless_talked,
    wrapped,
)
from .verdict import shortfalls
from .views import add_views

__all__ = ["fit"]

# Where in a fit its stages begin, as they were measured on 60,000 rows of 256 columns.
STAGE_BEGINS = {
    "narrowing": 0.0, "solver": 0.0, "tuning": 0.02, "features": 0.4, "label model": 0.5, "encoder": 0.5,
    "map": 0.5, "pairs": 0.6, "partners": 0.7, "codes": 0.8, "sampled pairs": 0.82, "training codes": 0.85,
    "look-alike bits": 0.9,
}  # fmt: skip
SETTING = "Any parameter of the method, or of a part of it: solver=coordinate, solver__n_sweeps=5."


@click.command()
@click.argument("features")
@click.option(
    "--labels",
    metavar="FILE",
    help="One class per row (.txt, .csv, .npy, .npz, .json, .parquet), or a column of FEATURES.",
)
@click.option("--tags", metavar="FILE", help="The tags of each row: text, JSON lists, or a 0/1 matrix.")
@click.option(
    "--pairs",
    metavar="FILE",
    help="Lines of row, row for similar rows (clicks); or row, row, verdict: 1 similar, -1 not, or a grade "
    "in between; a fourth column weighs pairs. The first row is 0.",
)
@click.option("--triplets", metavar="FILE", help="Lines of row, nearer row, further row.")
@click.option(
    "--similarity", metavar="FILE", help="A matrix from -1 to 1 between rows, 0: unknown (.npz, .npy)."
)
@click.option(
    "--label-weight", type=float, default=1.0, help="How much labels count beside pairs.  [default: 1]"
)
@add_views
@click.option("--label-column", metavar="NAME", help="The column with the labels; alone, of FEATURES itself.")
@click.option("--leave-out", metavar="NAME", multiple=True, help="A column of FEATURES that is no feature.")
@separator_option
@click.option("--method", metavar="NAME", default="EnergyHasher", show_default=True, help="How to learn.")
@click.option("--bits", "n_bits", type=int, default=64, show_default=True, help="Length, from 1 to 1024.")
@click.option(
    "--kinship",
    metavar="NAME",
    help="How similar two rows are: any (a shared tag), graded (the more tags, the more similar; the default "
    "for tags), tree (labels are paths such as sport/shoes), or a file: lines of name, parent, or a matrix "
    "between the classes in sorted order.",
)
@click.option(
    "--alike",
    type=float,
    help="Share of the bits that rank rows of the same label by their looks; 0 to 0.95 [default: 0.5].",
)
@click.option(
    "--kin-weight",
    type=int,
    help="What a bit of the labels counts where a bit of the looks counts 1; 1 to 15 [default: 3].",
)
@click.option(
    "--trust",
    type=float,
    help="How much a row's label counts against its features in its code; 0 to 1 [default: 0.4].",
)
@click.option("--set", "settings", metavar="NAME=VALUE", multiple=True, help=SETTING)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Same seed, same bits.")
@click.option(
    "--held-out",
    callback=read_held_out,
    metavar="N",
    default=str(USUAL),
    show_default=True,
    help="Rows to hold out as queries: N at random, a tenth at most; last:500 for the last 500 rows; "
    "0 learns from all rows and judges nothing.",
)
@click.option(
    "--held-out-by",
    metavar="NAME",
    help="Hold out the latest rows by this column of FEATURES (no feature then) or file of times.",
)
@array_option
@click.option(
    "--ids",
    metavar="FILE",
    help="Ids of the rows, kept in the file of --codes: a file, or a column of FEATURES.",
)
@click.option("--id-column", metavar="NAME", help="The column with the ids; alone, of FEATURES itself.")
@click.option("-o", "--output", required=True, metavar="FILE", help="Where the model goes, e.g. model.kin.")
@click.option("--codes", metavar="FILE", help="Where the learned codes of the rows go, e.g. db.kin.")
@header_option
@json_option
def fit(features: str, output: str, codes: str | None, as_json: bool, **options: Any) -> None:
    """Learn codes from the rows of FEATURES (.npy, .npz, .csv, .parquet, .svm) and their labels.

    Ends with a quality report on your data: held-out rows are the queries. It compares with float cosine
    search, sign bits and LSH.

    \b
    Examples:
      kinhash fit X.npy --labels y.txt --bits 64 -o model.kin --codes db.kin
      kinhash fit table.csv --label-column species --leave-out name -o model.kin
      kinhash fit rows.parquet --features embedding --labels label --ids id -o model.kin --codes db.kin
      kinhash fit X.npy --tags tags.txt -o model.kin
      kinhash fit X.npy --labels paths.txt --kinship tree -o model.kin
      kinhash fit X.npy --pairs clicks.csv -o model.kin
      kinhash fit pictures.npy --view text=captions.npy --tags tags.txt -o model.kin
      kinhash fit X.npy --pairs pairs.csv --labels some.txt -o model.kin
      kinhash fit log.csv --labels topic --held-out-by date -o model.kin
      kinhash fit X.npy --labels y.txt --set encoder=expected --set encoder__features=plain -o model.kin
    """
    start = time.perf_counter()
    with bar("starting", 1) as move:
        done = _work(features, output, codes, options, move)
    seconds = done.result["seconds"]
    total = time.perf_counter() - start
    seconds |= {"starting": total - sum(seconds.values()), "total": total}
    emit(done.result, _text(done.result, done.verdict), as_json)
    if not as_json:
        talk(f"Next: kinhash encode {output} NEW_ROWS -o codes.kin")


def _work(features: str, output: str, codes: str | None, options: Facts, move: Any) -> Any:
    from .files import expect_output
    from .fitting import Request, run

    inputs = [
        options[name]
        for name in ("labels", "tags", "pairs", "triplets", "similarity", "kinship", "ids", "held_out_by")
    ]
    inputs += [view.partition("=")[2] or None for view in options["views"]]
    expect_output(output, features, *inputs)
    expect_output(codes, features, *inputs)
    if codes is not None and codes == output:
        raise click.UsageError("The model and the codes cannot be one file.")
    move(0, "reading")
    request = Request(features, output, codes, **options)
    farthest = 0.0

    def begin(stage: str) -> None:
        nonlocal farthest
        farthest = max(farthest, STAGE_BEGINS.get(stage, 0.98))
        move(farthest, stage)

    return run(request, begin, talk)


def _text(result: Facts, verdict: Any) -> str:
    from ..metrics import verdict as sentences

    seconds = result["seconds"]
    lines = unless_talked(result["read"])
    if verdict is not None:
        kept = f"Held out: {result['held_out']}."
        lines += [str(verdict), kept, "", *map(wrapped, sentences(verdict)), *shortfalls(verdict)]
    else:
        lines.append(result["why_no_verdict"])
    lines += [wrapped(line) for line in result["view_sentences"]]
    lines.append(
        f"Distinct codes: {result['unique_codes']:,} {result['codes_are']} "
        f"on {counted(result['training_rows'], 'row')}"
        + (
            f"; {verdict.facts['unique_codes_mapped']:,} mapped on {verdict.facts['database_rows']:,}."
            if verdict is not None
            and "unique_codes_mapped" in verdict.facts
            and result["codes_are"] != "mapped"  # those would be the same codes once more
            else "."
        )
    )
    lines.append(
        f"Seconds: {seconds['starting']:.1f} starting, {seconds['reading']:.1f} reading, "
        f"{seconds['fit']:.1f} learning, {seconds['judging']:.1f} judging."
    )
    lines.append(f"Model {result['model_id'][:12]} ({result['n_bits']} bits) written to {result['model']}.")
    if result["codes"] is not None:
        lines.append(f"{counted(result['rows'], 'code')} written to {result['codes']}{result['codes_note']}.")
    return "\n".join(lines)
