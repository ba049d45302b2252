"""Requests answered together get what each would get alone, whatever else is in the batch."""

from __future__ import annotations

import asyncio
import json
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinhash.serve import jobs as room
from kinhash.serve.jobs import MOST_ROWS, Batches, EncodeJob, SearchJob, read_codes, run, write_codes
from kinhash.serve.pair import Files, load_pair

from .conftest import P, rows_of

X = rows_of(40, seed=9)[0]
BAD = np.full((1, P), np.nan, np.float32)


@pytest.fixture(scope="module")
def loaded(pairs):
    return [
        load_pair(Files(str(pairs / name / "model.kin"), str(pairs / name / "index.kin")), number)
        for number, name in enumerate("ab", 1)
    ]


def test_two_indexes_of_one_model_are_searched_apart(loaded, pairs):
    """As while a new index of the same model takes over."""
    again = load_pair(Files(str(pairs / "a/model.kin"), str(pairs / "named/index.kin")), 3)
    assert again.model_id == loaded[0].model_id
    jobs = [SearchJob(pair, X[:2], k=3) for pair in (loaded[0], again)]
    for job, body in zip(jobs, run(jobs), strict=True):
        found = job.pair.index.search(job.pair.model.encode(X[:2]), 3)
        assert [one["ids"] for one in json.loads(body)["results"]] == found.ids.tolist()


@st.composite
def requests(draw):
    """What a job is made of, apart from the pair."""
    start, size = draw(st.integers(0, 30)), draw(st.integers(1, 6))
    facts = {
        "pair": draw(st.integers(0, 1)),
        "rows": slice(start, start + size),
        "kind": draw(st.integers(0, 4)),
    }
    facts["k"] = draw(st.sampled_from([1, 3]))
    facts["where"] = draw(st.sampled_from([None, {"kind": 1}, {"even": True}, {"gone": 1}]))
    facts["exclude"] = draw(st.booleans())
    return facts


def job_of(loaded, facts):
    pair, rows = loaded[facts["pair"]], X[facts["rows"]]
    if facts["kind"] == 0:
        return EncodeJob(pair, rows.astype(np.float64) if facts["k"] == 1 else rows, written="hex")
    if facts["kind"] == 1:
        return SearchJob(pair, BAD, k=facts["k"])
    own = pair.ids[facts["rows"]].tolist() if facts["exclude"] else None
    how = {"k": facts["k"], "where": facts["where"], "exclude": own, "columns": ("name",)}
    if facts["kind"] == 2:
        return SearchJob(pair, packed=pair.codes[facts["rows"]], **how)
    return SearchJob(pair, rows, radius=4 if facts["kind"] == 3 else None, **how)


def plain(outcome):
    return (type(outcome), str(outcome)) if isinstance(outcome, Exception) else outcome


@given(asked=st.lists(requests(), min_size=1, max_size=8))
def test_together_as_alone(loaded, asked):
    jobs = [job_of(loaded, facts) for facts in asked]
    assert list(map(plain, run(jobs))) == [plain(run([job])[0]) for job in jobs]


def test_an_answer_names_the_pair_it_comes_from(loaded):
    found = run([SearchJob(pair, X[:1], k=2) for pair in loaded])
    for pair, body in zip(loaded, map(json.loads, found), strict=True):
        assert (body["model_id"], body["pair"]) == (pair.model_id, pair.number)
        assert all((one >= 1000) == (pair.number == 2) for one in body["results"][0]["ids"])


