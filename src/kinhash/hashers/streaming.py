"""The estimator side of learning from blocks: ``partial_fit`` and the options that exclude it."""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from sklearn.utils.metaestimators import available_if

from .._blocks import single_blas_thread
from .._check import check_features, check_weights, make_rng, weight_unit
from .._types import Floats
from ..codes import Codes, pack_bits
from ..encoders import Fitted
from ..encoders.ridge import Ridge
from ..energies import Energy
from ..errors import InvalidInput
from ..labels import Labels, read_labels
from ..solvers import Solver
from .base import Hasher
from .report import FitReport

if TYPE_CHECKING:
    from .stream import Stream

__all__ = ["StreamPlan", "StreamingHasher", "require_streamable"]


@dataclass(frozen=True)
class StreamPlan:
    """Settings with nothing left to choose: a solver that turns its own codes, and a ridge encoder."""

    energy: Energy
    solver: Solver
    encoder: Ridge
    n_bits: int
    kinship: str = "any"


class StreamingHasher(Hasher):
    """A hasher that can also learn from blocks of rows."""

    _stream: Stream

    @abstractmethod
    def stream_plan(self) -> StreamPlan:
        """The fixed settings, or an error that says which options exclude it."""

    if not TYPE_CHECKING:  # a type checker would take every name for an attribute

        def __getattr__(self, name: str) -> Any:
            """Say why there is no ``partial_fit`` with these settings, and what to do."""
            if name == "partial_fit":
                try:
                    self.stream_plan()
                except InvalidInput as error:
                    kind = type(self).__name__
                    raise AttributeError(f"This {kind} has no attribute 'partial_fit'. {error}") from error
            return object.__getattribute__(self, name)  # raises what brought us here

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if name != "partial_fit" or hasattr(self, name)]

    @available_if(lambda self: self.stream_plan() is not None)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
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
                from ..rows import Rows
                from .anchored import Anchored
                from .stream import Stream

                rows = Rows(X)
                anchored = Anchored.of(plan, labels, weights, rows, make_rng(self.random_state))
                self._stream = Stream(anchored, rows.block_rows(), unit)
            self._stream.add(X, labels, weights)
            self.become(self._stream)
        self._stream.seconds += time.perf_counter() - start
        self.report_["seconds"] = {"all blocks": self._stream.seconds}
        return self

    def _weight_unit(self, weights: Any, n_rows: int) -> float:
        """What counts as one row: the mean weight in the first block, for all blocks alike."""
        checked = check_weights(weights, n_rows, unit=1.0)
        return 1.0 if checked is None else weight_unit(checked)

    def become(self, stream: Stream) -> None:
        """Be the model of what the stream has learned so far."""
        self._stream = stream
        self.adopt(Fitted(stream.finish(), seen=stream.anchored.seen))
        self.report_ = FitReport(
            n_rows=stream.n_rows,
            n_bits=self.n_bits,
            energy=stream.anchored.solution.minimum.energies,
            seconds={"all blocks": stream.seconds},
        )

    def learned_codes(self, y: Any) -> Codes:
        """Learned codes of rows with labels y, after ``partial_fit``; no features are needed."""
        return self._as_codes(pack_bits(self.streamed_scores(read_labels(y)) > 0), learned=True)

    def streamed_scores(self, labels: Labels) -> Floats:
        """Scores (n, d) of rows with these labels, after ``partial_fit``."""
        if not hasattr(self, "_stream"):
            raise InvalidInput(
                "learned_codes was asked of a model that keeps no codes of labels",
                "an EnergyHasher fitted on labels, or a model of partial_fit",
                "After fit, codes_ holds the learned codes of the training rows",
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
