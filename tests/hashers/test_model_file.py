"""Models and codes on disk, through the public API: what `save` wrote is what `load` gives, or an error.

The container has its own tests; here are the promises as a user meets them. ``python
tests/test_model_file.py`` writes the golden files of the last generation; older ones stay for ever.
"""

from __future__ import annotations

import json
import os
import random
import re
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kinhash
from kinhash import Codes, EnergyHasher
from kinhash.codes import pack_bits
from kinhash.codes.container import FORMAT, read_container, write_container
from kinhash.encoders.expected_labels import ExpectedLabels
from kinhash.encoders.features import RBF, Both, Plain
from kinhash.encoders.ridge import Ridge
from kinhash.errors import DamagedFile, FileProblem, InvalidInput, KinhashError
from kinhash.hashers.model_file import HASHERS
from kinhash.models import WholeMap
from kinhash.models.steps import STEPS
from kinhash.solvers.coordinate import Coordinate, Polished
from kinhash.solvers.linearized import Linearized

GOLDEN = Path(__file__).parents[1] / "golden"
WHOLE = ("2-whole", "2-whole-tags")
NAMES = np.array(["zebra-secret", "yak-secret", "gnu-secret"])
KINDS: dict[str, dict[str, Any]] = {
    "expected": {},
    "kin bits alone": {"alike": 0},
    "labels alone": {"alike": 0, "trust": 1.0},
    "matrix": {"kinship": [[1.0, 0.5, -1.0], [0.5, 1.0, 0.0], [-1.0, 0.0, 1.0]]},
    "ridge": {"encoder": "ridge"},
    "rbf": {"encoder": Ridge(features=RBF(n_centers=20))},
    "expected on rbf": {"encoder": ExpectedLabels(features=RBF(n_centers=20))},
    "expected on both": {"encoder": ExpectedLabels(features=Both(n_centers=20))},
    "few alike bits": {"alike": 0.25, "kin_weight": 5},
    "coordinate": {"solver": Coordinate(n_sweeps=4)},
    "polished": {"solver": Polished(first=Linearized(n_sweeps=2), targets="balanced")},
}


