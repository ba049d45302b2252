"""The learner: a map to tanh bits, trained so that the rows of a batch rank each other as opinions say.

Bits are the signs of ``a(x) = z W + b + relu(z U + c) V`` for prepared columns z of a row. While learning they
are ``q = tanh(a)``: the means of a mean field whose marginals are a function of the features. Opinions
(`opinions`) say what the rows of a batch, or pairs of rows, should be to each other, and how the loss changes
with q. The linear part starts at ITQ's directions and is pulled towards them.

Kingma, Ba. Adam: a method for stochastic optimization. ICLR 2015.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .._internal.blocks import block_slices, map_blocks
from .._internal.rows import Rows
from .._internal.types import Array, Floats, Floats32, Rng
from ..models import Map, WholeMap, whole_network
from .features import Columns, directions_of_itq, unit_rows
from .opinions import Batch, Opinion

__all__ = ["Network", "NetworkMap", "Schedule", "Source", "train"]

HIDDEN = 512  # hidden units
PULL = 1e-3  # of the linear part towards its start
DECAY = 1e-4  # of the hidden layer's weights towards zero
QUIET = (0.4, 1.0)  # shares of the rows on which a hidden unit is silent at the start
SMALL = 0.01  # size of a hidden unit's first weight on a bit
START_PENALTY = 0.01  # of the regression that a second view starts from, per row
DECAYS = (0.9, 0.99)  # of Adam's running means
BLOCK = 256  # rows of a batch that a thread takes at once
FEWEST = 256  # rows of a batch, below which partners rarely meet
PART = 1 << 16  # weights that a thread moves at once


@dataclass(frozen=True)
class Schedule:
    """How long to learn: steps, rows a step, and the first rate, which falls along a cosine."""

    steps: int = 300
    batch: int = 1024
    rate: float = 0.012

    @classmethod
    def of(cls, n_rows: int) -> Schedule:
        """For that many rows: a batch has at most a third of them, and 1,024."""
        return cls(batch=min(cls.batch, max(FEWEST, n_rows // 3)))


@dataclass(frozen=True)
class Source:
    """Rows to learn from, and how they are prepared; ``looks`` are other rows that say who looks alike."""

    columns: Columns
    rows: Rows
    looks: Source | None = None


class Network:
    """Weights of the map, as views of one array: W (q, d), b (d,), U (q, h), c (h,), V (h, d)."""

    def __init__(self, q: int, d: int, h: int) -> None:
        shapes = {"W": (q, d), "U": (q, h), "b": (d,), "c": (h,), "V": (h, d)}
        sizes = [int(np.prod(shape)) for shape in shapes.values()]
        self.flat = np.zeros(sum(sizes), np.float32)
        ends = np.cumsum([0, *sizes])
        views = [self.flat[a:b].reshape(s) for a, b, s in zip(ends, ends[1:], shapes.values(), strict=False)]
        self.W, self.U, self.b, self.c, self.V = views

    def __getstate__(self) -> tuple[tuple[int, int, int], Floats32]:
        return (len(self.W), self.W.shape[1], len(self.c)), self.flat

    def __setstate__(self, state: tuple[tuple[int, int, int], Floats32]) -> None:
        shape, flat = state
        self.__init__(*shape)  # type: ignore[misc]
        self.flat[:] = flat  # so that copies have views of one array, too

    @classmethod
    def start(
        cls, z: Floats32, sizes: Floats32, n_bits: int, n_hidden: int, rng: Rng, toward: Array | None = None
    ) -> Network:
        """ITQ's directions, or a ridge regression ``toward`` scores, and hidden units that each see one row."""
        h = min(n_hidden, len(z))
        net = cls(z.shape[1], n_bits, h)
        if toward is None:
            net.W[:] = directions_of_itq(z, sizes, n_bits, rng)
        else:
            gram = (z.T @ z).astype(np.float64)
            gram[np.diag_indices_from(gram)] += START_PENALTY * len(z)
            net.W[:] = np.linalg.solve(gram, z.T @ (toward / (np.sqrt((toward**2).mean()) or 1.0)))
        if not h:
            return net
        seen = z[rng.choice(len(z), h, replace=False)].T
        length = np.linalg.norm(seen, axis=0)
        net.U[:] = seen / np.where(length > 0, length, 1.0)
        found = z @ net.U
        spread = float(found.std()) or 1.0
        net.U[:] /= spread
        places = (rng.uniform(*QUIET, size=h) * (len(z) - 1)).astype(np.int64)
        net.c[:] = -np.sort(found, axis=0)[places, np.arange(h)] / spread
        net.V[:] = rng.standard_normal(net.V.shape) * SMALL
        return net

    def scores(self, z: Floats32) -> tuple[Floats32, Floats32]:
        """Scores (k, d) and hidden units (k, h) of prepared rows."""
        hidden = np.maximum(z @ self.U + self.c, 0)
        return z @ self.W + self.b + hidden @ self.V, hidden

    def like(self, flat: Floats32) -> Network:
        """A network of this shape with other weights."""
        other = Network(len(self.W), self.W.shape[1], len(self.c))
        other.flat[:] = flat
        return other

    def gradient(self, z: Floats32, hidden: Floats32, change: Floats32) -> Floats32:
        """Of all weights, flat, given that of the scores."""
        grad = Network(len(self.W), self.W.shape[1], len(self.c))
        inner = (change @ self.V.T) * (hidden > 0)
        np.matmul(z.T, change, out=grad.W)
        np.matmul(z.T, inner, out=grad.U)
        np.matmul(hidden.T, change, out=grad.V)
        grad.b[:], grad.c[:] = change.sum(axis=0), inner.sum(axis=0)
        return grad.flat


