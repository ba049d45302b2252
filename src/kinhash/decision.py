"""Same or not? The largest radius at which matches are false at most as often as you allow, with evidence.

A pair of rows is *true* if its rows belong together, and a *stranger pair* if not. Within a radius some stranger
pairs are accepted, too. Two rates describe them:

* *per stranger pair*: the share of stranger pairs that are accepted. It does not depend on who is searched.
* *false share*: the share of the accepted pairs that are strangers. It depends on ``share_true``, the share of
  true pairs among those that a search compares: ``(1 − s)·f / ((1 − s)·f + s·recall)``.

`decide_labels` and `decide_pairs` choose the largest radius whose false share is at most ``max_false`` with 95 %
confidence. Radii are tested one after the other until one fails: fixed-sequence testing, which needs no correction
for their number (Angelopoulos et al., "Learn then Test", 2021). Three sequences begin where 3, 30 and 80 % of the true
pairs are found, and each has a third of the error. Every test takes an upper bound of the accepted strangers (4 % in
all sequences) and a lower bound of the recall (1 %): exact binomial bounds of Clopper and Pearson where pairs are
independent.

Pairs that share a row are not independent, and n rows are not n² trials. So the bounds count *effective* pairs, as
survey statistics do (Korn and Graubard, 1998): as many independent pairs as would give the variance that is found
between rows (Aronow, Samii and Assenova, 2015). Pairs in which every row comes once count fully. Where there are 30
classes or more, the variance between classes counts if it is larger: new rows may bring new classes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp

from ._internal.blocks import block_slices
from ._internal.types import Array, Bools, Facts, Floats, Ints, LabelsLike, Matrix, Numbers, Rng
from .codes import Codes, word_distances
from .errors import InvalidInput
from .labels import Labels, read_labels
from .pairs import read_ends

if TYPE_CHECKING:
    from .index import HammingIndex

__all__ = ["Decision", "Rate", "decide_duplicates", "decide_labels", "decide_pairs"]

CONFIDENCE = 0.95
STARTS = (0.03, 0.3, 0.8)  # shares of true pairs within the radii that sequences of tests begin with
OF_STRANGERS, OF_TRUE = 0.04 / 3, 0.01 / 3  # errors of the two bounds; in all sequences they add up to 5 %
MOST_ROWS = 10_000  # rows whose pairs are all compared: a random sample of more
MANY_CLASSES = 30  # from here on classes count as clusters
ENOUGH = 10  # accepted (and rejected) pairs from which a variance is estimated
COSINES = 1_000  # thresholds of the cosine that are tried
BLOCK = 4_000_000  # pairs that are compared at once


class Rate(NamedTuple):
    """A share, and the bounds of its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{percent(self.value)} ({percent(self.low)} to {percent(self.high)})"