def rows(n: int = 120, p: int = 6, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.normal(size=(n, p)) + 3 * np.eye(p)[y], y


def fitted(**parameters: Any) -> EnergyHasher:
    X, y = rows()
    return EnergyHasher(**{"n_bits": 9, "random_state": 0, **parameters}).fit(X, NAMES[y])


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model.kin"
    fitted().save(path)
    return path


@pytest.fixture(scope="module")
def codes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("codes") / "codes.kin"
    hasher = fitted()
    kinhash.save_codes(hasher.encode(rows(20)[0], ids=[f"item {k}" for k in range(20)]), path)
    return path


# ---- what goes in comes out ------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_loaded_model_encodes_bit_for_bit_as_it_did(kind: str, tmp_path: Path) -> None:
    hasher = fitted(**KINDS[kind])
    hasher.save(tmp_path / "m.kin")
    loaded = kinhash.load(tmp_path / "m.kin")
    fresh = rows(500, seed=1)[0]
    np.testing.assert_array_equal(loaded.encode(fresh), hasher.encode(fresh))
    np.testing.assert_array_equal(loaded.decision_function(fresh), hasher.decision_function(fresh))
    assert loaded.model_id_ == hasher.model_id_
    assert repr(loaded.get_params()) == repr(hasher.get_params())
    loaded.save(tmp_path / "again.kin")
    assert (tmp_path / "again.kin").read_bytes() == (tmp_path / "m.kin").read_bytes()


@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")  # some methods find 4 bits too many
@pytest.mark.parametrize("name", list(HASHERS))
def test_every_method_is_saved_and_found_again(name: str, tmp_path: Path) -> None:
    X, y = rows()
    hasher = HASHERS[name](n_bits=4, random_state=0).fit(X, y)
    if hasher.model_id_ is None:  # boosted trees are no plain arrays, and saving must say so
        with pytest.raises(InvalidInput, match="cannot be written"):
            hasher.save(tmp_path / "m.kin")
        assert not (tmp_path / "m.kin").exists()
        return
    hasher.save(tmp_path / "m.kin")
    loaded = kinhash.load(tmp_path / "m.kin")
    assert type(loaded) is type(hasher)
    np.testing.assert_array_equal(loaded.encode(X), hasher.encode(X))


def test_column_names_travel_with_the_model(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = rows()
    table = pandas.DataFrame(X, columns=[f"größe {k}" for k in range(6)])
    hasher = EnergyHasher(8, random_state=0).fit(table, y)
    hasher.save(tmp_path / "m.kin")
    loaded = kinhash.load(tmp_path / "m.kin")
    assert loaded.feature_names_in_.tolist() == list(table.columns)
    np.testing.assert_array_equal(loaded.encode(table), hasher.encode(table))
    np.testing.assert_array_equal(loaded.encode(table[table.columns[::-1]]), hasher.encode(table))
    with pytest.raises(ValueError, match="feature names"):
        loaded.encode(table.rename(columns={"größe 0": "other"}))


@given(
    n_bits=st.integers(1, 40),
    n=st.integers(0, 6),
    ids=st.sampled_from(["none", "numbers", "text"]),
    words=st.lists(st.text(max_size=5), min_size=6, max_size=6, unique=True),
    mmap=st.booleans(),
    seed=st.integers(0, 99),
)
def test_codes_carry_their_length_ids_and_model(
    tmp_path_factory: Any, n_bits: int, n: int, ids: str, words: list[str], mmap: bool, seed: int
) -> None:
    path = tmp_path_factory.mktemp("codes") / "c.kin"
    bits = np.random.default_rng(seed).integers(0, 2, (n, n_bits))
    names = {"none": None, "numbers": np.arange(n) * 7 - 3, "text": np.array(words[:n], dtype=object)}[ids]
    kinhash.save_codes(Codes.from_bits(bits, ids=names, model_id="ab" * 16), path)
    found = kinhash.load_codes(path, mmap=mmap)
    np.testing.assert_array_equal(found.bits(), bits)
    assert found.n_bits == n_bits
    assert found.model_id == "ab" * 16
    assert (found.ids is None) == (names is None)
    if names is not None:
        assert [str(name) for name in found.ids.tolist()] == [str(name) for name in names.tolist()]


def test_codes_of_another_model_are_refused() -> None:
    X = rows()[0]
    mine, other = fitted().encode(X), fitted(random_state=1).encode(X)
    with pytest.raises(KinhashError, match="made by one model"):
        mine.require_same_kind(other)


# ---- damage is never used --------------------------------------------------------------------


def refused(read: Any, path: Path) -> None:
    with pytest.raises(FileProblem):
        read(path)


def flip_bits(path: Path, copy: Path, bits: range, read: Any) -> None:
    whole = path.read_bytes()
    for bit in bits:
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        copy.write_bytes(damaged)
        refused(read, copy)


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.slow)])
def test_single_bit_flips_of_codes_are_refused(step: int, codes: Path, tmp_path: Path) -> None:
    """Every fifth bit here, which comes to every place in a byte; every bit of the file in the slow run."""
    flip_bits(codes, tmp_path / "c.kin", range(0, 8 * codes.stat().st_size, step), kinhash.load_codes)


@pytest.mark.parametrize("step", [401, pytest.param(1, marks=pytest.mark.slow)])
def test_single_bit_flips_of_a_model_are_refused(step: int, model: Path, tmp_path: Path) -> None:
    """Every 401st bit here; every bit of the file in the slow run."""
    assert model.stat().st_size < 100_000
    flip_bits(model, tmp_path / "m.kin", range(0, 8 * model.stat().st_size, step), kinhash.load)


