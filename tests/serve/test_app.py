"""Answers are those of the library, whatever form a request has; everything else is refused in JSON."""

from __future__ import annotations

import base64
import dataclasses
import json
import warnings

import numpy as np
import pytest
from fastapi.testclient import TestClient

from kinhash import HammingIndex, load
from kinhash.errors import CodesMismatch, InvalidInput
from kinhash.serve import Limits, create_app

from .conftest import JSON, Local, N, P, app_of, rows_of

BYTES = {"Content-Type": "application/octet-stream"}
X = rows_of(30, seed=5)[0]


@pytest.fixture(scope="module")
def local(pairs):
    return Local(pairs / "a")


@pytest.fixture(scope="module")
def client(pairs):
    with TestClient(app_of(pairs / "a")) as client:
        yield client


def results(response):
    assert response.status_code == 200, response.text
    return response.json()["results"]


# ---- codes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("written", ["base64", "hex", "bits"])
def test_codes_are_those_of_the_library_in_every_format(client, local, written):
    packed = local.model.encode(X).packed
    read = {
        "base64": lambda text: base64.b64decode(text),
        "hex": bytes.fromhex,
        "bits": lambda text: np.packbits(np.array(list(text), int)).tobytes(),
    }
    for answer in (
        client.post("/encode", json={"vectors": X.tolist(), "format": written}),
        client.post(f"/encode?format={written}", content=X.tobytes(), headers=BYTES),
    ):
        found = answer.json()
        assert (found["model_id"], found["n_bits"], found["format"]) == (local.model_id, 20, written)
        assert [read[written](text) for text in found["codes"]] == [row.tobytes() for row in packed]
        again = client.post("/search", json={"codes": found["codes"], "format": written, "k": 4})
        assert results(again) == local.search(X, 4)


def test_codes_as_bytes(client, local):
    wanted = local.model.encode(X).packed.tobytes()
    accept = {"Accept": "application/octet-stream"}
    for answer in (
        client.post("/encode", json={"vectors": X.tolist()}, headers=accept),
        client.post("/encode", content=X.tobytes(), headers=BYTES | accept),
    ):
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["x-kinhash-model"] == local.model_id
        assert answer.headers["x-kinhash-bits"] == "20"
        assert answer.content == wanted


# ---- neighbors -----------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 7, 500])
def test_neighbors_are_those_of_the_library(client, local, k):
    wanted = local.search(X, k)
    assert results(client.post("/search", json={"vectors": X.tolist(), "k": k})) == wanted
    assert results(client.post(f"/search?k={k}", json={"vectors": X.tolist()})) == wanted
    assert results(client.post(f"/search?k={k}", content=X.tobytes(), headers=BYTES)) == wanted


def test_whole_numbers_may_have_a_point(client):
    body = {"ids": [3.0], "k": 2.0, "radius": 9.0, "exclude": [4.0]}
    wanted = {"ids": [3], "k": 2, "radius": 9, "exclude": [4]}
    assert results(client.post("/search", json=body)) == results(client.post("/search", json=wanted))


def test_ten_neighbors_by_default_and_the_body_wins(client, local):
    assert results(client.post("/search", json={"vectors": X.tolist()})) == local.search(X, 10)
    assert results(client.post("/search?k=9", json={"vectors": X.tolist(), "k": 2})) == local.search(X, 2)


@pytest.mark.parametrize("radius", [0, 3, 9])
def test_radius(client, local, radius):
    found = local.index.search_radius(local.model.encode(X), radius)
    wanted = [{"ids": one.ids.tolist(), "distances": one.distances.tolist()} for one in found]
    assert results(client.post("/search", json={"vectors": X.tolist(), "radius": radius})) == wanted
    both = results(client.post("/search", json={"vectors": X.tolist(), "radius": radius, "k": 5}))
    assert both == [{name: values[:5] for name, values in one.items()} for one in wanted]


@pytest.mark.parametrize("folder", ["a", "named"])
def test_rows_of_the_index_find_others(pairs, folder):
    local = Local(pairs / folder)
    ids = local.index.ids[[3, 17, 399]].tolist()
    codes = local.index.codes()[[3, 17, 399]]

    def wanted(exclude):
        found = local.index.search(codes, 5, exclude=exclude)
        return [{"ids": one.ids.tolist(), "distances": one.distances.tolist()} for one in found]

    with TestClient(app_of(pairs / folder)) as client:
        assert results(client.post("/search", json={"ids": ids, "k": 5})) == wanted(ids)
        answer = client.post("/search", json={"ids": ids, "k": 5, "exclude": [None] * 3})
        assert results(answer) == wanted(None)
        unknown = client.post("/search", json={"ids": [ids[0], "x" if folder == "named" else -1]})
        assert unknown.status_code == 404
        assert "no row with the id" in unknown.json()["error"]


