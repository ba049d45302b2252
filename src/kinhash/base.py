"""What every hasher does, ours and the rivals': fit, encode, search, explain, save.

A fitted hasher is a map and a sign. Methods differ in how they learn: a subclass implements ``_learn`` and
inherits everything else. `Training` is what it is given, `Learned` what it returns.
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ._internal.blocks import (
    block_slices,
    keep_threads,
    map_padded_rows,
    map_rows,
    single_blas_thread,
)
from ._internal.files import PathLike
from ._internal.html import bullets, document, escape, table
from ._internal.rows import PickedRows, Rows
from ._internal.stages import FitTask, Listener, Stages
from ._internal.types import (
    Array,
    Bools,
    Bytes,
    Facts,
    Features,
    Floats,
    Ints,
    LabelsLike,
    Numbers,
    Rng,
    Seed,
)
from ._internal.validation import (
    check_features,
    check_integer,
    check_n_bits,
    check_weights,
    in_order_of,
    make_rng,
)
from .codes import Codes, pack_bits
from .decision import Decision, decide_labels, decide_pairs
from .errors import InvalidInput, UnknownName, warn
from .models import Map, Model, Seen, Watch, WholeMap, packed_codes
from .pairs import read_ends, read_verdicts, row_numbers

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Leave the method as it is."""
        return method


if TYPE_CHECKING:
    from .index import HammingIndex, Neighbors, RadiusNeighbors
    from .learn.table import LabelTable

__all__ = ["Explanation", "FitReport", "Hasher", "Learned", "Model", "Training", "rounding_doubts"]

MOST_JOBS = 1024  # more threads than a system starts would be asked for by a stranger's model file
ROUNDED = 0.01  # share of bits that may differ between the learned map and the stored one without a warning
CHECKED_ROWS, CHECKED_NUMBERS = 2048, 20_000_000  # rows, and numbers in them, that are compared for it


@dataclass(frozen=True)
class Training:
    """The input of one fit.

    ``supervision`` is what is known of the rows, in whatever form the method understands; ``weights`` (n,) is None
    where every row counts once; ``looks`` (n, any width) says who looks alike, where that is not by the features.
    """

    rows: Rows
    supervision: Any
    weights: Floats | None
    rng: Rng
    stages: Stages
    n_jobs: int | None = None
    looks: Rows | None = None


@dataclass(frozen=True)
class Learned:
    """What a fit leaves.

    Parameters
    ----------
    map : the map, whole or still in floating point; the hasher rounds it.
    codes : packed codes (n, bytes) that the method gives the training rows; None if these are mapped.
    mapped : mask (n,) of the rows whose learned code is not known and which take the map's; None if there is none.
    table : scores of labels, from which codes of other labeled rows follow.
    facts : what was chosen and measured, for the report.
    warnings : what to warn of.
    attributes : fitted attributes of the method's own, such as ``marginals_``.
    """

    map: Map
    codes: Bytes | None = None
    mapped: Bools | None = None
    table: LabelTable | None = None
    facts: Facts = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    attributes: Facts = field(default_factory=dict)


