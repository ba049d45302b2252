"""`kinhash search`: the nearest rows of an index."""

from __future__ import annotations

import time
from typing import Any

import click

from ._terminal import counted, emit, json_option, table

__all__ = ["search"]

SHOWN_QUERIES = 20


@click.command()
@click.argument("index")
@click.argument("queries")
@click.option("-k", type=click.IntRange(0), default=10, show_default=True, help="Neighbours of each query.")
@click.option(
    "--radius", type=click.IntRange(0), help="All rows within so many differing bits, instead of -k."
)
@click.option("--model", metavar="FILE", help="Encode QUERIES with this model first: they are features.")
@click.option("--all", "show_all", is_flag=True, help=f"Show all queries, not the first {SHOWN_QUERIES}.")
@json_option
def search(
    index: str,
    queries: str,
    k: int,
    radius: int | None,
    model: str | None,
    show_all: bool,
    as_json: bool,
) -> None:
    """Find the rows of INDEX nearest to QUERIES (codes), exactly, in the order (distance, id).

    \b
    Examples:
      kinhash search index.kin queries.kin -k 10
      kinhash search index.kin new.npy --model model.kin --json
    """
    from ..index import HammingIndex
    from ._files import open_codes

    opened = HammingIndex.load(index)
    codes = _encoded(model, queries) if model else open_codes(queries, _bits(queries, opened.n_bits))
    start = time.perf_counter()
    found = opened.search_radius(codes, radius) if radius is not None else opened.search(codes, k)
    seconds = time.perf_counter() - start
    names = range(len(codes)) if codes.ids is None else codes.ids.tolist()
    answers = [
        {"query": name, "ids": one.ids.tolist(), "distances": one.distances.tolist()}
        for name, one in zip(names, found, strict=True)
    ]
    result = {"index": index, "n_bits": opened.n_bits, "rows": len(opened), "seconds": seconds}
    text = _text(answers if show_all else answers[:SHOWN_QUERIES], len(answers), len(opened))
    emit({**result, "neighbours": answers}, text, as_json)


def _bits(queries: str, n_bits: int) -> int | None:
    return n_bits if queries.lower().endswith(".npy") else None


def _encoded(model: str, features: str) -> Any:
    from ..codes import Codes
    from ..model_file import load_model
    from ._features import encode_file

    hasher = load_model(model)
    return Codes(encode_file(hasher, features), hasher.fitted_.map.n_bits, model_id=hasher.model_id_)


def _text(answers: list[dict[str, Any]], n_queries: int, n_rows: int) -> str:
    rows = [["query", "place", "id", "distance"]]
    for answer in answers:
        pairs = zip(answer["ids"], answer["distances"], strict=True)
        for place, (name, distance) in enumerate(pairs, 1):
            rows.append([str(answer["query"]) if place == 1 else "", str(place), str(name), str(distance)])
    hidden = n_queries - len(answers)
    more = (
        f" {counted(hidden, 'more query').replace('querys', 'queries')}: --all or --json." if hidden else ""
    )
    order = f"Searched {counted(n_rows, 'row')}; order: distance, then id.{more}"
    return f"{table(rows)}\n{order}" if len(rows) > 1 else f"Nothing was found. {order}"