FILTERS = [
    {"kind": 2},
    {"kind": [1, 3], "even": False},
    {"name": "<b>row 8</b>"},
    {"kind": 77},
    [3, 1, 4, 1000],
    [],
    None,
    "kind == 2",
    "kind = 2",
    "no such thing (",
    {"gone": 1},
    {"kind": "two"},
    {"kind": 2.0, "even": [True]},
]


@pytest.mark.parametrize("where", FILTERS, ids=str)
def test_filters_are_those_of_the_library(client, local, where):
    """A text too, as far as the library knows a grammar for it."""
    answers = [client.post("/search", json={"vectors": X.tolist(), "where": where})]
    if isinstance(where, str):
        answers.append(client.post("/search", params={"where": where}, content=X.tobytes(), headers=BYTES))
    try:
        status, wanted = 200, local.search(X, 10, where=where)
    except InvalidInput as problem:
        status, wanted = 422, problem.wrong
    for answer in answers:
        found = answer.json()
        assert (answer.status_code, found.get("results", found.get("error"))) == (status, wanted)


def test_payload_columns_come_with_the_neighbors(client, local):
    columns = local.index.payload
    for asked, names in ((True, ["kind", "name", "price", "even"]), (["name"], ["name"])):
        for one in results(client.post("/search", json={"ids": [3, 10], "payload": asked})):
            wanted = {name: columns[name][one["ids"]].tolist() for name in names}
            if "price" in wanted:
                wanted["price"] = [None if np.isnan(value) else value for value in wanted["price"]]
            assert one["payload"] == wanted
    assert "payload" not in results(client.post("/search", json={"ids": [3]}))[0]


# ---- refusals ------------------------------------------------------------------------------------

ROW = [0.0] * P
WRONG = [
    ("/search", b"{", "JSON"),
    ("/search", b"", "JSON"),
    ("/search", b"\xff\xfe", "JSON"),
    ("/search", b"[" * 20_000, "JSON"),
    ("/search", b'{"ids": ["\\ud800"]}', "read"),
    ("/search", [], "one of the fields"),
    ("/search", {}, "one of the fields"),
    ("/search", {"ids": [1], "vectors": [ROW]}, "one of the fields"),
    ("/search", {"codes": ["AAAA"], "format": "octal"}, "one of the fields"),
    ("/search", {"ids": []}, "ids"),
    ("/search", {"ids": ["a"]}, "ids"),
    ("/search", {"ids": [True]}, "ids"),
    ("/search", {"ids": [2**63]}, "ids"),
    ("/search", {"ids": [1], "k": 0}, "k"),
    ("/search", {"ids": [1], "k": "3"}, "k"),
    ("/search", {"ids": [1.5], "k": 3}, "ids"),
    ("/search", {"ids": [1], "k": 1001}, "k"),
    ("/search", {"ids": [1], "radius": -1}, "radius"),
    ("/search", {"ids": [1], "kk": 1}, "kk"),
    ("/search", {"ids": [1], "exclude": [1, 2]}, "exclude"),
    ("/search", {"ids": [1], "exclude": ["a"]}, "exclude"),
    ("/search", {"ids": [1], "payload": ["gone"]}, "payload"),
    ("/search", {"ids": [1], "where": {"kind": {}}}, "where"),
    ("/search", {"ids": [1], "where": {"kind": None}}, "where"),
    ("/search", {"ids": [1], "where": 5}, "where"),
    ("/search", {"vectors": [ROW[1:]]}, "vectors"),
    ("/search", {"vectors": [["0"] * P]}, "vectors"),
    ("/search", {"vectors": [ROW], "view": "left"}, "view"),
    ("/search", {"codes": ["AAA"]}, "pattern"),
    ("/search", {"codes": ["////"]}, "padding"),
    ("/search?k=zero", {"ids": [1]}, "k"),
    ("/search?kk=1", {"ids": [1]}, "kk"),
    ("/encode", {"vectors": [ROW] * 1001}, "vectors"),
    ("/encode", {"vectors": []}, "vectors"),
    ("/encode", {"vectors": [ROW], "format": "octal"}, "format"),
    ("/encode", json.dumps({"vectors": [[float("nan")] * P]}).encode(), "finite"),
]


