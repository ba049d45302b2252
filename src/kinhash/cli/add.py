"""`kinhash add` and `kinhash upsert`: rows into an index file that is there."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from .terminal import array_option, counted, emit, header_option, json_option, payload_options
from .views import load_view, view_option

if TYPE_CHECKING:
    from ..codes import Codes
    from ..index import HammingIndex

__all__ = ["add", "upsert"]


def _options(command: Callable[..., object]) -> Callable[..., object]:
    """The options that both commands have."""
    for option in (
        json_option,
        click.option("-o", "--output", metavar="FILE", help="Leave INDEX as it is, and write this file."),
        payload_options,
        header_option,
        array_option,
        click.option("--id-column", metavar="NAME", help="The column with the ids; alone, of ROWS itself."),
        click.option("--ids", metavar="FILE", help="Ids of the rows; default: those in ROWS."),
        view_option,
        click.option("--model", metavar="FILE", help="Encode ROWS with this model first: they are features."),
        click.argument("rows"),
        click.argument("index"),
    ):
        command = option(command)
    return command


@click.command()
@_options
def add(index: str, rows: str, **options: Any) -> None:
    """Add ROWS (codes, or features with --model) to the file INDEX. All rows or none: ids must be new.

    Without ids the rows are numbered on. The file is replaced at once, and commands that change one file
    wait for each other.

    \b
    Examples:
      kinhash add index.kin more.kin
      kinhash add index.kin more.npy --model model.kin --ids more.txt --payload more.csv
    """
    _put(index, rows, replacing=False, **options)


@click.command()
@_options
def upsert(index: str, rows: str, **options: Any) -> None:
    """Add ROWS (codes, or features with --model) to the file INDEX, in place of those with the same ids.

    The file is replaced at once, and commands that change one file wait for each other.

    \b
    Examples:
      kinhash upsert index.kin changed.kin
      kinhash upsert index.kin changed.npy --model model.kin --ids changed.txt
    """
    _put(index, rows, replacing=True, **options)


def _put(
    index: str,
    rows: str,
    *,
    replacing: bool,
    output: str | None,
    payload: str | None,
    payload_columns: str | None,
    as_json: bool,
    **source: Any,
) -> None:
    from .changing import changing
    from .files import expect_output
    from .payload import read_payload

    expect_output(output or index, rows, source["model"], source["ids"], payload)
    start = time.perf_counter()
    with changing(index, output) as opened:
        before = len(opened)
        codes, ids = _codes(opened, rows, **source)
        if replacing and ids is None:
            raise click.UsageError("upsert needs the ids of the rows: --ids FILE, or codes that have ids.")
        columns, left_out = read_payload(payload, payload_columns, len(codes), ids, opened.payload)
        (opened.upsert if replacing else opened.add)(codes, ids, columns)
    added = len(opened) - before
    result = {
        "index": output or index,
        "rows": len(opened),
        "added": added,
        "replaced": len(codes) - added,
        "left_out": list(left_out),
        "model_id": opened.model_id,
        "seconds": time.perf_counter() - start,
    }
    changed = f" and replaced {result['replaced']:,}" if replacing else ""
    text = (
        f"Added {counted(added, 'row')}{changed}. {output or index} has {counted(len(opened), 'row')} now. "
        f"({result['seconds']:.1f} s)"
    )
    if left_out:
        text += f"\nLeft out: {', '.join(left_out)}, which the index does not have."
    emit(result, text, as_json)


def _codes(
    index: HammingIndex,
    rows: str,
    *,
    model: str | None,
    view: str | None,
    ids: str | None,
    id_column: str | None,
    array: str | None,
    header: bool | None,
) -> tuple[Codes, Any]:
    """The codes of the rows and their ids, if they have any."""
    from .changing import codes_for, kind_of_ids
    from .features import codes_of_file
    from .files import read_ids

    if model is not None:
        codes = codes_of_file(load_view(model, view), rows, array, header, ids, id_column, kind_of_ids(index))
        return codes, codes.ids
    if view is not None:
        raise click.UsageError("--view needs --model, which encodes the rows of that view.")
    if array is not None or header is not None or (id_column and not ids):
        raise click.UsageError("--array, --header and --id-column alone are about features: pass --model.")
    codes = codes_for(index, rows)
    names = read_ids(ids, id_column, len(codes), kind_of_ids(index))
    return codes, codes.ids if names is None else names
