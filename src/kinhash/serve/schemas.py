"""What requests and answers look like. The same types check requests and describe them in /openapi.json.

They are made for one pair: a row has as many numbers as the model takes columns, ids are numbers or strings
as the index has them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import fastapi
import pydantic

from .._internal.types import Facts
from ..codes import n_bytes
from .pair import Pair

if TYPE_CHECKING:
    from .requests import Limits


FORMATS = ("base64", "hex", "bits")  # how a code is written as text
DEFAULT_K = 10
LARGEST_ID = 2**63
REF = "#/components/schemas/{model}"
Scalar = bool | int | float | str
MAY_BE = {  # options of a search that take several types
    "where": "a condition as text, a mapping of payload columns to values or lists, or a list of ids",
    "payload": "true, false, or a list of payload columns",
}


def _whole(value: object) -> object:
    """1.0 is an integer in JSON, and stays what it is otherwise."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _integer(**bounds: int) -> Any:
    """Integers within bounds."""
    return Annotated[int, pydantic.Field(**bounds), pydantic.BeforeValidator(_whole)]


Field, create = pydantic.Field, pydantic.create_model


class Strict(pydantic.BaseModel):
    """Takes no field it does not know, and no text for a number."""

    model_config = pydantic.ConfigDict(extra="forbid", strict=True)


class Encoded(pydantic.BaseModel):
    """The codes of rows, in their order."""

    model_id: str
    pair: int = Field(description="Number of the pair of files that answered.")
    n_bits: int
    format: Literal["base64", "hex", "bits"]
    codes: list[str]


class Found(pydantic.BaseModel):
    """The neighbors of one query, nearest first, equal distances by ascending id."""

    ids: list[int | str]
    distances: list[int | float]
    payload: dict[str, list[Any]] | None = Field(None, description="Columns of these rows, if asked for.")


class Answers(pydantic.BaseModel):
    """The neighbors of every query, in their order. All of them come from one pair of files."""

    model_id: str
    pair: int = Field(description="Number of the pair of files that answered.")
    results: list[Found]


class Problem(pydantic.BaseModel):
    """Why a request was not answered."""

    error: str
    expected: str
    remedy: str


class About(pydantic.BaseModel):
    """The model that answers, and what it decided about which rows are the same, with the evidence."""

    model_id: str
    pair: int = Field(description="Number of the pair of files that answered.")
    n_bits: int
    rows: int
    columns: int
    same: dict[str, Any] | None = Field(description="The decision, for rows of the first view.")
    views: dict[str, dict[str, Any]] = Field(description="Columns and decision of each view.")


class State(pydantic.BaseModel):
    """What the service has loaded."""

    status: Literal["ok"]
    model_id: str
    pair: int = Field(description="How many pairs of files this service has loaded.")
    rows: int
    reload_refused: str | None = Field(description="Why the files on disk are not those that answer.")


@dataclass(frozen=True)
class Schemas:
    """Checks of what comes in: bodies as JSON, and options of a body of plain float32 numbers."""

    encode: pydantic.TypeAdapter
    search: pydantic.TypeAdapter
    encode_options: type[pydantic.BaseModel]
    search_options: type[pydantic.BaseModel]

    def described(self) -> Facts:
        """The requests as JSON schemas, by name."""
        found: Facts = {}
        for name, adapter in (("EncodeRequest", self.encode), ("SearchRequest", self.search)):
            schema = adapter.json_schema(ref_template=REF)
            found |= schema.pop("$defs", {})
            found[name] = schema
        return found

    def parameters(self) -> dict[str, list[Facts]]:
        """The options in the address, by route, as OpenAPI describes them."""
        routes = {"/encode": self.encode_options, "/search": self.search_options}
        return {
            route: [
                _parameter(name, given) for name, given in model.model_json_schema()["properties"].items()
            ]
            for route, model in routes.items()
        }

    def row_bytes(self) -> tuple[int, int]:
        """Least and most bytes of a body of plain numbers."""
        vectors = self.encode.json_schema()["properties"]["vectors"]
        row = vectors["items"]
        return 4 * row["minItems"], 4 * row["maxItems"] * vectors["maxItems"]


