"""`kinhash data`: the data sets kinhash can read, and whether they are there."""

from __future__ import annotations

from typing import Any

import click

from kinhash.cli import bar, emit, json_option, table

__all__ = ["data"]

home_option = click.option(
    "--data-home", metavar="FOLDER", help="Where the data sets are; default: KINHASH_DATA, or ~/kinhash_data."
)


@click.group(invoke_without_command=True, short_help="List, check and prepare the known data sets.")
@click.pass_context
def data(ctx: click.Context) -> None:
    """List, check and prepare the data sets kinhash can read.

    \b
    Examples:
      kinhash data list
      kinhash data check --data-home /data
      kinhash data prepare mnist --download
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@data.command("list")
@json_option
def list_sets(as_json: bool) -> None:
    """List the known data sets.

    \b
    Example:
      kinhash data list
    """
    from ..datasets import DATASETS

    facts = [DATASETS[name].facts for name in DATASETS]
    rows = [["name", "rows", "columns", "labels", "what"]]
    for fact in facts:
        columns = f"{fact.columns:,}" if fact.columns else "tags only"
        rows.append([fact.name, f"{fact.rows:,}", columns, f"{fact.labels:,}", fact.about])
    what = [row.pop() for row in rows]
    lines = table(rows).split("\n")
    lines = [
        line if number == 1 else f"{line.ljust(len(lines[1]))}  {what[number - (number > 1)]}"
        for number, line in enumerate(lines)
    ]
    result = [
        {"name": fact.name, "about": fact.about, "rows": fact.rows, "columns": fact.columns,
         "labels": fact.labels, "license": fact.license, "source": fact.source}
        for fact in facts
    ]  # fmt: skip
    emit({"data_sets": result}, "\n".join(lines), as_json)


@data.command()
@home_option
@click.option("--no-verify", is_flag=True, help="Do not compare checksums (faster).")
@json_option
def check(data_home: str | None, no_verify: bool, as_json: bool) -> None:
    """Say which data sets are there, which are missing, and where they come from.

    \b
    Example:
      kinhash data check --data-home /data
    """
    from ..datasets import check as check_sets
    from ..datasets import data_folder

    found = check_sets(data_home, verify=not no_verify)
    lines = [f"Data sets in {data_folder(data_home)}:"]
    for status in found:
        lines.append(f"  {status.state:<10}  {status.name:<38}  {status.about}")
        if status.missing:
            fetch = "; kinhash data prepare NAME --download fetches it" if status.can_download else ""
            lines.append(f"{'':14}missing {', '.join(status.missing)}, to be put into {status.folder}{fetch}")
            lines.append(f"{'':14}from {status.source}")
        if status.damaged:
            lines.append(f"{'':14}wrong checksum: {', '.join(path.name for path in status.damaged)}")
        if status.missing and status.instead:
            lines.append(f"{'':14}can stand in: {', '.join(status.instead)}")
    emit(
        {"folder": data_folder(data_home), "data_sets": [_facts(s) for s in found]}, "\n".join(lines), as_json
    )


def _facts(status: Any) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(status)


@data.command()
@click.argument("name")
@home_option
@click.option("--download", is_flag=True, help="Fetch what is missing; checksums are compared.")
@click.option("-o", "--output", metavar="FILE", help="Where the .npz goes; default: the data folder.")
@json_option
def prepare(name: str, data_home: str | None, download: bool, output: str | None, as_json: bool) -> None:
    """Turn the data set NAME into one compact .npz (pictures: with GIST features).

    \b
    Example:
      kinhash data prepare cifar10 --data-home /data
    """
    from kinhash.cli import expect_output

    from ..datasets import prepare as prepare_set

    expect_output(output)
    with bar(f"preparing {name}", 1) as move:
        path = prepare_set(
            name, data_home, output=output, download=download, progress=lambda done, n: move(done / n, None)
        )
    emit({"name": name, "file": path}, f"{name} is ready in {path}.", as_json)
