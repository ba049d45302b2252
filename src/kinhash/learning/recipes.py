"""The recipes `EnergyHasher` chooses from, each a short story told in one direction.

* `learn_expected`: spectral codes, a label model, new rows by expected supervision (the default);
* `learn_ridge`: spectral codes with the rotation fitted for a ridge map;
* `learn_solved`: any solver, then a ridge map, a regressor, or the solver's own readout of expected
  supervision;
* `learn_features`: bits of the features alone (ITQ), which hold on labels never seen.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._hasher import Training
from ..errors import InvalidInput
from ..inference import SOLVERS, Solver
from ..inference.coordinate import Polished
from ..inference.learn import Inferred, Recipe, infer
from ..inference.linear_systems import sigmoid
from ..inference.linearised import Linearised
from ..inference.readout import Readout
from ..inference.sample import Sample, draw_sample
from ..inference.spectral import fit_rotation
from ..maps.expected import ExpectedMap, LabelSimilarity, RegressedSimilarity
from ..maps.linear import LinearMap
from ..maps.prepared import prepare_rows
from ..maps.ridge import choose_alpha, ridge_weights
from .choosing import Choice, CodedAnchors, Settled, settle
from .choosing_features import choose_features, rbf_unless_worse
from .expected import SpectralCoder, recoded_groups, temper, true_embedding
from .features import first_preparation, standardised_moments
from .label_learners import LabelledSet
from .labelled import ENOUGH_ROWS, label_patterns, labelled_set, learner_for
from .lean import lean_scores
from .ridge_map import fit_regressor_map, fit_ridge_map, group_codes
from .settings import Part, Settings
from .spectral_ridge import ROTATION_ROWS, n_known_rows, some_known_rows, spectral_ridge

__all__ = [
    "learn_expected",
    "learn_features",
    "learn_ridge",
    "learn_solved",
    "solver_recipe",
]

Floats = npt.NDArray[np.float64]


def learn_expected(training: Training, settings: Settings, rng: np.random.Generator) -> Part:
    """Spectral codes; new rows by expected supervision. Choices only with ``solver="auto"``."""
    supervision, stages = training.supervision, training.stages
    with stages("anchors"):
        sample, coder = _spectral_coder(training, settings, rng)
        assert supervision.labels is not None
        patterns = label_patterns(supervision.labels, sample, supervision.group_of_row)
    around, settled = CodedAnchors(training, coder, patterns), None
    enough = settings.solver == "auto" and n_known_rows(training) >= ENOUGH_ROWS
    if enough and settings.features.kind == "auto":
        features, settled = choose_features(around, settings, rng)
        settings = replace(settings, features=features)
    if settled is None:
        with stages("features"):
            full = labelled_set(training, settings.features, rng, dense=settings.label_model == "ridge")
        settled = settle(around, full, settings, rng) if enough else Settled.as_given(full, settings)
    full, choice, learner = settled.full, settled.choice, settled.learner
    with stages("label model"):
        model = learner.fit(full)
        expected = LabelSimilarity(temper(model, choice.temper), patterns, full.exclusive)
    with stages("codes"):
        rotation = _final_rotation(training, settings, full, expected, coder, choice, settled.rotation, rng)
        readout = coder.readout(choice.rarity, rotation)
        scores = readout.of_groups(supervision, sample.groups, training.n_jobs)
        mapped = ExpectedMap(full.moments.preparation, expected, readout, np.zeros(settings.n_bits))
        bits = scores > 0
        if choice.recode:
            bits = _recode(training, full, mapped, scores, coder, choice.recode, rng)
    facts = {
        "features": "rbf" if full.moments.preparation.rbf is not None else "plain",
        "choice": choice,
        "held_out_score": settled.value,
        "label_penalty": getattr(learner, "penalty", None),
        "energy": [coder.energy_of(codes_of_sample(bits, sample))],
    }
    return Part(mapped, bits, readout.marginals(scores), facts)


def learn_ridge(
    training: Training, settings: Settings, rng: np.random.Generator, *, try_rbf: bool = False
) -> Part:
    """Spectral codes and a ridge map, both rotated to agree after rounding.

    With ``try_rbf`` on RBF features, unless they are clearly worse on held-out rows.
    """
    supervision = training.supervision
    with training.stages("anchors"):
        sample, coder = _spectral_coder(training, settings, rng)
    if try_rbf and supervision.labels is not None and n_known_rows(training) >= ENOUGH_ROWS:
        patterns = label_patterns(supervision.labels, sample, supervision.group_of_row)
        settings = rbf_unless_worse(CodedAnchors(training, coder, patterns), settings, rng)
    with training.stages("map"):
        preparation = first_preparation(training.rows, settings.features, rng)
        found = spectral_ridge(
            training,
            settings.features,
            coder,
            settings.alpha,
            rng,
            preparation=preparation,
        )
    facts = {
        "features": "plain" if found.map.preparation.rbf is None else "rbf",
        "energy": [coder.energy_of(codes_of_sample(found.scores > 0, sample))],
    }
    return Part(found.map, found.scores > 0, sigmoid(2 * found.scores), facts)


def learn_solved(training: Training, settings: Settings, rng: np.random.Generator) -> Part:
    """Any solver on any energy, then the map that was asked for."""
    supervision = training.supervision
    counts = supervision.group_weights(training.weights)
    with training.stages("inference"):
        recipe = solver_recipe(settings, supervision.complete)
        inferred = infer(supervision, recipe, rng, row_weights=training.weights)
        scores = inferred.group_scores(supervision, training.n_jobs)
    preparation = first_preparation(training.rows, settings.features, rng)
    if settings.lean:
        with training.stages("lean"):
            inferred, scores = lean_scores(training, settings, recipe, inferred, preparation, rng)
    codes = group_codes(inferred, scores, counts, settings.rounding)
    facts: dict[str, Any] = {"energy": inferred.solution.energies}
    if inferred.solution.divergences:
        facts["divergence"] = inferred.solution.divergences
    with training.stages("map"):
        mapped: Any
        if settings.map == "expected" and inferred.readout is not None:
            mapped = _expected_through(training, settings, inferred, inferred.readout, rng, codes.threshold)
        elif isinstance(settings.map, str):
            # Few rows with pairs need more shrinking than n/p, and the data say how much.
            alpha = "gcv" if settings.alpha == "auto" and not supervision.complete else settings.alpha
            mapped = fit_ridge_map(training, settings.features, preparation, codes, alpha)
        else:
            mapped = fit_regressor_map(training, settings.features, preparation, codes, settings.map)
    return Part(mapped, codes.bits, codes.marginals, facts)


def learn_features(training: Training, settings: Settings, rng: np.random.Generator) -> Part:
    """ITQ: top principal directions of the features, rotated to round well. No label is used."""
    with training.stages("feature bits"):
        options = settings.features
        preparation = first_preparation(training.rows, options, rng)
        moments = standardised_moments(
            training, options, preparation, lambda part: np.zeros((part.stop - part.start, 0), np.float32)
        )
        # Principal directions of the features as they came: standardising would undo their weights.
        scale = moments.preparation.scale
        scale = scale / scale.max()  # only ratios matter, and squares of 1e160 would not fit
        raw = moments.gram * scale * scale[:, None]
        directions = np.linalg.eigh(raw)[1][:, ::-1][:, : settings.n_bits]
        weights = scale[:, None] * directions
        some = some_known_rows(training, rng, ROTATION_ROWS)
        z = prepare_rows(training.rows, moments.preparation, some, training.n_jobs)
        codes = z @ weights
        rotation = fit_rotation(codes, settings.n_bits, rng)
        size = float(np.sqrt((codes**2).mean())) or 1.0
        final = (weights @ rotation / size).astype(np.float32)
    mapped = LinearMap(moments.preparation, final, np.zeros(settings.n_bits, np.float32))
    return Part(mapped, None, None, {})


# -- pieces ------------------------------------------------------------------------------------


def _spectral_coder(
    training: Training, settings: Settings, rng: np.random.Generator
) -> tuple[Sample, SpectralCoder]:
    supervision = training.supervision
    sample = draw_sample(
        supervision, settings.n_anchors, rng, anchors=settings.anchors, row_weights=training.weights
    )
    similarity = supervision.similarity(sample.groups, sample.groups)
    kin = (similarity > 0).any(axis=1)
    if not kin.all() and kin.any():  # who is kin to nobody, not even to their like, attracts nobody
        sample = Sample(sample.groups[kin], sample.weights[kin], sample.rows)
        similarity = similarity[np.ix_(kin, kin)]
    return sample, SpectralCoder(settings.energy, sample, similarity, settings.n_bits, settings.targets)


def codes_of_sample(bits: npt.NDArray[np.bool_], sample: Sample) -> Floats:
    """±1 codes of the sample's entries from the bits of all groups."""
    return np.where(bits[sample.groups], 1.0, -1.0)


