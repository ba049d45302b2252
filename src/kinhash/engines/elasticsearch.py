"""Elasticsearch 8.15 or later: ``dense_vector`` with ``element_type: bit``, scored exactly by ``hamming``.

Load with ``PUT /TABLE`` (mapping.json) and ``POST /TABLE/_bulk`` (each bulk-*.ndjson).
"""

from __future__ import annotations

import json
from typing import ClassVar

from .._internal.types import Bytes, Facts
from ..codes import Codes, n_bytes
from .base import EngineFacts, Place, has_text_ids
from .documents import DocumentFiles, search_by, signed

__all__ = ["Elasticsearch"]


class Elasticsearch(DocumentFiles):
    """Whole bytes, first bit highest, as hexadecimal text. The score is the number of equal bits."""

    part: ClassVar[str] = "bulk-{:05d}.ndjson"

    def settings(self, codes: Codes, place: Place) -> dict[str, str]:
        code = {
            "type": "dense_vector",
            "element_type": "bit",
            "dims": 8 * n_bytes(codes.max_distance),
            "index": False,  # a script reads every code; an HNSW graph would be for approximate search
        }
        properties = {"id": {"type": "keyword" if has_text_ids(codes) else "long"}, "code": code}
        mappings = {
            "_meta": json.loads(EngineFacts.note(codes)),
            "dynamic": "strict",
            "properties": properties,
        }
        return {"mapping.json": json.dumps({"mappings": mappings}, indent=2) + "\n"}

    def document(self, number: int | str, code: Bytes, place: Place) -> str:
        head = json.dumps({"index": {"_id": str(number)}})
        return f"{head}\n{json.dumps({'id': number, 'code': code.tobytes().hex()})}\n"

    def row(self, document: Facts) -> tuple[int | str, bytes] | None:
        if "index" in document:
            return None
        return document["id"], bytes.fromhex(document["code"])

    def statement(self, code: Codes, k: int, place: Place) -> str:
        bits, query = 8 * n_bytes(code.max_distance), signed(code.repeated()[0])
        script = {"source": f"{bits} - hamming(params.code, 'code')", "params": {"code": query}}
        return search_by(script, k, place)
