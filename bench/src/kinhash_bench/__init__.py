"""kinhash-bench: the laboratory of kinhash.

Methods of other papers (`kinhash_bench.baselines`), protocols, benchmark tasks, readers of published data
sets and the report. It is built on the public names of kinhash alone, and plugs into its command line
(``kinhash bench``, ``report``, ``data``, ``audit``) and its table of methods (`kinhash.files.HASHERS`).
"""

from __future__ import annotations

__version__ = "0.1.0"

__all__ = ["__version__"]