class Hasher(CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of all hashers. Subclasses have ``n_bits``, ``random_state`` and ``n_jobs``, and implement `_learn`."""

    n_bits: int
    random_state: Seed
    n_jobs: int | None
    verbose: int = 0

    model_: Model
    model_id_: str | None
    report_: FitReport
    views_: dict[str, Self]
    view_: str | None = None
    decision_: Decision | None = None
    n_features_in_: int
    _n_features_out: int
    _listener: Listener | None = None
    requires_labels: ClassVar[bool] = True

    @abstractmethod
    def _learn(self, training: Training) -> Learned:
        """Learn codes and a map from input that has been checked."""

    def check_parameters(self) -> None:
        """Check the constructor's parameters; subclasses check theirs and call this."""
        if self.view_ is not None:
            raise InvalidInput(
                f"fit was called on view {self.view_!r}",
                "the hasher that it was added to, or a new one",
                "Fit that one, and add the view again",
            )
        check_n_bits(self.n_bits)
        if self.n_jobs is not None and self.n_jobs == 0:
            raise InvalidInput(
                "n_jobs is 0", "None, a positive or a negative integer", "Use -1 for all cores"
            )
        if self.n_jobs is not None:
            check_integer("n_jobs", self.n_jobs, -(10**6), MOST_JOBS)

    # -- learning ------------------------------------------------------------------------------

    @with_callbacks
    def _fit(
        self,
        X: Features,
        know: Callable[[int], Any],
        sample_weight: Numbers | None = None,
        y: LabelsLike = None,
        looks: Rows | None = None,
    ) -> Self:
        """Check the input, learn, and install what was learned. ``know(n)`` reads what is known of n rows.

        After a fit that failed, the hasher is as it was before.
        """
        with self._as_before_if_it_fails():
            self.check_parameters()
            X = check_features(self, X, reset=True)
            weights = check_weights(sample_weight, X.shape[0])
            known = know(X.shape[0])
            task = FitTask(self, X, y)
            stages = Stages(self._listener, task.stage, bool(self.verbose))
            rng = make_rng(self.random_state)
            training = Training(Rows(X), known, weights, rng, stages, self.n_jobs, looks)
            # On more threads of BLAS, small products would differ in their last digits.
            with single_blas_thread(), keep_threads(self.n_jobs):
                self._install(self._learn(training), training)
            task.end()
        return self

    @contextmanager
    def _as_before_if_it_fails(self) -> Iterator[None]:
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _install(self, learned: Learned, training: Training) -> None:
        """Keep what was learned, with a code for every training row, and describe it."""
        rows = training.rows
        seen = Seen.of(rows, training.weights)
        whole = learned.map.whole(None if seen is None else seen.spread)
        doubts = [*learned.warnings, *rounding_doubts(learned.map, whole, rows)]
        self._adopt(Model(whole, seen, learned.table))
        for name, value in learned.attributes.items():
            setattr(self, name, value)
        with training.stages("codes of the rows"):
            packed, mapped = learned.codes, learned.mapped
            if packed is None:
                packed = self._encode_rows(rows)
            elif mapped is not None and mapped.any():
                packed = packed.copy()
                packed[mapped] = self._encode_rows(PickedRows(rows, np.flatnonzero(mapped)))
        known: Any = learned.codes is not None
        if known and mapped is not None and mapped.any():
            known = ~mapped
        self._codes = self._as_codes(packed, learned=known)
        self.report_ = FitReport.of(self._codes, learned.facts, doubts, training.stages.seconds)
        for text in self.report_.warnings:
            warn(text)

    def _adopt(self, model: Model) -> Self:
        """Install a fitted model: after a fit, and when a file is read."""
        self.model_ = model
        self._watch = Watch(model.seen)
        self._n_features_out = model.map.n_bits
        self.model_id_ = model.map.id()
        self.views_ = {}
        for gone in ("_codes", "decision_"):
            self.__dict__.pop(gone, None)
        return self

    def listen(self, listener: Listener | None) -> Self:
        """Call a function with the name of each stage of a fit as it begins.

        Parameters
        ----------
        listener : callable or None
            None stops it.
        """
        self._listener = listener
        return self

    def without_training(self) -> Self:
        """A copy that encodes and holds nothing else."""
        light = copy.copy(self)
        for name in ("_codes", "_listener", "report_", "_reservoir", "_trained"):
            light.__dict__.pop(name, None)
        return light

    # -- using ---------------------------------------------------------------------------------

    def view(self, name: str | None) -> Self:
        """The hasher of a view by its name, or this one for None.

        A view has columns and a map of its own; its codes have the length and the model id of the first one.

        Parameters
        ----------
        name : str or None
            As `add_view` was given it.
        """
        if name is None:
            return self
        views = getattr(self, "views_", {})
        if name in views:
            return views[name]
        if not views:
            raise InvalidInput(
                f"There is no view called {name!r}: the hasher has none",
                "the rows that it was fitted on, without view=",
                "Leave view out, or add one with add_view",
            )
        raise UnknownName.among("view", name, views)

    def decision_function(self, X: Features, view: str | None = None) -> Array:
        """Margins of the bits of rows.

        Parameters
        ----------
        X : array-like of shape (n, p)
        view : str, default=None
            Name of the view that X belongs to; None is the features of ``fit``. See `EnergyHasher.add_view`.

        Returns
        -------
        margins : ndarray of shape (n, n_bits)
            A bit is 1 where its margin is above zero, and firm where it is far from it. They are whole numbers
            times powers of two, the same on every machine.
        """
        check_is_fitted(self, "model_")
        own = self.view(view)
        return own._scores(own._new_rows(X))

    def transform(self, X: Features, view: str | None = None) -> Bytes:
        """Bits of rows (n, n_bits) as 0 and 1, for scikit-learn pipelines.

        Parameters
        ----------
        X : array-like of shape (n, p)
        view : str, default=None
            Name of the view that X belongs to; None is the features of ``fit``.
        """
        return self.encode(X, view=view).bits()

    def encode(self, X: Features, ids: npt.ArrayLike | None = None, view: str | None = None) -> Codes:
        """Codes of rows, from their features alone.

        Parameters
        ----------
        X : array-like of shape (n, p)
        ids : array-like of shape (n,), default=None
            Names of the rows, which an index keeps.
        view : str, default=None
            Name of the view that X belongs to; None is the features of ``fit``.

        Returns
        -------
        codes : Codes
            Packed bytes (n, ceil(n_bits / 8)) in `np.packbits` order, which know their length and model;
            ``np.asarray(codes)`` is the plain array. A model gives a row the same bits on every machine, alone or
            in a batch of any size. Peak memory beyond the result: a few blocks of 256 rows per thread.
        """
        check_is_fitted(self, "model_")
        own = self.view(view)
        packed = own._encode_rows(own._new_rows(X))
        return own._as_codes(packed, None if ids is None else np.asarray(ids))

    def search(
        self,
        index: HammingIndex,
        X: Features,
        k: int,
        *,
        margins: bool = False,
        view: str | None = None,
        **how: Any,
    ) -> Neighbors:
        """The ``k`` rows of an index nearest to each row of X: ``index.search(hasher.encode(X), k)``.

        Parameters
        ----------
        index : HammingIndex
        X : array-like of shape (n, p)
        k : int
        margins : bool, default=False
            Rank by how firm the differing bits of the query are: ``index.search(..., margins=)``.
        view : str, default=None
            Name of the view that X belongs to; None is the features of ``fit``.
        **how
            Further arguments of `HammingIndex.search`, such as ``where`` and ``exclude``.
        """
        if not margins:
            return index.search(self.encode(X, view=view), k, **how)
        scores = self.decision_function(X, view=view)
        codes = self.view(view)._as_codes(pack_bits(scores > 0))
        return index.search(codes, k, margins=scores, **how)

    # -- same or not ---------------------------------------------------------------------------

    def same(
        self, index: HammingIndex, X: Features, *, view: str | None = None, **how: Any
    ) -> RadiusNeighbors:
        """The rows of an index that are the same as each row of X: ``index.same(hasher.encode(X))``.

        Within the radius of ``decision_``, which `decide` or `decide_pairs` chose.

        Parameters
        ----------
        index : HammingIndex
        X : array-like of shape (n, p)
        view : str, default=None
            Name of the view that X belongs to; None is the features of ``fit``.
        **how
            ``where`` and ``exclude`` of `HammingIndex.search_radius`.
        """
        return index.same(self.encode(X, view=view), **how)

    def decide(
        self,
        X: Features,
        y: LabelsLike,
        *,
        max_false: float = 0.01,
        share_true: float | None = None,
        view: str | None = None,
        beside: Features = None,
    ) -> Decision:
        """Choose the radius within which rows are called the same, from labeled rows that were not in the fit.

        The largest radius at which at most a share ``max_false`` of the matches is false, with 95 % confidence;
        None if there is no such radius. Rows with the same class, or a tag in common, belong together; all pairs
        of at most 10,000 rows are compared. `kinhash.decision` says how it is tested.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Rows that `fit` has not seen: those of the fit are nearer to each other than new rows are.
        y : array-like of shape (n,), indicator matrix, or list of tag sets
            Their labels; None where unknown.
        max_false : float, default=0.01
            Share of the matches that may be false.
        share_true : float, default=None
            Share of true pairs among those that a search compares; None is the share among the pairs of X. If one
            of 100,000 stored rows matches a query, pass ``1 / 100_000``.
        view : str, default=None
            Name of the view that X belongs to. A view has a decision of its own.
        beside : array-like of shape (n, p), default=None
            With ``view``: the same items in the first view. Then rows of the view search rows of the first.

        Returns
        -------
        Decision
            Also kept as ``decision_``, in the model file, and as the radius in codes that are made from now on.
        """
        own, sides, features = self._sides(X, view, beside)
        rng = make_rng(copy.deepcopy(self.random_state))
        how: Facts = {"max_false": max_false, "share_true": share_true, "rng": rng}
        own.decision_ = decide_labels(sides, features, y, **how)
        return own.decision_

    def decide_pairs(
        self,
        X: Features,
        left: Numbers,
        right: Numbers,
        same: Numbers | None = None,
        *,
        max_false: float = 0.01,
        share_true: float | None = None,
        ids: npt.ArrayLike | None = None,
        view: str | None = None,
        beside: Features = None,
    ) -> Decision:
        """Choose the radius within which rows are called the same, from pairs that were not in the fit.

        Parameters
        ----------
        X : array-like of shape (n, p)
        left, right : array-like of shape (m,)
            Row numbers, or ids of rows; with ``beside``, those on the right are rows of it.
        same : array-like of shape (m,), default=None
            True, 1 or any grade above 0 for pairs that belong together. Leave it out if all do: the strangers are
            then all other pairs of these rows, but for those that a path of pairs leads to.
        max_false : float, default=0.01
            Share of the matches that may be false.
        share_true : float, default=None
            Share of true pairs among those that a search compares; None is the share among these pairs.
        ids : array-like of shape (n,), default=None
            Ids of the rows, by which the pairs name them.
        view, beside
            As in `decide`.

        Returns
        -------
        Decision
            As of `decide`.
        """
        own, sides, features = self._sides(X, view, beside)
        if beside is None:
            ends = read_ends(left, right, len(sides[0]), ids)
        else:
            ends = row_numbers(left, "left", len(sides[0])), row_numbers(right, "right", len(sides[1]))
        verdicts = None if same is None else read_verdicts(same, len(ends[0])) > 0
        rng = make_rng(copy.deepcopy(self.random_state))
        how: Facts = {"max_false": max_false, "share_true": share_true, "rng": rng}
        own.decision_ = decide_pairs(sides, features, ends, verdicts, **how)
        return own.decision_

    def _sides(
        self, X: Features, view: str | None, beside: Features
    ) -> tuple[Self, tuple[Codes, Codes], tuple[Any, Any]]:
        """The hasher of the view, and the codes and the features of queries and of the database."""
        check_is_fitted(self, "model_")
        own = self.view(view)
        if beside is not None and view is None:
            raise InvalidInput("beside came without view", "the view that X belongs to", "Pass view, too")
        rows = own._checked(X)
        codes = own.encode(X)
        if beside is None:
            return own, (codes, codes), (rows, rows)
        return own, (codes, self.encode(beside)), (rows, self._checked(beside))

    @property
    def codes_(self) -> Codes:
        """Codes of the training rows: learned where the method has such codes, otherwise mapped."""
        check_is_fitted(self, "model_")
        if "_codes" not in self.__dict__:
            raise AttributeError("codes_ is kept only right after fit; use encode(X), or learned_codes(X, y)")
        return replace(self._codes, same_within=self._same_within)

    def score(self, X: Features, y: LabelsLike, view: str | None = None) -> float:
        """Mean average precision of the given rows among themselves, own row left out, ties as expectations.

        Codes are mapped on both sides. 1 is perfect; the share of relevant rows is chance.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : array-like of shape (n,), indicator matrix, or list of tag sets
            Rows that share a class or a tag are relevant for each other.
        view : str, default=None
            Name of the view that X belongs to; None is the features of ``fit``.
        """
        from .metrics import evaluate

        codes = self.encode(X, view=view)
        return float(evaluate(codes, codes, y, y, exclude_self=True))

    def explain(self, x: Features, y: Features) -> Explanation:
        """Which bits of two rows differ, and by what margins.

        Parameters
        ----------
        x, y : array-like of shape (p,)
        """
        names = getattr(self, "feature_names_in_", None)
        left, right = (_one_row(in_order_of(names, row)) for row in (x, y))
        if left.shape != right.shape:
            raise InvalidInput(
                f"The two rows have {left.size} and {right.size} values",
                "one row on each side",
                "Pass x and y",
            )
        own = copy.copy(self)
        own.__dict__.pop("feature_names_in_", None)  # two bare rows need no column names
        margins = own.decision_function(np.stack([left, right]))
        bits = margins > 0
        return Explanation(np.flatnonzero(bits[0] != bits[1]), margins)

    def codes_of(self, packed: Bytes, ids: Array | None = None) -> Codes:
        """Packed bytes that this model encoded elsewhere, as `Codes` that know it.

        Parameters
        ----------
        packed : ndarray of uint8, shape (n, ceil(n_bits / 8))
        ids : ndarray of shape (n,), default=None
            Names of the rows, which an index keeps.
        """
        return self._as_codes(packed, ids)

    def save(self, path: PathLike | bytes) -> None:
        """Write the fitted model to one verified file; `kinhash.load` reads it. No pickle, and no training row.

        Parameters
        ----------
        path : path-like
        """
        from .files import save_model

        check_is_fitted(self, "model_")
        save_model(self, path)

    # -- inside --------------------------------------------------------------------------------

    def _as_codes(self, packed: Bytes, ids: Array | None = None, learned: Any = False) -> Codes:
        return Codes(packed, self._n_features_out, ids, self.model_id_, learned, self._same_within)

    @property
    def _same_within(self) -> int | None:
        return None if self.decision_ is None else self.decision_.radius

    def _checked(self, X: Features) -> Any:
        """Rows with the columns of the fit; errors name the view, or the one whose columns these are."""
        try:
            return check_features(self, X, reset=False)
        except InvalidInput as error:
            if self.view_ is not None:
                raise type(error)(
                    f"View {self.view_!r}: {error.wrong}", error.expected, error.remedy
                ) from error
            width = getattr(X, "shape", (0, 0))[-1]
            named = [name for name, view in self.views_.items() if view.n_features_in_ == width]
            if not named or width == self.n_features_in_:
                raise
            remedy = f"Pass view={named[0]!r} if these are rows of that view"
            raise type(error)(error.wrong, error.expected, remedy) from error

    def _new_rows(self, X: Features) -> Rows:
        """Rows to encode, checked; warns, once, where they are unlike those of the fit."""
        rows = Rows(self._checked(X))
        doubt = self._watch.look(rows)
        if doubt is not None:
            warn(doubt if self.view_ is None else f"View {self.view_!r}: {doubt}")
        return rows

    def _scores(self, rows: Rows) -> Array:
        """Scores (n, d) of checked rows."""
        map_ = self.model_.map
        if isinstance(map_, WholeMap):
            return map_rows(map_.scores, rows.plain, len(rows), self.n_jobs)
        return map_padded_rows(map_.scores, rows.read, len(rows), self.n_jobs)

    def _encode_rows(self, rows: Rows) -> Bytes:
        """Packed codes (n, bytes) of checked rows, without all their scores in memory; on the GPU in use, if any."""
        if not isinstance(self.model_.map, WholeMap):
            return pack_bits(self._scores(rows) > 0)
        return packed_codes(self.model_.map, rows, self.n_jobs)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.requires_labels
        tags.target_tags.multi_output = True
        tags.target_tags.two_d_labels = False
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")


def rounding_doubts(learned: Map, whole: Map, rows: Rows) -> list[str]:
    """A warning if whole numbers change more than 1 % of the bits of some rows."""
    if whole is learned:
        return []
    most = min(CHECKED_ROWS, max(64, CHECKED_NUMBERS // rows.shape[1]))
    some = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), most)).astype(np.int64))
    block = rows.read(some)
    changed = float(((learned.scores(block) > 0) != (whole.scores(rows.plain(some)) > 0)).mean())
    if changed <= ROUNDED:
        return []
    return [
        f"{changed:.1%} of the bits change when the model is rounded to whole numbers. Standardize the columns of "
        "X: some are too large or too small beside their spread."
    ]


