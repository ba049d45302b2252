"""Tensors and frames as people have them give the codes of the plain array."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from kinhash import EnergyHasher
from kinhash.errors import InvalidInput

N, P = 60, 5
rng = np.random.default_rng(0)
Y = np.arange(N) % 3
X = rng.normal(size=(N, P)).astype(np.float32) + 3 * np.eye(3, P, dtype=np.float32)[Y]
NAMES = [f"f{k}" for k in range(P)]
pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")


def fitted(x: object = X) -> EnergyHasher:
    return EnergyHasher(16, random_state=0).fit(x, Y)


MODEL = fitted()


def arrow_column(kind: str) -> object:
    pa = pytest.importorskip("pyarrow")
    kinds = {"list": pa.list_(pa.float32()), "large": pa.large_list(pa.float32())}
    kinds["fixed"] = pa.list_(pa.float32(), P)
    parts = [pa.array(part.tolist(), kinds[kind]) for part in (X[:7], X[7:])]
    return pa.chunked_array(parts)


FRAMES = {
    "pandas": lambda: pd.DataFrame({"id": [f"n{k}" for k in range(N)], "e": X.tolist(), "label": Y}),
    "pandas arrays": lambda: pd.DataFrame({"price": np.arange(N) * 1e9, "e": list(X)}, index=range(N, 2 * N)),
    "pandas column": lambda: pd.Series(X.tolist()),
    "polars": lambda: pl.DataFrame({"id": [f"n{k}" for k in range(N)], "e": X.tolist(), "tags": [["a"]] * N}),
    "polars fixed": lambda: pl.DataFrame({"e": pl.Series(X.tolist(), dtype=pl.Array(pl.Float32, P))}),
    "polars column": lambda: pl.Series(X.tolist(), dtype=pl.List(pl.Float32)),
    "arrow": lambda: __import__("pyarrow").table({"id": np.arange(N), "e": arrow_column("list")}),
    "arrow fixed": lambda: __import__("pyarrow").table({"e": arrow_column("fixed"), "label": Y}),
    "arrow large": lambda: __import__("pyarrow").table({"e": arrow_column("large")}),
    "arrow column": lambda: arrow_column("list"),
    "arrow array": lambda: arrow_column("fixed").combine_chunks(),
    "arrow batch": lambda: (
        __import__("pyarrow").table({"e": arrow_column("fixed")}).combine_chunks().to_batches()[0]
    ),
}


@pytest.mark.parametrize("name", FRAMES)
def test_a_column_of_lists_is_the_matrix(name: str) -> None:
    if "arrow" in name:
        pytest.importorskip("pyarrow")
    frame = FRAMES[name]()
    model = fitted(frame)
    assert model.model_id_ == MODEL.model_id_
    np.testing.assert_array_equal(model.encode(frame[:9]).packed, MODEL.encode(X[:9]).packed)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_lists_that_make_no_matrix(make: type) -> None:
    rows = X.tolist()
    with pytest.raises(InvalidInput, match=r"several columns of lists: a, b"):
        fitted(make({"a": rows, "b": rows}))
    with pytest.raises(InvalidInput, match="5 entries in row 0 and 4 in row 3"):
        fitted(make({"a": [*rows[:3], rows[3][:4], *rows[4:]]}))
    with pytest.raises(InvalidInput, match="5 entries in row 0 and 0 in row 3"):
        fitted(make({"a": [*rows[:3], None, *rows[4:]]}))


class Tensor:
    """What a torch tensor can do, and what it refuses."""

    def __init__(self, values: np.ndarray, dtype: str = "torch.float32", attached: bool = True) -> None:
        self.values, self.dtype, self.attached = values, dtype, attached

    def detach(self) -> Tensor:
        return Tensor(self.values, self.dtype, attached=False)

    def cpu(self) -> Tensor:
        return self

    def float(self) -> Tensor:
        return Tensor(self.values.astype(np.float32), "torch.float32", self.attached)

    def numpy(self) -> np.ndarray:
        if self.attached:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy()")
        if self.dtype == "torch.bfloat16":
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.values

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return self.numpy()

    def __len__(self) -> int:
        return len(self.values)


@pytest.mark.parametrize("dtype", ["torch.float32", "torch.bfloat16"])
def test_tensors_with_gradient_and_of_bfloat16(dtype: str) -> None:
    assert fitted(Tensor(X, dtype)).model_id_ == MODEL.model_id_
    np.testing.assert_array_equal(MODEL.encode(Tensor(X, dtype)).packed, MODEL.encode(X).packed)


def test_real_tensors() -> None:
    torch = pytest.importorskip("torch")
    assert fitted(torch.tensor(X, requires_grad=True)).model_id_ == MODEL.model_id_
    short = torch.tensor(X).to(torch.bfloat16)
    assert fitted(short).model_id_ == fitted(short.float().numpy()).model_id_


class Array:
    """What any library's array can do: hand out its memory (DLPack)."""

    def __init__(self, values: np.ndarray, device: tuple[int, int] = (1, 0)) -> None:
        self.values, self.device, self.shape = values, device, values.shape

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, *, dl_device: object = None, copy: object = None, **how: object) -> object:
        if self.device[0] != 1 and dl_device != (1, 0):
            raise BufferError("on a card")
        return self.values.__dlpack__(**how)

    def __len__(self) -> int:
        return len(self.values)


