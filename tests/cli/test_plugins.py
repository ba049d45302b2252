"""Commands of other packages: found by entry points, and named where they are missing."""

from __future__ import annotations

import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import click
import pytest

from kinhash import cli
from kinhash.errors import MissingExtra, UnknownName
from kinhash.files import BENCH_HASHERS, HASHERS

from .conftest import Run


@click.command(short_help="Say hello.")
def hello() -> None:
    """Say hello to whoever calls."""
    click.echo("hello")


NOT_A_COMMAND = 3


@pytest.fixture
def plugged(monkeypatch: pytest.MonkeyPatch):
    """Let these entry points be all there are."""

    def plug(**commands: str) -> None:
        points = [EntryPoint(name, f"{__name__}:{value}", cli.PLUGINS) for name, value in commands.items()]
        monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points)
        cli._plugins.cache_clear()

    yield plug
    cli._plugins.cache_clear()


def test_a_command_of_another_package_is_listed_and_runs(run: Run, plugged) -> None:
    plugged(hello="hello")
    assert "hello    Say hello." in run("--help").out
    assert run("hello").out == "hello\n"


def test_ours_cannot_be_replaced(run: Run, plugged) -> None:
    plugged(fit="hello")
    assert "Learn codes" in run("fit", "--help").out


@pytest.mark.parametrize("value", ["nothing_here", "NOT_A_COMMAND"])
def test_a_broken_plugin_breaks_nothing_else(run: Run, plugged, value: str) -> None:
    plugged(hello=value)
    assert "Learn codes from rows" in run("--help").out
    said = run("hello")
    assert said.code == 2
    assert "The command 'hello'" in said.err
    assert said.err.count("\n") == 1


@pytest.mark.parametrize("name", cli.BENCH_COMMANDS)
def test_without_the_laboratory_its_commands_say_what_to_install(run: Run, plugged, name: str) -> None:
    plugged()
    said = run(name, "whatever")
    assert (said.code, said.out) == (2, "")
    assert "pip install kinhash-bench" in said.err
    assert "pip install kinhash-bench" in run("--help").out


def test_without_the_laboratory_a_rival_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kinhash._internal.registry.find_spec", lambda name: None)
    with pytest.raises(UnknownName, match=r"no hasher called 'NoSuch'.*pip install kinhash-bench"):
        HASHERS["NoSuch"]
    here = HASHERS._targets()
    monkeypatch.setattr(HASHERS, "_rows", {name: here[name] for name in here if name not in BENCH_HASHERS})
    for name in ("SDH", "sdh"):
        with pytest.raises(MissingExtra, match=r"^SDH comes with the package kinhash-bench, which is not"):
            HASHERS[name]


def test_the_names_of_rivals_are_those_of_the_laboratory() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "bench/pyproject.toml").read_text())["project"]
    assert set(BENCH_HASHERS) == set(project["entry-points"]["kinhash.hashers"])
