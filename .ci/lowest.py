"""Print the lowest version of every required dependency as a pip constraint: python .ci/lowest.py > file."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
lowest = {}
for place in ("pyproject.toml", "bench/pyproject.toml"):
    project = tomllib.loads((ROOT / place).read_text(encoding="utf-8"))["project"]
    for requirement in project["dependencies"]:
        found = re.fullmatch(r"([\w.-]+)>=([\w.]+)(?:[,;].*)?", requirement)
        if not found:
            raise SystemExit(f"{requirement!r} has no floor. Expected name>=version. Write one into {place}.")
        if found[1] != "kinhash" and lowest.setdefault(found[1], found[2]) != found[2]:
            raise SystemExit(f"{found[1]} has two floors. Expected one. Write the same into both files.")
for name, version in lowest.items():
    print(f"{name}=={version}")
