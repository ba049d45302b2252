"""Where the module `resource` is missing (Windows), benchmarks run without a figure for memory."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys
sys.modules["resource"] = None
from kinhash_bench.tasks import environment
environment.Path = lambda place: type("No", (), {"read_text": lambda s: open("/none/at/all"),
                                                 "write_text": lambda s, t: open("/none/at/all")})()
with environment.watch_memory() as peak:
    pass
assert peak.bytes is None
"""


def test_no_module_resource() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