@dataclass(frozen=True)
class Decision:
    """The radius within which two rows are called the same, or None, and the evidence; ``print`` says it in words.

    Parameters
    ----------
    radius : int or None
        Largest number of differing bits; None if no radius keeps to ``max_false``.
    max_false : float
        The share of false matches that was asked for.
    share_true : float
        Share of true pairs among those compared, for which ``false_share`` holds.
    false_share, per_stranger, recall : Rate
        At the radius; where there is none, at ``nearest``. The upper bounds of the first two are those tested.
    reachable, nearest : float and int, or None
        Where the radius is None: a share of false matches that can be reached, and its radius.
    n_true, n_strangers, n_rows : int
        Numbers of pairs, and of the rows in them.
    pairs : str
        What the pairs were.
    cosine, cosine_recall : float or None
        The least cosine that keeps to ``max_false``, chosen on the same pairs in the same way, and its recall.
    n_bits : int
    """

    radius: int | None
    max_false: float
    share_true: float
    false_share: Rate
    per_stranger: Rate
    recall: Rate
    reachable: float | None
    nearest: int | None
    n_true: int
    n_strangers: int
    n_rows: int
    pairs: str
    cosine: float | None
    cosine_recall: float | None
    n_bits: int

    def as_dict(self) -> Facts:
        """Plain values for JSON, and the sentences as ``text``."""
        facts = asdict(self) | {name: list(getattr(self, name)) for name in RATES}
        return facts | {"text": self.text()}

    @classmethod
    def from_dict(cls, facts: Any, n_bits: int) -> Self:
        """Undo `as_dict`; raises ValueError for what no `Decision` can be."""
        names = {one.name for one in fields(cls)}
        if not isinstance(facts, dict) or facts.keys() != names | {"text"} or facts["n_bits"] != n_bits:
            raise ValueError("a decision with facts that are missing or unknown")
        given = {name: facts[name] for name in names} | {name: Rate(*facts[name]) for name in RATES}
        for name in ("radius", "nearest"):
            if given[name] is not None and not (type(given[name]) is int and 0 <= given[name] <= n_bits):
                raise ValueError(f"a decision whose {name} is {given[name]!r}")
        shares = [given["max_false"], given["share_true"], *(one for name in RATES for one in given[name])]
        if not all(isinstance(one, int | float) and 0 <= one <= 1 for one in shares):
            raise ValueError("a decision with shares that are none")
        decision = cls(**given)
        decision.text()  # fails for values of other types
        return decision

    def text(self) -> str:
        """The decision and its evidence in a few sentences."""
        prior = f"where 1 in {one_in(self.share_true)} of the pairs compared is true"
        found = (
            f"It finds {self.recall} of the true pairs, and accepts {percent(self.per_stranger.value)} of the "
            f"stranger pairs (at most {percent(self.per_stranger.high)})."
        )
        if self.radius is not None:
            said = [
                f"Same within {self.radius} of {self.n_bits} bits: at most {percent(self.false_share.high)} of the "
                f"matches are false (95 % confidence; measured {percent(self.false_share.value)}), {prior}.",
                found,
            ]
        else:
            said = [
                f"No radius: at most {percent(self.max_false)} of false matches cannot be promised with 95 % "
                f"confidence, {prior}."
            ]
            if self.reachable is None:
                said.append("No other share can be promised, either: there are too few pairs, or codes do not tell "
                            "true pairs from strangers.")  # fmt: skip
            else:
                said.append(f"{percent(self.reachable)} can be reached, within {self.nearest} of {self.n_bits} bits. "
                            + found)  # fmt: skip
        rows = f"{self.n_rows:,} rows"
        said.append(
            f"Measured on {self.n_true:,} true and {self.n_strangers:,} stranger pairs of {rows}: {self.pairs}."
        )
        if self.cosine is not None and self.cosine_recall is not None:
            said.append(
                f"Float cosine, its threshold chosen in the same way: {self.cosine:.3f}, which finds "
                f"{percent(self.cosine_recall)} of the true pairs."
            )
        return " ".join(said)

    def __str__(self) -> str:
        return fill(self.text(), 100)


RATES = ("false_share", "per_stranger", "recall")


def percent(share: float) -> str:
    """A share in percent with two digits that say something: ``0.93 %``, ``71.2 %``, ``0.00012 %``.

    >>> percent(0.712), percent(0.00934), percent(1.2e-6), percent(0)
    ('71.2 %', '0.93 %', '0.00012 %', '0 %')
    """
    value = 100 * share
    if value >= 10 or value == 0:
        return f"{value:.1f} %" if value else "0 %"
    return f"{value:.{1 - int(np.floor(np.log10(value)))}f} %"


def one_in(share: float) -> str:
    """The number of pairs of which one is true: ``2.7``, ``20``, ``100,000``."""
    return f"{1 / share:,.0f}" if share <= 0.1 else f"{1 / share:.2g}"


# -- pairs and their distances ---------------------------------------------------------------------


