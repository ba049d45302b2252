"""What the packages contain and say, read from pyproject.toml by the program that builds them."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = SETTINGS["project"]
IMPORTED_AS = {"scikit-learn": "sklearn"}
PLANTED = [
    "src/kinhash/__init__.py",
    "src/kinhash/py.typed",
    "src/kinhash/__pycache__/codes.cpython-311.pyc",
    "tests/test_codes.py",
    "docs/index.md",
    "docs/tutorials/index.md",
    "docs/_build/html/index.html",
    "docs/api/codes.rst",
    "docs/commands/fit.rst",
    "docs/gallery/plot.rst",
    "docs/example/report.html",
    "examples/plot.py",
    "benchmarks/speed.py",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    ".venv/lib/python.py",
    ".ci/run",
    "runs/result.json",
]


def listed(folder, kind):
    """Paths in the package that would be built from a folder."""
    if kind == "wheel":
        builder = pytest.importorskip("hatchling.builders.wheel").WheelBuilder(str(folder))
    else:
        builder = pytest.importorskip("hatchling.builders.sdist").SdistBuilder(str(folder))
    return {file.distribution_path.replace("\\", "/") for file in builder.recurse_included_files()}


@pytest.fixture
def planted(tmp_path):
    """A folder with our settings, and files that must and must not be packed."""
    for name in PLANTED:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())
    (tmp_path / ".gitignore").write_bytes((ROOT / ".gitignore").read_bytes())
    return tmp_path


def test_the_sdist_has_sources_and_nothing_that_was_built(planted):
    wanted = {
        *("src/kinhash/__init__.py", "src/kinhash/py.typed", "tests/test_codes.py", "docs/index.md"),
        *("docs/tutorials/index.md", "examples/plot.py", "benchmarks/speed.py"),
        *("README.md", "LICENSE", "CHANGELOG.md"),
    }
    assert listed(planted, "sdist") == wanted


def test_the_wheel_has_the_package_alone(planted):
    assert listed(planted, "wheel") == {"kinhash/__init__.py", "kinhash/py.typed"}


def test_the_sdist_is_small():
    """Under 2 MB packed. Unpacked it may have 8: text packs to less than a quarter."""
    paths = [ROOT / path for path in listed(ROOT, "sdist")]
    assert sum(path.stat().st_size for path in paths if path.exists()) < 8_000_000


def test_every_module_and_data_file_is_in_the_wheel():
    source = ROOT / "src/kinhash"
    files = {path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert listed(ROOT, "wheel") == {path.relative_to(ROOT / "src").as_posix() for path in files}
    assert source / "py.typed" in files


def imported_by(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name.split(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


def test_every_required_dependency_is_imported():
    imported = {name for path in (ROOT / "src").rglob("*.py") for name in imported_by(path)}
    required = [re.match(r"[\w.-]+", entry)[0] for entry in PROJECT["dependencies"]]
    assert [name for name in required if IMPORTED_AS.get(name, name) not in imported] == []


def test_classifiers_begin_with_the_lowest_python_and_leave_none_out():
    named = re.findall(r"Python :: 3\.(\d+)", "\n".join(PROJECT["classifiers"]))
    lowest = int(re.fullmatch(r">=3\.(\d+)", PROJECT["requires-python"])[1])
    assert [int(minor) for minor in named] == list(range(lowest, lowest + len(named)))
    workflow = (ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8")
    assert re.search(r"python: \[(.*)\]", workflow)[1] == ", ".join(f'"3.{minor}"' for minor in named)


def test_lowest_versions_are_those_of_pyproject():
    ran = subprocess.run([sys.executable, ROOT / ".ci/lowest.py"], capture_output=True, text=True, check=True)
    bench = tomllib.loads((ROOT / "bench/pyproject.toml").read_text(encoding="utf-8"))["project"]
    entries = [*PROJECT["dependencies"], *bench["dependencies"]]
    named = [entry.partition(";")[0] for entry in entries if not entry.startswith("kinhash")]
    wanted = [entry.replace(">=", "==") for entry in named]
    assert ran.stdout.split() == list(dict.fromkeys(wanted))


def test_the_recipe_of_conda_needs_what_the_package_needs():
    recipe = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    needs = re.findall(r"- ([\w-]+ >=[\d.]+)$", recipe.partition("  run:")[2], re.MULTILINE)
    required = [entry.partition(";")[0].replace(">=", " >=") for entry in PROJECT["dependencies"]]
    assert needs == required
    assert f'version: "{PROJECT["version"]}"' in recipe


def test_the_lock_file_has_hashes_all_dependencies_and_no_host():
    text = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
    assert not re.search(r"https?:|file:|--(extra-)?index|--find-links|@ ", text)
    locked = {
        name.lower(): hashes
        for name, hashes in re.findall(r"^([\w.-]+)==.*\n((?:    --hash=.*\n)*)", text, re.M)
    }
    assert all(locked.values())
    groups = SETTINGS["dependency-groups"]
    entries = [*PROJECT["dependencies"], *groups["test"], *groups["check"]]
    assert {re.match(r"[\w.-]+", entry)[0].lower() for entry in entries} <= set(locked)
