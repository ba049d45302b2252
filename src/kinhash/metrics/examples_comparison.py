"""Compare a fitted hasher with float cosine, ITQ, sign bits and LSH on pairs or triplets held out of the fit.

A score is how often two rows that belong together are nearer than two that do not; where only similar pairs
are known, others are random rows. A search for held-out partners says what a person finds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from .._internal.blocks import block_slices
from .._internal.types import Bytes, Facts, Floats, Ints, Matrix, Numbers, Rng, Seed
from .._internal.validation import make_rng
from ..codes import Codes, n_bytes
from ..encoders import WIDE, unsupervised_codes
from ..errors import InvalidInput
from ..supervision import Examples, Nearness, PairExamples, agreement_of, from_kin, from_pairs, from_triplets
from .answers import FIRST, Measures, hamming_scores, shares_of_first
from .code_references import CodeReferences
from .comparison import COSINE, ITQ, LEARNED, LSH, MAPPED, SIGN_BITS, AnyHasher, Comparison, Line
from .cosine import ScoreRows, cosine_scores, unit_rows
from .hold_out import hold_out_examples

__all__ = ["compare_examples", "compare_pairs", "compare_triplets"]

MOST_ROWS = 10_000  # that are searched
MOST_QUERIES = 500
MOST_EACH = 1_000  # held-out pairs of each kind that are compared with each other
SPEARMAN, P10, FOUND = "Spearman", "p10", "found"
NAMES = {"pairs": "ROC AUC", "grades": "in order", "similar pairs": "ROC AUC", "triplets": "in order"}
MEANINGS = {
    "pairs": "ROC AUC: how often a similar pair is nearer than a dissimilar one (0.5 is chance).",
    "grades": "in order: how often of two pairs the one of higher grade is nearer (0.5 is chance). Spearman: "
    "rank correlation of nearness and grade.",
    "similar pairs": "ROC AUC: how often a row's partner is nearer than a random row (0.5 is chance).",
    "triplets": "in order: how often the nearer row is nearer (0.5 is chance).",
}
FIRST_TEN = (
    "found: share of a row's held-out partners among its first ten answers. p10: share of these ten that are "
    "held-out partners (others may be right as well)."
)


class Search(NamedTuple):
    """A way to search some rows: how near two of them are, and scores of all for some."""

    bytes_per_item: int
    near: Nearness
    scores: ScoreRows


def compare_pairs(
    hasher: AnyHasher,
    X: Matrix,
    left: Numbers,
    right: Numbers,
    verdict: Numbers | None = None,
    *,
    random_state: Seed = 0,
) -> Comparison:
    """Fit a hasher on most of the pairs, and compare it with searches that read none on the others.

    ``verdict`` as in `EnergyHasher.fit_pairs`; without it all pairs are similar. Held-out pairs name rows
    that the others do not, where pairs allow it. `kinhash.metrics.verdict` says the result in sentences.
    """
    n = X.shape[0]
    supervision = from_kin(left, right, n) if verdict is None else from_pairs(left, right, verdict, n)
    return _fit_and_compare(hasher, X, supervision.examples[0], make_rng(random_state))


def compare_triplets(
    hasher: AnyHasher,
    X: Matrix,
    anchor: Numbers,
    nearer: Numbers,
    further: Numbers,
    *,
    random_state: Seed = 0,
) -> Comparison:
    """The same for triplets; see `compare_pairs`."""
    examples = from_triplets(anchor, nearer, further, X.shape[0]).examples[0]
    return _fit_and_compare(hasher, X, examples, make_rng(random_state))


def _fit_and_compare(hasher: AnyHasher, X: Matrix, examples: Examples, rng: Rng) -> Comparison:
    split = hold_out_examples(examples, X.shape[0], rng)
    if split is None:
        raise InvalidInput(
            f"{len(examples.ends):,} pairs or triplets are too few to hold some out",
            "ten of each kind in a third of them",
            "Pass more pairs, or fit without a comparison",
        )
    split[0].fit(hasher, X)
    return compare_examples(hasher, X, *split, rng)


def compare_examples(
    hasher: AnyHasher,
    X: Matrix,
    learned_from: Examples,
    held_out: Examples,
    rng: Rng,
    codes: Codes | None = None,
) -> Comparison:
    """Scores of a fitted hasher and of searches that read no pairs, on held-out pairs or triplets.

    ``codes`` are those of all rows of X, where these are not ``hasher.codes_``. Peak memory beyond the
    features: at most 10,000 rows as floats.
    """
    kind, judged = held_out.kind, _judged(held_out, rng)
    rows = _searched(judged, X.shape[0], rng)
    place = np.full(X.shape[0], -1, np.int64)
    place[rows] = np.arange(len(rows))
    seed = int(rng.integers(2**31))
    some = judged.renumbered(place, len(rows))
    asked = _queries(judged, learned_from, place, rng)
    codes = hasher.codes_ if codes is None else codes
    searches = _searches(hasher, X, rows, codes, rng)

    def measures(one: Search) -> Measures:
        scored = some.score(one.near, np.random.default_rng(seed))
        found = {NAMES[kind]: scored.score + scored.influences * len(scored.influences)}
        if kind == "grades":
            assert isinstance(some, PairExamples)
            near = np.asarray(one.near(some.left, some.right), np.float64)
            found[SPEARMAN] = _rank_products(near, some.similarity)
        return found | ({} if asked is None else _first_ten(one.scores, *asked))

    lines = tuple(Line(name, one.bytes_per_item, measures(one)) for name, one in searches.items())
    facts = _facts(hasher, codes, learned_from, held_out, lines[-1].bytes_per_item)
    facts |= {"kind": kind, "bytes_per_item_before": searches[COSINE].bytes_per_item}
    found = Comparison(NAMES[kind], _protocol(kind, learned_from, held_out, len(rows)), lines, facts)
    better = codes.learned and not found.ahead(MAPPED, LEARNED)
    return replace(found, facts=facts | {"codes": "learned" if better else "mapped"})


def _judged(held_out: Examples, rng: Rng) -> Examples:
    """At most a thousand of each kind, so that differences of all are compared."""
    if not isinstance(held_out, PairExamples):
        return held_out.subset(rng.permutation(len(held_out.ends))[: 2 * MOST_EACH])
    similar = held_out.similarity > 0
    parts = [rng.permutation(np.flatnonzero(one))[:MOST_EACH] for one in (similar, ~similar)]
    return held_out.subset(rng.permutation(np.concatenate(parts)))


def _searched(judged: Examples, n_rows: int, rng: Rng) -> Ints:
    """Rows that held-out examples name, and random others, in order."""
    named = np.unique(judged.ends)
    others = np.setdiff1d(np.arange(n_rows), named, assume_unique=True)
    return np.sort(np.concatenate([named, rng.permutation(others)[: max(0, MOST_ROWS - len(named))]]))


def _searches(hasher: AnyHasher, X: Matrix, rows: Ints, codes: Codes, rng: Rng) -> dict[str, Search]:
    n_bits, n_columns = int(hasher.n_bits), int(X.shape[1])
    size, unit = n_bytes(n_bits), unit_rows(X, rows)
    references = CodeReferences(X, rows, n_bits, rng)
    found = {LEARNED: _by_codes(codes[rows].repeated(), size)} if codes.learned else {}
    found[MAPPED] = _by_codes(hasher.encode(X[rows]).repeated(), size)
    found[COSINE] = Search(4 * n_columns, _cosine(unit), cosine_scores(unit, unit))
    if hasher.report_.facts.get("pull") != "start" and n_columns <= WIDE:  # those would be ITQ's once more
        found[ITQ] = _by_codes(unsupervised_codes(X, rows, n_bits, rng), size)
    found[SIGN_BITS] = _by_codes(references.sign_bits(rows), n_bytes(n_columns))
    found[LSH] = _by_codes(references.lsh(rows).packed, size)
    return found


def _by_codes(packed: Bytes, bytes_per_item: int) -> Search:
    return Search(bytes_per_item, agreement_of(packed.__getitem__), hamming_scores(packed, packed))


def _cosine(unit: Matrix) -> Nearness:
    def near(left: Ints, right: Ints) -> Floats:
        out = np.empty(len(left))
        for part in block_slices(len(left), 4096):
            one, other = unit[left[part]], unit[right[part]]
            if sp.issparse(unit):
                out[part] = np.asarray(one.multiply(other).sum(axis=1)).ravel()
            else:
                out[part] = np.einsum("ij,ij->i", one, other, dtype=np.float64)
        return out

    return near


def _rank_products(one: Floats, other: Floats) -> Floats:
    """Products of standardized ranks (m,), whose mean is Spearman's correlation."""
    from scipy.stats import rankdata

    ranks = [rankdata(values) for values in (one, other)]
    first, second = (values - values.mean() for values in ranks)
    scale = float(np.sqrt((first**2).mean() * (second**2).mean())) or 1.0
    return np.asarray(first * second / scale, np.float64)