def _final_rotation(
    training: Training,
    settings: Settings,
    full: LabelledSet,
    expected: LabelSimilarity,
    coder: SpectralCoder,
    choice: Choice,
    start: Floats | None,
    rng: np.random.Generator,
) -> Floats:
    """The chosen rotation, brought up to date with the final label model's predictions."""
    some = full.some(rng, ROTATION_ROWS)
    embedding = coder.embedding(choice.rarity)
    if settings.rotation == "codes":
        true = true_embedding(training, coder, embedding, full.rows[some])
        return fit_rotation(true, coder.n_bits, rng, start=start)
    predicted = embedding.of(expected.similarity(full.features[some]))
    return fit_rotation(predicted, coder.n_bits, rng, 50 if start is None else 20, start=start)


def _recode(
    training: Training,
    full: LabelledSet,
    mapped: ExpectedMap,
    scores: Floats,
    coder: SpectralCoder,
    curvature: float,
    rng: np.random.Generator,
) -> npt.NDArray[np.bool_]:
    some = full.some(rng, 4000)
    bits = mapped.readout.scores(mapped.expected.similarity(full.features[some])) > 0
    groups = np.arange(training.supervision.n_groups)
    row_groups = training.supervision.group_of_row[full.rows[some]]
    return recoded_groups(training, groups, scores, row_groups, bits, coder, curvature)


