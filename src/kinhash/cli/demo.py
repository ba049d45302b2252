"""`kinhash demo`: everything once, on data that comes with scikit-learn."""

from __future__ import annotations

import time
from typing import Any

import click

from ._terminal import bar, emit, json_option

__all__ = ["demo"]

SHARE_KEPT_OUT = 0.2


@click.command()
@click.option("--bits", "n_bits", type=int, default=64, show_default=True, help="Length, from 1 to 1024.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Same seed, same bits.")
@click.option(
    "-o", "--output", metavar="FILE", default="kinhash-demo.png", show_default=True, help="The picture."
)
@json_option
def demo(n_bits: int, seed: int, output: str, as_json: bool) -> None:
    """Learn codes of handwritten digits, judge them, and picture queries with their neighbours.

    \b
    Example:
      kinhash demo --bits 32
    """
    import numpy as np

    from ..datasets import load
    from ..errors import MissingExtra
    from ..evaluation import compare_labels, hold_out_rows
    from ..hashers.energy import EnergyHasher
    from ._files import expect_output
    from ._verdict import looks_sentence, verdict_text

    expect_output(output)
    start = time.perf_counter()
    digits = load("digits")
    assert digits.labels is not None
    X, labels, rng = digits.features, digits.labels, np.random.default_rng(seed)
    train, queries = hold_out_rows(labels, len(labels), SHARE_KEPT_OUT, rng)
    with bar("learning codes", 1) as move:
        hasher = EnergyHasher(n_bits=n_bits, random_state=seed).fit(X[train], labels[train])
        move(0.6, "judging them")
        verdict = compare_labels(hasher, X, labels, train, queries, rng)
        move(0.8, "drawing")
        try:
            _draw(hasher, digits, train, queries, rng, output)
            drawn = f"Picture: {output} (green frame: kin; red cross: stranger; below: distance)."
        except MissingExtra as missing:
            drawn = f"No picture. {missing}"
    seconds = time.perf_counter() - start
    result = {"verdict": verdict.as_dict(), "picture": output, "seconds": seconds}
    lines = [
        f"{len(X):,} handwritten digits of 8 x 8 pixels, {len(labels.names)} classes; {n_bits} bits each.",
        "",
        verdict_text(verdict),
        *looks_sentence(verdict.facts),
        "",
        drawn,
        f"Done in {seconds:.0f} s. Try next:",
        "  kinhash demo --bits 16                             two bytes per picture",
        "  kinhash fit X.npy --labels y.txt -o model.kin      your own rows, and a verdict on them",
        "  docs/quickstart.md                                 from embeddings to search",
    ]
    emit(result, "\n".join(lines), as_json)


def _draw(hasher: Any, digits: Any, train: Any, queries: Any, rng: Any, output: str) -> None:
    """Every second class's first query, and the one our codes do worst on; by our codes and by LSH."""
    from ..evaluation import CodeReferences
    from ._picture import Panel, Pictures, draw_neighbours

    references = CodeReferences(digits.features, train, hasher.n_bits, rng)
    size = hasher.codes_.shape[1]
    ours = [hasher.encode(digits.features[rows]) for rows in (queries, train)]
    lsh = [references.lsh(rows) for rows in (queries, train)]
    panels = [
        Panel(f"kinhash: {size} bytes that know the labels", *ours),
        Panel(f"LSH: {size} bytes that do not", *lsh),
    ]
    shapes, classes = digits.features.reshape(len(digits), 8, 8), digits.labels.classes
    draw_neighbours(
        panels, Pictures(shapes[queries], classes[queries]), Pictures(shapes[train], classes[train]), output
    )
