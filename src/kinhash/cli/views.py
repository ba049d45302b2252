"""Views in the command line: `kinhash fit --view NAME=FILE`, and `--view NAME` of commands that encode."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import numpy as np

from .._internal.types import Features, Ints
from .._internal.validation import check_finite
from ..errors import InvalidInput

if TYPE_CHECKING:
    from ..hashers import Hasher
    from ..metrics import Crossing
    from ..supervision import Labels

__all__ = ["add_views", "learn_views", "load_view", "read_views", "view_lines", "view_option"]

FIRST_VIEW = "the first view"

add_views = click.option(
    "--view",
    "views",
    metavar="NAME=FILE",
    multiple=True,
    help="Other features of the same rows, encoded into the same codes: text=captions.npy. May be repeated.",
)
view_option = click.option("--view", metavar="NAME", help="The rows are of this view of the model.")


def load_view(model: str, view: str | None) -> Hasher:
    """The hasher in a model file, or the one of a view of it."""
    from ..hashers import load_model

    hasher = load_model(model)
    return hasher if view is None else hasher.view(view)


def read_views(given: tuple[str, ...], n_rows: int) -> dict[str, Features]:
    """Names and matrices of the views, each with a row for each row of FEATURES."""
    from ..datasets import open_matrix
    from ..hashers import check_view_name

    found: dict[str, Features] = {}
    for one in given:
        name, _, path = one.partition("=")
        if not path or name in found:
            raise click.UsageError(
                f"--view {one}: pass NAME=FILE, each name once, such as text=captions.npy."
            )
        check_view_name(name)
        X = open_matrix(path).read()
        if X.shape[0] != n_rows:
            raise InvalidInput(
                f"{path} has {X.shape[0]:,} rows and the features have {n_rows:,}",
                "one row of every view for each row",
                "Bring them into the same order, with the same number of rows",
            )
        try:
            check_finite(X)
        except InvalidInput as error:
            raise InvalidInput(f"{path}: {error.wrong}", error.expected, error.remedy) from error
        found[name] = X
    return found


def learn_views(
    hasher: Hasher, X: Features, views: dict[str, Features], labels: Labels | None, held: Ints
) -> list[tuple[Crossing, Crossing]]:
    """Add all views to a fitted hasher; what they find, judged by the rows ``held`` out of them.

    Where the fit left no label model, as beside pairs, views are learned from their partners alone.
    """
    from ..hashers import takes_labels
    from ..metrics import compare_views

    train = np.setdiff1d(np.arange(X.shape[0]), held)
    if len(train) == X.shape[0]:
        train = slice(None)  # type: ignore[assignment]
    judged = []
    for name, rows in views.items():
        y = None if labels is None or not takes_labels(hasher) else labels[train]
        hasher.add_view(name, rows[train], y, beside=X[train])
        if len(held):
            judged.append(compare_views(hasher, name, (X, rows), labels, train, held))
    return judged


def view_lines(judged: list[tuple[Crossing, Crossing]]) -> list[str]:
    """One sentence for each direction."""
    return [_sentence(one) for both in judged for one in both]


def _sentence(one: Crossing) -> str:
    asked, searched = (name or FIRST_VIEW for name in (one.asked, one.searched))
    parts = []
    if "mAP" in one.scores:
        parts.append(f"mAP {one.scores['mAP']:.3f} (chance {one.chance['mAP']:.3f})")
        parts.append(f"{one.scores['p10']:.0%} of the first ten relevant (chance {one.chance['p10']:.0%})")
    own = f"own row among the first ten of {one.queries:,} for {one.scores['own']:.0%}"
    return f"{asked} → {searched}: {', '.join([*parts, own])} (chance {one.chance['own']:.1%})."
