"""Where rows stand on the map: near to rows with near codes, as far as two dimensions allow.

Every distinct code (with margins: every row) is a point, linked to its nearest ones by the exact search of
`HammingIndex`; `settle` moves the points from a start along the principal directions of the bits. Rows of
one code stand around its point in a disc as large as their number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._internal.blocks import block_slices
from .._internal.compile import njit
from .._internal.types import Array, Floats, Floats32, Ints, Rng
from ..codes import Codes, unpack_bits
from ..index import HammingIndex

LINKS = 12  # nearest points that each is linked to,
LOOKED_AT = 40  # of this many near ones: among equally near ones chance decides, or the margins
PUSHED = 4  # random points that each step pushes away
UPDATES = 400_000_000  # pulls and pushes in all: seconds, not minutes
MOST_STEPS = 400
GRAVITY = 0.004  # pull towards the middle, so that islands do not drift far apart
START = 3.0  # spread of the start, in units of the pull
BLOCK_ROWS = 4096
LARGEST_STEP = 4.0
NEAR = 1e-3  # what keeps points in one place from being pushed infinitely far
GOLDEN = np.pi * (3 - 5**0.5)  # angle between neighbors in a sunflower's head


def layout(codes: Codes, margins: Array | None, seed: int) -> Floats32:
    """Places (n, 2) in the unit square. ``margins`` (n, d) are real-valued bits: they tell more rows apart.

    The same seed gives the same map. Memory: the unpacked bits as float32, and 40 links of every point.
    """
    if not len(codes):
        return np.zeros((0, 2), np.float32)
    rng = np.random.default_rng(seed)
    points = _points(codes, margins)
    places = _start(points.vectors)
    heads, tails = _links(points, rng)
    if len(heads):
        steps = int(np.clip(UPDATES // (len(heads) * (1 + PUSHED)), 50, MOST_STEPS))
        places = np.ascontiguousarray(places, np.float64)
        order = rng.permutation(len(heads))
        settle(places, heads[order], tails[order], steps, PUSHED, GRAVITY, int(rng.integers(2**31)))
    return _in_unit_square(_spread(places, points.point_of_row))


@dataclass(frozen=True, eq=False)
class _Points:
    """What is laid out: distinct codes, or all rows. ``vectors`` (m, d) are bits as ±1, or soft ones."""

    codes: Codes
    vectors: Floats32
    point_of_row: Ints
    soft: bool


def _points(codes: Codes, margins: Array | None) -> _Points:
    if margins is not None:
        usual = np.maximum(np.abs(margins).mean(axis=0), 1e-12)
        soft = np.tanh(margins / usual).astype(np.float32)
        plain = Codes(codes.packed, codes.n_bits)
        return _Points(plain, soft, np.arange(len(codes)), soft=True)
    rows = np.ascontiguousarray(codes.packed).view(np.dtype((np.void, codes.packed.shape[1])))[:, 0]
    _, first, point = np.unique(rows, return_index=True, return_inverse=True)
    packed = codes.packed[first]
    bits = unpack_bits(packed, codes.n_bits).astype(np.float32)
    vectors = 2 * bits - 1
    return _Points(Codes(packed, codes.n_bits), vectors, point, soft=False)


def _start(vectors: Floats32) -> Floats:
    """The first two principal directions, a sign fixed for each."""
    centered = vectors.astype(np.float64) - vectors.mean(axis=0)
    _, directions = np.linalg.eigh(centered.T @ centered)
    two = directions[:, ::-1][:, :2]
    two *= np.sign(two[np.abs(two).argmax(axis=0), np.arange(two.shape[1])])
    places = np.zeros((len(vectors), 2))
    places[:, : two.shape[1]] = centered @ two
    return START * places / max(float(places.std()), 1e-12)


def _links(points: _Points, rng: Rng) -> tuple[Ints, Ints]:
    """Each point with its nearest ones: by distance, then by margins where there are some, else by chance."""
    n = len(points.codes)
    if n < 2:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    shuffled = rng.permutation(n)  # equal distances come in the order of ids, which must not matter here
    own = np.empty(n, np.int64)
    own[shuffled] = np.arange(n)
    index = HammingIndex.from_codes(points.codes[shuffled])
    found = index.search(points.codes, min(LOOKED_AT, n - 1), exclude=own)
    near = shuffled[found.ids]
    n_links = min(LINKS, n - 1)
    tails = np.empty((n, n_links), np.int64)
    for rows in block_slices(n, BLOCK_ROWS):
        if points.soft:
            apart = points.vectors[near[rows]] - points.vectors[rows, None]
            far = np.einsum("ijk,ijk->ij", apart, apart)
        else:
            far = found.distances[rows] + rng.random(near[rows].shape)
        best = np.argpartition(far, n_links - 1, axis=1)[:, :n_links]
        tails[rows] = np.take_along_axis(near[rows], best, axis=1)
    return np.repeat(np.arange(n), n_links), tails.ravel()


def _spread(places: Floats, point_of_row: Ints) -> Floats:
    """Rows of one point in a sunflower around it, with the density of the map as a whole."""
    counts = np.bincount(point_of_row, minlength=len(places))
    if counts.max() == 1:
        return places[point_of_row]
    order = np.argsort(point_of_row, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    width = np.ptp(places, axis=0).max() if len(places) > 1 else 1.0
    unit = 0.3 * max(width, 1e-9) / len(point_of_row) ** 0.5
    alone = counts[point_of_row] == 1
    radius = np.where(alone, 0.0, unit * np.sqrt(rank + 0.5))
    angle = rank * GOLDEN
    return places[point_of_row] + radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])


def _in_unit_square(places: Floats) -> Floats32:
    """Shifted and scaled alike in both directions, so that distances keep their meaning."""
    low, high = places.min(axis=0), places.max(axis=0)
    size = max(float((high - low).max()), 1e-12)
    return (0.5 + (places - (low + high) / 2) / size).astype(np.float32)


@njit(cache=True, nogil=True)
def settle(places, heads, tails, n_steps, n_pushed, gravity, seed):  # type: ignore[no-untyped-def]
    """Move ``places`` (n, 2) in place: ``n_steps`` rounds over the links ``heads[i] → tails[i]``.

    With ``q(d) = 1 / (1 + d²)``, linked points climb ``log q`` and random pairs ``log(1 − q)``, one pair at a
    time with a step that shrinks to zero. One thread and a generator of our own: the same seed, the same map.

    Tang, Liu, Zhang, Mei. Visualizing large-scale and high-dimensional data. 2016.
    """
    n = places.shape[0]
    state = (seed * 2 + 1) & 0xFFFFFFFF
    for step in range(n_steps):
        rate = 1.0 - step / n_steps
        for link in range(heads.shape[0]):
            i, j = heads[link], tails[link]
            dx, dy = places[i, 0] - places[j, 0], places[i, 1] - places[j, 1]
            pull = -2.0 / (1.0 + dx * dx + dy * dy)
            mx = rate * min(LARGEST_STEP, max(-LARGEST_STEP, pull * dx))
            my = rate * min(LARGEST_STEP, max(-LARGEST_STEP, pull * dy))
            places[i, 0] += mx
            places[i, 1] += my
            places[j, 0] -= mx
            places[j, 1] -= my
            places[i, 0] -= rate * gravity * places[i, 0]
            places[i, 1] -= rate * gravity * places[i, 1]
            for _ in range(n_pushed):
                state = (1664525 * state + 1013904223) & 0xFFFFFFFF
                k = (state * n) >> 32
                if k == i:
                    continue
                dx, dy = places[i, 0] - places[k, 0], places[i, 1] - places[k, 1]
                square = dx * dx + dy * dy
                push = 2.0 / ((NEAR + square) * (1.0 + square))
                places[i, 0] += rate * min(LARGEST_STEP, max(-LARGEST_STEP, push * dx))
                places[i, 1] += rate * min(LARGEST_STEP, max(-LARGEST_STEP, push * dy))
