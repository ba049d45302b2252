"""pgvector 0.7 or later: the operator ``<~>`` on ``bit(n)``, and an HNSW index if you make one."""

from __future__ import annotations

from typing import ClassVar

from .postgres_table import PostgresTable

__all__ = ["PgVector"]


class PgVector(PostgresTable):
    """Exact search by a scan, in the order (distance, id), also where the table has an HNSW index.

    The cast to an integer keeps the planner from answering with an approximate index, whose order is by
    the bare operator. docs/engines.md has the statement that uses such an index.
    """

    extension: ClassVar[str | None] = "vector"

    def distance(self, column: str, bits: str) -> str:
        return f"({column} <~> {bits})::integer"
