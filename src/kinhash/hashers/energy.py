"""`EnergyHasher`: energy × solver × encoder; features and penalty are chosen on held-out rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._internal.rows import Rows
from .._internal.types import Features, LabelsLike, Matrix, Numbers, Seed
from .._internal.validation import check_integer, check_number
from ..codes import KIN_ONLY, MAX_WEIGHT, BitLayout, Codes
from ..encoders import ENCODERS, Amortized, Encoder, Evidence, Fitted, mapped_codes
from ..energies import ENERGIES, Energy
from ..errors import InvalidInput, UnknownName
from ..solvers import SOLVERS, Solver
from ..supervision import (
    Kinship,
    Labels,
    MixedSupervision,
    Supervision,
    Training,
    are_paths,
    check_kinship,
    from_kin,
    from_labels,
    from_pairs,
    from_similarity,
    from_triplets,
    read_labels,
    read_paths,
)
from .base import Supervise
from .fit_warnings import held_out_facts
from .parts import Parts
from .stream import StreamPlan
from .streaming import StreamingHasher, require_streamable

__all__ = ["EnergyHasher"]

MOST_ALIKE = 0.95  # some bits must know the labels
HALF = 0.5  # look-alike bits beside labels; with pairs none: bits that start at ITQ already keep looks


class EnergyHasher(StreamingHasher):
    """Learn short binary codes from labels, tags, trees, pairs, clicks, triplets or similarities.

    ``fit`` learns a code for every training row from its labels and its features, and an encoder for new
    rows from features alone. Half of the bits ("kin bits") bring rows of the same label together and count
    three times in a distance; the other half ("look-alike bits") rank those rows by how similar they look.

    Parameters
    ----------
    n_bits : length of the codes, 1 to 1024.
    energy : "ksh", "bre", "splh", "lfh", "exph", or a `kinhash.energies.Energy` object.
    solver : "auto" (spectral; coordinate descent if the energy excludes it; not used with pairs), the name
        of a solver, or an object such as ``kinhash.solvers.Spectral(n_anchors=3000)``, with its settings.
    encoder : "auto" ("expected" with labels; "amortized" with pairs, clicks or triplets; "ridge" otherwise,
        also with labels if the energy is lfh or exph), the name of an encoder, or an object such as
        ``kinhash.encoders.ExpectedLabels(features="plain")``, which encodes two to three times as fast as
        features with similarities to training rows. "ridge" encodes fastest and supports ``partial_fit``.
    kinship : how similar two rows should be: "auto" (classes: the same or not; tags: graded), "graded" (tags:
        the more they share, the more similar), "any" (at least one shared tag, as in the paper), "tree"
        (labels are paths, such as "sport/shoes"), a table {label: its parent}, or a K × K matrix in [−1, 1]
        between the classes in sorted order.
    alike : share of the bits that are look-alike bits, 0 to 0.95. 0 gives all bits to the labels (the paper's
        protocol). "auto" is 0 with pairs, clicks and triplets, whose bits keep looks, and 0.5 otherwise.
    kin_weight : how much a kin bit counts in a distance where a look-alike bit counts 1; 1 to 15. Smaller
        values rank by looks more, which suits items of kinds that had no label in the fit.
    trust : how much the label of a row counts against its features in its code: 1 is labels alone (the
        paper), 0 features alone. With pairs, 0 keeps partners out of the codes of rows that pairs name.
    random_state, n_jobs : as in scikit-learn. The codes do not depend on n_jobs.

    Attributes
    ----------
    codes_ : codes of the training rows, a `kinhash.Codes` of (n, ceil(n_bits / 8)) bytes, learned from their
        labels and features. ``codes_.fields`` says how many kin and look-alike bits there are.
    marginals_ : P(bit = 1) of the training rows, by their labels.
    report_ : what was chosen, dead bits, unique codes, bit balance, seconds per stage.

    Memory beyond X: with expected labels the prepared features of at most 100,000 rows (p·4 bytes each, with
    similarities 4,000 bytes more), otherwise O(n_anchors² + groups·n_bits + p²) and a few blocks of rows.

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

    one_code_per_class = True

    def __init__(
        self,
        n_bits: int = 64,
        *,
        energy: str | Energy = "ksh",
        solver: str | Solver = "auto",
        encoder: str | Encoder = "auto",
        kinship: Kinship = "auto",
        alike: float | Literal["auto"] = "auto",
        kin_weight: int = 3,
        trust: float = 0.4,
        random_state: Seed = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_bits = n_bits
        self.energy = energy
        self.solver = solver
        self.encoder = encoder
        self.kinship = kinship
        self.alike = alike
        self.kin_weight = kin_weight
        self.trust = trust
        self.random_state = random_state
        self.n_jobs = n_jobs

    def check_parameters(self) -> None:
        super().check_parameters()
        if self.alike != "auto":
            check_number("alike", self.alike, 0.0, MOST_ALIKE)
        check_integer("kin_weight", self.kin_weight, 1, MAX_WEIGHT)
        check_number("trust", self.trust, 0.0, 1.0)
        check_kinship(self.kinship)
        if not isinstance(self.energy, Energy) and self.energy not in ENERGIES:
            raise UnknownName.among("energy", self.energy, ENERGIES)
        for name, table, base in (("solver", SOLVERS, Solver), ("encoder", ENCODERS, Encoder)):
            value = getattr(self, name)
            if isinstance(value, str):
                if value not in ("auto", *table):
                    raise UnknownName.among(name, value, ("auto", *table))
            elif not isinstance(value, base):
                raise InvalidInput(
                    f"{name} is {value!r}",
                    f"auto, one of {', '.join(table)}, or a kinhash {base.__name__}",
                    "Pass a name, or an object with its settings",
                )
            else:
                value.check()

    def fit(
        self,
        X: Features,
        y: LabelsLike = None,
        sample_weight: Numbers | None = None,
        alike_to: Features = None,
    ) -> Self:
        """Learn codes from rows X (n, p) and labels y: classes, a 0/1 indicator matrix, or tag sets.

        ``None`` or NaN in place of a label means unknown; see `kinhash.supervision` for all the rules.
        ``sample_weight`` (n,) says how much each row counts. Rows look alike by the cosine of their features,
        or by that of ``alike_to`` (n, any width): embeddings of the pictures, say, where X are those of the
        texts. New rows need only X.
        """
        looks = None
        if alike_to is not None:
            if self.alike == 0:
                raise InvalidInput(
                    "alike_to came with alike=0",
                    "look-alike bits, which alike_to is for",
                    "Leave alike_to out, or set alike=0.5",
                )
            looks = Rows(_check_looks(alike_to, X))
        return self._fit(X, lambda n: from_labels(y, n, self.kinship), sample_weight, y, looks)

    def fit_pairs(
        self,
        X: Features,
        left: Numbers,
        right: Numbers,
        verdict: Numbers | None = None,
        *,
        weight: Numbers | None = None,
        y: LabelsLike = None,
        y_weight: float = 1.0,
    ) -> Self:
        """Learn from pairs of row numbers.

        ``verdict`` is True or 1 for similar rows, False or −1 for others, or a grade in [−1, 1]. Leave it out
        if all pairs are similar, as clicks and duplicates are: then other rows count as dissimilar, unless a
        short path of pairs leads to them. Pairs that are not listed are unknown. ``weight`` says how much a
        pair counts. Labels ``y`` of some rows (None where unknown) may come beside pairs, and count
        ``y_weight`` times as much.

        The map starts at codes that read no pairs (ITQ) and leaves them only as far as held-out pairs gain.
        """
        if verdict is None and weight is not None:
            raise InvalidInput("weight came without verdict", "weights of verdicts", "Pass verdict, too")
        if verdict is None:
            return self._fit_examples(X, lambda n: from_kin(left, right, n), y, y_weight)
        return self._fit_examples(X, lambda n: from_pairs(left, right, verdict, n, weight), y, y_weight)

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
        """Learn from row numbers: each row of ``anchor`` is more similar to ``nearer`` than to ``further``.

        Labels ``y`` of some rows may come beside them, as in `fit_pairs`.
        """
        return self._fit_examples(X, lambda n: from_triplets(anchor, nearer, further, n), y, y_weight)

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

        Dense or sparse; 0 means unknown, the diagonal is ignored, and a pair may be listed in one direction.
        Time and memory grow with what is listed. Labels ``y`` of some rows may come beside them, as in
        `fit_pairs`.
        """
        return self._fit_examples(X, lambda n: from_similarity(S, anchors, n), y, y_weight)

    def _fit_examples(self, X: Features, supervise: Supervise, y: LabelsLike, y_weight: float) -> Self:
        if y is None:
            return self._fit(X, supervise, None)
        check_number("y_weight", y_weight, 0.0, open_low=True)

        def both(n: int) -> Supervision:
            parts = supervise(n), from_labels(y, n, self.kinship)
            return MixedSupervision(parts, (1.0, float(y_weight)), np.random.default_rng(0))

        return self._fit(X, both, None)

    def _learn(self, training: Training) -> Fitted:
        from ..tuning import tune

        parts = self._resolve(training)
        training = parts.suited(training)
        narrow = parts.narrowed(training)
        solution = parts.solve(narrow)
        choice = tune(narrow, parts.encoder, solution)
        kin = choice.encoder.fit(narrow, solution)
        report = {**solution.facts, **kin.facts, **held_out_facts(choice)}
        return parts.joined(training, narrow, kin, report, parts.doubts(narrow, choice, kin.map))

    def _resolve(self, training: Training) -> Parts:
        """The settings as objects; "auto" becomes what suits the supervision."""
        energy, supervision = ENERGIES.make(self.energy), training.supervision
        if self.solver != "auto":
            solver = SOLVERS.make(self.solver)
        elif not supervision.complete:
            solver = SOLVERS["polished"]()
        else:
            solver = SOLVERS["spectral" if _spectral_can(energy, self.n_bits) else "coordinate"]()
        # Energies that solve a system for every row have no readout of whole numbers.
        readable = supervision.labels is not None and energy.shared_quadratic(self.n_bits) is not None
        usual = "expected" if readable else "amortized" if supervision.examples else "ridge"
        encoder = ENCODERS.make(usual if self.encoder == "auto" else self.encoder)
        if isinstance(encoder, Amortized) and encoder.partners == "auto" and self.trust == 0:
            encoder = replace(encoder, partners=0)
        alike = self.alike if self.alike != "auto" else 0.0 if supervision.examples else HALF
        n_alike = min(int(alike * self.n_bits + 1e-9), self.n_bits - 1)  # one bit knows the labels
        fields = BitLayout(n_alike, int(self.kin_weight)) if n_alike else KIN_ONLY
        return Parts(energy, solver, encoder, fields, fields.kin(self.n_bits), float(self.trust))

    def learned_codes(self, y: LabelsLike, X: Features = None, view: str | None = None) -> Codes:
        """Codes of rows with labels y and features X (n, p): where a new or a relabeled item belongs.

        Works after ``fit``, ``partial_fit`` and `kinhash.load`, without a refit. Labels must be among those
        fitted on, or have been added by `add_classes`; a row of unknown label is encoded with `encode`. Rows
        fitted on get their codes of ``codes_`` again (but for look-alike bits by ``alike_to``, which is not
        known here). X may be left out where labels alone decide: with ``trust=1`` and ``alike=0``. ``view``
        says which features X are.
        """
        check_is_fitted(self, "fitted_")
        labels = y if isinstance(y, Labels) else self.labels_as_fitted(y)
        fields = self.fitted_.fields
        own = self if view is None else self.view(view)
        if X is None:
            if self.trust < 1 or fields.alike:
                raise InvalidInput(
                    "learned_codes was called without features",
                    "labels and features, from which codes follow",
                    "Call learned_codes(y, X), or fit with trust=1 and alike=0",
                )
            n_features = own.fitted_.map.n_features
            rows = Rows(np.broadcast_to(np.zeros(n_features), (len(labels), n_features)))
        else:
            rows = Rows(own._checked(X))
        if len(rows) != len(labels):
            raise InvalidInput(
                f"{len(labels)} labels came with {len(rows)} rows", "one label per row", "Pass both"
            )
        packed = mapped_codes(own.fitted_.map, rows, self.n_jobs, self._evidence(labels))
        return own._as_codes(packed, learned=True)

    def labels_as_fitted(self, y: LabelsLike, n_rows: int | None = None) -> Labels:
        """Labels with the names of the fit: tags of a tree carry the nodes above them."""
        known, kinship = self.fitted_.labels, self.kinship
        parents = kinship if isinstance(kinship, Mapping) else None
        if parents is None and not (isinstance(kinship, str) and kinship == "tree"):
            return read_labels(y, n_rows)
        if known is not None and known.table is not None and not are_paths(y):
            return read_labels(y, n_rows)  # classes whose parents were in a table keep their names
        return read_paths(y, n_rows, parents, 0 if known is None else known.n_levels)[0]

    def _evidence(self, labels: Labels) -> Evidence:
        """What labels say, after ``fit``, ``load`` or ``partial_fit``."""
        known, map_ = self.fitted_.labels, self.fitted_.map
        if known is not None:
            return known.evidence(labels, map_, self.fitted_.fields.kin(map_.n_bits), float(self.trust))
        scores = self.streamed_scores(labels)
        return Evidence(scores, np.arange(len(labels)), float(self.trust))

    def add_classes(self, X: Features, y: LabelsLike) -> Self:
        """Add classes that arrive after the fit, so that `learned_codes` knows them.

        A new class gets the mean kin scores of its rows X (n, p); twenty rows are enough. Everything else
        stays as it is: the codes of other classes, `encode`, and the id of the model, so that an index goes
        on. A new fit with all rows does better, and changes every code.
        """
        check_is_fitted(self, "fitted_")
        known, labels = self.fitted_.labels, self.labels_as_fitted(y)
        if known is None:
            raise InvalidInput(
                "The model has no codes of classes to add to", "a model fitted on classes", "Fit on classes"
            )
        scores = self.decision_function(X)
        if len(scores) != len(labels):
            raise InvalidInput(
                f"{len(labels)} labels came with {len(scores)} rows", "one label per row", "Pass both"
            )
        kin = scores[:, : scores.shape[1] - self.fitted_.fields.alike]
        self.fitted_ = replace(self.fitted_, labels=known.with_classes(labels, kin))
        return self

    def stream_plan(self) -> StreamPlan:
        from ..encoders import Ridge

        solver = None if self.solver == "auto" else SOLVERS.make(self.solver)
        encoder = None if self.encoder == "auto" else ENCODERS.make(self.encoder)
        require_streamable(
            {
                "encoder='ridge'": isinstance(encoder, Ridge),
                "a named solver instead of 'auto'": solver is not None,
                "solver=Spectral(rotation='codes')": getattr(solver, "rotation", "codes") == "codes",
                "alike=0": self.alike == 0,
                "kinship by name": isinstance(self.kinship, str),
                "rounding other than 'median'": getattr(solver, "rounding", "zero") != "median",
            }
        )
        assert isinstance(solver, Solver)
        assert isinstance(encoder, Ridge)
        return StreamPlan(ENERGIES.make(self.energy), solver, encoder, self.n_bits, str(self.kinship))


def _check_looks(looks: Features, X: Features) -> Matrix:
    """The columns that say who looks alike: finite numbers, a row for each row of X."""
    from sklearn.utils.validation import check_array

    try:
        looks = check_array(looks, accept_sparse="csr", input_name="alike_to")
    except ValueError as problem:
        raise InvalidInput(
            f"alike_to cannot be used: {problem}", "a matrix of finite numbers", "Check it"
        ) from problem
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if looks.shape[0] != n_rows:
        raise InvalidInput(
            f"alike_to has {looks.shape[0]} rows and X has {n_rows}", "one row per row of X", "Pass both"
        )
    return looks


def _spectral_can(energy: Energy, n_bits: int) -> bool:
    """Whether the spectral solver treats that energy."""
    try:
        SOLVERS["spectral"]().refuse(energy, n_bits)
    except InvalidInput:
        return False
    return True
