"""How much memory this process may still take: the system's, and that of the container it runs in.

A control group has a limit of its own, and so has every group above it; the kernel ends a process that would
pass one of them, however much memory the machine has. Pages of files count as used there, but are given
back when memory is short, so they are counted as free here (``MemAvailable`` does the same).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

__all__ = ["available_memory"]

UNLIMITED = 1 << 62


def available_memory(system: Path = Path("/")) -> int:
    """Bytes that are free for use, by the system and by our control groups; a large number where nobody says.

    ``system`` is where ``proc`` and ``sys`` are found.
    """
    return min([_free_on_machine(system), *_free_in_groups(system)])


def _free_on_machine(system: Path) -> int:
    return _table(system / "proc/meminfo").get("MemAvailable:", UNLIMITED // 1024) * 1024


def _free_in_groups(system: Path) -> Iterator[int]:
    """What the groups of this process have left, its own first, in version 2 or 1 of the kernel's files."""
    for line in _read(system / "proc/self/cgroup").splitlines():
        controllers, _, path = line.partition(":")[2].partition(":")
        if controllers == "":
            root, limit, used, prefix = "sys/fs/cgroup", "memory.max", "memory.current", ""
        elif "memory" in controllers.split(","):
            root, limit, used, prefix = (
                "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"
            )  # fmt: skip
        else:
            continue
        for group in _upwards(system / root, path):
            most, now = _read(group / limit).strip(), _read(group / used).strip()
            if most.isdigit() and now.isdigit():  # "max": no limit; nothing: no such group in this container
                stat = _table(group / "memory.stat")
                files = stat.get(f"{prefix}inactive_file", 0) + stat.get(f"{prefix}active_file", 0)
                yield max(0, int(most) - max(0, int(now) - files))


def _upwards(root: Path, path: str) -> Iterator[Path]:
    """The folder of a group and of all above it; ".." leads to groups that this container does not show."""
    names = [name for name in path.split("/") if name not in ("", "..")]
    for depth in range(len(names), -1, -1):
        yield root.joinpath(*names[:depth])


def _table(path: Path) -> dict[str, int]:
    """Lines of a name and a number."""
    rows = (line.split() for line in _read(path).splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdigit()}


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
