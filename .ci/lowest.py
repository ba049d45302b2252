"""Print the lowest version of every required dependency as a pip constraint: python .ci/lowest.py > file."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
for requirement in project["dependencies"]:
    found = re.fullmatch(r"([\w.-]+)>=([\w.]+)(?:[,;].*)?", requirement)
    if not found:
        raise SystemExit(
            f"{requirement!r} has no floor. Expected name>=version. Write one into pyproject.toml."
        )
    print(f"{found[1]}=={found[2]}")