@pytest.mark.parametrize("step", [101, pytest.param(1, marks=pytest.mark.slow)])
def test_every_truncation_is_refused(step: int, model: Path, codes: Path, tmp_path: Path) -> None:
    """Models to every 101st length here, and to those around the end; to every length in the slow run."""
    for path, read, by in ((model, kinhash.load, step), (codes, kinhash.load_codes, 1)):
        whole = path.read_bytes()
        for length in {*range(0, len(whole), by), *range(len(whole) - 100, len(whole))}:
            (tmp_path / "t.kin").write_bytes(whole[:length])
            refused(read, tmp_path / "t.kin")


@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_random_mutations_of_a_larger_model_are_refused(count: int, tmp_path: Path) -> None:
    X, y = rows(600, 200)
    encoder = Ridge(features=RBF(n_centers=300))
    EnergyHasher(64, random_state=0, encoder=encoder).fit(X, y).save(tmp_path / "large.kin")
    whole = (tmp_path / "large.kin").read_bytes()
    assert len(whole) > 64_000
    rng = random.Random(0)
    for _ in range(count):
        damaged = bytearray(whole)
        for _ in range(rng.choice([1, 2, 10])):
            damaged[rng.randrange(len(damaged))] ^= rng.randrange(1, 256)
        if bytes(damaged) == whole:
            continue
        (tmp_path / "m.kin").write_bytes(damaged)
        refused(kinhash.load, tmp_path / "m.kin")


# ---- a stranger's file -----------------------------------------------------------------------

JUNK: list[Any] = [
    None,
    True,
    -1,
    0,
    1,
    7,
    2**70,
    1e308,
    "",
    "linear",
    "os.system",
    [],
    [1],
    ["a"],
    {},
    {"a": 1},
]
DTYPES = ["?", "u1", "i8", "f4", "f8", "f2"]


