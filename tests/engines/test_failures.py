"""Whatever goes wrong is one clear error, and what was there before is as it was."""

from __future__ import annotations

import socket
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from kinhash import Codes
from kinhash.engines import ENGINES, base, check, search, statement, write
from kinhash.errors import (
    CodesMismatch,
    EngineProblem,
    FileProblem,
    InvalidInput,
    KinhashError,
    MissingExtra,
    UnknownName,
)

from .cases import LOCAL, NEW, OLD, asked_of, assert_answers, clustered, contents
from .conftest import NewTarget
from .servers import has_pgvector, postgres_folders

ALL = list(ENGINES)
TABLES = ["duckdb", "sqlite", "postgres", "pgvector", "lance"]


# ---- at the door ---------------------------------------------------------------------------------


def test_an_unknown_engine_is_named() -> None:
    with pytest.raises(UnknownName, match=r"no engine called 'duckbd'.*Did you mean 'duckdb'"):
        write("duckbd", OLD, "x")


@pytest.mark.parametrize("table", ["", "Codes", "a b", "1st", "x" * 64, 'a"; drop table b', None])
def test_a_table_needs_a_plain_name(table: Any) -> None:
    with pytest.raises(InvalidInput, match="lower-case letters"):
        write("sqlite", OLD, "x", table=table)


@pytest.mark.parametrize("table", ["t", "x", "id", "distance", "w0", "select", "kinhash_block"])
@pytest.mark.parametrize("name", ["sqlite", "duckdb"])
def test_a_table_may_be_called_what_the_statement_says(name: str, table: str, tmp_path: Path) -> None:
    write(name, OLD, tmp_path / "x", table=table)
    assert check(name, OLD, tmp_path / "x", table=table).passed


def test_a_failed_search_does_not_say_that_nothing_was_written(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"this is no database" * 100)
    for ask in (
        lambda: check("sqlite", OLD, tmp_path / "x"),
        lambda: search("sqlite", tmp_path / "x", OLD, 1),
    ):
        with pytest.raises(EngineProblem, match="could not be searched") as caught:
            ask()
        assert "as it was" not in str(caught.value)
    with pytest.raises(EngineProblem, match=r"could not be written.*as it was"):
        write("sqlite", OLD, tmp_path / "x", overwrite=True)


@pytest.mark.parametrize("target", ["", "a\0b"])
def test_a_target_needs_a_name(target: str) -> None:
    with pytest.raises(InvalidInput, match="target"):
        write("sqlite", OLD, target)


@pytest.mark.parametrize(
    ("ids", "says"),
    [
        ([*range(49), 7], "The id 7 came twice"),
        ([1, 2, 3], "3 ids came with 50 codes"),
        ([*map(str, range(49)), "7"], "The id '7' came twice"),
        (np.arange(50) / 2, "float"),
    ],
)
def test_ids_are_numbers_or_strings_each_once(ids: Any, says: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=says):
        write("sqlite", OLD, tmp_path / "x", ids=ids)
    assert not contents(tmp_path)


def test_k_and_code_are_checked(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="k is -1"):
        search("sqlite", tmp_path / "x", OLD, -1)
    with pytest.raises(InvalidInput, match="No code came"):
        statement("sqlite", OLD[:0], tmp_path / "x")
    with pytest.raises(InvalidInput, match="packed rows"):
        write("sqlite", OLD.bits().astype(float), tmp_path / "x")


# ---- engine absent -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_a_missing_engine_names_its_extra(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(module: str) -> ModuleType:
        raise ImportError(module)

    monkeypatch.setattr(base, "import_module", nothing)
    if name == "sqlite":  # comes with Python
        write(name, OLD, tmp_path / "x")
        return
    for act in (lambda: write(name, OLD, tmp_path / "x"), lambda: search(name, tmp_path / "x", OLD, 3)):
        with pytest.raises(MissingExtra, match=r"pip install 'kinhash\[\w+\]'") as raised:
            act()
        extra = str(raised.value).partition("kinhash[")[2].partition("]")[0]
        project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
        assert extra in project["optional-dependencies"]
        assert name == "pgvector" or extra == name
    assert statement(name, OLD, tmp_path / "x")  # needs no engine
    assert not contents(tmp_path)


# ---- something there already, something else there, nothing there --------------------------------


@pytest.mark.parametrize("name", ALL)
def test_what_is_there_stays_unless_told(name: str, new_target: NewTarget, tmp_path: Path) -> None:
    target = new_target(name)
    write(name, OLD, target)
    before = contents(tmp_path)
    with pytest.raises(InvalidInput, match=r"already.*--overwrite"):
        write(name, NEW, target)
    assert_answers(name, target, OLD, asked_of(OLD, 3), 60)
    assert contents(tmp_path) == before
    write(name, NEW, target, overwrite=True)
    assert_answers(name, target, NEW, asked_of(NEW, 3), 60)
    assert len(contents(tmp_path)) == len(before) or name == "lance"


