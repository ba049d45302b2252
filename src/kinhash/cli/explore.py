"""`kinhash explore`: one page to look at codes, made of files."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from .._internal.aliases import Facts
from .terminal import bar, counted, emit, json_option, output_option, talk

if TYPE_CHECKING:
    from ..codes import Codes
    from ..index import HammingIndex


@click.command()
@click.argument("codes")
@output_option("Where the page goes, e.g. page.html.")
@click.option("--labels", metavar="FILE[:COLUMN]", help="One class per row.")
@click.option("--tags", metavar="FILE[:COLUMN]", help="The tags of each row.")
@click.option("--text", metavar="FILE[:COLUMN]", help="A text for every row.")
@click.option("--pictures", metavar="FOLDER", help="Files named as ids (17.png), or one per row in order.")
@click.option("--model", metavar="FILE[:VIEW]", help="The model that made the codes; needs --features.")
@click.option("--features", metavar="FILE[:COLUMN]", help="Features of the rows: labels are doubted fairly.")
@click.option("--ids", metavar="FILE[:COLUMN]", help="The id of every row, if the index has ids of its own.")
@json_option
def explore(codes: str, output: str, as_json: bool, **options: Any) -> None:
    """Make one page to look at CODES (an index or codes): map, neighbors, figures, doubtful labels.

    The page is one file that works offline by a double click. Labels, texts, pictures and features are in the
    order of the rows. Pass --model and --features to find labels that are probably wrong: they are doubted by
    label models that did not see them.

    \b
    Examples:
      kinhash explore index.kin --labels y.txt --model model.kin --features X.npy -o page.html
      kinhash explore db.kin --labels y.txt --pictures thumbnails -o page.html
      kinhash explore db.kin --model m.kin --features table.csv --labels table.csv:kind -o page.html
    """
    from ..explorer import explore as make
    from .inputs import expect_output

    if options["model"] and not options["features"]:
        raise click.UsageError("--model needs --features FILE: what the model is to encode.")
    files = ("labels", "tags", "text", "features", "ids")
    expect_output(output, codes, *(options[name] for name in files))
    start = time.perf_counter()
    with bar("reading", 1) as move:
        opened, given = _read(codes, **options)
        page = make(opened, **given, pictures=options["pictures"], title=codes, progress=move)
        page.save(output)
    seconds = time.perf_counter() - start
    result = {"output": output, **page.summary, "seconds": seconds}
    emit(result, _text(output, page.summary, seconds), as_json)
    if options["features"] is None and options["labels"] and not as_json:
        talk("Pass --model and --features to find labels that are probably wrong.")


def _read(
    codes: str,
    labels: str | None,
    tags: str | None,
    text: str | None,
    model: str | None,
    features: str | None,
    ids: str | None,
    **rest: object,
) -> tuple[Codes | HammingIndex, Facts]:
    """Codes or an index, and what comes beside them, from files."""
    from ..data import read_table, split_column
    from ..index import HammingIndex
    from .inputs import (
        Named,
        kind_of_ids,
        matrix_for,
        open_database,
        open_model,
        read_features,
        read_ids,
        read_labels,
    )

    opened = open_database(codes)
    n_rows = len(opened)
    kind = kind_of_ids(opened) if isinstance(opened, HammingIndex) else None
    given: Facts = {
        "labels": read_labels(labels, tags, n_rows),
        "ids": read_ids(ids, n_rows, kind),
        "text": None if text is None else read_table(text).texts(n_rows),
    }
    if features is not None and model is None:
        given["features"] = read_features(features, n_rows, "codes")
    elif features is not None and model is not None:
        hasher, view = open_model(model)
        own = split_column(features)[0]
        columns = [split_column(spec) for spec in (labels, tags, text, ids) if spec]
        without = [name for path, named in columns if path == own for name in named or ()]
        with Named(features):
            given["features"] = matrix_for(hasher, view, features, without).read()
        given["model"] = hasher if view is None else hasher.view(view)
    return opened, given


def _text(output: str, summary: Facts, seconds: float) -> str:
    shown = counted(summary["rows"], "row")
    if summary["rows"] < summary["rows_in_all"]:
        shown += f" (a sample of {summary['rows_in_all']:,})"
    lines = [
        f"{output}: {shown}, {summary['bytes'] / 1e6:.1f} MB. Open it in a browser; it needs no network."
    ]
    if summary["precision_at_10"] is not None:
        flatters = summary["codes_made_from_labels"] and not summary["queries_are_mapped"]
        caveat = (
            "this flatters: the codes seem to be made from these very labels"
            if flatters
            else "rows of the fit do better than new ones"
        )
        lines.append(f"Of the first ten rows, {summary['precision_at_10']:.0%} are similar ({caveat}).")
    if summary["probably_mislabeled"] is not None:
        doubted, usual = counted(summary["probably_mislabeled"], "row"), summary["labels_as_expected"]
        lines.append(
            f"{usual:.0%} of the labels are as expected. The page lists {doubted} with another label than "
            "expected, the least expected first: many are hard rather than mislabeled."
        )
    elif summary["labels_judged"] is not None:
        lines.append(summary["labels_judged"])
    return "\n".join([*lines, f"({seconds:.1f} s)"])
