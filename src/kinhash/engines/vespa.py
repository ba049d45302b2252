"""Vespa: ``tensor<int8>`` with ``distance-metric: hamming``, searched exactly by ``nearestNeighbor``.

Put TABLE.sd among the schemas of your application and feed each feed-*.jsonl with ``vespa feed``.
"""

from __future__ import annotations

import json
from typing import ClassVar

import numpy as np

from .._internal.types import Bytes, Facts
from ..codes import Codes, n_bytes
from .base import Place, has_text_ids
from .documents import DocumentFiles, signed

__all__ = ["Vespa"]

SCHEMA = """\
schema {table} {{
    document {table} {{
        field id type {kind} {{
            indexing: summary | attribute
        }}
        field code type tensor<int8>(x[{width}]) {{
            indexing: attribute
            attribute {{
                distance-metric: hamming
            }}
        }}
    }}
    rank-profile hamming {{
        inputs {{
            query(q) tensor<int8>(x[{width}])
        }}
        first-phase {{
            expression: closeness(field, code)
        }}
        match-features: distance(field, code)
    }}
}}
"""


class Vespa(DocumentFiles):
    """Whole bytes, first bit highest, as signed bytes. Vespa orders ties by its own document number."""

    part: ClassVar[str] = "feed-{:05d}.jsonl"

    def settings(self, codes: Codes, place: Place) -> dict[str, str]:
        schema = SCHEMA.format(
            table=place.table,
            width=n_bytes(codes.max_distance),
            kind="string" if has_text_ids(codes) else "long",
        )
        return {f"{place.table}.sd": schema}

    def document(self, number: int | str, code: Bytes, place: Place) -> str:
        fields = {"id": number, "code": {"values": signed(code)}}
        return json.dumps({"put": f"id:{place.table}:{place.table}::{number}", "fields": fields}) + "\n"

    def row(self, document: Facts) -> tuple[int | str, bytes] | None:
        fields = document["fields"]
        return fields["id"], np.array(fields["code"]["values"], np.int8).tobytes()

    def statement(self, code: Codes, k: int, place: Place) -> str:
        nearest = f"{{targetHits: {k}, approximate: false}}nearestNeighbor(code, q)"
        request = {
            "yql": f"select id from {place.table} where {nearest}",
            "hits": k,
            "ranking": "hamming",
            "input.query(q)": json.dumps(signed(code.repeated()[0])),
        }
        return f"POST /search/\n{json.dumps(request)}"
