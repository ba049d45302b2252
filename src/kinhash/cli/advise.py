"""`kinhash advise`: how many bits, which method, what is lost; measured on the user's own rows."""

from __future__ import annotations

from typing import Any

import click

from .._internal.aliases import Facts
from .terminal import array_option, bar, emit, header_option, json_option, separator_option, talk

__all__ = ["advise"]


@click.command()
@click.argument("features")
@click.option(
    "--labels",
    metavar="FILE",
    help="One class per row (.txt, .csv, .npy, .npz, .json, .parquet), or a column of FEATURES.",
)
@click.option("--tags", metavar="FILE", help="The tags of each row: text, JSON lists, or a 0/1 matrix.")
@click.option("--pairs", metavar="FILE", hidden=True)
@click.option("--label-column", metavar="NAME", help="The column with the labels; alone, of FEATURES itself.")
@click.option("--leave-out", metavar="NAME", multiple=True, help="A column of FEATURES that is no feature.")
@separator_option
@click.option(
    "--bits",
    metavar="N",
    multiple=True,
    help="Only this length; repeatable, or 16,32.  [default: 16,32,64,128]",
)
@click.option(
    "--tolerance", type=float, default=0.02, show_default=True, help="mAP to lose for shorter codes."
)
@click.option("--rows", "n_rows", type=int, default=12_000, show_default=True, help="Rows to use at most.")
@click.option("--splits", "n_splits", type=int, default=2, show_default=True, help="Random splits, 1 to 10.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Same seed, same answer.")
@array_option
@click.option("--picture", metavar="FILE", help="Where a picture (PNG) goes: mAP against bits.")
@header_option
@json_option
def advise(features: str, picture: str | None, as_json: bool, **options: Any) -> None:
    """Say how many bits the rows of FEATURES need, whether their labels help, and what codes lose.

    Compares codes of 16 to 128 bits with ITQ, LSH, sign bits, float cosine and a classifier on rows held out
    of the fit, in about a minute: of large files a part is used, and the answer says how many rows.

    \b
    Examples:
      kinhash advise X.npy --labels y.txt
      kinhash advise X.npy --tags tags.txt --bits 16,32,64 --picture advice.png
      kinhash advise table.csv --label-column species --leave-out name --json
    """
    from .files import expect_output

    if options["pairs"]:
        raise click.UsageError(
            "Advice takes --labels or --tags, not --pairs; `kinhash fit --pairs` judges one length at a time."
        )
    expect_output(picture, features, options["labels"], options["tags"])
    bits = _lengths(options["bits"])
    if picture is not None and not picture.lower().endswith(".png"):
        raise click.UsageError(f"--picture {picture}: the picture is a PNG, so its name must end in .png.")
    if picture is not None:
        from ..plot import bare_page

        bare_page(1, 1)  # said before the work starts, if there is nothing to draw with
    with bar("starting", 1) as move:
        advice = _work(features, bits, options, move)
        if picture is not None:
            move(1, "drawing")
            advice.draw(picture)
    text = f"{advice}\n\nDone in {advice.seconds:.0f} s." + (f" Picture: {picture}." if picture else "")
    emit({**advice.as_dict(), "features": features, "picture": picture}, text, as_json)
    answer = advice.recommendation
    if answer.method == "EnergyHasher" and not as_json:
        talk(f"Next: kinhash fit {features} ... --bits {answer.n_bits} -o model.kin")


def _work(features: str, bits: tuple[int, ...] | None, options: Facts, move: Any) -> Any:
    """Read the files and ask the engine."""
    from ..advice import advise as ask
    from .fitting import Request, read_features
    from .reading import summary, warn_of_columns
    from .supervision_options import read_supervision, require_one_kind
    from .text_table import settled

    move(0, "reading")
    given = ("labels", "tags", "label_column", "leave_out", "array", "header", "tag_separator")
    request = settled(Request(features, "", **{name: options[name] for name in given}))
    labels, tags, column = request.labels, request.tags, request.label_column
    require_one_kind(labels, tags, column)
    X, names = read_features(request)
    y = read_supervision(features, labels, tags, column, request.tag_separator, X.shape[0])
    talk(summary(X, y))
    warn_of_columns(X, names)
    knobs: Facts = {name: options[name] for name in ("tolerance", "n_rows", "n_splits")}
    if bits is not None:
        knobs["bits"] = bits
    return ask(X, y, **knobs, random_state=options["seed"], progress=move)


def _lengths(texts: tuple[str, ...]) -> tuple[int, ...] | None:
    """Whole numbers of repeated options and of lists with commas; None where nothing was said."""
    words = [word for text in texts for word in text.replace(",", " ").split()]
    for word in words:
        if not word.isdigit():
            raise click.UsageError(f"--bits {word!r} is not a whole number.")
    return tuple(map(int, words)) if words else None