def _queries(
    judged: Examples, learned_from: Examples, place: Ints, rng: Rng
) -> tuple[Ints, sp.csr_array] | None:
    """Rows that no training pair names and their held-out partners (q, rows); None if there are none."""
    links = judged.links()
    ends = np.stack([links.left, links.right], axis=1)
    ends = np.concatenate([ends, ends[:, ::-1]])
    ends = ends[~np.isin(ends[:, 0], learned_from.ends)]
    if not len(ends):
        return None
    asked, group = np.unique(place[ends[:, 0]], return_inverse=True)
    shape = len(asked), int((place >= 0).sum())
    partners = sp.csr_array((np.ones(len(ends)), (group, place[ends[:, 1]])), shape=shape)
    some = np.sort(rng.permutation(len(asked))[:MOST_QUERIES])
    return asked[some], partners[some]


def _first_ten(scores: ScoreRows, asked: Ints, partners: sp.csr_array) -> Measures:
    """Partners among the first ten of each query, the query itself left out, equal scores in random order."""
    found = np.empty(len(asked))
    for part in block_slices(len(asked), 64):
        block = np.asarray(scores(asked[part]), np.float64)
        block[np.arange(len(block)), asked[part]] = -np.inf
        found[part] = (shares_of_first(block, FIRST) * (partners[part].toarray() > 0)).sum(axis=1)
    return {FOUND: found / (partners > 0).sum(axis=1), P10: found / FIRST}