def _one_row(row: Features) -> Array:
    return np.ravel(row.toarray() if hasattr(row, "toarray") else np.asarray(row))


@dataclass(frozen=True)
class Explanation:
    """Why two rows are near or far: the bits in which they differ, and how firmly each was decided.

    ``margins`` (2, d) are the scores of both rows; a bit near zero was decided by little.
    """

    differing: Ints
    margins: Array

    @property
    def distance(self) -> int:
        """Number of differing bits."""
        return len(self.differing)

    def __str__(self) -> str:
        lines = [f"{self.distance} of {self.margins.shape[1]} bits differ"]
        order = self.differing[np.argsort(-np.abs(self.margins[:, self.differing]).min(axis=0))]
        lines += [f"  bit {k:4d}: {self.margins[0, k]:+.3f} against {self.margins[1, k]:+.3f}" for k in order]
        return "\n".join(lines)


@dataclass
class FitReport:
    """``report_`` of a fitted hasher, for people: printed, or a table in a notebook.

    Parameters
    ----------
    n_rows, n_bits : int
        Numbers of training rows and of bits.
    n_learned : int
        Rows whose code was learned from what is known of them; the others have mapped codes.
    unique_codes : int
        Number of different codes among the training rows.
    dead_bits : list of int
        Bits that are the same on all training rows.
    warnings : list of str
    seconds : dict
        By stage.
    facts : dict
        What the method chose and measured.

    Examples
    --------
    >>> print(FitReport(n_rows=1500, n_bits=8, n_learned=1500, unique_codes=10, facts={"steps": 600}))
    rows       1,500
    bits       8
    codes      1,500 learned, 0 mapped, 10 distinct
    steps      600
    """

    n_rows: int
    n_bits: int
    n_learned: int = 0
    unique_codes: int = 0
    dead_bits: list[int] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    facts: dict[str, object] = field(default_factory=dict)

    @classmethod
    def of(cls, codes: Codes, facts: Facts, doubts: list[str], seconds: dict[str, float]) -> FitReport:
        """Describe the codes of the training rows."""
        ones = np.zeros(codes.n_bits, np.int64)
        for part in block_slices(len(codes), 1 << 16):
            ones += codes[part].bits().sum(axis=0, dtype=np.int64)
        dead = np.flatnonzero((ones == 0) | (ones == len(codes)))
        said = list(doubts)
        if len(dead):
            said.append(
                f"{len(dead)} of {codes.n_bits} bits are constant on the training rows and tell nothing apart. "
                "Fewer bits would do, or more varied rows."
            )
        whole = np.ascontiguousarray(codes.packed).view(f"V{codes.packed.shape[1]}")
        n_learned = int(np.broadcast_to(codes.learned, len(codes)).sum())
        return cls(
            len(codes),
            codes.n_bits,
            n_learned,
            len(np.unique(whole)),
            dead.tolist(),
            said,
            dict(seconds),
            facts,
        )

    def lines(self) -> list[tuple[str, str]]:
        """Names and values, in words."""
        constant = f"; {len(self.dead_bits)} constant" if self.dead_bits else ""
        mapped = self.n_rows - self.n_learned
        said = [
            ("rows", f"{self.n_rows:,}"),
            ("bits", f"{self.n_bits}{constant}"),
            ("codes", f"{self.n_learned:,} learned, {mapped:,} mapped, {self.unique_codes:,} distinct"),
        ]
        said += [(name.replace("_", " "), _value(value)) for name, value in self.facts.items()]
        if self.seconds:
            said.append(("seconds", f"{sum(self.seconds.values()):.2f}"))
        return [(name, value) for name, value in said if value]

    def __str__(self) -> str:
        lines = self.lines()
        width = max(10, *(len(name) for name, _ in lines))
        text = [f"{name:<{width}} {value}" for name, value in lines]
        return "\n".join([*text, *(f"Beware: {doubt}" for doubt in self.warnings)])

    def _repr_html_(self) -> str:
        rows = [(f"<b>{escape(name)}</b>", escape(value)) for name, value in self.lines()]
        doubts = f"<p><b>Beware</b></p>{bullets(self.warnings)}" if self.warnings else ""
        return document(table(rows), doubts)


def _value(value: object) -> str:
    """A number with four digits, the last of a history, a text as it is."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if hasattr(value, "__len__") and not isinstance(value, str):
        if len(value) == 0:
            return ""
        if isinstance(value, list | tuple) and isinstance(value[-1], int | float):
            return _value(value[-1]) + (f" (the last of {len(value)})" if len(value) > 1 else "")
        return f"{len(value):,} values"
    return str(value)
