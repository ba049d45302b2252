"""Where a number came about: versions, processor, threads, and the memory a piece of work took."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import hashlib
import os
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import kinhash
import kinhash_bench
from kinhash.plugins import n_threads

__all__ = ["PeakMemory", "environment", "watch_memory"]

# Rooms of kinhash that cannot move a number, and parts of this package that can.
APART = ("cli", "distributed", "engines", "explorer", "export", "serve")
OWN = ("baselines", "datasets", "protocols", "tasks/cell.py", "tasks/methods.py")
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")


def environment() -> dict[str, Any]:
    """What stands beside every result. ``load`` is how busy the machine was, per core."""
    return {
        "kinhash": kinhash.__version__,
        "source": source_digest(),
        "python": platform.python_version(),
        **{name: version(name) for name in PACKAGES},
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "threads": n_threads(),
        "load": round(os.getloadavg()[0] / (os.cpu_count() or 1), 2) if hasattr(os, "getloadavg") else None,
    }


@functools.cache
def source_digest() -> str:
    """Twelve hex digits of the source that numbers come from; other digits are other code."""
    digest = hashlib.sha256()
    for package in (kinhash, kinhash_bench):
        folder = Path(str(package.__file__)).parent
        for path in sorted(folder.rglob("*.py"), key=lambda path: path.relative_to(folder).as_posix()):
            name = path.relative_to(folder).as_posix()
            room = name.split("/")[0]
            if room not in APART if package is kinhash else room in OWN or name in OWN:
                text = path.read_bytes().replace(b"\r\n", b"\n")
                digest.update(f"{name} {len(text)}\n".encode() + text)
    return digest.hexdigest()[:12]


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


class PeakMemory:
    """Growth of this process, at most, over what it held at the start."""

    bytes: int | None = None


@contextlib.contextmanager
def watch_memory() -> Iterator[PeakMemory]:
    """Note the peak of what happens inside. Where the mark cannot be set back (not on Linux), it is None
    unless the work went above everything before it."""
    peak = PeakMemory()
    _give_back()
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # sets the high-water mark back to what is held now
    before = _high_water()
    try:
        yield peak
    finally:
        grown = _high_water() - before
        peak.bytes = grown if grown > 0 else None


def _give_back() -> None:
    """Hand what earlier work has freed back to the system: taken again, it would not count as growth."""
    gc.collect()
    with contextlib.suppress(AttributeError, OSError):  # glibc alone has it
        ctypes.CDLL(None).malloc_trim(0)


def _high_water() -> int:
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return 1024 * int(line.split()[1])
    try:
        import resource
    except ImportError:  # Windows has no such module; nothing grows then, and the peak is not known
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
