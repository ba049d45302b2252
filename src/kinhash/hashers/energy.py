"""`EnergyHasher`: energy × solver × encoder, with what is left open chosen on held-out rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..codes import Codes, pack_bits, unpack_bits
from ..encoders import ENCODERS, Encoder, Fitted, Map
from ..encoders.mapped_codes import mapped_codes
from ..energies import ENERGIES, Energy
from ..errors import InvalidInput, UnknownName
from ..fields import Fields
from ..labels import read_labels
from ..rows import Rows
from ..solvers import SOLVERS, Solver
from ..supervision import from_labels
from ..training import Training
from .streaming import StreamingHasher, StreamPlan, require_streamable

if TYPE_CHECKING:
    from ..tuning import Wish

__all__ = ["EnergyHasher"]


class EnergyHasher(StreamingHasher):
    """Learn short binary codes from labels, tags, pairs or similarities.

    ``fit`` learns a code for every training row from who is kin, and an encoder for new rows from their
    features. With the defaults the codes come from the spectral solver, new rows are encoded by the same
    energy with the supervision a label model expects for them, and the few open settings are chosen on
    rows held out inside ``fit``.

    Parameters
    ----------
    n_bits : length of the codes, 1 to 1024.
    energy : "ksh", "bre", "splh", "lfh", "exph", or any `kinhash.energies.Energy` of your own.
    solver : "auto" (spectral; coordinate descent where the energy excludes it, and after a few sweeps of
        means where only pairs are known, or where it serves held-out rows of few tag sets better), the name
        of a solver, or an object such as ``kinhash.solvers.Spectral(n_anchors=3000)``, with its settings.
    encoder : "auto" ("expected" where there are labels, else "ridge"), the name of an encoder, or an object
        such as ``kinhash.encoders.ExpectedLabels(features="plain")``, which encodes two to three times as
        fast where the default takes similarities to training rows. "expected" is the best on labels like
        those trained on; "ridge" encodes fastest and supports ``partial_fit``. Where the rows to be searched
        come after the fit, ``ExpectedLabels(database="later")`` chooses for that.
    alike : how many bits say what a row looks like, so that the nearest kin come first. "auto" finds on
        held-out rows how few kin bits know the labels about as well as all of them, and gives the rest to
        looks; 0 is kinship alone (the paper's protocol); a share of the bits fixes their number.
    kin_weight : how many alike bits one kin bit counts in a distance, 1 to 15, or "auto", chosen likewise.
        Kinds never labelled are served best by 1, with ``alike=0.5`` and ``encoder="ridge"``.
    random_state, n_jobs, verbose : as in scikit-learn. The codes do not depend on n_jobs.

    Attributes
    ----------
    codes_ : learned codes of the training rows, a `kinhash.Codes` of (n, ceil(n_bits / 8)) bytes: kin bits
        from their labels, alike bits from their features. ``codes_.fields`` says how many there are of each.
    marginals_ : P(bit = 1) of the training rows.
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
        alike: str | float = "auto",
        kin_weight: str | int = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_bits = n_bits
        self.energy = energy
        self.solver = solver
        self.encoder = encoder
        self.alike = alike
        self.kin_weight = kin_weight
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def check_parameters(self) -> None:
        super().check_parameters()
        self._wish().check()
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
                    "bits that can say who looks alike",
                    "Leave alike_to out, or set alike='auto'",
                )
            looks = Rows(_check_looks(alike_to, X))
        return self._fit(X, lambda n: from_labels(y, n), sample_weight, y, looks)

    def _learn(self, training: Training) -> Fitted:
        from ..encoders.alike import Looks
        from ..encoders.label_codes import label_codes
        from ..encoders.narrow import narrowed, widened
        from ..tuning import tune

        narrow = narrowed(training) if self._uses_columns() else training
        solver, encoder = self._parts(narrow)
        energy, any_solver = ENERGIES.make(self.energy), self.solver == "auto"
        chosen = tune(narrow, energy, self.n_bits, solver, encoder, self._wish(), any_solver=any_solver)
        kin = chosen.fit(narrow)
        kin = replace(kin, map=widened(kin.map, narrow.rows), labels=label_codes(kin, narrow))
        if not chosen.fields.alike:
            return kin
        with training.stages("alike bits"):
            alike = Looks.of(narrow, chosen.fields.alike).maps(chosen.fields.alike)
            features = widened(alike.features, narrow.rows)
            looks = features if training.looks is None else alike.looks
            return with_alike_bits(kin, features, looks, chosen.fields, training)

    def _wish(self) -> Wish:
        from ..tuning import Wish

        return Wish(self.alike, self.kin_weight)

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
        """Learned codes of rows with labels y: where a new or a relabelled item belongs, without a refit.

        Kin bits come from the labels, alike bits from the features X (n, p), which codes with such bits need.
        Works after ``fit``, ``partial_fit`` and `kinhash.load`. Labels must be among those fitted on, or have
        got a code by `add_classes`; a row of unknown label is encoded with `encode`. Rows fitted on get their
        codes of ``codes_`` again.
        """
        from ..encoders.stacked import StackedMap

        check_is_fitted(self, "fitted_")
        known, fields = self.fitted_.labels, self.fitted_.fields
        if known is None:
            return super().learned_codes(y)
        labels, map_ = read_labels(y), self.fitted_.map
        if not fields.alike:
            return self._as_codes(pack_bits(known.bits(labels, map_)), learned=True)
        if X is None:
            raise InvalidInput(
                f"learned_codes was asked for codes with {fields.alike} alike bits from labels alone",
                "labels and features: alike bits say what a row looks like",
                "Call learned_codes(y, X), or fit with alike=0",
            )
        mapped = self.encode(X)
        if len(mapped) != len(labels):
            raise InvalidInput(
                f"{len(labels)} labels came with {len(mapped)} rows", "one label per row", "Pass both"
            )
        assert isinstance(map_, StackedMap)
        kin = known.bits(labels, map_.parts[0])
        bits = np.concatenate([kin, mapped.bits()[:, kin.shape[1] :]], axis=1)
        return self._as_codes(pack_bits(bits), learned=True)

    def add_classes(self, X: Any, y: Any) -> Self:
        """Give classes that arrive after the fit codes of their own, which `learned_codes` then knows.

        A new class gets the kin bits that most of its rows X (n, p) are mapped to, or the nearest ones that
        no class has. Twenty rows do. Everything else stays as it is: the codes of other classes, `encode`,
        and the id of the model, so that an index goes on. On digits (64 bits, six classes in turn left out of
        the fit), queries of the new class have mAP .57 when its rows get this code instead of mapped ones
        (.48), other queries .97 (.96). A new fit with all rows does better still, and changes every code.
        """
        check_is_fitted(self, "fitted_")
        known, labels = self.fitted_.labels, read_labels(y)
        if known is None:
            raise InvalidInput(
                "The model has no codes of classes to add to", "a model fitted on classes", "Fit on classes"
            )
        mapped = self.encode(X).bits()
        if len(mapped) != len(labels):
            raise InvalidInput(
                f"{len(labels)} labels came with {len(mapped)} rows", "one label per row", "Pass both"
            )
        kin = mapped.shape[1] - self.fitted_.fields.alike
        self.fitted_ = replace(self.fitted_, labels=known.with_classes(labels, mapped[:, :kin].astype(bool)))
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
        usual = "ridge" if supervision.labels is None else "expected"
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
                "rounding other than 'median'": getattr(solver, "rounding", "zero") != "median",
            }
        )
        assert isinstance(solver, Solver)
        assert isinstance(encoder, Ridge)
        return StreamPlan(ENERGIES.make(self.energy), solver, encoder, self.n_bits)


def with_alike_bits(kin: Fitted, alike: Map, by_looks: Map, fields: Fields, training: Training) -> Fitted:
    """Kin bits, then alike bits: a map of both, and the codes of the training rows.

    ``by_looks`` gives the alike bits of training rows, whose looks are known, ``alike`` those of any row.
    """
    from ..encoders.stacked import StackedMap

    rows, looks, n_jobs = training.rows, training.looks, training.n_jobs
    codes = mapped_codes(kin.map, rows, n_jobs) if kin.codes is None else kin.codes
    looking = mapped_codes(by_looks, rows if looks is None else looks, n_jobs)
    bits = [unpack_bits(codes, kin.map.n_bits), unpack_bits(looking, fields.alike)]
    facts = {**kin.facts, "kin_bits": kin.map.n_bits, "alike_bits": fields.alike}
    facts |= {"kin_weight": fields.kin_weight, "alike_weight": fields.alike_weight}
    return replace(
        kin,
        map=StackedMap((kin.map, alike)),
        codes=pack_bits(np.concatenate(bits, axis=1)),
        facts=facts,
        fields=fields,
    )


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
