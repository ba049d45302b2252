"""The product: codes learned from labels, with the best recipe we know as defaults."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ._check import check_choice, check_integer, check_number
from ._hasher import Learned, Training
from .codes import pack_bits
from .energies import ENERGIES, Energy
from .errors import InvalidInput, KinhashWarning, UnknownName
from .learning.settings import Part, Settings
from .learning.streaming import StreamingHasher, StreamPlan, require_streamable

__all__ = ["EnergyHasher"]

# Which maps share the bits of a code, and in what proportion.
DEFAULT_MIX = (("expected", 1.0),)
OPEN_SET_MIX = (("expected", 0.625), ("ridge", 0.3125), ("features", 0.0625))

PRESETS = ("paper", "paper-literal")
MAP_NAMES = ("expected", "linear", "rbf")
SOLVER_NAMES = ("auto", "columns", "coordinate", "linearised", "mean_field", "spectral")


class EnergyHasher(StreamingHasher):
    """Learn short binary codes from labels, tags, pairs or similarities.

    ``fit`` learns a code for every training row from who is kin, and a map that encodes new rows from their
    features. With the defaults the codes come from the spectral solver, new rows are encoded by the same
    energy with the supervision a label model expects for them, and the few open settings are chosen on
    rows split off inside ``fit``.

    Parameters
    ----------
    n_bits : length of the codes, 1 to 1024.
    energy : "ksh", "bre", "splh", "lfh", "exph", or any `kinhash.energies.Energy` of your own.
    solver : "auto" (spectral, with settings chosen on held-out rows; coordinate where the energy, the
        supervision or other parameters exclude it), "spectral", "coordinate", "linearised", "mean_field",
        "columns" (energies without a quadratic term), or a `kinhash.inference.Solver` of your own making.
    preset : None, or "paper" (EM-KSH as we read it) or "paper-literal" (Algorithm 1 to the letter, which
        collapses: docs/method.md has the numbers). A preset overrules solver, sweeps, map, targets,
        rounding and open_set.
    targets : "auto" (= "mean"), "given", "mean", "balanced" or "centred"; see `kinhash.inference.targets`.
    curvature : factor on the energy's quadratic term (coordinate, linearised, mean_field).
    lean : weight of the pull towards what the features predict (coordinate solver); 0.03 to 0.1 is usual.
    rotation : "map" or "codes": what the spectral rotation is fitted on.
    n_anchors : rows sampled as columns of S; where there are fewer distinct labels, all rows count.
    anchors : row numbers to use as the sample instead.
    n_sweeps, clip, renormalise : of the sweeping solvers; clip must stay below 2.5997.
    rounding : "zero" keeps how popular an item's labels are; "mean" (the paper), "median", "half".
    map : "expected", "linear", "rbf", or a scikit-learn regressor. "expected" is the best on labels like
        those trained on; "linear" encodes fastest and supports ``partial_fit``. Without labels (pairs,
        similarities) "expected" regresses S itself, which for a linear readout is the linear map.
    label_model : of map="expected": "logistic", "ridge", or a scikit-learn classifier with predict_proba.
    label_penalty : ridge penalty of the label model; None chooses it on held-out rows (solver="auto"), by
        generalised cross-validation (label_model="ridge"), or takes 1.
    alpha : penalty of ridge maps: a number, "auto" (= n/p) or "gcv".
    features : "plain"; "rbf" for similarities to ``n_centers`` training rows of width ``rbf_width`` (rows are
        brought to unit length first); or "auto": whichever is better on held-out rows, where solver="auto"
        and map="expected" choose there anyway, else "plain". map="rbf" means map="linear" with
        features="rbf".
    n_centers : None is 1,000, and with map="expected" up to 1,500 where there are only as many rows.
    standardize : bring every column to mean 0 and deviation 1 (training rows).
    open_set : False gives the best codes for labels like those trained on. Use True if items of kinds never
        labelled will be searched, too: five bits in sixteen then come from a ridge map onto the codes (on
        RBF features where they predict better), one in sixteen from the features alone; neither squeezes a
        row through the known labels. Shares are rounded down: at 8 bits there are two and none.
    random_state, n_jobs, verbose : as in scikit-learn. The codes do not depend on n_jobs.

    Attributes
    ----------
    codes_ : learned packed codes of the training rows (n, ceil(n_bits / 8)).
    marginals_ : P(bit = 1) of the training rows.
    report_ : energy per sweep, dead bits, unique codes, bit balance, what was chosen, seconds per stage.

    Memory beyond X: while fitting with map="expected" the prepared features of at most 100,000 rows
    (p·4 bytes each, 4,000 bytes with RBF features), otherwise
    O(n_anchors² + groups·n_bits + p²) and a few blocks of rows.

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

    def __init__(
        self,
        n_bits: int = 64,
        *,
        energy: str | Energy = "ksh",
        solver: Any = "auto",
        preset: str | None = None,
        targets: str = "auto",
        curvature: float = 1.0,
        lean: float = 0.0,
        rotation: str = "map",
        n_anchors: int = 1000,
        anchors: Any = None,
        n_sweeps: int = 10,
        clip: float = 2.0,
        renormalise: str = "row",
        rounding: str = "zero",
        map: Any = "expected",
        label_model: Any = "logistic",
        label_penalty: float | None = None,
        alpha: float | str = "auto",
        features: str = "auto",
        n_centers: int | None = None,
        rbf_width: float = 0.4,
        standardize: bool = True,
        open_set: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_bits = n_bits
        self.energy = energy
        self.solver = solver
        self.preset = preset
        self.targets = targets
        self.curvature = curvature
        self.lean = lean
        self.rotation = rotation
        self.n_anchors = n_anchors
        self.anchors = anchors
        self.n_sweeps = n_sweeps
        self.clip = clip
        self.renormalise = renormalise
        self.rounding = rounding
        self.map = map
        self.label_model = label_model
        self.label_penalty = label_penalty
        self.alpha = alpha
        self.features = features
        self.n_centers = n_centers
        self.rbf_width = rbf_width
        self.standardize = standardize
        self.open_set = open_set
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        from .inference.linear_systems import RENORMALISE
        from .inference.sigmoid_line import line_slope
        from .inference.targets import TARGETS
        from .rounding import ROUNDING

        super()._check_parameters()
        if not isinstance(self.energy, Energy) and self.energy not in ENERGIES:
            raise UnknownName.among("energy", self.energy, ENERGIES)
        if not hasattr(self.solver, "solve"):
            check_choice("solver", self.solver, SOLVER_NAMES)
        if self.solver == "spectral" and (self.lean or self.curvature != 1):
            raise InvalidInput(
                f"lean={self.lean} and curvature={self.curvature} were asked for with solver='spectral'",
                "lean=0 and curvature=1, since the spectral solver knows neither",
                "Use solver='coordinate', or leave them out",
            )
        if self.map == "expected" and self.rounding != "zero" and self.preset is None:
            raise InvalidInput(
                f"rounding={self.rounding!r} was asked for with map='expected'",
                "rounding='zero', the only one expected supervision knows",
                "Leave rounding out, or use map='linear'",
            )
        check_choice("preset", self.preset, (None, *PRESETS))
        if self.n_bits > 1 and (self.solver == "columns" or (self.preset and self.energy == "splh")):
            warnings.warn(
                f"An energy without a quadratic term has one bit: all {self.n_bits} bits will be the same. "
                "Use n_bits=1, or another energy.",
                KinhashWarning,
                stacklevel=4,
            )
        check_choice("targets", self.targets, ("auto", *TARGETS))
        check_choice("rotation", self.rotation, ("map", "codes"))
        check_choice("renormalise", self.renormalise, RENORMALISE)
        check_choice("rounding", self.rounding, ("zero", *ROUNDING))
        check_choice("features", self.features, ("auto", "plain", "rbf"))
        check_integer("n_anchors", self.n_anchors, 2)
        check_integer("n_sweeps", self.n_sweeps, 1)
        if self.n_centers is not None:
            check_integer("n_centers", self.n_centers, 1)
        check_number("curvature", self.curvature, 0.0, open_low=True)
        check_number("lean", self.lean, 0.0)
        check_number("rbf_width", self.rbf_width, 0.0, open_low=True)
        line_slope(self.clip)
        if self.label_penalty is not None:
            check_number("label_penalty", self.label_penalty, 0.0, open_low=True)
        if isinstance(self.alpha, str):
            check_choice("alpha", self.alpha, ("auto", "gcv"))
        else:
            check_number("alpha", self.alpha, 0.0)
        _check_part("map", self.map, MAP_NAMES, "predict", "a scikit-learn regressor")
        _check_part(
            "label_model",
            self.label_model,
            ("logistic", "ridge"),
            "predict_proba",
            "a classifier with predict_proba",
        )

    def _settings(self) -> Settings:
        from .learning.features import FeatureOptions

        kind = "rbf" if self.map == "rbf" else self.features
        # Ridge maps take a fixed number: blocks of rows do not know how many will come.
        n_centers = 1000 if self.n_centers is None and self.map != "expected" else self.n_centers
        return Settings(
            n_bits=self.n_bits,
            energy=ENERGIES.make(self.energy),
            solver=self.solver,
            targets="mean" if self.targets == "auto" else self.targets,
            curvature=self.curvature,
            lean=self.lean,
            rotation=self.rotation,
            n_anchors=self.n_anchors,
            anchors=None if self.anchors is None else np.asarray(self.anchors),
            n_sweeps=self.n_sweeps,
            clip=self.clip,
            renormalise=self.renormalise,
            rounding=self.rounding,
            map="linear" if isinstance(self.map, str) and self.map == "rbf" else self.map,
            label_model=self.label_model,
            label_penalty=self.label_penalty,
            alpha="gcv" if kind == "rbf" and self.alpha == "auto" else self.alpha,
            features=FeatureOptions(kind, self.standardize, n_centers, self.rbf_width),
        )

    def _learn(self, training: Training) -> Learned:
        if self.preset is not None:
            return self._as_printed()._learn(training)
        settings = self._settings()
        mix = OPEN_SET_MIX if self.open_set else DEFAULT_MIX
        parts = [
            self._learn_part(training, kind, replace(settings, n_bits=bits))
            for kind, bits in share_bits(settings.n_bits, mix)
        ]
        return assemble(parts, training)

    def _learn_part(self, training: Training, kind: str, settings: Settings) -> Part:
        from .learning import recipes

        rng = training.rng
        if kind == "features":
            return recipes.learn_features(training, settings, rng)
        if kind == "ridge":
            settings = replace(settings, map="linear")
        # The spectral solver needs a verdict for every pair, one curvature for all of them, and no field.
        spectral = settings.solver in ("auto", "spectral") and training.supervision.complete
        spectral = spectral and bool(settings.energy.shared_quadratic(settings.n_bits))
        if not spectral or settings.lean or settings.curvature != 1:
            return recipes.learn_solved(training, settings, rng)
        by_codes = settings.map != "expected" and (
            settings.rotation == "codes" or settings.rounding != "zero"
        )
        if by_codes or not isinstance(settings.map, str):
            return recipes.learn_solved(training, replace(settings, solver="spectral"), rng)
        if settings.map == "expected" and training.supervision.labels is not None:
            return recipes.learn_expected(training, settings, rng)
        # Without labels, ridge onto S followed by a linear readout is ridge onto the readout's scores.
        try_rbf = kind == "ridge" and self.map == "expected" and self.solver == "auto"
        return recipes.learn_ridge(training, settings, rng, try_rbf=try_rbf)

    def _stream_plan(self) -> StreamPlan:
        from .learning.recipes import solver_recipe

        if self.preset is not None:
            plan: StreamPlan = self._as_printed()._stream_plan()
            return plan
        settings = self._settings()
        fixed = {
            "map='linear' or 'rbf'": settings.map == "linear",
            "a named solver instead of 'auto'": settings.solver != "auto",
            "rotation='codes'": settings.solver != "spectral" or settings.rotation == "codes",
            "lean=0": not settings.lean,
            "open_set=False": not self.open_set,
            "rounding other than 'median'": settings.rounding != "median",
        }
        require_streamable(fixed)
        return StreamPlan(solver_recipe(settings), settings.rounding, settings.features, settings.alpha)

    def _as_printed(self) -> Any:
        from .paper_methods import EMBRE, EMKSH, EMLFH, EMSPLH, EMExpH

        methods: dict[Any, Any] = {"ksh": EMKSH, "bre": EMBRE, "lfh": EMLFH, "exph": EMExpH, "splh": EMSPLH}
        if not isinstance(self.energy, str):
            raise InvalidInput(
                "A preset was asked for with an energy object",
                "the name of one of the paper's energies",
                "Set preset=None",
            )
        common = {
            "n_bits": self.n_bits,
            "n_anchors": self.n_anchors,
            "clip": self.clip,
            "alpha": self.alpha,
            "anchors": self.anchors,
            "standardize": self.standardize,
            "n_jobs": self.n_jobs,
        }
        if self.energy == "splh":
            return EMSPLH(**common, which="literal" if self.preset == "paper-literal" else "largest")
        return methods[self.energy](**common, literal=self.preset == "paper-literal")


def share_bits(n_bits: int, mix: tuple[tuple[str, float], ...]) -> list[tuple[str, int]]:
    """Bits of each part; shares that round to nothing drop out, the first part takes the remainder."""
    counts = [int(share * n_bits) for _, share in mix]
    counts[0] += n_bits - sum(counts)
    return [(kind, count) for (kind, _), count in zip(mix, counts, strict=True) if count]


def assemble(parts: list[Part], training: Training) -> Learned:
    """Maps side by side, and the learned codes of the training rows to go with them."""
    from .maps.stacked import StackedMap

    mapped = parts[0].map if len(parts) == 1 else StackedMap(tuple(part.map for part in parts))
    group = training.supervision.group_of_row
    facts: dict[str, Any] = {}
    for part in reversed(parts):
        facts |= part.facts
    if any(part.facts.get("features") == "rbf" for part in parts):
        facts["features"] = "rbf"  # such a map holds training rows: whoever asks must hear of it
    if all(part.bits is not None for part in parts):
        bits = np.concatenate([part.bits for part in parts if part.bits is not None], axis=1)
        phi = np.concatenate([part.marginals for part in parts if part.marginals is not None], axis=1)
        return Learned(mapped, pack_bits(bits)[group], group, phi.astype(np.float32), facts)
    return Learned(mapped, _mixed_codes(parts, training), group, None, facts)


def _mixed_codes(parts: list[Part], training: Training) -> npt.NDArray[np.uint8]:
    """Codes whose bits come partly from labels and partly from each row's own features."""
    from ._blocks import map_rows

    columns = []
    for part in parts:
        if part.bits is not None:
            columns.append(part.bits[training.supervision.group_of_row])
            continue
        scores = map_rows(part.map.scores, training.rows.read, len(training.rows), training.n_jobs)
        columns.append(scores > 0)
    return pack_bits(np.concatenate(columns, axis=1))


def _check_part(name: str, value: Any, names: tuple[str, ...], method: str, else_: str) -> None:
    if isinstance(value, str):
        if value not in names:
            raise UnknownName.among(name.replace("_", " "), value, names)
    elif not hasattr(value, method):
        raise InvalidInput(
            f"{name} is {value!r}", f"one of {', '.join(names)}, or {else_}", f"Pass a name, or {else_}"
        )