def train(
    source: Source,
    opinions: Sequence[Opinion],
    network: Network,
    schedule: Schedule,
    rng: Rng,
    n_jobs: int | None = None,
) -> None:
    """Move the weights of a network, in place, by what opinions say of the rows.

    The same seed gives the same weights on any number of threads: batches are cut into fixed blocks, and sums go
    by their order. Memory: the batch, and five copies of the weights.
    """
    W0, adam = network.W.copy(), Adam(network.flat)
    decay = Network(len(network.W), network.W.shape[1], len(network.c))
    for step in range(schedule.steps):
        total: Floats32 | None = None
        for opinion in opinions:
            part = _push(source, opinion, network, schedule.batch, rng, n_jobs)
            total = part if total is None else total + part
        assert total is not None
        decay.W[:], decay.U[:], decay.V[:] = PULL * (network.W - W0), DECAY * network.U, DECAY * network.V
        total += decay.flat
        rate = schedule.rate * 0.5 * (1 + np.cos(np.pi * (step + 1) / schedule.steps))
        adam.move(total, rate, n_jobs)


def _push(
    source: Source, opinion: Opinion, network: Network, size: int, rng: Rng, n_jobs: int | None
) -> Floats32:
    """Gradient of the weights by what one opinion says of a batch."""
    picked = opinion.draw(size, rng)
    parts = block_slices(len(picked), BLOCK)
    columns, rows, looks = source.columns, source.rows, source.looks

    def forward(part: slice) -> tuple[Floats32, Floats32, Floats32]:
        z = columns(rows, picked[part])
        scores, hidden = network.scores(z)
        return z, hidden, np.tanh(scores)

    def units() -> Floats32:
        if looks is None:
            return np.concatenate([unit_rows(columns.centered(z)) for z, _, _ in seen])
        return unit_rows(looks.columns.centered(looks.columns(looks.rows, picked)))

    seen = list(map_blocks(forward, parts, n_jobs))
    bits = np.concatenate([q for _, _, q in seen])
    batch = Batch(picked, bits, lru_cache(maxsize=1)(units), n_jobs)
    change = opinion.gradient(batch)

    def backward(place: int) -> Floats32:
        z, hidden, q = seen[place]
        return network.gradient(z, hidden, change[parts[place]] * (1 - q * q))

    total: Floats32 | None = None
    for part in map_blocks(backward, range(len(parts)), n_jobs):
        total = part if total is None else np.add(total, part, out=total)
    assert total is not None
    return total


class Adam:
    """Moves one flat array of weights in place."""

    def __init__(self, weights: Floats32) -> None:
        self.weights, self.t = weights, 0
        self.mean, self.square = np.zeros_like(weights), np.zeros_like(weights)

    def move(self, gradient: Floats32, rate: float, n_jobs: int | None = None) -> None:
        """One step against the gradient."""
        self.t += 1
        slow, slower = (np.float32(decay) for decay in DECAYS)
        size = np.float32(rate * np.sqrt(1 - DECAYS[1] ** self.t) / (1 - DECAYS[0] ** self.t))

        def one(part: slice) -> None:
            w, m, s, g = self.weights[part], self.mean[part], self.square[part], gradient[part]
            m += (1 - slow) * (g - m)
            s += (1 - slower) * (g * g - s)
            w -= size * m / (np.sqrt(s) + np.float32(1e-8))

        for _ in map_blocks(one, block_slices(len(self.weights), PART), n_jobs):
            pass


class NetworkMap(Map):
    """The map that was learned, in floating point; `whole` rounds it."""

    kind = "network"

    def __init__(self, columns: Columns, network: Network) -> None:
        self.columns, self.network = columns, network
        self.n_features, self.n_bits = len(columns.mean), network.W.shape[1]

    def scores(self, block: Array) -> Floats:
        return np.asarray(self.network.scores(self.columns(Rows(block), slice(None)))[0], np.float64)

    def _rounded(self, spread: Array | None) -> WholeMap:
        columns, net = self.columns, self.network
        W = net.W if columns.basis is None else columns.basis @ net.W
        return whole_network(columns.mean, columns.inverse, W, net.b, *self._hidden(len(W)))

    def _hidden(self, width: int) -> tuple[Array, Array, Array]:
        net = self.network
        if not len(net.c):  # combined columns: the map is linear in them, hence in all
            return np.zeros((width, 0)), net.c, net.V
        return net.U, net.c, net.V
