"""A stranger's model and codes files: the digest and the model's id hold, the contents lie.

Whatever is in such a file, `load` refuses it with our error, or what it gives encodes: one row as in a batch,
by compiled kernels as by NumPy, with values within their bounds and nothing in the file unread. What a model
itself refuses is in tests/models/test_models.py.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kinhash
from kinhash import Codes, EnergyHasher
from kinhash._internal.container import read_container, write_container
from kinhash.errors import DamagedFile, InvalidInput
from kinhash.files import HASHERS
from kinhash.models import WholeMap, arrays_id
from kinhash.models.steps import STEPS

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::kinhash.errors.KinhashWarning")

Contents = tuple[dict[str, Any], dict[str, Any]]
KINDS = ("EnergyHasher", "tags", "views", "EMKSH", "KSH", "SCDH", "SpectralHashing", "FastHash")
KINDS = tuple(
    kind for kind in KINDS if kind in ("tags", "views") or kind in HASHERS
)  # rivals: where installed


def rows(n: int = 60, p: int = 6) -> tuple[np.ndarray, np.ndarray]:
    y = np.arange(n) % 3
    return np.random.default_rng(0).normal(size=(n, p)) + 3 * np.eye(p)[y], y


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Contents]:
    """Contents of files by name."""
    path = tmp_path_factory.mktemp("models") / "m.kin"
    X, y = rows()
    found = {}
    for kind in KINDS:
        hasher = HASHERS[kind if kind in HASHERS else "EnergyHasher"](n_bits=8, random_state=0)
        if kind == "FastHash":
            hasher.set_params(n_rounds=3, n_partners=10)
        hasher.fit(X, [{int(c), 7 if c else 8} for c in y] if kind == "tags" else y)
        if kind == "views":
            hasher.add_view("text", X[:, :4], y, beside=X).add_view("sound", X[:, 2:], y)
        hasher.save(path)
        found[kind] = read_container(path)
    return found


def of_map(arrays: dict[str, Any]) -> dict[str, Any]:
    """The arrays of the first map: its list of steps, its units, and those named "0.mean"."""
    return {name: one for name, one in arrays.items() if name in ("steps", "units") or name[0].isdigit()}


def forge(path: Path, contents: Contents, kind: str = "model") -> None:
    """Write with a digest and a model id that hold, and without the fsync, which is not what is tested."""
    arrays, header = contents
    if "model_id" in header and kind == "model":
        header = {**header, "model_id": arrays_id(of_map(arrays))}
    fsync, os.fsync = os.fsync, lambda handle: None
    try:
        write_container(path, arrays, header, kind)
    finally:
        os.fsync = fsync


def learns_or_refuses(loaded: Any, X: np.ndarray) -> None:
    """Learned codes of labels that the file knows."""
    if isinstance(loaded, EnergyHasher):
        for labels in ([0, 1, 2], [{0, 8}, {1, 7}, {2, 7}]):
            with contextlib.suppress(InvalidInput):
                assert loaded.learned_codes(X, labels).shape == loaded.encode(X).shape


def is_exact(map_: WholeMap, X: np.ndarray) -> None:
    """Every value is whole and within its bound, and both ways to run a model agree."""
    for value, bound in zip(map_._values(X)[1:], map_.bounds, strict=True):
        whole = value[0] if isinstance(value, tuple) else value
        assert whole.shape == (len(X), bound.width)
        assert np.array_equal(whole, np.rint(whole))
        assert np.abs(whole).max() <= bound.entry
        assert not bound.positive or whole.min() >= 0
    narrow = X.astype(np.float32)
    np.testing.assert_array_equal(map_.run(X), map_.run_with(np, X))
    np.testing.assert_array_equal(map_.run(narrow), map_.run(narrow.astype(float)))


def works_or_is_refused(path: Path) -> bool:
    """Whether it works."""
    try:
        loaded = kinhash.load(path)
    except DamagedFile:
        return False
    X = np.resize(rows(3)[0], (6, loaded.n_features_in_))
    X[2] *= 1e30
    X[3], X[4] = 0, X[4] * 1e-30
    is_exact(loaded.model_.map, X)
    X[5] *= 1e200
    codes = loaded.encode(X)
    assert codes.shape == (6, -(-loaded.n_bits // 8))
    np.testing.assert_array_equal(loaded.encode(X[:1]), codes[:1])
    assert np.isfinite(loaded.decision_function(X)).all()
    learns_or_refuses(loaded, X[:3])
    for name, view in loaded.views_.items():
        own = np.resize(X[:5], (6, view.n_features_in_))
        is_exact(view.model_.map, own)
        np.testing.assert_array_equal(loaded.encode(own[:1], view=name), loaded.encode(own, view=name)[:1])
    nothing_is_unread(loaded, path)
    return True


def nothing_is_unread(loaded: Any, path: Path) -> None:
    """What was loaded is stored as it was."""
    again = path.with_name("again.kin")
    loaded.save(again)
    (stored, _), (used, _) = read_container(path), read_container(again)
    assert stored.keys() == used.keys()
    for name, array in used.items():
        if name.endswith("steps"):
            assert json.loads(array.tobytes()) == json.loads(stored[name].tobytes())
            continue
        assert (array.dtype, array.shape) == (stored[name].dtype, stored[name].shape)
        np.testing.assert_array_equal(array, stored[name])


@pytest.mark.parametrize("kind", KINDS)
def test_untouched_contents_are_taken(kind: str, models: dict[str, Contents], tmp_path: Path) -> None:
    forge(tmp_path / "f.kin", models[kind])
    assert works_or_is_refused(tmp_path / "f.kin")


# ---- known cases -----------------------------------------------------------------------------


def text(steps: Any) -> np.ndarray:
    raw = steps if isinstance(steps, str) else json.dumps(steps, separators=(",", ":"))
    return np.frombuffer(raw.encode("ascii"), np.uint8)


def with_arrays(change: Callable[[dict[str, Any]], Any]) -> Callable[[Contents], Contents]:
    def forged(contents: Contents) -> Contents:
        arrays = {name: one.copy() for name, one in contents[0].items()}
        changed = change(arrays)
        return (arrays if changed is None else changed), contents[1]

    return forged


def put(name: str, value: Any) -> Callable[[Contents], Contents]:
    return with_arrays(lambda arrays: arrays[name].__setitem__(0, value))


def renamed(first: str, then: str) -> Callable[[Contents], Contents]:
    return with_arrays(lambda arrays: {name.replace(first, then, 1): one for name, one in arrays.items()})


def fact(name: str, value: Any) -> Callable[[Contents], Contents]:
    return lambda contents: (contents[0], {**contents[1], name: value})


def view_fact(name: str, value: Any) -> Callable[[Contents], Contents]:
    def forged(contents: Contents) -> Contents:
        header = deepcopy(contents[1])
        header["views"][0][name] = value
        return contents[0], header

    return forged


FORGED: list[tuple[str, Callable[[Contents], Contents]]] = [
    ("EMKSH", put("0.mean", np.nan)),
    ("EMKSH", put("units", 1001)),
    ("EMKSH", put("seen.limits", np.nan)),
    ("EMKSH", with_arrays(lambda arrays: {**arrays, "99.mean": arrays["0.mean"]})),
    ("EMKSH", with_arrays(lambda arrays: {**arrays, "seen.mean": arrays["seen.mean"][:-1]})),
    ("EMKSH", with_arrays(lambda arrays: {**arrays, "more": arrays["units"]})),
    ("EMKSH", with_arrays(lambda arrays: {**arrays, "view7.units": arrays["units"]})),
    ("EMKSH", fact("n_features", 7)),
    ("EMKSH", fact("n_bits", 9)),
    ("EMKSH", fact("hasher", "Hasher")),
    ("EMKSH", fact("parameters", {"strange": 1})),
    ("views", renamed("view1.", "view2.")),
    ("views", renamed("view1.", "view01.")),
    ("views", renamed("view1.seen.", "view1.looks.")),
    ("views", put("view0.units", 1001)),
    ("views", lambda contents: (contents[0], {**contents[1], "views": contents[1]["views"] * 11})),
    ("views", fact("views", {})),
    ("views", view_fact("name", "../text")),
    ("views", view_fact("name", "sound")),
    ("views", view_fact("n_features", 5)),
    ("views", view_fact("n_features", True)),
    ("views", view_fact("more", 1)),
]


@pytest.mark.parametrize("number", range(len(FORGED)))
def test_a_forged_model_is_refused(number: int, models: dict[str, Contents], tmp_path: Path) -> None:
    kind, change = FORGED[number]
    forge(tmp_path / "f.kin", change(models[kind]))
    with pytest.raises(DamagedFile, match="contents this version cannot use"):
        kinhash.load(tmp_path / "f.kin")


CHILD = """
import sys, kinhash
from kinhash.errors import DamagedFile
try:
    kinhash.load(sys.argv[1])