class OnlyOnCard(Array):
    def __dlpack__(self, **how: object) -> object:
        raise BufferError("this library copies nothing from a card")


def test_arrays_of_any_library_in_any_memory() -> None:
    for array in (Array(X), Array(X, device=(2, 0))):
        assert fitted(array).model_id_ == MODEL.model_id_
        np.testing.assert_array_equal(MODEL.encode(array).packed, MODEL.encode(X).packed)
    with pytest.raises(InvalidInput, match="copies nothing from a card"):
        MODEL.encode(OnlyOnCard(X, device=(2, 0)))


def test_bfloat16_arrays() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    short = X.astype(ml_dtypes.bfloat16)
    assert fitted(short).model_id_ == fitted(short.astype(np.float32)).model_id_


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, "arrow"])
def test_columns_in_another_order_are_put_in_the_order_of_fit(make: object) -> None:
    if make == "arrow":
        make = pytest.importorskip("pyarrow").table
    columns = {name: X[:, k] for k, name in enumerate(NAMES)}
    model = fitted(make(columns))  # type: ignore[operator]
    other = make({name: columns[name] for name in reversed(NAMES)})  # type: ignore[operator]
    np.testing.assert_array_equal(model.encode(other).packed, model.encode(make(columns)).packed)  # type: ignore[operator]
    np.testing.assert_array_equal(model.decision_function(other), model.decision_function(make(columns)))  # type: ignore[operator]
    with pytest.raises(InvalidInput, match="names"):
        model.encode(make({("x" if name == "f0" else name): columns[name] for name in NAMES}))  # type: ignore[operator]


@pytest.mark.parametrize("make", ["pandas", "polars", "pyarrow", "other"])
def test_column_names_are_seen_without_the_help_of_scikit_learn(
    make: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """scikit-learn 1.6 to 1.8 do not see the names of polars 2 frames."""
    monkeypatch.setattr("sklearn.utils.validation._get_feature_names", lambda X: None)
    frame: Any = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "other": OtherFrame}.get(make)
    frame = frame or pytest.importorskip("pyarrow").table
    columns = {name: X[:, k] for k, name in enumerate(NAMES)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = fitted(frame(columns))
        assert model.feature_names_in_.tolist() == NAMES
        other = frame({name: columns[name] for name in reversed(NAMES)})
        np.testing.assert_array_equal(model.encode(other).packed, MODEL.encode(X).packed)
        np.testing.assert_array_equal(model.encode(frame(columns)).packed, MODEL.encode(X).packed)
    for names in (["x", *NAMES[1:]], NAMES[:4], [*NAMES, "more"]):
        with pytest.raises(InvalidInput, match="names"):
            model.encode(frame({name: X[:, k % P] for k, name in enumerate(names)}))
    assert not hasattr(model.fit(X, Y), "feature_names_in_")


class OtherFrame:
    """A dataframe of a package that kinhash does not know: columns by name, handed out as Arrow data."""

    def __init__(self, columns: dict[str, np.ndarray]) -> None:
        self.data, self.columns = columns, list(columns)
        self.shape = len(next(iter(columns.values()))), len(columns)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return pytest.importorskip("pyarrow").table(self.data).__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return self.shape[0]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_explain_reads_a_frame_of_one_row_by_its_names(make: type) -> None:
    model = fitted(make({name: X[:, k] for k, name in enumerate(NAMES)}))
    rows = [make({name: X[i : i + 1, k] for k, name in reversed(list(enumerate(NAMES)))}) for i in (0, 1)]
    np.testing.assert_array_equal(model.explain(*rows).margins, model.explain(X[0], X[1]).margins)


@pytest.mark.parametrize("wrong", [np.arange(1000.0), np.arange(1000.0).tolist(), np.arange(3.0), 5.0])
def test_rows_of_the_wrong_shape_are_shown_in_a_few_numbers(wrong: Any) -> None:
    with pytest.raises(InvalidInput, match=r"Expected 2D array(?s:.*)Reshape your data") as error:
        MODEL.encode(wrong)
    assert len(str(error.value)) < 350
