"""Table of this room: names, and where each is defined."""

from __future__ import annotations

from .._internal.registry import Table

__all__ = ["ENGINES"]

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
