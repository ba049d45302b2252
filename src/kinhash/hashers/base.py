"""The contract every hasher keeps, ours and the rivals': fit, encode, transform, score, save.

A fitted hasher is a map and a sign. Methods differ in how they learn; they implement `_learn` and
inherit everything else: checks at the door, encoding in blocks, learned codes of the
training rows, the report, files.
"""

from __future__ import annotations

import copy
import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._internal.blocks import keep_threads, map_padded_rows, map_rows, single_blas_thread
from .._internal.files import PathLike
from .._internal.rows import Rows
from .._internal.stages import FitTask, Listener, Stages
from .._internal.types import Array, Bytes, Features, Floats32, LabelsLike, Matrix, Numbers, Seed
from .._internal.validation import (
    check_choice,
    check_features,
    check_integer,
    check_n_bits,
    check_weights,
    in_order_of,
    make_rng,
)
from ..codes import Codes, pack_bits
from ..encoders import Fitted, mapped_codes
from ..errors import InvalidInput, KinhashWarning
from ..models import Seen, Watch, WholeMap
from ..supervision import Supervision, Training, from_labels, from_pairs, from_similarity
from .equal_rows import merge_equal_rows, names_rows, of_all_rows
from .explanation import Explanation
from .fit_warnings import all_equal_warning, classes_sharing_codes, count_distinct, shared_codes_doubts
from .report import FitReport, dead_bits_warning
from .views import Viewed

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""

    def with_callbacks(method: Any) -> Any:
        """Leave the method as it is."""
        return method


if TYPE_CHECKING:
    from ..index import HammingIndex, Neighbors

__all__ = ["Explanation", "Hasher"]

Supervise: TypeAlias = Callable[[int], "Supervision"]  # the number of rows of X → what is known of them

MOST_JOBS = 1024  # more threads than a system starts would be asked for by a stranger's model file