@dataclass(eq=False)
class Counts:
    """How many pairs of one kind are at each distance: in total, and by the unit that the pair has a row of.

    ``by_unit`` (distances, units) counts a pair at both of its rows; ``by_class`` has the classes of these rows.
    """

    by_unit: Ints
    n_pairs: int
    by_class: Ints | None = None
    inside: bool = False  # both rows of a pair are of one class
    of_unit: Ints | None = None  # pairs of each unit, where not all of them are counted

    def accepted(self) -> tuple[Floats, Floats]:
        """Share of the pairs within each radius, and the effective number of pairs (radii,)."""
        total = self.by_unit.sum(axis=0) if self.of_unit is None else self.of_unit
        n, variance, share = self.n_pairs, *self._spread(self.by_unit, total, 1.0)
        alone = n * share * (1 - share)
        variance -= alone  # a pair was counted at both of its rows
        if self.by_class is not None:
            each = 2.0 if self.inside else 1.0
            between = self._spread(self.by_class, self.by_class.sum(axis=0), each)[0]
            variance = np.maximum(variance, between - (0.0 if self.inside else alone))
        count = share * n
        able = np.flatnonzero((count >= ENOUGH) & (n - count >= ENOUGH))
        if not len(able):
            return share, np.full(len(share), min(n, max(1.0, np.count_nonzero(total) / 2)))
        effective = n * alone[able] / np.maximum(variance[able], alone[able])
        nearest = np.abs(np.arange(len(share))[:, None] - able).argmin(axis=1)
        return share, effective[nearest]

    def _spread(self, by_unit: Ints, total: Ints, each: float) -> tuple[Floats, Floats]:
        """Sum of the squares of what units differ from their expectation, and the share of pairs, by radius."""
        within, squares, shares = np.zeros(by_unit.shape[1]), [], []
        for at_distance in by_unit:
            within += at_distance
            shares.append(within.sum() / (2 * self.n_pairs))
            gap = (within - shares[-1] * total) / each
            squares.append(float(gap @ gap))
        return np.array(squares), np.array(shares)


class Evidence(NamedTuple):
    """Counts of true and of stranger pairs by one measure of distance."""

    true: Counts
    strangers: Counts


Distances = Callable[[slice], Array]  # of some rows on the left with all rows on the right, as whole numbers


def hamming(left: Codes, right: Codes) -> Distances:
    mine, theirs = left.words(), right.words()
    return lambda part: word_distances(mine[part], theirs)


def cosine_steps(left: Matrix, right: Matrix) -> Distances:
    """Cosine as a whole number of 0 (the same direction) to `COSINES`, finer where cosines are large."""
    from .metrics import unit_rows

    mine, theirs = unit_rows(left), unit_rows(right)

    def distances(part: slice) -> Array:
        products = mine[part] @ theirs.T
        return _steps(products.toarray() if sp.issparse(products) else products)

    return distances


def _steps(cosine: Array) -> Array:
    return np.rint(COSINES * np.sqrt(np.clip((1 - cosine) / 2, 0, 1))).astype(np.int16)


