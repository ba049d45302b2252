"""`EnergyHasher`: short binary codes from whatever is known about who belongs together, or from looks alone."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ._internal.blocks import block_slices, keep_threads, map_blocks, map_rows, single_blas_thread
from ._internal.rows import PickedRows, Rows
from ._internal.stages import Stages
from ._internal.types import (
    Bools,
    Bytes,
    Features,
    Floats,
    Floats32,
    Ints,
    LabelsLike,
    Matrix,
    Numbers,
    Rng,
    Seed,
)
from ._internal.validation import check_features, check_number, check_weights, make_rng
from .base import FitReport, Hasher, Learned, Model, Training, rounding_doubts
from .codes import Codes, n_bytes, pack_bits
from .errors import InvalidInput, UnknownName, warn
from .labels import SEPARATOR, Labels, Parents, one_level_warning, read_labels, read_paths, unwrapped
from .learn.features import START_ROWS, prepare_columns, unit_rows
from .learn.learner import HIDDEN, Network, NetworkMap, Schedule, Source, train
from .learn.opinions import (
    ALONE,
    SHARP,
    Classes,
    Looks,
    Opinion,
    PairEnergy,
    Ranking,
    Slope,
    Tags,
    Tree,
    Wish,
    slope_of,
)
from .learn.opinions import (
    Matrix as ClassMatrix,
)
from .learn.pairs import Between, Clicks, Nearness, Triplets, Verdicts
from .learn.table import LabelTable, too_many
from .learn.views import Partners
from .models import Map, Seen
from .pairs import read_clicks, read_pairs, read_similarity, read_triplets

__all__ = ["EnergyHasher"]

KINSHIPS = ("auto", "graded", "any", "tree")
ENERGIES = ("rank", "ksh", "lfh", "bre", "splh", "exph")
CONTRADICTED = 0.2  # share of labels that features contradict above which `fit` warns
KEPT_SCORES = 32_000_000  # numbers: scores of more rows are computed twice, for labels and for codes
MIXED = 1 << 21  # scores of rows that a thread mixes with those of labels at once
RESERVOIR = 8_192  # old rows that `partial_fit` learns from again beside new ones
VIEW_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")
TRUST = 0.3
MOST_VIEWS = 20  # a model file holds at most a thousand arrays
OWN_PARTNER = 0.2  # weight of a row's own partner, where labels say who else belongs together
VIEW_LOOKS = 0.2  # weight of the looks of a view's rows


@dataclass(frozen=True)
class Known:
    """What is known about the rows of a fit: labels and their wish, and opinions about pairs of rows."""

    n_rows: int
    labels: Labels | None = None
    wish: Wish | None = None
    between: tuple[Any, ...] = ()
    n_levels: int = 0
    paths: bool = False
    y_weight: float = 1.0

    def says_something(self) -> Bools:
        """Rows (n,) that a label or a pair says something of."""
        found = np.zeros(self.n_rows, bool) if self.wish is None else self.wish.known.copy()
        for opinion in self.between:
            found |= opinion.named(self.n_rows)
        return found


class EnergyHasher(Hasher):
    """Learn short binary codes from labels, tags, trees, pairs, clicks, triplets, similarities, or looks alone.

    One learner serves all of them: the rows of a batch rank each other as labels say, and as they look. Every
    row has the same weight: a labeled row follows its label and its looks, an unlabeled one its looks. Every
    bit counts one.

    Parameters
    ----------
    n_bits : int, default=64
        Length of the codes, 1 to 16,384.
    energy : str, default="rank"
        What labels minimize: "rank" (the cross entropy of how rows rank each other), or the energy of pairs of
        rows, "ksh", "lfh", "bre", "splh", "exph" or a `kinhash.paper.Energy`. Pairs with verdicts and
        similarities always minimize the energy of a pair, "ksh" if this is "rank".
    kinship : str, matrix or dict, default="auto"
        How similar labels are: "auto" (classes: the same or not; tags: the more they share), "graded" (tags),
        "any" (at least one shared tag, as in the paper), "tree" (labels are paths such as "sport/shoes"), a
        table {label: its parent}, or a K × K matrix in [−1, 1] between the classes in sorted order.
    looks : float, default=0.5
        Weight of the rows' looks beside that of a label. 0 uses labels alone; codes then do not separate classes
        that had no labels in the fit.
    trust : float, default=0.3
        How much the label of a row counts in its code, against its features; 1 is the label alone.
    random_state : int, Generator or None, default=None
        The same seed gives the same codes, on any number of threads.
    n_jobs : int, default=None
        Threads; None is all cores.

    Attributes
    ----------
    codes_ : Codes
        Codes of the training rows: learned where a row has a label, otherwise mapped from its features.
    report_ : FitReport
    n_features_in_ : int

    Notes
    -----
    Memory beyond X does not grow with n, but for the codes and at most 256 MB of scores.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> hasher = EnergyHasher(n_bits=16, random_state=0).fit(X[:1500], y[:1500])
    >>> hasher.encode(X[1500:]).shape
    (297, 2)
    >>> bool(hasher.score(X[1500:], y[1500:]) > 0.8)
    True
    """

    requires_labels = False

    def __init__(
        self,
        n_bits: int = 64,
        *,
        energy: Any = "rank",
        kinship: Any = "auto",
        looks: float = 0.5,
        trust: float = TRUST,
        random_state: Seed = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_bits = n_bits
        self.energy = energy
        self.kinship = kinship
        self.looks = looks
        self.trust = trust
        self.random_state = random_state
        self.n_jobs = n_jobs

    def check_parameters(self) -> None:
        super().check_parameters()
        check_number("looks", self.looks, 0.0, 100.0)
        check_number("trust", self.trust, 0.0, 1.0)
        if isinstance(self.energy, str):
            if self.energy not in ENERGIES:
                raise UnknownName.among("energy", self.energy, ENERGIES)
        elif not hasattr(self.energy, "slope"):
            raise InvalidInput(
                f"energy is {self.energy!r}",
                f"one of {', '.join(ENERGIES)}, or a kinhash.paper.Energy",
                "Pass one of those",
            )
        if isinstance(self.kinship, str):
            if self.kinship not in KINSHIPS:
                raise UnknownName.among("kinship", self.kinship, KINSHIPS)
        elif not isinstance(self.kinship, Mapping):
            _as_matrix(self.kinship)

    # -- fitting -------------------------------------------------------------------------------

    def fit(
        self,
        X: Features,
        y: LabelsLike = None,
        sample_weight: Numbers | None = None,
        looks_from: Features = None,
    ) -> Self:
        """Learn codes from rows, and from their labels as far as they have any.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Features: dense, sparse, a memory map or a dataframe.
        y : array-like of shape (n,), indicator matrix, or list of tag sets, default=None
            Classes, tags or paths; None or NaN in place of a label means unknown. Without y, codes follow looks.
        sample_weight : array-like of shape (n,), default=None
            Relative weight of each row. Rows of weight 0 are not learned from.
        looks_from : array-like of shape (n, any), default=None
            Rows look alike by the cosine of these features instead of X: embeddings of the pictures, say, where
            X are those of the texts. New rows need only X.
        """
        looks = self._looks_rows(looks_from, X)

        def know(n: int) -> Known:
            weights = check_weights(sample_weight, n)
            return self._from_labels(y, n, None if weights is None else weights > 0)

        return self._fit(X, know, sample_weight, y, looks)

    def fit_pairs(
        self,
        X: Features,
        left: Numbers,
        right: Numbers,
        same: Numbers | None = None,
        *,
        weight: Numbers | None = None,
        y: LabelsLike = None,
        y_weight: float = 1.0,
    ) -> Self:
        """Learn from pairs of row numbers, beside the looks of all rows.

        Parameters
        ----------
        X : array-like of shape (n, p)
        left, right : array-like of shape (m,)
            Row numbers.
        same : array-like of shape (m,), default=None
            True or 1 for similar rows, False or −1 for others, or a grade in [−1, 1]. Leave it out if all pairs
            are similar, as clicks and duplicates are: other rows of a batch then count as dissimilar, unless a
            short path of pairs leads to them. Pairs that are not listed are unknown.
        weight : array-like of shape (m,), default=None
            How much a pair with a verdict counts.
        y : array-like of shape (n,), default=None
            Labels of some rows, None where unknown.
        y_weight : float, default=1.0
            How much labels count beside pairs.
        """
        if same is None and weight is not None:
            raise InvalidInput("weight came without same", "weights of verdicts", "Pass same, too")

        def read(n: int) -> Any:
            if same is None:
                return Clicks(*read_clicks(left, right, n), n)
            return Verdicts(*read_pairs(left, right, same, n, weight), self._slope())

        return self._fit_between(X, read, y, y_weight)

    def fit_triplets(
        self,
        X: Features,
        anchor: Numbers,
        nearer: Numbers,
        further: Numbers,
        *,
        y: LabelsLike = None,
        y_weight: float = 1.0,
    ) -> Self:
        """Learn from row numbers (m,): each row of ``anchor`` is more similar to ``nearer`` than to ``further``.

        Parameters
        ----------
        X : array-like of shape (n, p)
        anchor, nearer, further : array-like of shape (m,)
            Row numbers.
        y : array-like of shape (n,), default=None
            Labels of some rows, None where unknown.
        y_weight : float, default=1.0
            How much labels count beside triplets.
        """
        return self._fit_between(
            X, lambda n: Triplets(*read_triplets(anchor, nearer, further, n)), y, y_weight
        )

    def fit_similarity(
        self,
        X: Features,
        S: Matrix,
        anchors: Numbers | None = None,
        *,
        y: LabelsLike = None,
        y_weight: float = 1.0,
    ) -> Self:
        """Learn from similarities S in [−1, 1]: (n, n), or (n, m) with the row number of each column.

        Parameters
        ----------
        X : array-like of shape (n, p)
        S : matrix of shape (n, n) or (n, m)
            Dense or sparse; 0 means unknown, the diagonal is ignored, and one direction of a pair is enough.
        anchors : array-like of shape (m,), default=None
            Row number of each column of S, where it has fewer columns than rows.
        y : array-like of shape (n,), default=None
            Labels of some rows, None where unknown.
        y_weight : float, default=1.0
            How much labels count beside similarities.
        """

        def read(n: int) -> Any:
            rng = make_rng(copy.deepcopy(self.random_state))
            return Verdicts(*read_similarity(S, anchors, n, rng), None, self._slope())

        return self._fit_between(X, read, y, y_weight)

    def _fit_between(self, X: Features, read: Any, y: LabelsLike, y_weight: float) -> Self:
        check_number("y_weight", y_weight, 0.0, open_low=True)

        def know(n: int) -> Known:
            if y is None:
                return Known(n, between=(read(n),))
            return replace(self._from_labels(y, n), between=(read(n),), y_weight=float(y_weight))

        return self._fit(X, know, None)

    # -- learning ------------------------------------------------------------------------------

    def _learn(self, training: Training) -> Learned:
        known: Known = training.supervision
        rows, rng = training.rows, training.rng
        self._refuse_unused(known)
        counted = np.arange(len(rows)) if training.weights is None else np.flatnonzero(training.weights > 0)
        if len(counted) < 2:
            raise InvalidInput(
                f"There is only one sample to learn from (n_samples={len(rows)})",
                "at least two rows, of weight above 0",
                "Pass more rows",
            )
        with training.stages("features"):
            columns = prepare_columns(rows, rng, counted)
            looks = None
            if training.looks is not None:
                looks = Source(prepare_columns(training.looks, rng, counted), training.looks)
            source = Source(columns, rows, looks)
            some = (
                counted
                if len(counted) <= START_ROWS
                else np.sort(rng.choice(counted, START_ROWS, replace=False))
            )
            # A hidden layer remembers verdicts on pairs (STS-B and CIFAR: .01 to .03 worse), and clicks need it.
            verdicts = known.wish is None and any(isinstance(one, Verdicts) for one in known.between)
            hidden = 0 if columns.basis is not None or verdicts else HIDDEN
            network = Network.start(columns(rows, some), columns.sizes, self.n_bits, hidden, rng)
        facts: dict[str, object] = {"columns left out": columns.dead} if columns.dead else {}
        doubts: list[str] = []
        with training.stages("learning"):
            split = known.between[0].split(rng) if known.between and known.wish is None else None
            learnt = known if split is None else replace(known, between=(split[0],))
            start, schedule = network.flat.copy(), Schedule.of(len(counted))
            opinions = self._opinions(learnt, training.weights, counted)
            train(source, opinions, network, schedule, rng, training.n_jobs)
            if split is not None:
                before, after = (
                    split[1].in_order(
                        _agreement(source, network.like(flat), split[1]), len(rows), copy.deepcopy(rng)
                    )
                    for flat in (start, network.flat)
                )
                found, looked = float(after.mean()), float(before.mean())
                facts["held-out examples in order"] = f"{found:.3f} (without them {looked:.3f})"
                if split[1].worse(before, after):
                    network.flat[:] = start
                    opinions = self._opinions(Known(len(rows)), training.weights, counted)
                    train(source, opinions, network, schedule, rng, training.n_jobs)
                    doubts.append(
                        f"The {split[1].kind} did not help on held-out examples: {found:.0%} in order with them, "
                        f"{looked:.0%} without. Codes follow looks alone."
                    )
            self._trained = columns, network, rng
            self.__dict__.pop("_reservoir", None)
            self._names = known.labels.names if isinstance(known.wish, ClassMatrix) and known.labels else None
        for opinion in known.between:
            if isinstance(opinion, Verdicts):
                doubts += opinion.doubts(lambda some: unit_rows(columns.centered(columns(rows, some))), rng)
        learned = self._as_learned(NetworkMap(columns, network), training, facts)
        return replace(learned, warnings=(*learned.warnings, *doubts))

    def _refuse_unused(self, known: Known) -> None:
        """Refuse settings that say something of labels where there are none."""
        if known.wish is not None:
            return
        kinship_says = not (isinstance(self.kinship, str) and self.kinship == "auto")
        energy_says = not (isinstance(self.energy, str) and self.energy == "rank")
        for name, says in (
            ("kinship", kinship_says),
            ("trust", self.trust != TRUST),
            ("energy", energy_says and not any(isinstance(one, Verdicts) for one in known.between)),
        ):
            if says:
                raise InvalidInput(
                    f"{name} applies to labels only, and y was not passed",
                    f"labels, or {name} at its default",
                    f"Pass y, or leave {name} out",
                )

    def _opinions(self, known: Known, weights: Floats | None, counted: Ints) -> list[Opinion]:
        """What labels, pairs and looks say. Every row has the same total weight, whoever knows it."""
        n, looks = known.n_rows, float(self.looks)
        said = known.says_something()
        labeled = np.zeros(n, bool) if known.wish is None else known.wish.known
        opinions: list[Opinion] = list(known.between)
        own: Floats = known.y_weight * labeled.astype(np.float64)
        rest: Floats = np.where(said, looks, looks + 1 if looks or not said.any() else 0.0).astype(np.float64)
        rows = counted[labeled[counted]]
        if known.wish is not None and self.energy != "rank":
            opinions.append(PairEnergy(known.wish, self._slope(), own, rows, weights))
        elif known.wish is not None and looks and len(rows) == len(counted):
            opinions.append(Ranking([known.wish, Looks(n)], [own, rest], rows, weights))
            return opinions
        elif known.wish is not None:
            opinions.append(Ranking([known.wish], [own], rows, weights))
        if looks or not opinions:
            sharp = SHARP if opinions else ALONE
            opinions.append(Ranking([Looks(n)], [rest], counted, weights, sharp))
        return opinions

    def _slope(self) -> Slope:
        from .paper import ENERGIES as TABLE

        return slope_of(TABLE.make("ksh" if self.energy == "rank" else self.energy))

    def _as_learned(self, float_map: Map, training: Training, facts: dict[str, object]) -> Learned:
        """Round the map, fit the scores of labels, and give labeled rows their codes."""
        known: Known = training.supervision
        map_ = float_map.whole()
        doubts = rounding_doubts(float_map, map_, training.rows)
        if known.labels is None or known.wish is None:
            return Learned(map_, facts=facts, warnings=tuple(doubts))
        with training.stages("labels"):
            table, scores = self._fit_table(map_, known, training)
        if table is None:
            return Learned(map_, facts=facts, warnings=(*doubts, too_many(known.labels)))
        if scores is not None and isinstance(known.wish, Classes):
            odd = table.contradicted(known.labels, scores, np.flatnonzero(known.labels.known), training.rng)
            facts["contradicted labels"] = f"{odd:.0%}"
            if odd > CONTRADICTED:
                doubts.append(
                    f"The features of {odd:.0%} of the labeled rows are nearer to another label than to their own. "
                    f"Where labels may be wrong, a trust below {self.trust:g} follows the features more."
                )
        with training.stages("codes of the rows"):
            codes = self._mixed(map_, table, training.rows, known.labels, scores)
        return Learned(map_, codes, ~known.labels.known, table, facts, tuple(doubts))

    def _fit_table(
        self, map_: Map, known: Known, training: Training
    ) -> tuple[LabelTable | None, Floats | None]:
        """Scores of labels, and the scores (n, d) of all rows, if they are few enough to keep."""
        labels, rows, rng = known.labels, training.rows, training.rng
        assert labels is not None
        some = np.flatnonzero(labels.known)
        if len(rows) * map_.n_bits <= KEPT_SCORES:
            scores = _scores_of(map_, rows, self.n_jobs)
            return LabelTable.fit(labels, scores[some], some, known.n_levels, known.paths), scores
        most = max(1, KEPT_SCORES // map_.n_bits)
        if len(some) > most:
            first = labels.indicator().tocsc()
            first.sort_indices()
            ends = first.indptr[:-1][np.diff(first.indptr) > 0]
            some = np.union1d(rng.choice(some, most, replace=False), first.indices[ends])
        scores = _scores_of(map_, PickedRows(rows, some), self.n_jobs)
        return LabelTable.fit(labels, scores, some, known.n_levels, known.paths), None

    def _mixed(
        self, map_: Map, table: LabelTable, rows: Rows, labels: Labels, scores: Floats | None = None
    ) -> Bytes:
        """Codes (n, bytes): ``trust · label + (1 − trust) · features`` where a label is known."""
        packed, trust = np.empty((len(rows), n_bytes(map_.n_bits)), np.uint8), float(self.trust)
        places = table.places(labels, unknown_ok=True)

        def one(part: slice) -> None:
            own = _scores_of(map_, Rows(rows.X[part]), 1) if scores is None else scores[part]
            some = labels[part]
            mixed = trust * table.of(some, places=places) + (1 - trust) * own
            packed[part] = pack_bits(np.where(some.known[:, None], mixed, own) > 0)

        for _ in map_blocks(one, block_slices(len(rows), max(256, MIXED // map_.n_bits)), self.n_jobs):
            pass
        return packed

    # -- what is known -------------------------------------------------------------------------

    def _from_labels(
        self, y: LabelsLike, n: int, counted: Bools | None = None, fitted: bool = False
    ) -> Known:
        """Labels and the wish that they stand for, by ``kinship``; see `kinhash.labels`.

        Those of rows (n,) that are not ``counted`` are unknown. Where the model is ``fitted``, these are labels of
        other rows, and a matrix is one between the classes of the fit.
        """
        if y is None:
            if self.looks == 0:
                raise InvalidInput(
                    "fit was called without labels and with looks=0, so there is nothing to learn from",
                    "labels y, or a weight of looks above 0",
                    "Pass y, or leave looks at its default",
                )
            return Known(n)
        kinship, parents = self.kinship, self.kinship if isinstance(self.kinship, Mapping) else None
        tree = isinstance(kinship, str) and kinship == "tree"
        if fitted and tree and self.model_.table is not None and not self.model_.table.paths:
            tree, kinship = False, "auto"  # a file keeps no parents
        n_levels, paths = 0, False
        if parents is not None or tree:
            labels, wish, n_levels = _tree(y, n, parents, counted)
            paths = tree or labels.is_tags
        else:
            labels = _counted(read_labels(y, n), counted)
            names = self.__dict__.get("_names") if fitted and not isinstance(kinship, str) else None
            if names is not None and not labels.is_tags and set(labels.names.tolist()) <= set(names.tolist()):
                labels = labels.renamed(names)
            wish = _wish(labels, kinship)
        _check_labels(labels, wish)
        return Known(n, labels, wish, n_levels=n_levels, paths=paths)

    def labels_as_fitted(self, y: LabelsLike, n_rows: int | None = None) -> Labels:
        """Labels with the names of the fit: tags of a tree carry the nodes above them.

        Parameters
        ----------
        y : array-like, indicator matrix, or list of tag sets
        n_rows : int, default=None
            How many labels there must be.
        """
        table, parents = self.model_.table, self.kinship if isinstance(self.kinship, Mapping) else None
        if table is None or not table.paths:
            return read_labels(y, n_rows)
        return read_paths(y, n_rows, parents, table.n_levels)[0]

    def _looks_rows(self, looks_from: Features, X: Features) -> Rows | None:
        """The columns that say who looks alike: finite numbers, a row for each row of X."""
        if looks_from is None:
            return None
        from sklearn.utils.validation import check_array

        if self.looks == 0:
            raise InvalidInput("looks_from came with looks=0", "looks that count", "Leave one of them out")
        try:
            looks = check_array(looks_from, accept_sparse="csr", input_name="looks_from")
        except ValueError as problem:
            raise InvalidInput(
                f"looks_from cannot be used: {problem}", "a matrix of finite numbers", "Check it"
            ) from problem
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        if looks.shape[0] != n_rows:
            raise InvalidInput(
                f"looks_from has {looks.shape[0]} rows and X has {n_rows}",
                "one row per row of X",
                "Pass both",
            )
        return Rows(looks)

    # -- labels after the fit ------------------------------------------------------------------

    def learned_codes(self, X: Features, y: LabelsLike, view: str | None = None) -> Codes:
        """Codes of rows with labels: where a new or a relabeled item belongs.

        Works after ``fit``, ``partial_fit`` and `kinhash.load`, without a refit. Rows of the fit get their codes
        of ``codes_`` again.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : array-like of shape (n,), indicator matrix, or list of tag sets
            Labels among those fitted on, or added by `add_classes`. A row of unknown label is encoded with
            `encode`.
        view : str, default=None
            Name of the view that X belongs to; None is the features of ``fit``.
        """
        check_is_fitted(self, "model_")
        own, table = self.view(view), self._require_table()
        rows = Rows(own._checked(X))
        labels = y if isinstance(y, Labels) else self.labels_as_fitted(y)
        if len(rows) != len(labels):
            raise InvalidInput(
                f"{len(labels)} labels came with {len(rows)} rows", "one label per row", "Pass both"
            )
        table.places(labels)  # refuses unknown labels before any work
        return own._as_codes(self._mixed(own.model_.map, table, rows, labels), learned=True)

    def add_classes(self, X: Features, y: LabelsLike) -> Self:
        """Add classes that arrive after the fit, so that `learned_codes` knows them.

        A new class gets the mean scores of its rows; twenty are enough. Everything else stays as it is: codes of
        other classes, `encode`, and the id of the model, so that an index goes on.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : array-like of shape (n,)
            Their classes, of the type of those of the fit. Classes that are known already stay as they are.
        """
        check_is_fitted(self, "model_")
        table, labels = self._require_table(), self.labels_as_fitted(y)
        scores = self.decision_function(X)
        if len(scores) != len(labels):
            raise InvalidInput(
                f"{len(labels)} labels came with {len(scores)} rows", "one label per row", "Pass both"
            )
        if not labels.known.any():
            raise InvalidInput("All labels are missing", "rows of new classes", "Pass their labels")
        self.model_ = replace(self.model_, table=table.with_classes(labels, scores))
        return self

    def _require_table(self) -> LabelTable:
        if self.model_.table is None:
            raise InvalidInput(
                "The model has no scores of labels: it was not fitted on classes or tags",
                "a model that was fitted with labels",
                "Fit with y, or use encode(X)",
            )
        return self.model_.table

    # -- rows that come later ------------------------------------------------------------------

    def partial_fit(self, X: Features, y: LabelsLike = None) -> Self:
        """Learn from more rows, beside a sample of those before: for data that come in parts.

        The first call is a fit. Later ones continue from the weights so far, on the new rows and at most 8,192
        old ones. Codes change with every call, so encode the database again at the end; ``codes_`` are those of
        the last rows, and views are gone, with a warning. Raises `InvalidInput` after ``fit``, which keeps no
        rows, and on a model from a file, which has no such weights. Memory: these rows.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : array-like of shape (n,), indicator matrix, or list of tag sets, default=None
            As in `fit`.
        """
        if "_reservoir" not in self.__dict__:
            if "_trained" in self.__dict__:
                raise InvalidInput(
                    "partial_fit was called after fit, which keeps no rows, so it would forget them",
                    "a hasher that learned all its rows in parts",
                    "Call partial_fit from the first part on, or fit again with all rows",
                )
            if hasattr(self, "model_"):
                raise InvalidInput(
                    "A model from a file, or without its training, was to learn more rows",
                    "the hasher that was fitted, or a new one",
                    "Keep the fitted hasher, with joblib for example, or fit again on all rows",
                )
            self.fit(X, y)
            rows, rng = _rows_of(self._checked(X)), self._trained[2]
            self._reservoir = Reservoir(rows[:0], None).with_rows(
                rows, _unread(y, rows.shape[0], self.kinship), rng
            )
            return self
        with self._as_before_if_it_fails():
            self._learn_more(X, y)
        return self

    def _learn_more(self, X: Features, y: LabelsLike) -> None:
        self.check_parameters()
        new = _rows_of(self._checked(X))
        if not new.shape[0]:
            raise InvalidInput(
                "partial_fit was called with no rows (0 samples)", "some rows", "Skip such parts"
            )
        before: Reservoir = self._reservoir
        labels = _unread(y, new.shape[0], self.kinship)
        both, given = before.followed_by(new, labels)
        known = Known(both.shape[0])
        if given is not None:
            known = self._from_labels(given, both.shape[0], fitted=True)
        self._trained = columns, network, rng = copy.deepcopy(self._trained)
        training = Training(Rows(both), known, None, rng, Stages(self._listener), self.n_jobs)
        views, table, n_old = list(self.views_), self.model_.table, both.shape[0] - new.shape[0]
        share = min(1.0, 2 * new.shape[0] / (before.n_seen + new.shape[0]))
        schedule = Schedule.of(both.shape[0])
        schedule = replace(schedule, steps=max(20, round(schedule.steps * share)))
        with single_blas_thread(), keep_threads(self.n_jobs):
            opinions = self._opinions(known, None, np.arange(both.shape[0]))
            train(Source(columns, training.rows), opinions, network, schedule, rng, self.n_jobs)
            learned = self._as_learned(NetworkMap(columns, network), training, {})
            if learned.table is not None and table is not None:
                learned = replace(learned, table=learned.table.with_labels_of(table))
            self._install(learned, training)
        self._codes = self._codes[n_old:]
        self._reservoir = before.with_rows(new, labels, rng)
        if views:
            warn(
                "partial_fit changed the codes, so the hasher has no views any more. Add them again: "
                f"{', '.join(views)}"
            )

    def add_view(
        self, name: str, X: Features, y: LabelsLike = None, *, beside: Features = None, pairs: Any = None
    ) -> Self:
        """Add other features of such items, texts beside pictures or a new embedding model beside the old one.

        Nothing changes for the first view: codes and indexes stay valid, and rows of the new view search them.

        Parameters
        ----------
        name : str
            Name of the view, as in ``encode(X, view=name)``.
        X : array-like of shape (n, q)
            Rows of the view, with columns of its own.
        y : array-like of shape (n,), default=None
            Their labels, of the kind that `fit` had.
        beside : array-like of shape (n, p), default=None
            Rows of the first view: row i of X belongs with row i of these. For any fitted or loaded hasher.
        pairs : tuple of two arrays of shape (m,), default=None
            Rows ``pairs[0]`` of X belong with rows ``pairs[1]`` of ``beside``, in place of one by one.
        """
        check_is_fitted(self, "model_")
        view = self._blank_view(name)
        Z = check_features(view, X, reset=True)
        if y is None and beside is None:
            raise InvalidInput(
                "add_view was called with rows alone",
                "labels y of the rows, or rows of the first view that belong with them",
                "Pass y, or beside=X, or both",
            )
        if pairs is not None and beside is None:
            raise InvalidInput("pairs came without beside", "the rows that they number", "Pass beside=X")
        labels = None if y is None else self.labels_as_fitted(y, Z.shape[0])
        rng, table = make_rng(self.random_state), self.model_.table
        if beside is None:
            assert labels is not None
            targets, rows = self._require_table().of(labels, unknown_ok=True), np.flatnonzero(labels.known)
            targets, own = targets[rows], 0.0
        else:
            rows, others = _partners_of(Z, beside, pairs)
            targets = self.decision_function(beside)[others]
            own = 1.0 if labels is None else OWN_PARTNER
        wish = None if labels is None else self._from_labels(y, Z.shape[0], fitted=True).wish
        some = PickedRows(Rows(Z), rows)
        with single_blas_thread(), keep_threads(self.n_jobs):
            columns = prepare_columns(some, rng)
            start = np.sort(rng.choice(len(rows), min(len(rows), START_ROWS), replace=False))
            hidden = HIDDEN if columns.basis is None else 0
            z = columns(some, start)
            network = Network.start(z, columns.sizes, self.n_bits, hidden, rng, toward=targets[start])
            looks = VIEW_LOOKS if labels is not None else 0.0
            opinion = Partners(np.sign(targets).astype(np.float32), rows, wish, own, looks)
            train(Source(columns, some), [opinion], network, Schedule.of(len(rows)), rng, self.n_jobs)
            float_map = NetworkMap(columns, network)
            map_ = float_map.whole()
        doubts = rounding_doubts(float_map, map_, some)
        view._adopt(Model(map_, Seen.of(Rows(Z)), table))
        view.model_id_ = self.model_id_
        codes = view._as_codes(view._encode_rows(some))
        agreement = float((codes.bits() == (targets > 0)).mean())
        view.report_ = FitReport.of(codes, {"bits as in the first view": agreement}, doubts, {})
        for text in view.report_.warnings:
            warn(f"View {name!r}: {text}")
        self.views_[name] = view
        return self

    def _blank_view(self, name: object) -> Self:
        """A copy of this hasher that has seen no rows, to become the view of that name."""
        if self.view_ is not None:
            raise InvalidInput(
                f"add_view was called on view {self.view_!r}",
                "the hasher it belongs to",
                "Call add_view there",
            )
        if not isinstance(name, str) or not VIEW_NAME.fullmatch(name):
            raise InvalidInput(
                f"A view was called {name!r}", "1 to 40 letters, digits, '-' or '_'", "Choose such a name"
            )
        if name not in self.views_ and len(self.views_) >= MOST_VIEWS:
            raise InvalidInput(
                f"The hasher has {MOST_VIEWS} views already",
                "no more than that",
                "Add views to another hasher",
            )
        view = copy.copy(self)
        for gone in (
            "_codes",
            "_trained",
            "_reservoir",
            "feature_names_in_",
            "n_features_in_",
            "report_",
            "views_",
        ):
            view.__dict__.pop(gone, None)
        view.view_ = name
        return view


@dataclass
class Reservoir:
    """A random sample of the rows that `partial_fit` has seen, and their labels as they were given."""

    X: Any
    labels: Labels | None
    n_seen: int = field(default=-1)

    def __post_init__(self) -> None:
        if self.n_seen < 0:
            self.n_seen = self.X.shape[0]

    def followed_by(self, X: Any, labels: Labels | None) -> tuple[Any, Labels | None]:
        """These rows and more, as one."""
        if not self.X.shape[0]:
            return X, labels
        sparse = sp.issparse(self.X) or sp.issparse(X)
        stacked = sp.csr_array(sp.vstack([self.X, X])) if sparse else np.concatenate([self.X, X])
        if self.labels is None and labels is None:
            return stacked, None
        ours = self.labels if self.labels is not None else _unknown_like(labels, self.X.shape[0])
        theirs = labels if labels is not None else _unknown_like(ours, X.shape[0])
        return stacked, ours.followed_by(theirs)

    def with_rows(self, X: Any, labels: Labels | None, rng: Rng) -> Reservoir:
        """A sample of all rows so far, in which every row is as likely."""
        both, known = self.followed_by(X, labels)
        n_old, n_new = self.X.shape[0], X.shape[0]
        n_seen = (self.n_seen if n_old else 0) + n_new
        kept = np.arange(n_old + n_new)
        if len(kept) > RESERVOIR:  # as many old ones as in a sample of all rows so far
            most = 500_000_000  # that NumPy can draw from
            of_old = rng.hypergeometric(min(n_seen - n_new, most), min(n_new, most - 1), RESERVOIR)
            of_old = min(max(int(of_old), RESERVOIR - n_new), n_old)
            old = rng.choice(n_old, of_old, replace=False)
            new = n_old + rng.choice(n_new, RESERVOIR - of_old, replace=False)
            kept = np.sort(np.concatenate([old, new]))
        return Reservoir(both[kept], None if known is None else known[kept], n_seen)


def _unknown_like(labels: Labels | None, n: int) -> Labels:
    assert labels is not None
    if labels.is_tags:
        return Labels(
            labels.names, np.zeros(n, bool), tags=sp.csr_array((n, len(labels.names)), dtype=np.int8)
        )
    return Labels(labels.names, np.zeros(n, bool), classes=np.full(n, -1, np.int64))


def _unread(y: LabelsLike, n: int, kinship: Any) -> Labels | None:
    """Labels as they were given, but for tuples that are paths: these are text then."""
    if y is None or isinstance(y, Labels):
        return y
    given = unwrapped(y)
    if isinstance(kinship, str) and kinship == "tree" and getattr(given, "ndim", 1) == 1:
        given = [_in_text(row) for row in given]
    return read_labels(given, n)


def _in_text(row: Any) -> Any:
    """A tuple as a path in text, alone or in a set."""
    if isinstance(row, set | frozenset | list | np.ndarray):
        return {_in_text(one) for one in row}
    return (SEPARATOR.join(map(str, row)) or None) if isinstance(row, tuple) else row


def _rows_of(X: Any) -> Any:
    """Checked rows in memory."""
    return sp.csr_array(X) if sp.issparse(X) else np.asarray(X)


def _agreement(source: Source, network: Network, examples: Between) -> Nearness:
    """How many bits of two rows agree, less those that differ, for the rows that some examples name, and others."""

    def bits(some: Ints) -> Floats32:
        named, place = np.unique(some, return_inverse=True)
        return np.sign(network.scores(source.columns(source.rows, named))[0])[place]

    return lambda left, right: np.einsum("ij,ij->i", bits(left), bits(right))


def _scores_of(map_: Map, rows: Rows, n_jobs: int | None) -> Floats:
    return map_rows(map_.scores, rows.plain, len(rows), n_jobs)


def _partners_of(Z: Any, beside: Features, pairs: Any) -> tuple[Ints, Ints]:
    """Rows of a view and of the first one that belong together."""
    n, m = Z.shape[0], beside.shape[0] if hasattr(beside, "shape") else len(beside)
    if pairs is None:
        if n != m:
            raise InvalidInput(
                f"X has {n} rows and beside has {m}",
                "rows that belong together, one by one",
                "Pass as many of both, or pairs=(rows of X, rows of beside)",
            )
        return np.arange(n), np.arange(n)
    try:
        left, right = (np.asarray(side) for side in pairs)
    except (TypeError, ValueError):
        left, right = np.empty(0), np.empty(0)
    if (
        left.ndim != 1
        or left.shape != right.shape
        or left.dtype.kind not in "iu"
        or right.dtype.kind not in "iu"
    ):
        raise InvalidInput("pairs are not two lists of row numbers of one length", "such lists", "Check them")
    if not len(left) or left.min() < 0 or left.max() >= n or right.min() < 0 or right.max() >= m:
        raise InvalidInput(
            f"pairs name rows outside 0 to {n - 1} of X, or 0 to {m - 1} of beside, or none at all",
            "row numbers",
            "Count rows from 0",
        )
    return left.astype(np.int64), right.astype(np.int64)


# -- how similar labels are ------------------------------------------------------------------------


def _wish(labels: Labels, kinship: Any) -> Wish:
    """What classes or tags want, by the name or the matrix of ``kinship``."""
    if not isinstance(kinship, str):
        if labels.is_tags:
            raise InvalidInput(
                "A matrix of similarities between classes came with tags", "classes", "Use kinship='graded'"
            )
        assert labels.classes is not None
        return ClassMatrix(labels.classes, _between_classes(kinship, labels))
    if labels.classes is None:
        return Tags(labels.indicator(), labels.known, graded=kinship != "any")
    if kinship == "graded":
        raise InvalidInput(
            "kinship='graded' came with classes",
            "tags, of which two rows can share some; or a K × K matrix between the classes",
            "Leave kinship out, or pass such a matrix",
        )
    return Classes(labels.classes)


def _counted(labels: Labels, counted: Bools | None) -> Labels:
    """The labels of the rows that count; those of others become unknown."""
    if counted is None:
        return labels
    if labels.known.any() and not (labels.known & counted).any():
        raise InvalidInput(
            "All rows with a label have sample_weight 0",
            "labels on some rows of weight above 0",
            "Leave y out, or give labeled rows a weight",
        )
    known = labels.known & counted
    if labels.classes is not None:
        return Labels(labels.names, known, classes=np.where(known, labels.classes, -1))
    tags = sp.csr_array(labels.indicator() * known[:, None].astype(np.int8))
    tags.eliminate_zeros()
    return Labels(labels.names, known, tags=tags)


def _tree(
    y: LabelsLike, n: int, parents: Parents | None, counted: Bools | None = None
) -> tuple[Labels, Wish, int]:
    """Labels named by paths, what their tree wants, and its depth where rows have several paths."""
    labels, levels, shares = read_paths(y, n, parents)
    labels = _counted(labels, counted)
    if len(shares) == 1:
        warn(one_level_warning(labels, parents))
    if labels.classes is not None:
        known = labels.classes >= 0
        nodes = np.where(known[:, None], levels[np.maximum(labels.classes, 0)], -1)
        return labels, Tree(nodes, shares), 0
    tags = sp.csr_array(labels.indicator(), dtype=np.float64)
    return labels, Tags(tags, labels.known), len(shares)


def _check_labels(labels: Labels, wish: Wish) -> None:
    """Refuse labels from which nothing can be learned; warn of those that say little."""
    if len(labels) < 2:
        raise InvalidInput(
            f"There is only one sample (n_samples={len(labels)})",
            "at least two rows, of which some are similar",
            "Pass more rows",
        )
    if not labels.known.any():
        raise InvalidInput(
            f"All {len(labels):,} labels are missing (None, NaN or empty text)",
            "a label on some rows",
            "Leave y out: codes then follow the looks of the rows",
        )
    counts = np.asarray(labels.indicator().sum(axis=0)).ravel()
    n_known = int(labels.known.sum())
    if not counts.any():
        raise InvalidInput(
            "No row has a tag, so no rows are similar",
            "tags on some rows",
            "Check the labels: a row with an empty set is similar to no other row",
        )
    if labels.classes is not None and (counts > 0).sum() < 2:
        raise InvalidInput(
            "The labels have only one class",
            "at least two classes",
            "Pass rows of several classes, or tags, or pairs",
        )
    if labels.is_tags and (counts >= n_known).any() and (counts > 0).sum() == 1:
        raise InvalidInput(
            f"Every row carries tag {labels.names.tolist()[int(counts.argmax())]!r}, so all rows are similar",
            "tags that distinguish some rows",
            "Drop tags that all rows share",
        )
    if counts.max() <= 1 and not isinstance(wish, Tree | ClassMatrix):
        warn(
            "No two rows share a class or a tag, so no rows are similar. Were continuous values passed as labels?"
        )


def _as_matrix(kinship: Any) -> Floats:
    """A dense matrix of numbers."""
    try:
        matrix = np.asarray(kinship, np.float64)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    if matrix.ndim != 2:
        raise InvalidInput(
            f"kinship is a {type(kinship).__name__} that is not a matrix of numbers",
            f"one of {', '.join(KINSHIPS)}, a table of parents, or a K × K matrix between the classes",
            "Pass one of those",
        )
    return matrix


def _between_classes(kinship: Any, labels: Labels) -> Floats:
    """A symmetric matrix (K, K) in [−1, 1] whose diagonal is 1, classes in sorted order."""
    for axis in ("index", "columns"):
        names: Any = getattr(kinship, axis, None)
        sorted_names = labels.names.tolist()
        if hasattr(names, "tolist") and names.tolist() not in (sorted_names, list(range(len(sorted_names)))):
            raise InvalidInput(
                f"The {axis} of kinship does not name the classes in sorted order",
                f"{', '.join(map(str, sorted_names[:5]))}, …",
                "Reorder the frame: kinship.loc[names, names] with names = sorted(classes)",
            )
    matrix, k = _as_matrix(kinship), len(labels.names)
    if matrix.shape != (k, k):
        raise InvalidInput(
            f"kinship has shape {matrix.shape}, and there are {k} classes",
            f"shape ({k}, {k}), classes in sorted order",
            "Pass one row and one column for every class",
        )
    if (
        not (np.abs(matrix) <= 1).all()
        or not np.array_equal(matrix, matrix.T)
        or not (np.diag(matrix) == 1).all()
    ):
        raise InvalidInput(
            "kinship is not symmetric, has entries outside [−1, 1], or a diagonal that is not 1",
            "similarities from −1 (nothing in common) to 1 (the same)",
            "Check the matrix: kinship[i, j] must be kinship[j, i]",
        )
    return matrix
