"""OpenSearch 2.16 or later: ``knn_vector`` with ``data_type: binary``, scored exactly by ``knn_score``.

Load with ``PUT /TABLE`` (mapping.json) and ``POST /TABLE/_bulk`` (each bulk-*.ndjson).
"""

from __future__ import annotations

import json
from typing import ClassVar

import numpy as np

from .._internal.types import Bytes, Facts
from ..codes import Codes, n_bytes
from .base import EngineFacts, Place, has_text_ids
from .documents import DocumentFiles, search_by, signed

__all__ = ["OpenSearch"]


class OpenSearch(DocumentFiles):
    """Whole bytes, first bit highest, as signed bytes. The score is ``1 / (1 + distance)``."""

    part: ClassVar[str] = "bulk-{:05d}.ndjson"

    def settings(self, codes: Codes, place: Place) -> dict[str, str]:
        code = {
            "type": "knn_vector",
            "dimension": 8 * n_bytes(codes.max_distance),
            "data_type": "binary",
            # 2.16 knows the space only here, later versions beside the type as well.
            "method": {"name": "hnsw", "space_type": "hamming", "engine": "faiss"},
        }
        mapping = {
            "settings": {"index": {"knn": True}},
            "mappings": {
                "_meta": json.loads(EngineFacts.note(codes)),
                "dynamic": "strict",
                "properties": {"id": {"type": "keyword" if has_text_ids(codes) else "long"}, "code": code},
            },
        }
        return {"mapping.json": json.dumps(mapping, indent=2) + "\n"}

    def document(self, number: int | str, code: Bytes, place: Place) -> str:
        head = json.dumps({"index": {"_id": str(number)}})
        return f"{head}\n{json.dumps({'id': number, 'code': signed(code)})}\n"

    def row(self, document: Facts) -> tuple[int | str, bytes] | None:
        if "index" in document:
            return None
        return document["id"], np.array(document["code"], np.int8).tobytes()

    def statement(self, code: Codes, k: int, place: Place) -> str:
        script = {
            "source": "knn_score",
            "lang": "knn",
            "params": {"field": "code", "query_value": signed(code.repeated()[0]), "space_type": "hamming"},
        }
        return search_by(script, k, place)
