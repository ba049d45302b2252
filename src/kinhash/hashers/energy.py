"""`EnergyHasher`: energy × solver × encoder; features and penalty are chosen on held-out rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._check import check_features, check_integer, check_number
from ..codes import Codes, pack_bits, unpack_bits
from ..encoders import ENCODERS, Encoder, Fitted
from ..encoders.mapped_codes import Evidence, mapped_codes
from ..energies import ENERGIES, Energy
from ..errors import InvalidInput, UnknownName
from ..fields import KIN_ONLY, MAX_WEIGHT, Fields
from ..labels import Labels, read_labels
from ..models import Map, Seen
from ..rows import Rows
from ..solvers import SOLVERS, Solution, Solver
from ..supervision import PairSupervision, TagSupervision, check_kinship, from_labels
from ..training import Training
from .fit_checks import share_of_mapped, weak_labels, weak_pairs
from .streaming import StreamingHasher, StreamPlan, require_streamable

__all__ = ["EnergyHasher"]

MOST_ALIKE = 0.95  # some bits must know the labels


class EnergyHasher(StreamingHasher):
    """Learn short binary codes from labels, tags, pairs or similarities.

    ``fit`` learns a code for every training row from its labels and its features, and an encoder for new
    rows from features alone. Half of the bits ("kin bits") bring rows of the same label together and count
    three times in a distance; the other half ("look-alike bits") rank those rows by how similar they look.

    Parameters
    ----------
    n_bits : length of the codes, 1 to 1024.
    energy : "ksh", "bre", "splh", "lfh", "exph", or a `kinhash.energies.Energy` object.
    solver : "auto" (spectral; coordinate descent if the energy excludes it or only pairs are known), the name
        of a solver, or an object such as ``kinhash.solvers.Spectral(n_anchors=3000)``, with its settings.
    encoder : "auto" ("expected" with labels; "ridge" without, and with the energies lfh and exph), the name
        of an encoder, or an object such as
        ``kinhash.encoders.ExpectedLabels(features="plain")``, which encodes two to three times as fast as
        features with similarities to training rows. "ridge" encodes fastest and supports ``partial_fit``.
    kinship : how similar two rows should be: "auto" (classes: the same or not; tags: graded), "graded" (tags:
        the more they share, the more similar), "any" (at least one shared tag, as in the paper), or a K × K
        matrix in [−1, 1] between the classes in sorted order.
    alike : share of the bits that are look-alike bits, 0 to 0.95. 0 gives all bits to the labels (the paper's
        protocol).
    kin_weight : how much a kin bit counts in a distance where a look-alike bit counts 1; 1 to 15. Smaller
        values rank by looks more, which suits items of kinds that had no label in the fit.
    trust : how much the label of a row counts against its features in its code: 1 is labels alone (the
        paper), 0 features alone.
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
        kinship: Any = "auto",
        alike: float = 0.5,
        kin_weight: int = 3,
        trust: float = 0.4,
        random_state: Any = None,
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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, alike_to: Any = None) -> Self:
        """Learn codes from rows X (n, p) and labels y: classes, a 0/1 indicator matrix, or tag sets.

        ``None`` or NaN in place of a label means unknown; see `kinhash.labels` for all the rules.
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

    def _learn(self, training: Training) -> Fitted:
        from ..encoders.narrow import narrowed, widened

        fields, looks = self._fields(), None
        narrow = narrowed(training) if self._uses_columns() else training
        found = self._learn_kin(narrow, fields.kin(self.n_bits))
        found = replace(found, map=widened(found.map, narrow.rows))
        if fields.alike:
            with training.stages("look-alike bits"):
                found, looks = with_alike_bits(found, fields, narrow)
        found = self._rounded(found, training)
        with training.stages("training codes"):
            found = self._with_codes(found, training, looks)
        return replace(found, mapped_share=share_of_mapped(found, training))

    def _fields(self) -> Fields:
        """Kin bits and look-alike bits; at least one bit knows the labels."""
        n_alike = min(int(self.alike * self.n_bits + 1e-9), self.n_bits - 1)
        return Fields(n_alike, int(self.kin_weight)) if n_alike else KIN_ONLY

    def _learn_kin(self, training: Training, n_bits: int) -> Fitted:
        """Solve, choose what the encoder leaves open, learn the map, and check that supervision helps."""
        from ..tuning import tune

        energy, (solver, encoder) = ENERGIES.make(self.energy), self._parts(training)

        def solve(part: Training) -> Solution:
            return solver.solve(part.supervision, energy, n_bits, part.rng, part.weights)

        with training.stages("solver"):
            solution = solve(training)
        choice = tune(training, encoder)
        kin = choice.encoder.fit(training, solution)
        if training.supervision.labels is not None:
            doubts = weak_labels(training, choice)
        else:
            with training.stages("held-out pairs"):
                listed = isinstance(training.supervision, PairSupervision)
                again = (
                    (lambda part: encoder.fit(part, solve(part)).map) if listed else (lambda part: kin.map)
                )
                doubts = weak_pairs(training, again, n_bits)
        facts = {"energy": solution.minimum.energies, **kin.facts}
        if solution.minimum.divergences:
            facts["divergence"] = solution.minimum.divergences
        return replace(kin, facts=facts, warnings=doubts)

    def _rounded(self, found: Fitted, training: Training) -> Fitted:
        """The same with a map of whole numbers, and with what labels alone say about kin bits."""
        from ..encoders.label_codes import label_codes, scores_of_tags

        found = replace(found, seen=Seen.of(training.rows, training.weights)).whole()
        labels = label_codes(found, training)
        if labels is not None and labels.table is None:  # tag sets go through the rounded map
            assert isinstance(training.supervision, TagSupervision)
            scores = scores_of_tags(found.map, training.supervision.tag_sets, found.fields.kin(self.n_bits))
            found = replace(found, scores=scores.astype(np.float32))
        return replace(found, labels=labels)

    def _with_codes(self, found: Fitted, training: Training, looks: Map | None) -> Fitted:
        """The same with codes of the training rows, which follow from labels and features.

        ``looks`` gives look-alike bits of rows whose looks are not their features.
        """
        rows, n_kin = training.rows, found.fields.kin(found.map.n_bits)
        evidence = None
        if found.codes is not None and found.scores is not None:
            assert found.group_of_row is not None
            if self.trust == 1 and not found.fields.alike and (found.group_of_row >= 0).all():
                return replace(found, codes=pack_bits(found.scores > 0)[found.group_of_row])
            evidence = Evidence(found.scores, found.group_of_row, float(self.trust))
        elif not found.fields.alike:
            return found
        codes = mapped_codes(found.map, rows, training.n_jobs, evidence)
        if looks is not None:
            assert training.looks is not None
            alike = mapped_codes(looks, training.looks, training.n_jobs)
            bits = [unpack_bits(codes, found.map.n_bits)[:, :n_kin], unpack_bits(alike, looks.n_bits)]
            codes = pack_bits(np.concatenate(bits, axis=1))
        return replace(found, codes=codes)

    def _uses_columns(self) -> bool:
        """Whether what is learned is linear in the columns, so that a fit may narrow them."""
        if isinstance(self.encoder, str):
            return self.encoder in ("auto", "expected", "ridge")
        from ..encoders.expected_labels import ExpectedLabels
        from ..encoders.features import Plain
        from ..encoders.ridge import Ridge

        features = getattr(self.encoder, "features", None)
        plain = features in ("auto", "plain") if isinstance(features, str) else isinstance(features, Plain)
        ours = isinstance(self.encoder, ExpectedLabels | Ridge)
        return ours and plain and isinstance(getattr(self.encoder, "label_model", ""), str)

    def learned_codes(self, y: Any, X: Any = None) -> Codes:
        """Codes of rows with labels y and features X (n, p): where a new or a relabeled item belongs.

        Works after ``fit``, ``partial_fit`` and `kinhash.load`, without a refit. Labels must be among those
        fitted on, or have been added by `add_classes`; a row of unknown label is encoded with `encode`. Rows
        fitted on get their codes of ``codes_`` again (but for look-alike bits by ``alike_to``, which is not
        known here). X may be left out where labels alone decide: with ``trust=1`` and ``alike=0``.
        """
        check_is_fitted(self, "fitted_")
        labels, fields = read_labels(y), self.fitted_.fields
        if X is None:
            if self.trust < 1 or fields.alike:
                raise InvalidInput(
                    "learned_codes was called without features",
                    "labels and features, from which codes follow",
                    "Call learned_codes(y, X), or fit with trust=1 and alike=0",
                )
            n_features = self.fitted_.map.n_features
            rows = Rows(np.broadcast_to(np.zeros(n_features), (len(labels), n_features)))
        else:
            rows = Rows(check_features(self, X, reset=False))
        if len(rows) != len(labels):
            raise InvalidInput(
                f"{len(labels)} labels came with {len(rows)} rows", "one label per row", "Pass both"
            )
        packed = mapped_codes(self.fitted_.map, rows, self.n_jobs, self._evidence(labels))
        return self._as_codes(packed, learned=True)

    def _evidence(self, labels: Labels) -> Evidence:
        """What labels say, after ``fit``, ``load`` or ``partial_fit``."""
        known, map_ = self.fitted_.labels, self.fitted_.map
        if known is not None:
            return known.evidence(labels, map_, self.fitted_.fields.kin(map_.n_bits), float(self.trust))
        scores = self.streamed_scores(labels)
        return Evidence(scores, np.arange(len(labels)), float(self.trust))

    def add_classes(self, X: Any, y: Any) -> Self:
        """Add classes that arrive after the fit, so that `learned_codes` knows them.

        A new class gets the mean kin scores of its rows X (n, p); twenty rows are enough. Everything else
        stays as it is: the codes of other classes, `encode`, and the id of the model, so that an index goes
        on. A new fit with all rows does better, and changes every code.
        """
        check_is_fitted(self, "fitted_")
        known, labels = self.fitted_.labels, read_labels(y)
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

    def _parts(self, training: Training) -> tuple[Solver, Encoder]:
        """Solver and encoder as objects; "auto" becomes what suits the supervision."""
        energy, supervision = ENERGIES.make(self.energy), training.supervision
        if self.solver != "auto":
            solver = SOLVERS.make(self.solver)
        elif not supervision.complete:
            solver = SOLVERS["polished"]()
        else:
            solver = SOLVERS["spectral" if _spectral_can(energy, self.n_bits) else "coordinate"]()
        # Energies that solve a system for every row have no readout of whole numbers.
        readable = supervision.labels is not None and energy.shared_quadratic(self.n_bits) is not None
        usual = "expected" if readable else "ridge"
        return solver, ENCODERS.make(usual if self.encoder == "auto" else self.encoder)

    def stream_plan(self) -> StreamPlan:
        from ..encoders.ridge import Ridge

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
        return StreamPlan(ENERGIES.make(self.energy), solver, encoder, self.n_bits, self.kinship)


def with_alike_bits(kin: Fitted, fields: Fields, training: Training) -> tuple[Fitted, Map | None]:
    """Kin bits, then look-alike bits; and the map of rows given by their looks, if these are no features.

    ``training`` has narrow rows where there are too many columns.
    """
    from ..encoders.alike import fit_alike
    from ..encoders.narrow import widened
    from ..encoders.stacked import StackedMap

    found = fit_alike(training, fields.alike)
    both = StackedMap((kin.map, widened(found.features, training.rows)))
    facts = {**kin.facts, "kin_bits": kin.map.n_bits, "alike_bits": fields.alike}
    facts |= {"kin_weight": fields.kin_weight, "alike_weight": fields.alike_weight}
    looks = None if training.looks is None else found.looks.whole()
    return replace(kin, map=both, facts=facts, fields=fields), looks


def _check_looks(looks: Any, X: Any) -> Any:
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
