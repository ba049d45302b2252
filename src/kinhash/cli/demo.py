"""`kinhash demo`: all steps once, on data that comes with scikit-learn."""

from __future__ import annotations

import time
from typing import Any

import click

from .terminal import bar, emit, json_option, wrapped

__all__ = ["demo"]

SHARE_KEPT_OUT = 0.2
PLACES = (1, 2, 3, 4, 40, 80, 120)  # the nearest kin, and kin that look less and less like the query
PAGE = (11.2, 6.05)  # inches
PANELS = ((0.005, 0.0, 0.525, 0.925), (0.563, 0.0, 0.435, 0.925))  # left, bottom, width, height: shares of it


@click.command()
@click.option("--bits", "n_bits", type=int, default=64, show_default=True, help="Length, from 1 to 1024.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Same seed, same bits.")
@click.option(
    "-o", "--output", metavar="FILE", default="kinhash-demo.png", show_default=True, help="The picture."
)
@json_option
def demo(n_bits: int, seed: int, output: str, as_json: bool) -> None:
    """Learn codes of handwritten digits, judge them, and picture queries with their neighbors.

    \b
    Example:
      kinhash demo --bits 32
    """
    import numpy as np
    from sklearn.datasets import load_digits

    from ..errors import MissingExtra
    from ..hashers import EnergyHasher
    from ..metrics import compare_labels, hold_out_rows
    from ..metrics import verdict as sentences
    from ..supervision import read_labels
    from .files import expect_output

    expect_output(output)
    start = time.perf_counter()
    pixels, classes = load_digits(return_X_y=True)
    X, labels, rng = pixels.astype(np.float32), read_labels(classes), np.random.default_rng(seed)
    train, queries = hold_out_rows(labels, len(labels), SHARE_KEPT_OUT, rng)
    with bar("learning codes", 1) as move:
        hasher = EnergyHasher(n_bits=n_bits, random_state=seed).fit(X[train], labels[train])
        move(0.6, "judging them")
        verdict = compare_labels(hasher, X, labels, train, queries, rng)
        move(0.8, "drawing")
        try:
            _draw(hasher, X, labels, train, queries, rng, output)
            drawn = f"Picture: {output} (green frame: same class; red cross: another; below: distance)."
        except MissingExtra as missing:
            drawn = f"No picture. {missing}"
    seconds = time.perf_counter() - start
    result = {"verdict": verdict.as_dict(), "picture": output, "seconds": seconds}
    lines = [
        f"{len(X):,} handwritten digits of 8 x 8 pixels, {len(labels.names)} classes; {n_bits} bits each.",
        "",
        str(verdict),
        "",
        *map(wrapped, sentences(verdict)),
        "",
        drawn,
        f"Done in {seconds:.0f} s. Try next:",
        "  kinhash demo --bits 16                             two bytes per picture",
        "  kinhash fit X.npy --labels y.txt -o model.kin      your own rows, and a verdict on them",
        "  docs/quickstart.md                                 from embeddings to search",
    ]
    emit(result, "\n".join(lines), as_json)


def _draw(hasher: Any, X: Any, labels: Any, train: Any, queries: Any, rng: Any, output: str) -> None:
    """What some queries find by our codes and by LSH: every second class's first, and the worst of ours."""
    import numpy as np

    from ..index import HammingIndex
    from ..metrics import CodeReferences
    from ..plot import INK, bare_page, neighbors, save_png

    size, classes = hasher.codes_.shape[1], labels.classes
    shapes = X.reshape(len(X), 8, 8)
    references = CodeReferences(X, train, hasher.n_bits, rng)
    ways = (
        (f"kinhash: {size} bytes that know the labels", lambda rows: hasher.encode(X[rows])),
        (f"LSH: {size} bytes that do not", references.lsh),
    )
    found = [HammingIndex.from_codes(code(train)).search(code(queries), PLACES[-1]) for _, code in ways]
    kin = [classes[train][one.ids] == classes[queries, None] for one in found]
    rows = [int(np.flatnonzero(classes[queries] == kind)[0]) for kind in np.unique(classes)[::2]]
    rows.append(int(kin[0].sum(axis=1).argmin()))
    page = bare_page(*PAGE)
    page.set_layout_engine("none")
    for number, place in enumerate(PANELS):
        axes = page.add_axes(place)
        first = f"{kin[number].mean():.0%} of the first {PLACES[-1]}"
        share = f"{first} are of the same class, over {len(queries)} queries"
        shown = None if number else shapes[queries]
        neighbors(
            found[number], shapes[train], queries=shown, kin=kin[number], rows=rows, places=PLACES, ax=axes
        )
        axes.set_title(f"{ways[number][0]}\n", fontsize=12, weight="bold", color=INK)
        axes.annotate(share, (0.5, 1), (0, 8), "axes fraction", "offset points", ha="center", color=INK)
    worst = f"worst of {len(queries)}"
    page.axes[0].text(0.5, len(rows) * 1.24 + 0.28, worst, ha="center", fontsize=7.5, style="italic")
    save_png(page, output, dpi=100)
