"""`kinhash search`: the nearest rows of an index."""

from __future__ import annotations

import time
from typing import Any

import click

from .._internal.types import Facts
from ..codes import Codes
from ..errors import UnknownName
from ..index import HammingIndex
from .inputs import encode_file, open_codes, open_database
from .terminal import counted, emit, file_option, json_option, refuse, table, visible

SHOWN_QUERIES = 20
DEFAULT_K = 10


@click.command()
@click.argument("index")
@click.argument("queries")
@click.option("-k", type=click.IntRange(0), help=f"Neighbors of each query.  [default: {DEFAULT_K}]")
@click.option("--radius", type=click.IntRange(0), help="All rows within this distance, instead of -k.")
@click.option(
    "--same", is_flag=True, help="All rows that are the same, as the model decided: fit --max-false."
)
@file_option("model", "QUERIES are features: encode them with this model first.", "FILE[:VIEW]")
@click.option("--margins", is_flag=True, help="With --model: a query's bits count by how firmly it has them.")
@click.option(
    "--where", metavar="TEXT", help="Only rows that pass, e.g. 'year >= 2010 and \"Drama\" in tags'."
)
@click.option("--show", metavar="COLUMN,...", help="Columns of the payload to print beside the answers.")
@json_option
def search(
    index: str,
    queries: str,
    k: int | None,
    radius: int | None,
    same: bool,
    model: str | None,
    margins: bool,
    where: str | None,
    show: str | None,
    as_json: bool,
) -> None:
    """Find the rows of INDEX nearest to QUERIES (codes), exactly, in the order (distance, id).

    The answers are those of `index.search` and `hasher.search`. A file of codes does for INDEX.

    \b
    Examples:
      kinhash search index.kin queries.kin -k 10
      kinhash search db.kin new.npy --model model.kin
      kinhash search db.kin new.npy --model model.kin --same
      kinhash search pictures.kin captions.npy --model model.kin:text --margins
      kinhash search index.kin new.npy --model model.kin --show title,year --json
      kinhash search index.kin queries.kin --where 'year >= 2010 and not lang in ["de", "en"]'
    """
    refuse(
        (margins and model is None, "--margins needs --model, which says how firmly a query has its bits."),
        (
            (radius is not None or same) and (k is not None or margins or (same and radius is not None)),
            "Pass one of -k, --radius and --same; --margins goes with -k.",
        ),
    )
    opened = open_database(index)
    opened = HammingIndex.from_codes(opened) if isinstance(opened, Codes) else opened
    columns = [] if show is None else [name.strip() for name in show.split(",")]
    for name in columns:
        if name not in opened.payload:
            raise UnknownName.among("column", name, opened.payload)
    scores = None
    if model:
        codes, scores = encode_file(model, queries, margins=margins)
    else:
        codes = open_codes(queries, opened.n_bits if queries.lower().endswith(".npy") else None)
    start = time.perf_counter()
    passing = None if where is None else opened.filter(where)
    found: Any
    if radius is not None or same:
        found = opened.search_radius(codes, "decided" if radius is None else radius, where=passing)
    else:
        found = opened.search(codes, DEFAULT_K if k is None else k, where=passing, margins=scores)
    seconds = time.perf_counter() - start
    answers = _answers(opened, codes, found, columns)
    searched = counted(len(opened), "row")
    passed = len(opened) if passing is None else len(passing)
    if where is not None:
        searched = f"the {passed:,} of {searched} that pass the filter"
    result = {
        "index": index,
        "n_bits": opened.n_bits,
        "rows": len(opened),
        "passed": passed,
        "seconds": seconds,
        "neighbors": answers,
    }
    if same:
        within = opened.same_within if codes.same_within is None else codes.same_within
        result["same_within"] = within
        searched += f" for those within {within} bits"
    emit(result, _text(answers, searched, columns), as_json)


def _answers(index: HammingIndex, codes: Codes, found: Any, columns: list[str]) -> list[Facts]:
    """Ids, distances and columns of the payload, of every query."""
    names = range(len(codes)) if codes.ids is None else codes.ids.tolist()
    answers: list[Facts] = [
        {"query": name, "ids": one.ids.tolist(), "distances": one.distances.tolist()}
        for name, one in zip(names, found, strict=True)
    ]
    place = {name: row for row, name in enumerate(index.ids.tolist())} if columns else {}
    for answer in answers if columns else ():
        rows = [place[one] for one in answer["ids"]]
        answer["payload"] = {name: [_plain(index.payload[name][row]) for row in rows] for name in columns}
    return answers


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def _text(answers: list[Facts], searched: str, columns: list[str]) -> str:
    rows = [["query", "place", "id", "distance", *columns]]
    for answer in answers[:SHOWN_QUERIES]:
        for place, name in enumerate(answer["ids"]):
            distance = answer["distances"][place]
            shown = [str(answer["payload"][column][place]) for column in columns]
            said = f"{distance:.3f}" if isinstance(distance, float) else str(distance)
            rows.append(["" if place else str(answer["query"]), str(place + 1), str(name), said, *shown])
    hidden = len(answers) - SHOWN_QUERIES
    more = f" {hidden:,} more {'query' if hidden == 1 else 'queries'}: --json." if hidden > 0 else ""
    order = f"Searched {visible(searched)}; order: distance, then id.{more}"
    return f"{table(rows)}\n{order}" if len(rows) > 1 else f"Nothing was found. {order}"