def _facts(hasher: AnyHasher, codes: Codes, learned_from: Examples, held_out: Examples, size: int) -> Facts:
    chosen = hasher.report_.facts
    kept = ("pull", "checked", "partners", "partners_score", "score_without")
    return {
        "pairs_held_out": len(held_out.ends),
        "pairs_learned_from": len(learned_from.ends),
        "n_bits": int(hasher.n_bits),
        "bytes_per_item_after": size,
        **{name: chosen[name] for name in kept if name in chosen},
        **({"unique_codes_learned": len(np.unique(codes.packed, axis=0))} if codes.learned else {}),
    }


def _protocol(kind: str, learned_from: Examples, held_out: Examples, n_rows: int) -> str:
    n, total = len(held_out.ends), len(held_out.ends) + len(learned_from.ends)
    what = "triplets" if kind == "triplets" else "pairs"
    known = int(np.isin(held_out.ends, learned_from.ends).any(axis=1).sum())
    where = (
        f"{known:,} of them name a row that others name"
        if known
        else f"no other {what[:-1]} names their rows"
    )
    taken = f"{n:,} of {total:,} {what} were held out of the fit; {where}."
    if not len(learned_from.ends):
        taken = f"{n:,} pairs of rows that were held out of the fit."
    return (
        f"Protocol: {taken} {n_rows:,} rows are searched.\n{MEANINGS[kind]}\n{FIRST_TEN}\n"
        f"Equal distances count one half. Intervals: over held-out {what}."
    )
