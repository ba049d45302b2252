"""Mahalanobis metrics learned from pairs (ITML, MMC, SDML, LDA on components), made into codes by ITQ."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar
from unittest import mock

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from kinhash.errors import MissingExtra
from kinhash.paper.maps import prepare_rows
from kinhash.paper.method import Baseline, Card, Solved
from kinhash.paper.similarity import NoSupervision, Training
from kinhash.paper.unsupervised import centered_moments, principal_directions, rotated_map
from kinhash.plugins import Bools, Floats, Ints, check_choice, check_integer

from .cards import PAIRS
from .pair_bits import ListedPairs

__all__ = ["ITML", "MMC", "SDML", "MetricPairs", "PairLDA", "pair_auc"]

ROTATIONS = {"itq": 51, "random": 0}  # rounds of ITQ after a random rotation
FEW = 50  # pairs of either kind that a choice of settings needs
HELD_ROWS = 0.1  # share of rows whose pairs judge
FLAT = 1e-4  # smallest variance that columns are divided by, as a share of the largest
Setting = Mapping[str, Any]


@dataclass(frozen=True)
class MetricPairs:
    """Pairs among rows Z (k, r) of decorrelated columns: ``first`` and ``second`` (e,), ``similar`` (e,)."""

    Z: Floats
    variances: Floats
    first: npt.NDArray[np.int32]
    second: npt.NDArray[np.int32]
    similar: Bools

    @property
    def differences(self) -> Floats:
        return self.Z[self.first] - self.Z[self.second]

    def __getitem__(self, chosen: Ints) -> MetricPairs:
        parts = (self.first[chosen], self.second[chosen], self.similar[chosen])
        return MetricPairs(self.Z, self.variances, *parts)


@dataclass(eq=False, repr=False, kw_only=True)
class MetricBaseline(Baseline):
    """A metric ``(x − y)ᵀ M (x − y)`` from pairs, and codes whose Hamming distance follows it.

    Steps: all rows to at most ``n_columns`` principal components at one common scale; M from at most
    ``n_pairs`` pairs, as many similar as dissimilar ones where there are enough; then PCA-ITQ of ``M^½ x``
    over all rows (``rotation="itq"``), or its principal components in a random rotation ("random").
    A class with several ``SETTINGS`` learns M with each from pairs without a tenth of the rows, keeps the one
    that separates the pairs of those rows best (AUC), and learns again from all: ``report_["setting"]``.

    Graded pairs count by their sign. From classes and tags, ``n_partners`` similar and dissimilar rows are
    drawn for each row. Database codes: mapped. Memory beyond X: 50 bytes per listed pair, p² and
    3·8·n·n_bits.

    Parameters
    ----------
    n_bits : length of the codes.
    n_columns : principal components that the metric is learned on.
    n_pairs : pairs that it is learned from.
    n_partners : partners of either kind drawn for each row, where labels are given and not pairs.
    rotation : "itq" or "random".
    random_state, n_jobs, verbose : as in scikit-learn.
    """

    SETTINGS: ClassVar[tuple[Setting, ...]] = ({},)

    n_columns: int = 128
    n_pairs: int = 4000
    n_partners: int = 10
    rotation: str = "itq"

    @abstractmethod
    def _metric(self, pairs: MetricPairs, setting: Setting) -> Floats:
        """M (r, r), symmetric with eigenvalues of at least 0."""

    def check_parameters(self) -> None:
        super().check_parameters()
        check_integer("n_columns", self.n_columns, 1)
        check_integer("n_pairs", self.n_pairs, 2)
        check_integer("n_partners", self.n_partners, 1)
        check_choice("rotation", self.rotation, tuple(ROTATIONS))

    def _solve(self, training: Training) -> Solved:
        everybody = replace(training, supervision=NoSupervision(len(training.rows)))
        moments, shares = centered_moments(everybody)
        axes, variances = principal_directions(moments, shares, self.n_columns)
        size = np.sqrt(max(float(variances[0]), 1e-300))
        basis = shares[:, None] * axes / size
        listed = ListedPairs.draw(training, self.n_partners)
        Z = prepare_rows(training.rows, moments.preparation, listed.rows, training.n_jobs) @ basis
        chosen = balanced_pairs(listed.S, self.n_pairs, training.rng)
        pairs = MetricPairs(Z, variances / size**2, listed.first, listed.second, listed.S > 0)[chosen]
        metric, facts = self._choose(pairs, training.rng)
        values, vectors = np.linalg.eigh(metric)
        root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
        spread = np.linalg.eigh(root @ (pairs.variances[:, None] * root))[1][:, ::-1]
        directions = basis @ root @ spread[:, : self.n_bits]
        found, errors = rotated_map(everybody, moments, directions, self.n_bits, ROTATIONS[self.rotation])
        return Solved(None, found, {**facts, "quantization_error": errors})

    def _choose(self, pairs: MetricPairs, rng: np.random.Generator) -> tuple[Floats, dict[str, Any]]:
        """The metric of the best setting, and which that is."""
        kinds = np.bincount(pairs.similar, minlength=2)
        if not kinds.all() or pairs.Z.shape[1] == 1:  # nothing to tell apart, or one column to scale
            return np.eye(pairs.Z.shape[1]), {"setting": "plain distances"}
        scores: list[float] = []
        if len(self.SETTINGS) > 1 and kinds.min() >= FEW:
            unseen = rng.random(len(pairs.Z)) < HELD_ROWS
            held = unseen[pairs.first] | unseen[pairs.second]
            test, rest = pairs[np.flatnonzero(held)], pairs[np.flatnonzero(~held)]
            both = all(len(np.unique(part.similar)) == 2 for part in (test, rest))
            for setting in self.SETTINGS if both else ():
                M = self._metric(rest, setting)
                scores.append(pair_auc(-quadratic(test.differences, M), test.similar))
        best = self.SETTINGS[int(np.argmax(scores))] if scores else self.SETTINGS[0]
        return self._metric(pairs, best), {"setting": dict(best), "held_out_auc": scores}


def balanced_pairs(S: Floats, most: int, rng: np.random.Generator) -> Ints:
    """At most ``most`` pairs, half of them similar where there are enough of both kinds; none with S = 0."""
    similar, others = (rng.permutation(np.flatnonzero(sign * S > 0)) for sign in (1, -1))
    n_similar = min(len(similar), max(most // 2, most - len(others)))
    return np.sort(np.concatenate([similar[:n_similar], others[: most - n_similar]]))


def quadratic(differences: Floats, metric: Floats) -> Floats:
    """``vᵀ M v`` of every row v."""
    return ((differences @ metric) * differences).sum(axis=1)


def pair_auc(scores: Floats, similar: Bools) -> float:
    """Probability that a similar pair has a higher score than a dissimilar one; ties count half."""
    others = np.sort(scores[~similar])
    mine = scores[similar]
    below = np.searchsorted(others, mine, "left") + np.searchsorted(others, mine, "right")
    return float(below.mean() / (2 * len(others)))


def metric_learn(name: str, **settings: Any) -> Any:
    """A learner of metric-learn, without its input checks.

    Version 0.7 passes arguments to scikit-learn's checks that scikit-learn 1.8 no longer knows.
    """
    try:
        import metric_learn
    except ImportError:
        raise MissingExtra.of("metric-learn", "metric", "kinhash-bench") from None
    learner = getattr(metric_learn, name)(**settings)
    learner._prepare_inputs = lambda pairs, y, **_: (pairs, y)
    return learner


def learned(learner: Any, differences: Floats, similar: Bools, **more: Any) -> Floats:
    """The metric (r, r) of a learner of metric-learn; all three see a pair's difference alone."""
    ends = np.stack([differences, np.zeros_like(differences)], axis=1)
    L = learner._fit(ends, np.where(similar, 1, -1), **more).components_
    return np.asarray(L.T @ L)