def _parameter(name: str, given: Facts) -> Facts:
    """One option; an address has no null, so a default of None is no default there."""
    kinds = [kind for kind in given.get("anyOf", [given]) if kind.get("type") != "null"]
    names = ("type", "enum", "minimum", "maximum", "minLength", "format")
    schema = {key: value for key, value in {**given, **kinds[0]}.items() if key in names}
    return {"name": name, "in": "query", "description": given["description"], "schema": schema}


def schemas_of(pair: Pair, limits: Limits) -> Schemas:
    """The checks for this pair under these limits."""
    number = Annotated[float, Field(allow_inf_nan=False)]
    widths = pair.widths.values()
    row = Annotated[list[number], Field(min_length=min(widths), max_length=max(widths), fail_fast=True)]
    vectors = (_some(row, limits), Field(description="Rows of numbers, one per column of the model."))
    view = _views(pair)
    written = (Literal[FORMATS], Field("base64", description="How codes are written."))
    encode = create("EncodeRequest", __base__=Strict, vectors=vectors, format=written, **view)
    options = _options(pair, limits)
    given = {
        "vectors": {"vectors": vectors, **view},
        "ids": {"ids": (_some(_an_id(pair), limits), Field(description="Rows of the index to start from."))},
    }
    given |= {name: _codes(name, pair, limits) for name in FORMATS}
    ways = [
        Annotated[create(f"SearchBy_{way}", __base__=Strict, **fields, **options), pydantic.Tag(way)]
        for way, fields in given.items()
    ]
    search = ways[0]
    for way in ways[1:]:
        search = search | way
    search = Annotated[
        search, pydantic.Discriminator(_way, custom_error_type="way", custom_error_message=WAYS)
    ]
    lax = pydantic.ConfigDict(extra="forbid")
    return Schemas(
        pydantic.TypeAdapter(encode),
        pydantic.TypeAdapter(search),
        create("EncodeOptions", __config__=lax, format=written, **view),
        create("SearchOptions", __config__=lax, **view, **_in_address(options)),
    )


WAYS = "one of the fields vectors, codes and ids is needed, and a format that is one of " + ", ".join(FORMATS)


def _way(body: object) -> str | None:
    """Which way to search a body asks for; None if that cannot be said."""
    if not isinstance(body, dict):
        return None
    named = [name for name in ("vectors", "codes", "ids") if name in body]
    if len(named) != 1:
        return None
    if named[0] != "codes":
        return named[0]
    way = body.get("format", FORMATS[0])
    return way if isinstance(way, str) and way in FORMATS else None


def _some(kind: Any, limits: Limits) -> Any:
    return Annotated[list[kind], Field(min_length=1, max_length=limits.rows, fail_fast=True)]


def _views(pair: Pair) -> Facts:
    """The option that names a view, for models that have some."""
    names = tuple(name for name in pair.widths if name is not None)
    text = "Which view the rows are of; by default the one that the model was fitted on."
    return {"view": (Literal[names] | None, Field(None, description=text))} if names else {}


def _an_id(pair: Pair) -> Any:
    if pair.has_text_ids:
        return str
    return _integer(ge=-LARGEST_ID, lt=LARGEST_ID)


def _codes(written: str, pair: Pair, limits: Limits) -> Facts:
    """Codes as text of one format, which has one length and one alphabet."""
    size = n_bytes(pair.index.n_bits)
    patterns = {
        "base64": rf"^[A-Za-z0-9+/]{{{-(-4 * size // 3)}}}{'=' * (-size % 3)}$",
        "hex": rf"^[0-9A-Fa-f]{{{2 * size}}}$",
        "bits": rf"^[01]{{{pair.index.n_bits}}}$",
    }
    code = Annotated[str, Field(pattern=patterns[written])]
    how = (Literal[written], "base64" if written == "base64" else ...)
    return {"codes": (_some(code, limits), Field(description="Packed codes as text.")), "format": how}


