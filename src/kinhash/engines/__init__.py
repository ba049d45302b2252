"""Codes where your data lives: written to an engine, searched there, and checked against our own search.

    from kinhash import engines

    engines.write("duckdb", codes, "my.duckdb")
    found = engines.search("duckdb", "my.duckdb", queries, k=10)   # the same value as HammingIndex.search
    print(engines.statement("duckdb", queries, "my.duckdb"))       # to paste into your own program

Add one: write ``engines/foo.py`` with a final subclass of `Engine` and put a row here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .._table import Table

if TYPE_CHECKING:
    from ._base import Engine, EngineFacts, Place, Reader
    from ._check import Check, check
    from ._run import search, statement, write

__all__ = [
    "ENGINES",
    "Check",
    "Engine",
    "EngineFacts",
    "Place",
    "Reader",
    "check",
    "search",
    "statement",
    "write",
]

ENGINES = Table(
    "engine",
    {
        "duckdb": "kinhash.engines.duckdb:DuckDB",
        "elasticsearch": "kinhash.engines.elasticsearch:Elasticsearch",
        "faiss": "kinhash.engines.faiss:Faiss",
        "lance": "kinhash.engines.lance:Lance",
        "milvus": "kinhash.engines.milvus:Milvus",
        "opensearch": "kinhash.engines.opensearch:OpenSearch",
        "parquet": "kinhash.engines.parquet:Parquet",
        "pgvector": "kinhash.engines.pgvector:PgVector",
        "postgres": "kinhash.engines.postgres:Postgres",
        "sqlite": "kinhash.engines.sqlite:SQLite",
        "usearch": "kinhash.engines.usearch:USearch",
        "vespa": "kinhash.engines.vespa:Vespa",
    },
    entry_points="kinhash.engines",
)

_HOMES = {
    "Check": "_check",
    "Engine": "_base",
    "EngineFacts": "_base",
    "Place": "_base",
    "Reader": "_base",
    "check": "_check",
    "search": "_run",
    "statement": "_run",
    "write": "_run",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    raise AttributeError(f"module 'kinhash.engines' has no attribute {name!r}")