class ITML(MetricBaseline):
    """Information-theoretic metric learning (Davis, Kulis, Jain, Sra, Dhillon, ICML 2007), then ITQ.

    ``min LogDet(M, M₀) + γ·slack`` with ``d_M ≤ u`` for similar and ``d_M ≥ l`` for dissimilar pairs, u and l
    the 5th and 95th percentile of squared distances of the pairs (the authors' program; metric-learn takes
    distances that are not squared). M₀ is the identity; γ is 0.1, 1 or 10, chosen on held-out pairs. Solved
    by metric-learn in at most 100 rounds. Otherwise as in `MetricBaseline`.
    """

    card = Card(
        "Davis, Kulis, Jain, Sra, Dhillon, ICML 2007",
        PAIRS,
        "learned metric, rotated by ITQ",
        "metric-learn's solver; PCA to 128 columns; at most 4,000 pairs; slack chosen on held-out pairs "
        "in each fit; ITQ",
    )
    SETTINGS = tuple({"gamma": gamma} for gamma in (0.1, 1.0, 10.0))

    def _metric(self, pairs: MetricPairs, setting: Setting) -> Floats:
        D = pairs.differences
        moving = D.any(axis=1)  # a pair of equal rows bounds nothing
        bounds = np.maximum(np.percentile((D[moving] ** 2).sum(axis=1), (5, 95)), 1e-9)
        learner = metric_learn("ITML", gamma=setting["gamma"], max_iter=100)
        return learned(learner, D[moving], pairs.similar[moving], bounds=bounds[None])