def forged(
    arrays: dict[str, Any], header: dict[str, Any], rng: random.Random
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Contents with a digest that will hold and one to three things that make no sense."""
    arrays, header = dict(arrays), json.loads(json.dumps(header))
    for _ in range(rng.randrange(1, 4)):
        what = rng.randrange(6)
        name = rng.choice(list(arrays)) if arrays else "x"
        if what == 0:
            header[rng.choice(list(header))] = deepcopy(rng.choice(JUNK))
        elif what == 1 and isinstance(header.get("parameters"), dict):
            parameters = header["parameters"]
            parameters[rng.choice([*parameters, "nonsense"])] = deepcopy(rng.choice(JUNK))
        elif what == 2:
            arrays.pop(name, None)
        elif what == 3:
            shape = tuple(rng.choice([0, 1, 2, 3, 6, 9]) for _ in range(rng.randrange(4)))
            arrays[name] = np.full(shape, rng.choice([0, 1, 3, 200])).astype(rng.choice(DTYPES))
        elif what == 4 and name in arrays:
            old = np.array(arrays[name])
            if old.size and old.dtype.kind == "f":
                old.flat[rng.randrange(old.size)] = rng.choice(
                    [np.nan, np.inf, -np.inf, 1e300 if old.itemsize > 4 else 1e4]
                )
            elif old.size and old.dtype.kind in "iu":
                old.flat[rng.randrange(old.size)] = rng.choice([0, 1, 127])
            arrays[name] = old
        elif name in arrays:
            arrays[name] = np.asarray(arrays[name])[..., :-1] if np.ndim(arrays[name]) else np.zeros(3)
    return arrays, header


@pytest.mark.parametrize("count", [500, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", ["model", "codes"])
def test_forged_contents_raise_nothing_but_our_error(
    kind: str, count: int, model: Path, codes: Path, tmp_path: Path
) -> None:
    """The digest holds, the contents lie: a stranger can write such files."""
    rng = random.Random(1)
    sources = [codes]
    if kind == "model":
        sources = [model]
        for number, parameters in enumerate(KINDS.values()):
            fitted(**parameters).save(tmp_path / f"{number}.kin")
            sources.append(tmp_path / f"{number}.kin")
    originals = [read_container(path) for path in sources]
    X = rows(5)[0]
    accepted = 0
    for _ in range(count):
        arrays, header = forged(*rng.choice(originals), rng)
        write_container_fast(tmp_path / "f.kin", arrays, header, kind)
        try:
            if kind == "codes":
                kinhash.load_codes(tmp_path / "f.kin")
            else:
                loaded = kinhash.load(tmp_path / "f.kin")
                with np.errstate(all="ignore"):
                    loaded.encode(np.resize(X, (5, loaded.n_features_in_)))
            accepted += 1
        except KinhashError:
            continue
    assert accepted < count


@pytest.mark.parametrize(
    "ends", [[9, 0] * 3, [9, 0, 9, 0, 9, 9], [-1, 2, 3, 4, 5, 9], [1, 2, 3, 4, 5, 10], [1] * 6]
)
def test_ends_of_ids_that_go_backwards_or_leave_the_text_are_refused(ends: list[int], tmp_path: Path) -> None:
    """Otherwise a small file could make every other id as long as the whole text."""
    arrays = {
        "packed": np.zeros((6, 1), np.uint8),
        "id_text": np.full(9, ord("a"), np.uint8),
        "id_ends": np.array(ends, np.int64),
    }
    write_container(tmp_path / "c.kin", arrays, {"n_bits": 8, "model_id": None}, "codes")
    with pytest.raises(DamagedFile):
        kinhash.load_codes(tmp_path / "c.kin")


def test_ids_that_64_bits_do_not_hold_are_not_saved(tmp_path: Path) -> None:
    largest, packed = np.array([2**63 - 1], np.uint64), np.zeros((1, 1), np.uint8)
    kinhash.save_codes(Codes(packed, 8, ids=largest), tmp_path / "c.kin")
    assert kinhash.load_codes(tmp_path / "c.kin").ids.tolist() == [2**63 - 1]  # type: ignore[union-attr]
    with pytest.raises(KinhashError, match="The number 9223372036854775808 is among the ids"):
        kinhash.save_codes(Codes(packed, 8, ids=largest + np.uint64(1)), tmp_path / "c.kin")


def write_container_fast(path: Path, arrays: Any, header: Any, kind: str) -> None:
    """Without the fsync, which is not what is tested here."""
    fsync, os.fsync = os.fsync, lambda handle: None
    try:
        write_container(path, arrays, header, kind)
    finally:
        os.fsync = fsync


def test_a_name_from_a_file_is_looked_up_in_a_table_and_never_imported(model: Path, tmp_path: Path) -> None:
    arrays, header = read_container(model)
    for field, value in (("hasher", "os:system"), ("hasher", "subprocess.Popen"), ("map", "builtins:eval")):
        write_container(tmp_path / "f.kin", arrays, {**header, field: value}, "model")
        refused(kinhash.load, tmp_path / "f.kin")


def test_a_pickle_is_not_opened(tmp_path: Path) -> None:
    import pickle

    class Bomb:
        def __reduce__(self) -> Any:
            return (os.mkdir, (str(tmp_path / "exploded"),))

    (tmp_path / "m.kin").write_bytes(pickle.dumps(Bomb()))
    for read in (kinhash.load, kinhash.load_codes):
        refused(read, tmp_path / "m.kin")
    assert not (tmp_path / "exploded").exists()


# ---- formats ---------------------------------------------------------------------------------


def test_a_newer_format_is_refused_by_its_number(model: Path, codes: Path, tmp_path: Path) -> None:
    for path, read in ((model, kinhash.load), (codes, kinhash.load_codes)):
        newer = path.read_bytes().replace(
            f'"format":"{FORMAT}"'.encode(), f'"format":"{FORMAT + 1}"'.encode()
        )
        (tmp_path / "n.kin").write_bytes(newer)
        with pytest.raises(
            FileProblem, match=f"has format {FORMAT + 1}, and this version reads format {FORMAT}"
        ):
            read(tmp_path / "n.kin")


def golden_rows() -> np.ndarray:
    """Rows by formula, so that no library's random numbers matter."""
    i, j = np.ogrid[0:40, 0:6]
    return ((7 * i + 3 * j + i * j) % 11 - 5) / 4 + 3.0 * (i % 3 == j)


@pytest.mark.parametrize("generation", WHOLE)
def test_whole_number_models_give_these_bits_for_ever(generation: str, tmp_path: Path) -> None:
    loaded = kinhash.load(GOLDEN / f"model-{generation}.kin")
    codes = kinhash.load_codes(GOLDEN / f"codes-{generation}.kin")
    found, map_ = loaded.encode(golden_rows()), loaded.fitted_.map
    np.testing.assert_array_equal(found.packed, codes.packed)
    np.testing.assert_array_equal(pack_bits(map_.run_with(np, golden_rows()) > 0), codes.packed)
    assert (
        loaded.model_id_
        == codes.model_id
        == read_container(GOLDEN / f"model-{generation}.kin")[1]["model_id"]
    )
    assert 0.2 < codes.bits().mean() < 0.8
    learned = kinhash.load_codes(GOLDEN / f"learned-{generation}.kin")
    np.testing.assert_array_equal(
        loaded.learned_codes(golden_labels(generation), golden_rows()).packed, learned.packed
    )
    loaded.save(tmp_path / "again.kin")
    assert (tmp_path / "again.kin").read_bytes() == (GOLDEN / f"model-{generation}.kin").read_bytes()


def test_golden_models_of_whole_numbers_have_many_kinds_of_steps() -> None:
    found = {
        step.kind for one in WHOLE for step in kinhash.load(GOLDEN / f"model-{one}.kin").fitted_.map.steps_
    }
    assert found == set(STEPS) - {"settle", "solve", "trees"}


def test_columns_as_they_come_are_stored_today(tmp_path: Path) -> None:
    hasher = fitted(encoder=Ridge(features=Plain(standardize=False)))
    hasher.save(tmp_path / "m.kin")
    X = rows(500)[0]
    np.testing.assert_array_equal(kinhash.load(tmp_path / "m.kin").encode(X), hasher.encode(X))


def test_there_is_a_small_golden_file_for_every_format_and_no_other() -> None:
    assert {int(one.split("-")[0]) for one in WHOLE} == {FORMAT}
    assert set(WHOLE) == {path.stem.removeprefix("model-") for path in GOLDEN.glob("model-*.kin")}
    names = {f"{kind}-{one}.kin" for kind in ("model", "codes", "learned") for one in WHOLE}
    assert {path.name for path in GOLDEN.glob("*.kin")} == {*names, f"index-{FORMAT}.kin"}
    assert all(path.stat().st_size < 50_000 for path in GOLDEN.iterdir())


def golden_labels(generation: str) -> Any:
    y = np.arange(40) % 3
    return [{f"t{c}", f"u{c % 2}"} for c in y] if generation.endswith("tags") else y


def write_golden() -> None:
    """Models of whole numbers, fitted on the golden rows, with an eighth of the entries of their tables."""
    GOLDEN.mkdir(exist_ok=True)
    X = golden_rows()
    for generation in WHOLE:
        hasher = EnergyHasher(12, encoder=ExpectedLabels(features="both"), alike=0.25, random_state=0)
        hasher.fit(X, golden_labels(generation))
        hasher.adopt(replace(hasher.fitted_, map=with_small_tables(hasher.fitted_.map)))
        hasher.save(GOLDEN / f"model-{generation}.kin")
        hasher = kinhash.load(GOLDEN / f"model-{generation}.kin")
        codes = hasher.encode(X, ids=[f"row {k}" for k in range(40)])
        kinhash.save_codes(codes, GOLDEN / f"codes-{generation}.kin")
        learned = hasher.learned_codes(golden_labels(generation), X)
        kinhash.save_codes(learned, GOLDEN / f"learned-{generation}.kin")


def with_small_tables(map_: Any) -> WholeMap:
    """Every eighth entry of all tables that are looked up by more than 3 bits."""
    steps = [
        replace(step, table=np.ascontiguousarray(step.table[::8]), shift=step.shift + 3)
        if hasattr(step, "table")
        else step
        for step in map_.steps_
    ]
    return WholeMap(map_.n_features, tuple(steps), map_.units)


# ---- privacy and saving ----------------------------------------------------------------------


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "rbf" not in kind])
def test_a_model_file_holds_no_training_row_and_no_class_name(kind: str, tmp_path: Path) -> None:
    """An RBF map keeps some training rows as its centers, which its documentation says."""
    rng = np.random.default_rng(0)
    X, y = rows()
    X = X + rng.normal(size=X.shape)
    EnergyHasher(9, random_state=0, **KINDS[kind]).fit(X, NAMES[y]).save(tmp_path / "m.kin")
    content = (tmp_path / "m.kin").read_bytes()
    for name in NAMES:
        assert name.encode() not in content
    for dtype in (np.float64, np.float32, np.float16):
        for row in X.astype(dtype):
            assert row[:2].tobytes() not in content
            assert row[2:4].tobytes() not in content
    standardized = (X - X.mean(axis=0)) / X.std(axis=0)
    arrays = read_container(tmp_path / "m.kin")[0]
    for array in arrays.values():
        if array.ndim == 2 and array.shape[1] == 6:
            assert not any(np.isclose(array, row, atol=1e-4).all(axis=1).any() for row in standardized)