@pytest.mark.parametrize(("path", "body", "says"), WRONG, ids=lambda value: str(value)[:40])
def test_what_cannot_be_answered_is_refused_in_words(client, path, body, says):
    sent = body if isinstance(body, bytes) else json.dumps(body)
    answer = client.post(path, content=sent, headers=JSON)
    assert answer.status_code == 422, answer.text
    assert says in answer.json()["error"]
    assert len(answer.text) < 2000


FIELDS = [
    ({"where": 5}, "where must be a condition as text, a mapping of payload columns"),
    ({"where": {"kind": {}}}, "where must be a condition as text, a mapping of payload columns"),
    ({"where": [1.5, "a"]}, "where must be a condition as text, a mapping of payload columns"),
    ({"payload": "year"}, "payload must be true, false, or a list of payload columns"),
    ({"payload": [1]}, "payload must be true, false, or a list of payload columns"),
    ({"payload": ["kinds"]}, "There is no payload column called 'kinds'"),
    ({"exclude": ["a"]}, "exclude.0: Input should be a valid integer"),
]


@pytest.mark.parametrize(("options", "says"), FIELDS, ids=lambda value: str(value)[:40])
def test_a_mistyped_field_is_named_with_what_it_may_be(client, options, says):
    for way in ({"ids": [1]}, {"vectors": [ROW]}):
        said = client.post("/search", json=way | options).json()["error"]
        assert says in said
        assert not any(word in said for word in ("union", "dict[", "list[", "ids.", "vectors."))


def test_the_place_of_a_mistake_is_named_once(client):
    said = client.post("/search", json={"vectors": [[*ROW[1:], "x"]]}).json()["error"]
    assert said == "The request cannot be read: vectors.0.5: Input should be a valid number"
    said = client.post("/search", json={"codes": ["zz"], "format": "hex"}).json()["error"]
    assert "read: codes.0: " in said


def test_columns_of_an_index_without_payload(local, tmp_path):
    local.model.save(tmp_path / "model.kin")
    HammingIndex.from_codes(local.index.codes()).save(tmp_path / "index.kin")
    with TestClient(app_of(tmp_path)) as client:
        said = client.post("/search", json={"ids": [1], "payload": ["year"]}).json()
        assert said["error"] == "The request wants the payload column 'year', and the index has no payload"
        assert said["expected"] == "an index with payload columns"
        (one,) = results(client.post("/search", json={"ids": [1], "payload": True}))
        assert "payload" not in one


@pytest.mark.parametrize(
    "body",
    [b"", b"\0" * 23, b"\0" * 25, b"\0" * (24 * 1001), np.full(P, np.nan, "<f4").tobytes()],
    ids=["none", "short", "long", "many", "nan"],
)
def test_plain_numbers_are_checked(client, body):
    for path in ("/encode", "/search"):
        answer = client.post(path, content=body, headers=BYTES)
        assert answer.status_code == 422, answer.text


def test_other_types_paths_and_methods(client):
    assert client.post("/encode", content=b"x", headers={"Content-Type": "text/plain"}).status_code == 415
    for answer, status in (
        (client.get("/gone"), 404),
        (client.get("/search"), 405),
        (client.post("/healthz"), 405),
    ):
        assert answer.status_code == status
        assert answer.json()["error"]


def test_a_wide_radius_is_refused_rather_than_cut(pairs, local):
    with TestClient(app_of(pairs / "a", limits=Limits(k=50))) as client:
        answer = client.post("/search", json={"ids": [1], "radius": 60})
        assert answer.status_code == 422
        assert "More than 50 rows" in answer.json()["error"]
        assert len(results(client.post("/search", json={"ids": [1], "radius": 60, "k": 50}))[0]["ids"]) == 50


def test_an_answer_that_is_too_large_is_refused(pairs):
    """Rows × neighbors × (payload columns + 1); no row has more neighbors than the index has rows."""
    with TestClient(app_of(pairs / "a", limits=Limits(answer_values=2 * N))) as client:
        fits = [
            {"ids": [1, 2], "k": 1000},
            {"ids": [1, 2], "k": 200, "payload": ["kind"]},
            {"ids": [1, 2], "radius": 60},
        ]
        for body in fits:
            assert len(results(client.post("/search", json=body))) == 2
        beyond = [
            {"ids": [1, 2, 3], "k": 1000},
            {"ids": [1, 2, 3], "k": 200, "payload": ["kind"]},
            {"ids": [1, 2], "k": 81, "payload": True},
            {"ids": [1, 2], "radius": 60, "payload": ["kind"]},
        ]
        for body in beyond:
            answer = client.post("/search", json=body)
            assert answer.status_code == 422
            said = answer.json()
            assert "payload columns + 1" in said["error"]
            assert (said["expected"], "answer_values" in said["remedy"]) == ("at most 800", True)