def pairs_of_all(
    distances: Distances,
    n_steps: int,
    same: Callable[[slice], Array],
    shape: tuple[int, int],
    own: bool,
    crossed: bool,
) -> Ints:
    """Pairs of every row on the left with every row on the right, (2, distances, units): strangers, and true pairs.

    ``own``: row i is the same item on both sides, and no pair with itself. ``crossed``: the sides have different
    codes, so that the pair of rows i and j is not that of j and i, and rows on the right are units, too.
    """
    n, m = shape
    found = np.zeros((2, n_steps, n), np.int64)
    right = np.zeros((2, n_steps, m), np.int64)
    for part in block_slices(n, max(1, BLOCK // max(m, 1))):
        size = part.stop - part.start
        place = same(part) * n_steps + distances(part).astype(np.int64)
        if own:
            place[np.arange(size), np.arange(part.start, part.stop)] = 2 * n_steps

        def counted(units: Ints, n_units: int, place: Array = place) -> Ints:
            keys = (place * n_units + units).ravel()
            length = 2 * n_steps * n_units
            return np.bincount(keys, minlength=length)[:length].reshape(2, n_steps, n_units)

        found[:, :, part] = counted(np.arange(size)[:, None], size)
        if crossed:
            right += counted(np.arange(m), m)
    if not crossed:
        return found
    return found + right if own else np.concatenate([found, right], axis=2)


def labeled_pairs(distances: Distances, n_steps: int, labels: Labels, crossed: bool) -> Evidence:
    """All pairs of rows of known labels: true if they share a label."""
    n, classes = len(labels), labels.classes
    tags = labels.indicator().astype(np.float32)

    def same(part: slice) -> Array:
        return (tags[part] @ tags.T).toarray() > 0 if classes is None else classes[part, None] == classes

    found = pairs_of_all(distances, n_steps, same, (n, n), True, crossed)
    by_class: list[Ints | None] = [None, None]
    if classes is not None and len(np.unique(classes)) >= MANY_CLASSES:
        members = sp.csr_array(labels.indicator().T, dtype=np.int64)
        by_class = [np.ascontiguousarray((members @ one.T).T) for one in found]
    strangers, true = (
        Counts(one, int(one.sum()) // 2, own) for one, own in zip(found, by_class, strict=True)
    )
    true.inside = True
    return Evidence(true, strangers)


def listed_pairs(steps: Ints, units: tuple[Ints, Ints], n_steps: int) -> Counts:
    """Listed pairs, each with its distance and the units of its two rows."""
    names, place = np.unique(np.concatenate(units), return_inverse=True)
    found = np.zeros((n_steps, len(names)), np.int64)
    np.add.at(found, (np.concatenate([steps, steps]), place), 1)
    return Counts(found, len(steps))


# -- the choice ------------------------------------------------------------------------------------


def _bound(share: Floats, n: Floats, error: float, upper: bool) -> Floats:
    """Clopper and Pearson's bound of a share among ``n`` effective pairs."""
    from scipy.special import betaincinv

    hits = share * n
    with np.errstate(invalid="ignore"):
        if upper:
            return np.where(hits >= n, 1.0, betaincinv(hits + 1, np.maximum(n - hits, 1e-9), 1 - error))
        return np.where(hits <= 0, 0.0, betaincinv(np.maximum(hits, 1e-9), n - hits + 1, error))


def share_of_false(per_stranger: Any, recall: Any, share_true: float) -> Array:
    false = (1 - share_true) * np.asarray(per_stranger)
    total = false + share_true * np.asarray(recall)
    return np.where(total > 0, false / np.where(total > 0, total, 1), 1.0)


class Tester:
    """Tests radii on the same evidence, for any share of false matches."""

    def __init__(self, evidence: Evidence, share_true: float) -> None:
        (self.found, n_found), (self.false, n_false) = (one.accepted() for one in evidence)
        self.n_false, self.n_found, self.share_true = n_false, n_found, share_true
        self.most = _bound(self.false, n_false, OF_STRANGERS, True)
        self.least = _bound(self.found, n_found, OF_TRUE, False)
        self.worst = share_of_false(self.most, self.least, share_true)

    def radius(self, max_false: float) -> int | None:
        """The last radius of a run of tests that pass; the largest one of all runs."""
        ends = [-1]
        for share in STARTS:
            start = int((self.found >= share).argmax())
            fails = np.flatnonzero(self.worst[start:] > max_false)
            last = start + (int(fails[0]) if len(fails) else len(self.worst) - start) - 1
            ends.append(last if last >= start else -1)
        return max(ends) if max(ends) >= 0 else None

    def reachable(self, max_false: float) -> tuple[float, int] | tuple[None, None]:
        """The least share above ``max_false``, to two digits, that a radius keeps to, and that radius.

        None if it is not below the share of strangers: whoever accepts all pairs reaches that.
        """
        everything = 1 - self.share_true
        for share in np.geomspace(max_false, everything, 300)[1:] if max_false < everything else ():
            share = float(np.format_float_scientific(share, 1))
            if max_false < share < everything and (radius := self.radius(share)) is not None:
                return share, radius
        return None, None

    def rates(self, radius: int) -> dict[str, Rate]:
        """What holds at a radius."""
        half = (1 - CONFIDENCE) / 2
        low = float(_bound(self.false, self.n_false, half, False)[radius])
        found = [float(_bound(self.found, self.n_found, half, upper)[radius]) for upper in (False, True)]
        value, recall = float(self.false[radius]), float(self.found[radius])
        share = [float(share_of_false(f, r, self.share_true)) for f, r in ((value, recall), (low, found[1]))]
        return {
            "false_share": Rate(share[0], share[1], float(self.worst[radius])),
            "per_stranger": Rate(value, low, float(self.most[radius])),
            "recall": Rate(recall, *found),
        }


def _decide(
    evidence: Evidence,
    cosines: Evidence | None,
    n_bits: int,
    max_false: float,
    share_true: float,
    facts: Facts,
) -> Decision:
    """Choose a radius, and the threshold of the cosine in the same way."""
    tester = Tester(evidence, share_true)
    radius = tester.radius(max_false)
    reachable, nearest = (None, None) if radius is not None else tester.reachable(max_false)
    shown = next((one for one in (radius, nearest) if one is not None), 0)
    cosine = recall = None
    if cosines is not None:
        other = Tester(cosines, share_true)
        step = other.radius(max_false if radius is not None or reachable is None else reachable)
        if step is not None:
            cosine, recall = float(1 - 2 * (step / COSINES) ** 2), float(other.found[step])
    known: Facts = {**facts, **tester.rates(shown)}
    return Decision(
        radius=radius, max_false=float(max_false), share_true=share_true, reachable=reachable,
        nearest=nearest, n_true=evidence.true.n_pairs, n_strangers=evidence.strangers.n_pairs, cosine=cosine,
        cosine_recall=recall, n_bits=n_bits, **known,
    )  # fmt: skip


def _check(max_false: float, share_true: float | None) -> None:
    for name, value in (("max_false", max_false), ("share_true", share_true)):
        if value is not None and not (isinstance(value, int | float) and 0 < value < 1):
            raise InvalidInput(
                f"{name} is {value!r}", "a share between 0 and 1", "Pass .01 for 1 %, for example"
            )


def _require_both(n_true: int, n_strangers: int) -> None:
    for n, what in ((n_true, "true pair"), (n_strangers, "pair of strangers")):
        if not n:
            raise InvalidInput(
                f"There is no {what} among these rows",
                "rows that belong together, and rows that do not",
                "Pass more rows or pairs",
            )


def decide_labels(
    sides: tuple[Codes, Codes],
    features: tuple[Matrix, Matrix],
    y: LabelsLike,
    *,
    max_false: float,
    share_true: float | None = None,
    rng: Rng,
) -> Decision:
    """Decide from labels: pairs of rows with the same class, or a tag in common, are true; see `Hasher.decide`.

    ``sides`` are the codes of queries and of the database, and ``features`` theirs: the same objects for one view.
    """
    _check(max_false, share_true)
    labels = read_labels(y, len(sides[0]))
    rows = np.flatnonzero(labels.known)
    if len(rows) > MOST_ROWS:
        rows = np.sort(rng.choice(rows, MOST_ROWS, replace=False))
    labels, crossed, n_bits = labels[rows], sides[0] is not sides[1], sides[0].n_bits
    evidence = labeled_pairs(hamming(sides[0][rows], sides[1][rows]), n_bits + 1, labels, crossed)
    _require_both(evidence.true.n_pairs, evidence.strangers.n_pairs)
    cosines = None
    if features[0].shape[1] == features[1].shape[1]:
        cosines = labeled_pairs(cosine_steps(*(X[rows] for X in features)), COSINES + 1, labels, crossed)
    natural = evidence.true.n_pairs / (evidence.true.n_pairs + evidence.strangers.n_pairs)
    shared = (
        "that share a tag, against rows that share none" if labels.is_tags else "of one class, against others"
    )
    facts = {"n_rows": len(rows), "pairs": f"all pairs of rows {shared}"}
    return _decide(evidence, cosines, n_bits, max_false, float(share_true or natural), facts)


def decide_pairs(
    sides: tuple[Codes, Codes],
    features: tuple[Matrix, Matrix],
    ends: tuple[Ints, Ints],
    same: Bools | None,
    *,
    max_false: float,
    share_true: float | None = None,
    rng: Rng,
) -> Decision:
    """Decide from pairs of row numbers (left, right) with verdicts; see `Hasher.decide_pairs`.

    Without verdicts all pairs are true, and the strangers are all other pairs of their rows, but for rows that a
    path of pairs leads to.
    """
    _check(max_false, share_true)
    crossed, n_bits, (left, right) = sides[0] is not sides[1], sides[0].n_bits, ends
    units = left, right + (len(sides[0]) if crossed else 0)
    alike = features[0].shape[1] == features[1].shape[1]
    steps = [sides[0][left].distances(sides[1][right])]
    if alike:
        steps.append(cosines_of_pairs(features, left, right))
    counts = n_bits + 1, COSINES + 1
    n_rows = len(np.unique(np.concatenate(units)))
    if same is not None:
        _require_both(int(same.sum()), int((~same).sum()))
        found = [
            Evidence(
                *(listed_pairs(own[kind], (units[0][kind], units[1][kind]), n) for kind in (same, ~same))
            )
            for own, n in zip(steps, counts, strict=False)
        ]
        natural, against = float(same.mean()), "pairs listed as not the same"
    else:
        group = _connected(*units)
        rows = [np.unique(left), np.unique(right)] if crossed else [np.unique(np.concatenate(ends))] * 2
        shift = len(sides[0]) if crossed else 0
        natural = len(left) / (len(rows[0]) * (len(rows[1]) if crossed else (len(rows[0]) - 1) / 2))
        rows = [
            np.sort(rng.choice(one, min(len(one), MOST_ROWS), replace=False)) for one in rows[: 1 + crossed]
        ]
        ours, theirs = rows[0], rows[-1]
        groups = group[ours], group[theirs + shift]

        def linked(part: slice) -> Array:
            return groups[0][part, None] == groups[1]

        measures = [hamming(sides[0][ours], sides[1][theirs])]
        if alike:
            measures.append(cosine_steps(features[0][ours], features[1][theirs]))
        found = []
        for own, n, measure in zip(steps, counts, measures, strict=False):
            others = pairs_of_all(measure, n, linked, (len(ours), len(theirs)), not crossed, crossed)[0]
            found.append(Evidence(listed_pairs(own, units, n), Counts(others, int(others.sum()) // 2)))
        _require_both(len(left), found[0].strangers.n_pairs)
        against = "all other pairs of their rows"
    facts = {"n_rows": n_rows, "pairs": f"pairs listed as the same, against {against}"}
    cosines = found[1] if alike else None
    return _decide(found[0], cosines, n_bits, max_false, float(share_true or natural), facts)


def cosines_of_pairs(features: tuple[Matrix, Matrix], left: Ints, right: Ints) -> Ints:
    from .metrics import unit_rows

    out = np.empty(len(left), np.int64)
    for part in block_slices(len(left), 4096):
        mine, theirs = unit_rows(features[0], left[part]), unit_rows(features[1], right[part])
        products = (mine * theirs).sum(axis=1) if sp.issparse(mine) else np.einsum("ij,ij->i", mine, theirs)
        out[part] = _steps(np.asarray(products).ravel())
    return out


def _connected(left: Ints, right: Ints) -> Ints:
    """The group of every row number: rows that a path of pairs leads to are in one."""
    from scipy.sparse.csgraph import connected_components

    n = int(max(left.max(), right.max())) + 1
    graph = sp.coo_array((np.ones(len(left), np.int8), (left, right)), shape=(n, n))
    groups: Ints = connected_components(graph, directed=False)[1]
    return groups


def decide_duplicates(
    codes: HammingIndex | Codes,
    left: Numbers,
    right: Numbers,
    *,
    max_false: float,
    share_true: float | None = None,
) -> Decision:
    """Choose the radius of `kinhash.index.near_duplicates` by pairs of rows that are known to be duplicates.

    The rows that they name are searched among all rows. Whatever is near them and not listed counts as false, so the
    list must hold all duplicates of these rows: rows that were looked at, or rows of which copies were planted.

    Parameters
    ----------
    codes : HammingIndex or Codes
        All rows. Up to 10,000 of those that pairs name are searched.
    left, right : array-like of shape (m,)
        Ids of the rows, or row numbers of codes without ids.
    max_false : float
        Share of the pairs within the radius that may be false.
    share_true : float, default=None
        Share of true pairs among those that a search compares; None is that of the named rows with all rows.
    """
    from .index import HammingIndex

    _check(max_false, share_true)
    index = codes if isinstance(codes, HammingIndex) else HammingIndex.from_codes(codes)
    rows = index.codes()
    assert rows.ids is not None
    units = read_ends(left, right, len(rows), rows.ids)
    linked = _connected(*units)
    group = np.concatenate([linked, len(rows) + np.arange(len(rows) - len(linked))])
    every = np.unique(np.concatenate(units))
    named = every[np.unique(np.linspace(0, len(every) - 1, min(len(every), MOST_ROWS)).astype(np.int64))]
    _require_both(len(units[0]), len(rows) - len(every))
    radius = 0
    while True:  # up to a radius at which most matches are false
        queries, found, steps = _searched(index, rows, named, radius)
        false = group[queries] != group[found]
        if 2 * false.sum() > len(units[0]) or radius >= rows.n_bits // 2:
            break
        radius += 1 + radius // 4
    ends = queries[false], found[false]
    near = listed_pairs(steps[false], ends, radius + 1)
    both = len(named) + (len(rows) - 1) * np.isin(np.unique(np.concatenate(ends)), named)
    strangers = Counts(near.by_unit, len(named) * (len(rows) - 1), of_unit=both)
    true = listed_pairs(rows[units[0]].distances(rows[units[1]]), units, rows.n_bits + 1)
    true = Counts(true.by_unit[: radius + 1], true.n_pairs, of_unit=true.by_unit.sum(axis=0))
    natural = 2 * len(units[0]) / (len(every) * (len(rows) - 1))
    facts = {
        "n_rows": len(rows),
        "pairs": "pairs listed as duplicates, against all others that their rows are in",
    }
    return _decide(
        Evidence(true, strangers), None, rows.n_bits, max_false, float(share_true or natural), facts
    )


def _searched(index: HammingIndex, rows: Codes, named: Ints, radius: int) -> tuple[Ints, Ints, Ints]:
    """Pairs (row, other row) of named rows with all rows within a radius, and their distances."""
    parts = []
    for part in block_slices(len(named), 1_000):
        near = index.search_radius(rows[named[part]], radius, exclude=index.ids[named[part]])
        queries = np.repeat(named[part], np.diff(near.splits))
        others = np.searchsorted(index.ids, near.ids)
        parts.append((queries, others, near.distances.astype(np.int64)))
    return tuple(np.concatenate(one) for one in zip(*parts, strict=True))  # type: ignore[return-value]
