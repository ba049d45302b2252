"""FastHash: bits by graph cuts over blocks of kin, each learned by trees before the next is sought."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from kinhash.paper.maps import first_preparation, prepare_rows
from kinhash.paper.method import Baseline, Card, Solved
from kinhash.paper.similarity import Training
from kinhash.plugins import (
    Floats,
    Ints,
    block_slices,
    check_choice,
    check_integer,
    check_number,
    map_blocks,
    njit,
)

from .cards import PAIRS
from .pair_bits import LOSSES, ListedPairs, bit_weights
from .trees import Steps, Trees, TreesMap

__all__ = ["FastHash", "block_bits", "coordinate_sweep", "cut_block"]

INFERENCE = ("cut", "sweeps")
SWEEPS = 2
NODE_FEATURES = 200  # features a tree looks at in each node
FEW_VALUES = 1_000_000  # below this, threads wait for each other longer than they work


@dataclass(eq=False, repr=False, kw_only=True)
class FastHash(Baseline):
    """FastHash (Lin, Shen, Shi, van den Hengel, Suter, CVPR 2014).

    ``min Σ_{(i,j)∈N} ℓ(Hamming_ij; S_ij)`` over listed pairs N, bit by bit as in TSH, D being Hamming over
    the r bits there are so far. For bit r:

    1. ``a_ij = ℓ(H⁰) − ℓ(H⁰ + 1)``. From z = 1, two sweeps over blocks of rows in random order, each block
       solved exactly given the others. A block holds rows of equal supervision that are kin, so inside it
       all a_ij ≤ 0 and the minimum is a minimum cut. No step raises ``Σ a_ij z_i z_j``.
    2. Boosted trees learn the bit, row i weighing ``Σ_j |a_ij|``.
    3. **The next bit sees the trees' outputs, not the inferred ones**: later bits mend earlier mistakes.

    ``inference="cut"`` uses the maximum flow of SciPy, on weights rounded to about nine digits (a block whose
    energy would rise by that keeps its bits). "sweeps" turns whole blocks and then single rows while that
    helps, which is not exact. Rows without kin of equal supervision (all rows, where there are
    only pairs) are always updated singly.

    Authors' constants: hinge loss, depth 4, 200 rounds, 200 random features per node, features in 8 bits,
    at most 100 kin and 100 strangers per row, two sweeps. What differs: trees are scikit-learn's
    HistGradientBoostingClassifier in place of their AdaBoost with weight trimming 0.99; the step of 0.2 is
    ours, chosen on validation rows of CIFAR-10 GIST (5,000 training rows, 8 bits, two partitions: .1 .520, .2
    .552 and .497, .4 .489 and .477, .8 .499); for tags the blocks are groups of equal tag sets;
    where z = 1 leads to a bit that is the same for all rows, the sweeps start
    again from a random sign per block.

    Mapped codes only, as the method is made. A model file holds the trees as arrays (8 MB for 64 bits).
    ``report_.facts["objective"]`` holds Σℓ of the inferred bit and then of the learned one, for each bit.

    Memory beyond X: prepared rows (n, p) as float32, and about 50 bytes per pair.

    Parameters
    ----------
    loss : "hinge", or a loss of `TSH`.
    inference : "cut" (exact) or "sweeps", see above.
    n_partners : kin, and as many strangers, drawn for each row.
    n_rounds, depth, learning_rate : of the boosting.
    """

    card = Card(
        "Lin, Shen, Shi, van den Hengel, Suter, CVPR 2014",
        PAIRS,
        "boosted trees per bit",
        "scikit-learn's boosting in place of AdaBoost with trimming, its step chosen on validation rows; "
        "blocks of equal tag sets for tags",
    )

    loss: str = "hinge"
    inference: str = "cut"
    n_partners: int = 100
    n_rounds: int = 200
    depth: int = 4
    learning_rate: float = 0.2

    def check_parameters(self) -> None:
        super().check_parameters()
        check_choice("loss", self.loss, tuple(LOSSES))
        check_choice("inference", self.inference, INFERENCE)
        check_integer("n_partners", self.n_partners, 1)
        check_integer("n_rounds", self.n_rounds, 1)
        check_integer("depth", self.depth, 1)
        check_number("learning_rate", self.learning_rate, 0.0, 1.0, open_low=True)

    def _solve(self, training: Training) -> Solved:
        pairs = ListedPairs.draw(training, self.n_partners)
        preparation = first_preparation(training.rows)
        prepared = prepare_rows(training.rows, preparation, pairs.rows, training.n_jobs)
        steps = Steps.of(prepared, training.rng)
        X = steps(prepared)
        blocks = blocks_of_kin(training, pairs.rows)
        hamming = np.zeros(len(pairs.S), np.int64)
        trees, objective = [], []
        for r in range(1, self.n_bits + 1):
            a = bit_weights(self.loss, hamming, pairs.S, r)
            A = pairs.matrix(a)
            bit = block_bits(A, blocks, self.inference, training.rng) > 0
            importance = np.asarray(abs(A).sum(axis=1)).ravel()
            if training.weights is not None:
                importance = importance * training.weights[pairs.rows]
            trees.append(self._boost(X, bit, importance, training.rng))
            learned = decided(trees[-1], X, training.n_jobs)
            objective.append((self._value(pairs, hamming, bit, r), self._value(pairs, hamming, learned, r)))
            pairs.add_bit(hamming, learned)
        return Solved(None, TreesMap(preparation, steps, trees), {"objective": objective})

    def _value(self, pairs: ListedPairs, hamming: Ints, bit: npt.NDArray[np.bool_], r: int) -> float:
        after = hamming.copy()
        pairs.add_bit(after, bit)
        return float(LOSSES[self.loss](after / r, pairs.S).sum())

    def _boost(
        self,
        X: npt.NDArray[np.uint8],
        bit: npt.NDArray[np.bool_],
        weights: Floats,
        rng: np.random.Generator,
    ) -> Trees:
        from sklearn.ensemble import HistGradientBoostingClassifier

        if bit.all() or not bit.any():
            return Trees.constant(1.0 if bit.all() else -1.0)
        total = float(weights.sum())
        weights = weights * (len(weights) / total) if total > 0 else np.ones(len(weights))
        trees = HistGradientBoostingClassifier(
            learning_rate=self.learning_rate,
            max_iter=self.n_rounds,
            max_depth=self.depth,
            max_leaf_nodes=2**self.depth,
            max_features=min(1.0, NODE_FEATURES / X.shape[1]),
            early_stopping=False,
            random_state=int(rng.integers(2**31)),
        )
        with one_core() if X.size < FEW_VALUES else nullcontext():
            return Trees.of(trees.fit(X, bit, weights))


def decided(trees: Trees, steps: npt.NDArray[np.uint8], n_jobs: int | None) -> npt.NDArray[np.bool_]:
    """The bit (k,) that trees give to rows in steps."""
    parts = map_blocks(lambda part: trees.scores(steps[part]) > 0, block_slices(len(steps), 2048), n_jobs)
    return np.concatenate(list(parts))


@lru_cache(maxsize=1)
def _pools() -> Any:
    import sklearn.ensemble  # noqa: F401  (brings the OpenMP library that must be found)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="openmp")  # so that leaving does not set BLAS as well


def one_core() -> AbstractContextManager[Any]:
    """Hold OpenMP to one thread, in the calling thread, while the context lasts."""
    context: AbstractContextManager[Any] = _pools().limit(limits=1)
    return context


def blocks_of_kin(training: Training, rows: Ints) -> list[Ints]:
    """Positions among ``rows`` in blocks of equal supervision; a group that is not its own kin is split."""
    supervision = training.supervision
    group = supervision.group_of_row[rows]
    order = np.argsort(group, kind="stable")
    found = np.split(order, np.flatnonzero(np.diff(group[order])) + 1)
    blocks: list[Ints] = []
    for block in found:
        own = group[block[:1]]
        if len(block) > 1 and supervision.similarity(own, own)[0, 0] <= 0:
            blocks.extend(block[i : i + 1] for i in range(len(block)))
        else:
            blocks.append(block)
    return blocks


def block_bits(A: sp.csr_array, blocks: list[Ints], inference: str, rng: np.random.Generator) -> Floats:
    """Bits ±1 that make ``zᵀAz`` small: from all ones, two sweeps over the blocks in random order."""
    z = swept(A, blocks, np.ones(A.shape[0]), inference, rng)
    if (z == z[0]).all():
        for block in blocks:
            z[block] = 1.0 if rng.random() < 0.5 else -1.0
        z = swept(A, blocks, z, inference, rng)
    return z


def swept(A: sp.csr_array, blocks: list[Ints], z: Floats, inference: str, rng: np.random.Generator) -> Floats:
    """Two sweeps over the blocks, from z."""
    z = z.copy()
    single = np.array([block[0] for block in blocks if len(block) == 1], np.int64)
    larger = [block for block in blocks if len(block) > 1]
    inner = [A[block][:, block] for block in larger]
    for _ in range(SWEEPS):
        for place in rng.permutation(len(larger)):
            block, inside = larger[place], inner[place]
            outside = A[block] @ z - inside @ z[block]
            if inference == "cut":
                z[block] = cut_block(inside, outside, z[block])
                continue
            if outside @ z[block] > 0:  # turning the whole block changes zᵀAz by −4 Σ z·outside
                z[block] = -z[block]
            coordinate_sweep(A.indptr, A.indices, A.data, rng.permutation(block), z)
        coordinate_sweep(A.indptr, A.indices, A.data, rng.permutation(single), z)
    return z


def cut_block(inside: sp.csr_array, outside: Floats, z: Floats) -> Floats:
    """Minimize ``½ zᵀ inside z + outside·z`` over bits, inside ≤ 0, by a minimum cut; z if that is no better.

    Rows that differ cost 2|a_ij|; being +1 costs 2·outside where that is positive, being −1 costs −2·outside
    where it is negative. Those are the edges between rows, to the sink, and from the source.
    """
    from scipy.sparse.csgraph import breadth_first_order, maximum_flow

    k = len(z)
    source, sink = k, k + 1
    largest = max(float(np.abs(outside).sum()), float(np.abs(inside.data).max(initial=0.0)), 1e-300)
    units = (2**30) / largest
    edges = inside.tocoo()
    liked, disliked = np.flatnonzero(outside < 0), np.flatnonzero(outside > 0)
    heads = np.concatenate([edges.coords[0], np.full(len(liked), source), disliked])
    tails = np.concatenate([edges.coords[1], liked, np.full(len(disliked), sink)])
    costs = np.concatenate([np.maximum(-edges.data, 0.0), -outside[liked], outside[disliked]])
    whole = np.rint(costs * units).astype(np.int32)
    graph = sp.csr_matrix((whole, (heads, tails)), shape=(k + 2, k + 2))
    flow = maximum_flow(graph, source, sink).flow
    left = graph - flow
    left.data = (left.data > 0).astype(np.int32)
    left.eliminate_zeros()
    reached = breadth_first_order(left, source, return_predecessors=False)
    new = -np.ones(k)
    new[reached[reached < k]] = 1.0

    def energy(bits: Floats) -> float:
        return float(0.5 * bits @ (inside @ bits) + outside @ bits)

    return new if energy(new) < energy(z) else z


@njit(cache=True, nogil=True)
def coordinate_sweep(indptr: Ints, indices: Ints, data: Floats, order: Ints, z: Floats) -> None:
    """Turn each row against the pull ``Σ_j a_ij z_j`` of its partners, in order and in place."""
    for i in order:
        pull = 0.0
        for place in range(indptr[i], indptr[i + 1]):
            pull += data[place] * z[indices[place]]
        if pull * z[i] > 0:
            z[i] = -z[i]
