"""Codes in other engines: write them, search them there, and check the answers.

    from kinhash import engines

    engines.write("duckdb", codes, "my.duckdb")
    found = engines.search("duckdb", "my.duckdb", queries, k=10)   # the same value as HammingIndex.search
    print(engines.statement("duckdb", queries, "my.duckdb"))       # to paste into your own program

Add one: write ``engines/foo.py`` with a final subclass of `Engine` and put a row into ``engines/table.py``.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

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