def solver_recipe(settings: Settings, complete: bool = True) -> Recipe:
    """What inference needs to know of the settings; ``complete`` = every pair has a verdict."""
    name = "coordinate" if settings.solver == "auto" else settings.solver
    solver = name if isinstance(name, Solver) else _named_solver(name, settings)
    if settings.solver == "auto" and not complete:
        # A few listed pairs leave many codes equally good; sweeps of means find better ones than flips.
        solver = Polished(Linearised(5, settings.clip, settings.renormalise), settings.n_sweeps)
    return Recipe(
        settings.energy,
        solver,
        settings.n_bits,
        targets=settings.targets,
        curvature=settings.curvature,
        n_anchors=settings.n_anchors,
        anchors=settings.anchors,
    )


def _named_solver(name: str, settings: Settings) -> Solver:
    options: dict[str, Any] = {}
    if name in ("linearised", "mean_field", "coordinate"):
        options["n_sweeps"] = settings.n_sweeps
    if name in ("linearised", "columns"):
        options["clip"] = settings.clip
    if name == "linearised":
        options["renormalise"] = settings.renormalise
    solver: Solver = SOLVERS[name](**options)
    return solver


def _expected_through(
    training: Training,
    settings: Settings,
    inferred: Inferred,
    readout: Readout,
    rng: np.random.Generator,
    threshold: Floats,
) -> Any:
    """Expected similarities through a solver's own readout; ridge onto S itself where there are no labels."""
    if settings.rounding != "zero":
        raise InvalidInput(
            f"rounding={settings.rounding!r} was asked for together with map='expected'",
            "rounding='zero', the only one the solver's own extension knows",
            "Leave rounding out, or use map='linear'",
        )
    labels, supervision = training.supervision.labels, training.supervision
    if labels is not None:
        full = labelled_set(training, settings.features, rng, dense=settings.label_model == "ridge")
        model = learner_for(settings).fixed().fit(full)
        patterns = label_patterns(labels, inferred.sample, supervision.group_of_row)
        expected: Any = LabelSimilarity(model, patterns, full.exclusive)
        return ExpectedMap(full.moments.preparation, expected, readout, threshold)
    anchors = inferred.sample.groups

    def similarity(part: slice) -> npt.NDArray[Any]:
        groups = supervision.group_of_row[part]
        return supervision.similarity(np.maximum(groups, 0), anchors).astype(np.float32)

    preparation = first_preparation(training.rows, settings.features, rng)
    moments = standardised_moments(training, settings.features, preparation, similarity)
    weights = ridge_weights(moments, choose_alpha(settings.alpha, moments))
    regressed = RegressedSimilarity(weights.astype(np.float32), moments.target_mean.astype(np.float32))
    return ExpectedMap(moments.preparation, regressed, readout, threshold)
