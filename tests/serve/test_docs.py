"""docs/serve.md: its requests are answered, its options and metrics exist, its lines run."""

from __future__ import annotations

import dataclasses
import re
import shlex
from pathlib import Path

import click
import pytest
from fastapi.testclient import TestClient

from kinhash.cli import kinhash as program
from kinhash.serve import Limits

from .conftest import app_of, rows_of

PAGE = Path(__file__).parents[2] / "docs/serve.md"
if not PAGE.exists():
    pytest.skip("the page is in a clone", allow_module_level=True)
TEXT = PAGE.read_text("utf-8")
BLOCKS = re.findall(r"^```\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


def test_requests_of_the_page_are_answered(pairs):
    requests = [shlex.split(block) for block in BLOCKS if block.startswith("curl ")]
    assert len(requests) == 2
    with TestClient(app_of(pairs / "a")) as client:
        for _, address, _, header, _, body in requests:
            body = rows_of(3)[0].tobytes() if body.startswith("@") else body
            name, _, kind = header.partition(": ")
            path = address.removeprefix("localhost:8080")
            assert client.post(path, content=body, headers={name: kind}).status_code == 200


def test_options_routes_and_metrics_of_the_page_exist(pairs):
    serve = program.get_command(click.Context(program), "serve")
    known = {option for parameter in serve.params for option in parameter.opts}
    named = set(re.findall(r"`(--[a-z-]+)`", TEXT))
    assert named == known - {"model", "index", "--json"}
    with TestClient(app_of(pairs / "a")) as client:
        client.post("/search", json={"ids": [1]})
        said = client.get("/metrics").text
        routes = {route.path for route in client.app.routes}
    for name in re.findall(r"`((?:kinhash|process)_\w+)", TEXT):
        assert re.search(rf"^{name}", said, re.MULTILINE), name
    assert set(re.findall(r"`(?:GET|POST) (/[\w.]*)`", TEXT)) <= routes


def test_limits_of_the_page_are_the_defaults():
    limits = Limits()
    for value in dataclasses.astuple(limits):
        assert f"{value:,}" in TEXT


def test_the_lines_of_the_page_make_an_application(pairs, monkeypatch):
    monkeypatch.chdir(pairs / "a")
    (block,) = [block for block in BLOCKS if "create_app" in block]
    names: dict[str, object] = {}
    exec(block, names)
    with TestClient(names["app"]) as client:
        assert client.post("/search", json={"ids": [1]}).status_code == 401
