"""`kinhash explore`: one page to look at codes, made of files."""

from __future__ import annotations

import time
from typing import Any

import click

from .._internal.types import Facts
from ..data import read_table
from ..explorer import explore as make
from ..index import HammingIndex
from . import inputs
from .terminal import bar, counted, emit, file_option, json_option, output_option, refuse, talk


@click.command()
@click.argument("codes")
@output_option("Where the page goes, e.g. page.html.")
@file_option("labels", "One class per row.")
@file_option("tags", "The tags of each row.")
@file_option("text", "A text for every row.")
@click.option("--pictures", metavar="FOLDER", help="Files named as ids (17.png), or one per row in order.")
@file_option("model", "The model that made the codes; needs --features.", "FILE[:VIEW]")
@file_option("features", "Features of the rows: labels are doubted fairly.")
@file_option("ids", "The id of every row, if the index has ids of its own.")
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
    refuse(
        (
            options["model"] and not options["features"],
            "--model needs --features FILE: what the model is to encode.",
        )
    )
    files = ("labels", "tags", "text", "features", "ids")
    inputs.expect_output(output, codes, *(options[name] for name in files))
    start = time.perf_counter()
    with bar("reading", 1) as move:
        opened = inputs.open_database(codes)
        page = make(opened, **_read(opened, options), title=codes, progress=move)
        page.save(output)
    seconds = time.perf_counter() - start
    result = {"output": output, **page.summary, "seconds": seconds}
    emit(result, _text(output, page.summary, seconds), as_json)
    if options["features"] is None and options["labels"] and not as_json:
        talk("Pass --model and --features to find labels that are probably wrong.")


def _read(opened: Any, options: Facts) -> Facts:
    """What comes beside codes or an index, from files."""
    n_rows, features = len(opened), options["features"]
    kind = inputs.kind_of_ids(opened) if isinstance(opened, HammingIndex) else None
    given: Facts = {
        "labels": inputs.read_labels(options["labels"], options["tags"], n_rows),
        "ids": inputs.read_ids(options["ids"], n_rows, kind),
        "text": None if options["text"] is None else read_table(options["text"]).texts(n_rows),
        "pictures": options["pictures"],
    }
    if options["model"] is None:
        given["features"] = inputs.read_features(features, n_rows, "codes")
    else:
        given["model"] = inputs.open_model(options["model"])
        others = (options[name] for name in ("labels", "tags", "text", "ids"))
        with inputs.naming(features):
            matrix = inputs.matrix_for(given["model"], features, inputs.columns_beside(features, *others))
            given["features"] = matrix.read()
    return given


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
