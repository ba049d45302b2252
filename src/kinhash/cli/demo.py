"""`kinhash demo`: all steps once, on data that comes with scikit-learn."""

from __future__ import annotations

import io
import time
from typing import Any

import click
import numpy as np
from sklearn.datasets import load_digits

from .._internal.files import replace_file
from ..errors import MissingExtra
from ..hasher import EnergyHasher
from ..index import HammingIndex
from ..labels import read_labels
from ..metrics import compare, hold_out
from .inputs import expect_output
from .terminal import bar, emit, json_option, output_option, refuse

SHARE, SEED, QUERIES, PLACES = 0.2, 0, 6, 10


@click.command()
@click.option("--bits", "n_bits", type=click.IntRange(1), default=64, show_default=True, help="Length.")
@output_option("A picture of queries and their neighbors (needs matplotlib).", required=False)
@json_option
def demo(n_bits: int, output: str | None, as_json: bool) -> None:
    """Learn codes of handwritten digits, judge them, and show queries with their neighbors.

    \b
    Examples:
      kinhash demo
      kinhash demo --bits 32 -o digits.png
    """
    wrong = output is not None and not output.lower().endswith(".png")
    refuse((wrong, f"-o {output}: the picture is a PNG, so its name must end in .png."))
    expect_output(output)
    start = time.perf_counter()
    pixels, y = load_digits(return_X_y=True)
    X, rng = pixels.astype(np.float32), np.random.default_rng(SEED)
    split = hold_out(read_labels(y), rng, share=SHARE)
    train, queries = split
    with bar("learning codes", 1) as move:
        hasher = EnergyHasher(n_bits=n_bits, random_state=SEED).fit(X[train], y[train])
        move(0.6, "judging them")
        verdict = compare(hasher, X, y, split=split, random_state=rng)
        index = HammingIndex.from_codes(hasher.encode(X[train]))
        shown = queries[:QUERIES]
        answers = train[np.array([one.ids for one in index.search(hasher.encode(X[shown]), PLACES)])]
        if output is not None:
            move(0.8, "drawing")
            _draw(X, y, shown, answers, output)
    seconds = time.perf_counter() - start
    result = {"verdict": verdict.as_dict(), "picture": output, "seconds": seconds}
    lines = [
        f"{len(X):,} handwritten digits of 8 x 8 pixels, 10 classes; {n_bits} bits each.",
        "",
        str(verdict),
        "",
        *(
            f"a {y[row]} finds: {' '.join(map(str, y[found]))}"
            for row, found in zip(shown, answers, strict=True)
        ),
        "",
        *([] if output is None else [f"Picture: {output} (red: another class)."]),
        f"Done in {seconds:.0f} s. Try next:",
        "  kinhash demo --bits 16                             two bytes per picture",
        "  kinhash fit X.npy --labels y.txt -o model.kin      your own rows, and a verdict on them",
        "  docs/quickstart.md                                 from embeddings to search",
    ]
    emit(result, "\n".join(lines), as_json)


def _draw(X: Any, y: Any, queries: Any, answers: Any, output: str) -> None:
    """Queries in the first column, and what they find."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtra.of("matplotlib", "plot") from None
    figure = Figure(figsize=(PLACES + 1, QUERIES))
    for row, (query, found) in enumerate(zip(queries, answers, strict=True)):
        for column, one in enumerate([query, *found]):
            axes = figure.add_subplot(QUERIES, PLACES + 1, row * (PLACES + 1) + column + 1)
            axes.imshow(X[one].reshape(8, 8), cmap="gray_r" if y[one] == y[query] else "Reds")
            axes.set_axis_off()
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=80)
    replace_file(output, [memoryview(content.getvalue())])
