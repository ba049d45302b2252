"""PostgreSQL 14 or later as it comes: native ``bit(n)`` and ``bit_count``, no extension."""

from __future__ import annotations

from .postgres_table import PostgresTable

__all__ = ["Postgres"]


class Postgres(PostgresTable):
    """Exact search by a scan, in the order (distance, id)."""

    def distance(self, column: str, bits: str) -> str:
        return f"bit_count({column} # {bits})"