def test_what_waits_is_taken_together_up_to_a_number_of_rows(loaded):
    """All that wait are one batch, or several if they are many rows."""
    sizes = []

    async def ask():
        batches = Batches(sizes.append)
        big = np.repeat(X[:1], MOST_ROWS // 2, axis=0)
        jobs = [EncodeJob(loaded[0], rows) for rows in (X[:1], X[:2], X[:3], big, big, X[:1])]
        bodies = await asyncio.gather(*map(batches.answer, jobs))
        batches.close()
        return [len(body) for body in bodies]

    assert asyncio.run(ask()) == [3, 6, 9, 3 * MOST_ROWS // 2, 3 * MOST_ROWS // 2, 3]
    assert sizes == [4, 2]


def test_a_client_that_has_gone_leaves_the_others_their_answers(loaded):
    async def ask():
        batches = Batches(lambda _: None)
        tasks = [asyncio.ensure_future(batches.answer(EncodeJob(loaded[0], X[:1]))) for _ in range(5)]
        await asyncio.sleep(0)
        tasks[2].cancel()
        done = await asyncio.gather(*tasks, return_exceptions=True)
        batches.close()
        return done

    kinds = [type(one) for one in asyncio.run(ask())]
    assert kinds == [bytes, bytes, asyncio.CancelledError, bytes, bytes]


def test_what_no_client_waits_for_is_not_computed(loaded, monkeypatch):
    going, computed = threading.Event(), []

    def slowly(jobs):
        computed.extend(len(job) for job in jobs)
        going.wait(20)
        return run(jobs)

    monkeypatch.setattr("kinhash.serve.jobs.run", slowly)

    async def ask():
        batches = Batches(lambda _: None)
        first, *others = [batches.answer(EncodeJob(loaded[0], X[:n])) for n in (1, 2, 3)]
        await asyncio.sleep(0)  # the first batch, of all three, begins
        late = [batches.answer(EncodeJob(loaded[0], X[:n])) for n in (4, 5, 6)]
        for one in late[:2]:
            one.cancel()
        going.set()
        await asyncio.gather(first, *others, late[2])
        batches.close()

    asyncio.run(ask())
    assert computed == [1, 2, 3, 6]


def test_a_large_answer_does_not_hold_up_the_next_batch(loaded, monkeypatch):
    """It is written in a thread of its own, in the same words as a small one."""
    going, real = threading.Event(), SearchJob.answer
    large = SearchJob(loaded[0], packed=loaded[0].codes, k=300, columns=("name", "price"))
    small = SearchJob(loaded[0], packed=loaded[0].codes[:1], k=3)
    assert small.n_values <= room.SMALL < large.n_values
    monkeypatch.setattr(
        SearchJob, "answer", lambda job, found: (job is small or going.wait(20), real(job, found))[1]
    )

    async def ask():
        batches = Batches(lambda _: None)
        writing = batches.answer(large)
        for _ in range(3):
            await batches.answer(small)
        assert not writing.done()
        gone = batches.answer(large)
        await batches.answer(small)
        gone.cancel()
        going.set()
        body = await writing
        batches.close()
        return body

    body = asyncio.run(ask())
    monkeypatch.setattr(room, "SMALL", large.n_values)
    assert run([large]) == [body]


def test_a_mistake_in_a_large_answer_ends_its_request(loaded, monkeypatch):
    monkeypatch.setattr(room, "SMALL", 0)
    monkeypatch.setattr(SearchJob, "answer", lambda job, found: 1 / 0)

    async def ask():
        batches = Batches(lambda _: None)
        with pytest.raises(ZeroDivisionError):
            await batches.answer(SearchJob(loaded[0], X[:1], k=2))
        batches.close()

    asyncio.run(ask())


def test_a_mistake_of_ours_ends_requests_and_not_the_service(loaded, monkeypatch):
    async def ask():
        batches = Batches(lambda _: None)
        monkeypatch.setattr("kinhash.serve.jobs.run", lambda jobs: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            await batches.answer(EncodeJob(loaded[0], X[:1]))
        monkeypatch.undo()
        body = await batches.answer(EncodeJob(loaded[0], X[:1]))
        batches.close()
        return body

    assert len(asyncio.run(ask())) == 3


@given(
    n_bits=st.integers(1, 40),
    n=st.integers(1, 5),
    seed=st.integers(0, 99),
    written=st.sampled_from(["base64", "hex", "bits"]),
)
def test_codes_survive_as_text(n_bits, n, seed, written):
    packed = np.packbits(np.random.default_rng(seed).integers(0, 2, (n, n_bits)), axis=1)
    np.testing.assert_array_equal(read_codes(write_codes(packed, n_bits, written), n_bits, written), packed)
