"""KSH: bits one after the other, each fitting what the earlier ones left of the similarities."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kinhash.paper.maps import LinearMap, prepare_rows
from kinhash.paper.method import Baseline, Card, Solved
from kinhash.paper.similarity import Training
from kinhash.plugins import Floats, block_slices, check_integer, check_number, map_blocks

from .cards import PAIRS
from .gaussian import Gaussian, root_mean_square_distance
from .sample import GroupedSimilarity, draw_rows
from .similar_rows import SimilarityPreparation

__all__ = ["KSH", "Residual", "smooth_objective"]


@dataclass(eq=False, repr=False, kw_only=True)
class KSH(Baseline):
    """Supervised hashing with kernels (Liu, Wang, Ji, Jiang, Chang, CVPR 2012).

    Over l labeled rows with centered kernel features K (l, m), minimize ``‖Y Yᵀ/d − S‖²`` with
    ``Y = sign(K A)``, greedily: bit k maximizes ``yᵀ R_k y`` with ``R_1 = d·S`` and ``R_{k+1} = R_k − y yᵀ``.

    1. ``K = exp(−D²/(2σ))`` to m random training rows, σ the mean of all D², columns centered by their mean
       over the whole training set.
    2. Spectral start: top generalized eigenvector of ``KᵀRK a = γ KᵀK a``, scaled to ``‖Ka‖² = l``.
    3. Nesterov's method on the smooth ``g(a) = −yᵀRy``, ``y = tanh(Ka/2)``, until g/l moves by at most
       ``tolerance`` or after ``max_steps`` steps.
    4. Keep the smoothed a only if its signs have the larger ``yᵀRy``.

    Authors' constants are the defaults (m = 300, l = 2000, 500 steps, 1e-2). What differs from their
    program: S acts through groups and ``KᵀRK`` is updated by rank one, so no l × l matrix is formed; the
    eigenproblem is solved as a symmetric one, with ``ridge``·trace/m on the diagonal of KᵀK.

    The method has no codes of its own but for the l rows: ``codes_`` are mapped ones. Classes, tags and
    pairs; unlisted pairs are 0 in S. ``report_.facts["residual"]`` holds ‖R_k‖ before each bit and after the
    last, ``report_.facts["agreement"]`` yᵀR_k y of the spectral start and of the bit that was kept.

    Memory beyond X: O(l·m + m² + blocks of rows).

    Parameters
    ----------
    n_anchors : kernel centers m.
    n_labeled : rows l with whose similarities it learns.
    max_steps : steps of gradient ascent for each bit, at most.
    tolerance : gain per row below which they end.
    ridge : added to the diagonal of the eigenproblem, relative to its trace.
    """

    card = Card(
        "Liu, Wang, Ji, Jiang, Chang, CVPR 2012",
        PAIRS,
        "signs of 300 centered kernels",
        "symmetric eigenproblem with a small ridge",
    )

    n_anchors: int = 300
    n_labeled: int = 2000
    max_steps: int = 500
    tolerance: float = 1e-2
    ridge: float = 1e-6

    def check_parameters(self) -> None:
        super().check_parameters()
        check_integer("n_anchors", self.n_anchors, 2)
        check_integer("n_labeled", self.n_labeled, 2)
        check_integer("max_steps", self.max_steps, 0)
        check_number("tolerance", self.tolerance, 0.0)
        check_number("ridge", self.ridge, 0.0, open_low=True)

    def _solve(self, training: Training) -> Solved:
        preparation = kernel_preparation(training, self.n_anchors)
        rows = draw_rows(training, self.n_labeled)
        K = prepare_rows(training.rows, preparation, rows, training.n_jobs).astype(np.float64)
        residual = Residual(GroupedSimilarity.among(training, rows), self.n_bits)
        A = self._greedy(K, residual)
        weights = A.astype(np.float32)
        own = LinearMap(preparation, weights, np.zeros(self.n_bits, np.float32))
        return Solved(None, own, {"residual": residual.norms, "agreement": residual.agreement})

    def _greedy(self, K: Floats, residual: Residual) -> Floats:
        from scipy.linalg import cholesky, eigh, solve_triangular

        l, m = K.shape
        gram = K.T @ K
        gram[np.diag_indices(m)] += self.ridge * max(float(np.trace(gram)) / m, 1e-30)
        lower = cholesky(gram, lower=True)
        # In coordinates with KᵀK = I the eigenproblem is symmetric and ordinary.
        white = solve_triangular(lower, K.T, lower=True)
        form = white @ residual.times(white.T)
        A = np.empty((m, self.n_bits))
        for k in range(self.n_bits):
            form = (form + form.T) / 2
            top = eigh(form, subset_by_index=(m - 1, m - 1))[1][:, 0]
            a = solve_triangular(lower, top, lower=True, trans=1)
            a *= np.sqrt(l / max(float((K @ a) @ (K @ a)), 1e-30))
            a *= 1.0 if a[np.abs(a).argmax()] > 0 else -1.0  # an eigenvector has no sign of its own
            smoothed = nesterov(K, residual, a, self.max_steps, self.tolerance)
            y, y_smooth = _signs(K @ a), _signs(K @ smoothed)
            before, after = residual.value(y), residual.value(y_smooth)
            if after > before:
                a, y = smoothed, y_smooth
            A[:, k] = a
            residual.take(y, before, max(before, after))
            image = white @ y
            form -= np.outer(image, image)
        return A


def kernel_preparation(training: Training, n_anchors: int) -> SimilarityPreparation:
    """Gaussian similarities to random training rows, width and centering by the whole training set."""
    rows, n = training.rows, len(training.rows)
    centers = rows.read(np.sort(training.rng.choice(n, min(n, n_anchors), replace=False)))
    parts = block_slices(n, rows.block_rows())
    sizes = np.array([part.stop - part.start for part in parts], np.float64)
    distances = [
        root_mean_square_distance(block, centers) for block in map_blocks(rows.read, parts, training.n_jobs)
    ]
    unit = max(distances)
    kernel = Gaussian(centers, unit * float(np.sqrt(sizes @ (np.array(distances) / unit) ** 2 / n)))
    means = map_blocks(lambda part: kernel(rows.read(part)).sum(axis=0), parts, training.n_jobs)
    mean = np.sum(list(means), axis=0) / n
    return SimilarityPreparation(mean, np.ones_like(mean), similarities=kernel)


@dataclass
class Residual:
    """``R = d·S − Σ y yᵀ`` over the bits taken so far, never formed; Y (l, k) are those bits."""

    similarity: GroupedSimilarity
    n_bits: int
    bits: list[Floats] = field(default_factory=list)
    norms: list[float] = field(default_factory=list)
    agreement: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._square = self.n_bits**2 * self.similarity.squares()
        self._taken = np.empty((self.n_bits, len(self.similarity.member)))
        self.norms.append(float(np.sqrt(self._square)))

    def times(self, values: Floats) -> Floats:
        """``R @ values`` for values (l,) or (l, k)."""
        taken = self._taken[: len(self.bits)]
        product: Floats = self.n_bits * self.similarity.times(values) - taken.T @ (taken @ values)
        return product

    def value(self, y: Floats) -> float:
        """``yᵀ R y``."""
        return float(y @ self.times(y))

    def take(self, y: Floats, before: float, after: float) -> None:
        """Subtract a bit whose agreement yᵀRy is ``after``, and was ``before`` at its spectral start."""
        self._taken[len(self.bits)] = y
        self.bits.append(y)
        # ‖R − yyᵀ‖² = ‖R‖² − 2 yᵀRy + l²
        self._square = max(self._square - 2 * after + float(len(y)) ** 2, 0.0)
        self.norms.append(float(np.sqrt(self._square)))
        self.agreement.append((before, after))


def smooth_objective(K: Floats, residual: Residual, a: Floats) -> tuple[float, Floats]:
    """``g(a) = −yᵀRy`` with ``y = tanh(Ka/2)``, and its gradient ``−Kᵀ[(Ry)∘(1 − y²)]``."""
    y = np.tanh(0.5 * (K @ a))
    pull = residual.times(y)
    return -float(y @ pull), -((pull * (1 - y * y)) @ K)


def nesterov(K: Floats, residual: Residual, start: Floats, max_steps: int, tolerance: float) -> Floats:
    """Minimize the smooth objective by accelerated gradient steps with backtracking.

    Step t probes ``v = a_t + (δ_{t−1} − 1)/δ_t·(a_t − a_{t−1})`` and goes to ``v − ∇g/β`` with the first
    ``β = 2^j β_t`` (j ≤ 50) for which the quadratic model lies above g.
    """
    previous = current = start
    delta_before, delta, beta = 0.0, 1.0, 1.0
    value = smooth_objective(K, residual, start)[0]
    for _ in range(max_steps):
        v = current + (delta_before - 1) / delta * (current - previous)
        at_v, slope = smooth_objective(K, residual, v)
        steep = float(slope @ slope)
        for _ in range(51):
            z = v - slope / beta
            at_z = -residual.value(np.tanh(0.5 * (K @ z)))
            if at_z <= at_v - 0.5 * steep / beta:
                break
            beta *= 2
        else:
            break
        previous, current = current, z
        delta_before, delta = delta, (1 + np.sqrt(1 + 4 * delta * delta)) / 2
        settled = abs(at_z - value) <= tolerance * len(K)
        value = at_z
        if settled:
            break
    return current


def _signs(scores: Floats) -> Floats:
    return np.where(scores > 0, 1.0, -1.0)
