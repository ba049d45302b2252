"""The description of the service in OpenAPI 3.1."""

from __future__ import annotations

from typing import Any

from .problems import PROBLEMS
from .schemas import REF, Answers, Encoded

__all__ = ["ENCODE", "PROBE", "SEARCH", "described"]

KEY: list[dict[str, list[str]]] = [{"key": []}, {"bearer": []}, {}]
BINARY = {"schema": {"type": "string", "format": "binary"}}
ROWS = {
    "schema": {"type": "string", "format": "float32-rows", "contentMediaType": "application/octet-stream"}
}
PROBLEM = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("error", "expected", "remedy")},
    "required": ["error", "expected", "remedy"],
}
STATE = {
    "type": "object",
    "properties": {
        "status": {"const": "ok"},
        "model_id": {"type": "string"},
        "pair": {"type": "integer", "description": "How many pairs of files this service has loaded."},
        "rows": {"type": "integer"},
        "reload_refused": {
            "type": ["string", "null"],
            "description": "Why the files on disk are not those that answer.",
        },
    },
    "required": ["status", "model_id", "pair", "rows", "reload_refused"],
}


def _refused(status: int) -> dict[str, Any]:
    schema = {"$ref": REF.format(model="Problem")}
    return {"description": PROBLEMS[status], "content": {"application/json": {"schema": schema}}}


def _work(
    name: str, answers: type, summary: str, options: list[dict[str, Any]], **more: Any
) -> dict[str, Any]:
    """The parts of a route that takes rows, beside those that are made for every pair."""
    schema = {"$ref": REF.format(model=name)}
    content = {"application/json": {"schema": schema}, "application/octet-stream": ROWS}
    refused = {status: _refused(status) for status in PROBLEMS if status != 404 or name == "SearchRequest"}
    found = {"description": summary, "model": answers, **more}
    extra = {"requestBody": {"required": True, "content": content}, "parameters": options, "security": KEY}
    return {"summary": summary, "responses": {200: found, **refused}, "openapi_extra": extra}


def _option(name: str, text: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "description": text, "schema": schema}


ENCODE = _work(
    "EncodeRequest",
    Encoded,
    "Codes of rows",
    [_option("format", "How codes are written.", enum=["base64", "hex", "bits"], default="base64")],
    content={"application/octet-stream": BINARY},
)
SEARCH = _work(
    "SearchRequest",
    Answers,
    "The nearest rows of the index",
    [
        _option("k", "Neighbors of each query; a body that says k itself wins.", type="integer", minimum=1),
        _option("radius", "All rows within this distance, if k is not given.", type="integer", minimum=0),
        _option("where", "Filter over the payload, as text.", type="string", minLength=1, format="filter"),
        _option("payload", "Whether payload columns are returned.", type="boolean", default=False),
    ],
)
PROBE: dict[str, Any] = {
    "summary": "Whether the service answers, and from which files",
    "responses": {200: {"description": "It does.", "content": {"application/json": {"schema": STATE}}}},
}


def described(app: Any, requests: dict[str, Any]) -> dict[str, Any]:
    """The whole description, with requests as the pair in use takes them."""
    from fastapi.openapi.utils import get_openapi

    found: dict[str, Any] = get_openapi(
        title=app.title,
        version=app.version,
        openapi_version="3.1.0",
        summary="Codes of rows, and exact Hamming search.",
        routes=app.routes,
    )
    components = found.setdefault("components", {})
    components.setdefault("schemas", {}).update({"Problem": PROBLEM, **requests})
    components["securitySchemes"] = {
        "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
        "bearer": {"type": "http", "scheme": "bearer"},
    }
    limits = requests["EncodeRequest"]["properties"]["vectors"]
    found["info"]["description"] = (
        f"A row has {limits['items']['maxItems']} numbers. A request has {limits['maxItems']:,} rows at most."
    )
    return found
