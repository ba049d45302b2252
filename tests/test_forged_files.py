"""A stranger's model and codes files: the digest and the model's id hold, the contents lie.

Whatever is in such a file, `load` refuses it with our error, or what it gives encodes: one row as in a batch,
and with nothing in the file unread.
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
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kinhash
from kinhash import Codes, EnergyHasher, Fields
from kinhash.container import read_container, write_container
from kinhash.encoders import MAPS, Fitted
from kinhash.encoders.expected import ExpectedMap, RegressedSimilarity
from kinhash.encoders.features import RBF, Both
from kinhash.encoders.ridge import Ridge
from kinhash.encoders.stored_readout import KINDS as READOUTS
from kinhash.errors import DamagedFile, InvalidInput
from kinhash.model_file import HASHERS, arrays_id
from kinhash.solvers.linearised import Linearised

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::kinhash.errors.KinhashWarning")

Contents = tuple[dict[str, Any], dict[str, Any]]

# Every kind of map, of prepared features and of readout that a file can hold.
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "linear": ("EnergyHasher", {"encoder": "ridge"}),
    "rbf": ("EnergyHasher", {"encoder": Ridge(features=RBF(n_centers=12))}),
    "both": ("EnergyHasher", {"encoder": Ridge(features=Both(n_centers=12))}),
    "gaussian": ("KSH", {}),
    "power": ("SCDH", {}),
    "periodic": ("SpectralHashing", {}),
    "trees": ("FastHash", {"n_rounds": 3, "n_partners": 10}),
    "stacked": ("EnergyHasher", {"alike": 0.5}),
    "expected": ("EnergyHasher", {}),
    "matrix": ("EnergyHasher", {"kinship": [[1.0, 0.5, -1.0], [0.5, 1.0, 0.0], [-1.0, 0.0, 1.0]]}),
    "tags": ("EnergyHasher", {"kinship": "any"}),
    "graded tags": ("EnergyHasher", {"kinship": "graded"}),
    "polish": ("EnergyHasher", {"solver": "coordinate"}),
    "solve": ("EnergyHasher", {"solver": Linearised(n_sweeps=3)}),
    "varying": ("EnergyHasher", {"solver": "linearised", "energy": "lfh"}),
    "varying exph": ("EnergyHasher", {"solver": "linearised", "energy": "exph"}),
    "similarity": ("EnergyHasher", {"encoder": "expected"}),  # as old versions wrote them
}
MODELS = {name: made for name, made in MODELS.items() if made[0] in HASHERS}  # rivals: where installed


def rows(n: int = 60, p: int = 6) -> tuple[np.ndarray, np.ndarray]:
    y = np.arange(n) % 3
    return np.random.default_rng(0).normal(size=(n, p)) + 3 * np.eye(p)[y], y


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Contents]:
    path = tmp_path_factory.mktemp("models") / "m.kin"
    X, y = rows()
    found = {}
    for name, (method, parameters) in MODELS.items():
        kinship = {"alike": 0} if method == "EnergyHasher" else {}
        hasher = HASHERS[method](n_bits=8, random_state=0, n_jobs=1).set_params(**{**kinship, **parameters})
        hasher.fit(X, [{int(c), 7 if c else 8} for c in y] if "tags" in name else y)
        if name == "similarity":
            hasher.adopt(Fitted(with_regressed_similarities(hasher.fitted_.map)))
        hasher.save(path)
        found[name] = read_container(path)
    return found


def with_regressed_similarities(map_: Any) -> ExpectedMap:
    """The map with similarities that are predicted directly, without labels."""
    q, m = len(map_.preparation.mean), map_.expected.n_anchors
    weights = np.random.default_rng(0).normal(size=(q, m)).astype(np.float32)
    return replace(map_, expected=RegressedSimilarity(weights, np.zeros(m, np.float32)))


def forge(path: Path, contents: Contents, kind: str = "model") -> None:
    """Write with a digest and a model id that hold, and without the fsync, which is not what is tested."""
    arrays, header = contents
    if "model_id" in header and kind == "model":
        header = {**header, "model_id": arrays_id(str(header.get("map")), arrays)}
    fsync, os.fsync = os.fsync, lambda handle: None
    try:
        write_container(path, arrays, header, kind)
    finally:
        os.fsync = fsync


def learns_or_refuses(loaded: Any, X: np.ndarray) -> None:
    """Learned codes of labels that the file knows."""
    if isinstance(loaded, EnergyHasher):
        with contextlib.suppress(InvalidInput):
            assert loaded.learned_codes([0, 1, 2], X).shape == loaded.encode(X).shape


def works_or_is_refused(path: Path) -> bool:
    """Whether it works."""
    try:
        loaded = kinhash.load(path)
    except DamagedFile:
        return False
    X = np.resize(rows(3)[0], (3, loaded.n_features_in_))
    X[2] *= 1e200
    codes = loaded.encode(X)
    assert codes.shape == (3, -(-loaded.n_bits // 8))
    np.testing.assert_array_equal(loaded.encode(X[:1]), codes[:1])
    stored, used = read_container(path)[0], loaded.fitted_.map.arrays()
    if loaded.fitted_.labels is not None:
        learns_or_refuses(loaded, X)
        used |= {f"labels.{name}": array for name, array in loaded.fitted_.labels.arrays().items()}
    assert stored.keys() == used.keys()
    for name, array in used.items():
        assert (array.dtype, array.shape) == (stored[name].dtype, stored[name].shape)
        np.testing.assert_array_equal(array, stored[name])
    return True


def test_the_models_here_hold_every_kind_of_array(models: dict[str, Contents]) -> None:
    pytest.importorskip("kinhash_bench")
    names = {name.lstrip("0123456789.") for arrays, _ in models.values() for name in arrays}
    assert {header["map"] for _, header in models.values()} == set(MAPS) - {"regressor"}
    assert {name.split(".")[1] for name in names if name.startswith("readout.")} == set(READOUTS)
    assert {
        "added_centers",
        "gaussian_centers",
        "rbf_centers",
        "rbf_power",
        "anchor_classes",
        "between",
        "patterns",
        "graded",
        "labels.scores",
        "similarity_weights",
    } <= names


def test_untouched_contents_are_taken(models: dict[str, Contents], tmp_path: Path) -> None:
    for contents in models.values():
        forge(tmp_path / "f.kin", contents)
        assert works_or_is_refused(tmp_path / "f.kin")


# ---- known cases -----------------------------------------------------------------------------


def standardising_less_columns_than_rows_have(models: dict[str, Contents]) -> Contents:
    arrays, header = models["linear"]
    one = {"mean": np.zeros(1), "scale": np.ones(1)}
    weights = {"weights": np.ones((3_000_000, 1), np.float32), "intercept": np.zeros(1, np.float32)}
    parameters = {**header["parameters"], "n_bits": 1}
    header = {**header, "n_features": 3_000_000, "n_bits": 1, "parameters": parameters}
    return {**arrays, **one, **weights}, header


def trees_whose_nodes_add_up_by_wrapping(models: dict[str, Contents]) -> Contents:
    pytest.importorskip("kinhash_bench")
    arrays, header = models["trees"]
    # Four times 2^62 is 2^64, which is 0 in 64 bits: the nodes seem to be as many as there are.
    nodes = np.full(len(arrays["nodes"]), 1)
    nodes[:4] += 2**62
    nodes[-1] += len(arrays["right"]) - len(nodes)
    return {**arrays, "nodes": nodes}, header


def sweeps_without_end(models: dict[str, Contents]) -> Contents:
    arrays, header = models["polish"]
    # No symmetric matrix: two bits chase each other and never settle.
    gram = np.zeros((8, 8))
    gram[0, 1], gram[1, 0] = 1e9, -1e9
    forged = {"gram": gram, "bend": np.ones(1), "n_sweeps": np.array([2**62])}
    return {**arrays, **{f"readout.polish.{name}": array for name, array in forged.items()}}, header


ANCHORED = ("anchor_classes", "readout.linear.matrix")


def an_intercept_that_makes_a_huge_product(models: dict[str, Contents]) -> Contents:
    arrays, header = models["expected"]
    # One row would have 200,000 rows of similarities to 100,000 anchors: 149 GiB.
    anchors = {name: np.resize(arrays[name], (100_000, *arrays[name].shape[1:])) for name in ANCHORED}
    return {**arrays, **anchors, "label_intercept": np.zeros((200_000, 1), np.float32)}, header


def numbers_of_a_type_no_kernel_knows(models: dict[str, Contents]) -> Contents:
    arrays, header = models["linear"]
    return {**arrays, "mean": arrays["mean"].astype(np.float16)}, header


def more_bits_than_codes_have(models: dict[str, Contents]) -> Contents:
    arrays, header = models["linear"]
    wide = {"weights": np.ones((6, 2000), np.float32), "intercept": np.zeros(2000, np.float32)}
    return {**arrays, **wide}, {**header, "n_bits": 2000}


def other_bits_than_the_parameter_says(models: dict[str, Contents]) -> Contents:
    arrays, header = models["linear"]
    wide = {"weights": np.ones((6, 200), np.float32), "intercept": np.zeros(200, np.float32)}
    return {**arrays, **wide}, {**header, "n_bits": 200}


def columns_of_another_number_than_its_centres_have(models: dict[str, Contents]) -> Contents:
    arrays, header = models["both"]
    # Fewer columns of the row itself: what stands after them would be read as a similarity.
    less = {name: arrays[name][1:] for name in ("mean", "scale", "weights")}
    return {**arrays, **less}, header


def labels_with_an_array_nobody_reads(models: dict[str, Contents]) -> Contents:
    arrays, header = models["expected"]
    return {**arrays, "labels.tablex": arrays["labels.digests"]}, header


def classes_that_the_label_model_does_not_know(models: dict[str, Contents]) -> Contents:
    arrays, header = models["expected"]
    return {**arrays, "anchor_classes": np.array([0, 1, 3], np.int32)}, header


def tags_that_say_they_are_not_graded(models: dict[str, Contents]) -> Contents:
    arrays, header = models["graded tags"]
    # Any-tag models have no such array, so this one would be read and lost.
    return {**arrays, "graded": np.zeros(1, np.uint8)}, header


def similarities_of_other_classes(models: dict[str, Contents]) -> Contents:
    arrays, header = models["matrix"]
    return {**arrays, "between": np.eye(4)}, header


def tag_scores_without_a_map_of_tags(models: dict[str, Contents]) -> Contents:
    arrays, header = models["expected"]
    return {name: array for name, array in arrays.items() if name != "labels.scores"}, header


def scores_of_labels_that_are_no_numbers(models: dict[str, Contents]) -> Contents:
    arrays, header = models["expected"]
    return {**arrays, "labels.scores": np.full_like(arrays["labels.scores"], np.nan)}, header


def scores_of_labels_for_other_bits(models: dict[str, Contents]) -> Contents:
    arrays, header = models["expected"]
    return {**arrays, "labels.scores": arrays["labels.scores"][:, :-1]}, header


def more_threads_than_a_system_starts(models: dict[str, Contents]) -> Contents:
    arrays, header = models["linear"]
    return arrays, {**header, "parameters": {**header["parameters"], "n_jobs": 10**7}}


Forging = Callable[[dict[str, Contents]], Contents]
IN_A_CHILD: list[Forging] = [
    standardising_less_columns_than_rows_have,
    trees_whose_nodes_add_up_by_wrapping,
    sweeps_without_end,
]
IN_PROCESS: list[Forging] = [
    an_intercept_that_makes_a_huge_product,
    numbers_of_a_type_no_kernel_knows,
    more_bits_than_codes_have,
    columns_of_another_number_than_its_centres_have,
    labels_with_an_array_nobody_reads,
    classes_that_the_label_model_does_not_know,
    similarities_of_other_classes,
    tags_that_say_they_are_not_graded,
    tag_scores_without_a_map_of_tags,
    scores_of_labels_that_are_no_numbers,
    scores_of_labels_for_other_bits,
    other_bits_than_the_parameter_says,
    more_threads_than_a_system_starts,
]


@pytest.mark.parametrize("case", IN_PROCESS, ids=lambda case: case.__name__)
def test_a_forged_model_is_refused(case: Forging, models: dict[str, Contents], tmp_path: Path) -> None:
    forge(tmp_path / "f.kin", case(models))
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


@pytest.mark.parametrize("case", IN_A_CHILD, ids=lambda case: case.__name__)
def test_a_forged_model_neither_crashes_nor_hangs(
    case: Forging, models: dict[str, Contents], tmp_path: Path
) -> None:
    """In a process of its own, which these files ended or held for ever."""
    forge(tmp_path / "f.kin", case(models))
    child = [sys.executable, "-c", CHILD, str(tmp_path / "f.kin")]
    done = subprocess.run(child, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("refused:")


# ---- anything --------------------------------------------------------------------------------

JUNK: list[Any] = [
    None,
    True,
    -1,
    0,
    1,
    7,
    8,
    1024,
    2**31,
    2**70,
    1e308,
    "",
    "linear",
    [],
    ["a"],
    {},
    {"a": 1},
]
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


def other_arrays(arrays: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    arrays = dict(arrays)
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
        header["map"] = rng.choice(list(MAPS))
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
@pytest.mark.parametrize("kind", MODELS)
def test_a_mutated_model_works_or_is_refused(
    kind: str, count: int, models: dict[str, Contents], tmp_path: Path
) -> None:
    rng = random.Random(f"{kind} {count}")
    taken = 0
    for _ in range(count):
        forge(tmp_path / "f.kin", mutated(models[kind], rng))
        taken += works_or_is_refused(tmp_path / "f.kin")
    assert 0 < taken < count


@pytest.mark.parametrize("count", [100, pytest.param(4_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("generation", ["1", "2"])
def test_a_mutated_model_of_an_old_version_encodes_or_is_refused(
    generation: str, count: int, tmp_path: Path
) -> None:
    """Their arrays become others on the way in."""
    rng = random.Random(f"{generation} {count}")
    contents = read_container(Path(__file__).parent / "golden" / f"model-{generation}.kin")
    X, taken = rows(3)[0], 0
    for _ in range(count):
        forge(tmp_path / "f.kin", mutated(contents, rng))
        try:
            loaded = kinhash.load(tmp_path / "f.kin")
        except DamagedFile:
            continue
        codes = loaded.encode(X)
        np.testing.assert_array_equal(loaded.encode(X[:1]), codes[:1])
        learns_or_refuses(loaded, X)
        taken += 1
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
        tmp_path / "c.kin", (arrays, {"n_bits": 8, "model_id": None, "fields": Fields().as_dict()}), "codes"
    )
    with pytest.raises(DamagedFile, match="end before they begin"):
        kinhash.load_codes(tmp_path / "c.kin")


def test_whole_numbers_as_settings_are_one_model_with_floats(tmp_path: Path) -> None:
    X, y = rows()
    found = [EnergyHasher(8, solver=Linearised(clip=clip), random_state=0).fit(X, y) for clip in (2, 2.0)]
    found[0].save(tmp_path / "m.kin")
    assert kinhash.load(tmp_path / "m.kin").model_id_ == found[1].model_id_


def test_a_length_set_after_the_fit_does_not_spoil_the_file(tmp_path: Path) -> None:
    X, y = rows()
    hasher = EnergyHasher(8, random_state=0).fit(X, y).set_params(n_bits=16)
    hasher.save(tmp_path / "m.kin")
    assert kinhash.load(tmp_path / "m.kin").encode(X).shape == (60, 1)


def test_info_of_a_forged_model_is_our_error(models: dict[str, Contents], tmp_path: Path) -> None:
    from click.testing import CliRunner

    from kinhash.cli.info import info

    arrays, header = models["linear"]
    for name in header:
        forge(tmp_path / "f.kin", (arrays, {key: value for key, value in header.items() if key != name}))
        assert isinstance(CliRunner().invoke(info, [str(tmp_path / "f.kin")]).exception, DamagedFile)
