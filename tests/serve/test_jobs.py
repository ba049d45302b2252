"""Requests answered together get what each would get alone, whatever else is in the batch."""

from __future__ import annotations

import asyncio
import re
import threading
from contextlib import asynccontextmanager

import httpx
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kinhash.serve import Limits
from kinhash.serve import jobs as room

from .conftest import Local, P, app_of, rows_of

X = rows_of(40, seed=9)[0]
BYTES = {"Content-Type": "application/octet-stream"}


@pytest.fixture
def app(pairs):
    app = app_of(pairs / "a", limits=Limits(rows=room.MOST_ROWS))
    yield app
    app.state.service.close()


@asynccontextmanager
async def client_of(app):
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://here", timeout=60) as client:
        yield client


def answers(app, asked):
    """Status and body of requests that are sent at the same time."""

    async def send():
        async with client_of(app) as client:
            return await asyncio.gather(*[client.post(path, **how) for path, how in asked])

    return [(one.status_code, one.content) for one in asyncio.run(send())]


@st.composite
def requests(draw):
    rows = X[(start := draw(st.integers(0, 30))) : start + draw(st.integers(1, 6))]
    kind = draw(st.sampled_from(["encode", "bytes", "NaN", "codes", "ids", "vectors", "radius"]))
    if kind == "encode":
        return "/encode", {"json": {"vectors": rows.tolist(), "format": "hex"}}
    if kind == "bytes":
        return "/encode?format=bits", {"content": rows.tobytes(), "headers": BYTES}
    if kind == "NaN":
        return "/search?k=3", {"content": np.full((1, P), np.nan, "<f4").tobytes(), "headers": BYTES}
    body = {"k": draw(st.sampled_from([1, 3])), "payload": ["name"]}
    body["where"] = draw(st.sampled_from([None, {"kind": 1}, {"even": True}, {"gone": 1}]))
    if kind == "codes":
        body |= {"codes": [f"{row:05x}0" for row in range(len(rows))], "format": "hex"}
    elif kind == "ids":
        body["ids"] = list(range(len(rows)))
    else:
        body |= {"vectors": rows.tolist()} | ({"radius": 4} if kind == "radius" else {})
    if draw(st.booleans()):
        body["exclude"] = list(range(len(rows)))
    return "/search", {"json": body}


@given(asked=st.lists(requests(), min_size=1, max_size=8))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_together_as_alone(app, asked):
    assert answers(app, asked) == [answers(app, [one])[0] for one in asked]


@pytest.mark.parametrize("written", ["base64", "hex", "bits"])
def test_codes_survive_as_text(app, written):
    rows = {"vectors": X[:5].tolist()}

    async def ask():
        async with client_of(app) as client:
            codes = (await client.post("/encode", json={**rows, "format": written})).json()["codes"]
            by_codes = await client.post("/search", json={"codes": codes, "format": written})
            return by_codes.json(), (await client.post("/search", json=rows)).json()

    by_codes, by_rows = asyncio.run(ask())
    assert by_codes == by_rows


@asynccontextmanager
async def busy_service(app, monkeypatch):
    """A service whose thread is held by a request. What is posted meanwhile is a batch, or several."""
    going, real, service = threading.Event(), room.run, app.state.service
    monkeypatch.setattr(room, "run", lambda jobs: (going.wait(20), real(jobs))[1])
    async with client_of(app) as client:
        waiting = []

        async def post(path, **how):
            waiting.append(asyncio.create_task(client.post(path, **how)))
            while service.busy < len(waiting):
                await asyncio.sleep(0.01)

        await post("/search", json={"ids": [1]})
        yield post, waiting
        going.set()
        await asyncio.wait(waiting)


def test_two_indexes_of_one_model_are_searched_apart(app, pairs, monkeypatch):
    """As while a new index of the same model takes over."""
    keeper = app.state.service.keeper
    other = app_of(pairs / "named").state.service.keeper.pair
    assert other.model_id == keeper.pair.model_id
    body = {"vectors": X[:2].tolist(), "k": 3}

    async def ask():
        async with busy_service(app, monkeypatch) as (post, waiting):
            await post("/search", json=body)
            keeper.pair = other
            await post("/search", json=body)
        return [one.result().json()["results"] for one in waiting[1:]]

    assert asyncio.run(ask()) == [Local(pairs / name).search(X[:2], 3) for name in ("a", "named")]


def test_what_waits_is_taken_together_up_to_a_number_of_rows(app, monkeypatch):
    """All that wait are one batch, or several if they are many rows; who has gone leaves the others theirs."""
    sizes = [1, 2, 3, room.MOST_ROWS // 2, room.MOST_ROWS // 2, 1]

    async def ask():
        async with busy_service(app, monkeypatch) as (post, waiting):
            for n in sizes:
                await post("/encode", content=np.repeat(X[:1], n, axis=0).tobytes(), headers=BYTES)
        return [len(one.result().json()["codes"]) for one in waiting[1:]]

    assert asyncio.run(ask()) == sizes
    said = app.state.service.metrics.text().decode()
    counts = dict(re.findall(r"^kinhash_batch_requests_(count|sum) (\S+)", said, re.MULTILINE))
    assert {name: float(value) for name, value in counts.items()} == {"count": 3, "sum": 7}


def test_a_large_answer_does_not_hold_up_the_next_batch(app, monkeypatch):
    """It is written in a thread of its own, in the same words as a small one."""
    large, small = {"ids": list(range(400)), "k": 300, "payload": True}, {"ids": [1], "k": 3}
    going, real = threading.Event(), room.SearchJob.answer
    monkeypatch.setattr(
        room.SearchJob, "answer", lambda job, found: (len(job) == 1 or going.wait(20), real(job, found))[1]
    )

    async def ask():
        async with client_of(app) as client:
            writing = asyncio.create_task(client.post("/search", json=large))
            for _ in range(3):
                await client.post("/search", json=small)
            assert not writing.done()
            going.set()
            return (await writing).content

    body = asyncio.run(ask())
    monkeypatch.setattr(room, "SMALL", 10**9)
    assert answers(app, [("/search", {"json": large})]) == [(200, body)]


@pytest.mark.parametrize("where", ["run", "answer", "written apart"])
def test_a_mistake_of_ours_ends_a_request_and_not_the_service(app, where, monkeypatch):
    asked = [("/search", {"json": {"ids": [1]}})]
    with monkeypatch.context() as patch:
        patch.setattr(*((room, "run") if where == "run" else (room.SearchJob, "answer")), lambda *_: 1 / 0)
        patch.setattr(room, "SMALL", 0 if where == "written apart" else room.SMALL)
        assert answers(app, asked)[0][0] == 500
    assert answers(app, asked)[0][0] == 200
