"""What the wheel of kinhash-bench contains, read from its pyproject.toml by the program that builds it."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
IMPORTED_AS = {"scikit-learn": "sklearn", "lazy-loader": "lazy_loader", "liac-arff": "arff"}


def test_every_module_and_data_file_is_in_the_wheel():
    builder = pytest.importorskip("hatchling.builders.wheel").WheelBuilder(str(ROOT))
    listed = {file.distribution_path.replace("\\", "/") for file in builder.recurse_included_files()}
    files = {path for path in (ROOT / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert listed == {path.relative_to(ROOT / "src").as_posix() for path in files}
    wanted = {
        "py.typed",
        "report/page.html",
        "report/report.css",
        "report/works.bib",
        "tasks/named/smoke.toml",
    }
    assert {f"kinhash_bench/{name}" for name in wanted} <= listed


def test_every_required_dependency_is_imported():
    imported = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {name.name.split(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                imported.add(node.module.split(".")[0])
    required = [re.match(r"[\w.-]+", entry)[0] for entry in PROJECT["dependencies"]]
    assert [name for name in required if IMPORTED_AS.get(name, name) not in imported] == []
