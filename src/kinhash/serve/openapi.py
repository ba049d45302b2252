"""The description of the service in OpenAPI 3.1."""

from __future__ import annotations

from typing import Any

from .._internal.aliases import Facts
from .packages import fastapi
from .problems import PROBLEMS
from .schemas import REF, Answers, Encoded, Schemas

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


def _refused(status: int) -> Facts:
    schema = {"$ref": REF.format(model="Problem")}
    return {"description": PROBLEMS[status], "content": {"application/json": {"schema": schema}}}


def _work(name: str, answers: type, summary: str, **more: Any) -> Facts:
    """The parts of a route that takes rows, beside those that are made for every pair."""
    rows = {
        "type": "string",
        "format": ROWS,
        "description": "float32 rows, lowest byte first.",
    }
    content = {
        "application/json": {"schema": {"$ref": REF.format(model=name)}},
        "application/octet-stream": {"schema": rows},
    }
    refused = {status: _refused(status) for status in PROBLEMS if status != 404 or name == "SearchRequest"}
    found = {"description": summary, "model": answers, **more}
    extra = {"requestBody": {"required": True, "content": content}, "security": KEY}
    return {"summary": summary, "responses": {200: found, **refused}, "openapi_extra": extra}


ENCODE = _work("EncodeRequest", Encoded, "Codes of rows", content={"application/octet-stream": BINARY})
SEARCH = _work("SearchRequest", Answers, "The nearest rows of the index")
PROBE: Facts = {
    "summary": "Whether the service answers, and from which files",
    "responses": {200: {"description": "It does.", "content": {"application/json": {"schema": STATE}}}},
}


def described(app: fastapi.FastAPI, schemas: Schemas) -> Facts:
    """The whole description, with requests as the pair in use takes them."""
    found: Facts = fastapi.openapi.utils.get_openapi(
        title=app.title,
        version=app.version,
        openapi_version="3.1.0",
        summary="Codes of rows, and exact Hamming search.",
        routes=app.routes,
    )
    components = found["components"]
    components["schemas"] |= {"Problem": PROBLEM, **schemas.described()}
    components["securitySchemes"] = {
        "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
        "bearer": {"type": "http", "scheme": "bearer"},
    }
    least, most = schemas.row_bytes()
    for route, parameters in schemas.parameters().items():
        work = found["paths"][route]["post"]
        work["parameters"] = parameters
        rows = work["requestBody"]["content"]["application/octet-stream"]["schema"]
        work["requestBody"]["content"]["application/octet-stream"] = {
            "schema": {**rows, "minLength": least, "maxLength": most}
        }
    return found