except DamagedFile as error:
    print("refused:", error)
"""
ENDLESS = {
    "wide rows": [["relative", [0], {"width": 2**40}], ["join", [1], {}]],
    "joins of joins": [["relative", [0], {"width": 6}], *(["join", [k] * 64, {}] for k in range(1, 9))],
    "levels": "[" * 50_000,
}


@pytest.mark.parametrize("case", ENDLESS)
def test_a_forged_model_neither_crashes_nor_hangs(case: str, models: Any, tmp_path: Path) -> None:
    """In a process of its own, which these files could end or hold for ever."""
    arrays, header = models["EMKSH"]
    arrays = {name: one for name, one in arrays.items() if name not in of_map(arrays)}
    arrays |= {"steps": text(ENDLESS[case]), "units": np.zeros(8, np.int16)}
    forge(tmp_path / "f.kin", (arrays, header))
    child = [sys.executable, "-c", CHILD, str(tmp_path / "f.kin")]
    done = subprocess.run(child, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("refused:")


# ---- anything --------------------------------------------------------------------------------

JUNK: list[Any] = [None, True, -1, 0, 1, 7, 8, 1024, 2**31, 2**70, 1e308]
JUNK += ["", "linear", [], ["a"], {}, {"a": 1}]
FLOATS = [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-320, 0.0, -1.0, 2.5]
INTEGERS = [0, 1, 2, -1, 127, 255, 256, 2**31 - 1, -(2**31), 2**62, 2**63 - 1, -(2**63)]
DTYPES = ["?", "u1", "i1", "u2", "i4", "i8", "u8", "f2", "f4", "f8"]


def other_values(array: np.ndarray, rng: random.Random) -> np.ndarray:
    array = array.copy()
    if not array.size:
        return array
    places = [rng.randrange(array.size) for _ in range(rng.choice([1, 2, 4]))]
    with np.errstate(all="ignore"):
        if array.dtype.kind == "f":
            array.flat[places] = np.array(rng.choice(FLOATS)).astype(array.dtype)
        elif array.dtype == np.int64 and rng.random() < 0.5:
            np.add.at(array.reshape(-1), places, np.int64(2**62))  # four of them wrap to what it was
        else:
            array.flat[places] = np.array(rng.choice(INTEGERS)).astype(array.dtype)
    return array


def other_shape(array: np.ndarray, rng: random.Random) -> np.ndarray:
    if array.ndim == 0:
        return array.reshape(1)
    axis = rng.randrange(array.ndim)
    if rng.random() < 0.3:
        return rng.choice([array.T, array[None], array[..., None], array.reshape(-1), array[:0]])
    lengths = list(array.shape)
    lengths[axis] = max(0, rng.choice([0, 1, 2, lengths[axis] - 1, lengths[axis] + 1, 300]))
    return np.resize(array, lengths)


def other_steps(raw: np.ndarray, rng: random.Random) -> np.ndarray:
    """One step of the list with other inputs, another setting, of another kind, twice, or gone."""
    steps = json.loads(raw.tobytes())
    step = rng.choice(steps)
    what = rng.randrange(6)
    if what < 2 and step[2]:
        name = rng.choice(list(step[2]))
        step[2][name] = rng.choice([*INTEGERS, step[2][name] + 1, step[2][name] - 1, True, 2.0, 14, 20, 50])
    elif what < 4:
        step[1][rng.randrange(len(step[1]))] = rng.randrange(-1, len(steps) + 2)
    elif what == 4:
        step[0] = rng.choice(list(STEPS))
    else:
        steps.insert(rng.randrange(len(steps)), rng.choice([step, ["join", [1, 1], {}]]))
    return text(steps)


def other_arrays(arrays: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    arrays = dict(arrays)
    if "steps" in arrays and rng.random() < 0.3:
        with contextlib.suppress(ValueError, TypeError, IndexError, KeyError, AttributeError):
            arrays["steps"] = other_steps(arrays["steps"], rng)
        return arrays
    name, other = rng.choice(list(arrays)), rng.choice(list(arrays))
    what = rng.randrange(8)
    if what < 3:
        arrays[name] = other_values(arrays[name], rng)
    elif what < 5:
        arrays[name] = other_shape(arrays[name], rng)
    elif what == 5:
        with np.errstate(all="ignore"):
            arrays[name] = arrays[name].astype(rng.choice(DTYPES))
    elif what == 6:
        arrays[name], arrays[other] = arrays[other], arrays[name]
    else:
        array = arrays.pop(name)
        if rng.random() < 0.5:
            arrays[rng.choice([name + "x", "00." + name, "1." + name, name.rpartition(".")[2]])] = array
    return arrays


def other_header(header: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    header = json.loads(json.dumps(header))
    name = rng.choice([*header, "n_bits", "n_features", "more"])
    what = rng.randrange(4)
    if what == 0 and isinstance(header.get("parameters"), dict):
        header["parameters"][rng.choice([*header["parameters"], "more"])] = deepcopy(rng.choice(JUNK))
    elif what == 1 and "map" in header:
        header["map"] = rng.choice(["whole", "linear", ""])
    elif what == 2 and "hasher" in header:
        header["hasher"] = rng.choice(list(HASHERS))
    elif what == 3 and rng.random() < 0.3:
        header.pop(name, None)
    else:
        header[name] = deepcopy(rng.choice(JUNK))
    return header


def mutated(contents: Contents, rng: random.Random) -> Contents:
    arrays, header = contents
    for _ in range(rng.choice([1, 1, 2, 3])):
        if rng.random() < 0.8 and arrays:
            arrays = other_arrays(arrays, rng)
        else:
            header = other_header(header, rng)
    return arrays, header


@pytest.mark.parametrize("count", [40, pytest.param(4_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_mutated_model_works_or_is_refused(kind: str, count: int, models: Any, tmp_path: Path) -> None:
    rng = random.Random(f"{kind} {count}")
    taken = 0
    for _ in range(count):
        forge(tmp_path / "f.kin", mutated(models[kind], rng))
        taken += works_or_is_refused(tmp_path / "f.kin")
    assert 0 < taken < count


@pytest.mark.parametrize("count", [200, pytest.param(20_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("ids", ["none", "numbers", "words"])
def test_mutated_codes_are_sound_or_refused(ids: str, count: int, tmp_path: Path) -> None:
    bits = np.random.default_rng(0).integers(0, 2, (9, 12))
    names = {"none": None, "numbers": np.arange(9), "words": [f"row {k}" for k in range(9)]}[ids]
    path = tmp_path / "c.kin"
    kinhash.save_codes(Codes.from_bits(bits, ids=None if names is None else np.array(names)), path)
    rng = random.Random(f"{ids} {count}")
    contents, taken = read_container(path), 0
    for _ in range(count):
        forge(path, mutated(contents, rng), "codes")
        try:
            codes = kinhash.load_codes(path)
        except DamagedFile:
            continue
        taken += 1
        assert codes.bits().shape == (len(codes), codes.n_bits)
        assert codes.ids is None or len(codes.ids) == len(codes)
        assert len(codes[:1]) == min(1, len(codes))
    assert taken < count


def test_ids_that_overlap_are_refused(tmp_path: Path) -> None:
    """Each of a thousand ids would be the whole text, a thousand times what the file holds."""
    packed = np.zeros((1000, 1), np.uint8)
    arrays = {"packed": packed, "id_text": np.full(1000, 97, np.uint8), "id_ends": np.tile([1000, 0], 500)}
    forge(
        tmp_path / "c.kin",
        (arrays, {"n_bits": 8, "model_id": None, "learned": False}),
        "codes",
    )
    with pytest.raises(DamagedFile, match="end before they begin"):
        kinhash.load_codes(tmp_path / "c.kin")


def test_a_length_set_after_the_fit_does_not_spoil_the_file(tmp_path: Path) -> None:
    X, y = rows()
    hasher = EnergyHasher(8, random_state=0).fit(X, y).set_params(n_bits=16)
    hasher.save(tmp_path / "m.kin")
    assert kinhash.load(tmp_path / "m.kin").encode(X).shape == (60, 1)


def test_info_of_a_forged_model_is_our_error(models: dict[str, Contents], tmp_path: Path) -> None:
    from click.testing import CliRunner

    from kinhash.cli import kinhash as program

    arrays, header = models["EMKSH"]
    for name in header:
        forge(tmp_path / "f.kin", (arrays, {key: value for key, value in header.items() if key != name}))
        assert isinstance(
            CliRunner().invoke(program, ["info", str(tmp_path / "f.kin")]).exception, DamagedFile
        )
