"""What importing costs, who may print, and that every kernel has been held against a plain twin."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import kinhash
from kinhash.errors import MissingExtra

SOURCE = Path(kinhash.__file__).parent
TESTS = Path(__file__).parent
MODULES = sorted(path for path in SOURCE.rglob("*.py") if "__pycache__" not in path.parts)


def run(code):
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


HEAVY = (
    "torch",
    "tensorflow",
    "matplotlib",
    "flask",
    "fastapi",
    "starlette",
    "uvicorn",
    "pandas",
    "polars",
    "faiss",
)


def test_the_estimator_loads_no_heavy_package():
    """Beyond what scikit-learn's own base loads (pandas, where it is installed)."""
    loaded = run(
        "import sys, sklearn.base; before = set(sys.modules); "
        "from kinhash import EnergyHasher, EMKSH; EnergyHasher(); EMKSH(); "
        f"print([name for name in {HEAVY!r} if name in set(sys.modules) - before])"
    )
    assert loaded == "[]"


def test_importing_the_package_loads_nothing_but_itself():
    heavy = ("numpy", "scipy", "sklearn", "numba")
    loaded = run(f"import sys, kinhash; print([name for name in {heavy!r} if name in sys.modules])")
    assert loaded == "[]"


def test_codes_and_search_do_not_load_scikit_learn():
    loaded = run("import sys, kinhash.codes, kinhash.index, kinhash.files; print('sklearn' in sys.modules)")
    assert loaded == "False"


def test_the_estimator_does_not_compile_or_load_numba_until_it_fits():
    assert (
        run("import sys; from kinhash import EnergyHasher; EnergyHasher(); print('numba' in sys.modules)")
        == "False"
    )


@pytest.mark.parametrize("name", kinhash.__all__)
def test_every_exported_name_exists(name):
    assert getattr(kinhash, name) is not None
    assert name in {*dir(kinhash), "__version__"}


ROOMS = sorted(stub.parent for stub in SOURCE.glob("*/__init__.pyi"))


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_every_name_of_a_door_is_a_thing_and_not_a_module(room):
    """A stub lists what other rooms import, `__all__` what is public; both exist."""
    door = import_module(f"kinhash.{room.name}")
    listed = {
        alias.asname
        for node in ast.walk(ast.parse((room / "__init__.pyi").read_text()))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert set(door.__all__) <= listed
    for name in listed:
        assert not isinstance(getattr(door, name), ModuleType), name
    with pytest.raises(AttributeError):
        door.cosin  # noqa: B018


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="EnergyHaser"):
        kinhash.EnergyHaser  # noqa: B018


def module_name(path):
    return ".".join(("kinhash", *path.relative_to(SOURCE).with_suffix("").parts))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_every_module_says_what_it_is_for_and_what_it_exports(path):
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree), "a module opens with what it does for the reader"
    exported = [
        node
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    ]
    if exported and path.name not in ("__main__.py", "__init__.py"):
        try:
            module = import_module(module_name(path))
        except MissingExtra as error:
            pytest.skip(str(error))
        missing = [name for name in module.__all__ if not hasattr(module, name)]
        assert not missing


def test_only_the_command_line_prints():
    printing = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in MODULES
        if path.relative_to(SOURCE).parts[0] != "cli"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert printing == []


def kernels():
    """(module, name) of every function that numba compiles and others may call."""
    found = []
    for path in MODULES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and any(
                "njit" in ast.unparse(d) for d in node.decorator_list
            ):
                found.append((path, node.name))
    return found


def test_there_are_kernels():
    assert {name for _, name in kernels()} >= {"settle_rows", "_sweep_dense", "_sweep_sparse", "row_bounds"}


# Kernels reached only through the function that chooses between them; its twin is named here.
TWINS = {"_sweep_dense": "_sweep_by_loss", "_sweep_sparse": "_sweep_by_loss"}


@pytest.mark.parametrize(
    ("path", "name"), [(p, n) for p, n in kernels() if not n.startswith("_") or p.parent.name == "solvers"]
)
def test_every_kernel_is_held_against_a_plain_twin(path, name):
    """Its name (or its twin's) stands in a test or in the room's NumPy reference."""
    room = path.relative_to(SOURCE).parts[0] if path.parent != SOURCE else SOURCE.name
    plain = TWINS.get(name, name)
    tests = TESTS if room == "kinhash" else TESTS / room
    texts = [test.read_text() for test in tests.glob("*.py")]
    texts += [reference.read_text() for reference in path.parent.glob("*reference.py")]
    assert any(plain in text for text in texts), f"no twin or oracle for {room}/{path.name}:{name}"


def test_a_kernel_is_compiled_once_and_kept():
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                for decorator in node.decorator_list:
                    text = ast.unparse(decorator)
                    if text.startswith("njit") and "inline" not in text:
                        assert "cache=True" in text, f"{path.name}:{node.name}"


def test_declared_lower_bounds_are_versions_that_work():
    """Versions below these fail in ways that the suite, which runs with newer ones, cannot see."""
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    declared = tomllib.loads(text)["project"]["dependencies"]
    found = {name: tuple(map(int, low.split("."))) for name, low in (one.split(">=") for one in declared)}
    assert found["numpy"] >= (2, 2, 5)  # copy.deepcopy of an array of strings ends the process before
    assert found["numba"] >= (0, 61, 2)  # the first that allows such a NumPy
    assert found["scipy"] >= (1, 15)  # sparse[:, i] raises NotImplementedError before
