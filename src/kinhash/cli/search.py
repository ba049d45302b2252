"""`kinhash search`: the nearest rows of an index."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from .._internal.types import Array, Facts
from .terminal import counted, emit, json_option, table
from .views import load_view, view_option

if TYPE_CHECKING:
    from ..codes import Codes
    from ..hashers import Hasher
    from ..index import HammingIndex

__all__ = ["search"]

SHOWN_QUERIES = 20
DEFAULT_K = 10


@click.command()
@click.argument("index")
@click.argument("queries")
@click.option("-k", type=click.IntRange(0), help=f"Neighbors of each query.  [default: {DEFAULT_K}]")
@click.option("--radius", type=click.IntRange(0), help="All rows within this distance, instead of -k.")
@click.option("--model", metavar="FILE", help="Encode QUERIES with this model first: they are features.")
@view_option
@click.option(
    "--floats",
    type=click.Choice(["both", "kin", "alike"]),
    help="With --model: bits of this field count by how firmly the query has them.",
)
@click.option(
    "--where", metavar="TEXT", help="Only rows that pass, e.g. 'year >= 2010 and \"Drama\" in tags'."
)
@click.option("--all", "show_all", is_flag=True, help=f"Show all queries, not the first {SHOWN_QUERIES}.")
@json_option
def search(
    index: str,
    queries: str,
    k: int | None,
    radius: int | None,
    model: str | None,
    view: str | None,
    floats: str | None,
    where: str | None,
    show_all: bool,
    as_json: bool,
) -> None:
    """Find the rows of INDEX nearest to QUERIES (codes), exactly, in the order (distance, id).

    A file of codes does for INDEX; an index that is asked often saves making it anew each time.

    \b
    Examples:
      kinhash search index.kin queries.kin -k 10
      kinhash search db.kin new.npy --model model.kin
      kinhash search pictures.kin captions.npy --model model.kin --view text
      kinhash search index.kin new.npy --model model.kin --json
      kinhash search index.kin new.npy --model model.kin --floats alike
      kinhash search index.kin queries.kin --where 'year >= 2010 and not lang in ["de", "en"]'
    """
    from .files import open_codes

    if floats and (model is None or radius is not None):
        raise click.UsageError("--floats needs --model, and goes with -k alone")
    if k is not None and radius is not None:
        raise click.UsageError("Pass -k or --radius, not both: --radius finds all rows within the distance.")
    k = DEFAULT_K if k is None else k
    opened = _opened(index)
    if view and model is None:
        raise click.UsageError("--view needs --model, which encodes the rows of that view.")
    margins = None
    if model:
        codes, margins = _encoded(load_view(model, view), queries, floats)
    else:
        codes = open_codes(queries, _bits(queries, opened.n_bits))
        codes = replace(codes, fields=opened.fields) if queries.lower().endswith(".npy") else codes
    start = time.perf_counter()
    passing = None if where is None else opened.filter(where)
    if radius is not None:
        found = opened.search_radius(codes, radius, where=passing)
    elif margins is None:
        found = opened.search(codes, k, where=passing)
    else:
        field = None if floats == "both" else floats
        found = opened.search(codes, k, where=passing, margins=margins, margins_of=field)
    seconds = time.perf_counter() - start
    names = range(len(codes)) if codes.ids is None else codes.ids.tolist()
    answers = [
        {"query": name, "ids": one.ids.tolist(), "distances": one.distances.tolist()}
        for name, one in zip(names, found, strict=True)
    ]
    passed = len(opened) if passing is None else len(passing)
    result = {
        "index": index,
        "n_bits": opened.n_bits,
        "rows": len(opened),
        "passed": passed,
        "seconds": seconds,
    }
    searched = counted(len(opened), "row")
    if passing is not None:
        searched = f"the {passed:,} of {searched} that pass the filter"
    text = _text(answers if show_all else answers[:SHOWN_QUERIES], len(answers), searched)
    emit({**result, "neighbors": answers}, text, as_json)


def _opened(path: str) -> HammingIndex:
    """The index in a file, or one of the codes in it."""
    from ..codes import container_kind
    from ..index import HammingIndex
    from .files import open_codes

    if container_kind(path) == "codes":
        return HammingIndex.from_codes(open_codes(path))
    return HammingIndex.load(path)


def _bits(queries: str, n_bits: int) -> int | None:
    return n_bits if queries.lower().endswith(".npy") else None


def _encoded(hasher: Hasher, features: str, floats: str | None) -> tuple[Codes, Array | None]:
    """The codes of a file of features, and their margins where these are asked for."""
    from ..codes import pack_bits
    from .features import BLOCK_ROWS, encode_file, open_for_model

    if floats is None:
        return hasher.codes_of(encode_file(hasher, features)), None
    import numpy as np

    blocks = open_for_model(hasher, features, None, None).blocks(BLOCK_ROWS)
    margins = np.concatenate([hasher.decision_function(block) for block in blocks])
    return hasher.codes_of(pack_bits(margins > 0)), margins


def _text(answers: list[Facts], n_queries: int, searched: str) -> str:
    rows = [["query", "place", "id", "distance"]]
    for answer in answers:
        pairs = zip(answer["ids"], answer["distances"], strict=True)
        for place, (name, distance) in enumerate(pairs, 1):
            rows.append([str(answer["query"]) if place == 1 else "", str(place), str(name), str(distance)])
    hidden = n_queries - len(answers)
    queries = "query" if hidden == 1 else "queries"
    more = f" {hidden:,} more {queries}: --all or --json." if hidden else ""
    order = f"Searched {searched}; order: distance, then id.{more}"
    return f"{table(rows)}\n{order}" if len(rows) > 1 else f"Nothing was found. {order}"
