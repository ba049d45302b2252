"""A stranger's model and codes files: the digest and the model's id hold, the contents lie.

Whatever is in such a file, `load` refuses it with our error, or what it gives encodes: one row as in a batch,
by compiled kernels as by NumPy, with values within their bounds and nothing in the file unread.
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
from kinhash import BitLayout, Codes, EnergyHasher
from kinhash.codes.container import read_container, write_container
from kinhash.encoders.features import RBF, Both
from kinhash.encoders.ridge import Ridge
from kinhash.errors import DamagedFile, InvalidInput
from kinhash.hashers.model_file import HASHERS, _of_map
from kinhash.models import WholeMap, arrays_id
from kinhash.models.steps import STEPS, Columns, Lookup, Settle
from kinhash.solvers.linearized import Linearized

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::kinhash.errors.KinhashWarning")

Contents = tuple[dict[str, Any], dict[str, Any]]

# Every kind of step that a file can hold.
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
    "solve": ("EnergyHasher", {"solver": Linearized(n_sweeps=3)}),
    "views": ("EnergyHasher", {"alike": 0.5}),
}
MODELS = {name: made for name, made in MODELS.items() if made[0] in HASHERS}  # rivals: where installed


def rows(n: int = 60, p: int = 6) -> tuple[np.ndarray, np.ndarray]:
    y = np.arange(n) % 3
    return np.random.default_rng(0).normal(size=(n, p)) + 3 * np.eye(p)[y], y


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Contents]:
    """Contents of files by name."""
    path = tmp_path_factory.mktemp("models") / "m.kin"
    X, y = rows()
    found = {}
    for name, (method, parameters) in MODELS.items():
        kinship = {"alike": 0} if method == "EnergyHasher" else {}
        hasher = HASHERS[method](n_bits=8, random_state=0, n_jobs=1).set_params(**{**kinship, **parameters})
        hasher.fit(X, [{int(c), 7 if c else 8} for c in y] if "tags" in name else y)
        if name == "views":  # one with look-alike bits, one without
            hasher.add_view("text", X[:, :4], y, beside=X).add_view("sound", X[:, 2:], y)
        hasher.save(path)
        found[name] = read_container(path)
    return found


def forge(path: Path, contents: Contents, kind: str = "model") -> None:
    """Write with a digest and a model id that hold, and without the fsync, which is not what is tested."""
    arrays, header = contents
    if "model_id" in header and kind == "model":
        header = {**header, "model_id": arrays_id(_of_map(arrays))}
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
                assert loaded.learned_codes(labels, X).shape == loaded.encode(X).shape


def is_exact(map_: WholeMap, X: np.ndarray) -> None:
    """Every value is whole and within its bound, and both ways to run a model agree."""
    for value, bound in zip(map_._values(X, len(map_.steps_))[1:], map_.bounds, strict=True):
        whole = value[0] if isinstance(value, tuple) else value
        assert whole.shape == (len(X), bound.width)
        assert np.array_equal(whole, np.rint(whole))
        assert np.abs(whole).max() <= bound.entry
        assert not bound.positive or whole.min() >= 0
    np.testing.assert_array_equal(map_.run(X), map_.run_with(np, X))
    np.testing.assert_array_equal(
        map_.run(X.astype(np.float32)), map_.run(X.astype(np.float32).astype(float))
    )


def works_or_is_refused(path: Path) -> bool:
    """Whether it works."""
    try:
        loaded = kinhash.load(path)
    except DamagedFile:
        return False
    map_ = loaded.fitted_.map
    assert isinstance(map_, WholeMap)
    X = np.resize(rows(3)[0], (6, loaded.n_features_in_))
    X[2] *= 1e30
    X[3], X[4] = 0, X[4] * 1e-30
    is_exact(map_, X)
    X[5] *= 1e200
    codes = loaded.encode(X)
    assert codes.shape == (6, -(-loaded.n_bits // 8))
    np.testing.assert_array_equal(loaded.encode(X[:1]), codes[:1])
    assert np.isfinite(loaded.decision_function(X)).all()
    learns_or_refuses(loaded, X[:3])
    for name, view in loaded.views_.items():
        own = np.resize(X[:5], (6, view.n_features_in_))
        is_exact(view.fitted_.map, own)
        np.testing.assert_array_equal(loaded.encode(own[:1], view=name), loaded.encode(own, view=name)[:1])
    stored, header = read_container(path)
    assert header["map"] == "whole"
    nothing_is_unread(loaded, stored)
    return True


def nothing_is_unread(loaded: Any, stored: dict[str, Any]) -> None:
    used, fitted = loaded.fitted_.map.arrays(), loaded.fitted_
    parts = [("labels.", fitted.labels), ("seen.", fitted.seen)]
    for place, view in enumerate(loaded.views_.values()):
        parts += [(f"view{place}.", view.fitted_.map), (f"view{place}.seen.", view.fitted_.seen)]
    for prefix, part in parts:
        if part is not None:
            used |= {prefix + name: array for name, array in part.arrays().items()}
    if "kinship" in stored:
        used["kinship"] = np.array(loaded.kinship, np.float64)
    assert stored.keys() == used.keys()
    steps = [json.loads(arrays.pop("steps").tobytes()) for arrays in (stored, used)]
    assert steps[0] == steps[1]
    for name, array in used.items():
        assert (array.dtype, array.shape) == (stored[name].dtype, stored[name].shape)
        np.testing.assert_array_equal(array, stored[name])


def test_the_models_here_hold_every_kind_of_array(models: dict[str, Contents]) -> None:
    pytest.importorskip("kinhash_bench")
    assert {header["map"] for _, header in models.values()} == {"whole"}
    assert {step[0] for contents in models.values() for step in steps_of(contents)} == set(STEPS)


@pytest.mark.parametrize("kind", list(MODELS))
def test_untouched_contents_are_taken(kind: str, models: dict[str, Contents], tmp_path: Path) -> None:
    forge(tmp_path / "f.kin", models[kind])
    assert works_or_is_refused(tmp_path / "f.kin")


# ---- known cases -----------------------------------------------------------------------------

Forging = Callable[[dict[str, Contents]], Contents]
IN_A_CHILD: list[Forging] = []
IN_PROCESS: dict[str, tuple[Forging, str]] = {}


def steps_of(contents: Contents) -> list[Any]:
    found: list[Any] = json.loads(contents[0]["steps"].tobytes())
    return found


def place_of(contents: Contents, kind: str) -> int:
    """Where the last step of a kind stands."""
    return max(place for place, step in enumerate(steps_of(contents)) if step[0] == kind)


def text(steps: Any) -> np.ndarray:
    raw = steps if isinstance(steps, str) else json.dumps(steps, separators=(",", ":"))
    return np.frombuffer(raw.encode("ascii"), np.uint8)


def with_steps(contents: Contents, change: Callable[[list[Any]], Any]) -> Contents:
    steps = steps_of(contents)
    changed = change(steps)
    return {**contents[0], "steps": text(steps if changed is None else changed)}, contents[1]


def with_array(contents: Contents, kind: str, name: str, change: Callable[[Any], Any]) -> Contents:
    """One array of the last step of a kind, changed."""
    name = f"{place_of(contents, kind)}.{name}"
    return {**contents[0], name: change(contents[0][name].copy())}, contents[1]


def put(value: Any, place: Any = 0) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        array[place] = value
        return array

    return change


def known(says: str) -> Callable[[Forging], Forging]:
    """A file that is refused with an error that says this."""

    def keep(case: Forging) -> Forging:
        IN_PROCESS[case.__name__] = (case, says)
        return case

    return keep


def in_a_child(case: Forging) -> Forging:
    """A file that ended a process, or held it for ever, or would without a check."""
    IN_A_CHILD.append(case)
    return case


# -- arrays of one step --

ARRAYS: list[tuple[str, str, str, Callable[[Any], Any], str]] = [
    ("linear", "columns", "mean", lambda a: a.astype(np.float16), "f2"),
    ("linear", "columns", "mean", lambda a: a[:-1], "shape"),
    ("linear", "columns", "mean", put(np.nan), "mean holds values"),
    ("linear", "columns", "mean", put(np.inf), "mean holds values"),
    ("linear", "columns", "factor", put(np.inf), "factor holds values"),
    ("linear", "columns", "factor", put(np.nan), "factor holds values"),
    ("linear", "columns", "factor", put(0.0), "factor holds values"),
    ("linear", "columns", "factor", put(-1.0), "factor holds values"),
    ("linear", "linear", "weights", lambda a: a[:-1], "5 rows of weights for 6 entries"),
    ("linear", "linear", "weights", lambda a: a.astype(np.int64), "i8"),
    ("linear", "linear", "weights", lambda a: a[:, :-1], "shift"),
    ("linear", "linear", "weights", lambda a: np.full_like(a, 2**31 - 1), ""),
    ("linear", "linear", "shift", put(1000), "score can reach"),
    ("linear", "linear", "shift", put(1001), "shift holds values"),
    ("linear", "linear", "constant", put(2**63 - 1), "constant holds values"),
    ("linear", "linear", "constant", put(-(2**63)), "constant holds values"),
    ("linear", "linear", "constant", put(2**62), "constant holds values"),
    ("rbf", "similarities", "table", put(-1), "table holds values"),
    ("rbf", "similarities", "table", put(2**24 + 1), "table holds values"),
    ("rbf", "similarities", "table", lambda a: a[:0], "shape"),
    ("rbf", "similarities", "centers", lambda a: a[:, 1:], "centers of 5 entries for 6"),
    ("rbf", "similarities", "centers", lambda a: a[1:], "rows of weights for 11 entries"),
    ("rbf", "similarities", "centers", put(2**31 - 1), "can reach"),
    ("expected", "softmax", "table", put(0), "shares of nothing"),
    ("expected", "softmax", "table", put(-1, -1), "table holds values"),
    ("expected", "softmax", "table", put(2**24 + 1), "table holds values"),
    ("periodic", "lookup", "table", put(2**24 + 1), "table holds values"),
    ("periodic", "lookup", "table", lambda a: a.astype(np.float32), "f4"),
    ("tags", "tags", "patterns", put(2), "patterns holds values"),
    ("tags", "tags", "patterns", lambda a: a[:, 1:], "other tags"),
    ("tags", "tags", "table", put(2**15 + 1), "table holds values"),
    ("polish", "settle", "coupling", put(2**52), "field can reach"),
    ("polish", "settle", "coupling", put(-(2**63)), "coupling holds values"),
    ("polish", "settle", "coupling", lambda a: a[1:, 1:], "another number of bits"),
    ("polish", "settle", "coupling", lambda a: a[1:], "shape"),
    ("solve", "solve", "values", put(np.nan), "values holds values"),
    ("solve", "solve", "values", put(np.inf), "values holds values"),
    ("solve", "solve", "sums", put(np.nan), "sums holds values"),
    ("solve", "solve", "sums", put(-1.0), "sums holds values"),
    ("solve", "solve", "sums", lambda a: np.full_like(a, 5e-324), "parts are zero"),
    ("solve", "solve", "clip", put(0.0), "clip holds values"),
    ("solve", "solve", "clip", put(11.0), "clip holds values"),
    ("solve", "solve", "vectors", put(2**17 + 1), "vectors holds values"),
    ("trees", "trees", "edges", lambda a: a[::-1].copy(), "ascending order"),
    ("trees", "trees", "edge_starts", put(2**62, 1), "edges, or fewer than none"),
    ("trees", "trees", "edge_starts", lambda a: a[:-1], "do not fit the columns"),
    ("trees", "trees", "edge_starts", put(7, -1), "do not fit the columns"),
    ("trees", "trees", "value", lambda a: a[:-1], "shape"),
    ("trees", "trees", "value", lambda a: a.astype(np.float32), "f4"),
    ("trees", "trees", "base", lambda a: a[:-1], "shape"),
    ("trees", "trees", "base", put(2**52), None),
    ("trees", "trees", "right", put(10_000), "out of its tree"),
    ("trees", "trees", "right", put(1), "out of its tree"),
    ("trees", "trees", "right", put(-3), "right holds values"),
    ("trees", "trees", "right", put(2, -1), "out of its tree"),
    ("trees", "trees", "feature", put(6), "a column there is none of"),
    ("trees", "trees", "feature", put(-1), "feature holds values"),
    ("trees", "trees", "nodes", put(0), "nodes holds values"),
    ("trees", "trees", "nodes", put(1), "do not fit their nodes"),
    ("trees", "trees", "trees", put(30), "do not fit their trees"),
    ("trees", "trees", "trees", put(-1), "trees holds values"),
]


@pytest.mark.parametrize(("model", "kind", "name", "change", "says"), ARRAYS)
def test_a_forged_array_of_a_step_is_refused(
    model: str, kind: str, name: str, change: Any, says: str | None, models: Any, tmp_path: Path
) -> None:
    if model not in models:
        pytest.skip("needs kinhash-bench")
    forge(tmp_path / "f.kin", with_array(models[model], kind, name, change))
    if says is None:
        assert works_or_is_refused(tmp_path / "f.kin")
        return
    with pytest.raises(DamagedFile, match=rf"contents this version cannot use \(.*{says}"):
        kinhash.load(tmp_path / "f.kin")


# -- settings and inputs --


def setting(kind: str, name: str, value: Any) -> Callable[[list[Any]], None]:
    def change(steps: list[Any]) -> None:
        place = max(place for place, step in enumerate(steps) if step[0] == kind)
        steps[place][2][name] = value

    return change


def inputs(place: int, *given: Any) -> Callable[[list[Any]], None]:
    def change(steps: list[Any]) -> None:
        steps[place][1] = list(given)

    return change


STEPS_FORGED: list[tuple[str, Callable[[list[Any]], Any], str]] = [
    ("polish", setting("settle", "n_sweeps", 33), "n_sweeps of a step"),
    ("polish", setting("settle", "n_sweeps", 2**62), "n_sweeps of a step"),
    ("polish", setting("settle", "n_sweeps", True), "n_sweeps of a step"),
    ("polish", setting("settle", "n_sweeps", 3.0), "n_sweeps of a step"),
    ("polish", setting("settle", "n_sweeps", "3"), "n_sweeps of a step"),
    ("polish", setting("settle", "n_sweeps", None), "n_sweeps of a step"),
    ("polish", setting("settle", "more", 3), "missing or unknown"),
    ("expected", setting("softmax", "shift", 63), "shift of a step"),
    ("expected", setting("softmax", "shift", -1), "shift of a step"),
    ("expected", setting("softmax", "shift", 10**400), "shift of a step"),
    ("rbf", setting("similarities", "root", 2), "root of a step"),
    ("rbf", setting("similarities", "shift", 50), None),
    ("periodic", setting("lookup", "wrap", True), "wrap of a step"),
    ("periodic", setting("lookup", "low", 2**51 + 1), "low of a step"),
    ("linear", setting("columns", "limit", 0), "limit of a step"),
    ("linear", setting("columns", "limit", 2**24 + 1), "limit of a step"),
    ("linear", setting("columns", "limit", 2**24), None),
    ("linear", setting("unit", "length", 2**20), None),
    ("rbf", setting("relative", "width", 7), "7 |6 "),
    ("rbf", setting("relative", "width", 2**40), "can reach"),
    ("linear", inputs(1, 2), "value of a later one"),
    ("linear", inputs(1, 3), "value of a later one"),
    ("linear", inputs(1, -1), "value of a later one"),
    ("linear", inputs(1, 2**70), "value of a later one"),
    ("linear", inputs(1, 0), "takes the row itself"),
    ("linear", inputs(0), "of 0 inputs"),
    ("linear", inputs(0, 0, 0), "of 2 inputs"),
    ("linear", inputs(1, 1, 1), "of 2 inputs"),
    ("linear", inputs(2, 2, 2), "keeps lengths"),
    ("linear", inputs(2, 2, 1), "different widths"),
    ("linear", inputs(2, 1, 2), "keeps lengths"),
    ("linear", inputs(2, True), "invalid input"),
    ("linear", inputs(2, 2.0), "invalid input"),
    ("linear", inputs(2, [2]), "invalid input"),
    ("linear", lambda steps: steps[:2], "unknown: 2\\."),
    ("linear", lambda steps: [*steps, ["unit", [1], {"length": 4096}]], "none that gives scores"),
    ("linear", lambda steps: [*steps, ["join", [3, 3], {}]], "16 scores and 8 units"),
    ("linear", lambda steps: [*steps, ["eval", [3], {}]], "which this version does not know"),
    ("linear", lambda steps: [*steps, [["join"], [3], {}]], ""),
    ("linear", lambda steps: [*steps, ["join", [3]]], "which this version does not know"),
    ("linear", lambda steps: [*steps, {"join": [3]}], "which this version does not know"),
    ("linear", lambda steps: [*steps, *(["join", [3], {}] for _ in range(98))], "too long a one"),
    ("linear", lambda steps: [], "no list of steps"),
    ("linear", lambda steps: {"steps": steps}, "no list of steps"),
    ("linear", lambda steps: "[" * 101 + "]" * 101, "more than 100 levels"),
    ("linear", lambda steps: "[" * 90_000, "more than 100 levels"),
    ("linear", lambda steps: "no JSON", ""),
    ("linear", lambda steps: "", ""),
    ("linear", lambda steps: "[" + "1" * 5_000 + "]", ""),
    ("linear", lambda steps: json.dumps(steps) + " " * 1_000_000, "the list of steps is not text"),
    # Each joins 64 of the one before: a few hundred bytes that ask for more memory than there is.
    ("linear", lambda steps: [*steps[:1], *joined(1, 12), *later(steps[1:], 12)], ""),
    ("linear", lambda steps: [*steps, *joined(3, 6), ["join", [3], {}]], "side by side"),
]


def joined(first: int, n: int) -> list[Any]:
    return [["join", [place] * 64, {}] for place in range(first, first + n)]


def later(steps: list[Any], by: int) -> list[Any]:
    return [
        [kind, [place + by if place > 1 else place for place in given], numbers]
        for kind, given, numbers in steps
    ]


@pytest.mark.parametrize("number", range(len(STEPS_FORGED)))
def test_a_forged_list_of_steps_is_refused(number: int, models: Any, tmp_path: Path) -> None:
    model, change, says = STEPS_FORGED[number]
    if model not in models:
        pytest.skip("needs kinhash-bench")
    forge(tmp_path / "f.kin", with_steps(models[model], change))
    if says is None:
        assert works_or_is_refused(tmp_path / "f.kin")
        return
    with pytest.raises(DamagedFile, match=rf"contents this version cannot use \(.*({says})"):
        kinhash.load(tmp_path / "f.kin")


# -- contents as a whole --


@in_a_child
def trees_whose_nodes_add_up_by_wrapping(models: dict[str, Contents]) -> Contents:
    pytest.importorskip("kinhash_bench")
    return with_array(models["trees"], "trees", "nodes", wrapped(models["trees"][0]["1.right"]))


def wrapped(right: Any) -> Callable[[Any], Any]:
    """Four times 2^62 is 2^64, which is 0 in 64 bits: the nodes seem to be as many as there are."""

    def change(nodes: Any) -> Any:
        nodes = np.ones_like(nodes)
        nodes[:4] += 2**62
        nodes[-1] += len(right) - len(nodes)
        return nodes

    return change


@in_a_child
def sweeps_without_end(models: dict[str, Contents]) -> Contents:
    coupling = np.zeros((8, 8), np.int64)
    coupling[0, 1], coupling[1, 0] = 2**40, -(2**40)
    contents = with_array(models["polish"], "settle", "coupling", lambda array: coupling)
    return with_steps(contents, setting("settle", "n_sweeps", 2**62))


@in_a_child
def logarithms_of_probabilities_below_the_table(models: dict[str, Contents]) -> Contents:
    """The kernel would read memory before the table."""
    contents = models["graded tags"]
    logs = steps_of(contents)[place_of(contents, "tags")][1][1]
    table = np.full_like(contents[0][f"{logs - 1}.table"], -(2**24))
    return {**contents[0], f"{logs - 1}.table": table}, contents[1]


@in_a_child
def joins_of_joins(models: dict[str, Contents]) -> Contents:
    return with_steps(models["linear"], lambda steps: [*steps, *joined(3, 5), ["join", [3], {}]])


ANCHORED = ("anchor_classes", "readout.linear.matrix")


def with_bits(contents: Contents, n: int) -> dict[str, Any]:
    place = place_of(contents, "linear")
    wide = {
        "weights": np.ones((6, n), np.int32),
        "shift": np.zeros(n, np.int16),
        "constant": np.zeros(n, np.int64),
    }
    own = {f"{place}.{name}": array for name, array in wide.items()}
    return {**contents[0], **own, "units": np.zeros(n, np.int16)}


@known("codes of 2000 bits")
def more_bits_than_codes_have(models: dict[str, Contents]) -> Contents:
    header = models["linear"][1]
    parameters = {**header["parameters"], "n_bits": 2000}
    return with_bits(models["linear"], 2000), {**header, "n_bits": 2000, "parameters": parameters}


@known("a parameter n_bits that is not the number of bits")
def other_bits_than_the_parameter_says(models: dict[str, Contents]) -> Contents:
    return with_bits(models["linear"], 200), {**models["linear"][1], "n_bits": 200}


@known("6 columns and 8 bits, and a map of others")
def other_bits_than_the_header_says(models: dict[str, Contents]) -> Contents:
    return with_bits(models["linear"], 200), models["linear"][1]


@known("7 columns and 8 bits, and a map of others")
def other_columns_than_the_header_says(models: dict[str, Contents]) -> Contents:
    return models["linear"][0], {**models["linear"][1], "n_features": 7}


@known("units holds values")
def units_out_of_range(models: dict[str, Contents]) -> Contents:
    arrays, header = models["linear"]
    return {**arrays, "units": np.full(8, 1001, np.int16)}, header


@known("beyond the range of float64")
def scores_out_of_range(models: dict[str, Contents]) -> Contents:
    arrays, header = models["linear"]
    return {**arrays, "units": np.full(8, -1000, np.int16)}, header


@known("units is i2 of shape")
def units_that_are_a_matrix(models: dict[str, Contents]) -> Contents:
    arrays, header = models["linear"]
    return {**arrays, "units": arrays["units"][None]}, header


@known("the list of steps is not text")
def steps_that_are_numbers(models: dict[str, Contents]) -> Contents:
    arrays, header = models["linear"]
    return {**arrays, "steps": arrays["steps"].astype(np.int32)}, header


@known("arrays that are unknown: 99.mean")
def an_array_of_no_step(models: dict[str, Contents]) -> Contents:
    arrays, header = models["linear"]
    return {**arrays, "99.mean": arrays["0.mean"]}, header


@known("missing or unknown: more")
def an_array_that_a_step_does_not_have(models: dict[str, Contents]) -> Contents:
    arrays, header = models["linear"]
    return {**arrays, "0.more": arrays["0.mean"]}, header


@known("A sum of squares can reach")
def a_limit_whose_squares_overflow(models: dict[str, Contents]) -> Contents:
    arrays, header = models["linear"]
    wide = {"0.mean": np.zeros(100), "0.factor": np.ones(100), "2.weights": np.ones((100, 8), np.int32)}
    contents = {**arrays, **wide}, {**header, "n_features": 100}
    return with_steps(contents, setting("columns", "limit", 2**24))


@known("A product can reach")
def weights_whose_products_reach_2_53(models: dict[str, Contents]) -> Contents:
    contents = with_steps(models["linear"], lambda steps: [steps[0], ["linear", [1], {}], ["join", [2], {}]])
    arrays = {name: array for name, array in contents[0].items() if name[:2] not in ("1.", "2.")}
    # Six products of 2^20 with 2^31 are beyond 2^53.
    own = {"weights": np.full((6, 8), 2**31 - 1, np.int32), "shift": np.full(8, -40, np.int16)}
    own["constant"] = np.zeros(8, np.int64)
    return {**arrays, **{f"1.{name}": array for name, array in own.items()}}, contents[1]


@known("below 0")
def probabilities_below_zero(models: dict[str, Contents]) -> Contents:
    contents = models["graded tags"]
    chances = steps_of(contents)[place_of(contents, "tags")][1][0]
    name = f"{chances - 1}.table"
    return {**contents[0], name: put(-1, 3)(contents[0][name].copy())}, contents[1]


@known("above 1")
def probabilities_above_one(models: dict[str, Contents]) -> Contents:
    contents = models["graded tags"]
    chances = steps_of(contents)[place_of(contents, "tags")][1][0]
    name = f"{chances - 1}.table"
    return {**contents[0], name: put(2**16 + 1, 3)(contents[0][name].copy())}, contents[1]


@known("unknown: tablex")
def labels_with_an_array_nobody_reads(models: dict[str, Contents]) -> Contents:
    arrays, header = models["expected"]
    return {**arrays, "labels.tablex": arrays["labels.digests"]}, header


@known("tags without a map that knows them")
def tag_scores_without_a_map_of_tags(models: dict[str, Contents]) -> Contents:
    arrays, header = models["expected"]
    return {name: array for name, array in arrays.items() if name != "labels.scores"}, header


@known("tags without a map that knows them")
def tags_of_another_number(models: dict[str, Contents]) -> Contents:
    arrays, header = models["tags"]
    return {**arrays, "labels.digests": arrays["labels.digests"][1:]}, header


@known("")
def tags_that_reach_none_of_the_bits(models: dict[str, Contents]) -> Contents:
    """The tags lead to the last bits, and the first, which labels speak of, come from the columns."""
    contents = models["tags"]
    n = len(steps_of(contents))

    def change(steps: list[Any]) -> list[Any]:
        return [*steps, ["linear", [2], {}], ["join", [n + 1, n], {}]]

    arrays, header = with_steps(contents, change)
    own = {
        "weights": np.ones((6, 8), np.int32),
        "shift": np.zeros(8, np.int16),
        "constant": np.zeros(8, np.int64),
    }
    arrays |= {f"{n}.{name}": array for name, array in own.items()}
    arrays["units"] = np.resize(arrays["units"], 16)
    return arrays, {**header, "n_bits": 16, "parameters": {**header["parameters"], "n_bits": 16}}


@known("duplicate or missing labels")
def labels_that_come_twice(models: dict[str, Contents]) -> Contents:
    arrays, header = models["expected"]
    return {**arrays, "labels.digests": np.zeros_like(arrays["labels.digests"])}, header


@known("scores of classes of another length or number")
def scores_of_labels_that_are_no_numbers(models: dict[str, Contents]) -> Contents:
    arrays, header = models["expected"]
    return {**arrays, "labels.scores": np.full_like(arrays["labels.scores"], np.nan)}, header


@known("scores of classes of another length or number")
def scores_of_labels_for_other_bits(models: dict[str, Contents]) -> Contents:
    arrays, header = models["expected"]
    return {**arrays, "labels.scores": arrays["labels.scores"][:, :-1]}, header


@known("n_jobs")
def more_threads_than_a_system_starts(models: dict[str, Contents]) -> Contents:
    arrays, header = models["linear"]
    return arrays, {**header, "parameters": {**header["parameters"], "n_jobs": 10**7}}


SEEN: list[tuple[str, Any, str]] = [
    ("mean", lambda a: a[:-1], "spread is f4 of shape"),
    ("spread", lambda a: -a, "spread holds values"),
    ("spread", put(np.nan), "spread holds values"),
    ("mean", put(np.inf), "mean holds values"),
    ("lengths", lambda a: a[:1], "lengths is f8 of shape"),
    ("lengths", put(-1.0), "lengths holds values"),
    ("farthest", put(np.nan), "farthest holds values"),
    ("farthest", lambda a: a.astype(np.float32), "farthest is f4"),
]


@pytest.mark.parametrize(("name", "change", "says"), SEEN)
def test_forged_statistics_of_rows_are_refused(
    name: str, change: Any, says: str, models: Any, tmp_path: Path
) -> None:
    arrays, header = models["linear"]
    forge(tmp_path / "f.kin", ({**arrays, f"seen.{name}": change(arrays[f"seen.{name}"].copy())}, header))
    with pytest.raises(DamagedFile, match=says):
        kinhash.load(tmp_path / "f.kin")


def test_statistics_of_other_columns_are_refused(models: Any, tmp_path: Path) -> None:
    arrays, header = models["linear"]
    less = {f"seen.{name}": arrays[f"seen.{name}"][1:] for name in ("mean", "spread")}
    forge(tmp_path / "f.kin", ({**arrays, **less}, header))
    with pytest.raises(DamagedFile, match=r"statistics of other columns|directions is i1"):
        kinhash.load(tmp_path / "f.kin")


@pytest.mark.parametrize(
    "kinship",
    [
        np.ones((3, 2)),
        np.ones(3),
        np.ones((3, 3, 3)),
        np.full((3, 3), np.nan),
        np.full((3, 3), 1.5),
        np.full((3, 3), 1e300),
        np.eye(3, dtype=np.float32),
        np.zeros((0, 0)),
    ],
    ids=["not square", "a row", "a cube", "NaN", "above 1", "huge", "float32", "empty"],
)
def test_forged_similarities_of_classes_are_refused(kinship: Any, models: Any, tmp_path: Path) -> None:
    arrays, header = models["matrix"]
    forge(tmp_path / "f.kin", ({**arrays, "kinship": kinship}, header))
    with pytest.raises(DamagedFile, match="kinship"):
        kinhash.load(tmp_path / "f.kin")


def test_similarities_of_classes_that_nobody_reads_are_refused(models: Any, tmp_path: Path) -> None:
    others = [("expected", "kinshipx"), ("gaussian", "kinship")]
    for kind, name in others:
        if kind in models:
            arrays, header = models[kind]
            forge(tmp_path / "f.kin", ({**arrays, name: np.eye(3)}, header))
            with pytest.raises(DamagedFile, match=r"nothing asks for|unknown"):
                kinhash.load(tmp_path / "f.kin")


def renamed(first: str, then: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda arrays: {name.replace(first, then, 1): array for name, array in arrays.items()}


def one_array(name: str, change: Callable[[Any], Any]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda arrays: {**arrays, name: change(arrays[name].copy())}


def fact(name: str, value: Any, place: int = 0) -> Callable[[list[Any]], Any]:
    def change(views: list[Any]) -> None:
        views[place][name] = value

    return change


VIEW_ARRAYS: list[tuple[Callable[[dict[str, Any]], dict[str, Any]], str]] = [
    (renamed("view1.", "view2."), "steps"),
    (renamed("view1.", "view01."), "steps"),
    (renamed("view1.seen.", "view1.looks."), "unknown"),
    (lambda arrays: {**arrays, "view7.units": arrays["units"]}, "arrays of no view: view7.units"),
    (lambda arrays: {**arrays, "viewx": arrays["units"]}, "arrays of no view: viewx"),
    (lambda arrays: {**arrays, "view0.more": arrays["units"]}, "unknown: more"),
    (lambda arrays: {**arrays, "view0.labels.digests": arrays["labels.digests"]}, "unknown"),
    (lambda arrays: {**arrays, "view0.view0.units": arrays["units"]}, "unknown"),
    (one_array("view0.seen.mean", lambda a: a[:-1]), "spread is f4 of shape"),
    (one_array("view0.seen.spread", put(np.nan)), "spread holds values"),
    (one_array("view0.units", put(1001)), "units holds values"),
    (one_array("view0.units", lambda a: a[:-1]), "8 scores and 7 units"),
    (one_array("view0.steps", lambda a: a[:-1]), ""),
]

VIEW_FACTS: list[tuple[Callable[[list[Any]], Any], str]] = [
    (lambda views: {"text": views[0]}, "views that are no list"),
    (lambda views: None if views.clear() else [], "arrays of no view"),
    (lambda views: views * 11, "too many"),
    (lambda views: [*views, "text"], "facts of a view that are missing"),
    (lambda views: [{**views[0], "more": 1}, views[1]], "facts of a view that are missing"),
    (fact("name", 3), "facts of a view of another type"),
    (fact("name", "te xt"), "without a proper name"),
    (fact("name", "../text"), "without a proper name"),
    (fact("name", ""), "without a proper name"),
    (fact("name", "sound"), "views that have one name"),
    (fact("n_features", 5), "5 columns and 8 bits, and a map of others"),
    (fact("n_features", True), "facts of a view of another type"),
    (fact("n_features", 10**12), "columns and 8 bits"),
    (fact("feature_names", ["a"]), "column names"),
    (fact("feature_names", [1, 2, 3, 4]), "column names"),
    (fact("knows_looks", 1), "facts of a view of another type"),
]


@pytest.mark.parametrize("number", range(len(VIEW_ARRAYS) + len(VIEW_FACTS)))
def test_a_forged_view_is_refused(number: int, models: dict[str, Contents], tmp_path: Path) -> None:
    arrays, header = deepcopy(models["views"])
    if number < len(VIEW_ARRAYS):
        change, says = VIEW_ARRAYS[number]
        arrays = change(arrays)
    else:
        alter, says = VIEW_FACTS[number - len(VIEW_ARRAYS)]
        changed = alter(header["views"])
        header["views"] = header["views"] if changed is None else changed
    forge(tmp_path / "f.kin", (arrays, header))
    with pytest.raises(DamagedFile, match=rf"contents this version cannot use \(.*({says})"):
        kinhash.load(tmp_path / "f.kin")


@pytest.mark.parametrize("case", IN_PROCESS)
def test_a_forged_model_is_refused(case: str, models: dict[str, Contents], tmp_path: Path) -> None:
    made, says = IN_PROCESS[case]
    forge(tmp_path / "f.kin", made(models))
    with pytest.raises(DamagedFile, match=rf"contents this version cannot use \(.*({says})"):
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


# Columns are float32 and reach 2^24. Differences have a bit more: 2^24 + 3 is none of float32's numbers, and
# 2^24 + 4095 would become 2^24 + 4096, which is another place in a table of steps of 2^13.
COLUMNS = np.array([[2**24 - 1, -(2**24), 0, 1, -4096, 2**23 + 1.0]])
TABLE = np.arange(2**12, 0, -1, dtype=np.int32)


def with_one_step(contents: Contents, step: Any) -> Contents:
    """Columns as they are up to 2^24, and a step with the table."""
    arrays, header = contents
    own = {name: array for name, array in arrays.items() if not name.startswith(("1.", "2.", "labels."))}
    own |= {"0.mean": np.zeros(6), "0.factor": np.ones(6), "units": np.zeros(6, np.int16), "1.table": TABLE}
    own["steps"] = text([["columns", [0], {"limit": 2**24}], step])
    return own, {**header, "n_bits": 6, "parameters": {**header["parameters"], "n_bits": 6}}


def test_differences_from_a_low_end_are_exact(models: dict[str, Contents], tmp_path: Path) -> None:
    step = ["lookup", [1], {"low": -4, "shift": 0, "wrap": 1}]
    forge(tmp_path / "f.kin", with_one_step(models["linear"], step))
    map_ = kinhash.load(tmp_path / "f.kin").fitted_.map
    is_exact(map_, COLUMNS)
    assert map_.run(COLUMNS)[0].tolist() == [int(TABLE[(int(v) + 4) % 2**12]) for v in COLUMNS[0]]


def test_differences_from_the_largest_are_exact(models: dict[str, Contents], tmp_path: Path) -> None:
    forge(tmp_path / "f.kin", with_one_step(models["linear"], ["softmax", [1], {"shift": 13}]))
    map_ = kinhash.load(tmp_path / "f.kin").fitted_.map
    is_exact(map_, COLUMNS)
    away = [int(COLUMNS.max() - v) for v in COLUMNS[0]]
    odds = [int(TABLE[min((v + 2**12) >> 13, len(TABLE) - 1)]) for v in away]
    assert map_.run(COLUMNS)[0].tolist() == [round(one / sum(odds) * 2.0**24) for one in odds]


def test_bits_that_nothing_pulls_keep_within_their_bound() -> None:
    """A field of zero keeps the bit it has, ±1, which is more than zero."""
    columns = Columns((0,), np.zeros(3), np.ones(3), 5)
    nothing = Lookup((1,), np.zeros(4, np.int32), 0, 0, 0)
    settle = Settle((2,), np.zeros((3, 3), np.int64), 2)
    is_exact(WholeMap(3, (columns, nothing, settle), np.zeros(3, np.int16)), np.ones((2, 3)))


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
@pytest.mark.parametrize("kind", list(MODELS))
def test_a_mutated_model_works_or_is_refused(
    kind: str, count: int, models: dict[str, Contents], tmp_path: Path
) -> None:
    """Arrays of older files become others on the way in."""
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
        (arrays, {"n_bits": 8, "model_id": None, "fields": BitLayout().as_dict()}),
        "codes",
    )
    with pytest.raises(DamagedFile, match="end before they begin"):
        kinhash.load_codes(tmp_path / "c.kin")


def test_whole_numbers_as_settings_are_one_model_with_floats(tmp_path: Path) -> None:
    X, y = rows()
    found = [EnergyHasher(8, solver=Linearized(clip=clip), random_state=0).fit(X, y) for clip in (2, 2.0)]
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
