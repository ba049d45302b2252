"""Files that are replaced under a running service: taken up together, or not at all."""

from __future__ import annotations

import os
import re
import shutil

import pytest

from kinhash.serve import pair as room

from .conftest import app_of, listening, put, until


@pytest.fixture
def service(here):
    return app_of(here, reload_seconds=60).state.service


@pytest.fixture
def heard(service):
    """How many changes of the files were refused, and how many loaded, so far."""

    def counts():
        said = service.metrics.text().decode()
        found = dict(re.findall(r'^kinhash_reloads_total\{outcome="(\w+)"\} (\d+)', said, re.MULTILINE))
        return int(found["refused"]), int(found["loaded"])

    return counts


@pytest.fixture
def keeper(service):
    return service.keeper


def test_nothing_is_loaded_while_nothing_changes(keeper, heard):
    before = keeper.pair
    keeper.look()
    keeper.look()
    assert keeper.pair is before
    assert heard() == (0, 0)
    keeper.wake()  # as SIGHUP does
    keeper.look()
    assert keeper.pair is not before
    assert (keeper.pair.number, keeper.pair.model_id) == (2, before.model_id)


@pytest.mark.parametrize("order", [("model.kin", "index.kin"), ("index.kin", "model.kin")])
def test_half_a_pair_is_refused_and_the_whole_one_taken_up(keeper, heard, pairs, here, order):
    before = keeper.pair
    put(pairs / "b", here, order[0])
    keeper.look()
    assert keeper.pair is before
    assert "different models" in keeper.refusal
    keeper.look()
    assert heard() == (1, 0)  # a refusal is not repeated while the files stay as they are
    put(pairs / "b", here, order[1])
    keeper.look()
    assert heard() == (1, 1)
    assert keeper.refusal is None
    assert keeper.pair.index.n_bits == 24
    assert keeper.pair.number == 2


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "text", "gone"])
def test_a_damaged_file_is_refused_until_it_is_whole(keeper, heard, pairs, here, damage):
    before, path = keeper.pair, here / "index.kin"
    content = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        flipped = bytearray(content)
        flipped[-5] ^= 1
        path.write_bytes(
            {"cut": content[:-9], "flipped": bytes(flipped), "empty": b"", "text": b"x" * 500}[damage]
        )
    keeper.look()
    keeper.look()
    assert keeper.pair is before
    assert keeper.refusal
    assert heard() == (1, 0)
    put(pairs / "a", here, "index.kin")
    keeper.look()
    assert keeper.refusal is None
    assert heard() == (1, 1)


def test_files_may_be_overwritten_in_place(keeper, pairs, here):
    """Mapped files would change under a search, or end the process; these were read."""
    pair = keeper.pair
    before = pair.index.search(pair.as_codes(pair.codes[:20]), 5)
    for name in ("model.kin", "index.kin"):
        shutil.copyfile(pairs / "b" / name, here / name)  # the same inode, shorter for a moment
    os.truncate(here / "index.kin", 10)
    after = pair.index.search(pair.as_codes(pair.codes[:20]), 5)
    assert (before.ids == after.ids).all()


def test_a_file_that_changes_while_it_is_read_is_read_again(keeper, heard, pairs, here, monkeypatch):
    load = room.load_pair

    def slowly(files, number):
        fresh = load(files, number)
        put(pairs / "a", here, "index.kin")
        return fresh

    before = keeper.pair
    keeper.wake()
    monkeypatch.setattr(room, "load_pair", slowly)
    keeper.look()
    assert keeper.pair is before
    monkeypatch.undo()
    keeper.look()
    assert keeper.pair is not before
    assert heard() == (0, 1)


def test_a_mistake_while_loading_keeps_the_pair_and_the_thread(keeper, heard, monkeypatch):
    before = keeper.pair
    monkeypatch.setattr("kinhash.serve.pair.load_pair", lambda *_: 1 / 0)
    keeper.wake()
    keeper.look()
    assert keeper.pair is before
    assert keeper.refusal == "ZeroDivisionError"
    assert heard() == (1, 0)


def test_the_probes_and_metrics_tell(pairs, here):
    from http.client import HTTPConnection

    from .conftest import ask

    app = app_of(here, reload_seconds=0.02)

    def metric(port, name):
        connection = HTTPConnection("127.0.0.1", port)
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
        connection.close()
        return float(next(line for line in lines if line.startswith(f"{name} ")).split()[1])

    with listening(app) as port:
        put(pairs / "b", here, "model.kin")
        until(lambda: ask(port, "/readyz")[1]["reload_refused"])
        status, state = ask(port, "/readyz")
        assert status == 200  # the pair before still answers
        assert "different models" in state["reload_refused"]
        until(lambda: metric(port, "kinhash_reload_refused") == 1)  # set just after the state
        put(pairs / "b", here, "index.kin")
        until(lambda: ask(port, "/readyz")[1]["pair"] == 2)
        until(lambda: ask(port, "/readyz")[1]["reload_refused"] is None)
        until(lambda: metric(port, "kinhash_reload_refused") == 0)
        assert ask(port, "/search", {"ids": [1001], "k": 1})[0] == 200