def test_a_body_that_is_too_large(pairs):
    with TestClient(app_of(pairs / "a", limits=Limits(body_bytes=1000))) as client:
        answer = client.post("/encode", content=b" " * 1001, headers=JSON)
        assert answer.status_code == 413
        assert "1,001 bytes" in answer.json()["error"]

        def parts():
            for _ in range(20):
                yield b" " * 100

        assert client.post("/encode", content=parts(), headers=JSON).status_code == 413
        assert client.post("/encode", json={"vectors": [[0.5] * P]}).status_code == 200


# ---- keys ----------------------------------------------------------------------------------------


def test_requests_need_one_of_the_keys(pairs):
    with TestClient(app_of(pairs / "a", api_keys=["first", "sécond"])) as client:

        def search(headers):
            return client.post("/search", json={"ids": [1]}, headers=headers)

        for headers in (
            {"X-API-Key": "first"},
            {"X-API-Key": "sécond".encode()},
            {"Authorization": "Bearer first"},
        ):
            assert search(headers).status_code == 200
            assert client.get("/metrics", headers=headers).status_code == 200
            assert client.get("/page.json", headers=headers).json()["ids"] == [0, 1, 2]
        for headers in ({}, {"X-API-Key": ""}, {"X-API-Key": "firs"}, {"Authorization": "Basic first"}):
            refused = search(headers)
            assert refused.status_code == 401
            assert "key" in refused.json()["error"]
            assert client.get("/metrics", headers=headers).status_code == 401
            assert client.get("/page.json", headers=headers).status_code == 401
            assert client.get("/openapi.json", headers=headers).status_code == 401  # it names columns
        huge = client.post("/search", content=b" " * 17_000_000, headers=JSON)
        assert huge.status_code == 401  # the body of a stranger is not looked at
        for path in ("/", "/page.js", "/livez", "/healthz", "/readyz"):
            answer = client.get(path)
            assert answer.status_code == 200
            assert "price" not in answer.text


def test_an_empty_key_is_refused(pairs):
    with pytest.raises(InvalidInput, match="API key is empty"):
        app_of(pairs / "a", api_keys=[""])


# ---- what the service says of itself -------------------------------------------------------------


def test_probes(client, local):
    for path in ("/livez", "/healthz", "/readyz"):
        state = client.get(path).json()
        assert state == {
            "status": "ok",
            "model_id": local.model_id,
            "pair": 1,
            "rows": N,
            "reload_refused": None,
        }


def test_metrics_count_requests_rows_and_batches(pairs):
    with TestClient(app_of(pairs / "a")) as client:
        for k in (1, 2, 3):
            client.post("/search", json={"ids": [1, 2], "k": k})
        client.post("/search", json={})
        client.get("/made/up")
        lines = dict(
            line.rsplit(" ", 1) for line in client.get("/metrics").text.splitlines() if line[0] != "#"
        )
    wanted = {
        'kinhash_requests_total{route="/search",status="200"}': 3,
        'kinhash_requests_total{route="/search",status="422"}': 1,
        'kinhash_requests_total{route="other",status="404"}': 1,
        'kinhash_rows_total{route="/search"}': 6,
        'kinhash_request_seconds_count{route="/search"}': 4,
        "kinhash_batch_requests_count": 3,
        'kinhash_reloads_total{outcome="loaded"}': 0,
        "kinhash_reload_refused": 0,
        "kinhash_index_rows": N,
        "kinhash_pair_number": 1,
        "kinhash_requests_in_progress": 1,
    }
    assert {name: float(lines[name]) for name in wanted} == wanted
    assert "made/up" not in "".join(lines)


def test_the_description_is_of_the_pair_that_is_served(client, pairs):
    found = client.get("/openapi.json").json()
    assert found["openapi"].startswith("3.1")
    row = found["components"]["schemas"]["EncodeRequest"]["properties"]["vectors"]["items"]
    assert row["minItems"] == row["maxItems"] == P
    assert {"/encode", "/search", "/livez"} <= found["paths"].keys()
    options = {one["name"]: one["schema"] for one in found["paths"]["/search"]["post"]["parameters"]}
    assert options["k"] == {"type": "integer", "minimum": 1, "maximum": 1000}
    text = json.dumps(found)
    assert all(name in text for name in ("kind", "price", "X-API-Key"))

    def refs(value):
        if isinstance(value, dict):
            yield from ([value["$ref"]] if "$ref" in value else [])
            for one in value.values():
                yield from refs(one)
        elif isinstance(value, list):
            for one in value:
                yield from refs(one)

    for ref in refs(found):
        place = found
        for name in ref.removeprefix("#/").split("/"):
            place = place[name]


