"""A printed statement, pasted into the engine's own client."""

from __future__ import annotations

from typing import Any

import numpy as np


def run_statement(
    name: str, target: str, text: str, parameters: dict[str, Any] | None = None
) -> tuple[list[int], list[int]]:
    rows: list[tuple[int, int]]
    if name == "sqlite":
        import sqlite3

        db = sqlite3.connect(target)
        rows = db.execute(text, parameters or {}).fetchall()
        db.close()
    elif name in ("duckdb", "parquet"):
        import duckdb

        with duckdb.connect(target if name == "duckdb" else ":memory:") as db:
            rows = db.execute(text, parameters or {}).fetchall()
    elif name in ("postgres", "pgvector"):
        import psycopg

        with psycopg.connect(target) as db:
            rows = db.execute(text, parameters).fetchall()  # type: ignore[arg-type]
    else:
        names: dict[str, object] = {}
        exec(text, names)
        flat = (
            np.ravel(np.asarray(names[column])).astype(np.int64).tolist() for column in ("ids", "distances")
        )
        rows = list(zip(*flat, strict=True))
    return [row[0] for row in rows], [row[1] for row in rows]
