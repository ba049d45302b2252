"""The API reference is whole: every public name has one entry, and every parameter is explained."""

from __future__ import annotations

import inspect
import sys
import warnings
from importlib import import_module
from pathlib import Path

import pytest

import kinhash

EXT = Path(__file__).parents[1] / "docs" / "_ext"
if not EXT.exists():
    pytest.skip("the reference is made from a clone", allow_module_level=True)
sys.path.insert(0, str(EXT))
listing = import_module("listing")
HOMES, DOORS = listing.entries()
WORDS = listing.glossary()


def things():
    """Public classes and functions with their methods, by full name."""
    for entry in HOMES:
        if entry.kind != "data":
            yield entry.full_name, entry.thing
            for name, value in listing.methods(entry).items():
                if not isinstance(value, property):
                    yield f"{entry.full_name}.{name}", value


def test_every_public_name_leads_to_one_entry():
    named = {f"{room}.{name}" for room in listing.rooms() for name in listing.room_names(room)}
    entries = [entry.full_name for entry in HOMES]
    assert len(entries) == len(set(entries))
    assert named == set(entries) | set(DOORS)


def test_every_public_room_is_listed():
    rooms = {f"kinhash.{name}" for name in kinhash.__all__ if inspect.ismodule(getattr(kinhash, name))}
    assert rooms <= set(listing.ROOMS)


@pytest.mark.parametrize("entry", HOMES, ids=lambda entry: entry.full_name)
def test_every_thing_has_a_docstring(entry):
    if entry.kind != "data":
        assert entry.thing.__doc__
        assert entry.thing.__doc__.strip()[0].isupper() or entry.thing.__doc__.strip()[0] in "`0123456789"


def test_every_parameter_is_explained():
    silent = [
        f"{place}: {name}"
        for place, thing in things()
        for name, text in listing.explained(place, thing, WORDS).items()
        if not text
    ]
    assert silent == [], "add a Parameters section to the docstring, or a line to docs/_ext/glossary.toml"


DOORS_IN_FULL = ("kinhash.EnergyHasher", "kinhash.HammingIndex", "kinhash.Codes", "kinhash.load")


def test_the_main_doors_explain_parameters_in_their_own_docstrings():
    """``help()`` shows no glossary."""
    silent = [
        f"{place}: {one.name}"
        for place, thing in things()
        if place in DOORS_IN_FULL or place.rpartition(".")[0] in DOORS_IN_FULL
        for one in listing.parameters(thing)
        if one.name not in listing.documented(thing)
    ]
    assert silent == [], "numpydoc: a section Parameters, with a line for each"


def test_sections_name_only_parameters_that_exist():
    wrong = []
    for place, thing in things():
        doc = inspect.cleandoc(thing.__doc__ or "").split("\n")
        said = listing.items(listing.split(doc)[1].get("Parameters", []))
        known = {one.name for one in listing.parameters(thing)}
        wrong += [f"{place}: {name}" for name in said if name not in known]
    assert wrong == []


def test_the_glossary_has_no_dead_words():
    pytest.importorskip("dask")
    pytest.importorskip("kinhash_bench")
    used = set()
    for place, thing in things():
        said = listing.documented(thing)
        for one in listing.parameters(thing):
            if one.name not in said:
                parts = place.split(".")
                places = [".".join(parts[:size]) for size in range(len(parts), 0, -1)]
                used.add((next((p for p in places if one.name in WORDS.get(p, ())), "parameters"), one.name))
    used |= {(entry.full_name, "value") for entry in HOMES if entry.kind == "data"}
    dead = {(place, name) for place, names in WORDS.items() for name in names} - used
    assert dead == set(), "take these out of docs/_ext/glossary.toml"


SETUP, EXAMPLES = listing.examples()
BY_CODE = {code: name for name, code in EXAMPLES.items() if "not run" not in code}  # each once


@pytest.fixture(scope="module")
def names():
    made = {}
    exec(SETUP, made)
    return made


@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
@pytest.mark.parametrize(
    "code",
    [pytest.param(code, marks=[pytest.mark.slow] * ("MMC" in code), id=BY_CODE[code]) for code in BY_CODE],
)
def test_examples_of_the_reference_run(code, names, tmp_path, monkeypatch):
    if "onnx" in code:
        pytest.importorskip("onnx")
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        exec(code, dict(names))


def test_every_entry_has_an_example():
    without = [
        entry.full_name
        for entry in HOMES
        if entry.full_name not in EXAMPLES and ">>>" not in (entry.thing.__doc__ or "")
    ]
    assert without == [], "add an example to the docstring (>>>), or a line to docs/_ext/examples.toml"