def test_the_page_is_whole_and_asks_only_its_own_service(client):
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert "script-src 'self'" in page.headers["content-security-policy"]
    for name in ("page.js", "page.css"):
        assert name in page.text
        text = client.get(f"/{name}").text
        assert "http:" not in text
        assert "https:" not in text
        assert "innerHTML" not in text


@pytest.mark.parametrize(
    ("payload", "where"),
    [
        (
            {"kind": np.arange(N), "name": ['a "b\\'] * N, "third": np.ones(N)},
            'kind >= 0 and name == "a \\"b\\\\"',
        ),
        ({"not": [True] * N, "two words": np.full(N, 1.5)}, "`not` == true and `two words` >= 1.5"),
        ({"price": np.full(N, np.nan), "tags": [["x"]] * N, "none": [[]] * N}, '"x" in tags'),
        ({"long": ["x" * 99] * N}, None),
        (None, None),
    ],
    ids=str,
)
def test_the_page_has_ids_and_a_filter_to_begin_with(local, tmp_path, payload, where):
    local.model.save(tmp_path / "model.kin")
    ids = [f"row {i:03}" for i in range(N)]
    HammingIndex.from_codes(local.index.codes(), ids=ids, payload=payload).save(tmp_path / "index.kin")
    with TestClient(app_of(tmp_path)) as client:
        hints = client.get("/page.json").json()
        assert hints == {"ids": ids[:3], "where": where}
        assert "page.json" in client.get("/page.js").text
        (one,) = results(
            client.post("/search", json={"ids": ids[:1], "where": where, "exclude": [None], "k": N})
        )
        assert ids[0] in one["ids"]


def test_a_model_and_an_index_that_do_not_belong_together(pairs):
    with pytest.raises(CodesMismatch, match="made"):
        create_app(pairs / "a/model.kin", pairs / "b/index.kin")


@pytest.mark.parametrize("name", [one.name for one in dataclasses.fields(Limits)])
def test_limits_are_positive_whole_numbers(name):
    with pytest.raises(InvalidInput, match=name):
        Limits(**{name: 0})


def test_strange_rows_are_answered_and_warned_of(pairs, caplog):
    """The warning of `encode`, once; the warm-up with zeros must not have used it up."""
    with TestClient(app_of(pairs / "a")) as client, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        strange = (1000 * X).tolist()
        assert client.post("/encode", json={"vectors": strange}).status_code == 200
    assert any("unlike those" in str(one.message) for one in caught)


def test_lists_of_no_neighbors(local, tmp_path):
    local.model.save(tmp_path / "model.kin")
    tags = [["a", "b"] if row % 2 else [] for row in range(N)]
    HammingIndex.from_codes(local.index.codes(), payload={"tags": tags}).save(tmp_path / "index.kin")
    with TestClient(app_of(tmp_path)) as client:
        asked = {"ids": [3], "k": 1, "payload": ["tags"], "where": {"tags": "c"}}
        (one,) = results(client.post("/search", json=asked))
        assert (one["ids"], one["payload"]) == ([], {"tags": []})
        (one,) = results(client.post("/search", json=asked | {"where": {"tags": "a"}}))
        assert one["payload"] == {"tags": [["a", "b"]]}


def test_what_is_the_same_is_what_the_model_decided(pairs, tmp_path):
    model = load(pairs / "a" / "model.kin")
    index = HammingIndex.load(pairs / "a" / "index.kin")
    with TestClient(app_of(pairs / "a")) as client:
        answer = client.post("/search", json={"ids": [1], "same": True})
        assert answer.status_code == 422
        assert "no radius within which rows are the same" in answer.json()["error"]
        assert client.get("/info").json()["same"] is None
    X, y = rows_of(seed=1)
    decision = model.decide(X, y, max_false=0.2)
    assert decision.radius is not None
    model.save(tmp_path / "model.kin")
    index.save(tmp_path / "index.kin")
    with TestClient(app_of(tmp_path)) as client:
        same = results(client.post("/search", json={"vectors": X[:5].tolist(), "same": True}))
        by_radius = {"vectors": X[:5].tolist(), "radius": decision.radius}
        assert same == results(client.post("/search", json=by_radius))
        about = client.get("/info").json()
        assert about["same"]["radius"] == decision.radius
        assert about["same"]["text"] == decision.text()
        assert client.post("/search", json={**by_radius, "same": True}).status_code == 422