def test_tag_names_stay_out_of_the_file(tmp_path: Path) -> None:
    X, y = rows()
    tags = [{NAMES[k], "common-secret"} if k else {NAMES[k]} for k in y]
    EnergyHasher(9, random_state=0).fit(X, tags).save(tmp_path / "m.kin")
    assert not re.search(rb"secret", (tmp_path / "m.kin").read_bytes())


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_fault_while_saving_keeps_the_old_file(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.kin"
    hasher = fitted()
    hasher.save(path)
    old = path.read_bytes()

    def fail(*args: Any) -> None:
        raise OSError(5, "Input/output error")

    other = fitted(n_bits=20)
    monkeypatch.setattr(os, step, fail)
    with pytest.raises(FileProblem, match="Input/output error"):
        other.save(path)
    monkeypatch.undo()
    assert path.read_bytes() == old
    assert [entry.name for entry in tmp_path.iterdir()] == ["m.kin"]


def test_an_energy_comes_back_as_it_was(tmp_path):
    """Objects of our table with their settings; of a stranger's only the name, and never another energy."""
    from kinhash import EnergyHasher, load
    from kinhash.energies.exph import ExpH
    from kinhash.energies.ksh import KSH
    from kinhash.energies.lfh import LFH
    from kinhash.errors import InvalidInput

    class Mine(KSH):
        """An energy that is in no table."""

    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 4)) + 3 * np.eye(4)[y]
    for energy in (ExpH(), LFH(printed=True), KSH()):
        EnergyHasher(8, energy=energy, alike=0, random_state=0).fit(X, y).save(tmp_path / "m.kin")
        again = load(tmp_path / "m.kin").energy
        assert type(again) is type(energy)
        assert vars(again) == vars(energy)
    hasher = EnergyHasher(8, energy=Mine(), random_state=0).fit(X, y)
    hasher.save(tmp_path / "m.kin")
    again = load(tmp_path / "m.kin")
    assert "Mine" in repr(again.energy)
    assert np.array_equal(again.encode(X), hasher.encode(X))
    again.save(tmp_path / "m2.kin")
    assert load(tmp_path / "m2.kin").energy == again.energy
    with pytest.raises(InvalidInput, match="'Mine', which its file does not hold"):
        again.fit(X, y)


if __name__ == "__main__":
    write_golden()
