"""Which pairs, clicks or triplets are held out of a fit, and how well codes do on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import scipy.sparse as sp

from .._internal.types import Bools, Bytes, Floats, Ints, Rng
from ..supervision import ENOUGH, Examples, agreement_of
from .found import found_partners

__all__ = ["FOLDS", "Scores", "folded", "judged", "means", "scores_of", "split_among_named"]

FOLDS, HELD_OUT = 3, 0.2  # folds, and the share of examples that each holds out; one fold is a matter of luck

Split: TypeAlias = tuple[list[Examples], list[Examples]]  # to learn from, and held out


def judged(held: Sequence[Examples], codes: Callable[[Ints], Bytes], seed: int) -> tuple[float, Floats]:
    """Mean score of held-out examples of all kinds by their weights, and pseudo-values less that mean.

    A pseudo-value is what an example would add to the score if it were a mean over examples: its influence
    times their number.
    """
    found = [one.score(agreement_of(codes), np.random.default_rng(seed)) for one in held]
    weights = np.array([one.weight for one in held]) / sum(one.weight for one in held)
    influences = np.concatenate([w * each.influences for w, each in zip(weights, found, strict=True)])
    score = float(weights @ [each.score for each in found])
    return score, influences * len(influences)


class Scores(NamedTuple):
    """Of held-out examples: how well each is in order, and whether a search finds its partner; 0 to 1."""

    order: Floats
    partners: Floats


def means(scores: Sequence[Scores]) -> tuple[float, float]:
    """The mean order and the mean share of partners found, over folds."""
    order, partners = (np.concatenate(part) for part in zip(*scores, strict=True))
    return float(order.mean()), float(partners.mean()) if len(partners) else 0.0


def scores_of(held: Sequence[Examples], codes: Callable[[Ints], Bytes], n_rows: int, seed: int) -> Scores:
    """How codes order held-out examples, and which partners they find."""
    score, influences = judged(held, codes, seed)
    return Scores(score + influences, found_partners(held, codes, n_rows, seed))


def folded(
    examples: Sequence[Examples],
    n_rows: int,
    rng: Rng,
    held_out: float = HELD_OUT,
    n_folds: int = FOLDS,
) -> list[Split]:
    """Examples to learn from and held-out ones, for each fold; none at all where all kinds are too few.

    A kind with too few examples for a fold is learned from there, if it can be, and is not judged by.
    Held-out examples name a row of the fold, and no other example does. Folds are whole connected components
    where a fold has ten of them or more, by their effective number. Otherwise they are single rows: fewer
    components would ask about groups that were not seen, and one end of a held-out pair may then be known.
    Pairs held out at random would flatter a map that remembers rows.
    """
    fold = _fold_of_row(examples, n_rows, rng, held_out)
    found = []
    for k in range(n_folds):
        split = _split(examples, [(fold[one.ends] == k).any(axis=1) for one in examples], rng)
        if split is None:
            return []
        found.append(split)
    return found


def split_among_named(examples: Sequence[Examples], n_rows: int, rng: Rng) -> Split | None:
    """Examples to learn from, and held-out ones whose rows those name too; None where they are too few."""
    drawn = [rng.random(len(one.ends)) < HELD_OUT for one in examples]
    named = np.zeros(n_rows, bool)
    for one, out in zip(examples, drawn, strict=True):
        named[one.ends[~out]] = True
    held = [out & named[one.ends].all(axis=1) for one, out in zip(examples, drawn, strict=True)]
    return _split(examples, held, rng)


def _split(examples: Sequence[Examples], held: Sequence[Bools], rng: Rng) -> Split | None:
    """The examples but for the held ones, and these in random order; None where no kind has enough."""
    learn, judged_by = list[Examples](), list[Examples]()
    for one, mask in zip(examples, held, strict=True):
        known, asked = one.subset(~mask), one.subset(rng.permutation(np.flatnonzero(mask)))
        if known.is_enough():
            learn.append(known)
            if asked.is_enough(to_score=True):
                judged_by.append(asked)
    return (learn, judged_by) if judged_by else None


def _fold_of_row(examples: Sequence[Examples], n_rows: int, rng: Rng, held_out: float) -> Ints:
    """The fold of each row (n,)."""
    ends = [one.ends for one in examples]
    links = np.concatenate([each[:, [0, k]] for each in ends for k in range(1, each.shape[1])]).T
    graph = sp.csr_array((np.ones(links.shape[1]), (links[0], links[1])), shape=(n_rows, n_rows))
    n_groups, group = sp.csgraph.connected_components(graph, directed=False)
    sizes = np.bincount(group[np.concatenate([each[:, 0] for each in ends])], minlength=n_groups)
    share = held_out
    effective = sizes.sum() ** 2 / (sizes.astype(np.float64) ** 2).sum()
    if held_out * effective < ENOUGH:
        widest = max(each.shape[1] for each in ends)
        share = 1 - (1 - held_out) ** (1 / widest)  # of rows, so that the share of examples is as wanted
        n_groups, group = n_rows, np.arange(n_rows)
        sizes = (np.bincount(links.ravel(), minlength=n_rows) > 0).astype(np.int64)
    order = rng.permutation(n_groups)
    fold = np.empty(n_groups, np.int64)
    fold[order] = np.floor((np.cumsum(sizes[order]) - 1) / (share * sizes.sum())).clip(min=0)
    return fold[group]
