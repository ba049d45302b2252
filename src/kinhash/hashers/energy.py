"""`EnergyHasher`: energy × solver × encoder, with what is left open chosen on held-out rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._check import check_flag
from ..codes import pack_bits, unpack_bits
from ..encoders import ENCODERS, Encoder, Fitted
from ..energies import ENERGIES, Energy
from ..errors import InvalidInput, UnknownName
from ..solvers import SOLVERS, Solver
from ..training import Training
from .streaming import StreamingHasher, StreamPlan, require_streamable

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
        means where only pairs are known), the name of a solver, or an object such as
        ``kinhash.solvers.Spectral(n_anchors=3000)``, which holds its settings.
    encoder : "auto" ("expected" where there are labels, else "ridge"), the name of an encoder, or an object
        such as ``kinhash.encoders.ExpectedLabels(features="rbf")``. "expected" is the best on labels like
        those trained on; "ridge" encodes fastest and supports ``partial_fit``.
    open_set : False gives the best codes for labels like those trained on. Use True if items of kinds never
        labelled will be searched, too: five bits in sixteen then come from ridge onto the codes (on RBF
        features, unless the encoder was given others or rows are mostly zeros), one in sixteen from the
        features alone; neither squeezes a row through the known labels. Shares are rounded down: at 8 bits
        there are two and none.
    random_state, n_jobs, verbose : as in scikit-learn. The codes do not depend on n_jobs.

    Attributes
    ----------
    codes_ : learned codes of the training rows, a `kinhash.Codes` of (n, ceil(n_bits / 8)) bytes.
    marginals_ : P(bit = 1) of the training rows.
    report_ : what was chosen, dead bits, unique codes, bit balance, seconds per stage.

    Memory beyond X: with expected labels the prepared features of at most 100,000 rows (p·4 bytes each, 4,000
    bytes with RBF features), otherwise O(n_anchors² + groups·n_bits + p²) and a few blocks of rows.

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
        open_set: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_bits = n_bits
        self.energy = energy
        self.solver = solver
        self.encoder = encoder
        self.open_set = open_set
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def check_parameters(self) -> None:
        super().check_parameters()
        check_flag("open_set", self.open_set)
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

    def _learn(self, training: Training) -> Fitted:
        from ..encoders.narrow import narrowed, widened
        from ..tuning import tune

        wide = training.rows
        if self._uses_columns():
            training = narrowed(training)
        parts = []
        for part, n_bits in share_bits(self.n_bits, OPEN_SET_MIX if self.open_set else DEFAULT_MIX):
            solver, encoder = self._parts(training, n_bits, part)
            chosen = tune(training, ENERGIES.make(self.energy), n_bits, solver, encoder)
            found = chosen.fit(training)
            parts.append(replace(found, map=widened(found.map, training.rows)))
        training = replace(training, rows=wide)
        return parts[0] if len(parts) == 1 else side_by_side(parts, training)

    def _uses_columns(self) -> bool:
        """Whether what is learned is linear in the columns, so that a fit may narrow them."""
        if isinstance(self.encoder, str):
            return self.encoder in ("auto", "expected", "ridge", "principal")
        from ..encoders.expected_labels import ExpectedLabels
        from ..encoders.features import Plain
        from ..encoders.principal import Principal
        from ..encoders.ridge import Ridge

        features = getattr(self.encoder, "features", None)
        plain = features in ("auto", "plain") if isinstance(features, str) else isinstance(features, Plain)
        ours = isinstance(self.encoder, ExpectedLabels | Ridge | Principal)
        return ours and plain and isinstance(getattr(self.encoder, "label_model", ""), str)

    def _parts(self, training: Training, n_bits: int, part: str) -> tuple[Solver, Encoder]:
        """Solver and encoder as objects; "auto" becomes what suits the supervision."""
        energy = ENERGIES.make(self.energy)
        supervision = training.supervision
        if self.solver != "auto":
            solver = SOLVERS.make(self.solver)
        elif not supervision.complete:
            solver = SOLVERS["polished"]()
        else:
            solver = SOLVERS["spectral" if _spectral_can(energy, n_bits) else "coordinate"]()
        if part == "features":
            return solver, ENCODERS["principal"]()
        usual = "ridge" if supervision.labels is None else "expected"
        encoder = ENCODERS.make(usual if self.encoder == "auto" else self.encoder)
        if part == "ridge":
            given = "auto" if self.encoder == "auto" else getattr(encoder, "features", "auto")
            automatic = "plain" if training.rows.mostly_zero() else "rbf"
            return solver, ENCODERS["ridge"](features=automatic if given == "auto" else given)
        return solver, encoder

    def stream_plan(self) -> StreamPlan:
        from ..encoders.ridge import Ridge

        solver = None if self.solver == "auto" else SOLVERS.make(self.solver)
        encoder = None if self.encoder == "auto" else ENCODERS.make(self.encoder)
        require_streamable(
            {
                "encoder='ridge'": isinstance(encoder, Ridge),
                "a named solver instead of 'auto'": solver is not None,
                "solver=Spectral(rotation='codes')": getattr(solver, "rotation", "codes") == "codes",
                "open_set=False": not self.open_set,
                "rounding other than 'median'": getattr(solver, "rounding", "zero") != "median",
            }
        )
        assert isinstance(solver, Solver)
        assert isinstance(encoder, Ridge)
        return StreamPlan(ENERGIES.make(self.energy), solver, encoder, self.n_bits)


# Which encoders share the bits of a code, and in what proportion.
DEFAULT_MIX = (("encoder", 1.0),)
OPEN_SET_MIX = (("encoder", 0.625), ("ridge", 0.3125), ("features", 0.0625))


def share_bits(n_bits: int, mix: tuple[tuple[str, float], ...]) -> list[tuple[str, int]]:
    """Bits of each part; shares that round to nothing drop out, the first part takes the remainder."""
    counts = [int(share * n_bits) for _, share in mix]
    counts[0] += n_bits - sum(counts)
    return [(kind, count) for (kind, _), count in zip(mix, counts, strict=True) if count]


def side_by_side(parts: list[Fitted], training: Training) -> Fitted:
    """Maps side by side, and the learned codes of the training rows to go with them.

    Bits that no label decides are those of the map.
    """
    from ..encoders.stacked import StackedMap
    from .base import mapped_codes

    bits = []
    for part in parts:
        codes = mapped_codes(part.map, training.rows, training.n_jobs) if part.codes is None else part.codes
        bits.append(unpack_bits(codes, part.map.n_bits))
    facts: dict[str, Any] = {}
    for part in reversed(parts):
        facts |= part.facts
    if any(part.facts.get("features") == "rbf" for part in parts):
        facts["features"] = "rbf"  # such a map holds training rows: whoever asks must hear of it
    stacked = StackedMap(tuple(part.map for part in parts))
    group = training.supervision.group_of_row
    marginals = None
    if all(part.marginals is not None for part in parts):
        marginals = np.concatenate([part.marginals for part in parts if part.marginals is not None], axis=1)
    return Fitted(stacked, pack_bits(np.concatenate(bits, axis=1)), group, marginals, facts)


def _spectral_can(energy: Energy, n_bits: int) -> bool:
    """Whether the spectral solver treats that energy."""
    try:
        SOLVERS["spectral"]().refuse(energy, n_bits)
    except InvalidInput:
        return False
    return True
