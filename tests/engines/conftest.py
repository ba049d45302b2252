"""A place for every engine, skipped with a reason where the engine is not installed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from kinhash.engines import ENGINES

from .servers import PostgresServer, server_or_skip

NEEDS = {
    "duckdb": ["duckdb"],
    "faiss": ["faiss"],
    "lance": ["lancedb"],
    "parquet": ["pyarrow", "duckdb"],
    "pgvector": ["psycopg"],
    "postgres": ["psycopg"],
}

NewTarget = Callable[[str], str]


def absent(name: str) -> list[str]:
    return [module for module in NEEDS.get(name, []) if find_spec(module) is None]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        name = getattr(item, "callspec", None) and item.callspec.params.get("name")
        if isinstance(name, str) and name in ENGINES and (missing := absent(name)):
            extra = {"parquet": "parquet,duckdb"}.get(name, name)
            reason = f"{', '.join(missing)} not installed: pip install 'kinhash[{extra}]'"
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    server = server_or_skip("postgres")
    yield server
    server.stop()


@pytest.fixture(scope="session")
def pgvector_server() -> Iterator[PostgresServer]:
    server = server_or_skip("pgvector")
    yield server
    server.stop()


@pytest.fixture
def new_target(tmp_path: Path, request: pytest.FixtureRequest) -> NewTarget:
    """A target nobody wrote to yet."""
    numbers = itertools.count()

    def make(name: str) -> str:
        if name in ("postgres", "pgvector"):
            server: PostgresServer = request.getfixturevalue(f"{name}_server")
            return server.new_schema()
        return str(tmp_path / f"{name}{next(numbers)}")

    return make