class Hasher(Viewed, CallbackSupportMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of all hashers. Subclasses have ``n_bits``, ``random_state`` and ``n_jobs``."""

    n_bits: int
    random_state: Seed
    n_jobs: int | None
    verbose: int = 0

    fitted_: Fitted
    _n_features_out: int
    _listener: Listener | None = None
    # False for methods whose map is no set of plain arrays: better said before a long fit than on saving.
    storable: ClassVar[bool] = True
    # True for methods that promise every class a code of its own, and warn where there are too few bits.
    one_code_per_class: ClassVar[bool] = False

    @abstractmethod
    def _learn(self, training: Training) -> Fitted:
        """Learn codes and a map from input that has been checked."""

    def check_parameters(self) -> None:
        """Check the constructor's parameters; subclasses check theirs and call this."""
        if self.view_ is not None:
            raise InvalidInput(
                f"View {self.view_!r} was to be fitted alone",
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

    def fit(self, X: Features, y: LabelsLike = None, sample_weight: Numbers | None = None) -> Self:
        """Learn codes from rows X (n, p) and labels y: classes, a 0/1 indicator matrix, or tag sets.

        ``None`` or NaN in place of a label means unknown; see `kinhash.supervision` for all the rules.
        ``sample_weight`` (n,) says how much each row counts beside the others: a row of weight k counts as
        the same row k times, and a row of weight 0 is left out.
        """
        return self._fit(X, lambda n: from_labels(y, n), sample_weight, y)

    def fit_pairs(self, X: Features, left: Numbers, right: Numbers, verdict: Numbers) -> Self:
        """Learn from pairs of row numbers: verdict 1 (or True) similar, −1 (or False) dissimilar.

        Pairs that are not listed are unknown and ignored; rows in no pair take the map's code.
        """
        return self._fit(X, lambda n: from_pairs(left, right, verdict, n), None)

    def fit_similarity(self, X: Features, S: Matrix, anchors: Numbers | None = None) -> Self:
        """Learn from similarities S in [−1, 1]: (n, n), or (n, m) with the row number of each column.

        Dense or sparse; 0 means unknown, the diagonal is ignored, and a pair may be listed in one direction.
        """
        return self._fit(X, lambda n: from_similarity(S, anchors, n), None)

    @with_callbacks
    def _fit(
        self,
        X: Features,
        supervise: Supervise,
        sample_weight: Numbers | None,
        y: LabelsLike = None,
        looks: Rows | None = None,
    ) -> Self:
        self.check_parameters()
        self.__dict__.pop("_stream", None)  # a new fit forgets blocks that came before
        X = check_features(self, X, reset=True)
        weights = check_weights(sample_weight, X.shape[0])
        supervision = supervise(X.shape[0])
        supervision.check(weights)
        rng = make_rng(self.random_state)
        task = FitTask(self, X, y)
        stages = Stages(self._listener, task.stage, bool(self.verbose))
        training = Training(Rows(X), supervision, weights, rng, stages, self.n_jobs, looks)
        place = None
        learned_from = training
        if not names_rows(self):
            learned_from, place = merge_equal_rows(training, sample_weight)
        # On more threads of BLAS, small products would differ in their last digits.
        with single_blas_thread(), keep_threads(self.n_jobs):
            fitted = self._learn(learned_from)
            if fitted.seen is None:
                fitted = replace(fitted, seen=Seen.of(learned_from.rows, learned_from.weights))
            self._finish(
                of_all_rows(fitted.whole(), place), replace(training, supervision=learned_from.supervision)
            )
        task.end()
        return self

    def _finish(self, fitted: Fitted, training: Training) -> None:
        """Install what was learned, with a code for every training row, and describe it."""
        learned = fitted.codes is not None
        with training.stages("training codes"):
            codes = _training_codes(fitted, training.rows, self.n_jobs)
        self.adopt(replace(fitted, codes=codes, codes_are_learned=learned))
        self.report_ = self._describe(training)
        for text in self.report_.warnings:
            warnings.warn(text, KinhashWarning, stacklevel=4)

    def adopt(self, fitted: Fitted) -> Self:
        """Install the fitted state: for files, engines and other places that learn a map."""
        self.fitted_ = fitted = fitted.whole()
        self._watch = Watch(fitted.seen)
        self._n_features_out = fitted.map.n_bits
        self.model_id_ = fitted.map.id()
        self.views_ = {}  # a new fit has codes of its own
        return self

    def listen(self, listener: Listener | None) -> Self:
        """Call ``listener`` with the name of each stage of a fit as it begins."""
        self._listener = listener
        return self

    def without_training(self) -> Self:
        """A copy that encodes and holds nothing else."""
        light = copy.copy(self)
        for name in ("_stream", "_listener", "report_"):
            light.__dict__.pop(name, None)
        kept = replace(self.fitted_, codes=None, group_of_row=None, marginals=None, scores=None, facts={})
        light.adopt(replace(kept, unrounded=None, label_names=None))
        light.model_id_ = self.model_id_  # codes of a view carry the id of the first one
        light.views_ = dict(self.views_)
        return light

    # -- using ---------------------------------------------------------------------------------

    def decision_function(self, X: Features, view: str | None = None) -> Array:
        """Margins (n, d): a bit is 1 where its margin is above zero, and firm where it is far from it.

        They are whole numbers times powers of two, the same on every machine; their signs are the bits of
        `encode`. Bits that a view does not know have margin 0.
        """
        check_is_fitted(self, "fitted_")
        if view is not None:
            return self.view(view).decision_function(X)
        return self._scores(self._new_rows(X))

    def transform(self, X: Features, view: str | None = None) -> Bytes:
        """Bits (n, d) as 0 and 1, for scikit-learn pipelines."""
        own = self if view is None else self.view(view)
        return own.encode(X).bits()

    def encode(self, X: Features, ids: npt.ArrayLike | None = None, view: str | None = None) -> Codes:
        """Codes of rows: packed bytes (n, ceil(d / 8)) in np.packbits order that know their length and model.

        ``np.asarray(codes)``, or ``codes.packed``, is the plain array; ``codes.repeated()`` is the one whose
        Hamming distances are ours where kin bits count more than once, for faiss and pgvector. A model
        gives a row the same bits on every machine, alone or in a batch of any size, from a memory map or a
        sparse matrix, because it is whole numbers (`kinhash.models`). Maps with a scikit-learn estimator
        inside are as good as its arithmetic. Peak memory beyond the result: a few blocks of 256 to 1,024
        rows per thread.

        ``view`` names what the rows are, where not those of the fit: a view that `add_view` added.
        """
        check_is_fitted(self, "fitted_")
        if view is not None:
            return self.view(view).encode(X, ids)
        packed = self._encode_rows(self._new_rows(X))
        return self._as_codes(packed, None if ids is None else np.asarray(ids))

    def search(
        self,
        index: HammingIndex,
        X: Features,
        k: int,
        floats: str | None = "alike",
        view: str | None = None,
        **how: Any,
    ) -> Neighbors:
        """The ``k`` rows of an index nearest to each row of X, rows of a ``view`` if one is named.

        ``floats`` names the field whose bits count by the margins of X: "alike", "kin", "both", or None for
        plain codes. Margins of alike bits tell more rows apart and find nearer look-alikes. ``how`` are
        further arguments of `HammingIndex.search`, such as ``where`` and ``exclude``.
        """
        check_choice("floats", floats, (None, "alike", "kin", "both"))
        check_is_fitted(self, "fitted_")
        if view is not None:
            return self.view(view).search(index, X, k, floats, **how)
        margins = self.decision_function(X)
        codes = self._as_codes(pack_bits(margins > 0))
        if floats is None or (floats == "alike" and not codes.fields.alike):
            return index.search(codes, k, **how)
        of = None if floats == "both" else floats
        return index.search(codes, k, margins=margins, margins_of=of, **how)

    def codes_of(self, packed: Bytes, ids: Array | None = None) -> Codes:
        """Packed bytes that this model encoded elsewhere, as `Codes` that know it."""
        return self._as_codes(packed, ids)

    def _as_codes(self, packed: Bytes, ids: Array | None = None, learned: bool = False) -> Codes:
        fitted = self.fitted_
        known = self.model_id_, fitted.fields, learned, fitted.mapped_share, fitted.knows_looks
        return Codes(packed, self._n_features_out, ids, *known)

    def _new_rows(self, X: Features) -> Rows:
        """Rows to encode, checked; warns, once, where they are unlike those of the fit."""
        rows = Rows(self._checked(X))
        doubt = self._watch.look(rows)
        if doubt is not None:
            said = doubt if self.view_ is None else f"View {self.view_!r}: {doubt}"
            warnings.warn(said, KinhashWarning, stacklevel=3)
        return rows

    def _scores(self, rows: Rows) -> Array:
        map_ = self.fitted_.map
        if isinstance(map_, WholeMap):
            return map_rows(map_.scores, rows.plain, len(rows), self.n_jobs)
        return map_padded_rows(map_.scores, rows.read, len(rows), self.n_jobs)

    def _encode_rows(self, rows: Rows) -> Bytes:
        return mapped_codes(self.fitted_.map, rows, self.n_jobs)

    @property
    def codes_(self) -> Codes:
        """Codes of the training rows: learned where the method has such codes, otherwise mapped."""
        check_is_fitted(self, "fitted_")
        codes = self.fitted_.codes
        if codes is None:
            raise AttributeError("codes_ is kept only right after fit; use encode(X), or learned_codes(y, X)")
        return self._as_codes(codes, learned=self.fitted_.codes_are_learned)

    @property
    def marginals_(self) -> Floats32:
        """P(bit = 1) of the training rows (n, d) as inference left them; rows without supervision are NaN."""
        check_is_fitted(self, "fitted_")
        marginals, group = self.fitted_.marginals, self.fitted_.group_of_row
        if marginals is None or group is None:
            raise AttributeError("marginals_ exist only right after fit, for methods that learn codes")
        phi: Floats32 = marginals[group]
        phi[group < 0] = np.nan
        return phi

    def score(self, X: Features, y: LabelsLike, view: str | None = None) -> float:
        """Expected-tie mean average precision of the given rows among themselves, own row left out.

        Codes are mapped on both sides. 1 is perfect; the share of relevant rows is chance.
        """
        from ..metrics import mean_average_precision

        codes = (self if view is None else self.view(view)).encode(X)
        return float(mean_average_precision(codes, codes, y, y, exclude_self=True))

    def explain(self, x: Features, y: Features) -> Explanation:
        """Which bits of two rows differ, and by what margins."""
        names = getattr(self, "feature_names_in_", None)
        left, right = (_one_row(in_order_of(names, row)) for row in (x, y))
        if left.shape != right.shape:
            raise InvalidInput(
                f"The two rows have {left.size} and {right.size} values",
                "one row on each side",
                "Pass x and y",
            )
        pair = np.stack([left, right])
        with warnings.catch_warnings():  # two bare rows need no column names
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            margins = self.decision_function(pair)
        bits = margins > 0
        differing = np.flatnonzero(bits[0] != bits[1])
        counts = self.fitted_.fields.weights(margins.shape[1])
        return Explanation(int(counts[differing].sum()), differing, margins)

    # -- files ---------------------------------------------------------------------------------

    def save(self, path: PathLike) -> None:
        """Write the fitted model to one verified file; `kinhash.load` reads it. No pickle."""
        from .model_file import save_model

        check_is_fitted(self, "fitted_")
        save_model(self, path)

    # -- housekeeping --------------------------------------------------------------------------

    def _describe(self, training: Training) -> FitReport:
        codes, fitted = self.codes_, self.fitted_
        share = codes.bits().mean(axis=0, dtype=np.float64)
        dead = np.flatnonzero((share == 0) | (share == 1))
        sharing = classes_sharing_codes(fitted, training.supervision) if codes.learned else 0
        n_groups = training.supervision.n_groups
        doubts = [dead_bits_warning(len(dead), len(share))] if len(dead) else []
        if self.one_code_per_class:
            doubts += shared_codes_doubts(sharing, training.supervision, len(share), codes.fields.alike)
        doubts += [*all_equal_warning(fitted, training.rows), *fitted.warnings]
        return FitReport(
            n_rows=len(training.rows),
            n_groups=n_groups,
            n_bits=codes.n_bits,
            codes="learned" if codes.learned else "mapped",
            unique_codes=count_distinct(codes.packed, fitted.group_of_row),
            classes_sharing_a_code=sharing,
            dead_bits=dead.tolist(),
            bit_balance=share,
            warnings=doubts,
            fields=fitted.fields,
            seconds=dict(training.stages.seconds),
            facts=fitted.facts,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.two_d_labels = False
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "fitted_")


def _training_codes(fitted: Fitted, rows: Rows, n_jobs: int | None) -> Bytes:
    """Learned codes of the training rows; those of which nothing is known take the map's."""
    if fitted.codes is None:
        return mapped_codes(fitted.map, rows, n_jobs)
    if fitted.group_of_row is not None:
        unknown = np.flatnonzero(fitted.group_of_row < 0)
        if len(unknown):
            fitted.codes[unknown] = mapped_codes(fitted.map, Rows(rows.X[unknown]), n_jobs)
    return fitted.codes


def _one_row(row: Features) -> Array:
    return np.ravel(row.toarray() if sp.issparse(row) else np.asarray(row))
