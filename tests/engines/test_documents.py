"""Files for servers that the tests cannot start: documented JSON that means the right distances.

Each request is answered here by a plain reading of its fields: a wrong byte order, sign or score would show.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kinhash import BitLayout, Codes
from kinhash.engines import documents, statement, write

from .cases import DOCUMENTS, MODEL, asked_of, brute_force, clustered

CODES = clustered(200, 100, ids="extreme")
WEIGHED = clustered(200, 100, ids="extreme", fields=BitLayout(alike=61, kin_weight=4))
WIDTH, WEIGHED_WIDTH = 13, 28  # bytes of 100 bits, and of 39 × 4 + 61


def lines(folder: Path) -> list[Any]:
    """All lines of all parts; JSON as it stands, no line left out."""
    parts = sorted([*folder.glob("bulk-*"), *folder.glob("feed-*")])
    return [json.loads(line) for part in parts for line in part.read_text().splitlines()]


def hamming(left: bytes, right: bytes) -> int:
    return sum((a ^ b).bit_count() for a, b in zip(left, right, strict=True))


def as_bytes(numbers: list[int]) -> bytes:
    assert all(-128 <= number <= 127 for number in numbers), "Java's bytes are signed"
    return bytes(number & 255 for number in numbers)


def rows_of(name: str, folder: Path) -> dict[int, bytes]:
    """Ids and codes as the server would read them."""
    found = lines(folder)
    if name == "vespa":
        for line in found:
            assert line["put"] == f"id:shoes:shoes::{line['fields']['id']}"
        return {line["fields"]["id"]: as_bytes(line["fields"]["code"]["values"]) for line in found}
    heads, bodies = found[::2], found[1::2]
    assert [head["index"]["_id"] for head in heads] == [str(body["id"]) for body in bodies]
    read = bytes.fromhex if name == "elasticsearch" else as_bytes
    return {body["id"]: read(body["code"]) for body in bodies}


def answer(name: str, rows: dict[int, bytes], request: dict[str, Any]) -> list[tuple[int, int]]:
    """Ids and distances as the request asks for them, sorted as it says."""
    if name == "vespa":
        assert request["yql"].startswith("select id from shoes where {targetHits: 10, approximate: false}")
        assert request["ranking"] == "hamming"
        query = as_bytes(json.loads(request["input.query(q)"]))
        scores = {key: 1 / (1 + hamming(code, query)) for key, code in rows.items()}
        size, turn = request["hits"], lambda score: round(1 / score - 1)
    else:
        assert request["sort"] == [{"_score": "desc"}, {"id": "asc"}]
        script = request["query"]["script_score"]["script"]
        size = request["size"]
        if name == "elasticsearch":
            bits = int(re.fullmatch(r"(\d+) - hamming\(params\.code, 'code'\)", script["source"])[1])  # type: ignore[index]
            query = as_bytes(script["params"]["code"])
            scores = {key: float(bits - hamming(code, query)) for key, code in rows.items()}
            assert min(scores.values()) >= 0, "Elasticsearch refuses negative scores"
            turn = lambda score: round(bits - score)  # noqa: E731
        else:
            assert (script["lang"], script["source"]) == ("knn", "knn_score")
            assert script["params"]["space_type"] == "hamming"
            query = as_bytes(script["params"]["query_value"])
            scores = {
                key: float(np.float32(1) / np.float32(1 + hamming(code, query))) for key, code in rows.items()
            }
            turn = lambda score: round(1 / score - 1)  # noqa: E731
    best = sorted(rows, key=lambda key: (-scores[key], key))[:size]
    return [(key, turn(scores[key])) for key in best]


@pytest.mark.parametrize("codes", [CODES, WEIGHED], ids=["plain", "weighed"])
@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_request_on_the_documents_finds_the_neighbors(name: str, codes: Codes, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    write(name, codes, folder, table="shoes")
    rows = rows_of(name, folder)
    assert len(rows) == 200
    for query in range(5):
        one = asked_of(codes, 5)[query]
        head, _, body = statement(name, one, folder, k=10, table="shoes").partition("\n")
        assert head == ("POST /search/" if name == "vespa" else "POST /shoes/_search")
        ids, distances = brute_force(codes, one, 10)
        assert answer(name, rows, json.loads(body)) == list(
            zip(ids[0].tolist(), distances[0].tolist(), strict=True)
        )


def test_scores_of_opensearch_give_every_distance_back() -> None:
    """Scores are 32-bit: 1 / (1 + d) still tells all distances apart, up to 1024 bits that count 15 each."""
    d = np.arange(15 * 1024 + 1, dtype=np.float32)
    score = np.float32(1) / (1 + d)
    assert (np.diff(score) < 0).all()
    assert (np.rint(1 / score.astype(np.float64) - 1) == d).all()


def test_mapping_of_elasticsearch(tmp_path: Path) -> None:
    write("elasticsearch", CODES, tmp_path / "out")
    assert json.loads((tmp_path / "out" / "mapping.json").read_text()) == {
        "mappings": {
            "_meta": {"kinhash": 1, "n_bits": 100, "model_id": MODEL},
            "dynamic": "strict",
            "properties": {
                "id": {"type": "long"},
                "code": {"type": "dense_vector", "element_type": "bit", "dims": 104, "index": False},
            },
        }
    }


@pytest.mark.parametrize("name", DOCUMENTS)
def test_rows_are_as_wide_as_their_repeated_bits(name: str, tmp_path: Path) -> None:
    write(name, WEIGHED, tmp_path / "out", table="shoes")
    assert {len(code) for code in rows_of(name, tmp_path / "out").values()} == {WEIGHED_WIDTH}
    if name == "vespa":
        assert (tmp_path / "out" / "shoes.sd").read_text().count(f"tensor<int8>(x[{WEIGHED_WIDTH}])") == 2
        return
    mapping = json.loads((tmp_path / "out" / "mapping.json").read_text())["mappings"]
    code = mapping["properties"]["code"]
    assert code.get("dims", code.get("dimension")) == 8 * WEIGHED_WIDTH
    assert mapping["_meta"]["fields"] == {"alike": 61, "kin_weight": 4, "alike_weight": 1}


def test_mapping_of_opensearch(tmp_path: Path) -> None:
    write("opensearch", CODES, tmp_path / "out")
    mapping = json.loads((tmp_path / "out" / "mapping.json").read_text())
    assert mapping["settings"] == {"index": {"knn": True}}
    assert mapping["mappings"]["properties"] == {
        "id": {"type": "long"},
        "code": {
            "type": "knn_vector",
            "dimension": 104,
            "data_type": "binary",
            # Beside the type it is known from 2.17 on only, and 2.16 refuses the mapping.
            "method": {"name": "hnsw", "space_type": "hamming", "engine": "faiss"},
        },
    }


def test_schema_of_vespa(tmp_path: Path) -> None:
    write("vespa", CODES, tmp_path / "out", table="shoes")
    schema = (tmp_path / "out" / "shoes.sd").read_text()
    assert schema.startswith("schema shoes {\n    document shoes {\n")
    assert schema.count("{") == schema.count("}")
    assert f"field code type tensor<int8>(x[{WIDTH}])" in schema
    assert f"query(q) tensor<int8>(x[{WIDTH}])" in schema
    assert "distance-metric: hamming" in schema


@pytest.mark.parametrize("name", DOCUMENTS)
def test_many_rows_come_in_parts(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "PART", 64)
    write(name, CODES, tmp_path / "out", table="shoes")
    parts = [*(tmp_path / "out").glob("bulk-*"), *(tmp_path / "out").glob("feed-*")]
    assert len(parts) == 4
    assert len(rows_of(name, tmp_path / "out")) == 200


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_folder_of_somebody_else_is_never_overwritten(name: str, tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "one.txt").write_text("dear")
    from kinhash.errors import InvalidInput

    with pytest.raises(InvalidInput, match="not a folder that kinhash wrote"):
        write(name, Codes(CODES.packed, 100), tmp_path / "letters", overwrite=True)
    assert (tmp_path / "letters" / "one.txt").read_text() == "dear"