def _options(pair: Pair, limits: Limits) -> Facts:
    """What every search may ask for."""
    k = _integer(ge=1, le=limits.k)
    radius = _integer(ge=0, le=2**31)
    an_id: Any = _an_id(pair)
    excluded = Annotated[list[an_id | None], Field(max_length=limits.rows, fail_fast=True)]
    names = {"enum": list(pair.payload)} if pair.payload else {}
    column: Any = Annotated[str, pydantic.WithJsonSchema({"type": "string", **names})]
    mapping = dict[str, Scalar | list[Scalar]]
    where = Annotated[str | mapping | list[an_id], pydantic.WithJsonSchema(_where(pair))]
    return {
        "k": (k | None, Field(None, description=f"Neighbors of each query. Default: {DEFAULT_K}.")),
        "radius": (
            radius | None,
            Field(None, description=f"All rows within this distance, if k is not given (up to {limits.k})."),
        ),
        "same": (
            bool,
            Field(False, description="All rows within the radius that the model decided; see /info."),
        ),
        "where": (where | None, Field(None, description="Filter over the payload, or ids to choose from.")),
        "exclude": (
            excluded | None,
            Field(None, description="For each query an id to leave out, or null. Default with ids: the ids."),
        ),
        "payload": (
            bool | list[column],
            Field(False, description="Columns to return with the neighbors; true for all."),
        ),
    }


def _in_address(options: Facts) -> Facts:
    """Those that can stand in the address, as text."""
    shown = {name: options[name] for name in ("k", "radius", "same")}
    text = Annotated[str, Field(min_length=1, json_schema_extra={"format": "filter"})]
    return shown | {
        "where": (text | None, Field(None, description="Filter over the payload, as text.")),
        "payload": (bool, Field(False, description="Whether payload columns are returned.")),
    }


def _where(pair: Pair) -> Facts:
    """A filter in words of JSON schema: text, a mapping of these columns to values, or ids."""
    columns = {name: _values(column) for name, column in pair.payload.items()}
    mapping = {"type": "object", "properties": columns, "additionalProperties": False}
    an_id = {"type": "string" if pair.has_text_ids else "integer"}
    text = {"type": "string", "minLength": 1, "format": "filter", "description": "A condition, as text."}
    return {"anyOf": [text, mapping, {"type": "array", "items": an_id}]}


def _values(column: Any) -> Facts:
    values = getattr(column, "values", column)  # of a column of lists, all of their entries
    one: Facts = {"type": "string" if values.dtype.kind not in "biuf" else ["number", "boolean"]}
    return {"anyOf": [one, {"type": "array", "items": one}]}


# ---- the description in OpenAPI 3.1 ----------------------------------------------------------------------

PROBLEMS = {
    400: "The request was cut off.",
    401: "The API key is missing or wrong.",
    404: "No such id, or no such page.",
    408: "The body took too long to arrive.",
    413: "The body is too large.",
    415: "The body is of another type.",
    422: "The request cannot be answered as it is.",
    429: "Too many requests at once.",
    500: "The service failed.",
    503: "There is not enough memory, or the service stops.",
}
KEY: list[dict[str, list[str]]] = [{"key": []}, {"bearer": []}, {}]
BINARY = {"schema": {"type": "string", "format": "binary"}}
ROWS = {
    "schema": {"type": "string", "format": "float32-rows", "contentMediaType": "application/octet-stream"}
}


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
    refused = {status: {"description": said, "model": Problem} for status, said in PROBLEMS.items()}
    if name == "EncodeRequest":
        del refused[404]  # it looks up no id
    found = {"description": summary, "model": answers, **more}
    extra = {"requestBody": {"required": True, "content": content}, "security": KEY}
    return {"summary": summary, "responses": {200: found, **refused}, "openapi_extra": extra}


ENCODE = _work("EncodeRequest", Encoded, "Codes of rows", content={"application/octet-stream": BINARY})
SEARCH = _work("SearchRequest", Answers, "The nearest rows of the index")
INFO: Facts = {
    "summary": "The model, and its evidence about which rows are the same",
    "responses": {
        200: {"description": "The model.", "model": About},
        401: {"description": PROBLEMS[401], "model": Problem},
    },
    "openapi_extra": {"security": KEY},
}
PROBE: Facts = {
    "summary": "Whether the service answers, and from which files",
    "responses": {200: {"description": "It does.", "model": State}},
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
    components["schemas"] |= schemas.described()
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