@dataclass(eq=False, repr=False, kw_only=True)
class MMC(MetricBaseline):
    """Mahalanobis metric for clustering (Xing, Ng, Jordan, Russell, NIPS 2002), then ITQ.

    ``max Σ d_M`` over dissimilar pairs with ``Σ d_M² ≤ t`` over similar ones, by projected gradients.
    Solved by metric-learn, from the identity, with its constants. Otherwise as in `MetricBaseline`.
    """

    card = Card(
        "Xing, Ng, Jordan, Russell, NIPS 2002",
        PAIRS,
        "learned metric, rotated by ITQ",
        "metric-learn's solver; PCA to 64 columns; at most 4,000 pairs; ITQ",
    )

    n_columns: int = 64  # an eigenproblem of this size in each of thousands of projections

    def _metric(self, pairs: MetricPairs, setting: Setting) -> Floats:
        return learned(metric_learn("MMC"), pairs.differences, pairs.similar)


class SDML(MetricBaseline):
    """Sparse distance metric learning (Qi, Tang, Zha, Chua, Zhang, ICML 2009), then ITQ.

    ``min tr(M₀⁻¹ M) − log det M + λ‖M‖₁ + η tr(M K)``, K the mean of ``v vᵀ`` over similar pairs less that
    over dissimilar ones (metric-learn sums: then η would have to follow the number of pairs). A graphical
    lasso of ``M₀⁻¹ + ηK``. λ = 0.01 is metric-learn's; η and M₀ (the identity or the inverse covariance) are
    chosen on held-out pairs. Otherwise as in `MetricBaseline`.
    """

    card = Card(
        "Qi, Tang, Zha, Chua, Zhang, ICML 2009",
        PAIRS,
        "learned metric, rotated by ITQ",
        "metric-learn's solver with means in place of sums over pairs; PCA to 128 columns; at most 4,000 "
        "pairs; balance and prior chosen on held-out pairs in each fit; ITQ",
    )
    SETTINGS = tuple({"whiten": w, "balance": b} for w in (False, True) for b in (0.1, 0.3, 0.45))

    def _metric(self, pairs: MetricPairs, setting: Setting) -> Floats:
        from sklearn.covariance import graphical_lasso

        scale = np.sqrt(np.maximum(pairs.variances, FLAT)) if setting["whiten"] else np.ones(pairs.Z.shape[1])
        D = pairs.differences / scale
        D = D / np.sqrt(np.bincount(pairs.similar, minlength=2))[pairs.similar.astype(np.int8), None]
        learner = metric_learn("SDML", balance_param=setting["balance"])

        def solve(covariance: Floats, alpha: float, cov_init: Floats, **_: Any) -> Any:
            # scikit-learn 1.8 has no cov_init. What metric-learn starts from is its own repair of the matrix.
            return graphical_lasso(cov_init, alpha)

        with mock.patch("metric_learn.sdml.graphical_lasso", solve):
            return learned(learner, D, pairs.similar) / np.outer(scale, scale)


@dataclass(eq=False, repr=False, kw_only=True)
class PairLDA(MetricBaseline):
    """LDA with the connected components of the similar pairs as classes, then ITQ.

    ``M = (C_w + s·mean variance·I)⁻¹``, C_w the covariance within components: the principal components of
    ``M^½ x`` are the discriminant directions. The shrinkage s is chosen on held-out pairs. All similar pairs
    count up to ``n_pairs``. With tags, chains of shared tags make few components. Otherwise as in
    `MetricBaseline`.
    """

    card = Card(
        "our own reference: LDA on components of similar pairs",
        PAIRS,
        "discriminant directions, rotated by ITQ",
        "all of it; shrinkage chosen on held-out pairs in each fit",
    )
    SETTINGS = tuple({"shrinkage": s} for s in (0.01, 0.1, 1.0, 10.0))

    n_pairs: int = 40_000

    def _metric(self, pairs: MetricPairs, setting: Setting) -> Floats:
        within = covariance_within(pairs)
        extra = setting["shrinkage"] * float(pairs.variances.mean())
        return np.linalg.inv(within + extra * np.eye(len(within)))


def covariance_within(pairs: MetricPairs) -> Floats:
    """Covariance (r, r) of rows about the mean of their component of similar pairs."""
    from scipy.sparse.csgraph import connected_components

    k = len(pairs.Z)
    first, second = pairs.first[pairs.similar], pairs.second[pairs.similar]
    links = sp.coo_array((np.ones(len(first)), (first, second)), shape=(k, k))
    n, component = connected_components(links, directed=False)
    sizes = np.bincount(component, minlength=n)
    means = np.stack([np.bincount(component, column, n) for column in pairs.Z.T], axis=1) / sizes[:, None]
    inside = pairs.Z - means[component]
    return inside.T @ inside / max(k - n, 1)
