"""Tools for packages built on kinhash: more methods, metrics, data sets or commands.

kinhash-bench, the package with the benchmarks, imports these names and those of the public rooms, and nothing
else of kinhash; another package can do the same. Methods are registered under the entry point group
"kinhash.hashers" and checked by `kinhash.testing`, commands under "kinhash.commands" (a click command that
prints through the helpers of `kinhash.cli`).

Names here change only with a note in the changelog. They are imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub("kinhash", __file__)