@pytest.mark.parametrize("name", TABLES)
def test_tables_live_side_by_side(name: str, new_target: NewTarget) -> None:
    target = new_target(name)
    write(name, OLD, target, table="first")
    write(name, NEW, target, table="second")
    assert check(name, OLD, target, table="first").passed
    assert check(name, NEW, target, table="second").passed
    with pytest.raises(InvalidInput, match="no table 'third'"):
        search(name, target, OLD, 3, table="third")


@pytest.mark.parametrize("name", ALL)
def test_codes_of_another_length_or_model_are_refused(name: str, new_target: NewTarget) -> None:
    target = new_target(name)
    write(name, OLD, target)
    longer = clustered(50, 40)
    other = Codes(OLD.packed, 32, OLD.ids, model_id="f" * 32)
    with pytest.raises(CodesMismatch, match=r"40 bits.*32 bits"):
        check(name, longer, target)
    if name != "faiss":  # whose files know no model and whole bytes only
        with pytest.raises(CodesMismatch, match="one model"):
            check(name, other, target)
        with pytest.raises(CodesMismatch, match="31 bits"):
            check(name, Codes.from_bits(OLD.bits()[:, :31]), target)


@pytest.mark.parametrize("name", LOCAL)
def test_nothing_there_is_one_error_and_stays_nothing(
    name: str, new_target: NewTarget, tmp_path: Path
) -> None:
    with pytest.raises((InvalidInput, EngineProblem)):
        check(name, OLD, new_target(name))
    assert not contents(tmp_path)


@pytest.mark.parametrize("name", LOCAL)
def test_a_stranger_there_is_one_error_and_stays(name: str, new_target: NewTarget, tmp_path: Path) -> None:
    """A text file under the name of the target: not searched, not overwritten unasked."""
    target = Path(new_target(name))
    target.write_bytes(b"a letter to a friend, " * 400)
    before = contents(tmp_path)
    with pytest.raises(KinhashError):
        check(name, OLD, target)
    with pytest.raises(KinhashError):
        write(name, OLD, target)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("name", ["duckdb", "sqlite", "postgres", "pgvector"])
def test_a_table_that_is_not_ours_is_not_guessed_at(name: str, new_target: NewTarget) -> None:
    target = new_target(name)
    write(name, OLD, target)
    run_sql(name, target, "create table mine as select * from codes")
    with pytest.raises(InvalidInput, match="says nothing about its codes"):
        search(name, target, OLD, 3, table="mine")
    with pytest.raises(InvalidInput, match="already"):
        write(name, NEW, target, table="mine")


def run_sql(name: str, target: str, text: str) -> None:
    if name == "sqlite":
        import sqlite3

        with sqlite3.connect(target) as db:
            db.execute(text)
        db.close()
    elif name == "duckdb":
        import duckdb

        with duckdb.connect(target) as db:
            db.execute(text)
    else:
        import psycopg

        with psycopg.connect(target) as db:
            db.execute(text)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [name for name in LOCAL if name not in ("lance",)])
def test_no_such_folder(name: str, tmp_path: Path) -> None:
    with pytest.raises((EngineProblem, FileProblem, InvalidInput)):
        write(name, OLD, tmp_path / "none" / "x.db")
    assert not contents(tmp_path)


# ---- server down ---------------------------------------------------------------------------------


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize("name", ["postgres", "pgvector"])
def test_a_server_that_is_down_is_one_error(name: str, caplog: pytest.LogCaptureFixture) -> None:
    target = f"postgresql://me:secret@127.0.0.1:{closed_port()}/x"
    for act in (lambda: write(name, OLD, target), lambda: search(name, target, OLD, 3)):
        with pytest.raises(EngineProblem, match=r"could not be (written|searched)") as raised:
            act()
        assert "secret" not in str(raised.value)
        assert "\n" not in str(raised.value)
    assert not caplog.records


def test_passwords_are_not_shown() -> None:
    from kinhash.engines import without_password

    assert without_password("postgresql://me:s3:c@ret@host/db") == "postgresql://me:***@host/db"
    assert without_password("host=a password='x y' user=b") == "host=a password=*** user=b"
    assert without_password("host=a password=xy user=b") == "host=a password=*** user=b"
    assert without_password("/plain/path") == "/plain/path"


def test_a_refusal_shows_no_password() -> None:
    place = base.Place("postgresql://me:secret@host/db", "codes")
    model = OLD.model_id or "a" * 32
    refusals = (
        lambda: base.EngineFacts(3, 792).require(OLD, place),
        lambda: base.EngineFacts(3, OLD.n_bits, "other").require(
            Codes(OLD.packed, OLD.n_bits, model_id=model), place
        ),
        lambda: base.EngineFacts.from_note(None, 3, place),
    )
    for refuse in refusals:
        with pytest.raises(KinhashError, match=r"me:\*\*\*@host") as raised:
            refuse()
        assert "secret" not in str(raised.value)


def test_postgres_without_pgvector_says_so(new_target: NewTarget) -> None:
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    if has_pgvector(postgres_folders()[0]):
        pytest.skip("this PostgreSQL has pgvector")
    with pytest.raises(EngineProblem, match=r'extension "vector"'):
        write("pgvector", OLD, new_target("postgres"))
