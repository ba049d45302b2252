"""`kinhash explore`: one page to look at codes, made of files."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from .._internal.aliases import Facts
from .terminal import bar, counted, emit, json_option, separator_option, talk
from .views import view_option

if TYPE_CHECKING:
    from ..codes import Codes
    from ..index import HammingIndex
    from ..supervision import Labels

__all__ = ["explore"]


@click.command()
@click.argument("codes")
@click.option("-o", "--output", required=True, metavar="FILE", help="Where the page goes, e.g. page.html.")
@click.option("--labels", metavar="FILE", help="One class per row: .txt, .csv, .npy, .npz, .json, .parquet.")
@click.option("--tags", metavar="FILE", help="The tags of each row: text, JSON lists, or a 0/1 matrix.")
@click.option("--label-column", metavar="NAME", help="Its column; alone, a column of --features.")
@separator_option
@click.option("--text", metavar="FILE", help="A text for every row: a line of a .txt, or --text-column.")
@click.option("--text-column", metavar="NAME", help="Its column; alone, a column of --features or --labels.")
@click.option("--pictures", metavar="FOLDER", help="Files named as ids (17.png), or one per row in order.")
@click.option("--model", metavar="FILE", help="The model that made the codes; needs --features.")
@click.option("--features", metavar="FILE", help="Features of the rows: a finer map, labels doubted fairly.")
@view_option
@click.option("--ids", metavar="FILE", help="The id of every row, if the index has ids of its own.")
@click.option("--id-column", metavar="NAME", help="Its column; alone, a column of --features or --labels.")
@click.option("--title", help="The heading of the page.")
@click.option(
    "--rows",
    "n_rows",
    type=click.IntRange(1, 50_000),
    default=50_000,
    show_default=True,
    help="Rows on the page at most; of more, a sample.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Same seed, same page.")
@json_option
def explore(codes: str, output: str, as_json: bool, **options: Any) -> None:
    """Make one page to look at CODES (an index or codes): map, neighbors, figures, doubtful labels.

    The page is one file that works offline by a double click. Labels, texts, pictures and features are in the
    order of the rows. With --model and --features the map is finer, labels are doubted by label models
    that did not see them, and the page encodes vectors that you paste into it.

    \b
    Examples:
      kinhash explore index.kin --labels y.txt -o page.html
      kinhash explore db.kin --labels y.txt --pictures thumbnails -o page.html
      kinhash explore index.kin --labels y.txt --model model.kin --features X.npy -o page.html
      kinhash explore db.kin --model m.kin --features table.csv --label-column kind -o page.html
    """
    from ..explorer import explore as make
    from .files import expect_output

    options = _with_columns(options)
    files = ("labels", "tags", "text", "model", "features", "ids")
    expect_output(output, codes, *(options[name] for name in files))
    start = time.perf_counter()
    with bar("reading", 1) as move:
        opened, given = _read(codes, options)
        page = make(
            opened,
            **given,
            pictures=options["pictures"],
            title=options["title"] or codes,
            n_rows=options["n_rows"],
            random_state=options["seed"],
            progress=move,
        )
        page.save(output)
    seconds = time.perf_counter() - start
    result = {"output": output, **page.summary, "seconds": seconds}
    emit(result, _text(output, page.summary, seconds), as_json)
    if options["features"] is None and options["labels"] and not as_json:
        talk("With --model and --features the map is finer, and labels are doubted by their features.")


def _with_columns(options: Facts) -> Facts:
    """The options, a column without a file being one of the table of features, or of labels."""
    if options["labels"] and options["tags"]:
        raise click.UsageError("Pass --labels or --tags, not both.")
    out = dict(options)
    for column, file in (("label_column", "labels"), ("text_column", "text"), ("id_column", "ids")):
        if not options[column] or options[file] or (file == "labels" and options["tags"]):
            continue
        out[file] = options["features"] or options["labels"]
        if out[file] is None:
            raise click.UsageError(f"--{column.replace('_', '-')} needs --{file} FILE.")
    return out


def _read(codes: str, options: Facts) -> tuple[Codes | HammingIndex, Facts]:
    """Codes or an index, and what comes beside them, from files."""
    from ..index import HammingIndex

    opened = _open(codes)
    n_rows = len(opened)
    # Ids in a codes file are in the order of its rows; an index has lost that order.
    given: Facts = {"labels": _labels(options, n_rows)}
    from .changing import kind_of_ids
    from .files import read_ids

    kind = kind_of_ids(opened) if isinstance(opened, HammingIndex) else None
    given["ids"] = read_ids(options["ids"], options["id_column"], n_rows, kind)
    given["text"] = _texts(options["text"], options["text_column"], n_rows)
    if options["features"] is not None:
        given |= _features(options["model"], options["view"], options["features"])
    elif options["model"] is not None:
        raise click.UsageError("--model needs --features FILE: what the model is to encode.")
    return opened, given


def _open(path: str) -> Codes | HammingIndex:
    """An index, codes, or packed bytes of a .npy."""
    from ..codes import Codes
    from ..errors import FileProblem
    from ..files import load
    from ..index import HammingIndex
    from .files import open_codes

    if path.lower().endswith(".npy"):
        return open_codes(path)
    opened = load(path)
    if not isinstance(opened, (Codes, HammingIndex)):
        raise FileProblem(
            f"{path} is a model", "codes or an index", "Pass the file that --codes or `kinhash index` wrote"
        )
    return opened


def _labels(options: Facts, n_rows: int) -> Labels | None:
    from .supervision_options import read_supervision

    labels, tags = options["labels"], options["tags"]
    if labels is None and tags is None:
        return None
    column, separator = options["label_column"], options["tag_separator"]
    return read_supervision("", labels, tags, column, separator, n_rows)


def _texts(path: str | None, column: str | None, n_rows: int) -> list[str] | None:
    """A text for every row; empty ones are no text."""
    if path is None:
        return None
    from ..datasets import open_labels

    found = open_labels(path, column=column)
    if found.classes is None:
        from ..errors import InvalidInput

        raise InvalidInput(
            f"{path} holds tags, not texts", "one text per row", "Name the column: --text-column"
        )
    names = [str(name) for name in found.names.tolist()] + [""]  # unknown is -1, the last
    return [names[place] for place in found.classes.tolist()]


def _features(model: str | None, view: str | None, path: str) -> Facts:
    from ..datasets import open_matrix

    if model is None:
        return {"features": open_matrix(path).read()}
    from .features import open_for_model
    from .views import load_view

    hasher = load_view(model, view)
    return {"model": hasher, "features": open_for_model(hasher, path, None, None).read()}


def _caveat(summary: Facts) -> str:
    """Why that figure is better than the one of new rows would be, as the page says it."""
    if summary["codes_made_from_labels"] and not summary["queries_are_mapped"]:
        return (
            "This flatters: the kin bits seem to be made from these very labels. With --model and "
            "--features, rows are searched by features alone."
        )
    return "Rows that the model was fitted on do better than new ones."


def _text(output: str, summary: Facts, seconds: float) -> str:
    shown = counted(summary["rows"], "row")
    if summary["rows"] < summary["rows_in_all"]:
        shown += f" (a sample of {summary['rows_in_all']:,})"
    lines = [
        f"{output}: {shown}, {summary['bytes'] / 1e6:.1f} MB. Open it in a browser; it needs no network."
    ]
    if summary["precision_at_10"] is not None:
        lines.append(
            f"Of the first ten rows, {summary['precision_at_10']:.0%} are similar. {_caveat(summary)}"
        )
    if summary["probably_mislabeled"] is not None:
        doubted, usual = counted(summary["probably_mislabeled"], "row"), summary["labels_as_expected"]
        lines.append(
            f"{usual:.0%} of the labels are as expected. The page lists {doubted} with another label than "
            "expected, the least expected first: many are hard rather than mislabeled."
        )
    elif summary["labels_judged"] is not None:
        lines.append(summary["labels_judged"])
    return "\n".join([*lines, f"({seconds:.1f} s)"])
