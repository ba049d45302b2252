"""What importing costs, what the doors export, and what kernels need."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import kinhash

SOURCE = Path(kinhash.__file__).parent
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


@pytest.mark.parametrize("room", kinhash.ROOMS)
def test_every_public_name_of_a_room_is_a_thing_and_not_a_module(room):
    door = import_module(f"kinhash.{room}")
    for name in door.__dict__.get("__all__", ()):
        assert not isinstance(getattr(door, name), ModuleType), name
    with pytest.raises(AttributeError):
        door.cosin  # noqa: B018


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="EnergyHaser"):
        kinhash.EnergyHaser  # noqa: B018


def test_declared_lower_bounds_are_versions_that_work():
    """Versions below these fail in ways that the suite, which runs with newer ones, cannot see."""
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text()
    declared = [one.partition(";")[0] for one in tomllib.loads(text)["project"]["dependencies"]]
    found = {name: tuple(map(int, low.split("."))) for name, low in (one.split(">=") for one in declared)}
    assert found["numpy"] >= (2, 2, 5)  # copy.deepcopy of an array of strings ends the process before
    assert found["numba"] >= (0, 61, 2)  # the first that allows such a NumPy
    assert found["scipy"] >= (1, 15)  # sparse[:, i] raises NotImplementedError before
