"""The rooms of the package: what they export, what they import of kinhash, and what they cost."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import kinhash_bench
from kinhash.files import HASHERS
from kinhash.testing import check_hasher
from kinhash_bench.baselines import BASELINES

SOURCE = Path(kinhash_bench.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
SETTINGS = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
ROOMS = ("baselines", "crossmodal", "datasets", "protocols", "report", "tasks")


def name_of(path):
    return ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")


def imports_of_kinhash(path):
    """(module, name or None) of everything a file takes from kinhash."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((one.name, None) for one in node.names if one.name.split(".")[0] == "kinhash")
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module.split(".")[0] == "kinhash":
            yield from ((node.module, one.name) for one in node.names)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_public_names_of_kinhash_are_imported(path):
    """Of files and names without underscores: what we cannot do, other packages cannot."""
    for module, name in imports_of_kinhash(path):
        assert "_" not in {part[0] for part in module.split(".")}, module
        if name is not None and name != "__version__":
            assert not name.startswith("_")
            assert hasattr(import_module(module), name), f"{module}.{name} is not there"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_module_says_what_it_is_for_and_what_it_exports(path):
    assert ast.get_docstring(ast.parse(path.read_text("utf-8")))
    module = import_module(name_of(path))
    assert [name for name in getattr(module, "__all__", ()) if not hasattr(module, name)] == []


@pytest.mark.parametrize("room", ROOMS)
def test_names_of_a_room_are_things_and_not_modules(room):
    door = import_module(f"kinhash_bench.{room}")
    for name in door.__all__:
        assert not isinstance(getattr(door, name), ModuleType), name
    with pytest.raises(AttributeError, match="evalute"):
        door.evalute  # noqa: B018


def test_every_rival_is_plugged_into_kinhash():
    plugged = SETTINGS["project"]["entry-points"]["kinhash.hashers"]
    own = {name: row for name, row in BASELINES._targets().items() if row.startswith("kinhash_bench.")}
    assert plugged == own
    for name in BASELINES:
        assert HASHERS[name] is BASELINES[name]


@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
def test_a_rival_keeps_the_contract():
    """All of them are checked by tests/contracts, which loop over the table of methods."""
    check_hasher(BASELINES["SDH"](8, n_centers=20, random_state=0))


def test_both_packages_have_one_version_and_one_licence():
    root = Path(__file__).parents[2]
    library = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    assert SETTINGS["project"]["version"] == library["version"] == kinhash_bench.__version__
    assert (root / "LICENSE").read_bytes() == (root / "bench/LICENSE").read_bytes()


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_a_protocol_needs_neither_numba_nor_scikit_learn():
    code = (
        "import sys; from kinhash_bench.protocols import PROTOCOLS; PROTOCOLS['paper'].partition(100); "
        "print([name for name in ('numba', 'sklearn') if name in sys.modules])"
    )
    assert run(code).strip() == "[]"


def test_commands_load_nothing_until_they_are_called():
    commands = ", ".join(f"kinhash_bench.cli.{name}" for name in ("audit", "bench", "data", "report"))
    code = f"import sys, {commands}; print('numpy' in sys.modules)"
    assert run(code).strip() == "False"
