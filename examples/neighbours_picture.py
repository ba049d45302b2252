"""Query digits and their nearest neighbours by 64-bit codes, as a picture.

    python examples/neighbours_picture.py [neighbours.png]

Codes are learned from the classes of 1,200 digits. Those and the queries are encoded from their pixels, and
each query is searched among the 1,200. A green frame is a neighbour of the same class.
"""

import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from kinhash import EnergyHasher, HammingIndex

N_TRAIN, N_QUERIES, K = 1200, 8, 10


def draw(images, y, queries, found):
    """One row per query: the query, then its neighbours in order, framed by whether they are kin."""
    figure, axes = plt.subplots(len(queries), K + 1, figsize=(K + 1, len(queries) + 0.6))
    for row, (query, neighbours) in enumerate(zip(queries, found, strict=True)):
        shown = [query, *neighbours.ids.tolist()]
        for column, item in enumerate(shown):
            panel = axes[row, column]
            panel.imshow(images[item], cmap="gray_r", interpolation="nearest")
            panel.set_xticks([])
            panel.set_yticks([])
            colour = "black" if column == 0 else "tab:green" if y[item] == y[query] else "tab:red"
            panel.spines[:].set(color=colour, linewidth=2.5)
            if column:
                panel.set_xlabel(str(neighbours.distances[column - 1]), fontsize=7, labelpad=1)
    axes[0, 0].set_title("query", fontsize=9)
    axes[0, 1].set_title("nearest, with the number of differing bits", fontsize=9, loc="left")
    return figure


def main(target: Path) -> float:
    digits = load_digits()
    X, y = digits.data, digits.target
    hasher = EnergyHasher(n_bits=64, random_state=0).fit(X[:N_TRAIN], y[:N_TRAIN])
    index = HammingIndex.from_codes(hasher.encode(X[:N_TRAIN]))
    queries = range(N_TRAIN, N_TRAIN + N_QUERIES)
    found = index.search(hasher.encode(X[N_TRAIN : N_TRAIN + N_QUERIES]), K)
    draw(digits.images, y, queries, found).savefig(target, dpi=120, bbox_inches="tight")

    everything = index.search(hasher.encode(X[N_TRAIN:]), K)
    kin = float((y[everything.ids] == y[N_TRAIN:, None]).mean())
    print(f"{kin:.1%} of the {K} nearest are of the query's class; picture in {target}")
    return kin


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "neighbours.png"))
