"""The estimator side of learning from blocks: ``partial_fit`` and the options that exclude it."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import Any, Self, TypeVar, cast

from .._internal.blocks import single_blas_thread
from .._internal.rows import Rows
from .._internal.types import Features, Floats, LabelsLike, Numbers
from .._internal.validation import check_features, check_weights, make_rng, weight_unit
from ..codes import Codes, pack_bits
from ..encoders import Fitted
from ..errors import InvalidInput
from ..supervision import Labels, read_labels
from .base import Hasher
from .report import FitReport
from .stream import Anchored, Stream, StreamPlan

__all__ = ["StreamingHasher", "require_streamable"]


M = TypeVar("M", bound=Callable[..., Any])


class _IfStreamable:
    """A method of hashers whose settings allow it; elsewhere the error says why not, and what to do."""

    def __init__(self, method: Callable[..., Any]) -> None:
        self.method = method
        update_wrapper(self, method)  # type: ignore[arg-type]

    def __get__(self, hasher: StreamingHasher | None, owner: type) -> Any:
        if hasher is None:
            return self.method
        try:
            hasher.stream_plan()
        except InvalidInput as error:
            name = self.method.__name__
            raise AttributeError(f"This {owner.__name__} has no attribute {name!r}. {error}") from error
        return MethodType(self.method, hasher)


def _if_streamable(method: M) -> M:
    return cast(M, _IfStreamable(method))


class StreamingHasher(Hasher):
    """A hasher that can also learn from blocks of rows."""

    _stream: Stream

    @abstractmethod
    def stream_plan(self) -> StreamPlan:
        """The fixed settings, or an error that says which options exclude it."""

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name != "partial_fit" or hasattr(self, name)]

    @_if_streamable
    def partial_fit(self, X: Features, y: LabelsLike = None, sample_weight: Numbers | None = None) -> Self:
        """Learn from one more block of rows with labels; blocks may come in any order.

        The first block is where the anchors are drawn from (or ``anchors`` point into), so it should hold
        every kind of label; classes and tags that come later have no code of their own, which is warned of.
        The result is the model of one ``fit`` on all rows with the same anchors, up to rounding.
        Memory: p² and a few thousand rows, however many come. ``codes_`` is not kept; use
        `learned_codes`. For fixed settings only: nothing can be chosen on held-out rows. After ``fit``, the
        first call starts from nothing.
        """
        start = time.perf_counter()
        self.check_parameters()
        first = not hasattr(self, "_stream")
        plan = self.stream_plan() if first else self._stream.anchored.plan
        X = check_features(self, X, reset=first)
        labels = read_labels(y, X.shape[0])
        unit = self._weight_unit(sample_weight, X.shape[0]) if first else self._stream.weight_unit
        weights = check_weights(1.0 if sample_weight is None else sample_weight, X.shape[0], unit)
        with single_blas_thread():
            if first:
                rows = Rows(X)
                anchored = Anchored.of(plan, labels, weights, rows, make_rng(self.random_state))
                self._stream = Stream(anchored, rows.block_rows(), unit)
            self._stream.add(X, labels, weights)
            self.become(self._stream)
        self._stream.seconds += time.perf_counter() - start
        self.report_.seconds = {"all blocks": self._stream.seconds}
        return self

    def _weight_unit(self, weights: Numbers | None, n_rows: int) -> float:
        """What counts as one row: the mean weight in the first block, for all blocks alike."""
        checked = check_weights(weights, n_rows, unit=1.0)
        return 1.0 if checked is None else weight_unit(checked)

    def become(self, stream: Stream) -> None:
        """Install the model of what the stream has learned so far."""
        self._stream = stream
        self.adopt(Fitted(stream.finish(), seen=stream.anchored.seen))
        self.report_ = FitReport(
            n_rows=stream.n_rows,
            n_bits=self.n_bits,
            seconds={"all blocks": stream.seconds},
            facts={"energy": stream.anchored.solution.minimum.energies},
        )

    def learned_codes(self, y: LabelsLike) -> Codes:
        """Learned codes of rows with labels y, after ``partial_fit``; no features are needed."""
        return self._as_codes(pack_bits(self.streamed_scores(read_labels(y)) > 0), learned=True)

    def streamed_scores(self, labels: Labels) -> Floats:
        """Scores (n, d) of rows with these labels, after ``partial_fit``."""
        if not hasattr(self, "_stream"):
            raise InvalidInput(
                "This model keeps no codes of labels",
                "a model fitted on classes, on tags with encoder='expected', or by partial_fit",
                "Encode new rows with encode(X); after fit, codes_ holds the codes of the training rows",
            )
        return self._stream.learned_scores(labels)


def require_streamable(conditions: dict[str, bool]) -> None:
    """Say clearly which options exclude learning from blocks."""
    missing = [name for name, holds in conditions.items() if not holds]
    if missing:
        raise InvalidInput(
            "partial_fit was called on a hasher that needs all rows at once",
            "fixed settings: " + ", ".join(conditions),
            "Set " + ", ".join(missing) + "; or use fit",
        )
