"""Codes in other engines: write them, search them there, and check the answers.

    from kinhash import engines

    engines.write("duckdb", codes, "my.duckdb")
    found = engines.search("duckdb", "my.duckdb", queries, k=10)   # the same value as HammingIndex.search
    print(engines.statement("duckdb", queries, "my.duckdb"))       # to paste into your own program

Add one: a final subclass of `Engine` in ``engines/foo.py`` (with SQL, in ``sql.py``), and a row of ``ENGINES``.
"""

from .base import ENGINES as ENGINES
from .base import Check as Check
from .base import Engine as Engine
from .base import EngineFacts as EngineFacts
from .base import Place as Place
from .base import PreparedStatement as PreparedStatement
from .base import Reader as Reader
from .base import check as check
from .base import prepared_statement as prepared_statement
from .base import search as search
from .base import statement as statement
from .base import without_password as without_password
from .base import write as write

__all__ = [
    "ENGINES",
    "Engine",
    "PreparedStatement",
    "check",
    "prepared_statement",
    "search",
    "statement",
    "write",
]
