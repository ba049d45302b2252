"""Is it any good? A hasher beside what people would build instead, on rows that were held out of its fit.

`compare` judges labels (or none), `compare_pairs`, `compare_triplets` and `compare_views` the other kinds of
knowledge, `compare_bits` several lengths. All return a `Comparison`: a table whose rows are searches, and
sentences. All sentences stand in one list of (condition, sentence) pairs, in `_sentences`.

Work is bounded: at most 500 queries search 10,000 rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from textwrap import fill, wrap
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._internal.blocks import block_slices
from .._internal.texts import columns
from .._internal.types import Bools, Facts, Floats, Ints, LabelsLike, Matrix, Numbers, Rng, Seed
from .._internal.validation import make_rng
from ..codes import Codes, n_bytes
from ..errors import InvalidInput, KinhashWarning
from ..labels import Labels, read_labels
from .answers import (
    FIRST_TEN,
    HUNDRED,
    JACCARD,
    LOOKS,
    MAP,
    SAME_TAGS,
    TEN,
    UNLABELED,
    AnswerSheet,
    Measures,
    cosine_scores,
    mixture,
    nearest_ten,
    order_of_pairs,
    rank_products,
    scores_by_label,
    self_retrieval,
    share_of_nearest,
    shares_of_first,
    some_queries,
    unit_rows,
    wins,
)
from .rankings import Interval, ScoreRows, bootstrap_interval, hamming_scores
from .rivals import (
    CLASSIFIER,
    COSINE,
    ITQ_CODES,
    LABEL_BYTE,
    OPQ_CODES,
    RANDOM,
    UNSUPERVISED,
    Chances,
    Rivals,
    Search,
    expected_jaccard,
    label_bytes,
    shared_label,
)

MOST_HELD_OUT, SHARE_HELD_OUT, MOST_QUERIES = 1_000, 0.1, 500
SHARE_OF_KINDS, FEWEST_KINDS, FEWEST_OF_KIND = 0.3, 4, 20  # whole labels that are held out
FEWEST_ROWS, FEWEST_PAIRS = 20, 10  # with fewer, nothing is held out
MOST_DATABASE, MOST_JUDGED = 10_000, 1_000  # rows that are searched; held-out pairs of each kind
STRANGERS = 200  # random rows that a partner is compared with
LATE = 0.15  # share of mapped rows among learned ones, for "mixture"
FEW_QUERIES = 50
SHOWN, MUCH = 0.0005, 0.02  # half of the last digit of a table; a difference worth a sentence

CODES, MAPPED = "codes", "codes, database mapped"
LATER_MAP, LATER_TEN = "later rows: mAP", "later rows: first ten"
OLD_TEN, NEW_TEN = "labeled kinds beside new: first ten", "kinds never labeled: first ten"
ITSELF, NEIGHBORS, NEIGHBORS_TEN = "finds itself", "nearest neighbors found", "nearest ten in first ten"
AUC, IN_ORDER, SPEARMAN = "area under ROC", "in order", "Spearman"
VIEW, ANEW = "the bridge", "everything encoded anew"
PARTNERS, OWN = "partners in first ten", "own row in first ten"


class Split(NamedTuple):
    """Row numbers to fit on, and row numbers held out."""

    train: Ints
    held_out: Ints


# -- the table and its sentences -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Line:
    """A search, its size, and its figures by name, one value per query (or pair)."""

    name: str
    bytes_per_item: int
    measures: Measures

    def mean(self, measure: str) -> float:
        """Mean over the queries that have a value; NaN where none has, or nothing was measured."""
        return _mean(self.measures.get(measure, np.empty(0)))

    def as_dict(self) -> Facts:
        """Plain values for JSON: figures by name, and the 95 % interval of the first."""
        figures = {name: self.mean(name) for name in self.measures}
        first = _interval(next(iter(self.measures.values())))
        facts = {"name": self.name, "bytes_per_item": self.bytes_per_item, "figures": figures}
        return facts | {"low": first.low, "high": first.high}


def _mean(values: Floats) -> float:
    return float("nan") if np.isnan(values).all() else float(np.nanmean(values))


def _interval(values: Floats) -> Interval:
    if np.isnan(values).all():
        return Interval(float("nan"), float("nan"), float("nan"), 0.95, 0)
    return bootstrap_interval(values, n_resamples=1000)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Searches measured on the same held-out rows: ``print`` shows table, sentences and protocol."""

    lines: tuple[Line, ...]
    protocol: str
    facts: Facts = field(default_factory=dict)

    def __contains__(self, name: str) -> bool:
        return any(line.name == name for line in self.lines)

    def line(self, name: str) -> Line:
        """The line of that name; one without figures where there is none."""
        return next((line for line in self.lines if line.name == name), Line(name, 0, {}))

    def score(self, name: str, measure: str | None = None) -> float:
        """A figure of a line, the first one by default; NaN where there is none."""
        return self.line(name).mean(measure or self.metric)

    def difference(self, first: str, second: str, measure: str | None = None) -> Interval:
        """``first − second`` over the same queries, with its paired 95 % interval."""
        nothing = np.full(1, np.nan)
        pair = [self.line(one).measures.get(measure or self.metric, nothing) for one in (first, second)]
        return _interval(pair[0] - pair[1])

    def ahead(self, first: str, second: str, measure: str | None = None) -> bool:
        """Whether ``first`` is better by more than the luck of the queries, in a digit that is shown."""
        return self.difference(first, second, measure).low > SHOWN

    @property
    def metric(self) -> str:
        """The first figure."""
        return next(iter(self.lines[0].measures))

    @property
    def ours(self) -> str:
        """The line that judges the codes: those of the fit, or mapped ones where these do better."""
        return str(self.facts.get("line", self.lines[0].name))

    @property
    def sentences(self) -> list[str]:
        """What came out, also where we lose; the most important sentence first."""
        return [sentence for condition, sentence in _sentences(self) if condition]

    def as_dict(self) -> Facts:
        """Plain values for JSON."""
        lines = [line.as_dict() for line in self.lines]
        return {"searches": lines, "sentences": self.sentences, "protocol": self.protocol, **self.facts}

    def table(self) -> str:
        """The lines below each other, a column for every figure, its name above on several lines."""
        names = list(dict.fromkeys(name for line in self.lines for name in line.measures))
        titles = [["search"], ["bytes"], *(wrap(name, 12) for name in names)]
        depth = max(map(len, titles))
        heads = zip(*([""] * (depth - len(title)) + title for title in titles), strict=True)
        rows = [
            [line.name, f"{line.bytes_per_item:,}" if line.bytes_per_item else "–"]
            + ["–" if np.isnan(line.mean(name)) else f"{line.mean(name):.3f}" for name in names]
            for line in self.lines
        ]
        text = columns([*heads, *rows]).split("\n")
        text.insert(depth, text.pop(1))  # the rule goes below the last line of the headings
        return "\n".join(text)

    def __str__(self) -> str:
        said = [fill(one, 100, initial_indent="- ", subsequent_indent="  ") for one in self.sentences]
        return "\n".join([self.table(), "", *said, "", fill(self.protocol, 100)])


def _sentences(c: Comparison) -> list[tuple[bool, str]]:
    """All that can be said of a comparison, each with the condition under which it is said."""
    facts, ours, score = c.facts, c.ours, c.score
    kind, known = facts["kind"], facts.get("known", "labels")
    main = FIRST_TEN if FIRST_TEN in c.line(ours).measures else c.metric
    n = int(np.isfinite(c.line(ours).measures[main]).sum())
    judged = n > 0 and kind in ("labels", "neighbors", "pairs")
    shorter = [name for name in UNSUPERVISED if name in c and name != COSINE]
    best = max(shorter, key=lambda name: np.nan_to_num(score(name, main)), default=OPQ_CODES)

    def gap(other: str, *measures: str, of: str = ours) -> str:
        both = [m for m in measures if m in c.line(of).measures and m in c.line(other).measures]
        return ", ".join(f"{m} {score(of, m):.3f} against {score(other, m):.3f}" for m in both)

    def behind(other: str, *measures: str, of: str = ours, by: float = SHOWN) -> list[str]:
        return [m for m in measures if c.difference(other, of, m).low > by]

    def each(measure: str, names: Iterable[str]) -> str:
        return ", ".join(f"{one} {score(one, measure):.3f}" for one in names if score(one, measure) >= 0)

    fewer = "find fewer" if main in (FIRST_TEN, NEIGHBORS) else "do worse"
    unread = "" if known == "nothing" else f", which reads no {known}"
    unlabeled, mixed = facts.get("unlabeled_rows", 0), facts.get("mixture", 1.0)
    levels = [m for m in c.line(ours).measures if m.endswith(" up")]
    over_chance = [c.difference(one, RANDOM, FIRST_TEN).low for one in (ours, COSINE)]
    random = judged and RANDOM in c and max(over_chance) <= MUCH * (1 - score(RANDOM, FIRST_TEN))
    rivals = (COSINE, OPQ_CODES, ITQ_CODES, LABEL_BYTE, CLASSIFIER, RANDOM)
    gained = c.ahead(ours, best, main) or c.ahead(ours, best)
    lost = behind(COSINE, SAME_TAGS, JACCARD) + behind(COSINE, LOOKS, by=MUCH)
    by_label = facts.get("by_label", [])
    worst = [
        f"{one['label']!s:.40} {one['score']:.3f} ({COSINE} {one['other']:.3f})"
        for one in by_label[:5]
        if one["score"] < 1 - MUCH
    ]
    size, label_size = c.line(ours).bytes_per_item, c.line(CLASSIFIER).bytes_per_item
    return [
        (n == 0, "Nothing can be said: no held-out row has a relevant row in the database."),
        (judged, f"{size:,} bytes per item: {main} {score(ours, main):.3f} ({each(main, rivals)})."),
        (
            judged and n < FEW_QUERIES,
            f"Only {n} held-out rows were judged: differences may be luck.",
        ),
        (
            random,
            "Labels bring nothing: neither the codes nor float cosine find more relevant rows than a random "
            "order does. Do labels and rows belong together?",
        ),
        (
            judged and known != "nothing" and best in c and not (random or gained or behind(best, main)),
            f"{known.capitalize()} did not help: {best}, which reads none, does as well ({gap(best, main)}).",
        ),
        (bool(behind(COSINE, main)), f"The codes {fewer} than float cosine ({gap(COSINE, main)})."),
        (
            bool(behind(best, main)),
            f"The codes {fewer} than {best} at the same bytes{unread} ({gap(best, main)}).",
        ),
        (
            bool(behind(LABEL_BYTE, main)),
            f"A label byte and PQ at the same bytes find more ({gap(LABEL_BYTE, main, LATER_TEN)}).",
        ),
        (
            bool(behind(CLASSIFIER, MAP, FIRST_TEN)),
            f"A classifier and true labels, {label_size} byte{'s' * (label_size > 1)} per item, do better "
            f"({gap(CLASSIFIER, MAP, FIRST_TEN, LOOKS)}).",
        ),
        (
            bool(behind(COSINE, PARTNERS) or behind(best, PARTNERS)),
            f"The codes find fewer held-out partners than {COSINE} or {best} ({gap(COSINE, PARTNERS)}, "
            f"{best} {score(best, PARTNERS):.3f}).",
        ),
        (bool(lost), f"Lost against float cosine: {gap(COSINE, *lost)}."),
        (
            bool(behind(COSINE, LATER_MAP, LATER_TEN)),
            "Rows that come later, without labels, are found less well than by float cosine "
            f"({gap(COSINE, LATER_MAP, LATER_TEN)}).",
        ),
        (
            NEW_TEN in c.line(ours).measures,
            f"Kinds never labeled: first ten {score(ours, NEW_TEN):.3f}, "
            f"{each(NEW_TEN, (COSINE, OPQ_CODES, LABEL_BYTE))}; labeled kinds in the same database "
            f"{score(ours, OLD_TEN):.3f}, {each(OLD_TEN, (COSINE, OPQ_CODES, LABEL_BYTE))}.",
        ),
        (
            bool(behind(COSINE, NEW_TEN)),
            "For kinds never labeled float cosine finds more: label some of their rows, or keep the floats.",
        ),
        (bool(levels), f"Further up the tree: {gap(COSINE, *levels)} by float cosine."),
        (
            score(ours, ITSELF) < 0.9,
            f"A row of the fit, encoded again, finds itself first in {score(ours, ITSELF):.0%} of cases.",
        ),
        (
            unlabeled > 0,
            f"{unlabeled:,} of {facts.get('training_rows', 0):,} rows have no label. They stand in the "
            f"database and take {score(ours, UNLABELED):.3f} of the first ten "
            f"({each(UNLABELED, (COSINE, RANDOM))}). Nobody knows whether they are relevant: "
            "the other figures are of the labeled answers.",
        ),
        (
            mixed > 1.3,
            f"Rows without labels among labeled ones take {mixed:.1f} times their fair share of the first "
            "ten: keep learned and mapped codes apart.",
        ),
        (
            CODES in c and c.ahead(MAPPED, CODES),
            f"Learned codes do worse than mapped ones ({gap(MAPPED, c.metric, of=CODES)}): search a database "
            "of mapped codes.",
        ),
        (
            len(by_label) > 2 and by_label[0]["score"] < 1 - MUCH,
            f"Worst {facts.get('labels_are', 'labels')} by mAP: {', '.join(worst)}.",
        ),
        (kind == "bits", str(facts.get("advice"))),
        (
            kind == "bridge",
            f"The bridge keeps {score(VIEW) / max(score(ANEW), 1e-9):.0%} of what encoding everything anew finds "
            f"({gap(ANEW, main, of=VIEW)}).",
        ),
        (
            kind == "bridge" and score(VIEW) < 0.9 * score(ANEW),
            "That is little: the old codes do not know what the new model sees. Encode the rows again.",
        ),
    ]


# -- what is held out ------------------------------------------------------------------------------


def hold_out(
    labels: Labels | int,
    rng: Rng,
    *,
    most: int = MOST_HELD_OUT,
    share: float = SHARE_HELD_OUT,
    whole_labels: bool = False,
) -> Split:
    """Hold out random rows, or all rows of some labels.

    Parameters
    ----------
    labels : Labels or int
        Labels of all rows, or the number of rows where there are none.
    rng : Generator
    most : int, default=1000
        Rows that are held out at most; without effect on whole labels.
    share : float, default=0.1
        Share of the rows that carry a label.
    whole_labels : bool, default=False
        Hold out labels in random order, half of them at most, as long as they keep to the share of rows. Only
        labels of 20 rows count; none is held out where there are fewer than four of them.

    Returns
    -------
    Split
        Nothing is held out of fewer than 20 rows, and never the last row of a class but with its whole label.
    """
    if isinstance(labels, int):
        labels = Labels(np.zeros(1, np.int64), np.ones(labels, bool), classes=np.zeros(labels, np.int64))
    indicator = labels.indicator()
    carrying, held_out = np.flatnonzero(np.diff(indicator.indptr) > 0), np.empty(0, np.int64)
    if whole_labels:
        of_label, taken = indicator.T.tocsr(), np.zeros(len(labels), bool)
        able = rng.permutation(np.flatnonzero(np.diff(of_label.indptr) >= FEWEST_OF_KIND))
        for label in able[: len(able) // 2] if len(able) >= FEWEST_KINDS else []:
            more = taken.copy()
            more[of_label.indices[of_label.indptr[label] : of_label.indptr[label + 1]]] = True
            taken = more if more.sum() <= share * len(carrying) else taken
        held_out = np.flatnonzero(taken)
    elif len(labels) >= FEWEST_ROWS:
        order = rng.permutation(carrying)
        if labels.classes is not None:  # the first of each class in this order stays with the fit
            order = np.delete(order, np.unique(labels.classes[order], return_index=True)[1])
        held_out = np.sort(order[: min(most, int(share * len(carrying)))])
    return Split(np.setdiff1d(np.arange(len(labels)), held_out, assume_unique=True), held_out)


def hold_out_pairs(ends: Ints, n_rows: int, rng: Rng, share: float = SHARE_HELD_OUT) -> Bools:
    """Which pairs or triplets (m, 2 or 3) to hold out, so that others do not name their rows.

    Whole connected components are drawn where there are enough. Where nearly all pairs hang together, single
    rows are drawn, and one end of a held-out pair may be known. None is held out of fewer than 100.
    """
    if share * len(ends) < FEWEST_PAIRS:
        return np.zeros(len(ends), bool)
    links = np.concatenate([ends[:, [0, k]] for k in range(1, ends.shape[1])]).T
    graph = sp.csr_array((np.ones(links.shape[1]), (links[0], links[1])), shape=(n_rows, n_rows))
    group = sp.csgraph.connected_components(graph, directed=False)[1]
    sizes = np.bincount(group[ends[:, 0]], minlength=n_rows).astype(np.float64)
    if share * sizes.sum() ** 2 / (sizes**2).sum() < FEWEST_PAIRS:
        group, sizes = np.arange(n_rows), (np.bincount(ends.ravel(), minlength=n_rows) > 0).astype(np.float64)
        share = 1 - (1 - share) ** (1 / ends.shape[1])  # of rows, so that the share of pairs is as wanted
    order = rng.permutation(n_rows)
    drawn = np.zeros(n_rows, bool)
    drawn[order] = np.cumsum(sizes[order]) <= share * sizes.sum()
    return np.asarray(drawn[group][ends].any(axis=1))


# -- labels, or none -------------------------------------------------------------------------------


def compare(
    hasher: Any,
    X: Matrix,
    y: LabelsLike = None,
    *,
    split: Split | None = None,
    never_labeled: bool = True,
    above: Sequence[Labels] = (),
    random_state: Seed = None,
) -> Comparison:
    """What held-out rows find among the rows of a fit, beside what people would build instead.

    Parameters
    ----------
    hasher : hasher
        A copy of it is fitted; with ``split``, it was fitted on ``X[split.train]`` already.
    X : matrix of shape (n, p)
    y : labels, default=None
        Classes, tag sets or an indicator matrix; None where a row's label is unknown. Without any labels, the
        question is how many of the ten nearest rows by cosine are among the first hundred.
    split : Split, default=None
        Rows of the fit and rows held out (see `hold_out`); None draws a tenth, at most 1,000 rows.
    never_labeled : bool, default=True
        Fit another copy without the labels of some classes or tags (up to 30 % of the rows), to judge kinds
        that nobody labeled. Their rows stay in that fit and in the database.
    above : sequence of Labels
        Labels one level up in a tree, two, and so on.
    random_state : int or Generator, default=None

    Returns
    -------
    Comparison
    """
    rng, given = make_rng(random_state), split is not None
    labels = None if y is None else read_labels(y, X.shape[0])
    train, queries = split or hold_out(X.shape[0] if labels is None else labels, rng)
    queries = queries if labels is None else queries[labels.known[queries]]
    queries = np.sort(rng.permutation(queries)[:MOST_QUERIES])
    if not len(queries):
        raise InvalidInput(
            "No row could be held out",
            f"{FEWEST_ROWS} rows or more, of labels that several rows share",
            "Pass more rows, or fit without a comparison",
        )
    if not given:
        hasher = _fitted(hasher, X, labels, train)
    place = np.sort(rng.permutation(len(train))[:MOST_DATABASE])
    if labels is None:
        return _compare_neighbors(hasher, X, train, place, queries, rng)
    judge = _LabelJudge(X, labels, train, place, queries, Rivals(X, train, int(hasher.n_bits), rng), above)
    found, facts = judge.known_kinds(hasher, rng)
    kinds = hold_out(labels[train], rng, share=SHARE_OF_KINDS, whole_labels=True).held_out
    if never_labeled and len(kinds):
        facts["queries_of_new_kinds"] = judge.add_new_kinds(found, hasher, kinds)
    return judge.report(found, facts)


def _fitted(hasher: Any, X: Matrix, labels: Labels | None, train: Ints) -> Any:
    from sklearn.base import clone

    with warnings.catch_warnings():  # what is doubtful about the data was said, or is measured
        warnings.simplefilter("ignore", KinhashWarning)
        return clone(hasher).fit(*((X[train],) if labels is None else (X[train], labels[train])))


def _own_codes(hasher: Any, n_rows: int) -> Codes | None:
    """The codes of the rows of the fit, where these know more than the map of features does."""
    codes = getattr(hasher, "codes_", None)
    return codes if codes is not None and len(codes) == n_rows and np.any(codes.learned) else None


@dataclass(frozen=True, eq=False)
class _LabelJudge:
    """Queries search rows ``train[place]``; figures by line."""

    X: Matrix
    labels: Labels
    train: Ints
    place: Ints
    queries: Ints
    rivals: Rivals
    above: Sequence[Labels]

    def _searches(self, labels: Labels) -> tuple[list[list[Search]], Callable[[Ints], Labels]]:
        """All rivals, of each its settings: the best one counts; and labels for rows without one."""
        informed, predicted = self.rivals.informed(labels, self.train)
        return [[one] for one in self.rivals.unsupervised()] + informed, predicted

    def known_kinds(self, hasher: Any, rng: Rng) -> tuple[dict[str, Line], Facts]:
        """Lines of all searches of rows of the fit, which carry labels, and of later rows, which do not."""
        labels, queries, database = self.labels, self.queries, self.train[self.place]
        features = self.X[queries], self.X[database]
        levels = [AnswerSheet(one[queries], one[database]) for one in self.above]
        sheet = AnswerSheet(labels[queries], labels[database], features=features, above=levels)
        later = AnswerSheet(labels[queries], labels[queries], own=np.arange(len(queries)))

        def measured(scores: ScoreRows, among: ScoreRows) -> Measures:
            after = later.of_scores(among)
            return sheet.of_scores(scores) | {LATER_MAP: after[MAP], LATER_TEN: after[FIRST_TEN]}

        new, mapped, own = hasher.encode(features[0]), hasher.encode(features[1]), self._own(hasher)
        some, size, lines = some_queries(len(database)), n_bytes(int(hasher.n_bits)), []
        for name, codes in ((CODES, mapped if own is None else own), (MAPPED, mapped)):
            if name == CODES or own is not None:
                found = measured(hamming_scores(new, codes), hamming_scores(new, new))
                lines.append(Line(name, size, found | {ITSELF: self_retrieval(mapped[some], codes, some)}))
        settings, predicted = self._searches(labels)
        known, guessed = labels[database], predicted(queries)
        for tried in settings:
            each = [one.scores(queries, database, known) for one in tried]
            first = [_mean(sheet.of_scores(one, ranks=False)[FIRST_TEN]) for one in each if len(each) > 1]
            best = int(np.argmax(np.nan_to_num(first))) if first else 0
            among = tried[best].scores(queries, queries, guessed)
            lines.append(Line(tried[0].name, tried[0].bytes_per_item, measured(each[best], among)))
        lines.append(Line(RANDOM, 0, sheet.of_random_order()))
        facts: Facts = {"n_bits": int(hasher.n_bits)}
        late = rng.random(len(database)) < LATE
        if own is not None and late.any() and np.all(own.learned):
            mixed = np.where(late[:, None], mapped.packed, own.packed)
            facts["mixture"] = _mean(mixture(hamming_scores(new.packed, mixed), len(queries), late))
        return {line.name: line for line in lines}, facts

    def _own(self, hasher: Any) -> Codes | None:
        own = _own_codes(hasher, len(self.train))
        return None if own is None else own[self.place]

    def add_new_kinds(self, lines: dict[str, Line], hasher: Any, kinds: Ints) -> int:
        """Add what queries find in a fit to which rows ``train[kinds]`` came without labels.

        A query is of a new kind if it carries a label that no row of that fit has; the rows of such labels
        are relevant to it. Returns the number of these queries.
        """
        labels, queries, database = self.labels, self.queries, self.train[self.place]
        known = labels.known.copy()
        known[self.train[kinds]] = False
        if labels.classes is not None:
            hidden = Labels(labels.names, known, classes=np.where(known, labels.classes, -1))
        else:
            kept = sp.csr_array(labels.indicator().multiply(known[:, None]), dtype=np.int8)
            kept.eliminate_zeros()
            hidden = Labels(labels.names, known, tags=kept)
        new_labels = np.flatnonzero(
            ~np.isin(np.arange(len(labels.names)), hidden[self.train].indicator().indices)
        )
        truth = sp.csr_array(labels.indicator()[:, new_labels], dtype=np.int8)
        of_new = Labels(labels.names[new_labels], np.ones(len(labels), bool), tags=truth)
        is_new = np.diff(truth.indptr)[queries] > 0
        if not is_new.any() or is_new.all():
            return 0
        sides = [
            (title, some, AnswerSheet(y[queries[some]], y[database]))
            for title, some, y in (
                (OLD_TEN, np.flatnonzero(~is_new), labels),
                (NEW_TEN, np.flatnonzero(is_new), of_new),
            )
        ]

        def measured(scores: ScoreRows) -> Measures:
            found = {title: np.full(len(queries), np.nan) for title, _, _ in sides}
            for title, some, sheet in sides:

                def of_some(wanted: Ints, some: Ints = some) -> Floats:
                    return np.asarray(scores(some[wanted]))

                found[title][some] = sheet.of_scores(of_some, ranks=False)[FIRST_TEN]
            return found

        again = _fitted(hasher, self.X, hidden, self.train)
        new, mapped, own = again.encode(self.X[queries]), again.encode(self.X[database]), self._own(again)
        lines[CODES].measures.update(measured(hamming_scores(new, mapped if own is None else own)))
        if MAPPED in lines:
            lines[MAPPED].measures.update(measured(hamming_scores(new, mapped)))
        for tried in self._searches(hidden)[0]:
            each = [measured(one.scores(queries, database, hidden[database])) for one in tried]
            best = max(each, key=lambda found: sum(np.nan_to_num(_mean(one)) for one in found.values()))
            lines[tried[0].name].measures.update(best)
        return int(is_new.sum())

    def report(self, lines: dict[str, Line], facts: Facts) -> Comparison:
        """All lines, the protocol in words, and what was counted."""
        found, n_train, n_database = lines[CODES].measures, len(self.train), len(self.place)
        by_label = scores_by_label(found[MAP], lines[COSINE].measures[MAP], self.labels[self.queries])
        facts = facts | {
            "kind": "labels",
            "labels_are": "tags" if self.labels.is_tags else "classes",
            "queries": len(self.queries),
            "queries_without_relevant_rows": int(np.isnan(found[MAP]).sum()),
            "database_rows": n_database,
            "training_rows": n_train,
            "unlabeled_rows": int((~self.labels.known[self.train]).sum()),
            "by_label": [one._asdict() for one in by_label],
        }
        which = f"all {n_train:,}" if n_database == n_train else f"{n_database:,} of the {n_train:,}"
        protocol = [
            f"{len(self.queries):,} rows that were held out of the fit search {which} rows of it,",
            f"{facts['unlabeled_rows']:,} of which are unlabeled.",
            f"Relevant: {'a shared tag' if self.labels.is_tags else 'the same class'}.",
            "Later rows: the held-out rows search each other. Look-alikes: of the ten nearest relevant rows",
            "by cosine, the share among the first hundred. Ties count as the expected value over all orders.",
        ]
        if facts.get("queries_of_new_kinds"):
            protocol += [
                "Kinds never labeled: from a fit of its own, without the labels of some kinds;",
                f"{facts['queries_of_new_kinds']:,} of the queries are of these.",
            ]
        if LABEL_BYTE in lines:
            protocol.append("A label byte counts with the weight, of three, that serves these queries best.")
        return _chosen(tuple(lines.values()), " ".join(protocol), facts)


def _chosen(lines: Sequence[Line], protocol: str, facts: Facts) -> Comparison:
    """The comparison, and in its facts which codes to write: learned ones unless mapped ones do better."""
    found = Comparison(tuple(lines), protocol, facts)
    mapped = found.ahead(MAPPED, CODES)
    facts["line"] = MAPPED if mapped else CODES
    facts["codes"] = "learned" if MAPPED in found and not mapped else "mapped"
    return found


def _compare_neighbors(
    hasher: Any, X: Matrix, train: Ints, place: Ints, queries: Ints, rng: Rng
) -> Comparison:
    """Without labels: of the ten nearest rows by cosine, the share among the first hundred and first ten."""
    queries, database, n_bits = queries[some_queries(len(queries))], train[place], int(hasher.n_bits)
    nearest = nearest_ten(X[queries], X[database])

    def line(name: str, size: int, scores: ScoreRows) -> Line:
        among = {NEIGHBORS: HUNDRED, NEIGHBORS_TEN: TEN}
        shares = {one: share_of_nearest(scores, nearest, len(database), k) for one, k in among.items()}
        return Line(name, size, shares)

    codes = hamming_scores(hasher.encode(X[queries]), hasher.encode(X[database]))
    lines = [line(CODES, n_bytes(n_bits), codes)]
    for one in Rivals(X, train, n_bits, rng).unsupervised():
        lines.append(line(one.name, one.bytes_per_item, one.scores(queries, database, None)))
    protocol = (
        f"{len(queries):,} rows were held out of the fit and search {len(database):,} rows of it. "
        "Nearest neighbors: of the ten nearest rows by cosine around the mean, the share among the first "
        "hundred. OPQ and float cosine ask with floats."
    )
    facts = {"kind": "neighbors", "known": "nothing", "queries": len(queries), "database_rows": len(database)}
    return _chosen(lines, protocol, facts | {"training_rows": len(train), "n_bits": n_bits})


def compare_bits(
    make_hasher: Callable[[int], Any],
    X: Matrix,
    y: LabelsLike = None,
    bits: Iterable[int] = (16, 32, 64, 128),
    *,
    tolerance: float = 0.01,
    random_state: Seed = None,
) -> Comparison:
    """The same split for several lengths: which is the shortest that loses little?

    Parameters
    ----------
    make_hasher : callable
        Takes a number of bits and returns a hasher that is not fitted.
    X, y
        As in `compare`.
    bits : iterable of int, default=(16, 32, 64, 128)
    tolerance : float, default=0.01
        What the shortest length may lose against the best one, by the upper end of the paired 95 % interval.
    random_state : int or Generator, default=None
    """
    lengths = sorted({int(n) for n in bits})
    if not lengths:
        raise InvalidInput("bits is empty", "one or more lengths", "Pass, say, bits=(16, 32, 64)")
    rng = make_rng(random_state)
    labels = None if y is None else read_labels(y, X.shape[0])
    split, seed = hold_out(X.shape[0] if labels is None else labels, rng), int(rng.integers(2**31))
    found = {
        n: compare(
            _fitted(make_hasher(n), X, labels, split.train),
            X,
            labels,
            split=split,
            never_labeled=False,
            random_state=seed,
        )
        for n in lengths
    }
    ours = {n: c.line(c.ours) for n, c in found.items()}
    able = set(lengths)
    for measure in (MAP, FIRST_TEN, LOOKS, NEIGHBORS):
        scores = {n: line.measures[measure] for n, line in ours.items() if measure in line.measures}
        best = max(scores, key=lambda n: np.nan_to_num(_mean(scores[n])), default=None)
        able &= {
            n for n in lengths if best in (n, None) or _interval(scores[best] - scores[n]).high <= tolerance
        }
    chosen = min(able, default=lengths[-1])
    advice = (
        f"Use {chosen} bits ({n_bytes(chosen):,} bytes per item): the fewest that lose at most {tolerance:g}."
    )
    if chosen == lengths[-1]:
        advice = f"Use {chosen} bits, the most that were tried: fewer may lose more than {tolerance:g}."
    last = found[lengths[-1]]
    others = [(f"{OPQ_CODES}, {n} bits", c.line(OPQ_CODES)) for n, c in found.items()]
    named = [(f"{n} bits", line) for n, line in ours.items()] + others + [(COSINE, last.line(COSINE))]
    lines = tuple(Line(name, line.bytes_per_item, line.measures) for name, line in named)
    facts = {"kind": "bits", "n_bits": chosen, "bits": lengths, "advice": advice, "line": f"{chosen} bits"}
    return Comparison(lines, last.protocol, facts)


def reference_lines(
    sheet: AnswerSheet, queries: Matrix, database: Matrix, chances: Chances
) -> tuple[Line, ...]:
    """Float cosine, a classifier with these probabilities of the queries' labels, and random order."""
    cosine = cosine_scores(unit_rows(queries), unit_rows(database))
    rank = expected_jaccard if sheet.database.is_tags else shared_label
    by_label = sheet.of_scores(rank(chances, sheet.database))
    return (
        Line(COSINE, 4 * int(database.shape[1]), sheet.of_scores(cosine)),
        Line(CLASSIFIER, label_bytes(sheet.database), by_label),
        Line(RANDOM, 0, sheet.of_random_order()),
    )


# -- pairs, triplets, views ------------------------------------------------------------------------


def compare_pairs(
    hasher: Any,
    X: Matrix,
    left: Numbers,
    right: Numbers,
    same: Numbers | None = None,
    *,
    held: Bools | None = None,
    random_state: Seed = None,
    **how: Any,
) -> Comparison:
    """How well codes put held-out pairs in order, beside searches that read none.

    Parameters
    ----------
    hasher : hasher
        A copy is fitted on the other pairs; with ``held``, it was fitted on them already.
    X : matrix of shape (n, p)
    left, right, same
        As in `EnergyHasher.fit_pairs`: verdicts or grades; all pairs are similar without ``same``.
    held : boolean array of shape (pairs,), default=None
        Pairs that were held out of the fit, as `hold_out_pairs` draws them.
    random_state : int or Generator, default=None
    **how
        More for `fit_pairs`, such as labels beside the pairs.
    """
    ends = np.stack([np.asarray(left, np.int64), np.asarray(right, np.int64)], axis=1)
    grades = None if same is None else np.asarray(same, np.float64)

    def fit(one: Any, keep: Bools) -> Any:
        verdicts = () if grades is None else (np.asarray(same)[keep],)
        return one.fit_pairs(X, ends[keep, 0], ends[keep, 1], *verdicts, **how)

    return _compare_examples(hasher, X, ends, grades, fit, held, make_rng(random_state))


def compare_triplets(
    hasher: Any,
    X: Matrix,
    anchor: Numbers,
    nearer: Numbers,
    further: Numbers,
    *,
    held: Bools | None = None,
    random_state: Seed = None,
    **how: Any,
) -> Comparison:
    """The same for triplets: how often the nearer row is nearer; see `compare_pairs`."""
    ends = np.stack([np.asarray(one, np.int64) for one in (anchor, nearer, further)], axis=1)

    def fit(one: Any, keep: Bools) -> Any:
        return one.fit_triplets(X, *ends[keep].T, **how)

    return _compare_examples(hasher, X, ends, None, fit, held, make_rng(random_state))


def _compare_examples(
    hasher: Any,
    X: Matrix,
    ends: Ints,
    grades: Floats | None,
    fit: Callable[[Any, Bools], Any],
    held: Bools | None,
    rng: Rng,
) -> Comparison:
    if held is None:
        from sklearn.base import clone

        held = hold_out_pairs(ends, X.shape[0], rng)
        hasher = fit(clone(hasher), ~held) if held.any() else hasher
    if not held.any():
        raise InvalidInput(
            f"{len(ends):,} pairs or triplets are too few to hold some out",
            f"{FEWEST_PAIRS} of each kind in a tenth of them",
            "Pass more pairs, or fit without a comparison",
        )
    kinds = [held] if grades is None else [held & (grades > 0), held & (grades <= 0)]
    judged = np.concatenate([rng.permutation(np.flatnonzero(one))[:MOST_JUDGED] for one in kinds])
    named = np.unique(ends[judged])
    others = rng.permutation(np.setdiff1d(np.arange(X.shape[0]), named, assume_unique=True))
    rows = np.sort(np.concatenate([named, others[: max(0, MOST_DATABASE - len(named))]]))
    found = {}
    examples = _Examples(ends, grades, held, judged, rows, X.shape[0], rng)
    n_bits, own = int(hasher.n_bits), _own_codes(hasher, X.shape[0])
    mapped, size = hasher.encode(X[rows]), n_bytes(n_bits)
    for name, codes in ((CODES, mapped if own is None else own[rows]), (MAPPED, mapped)):
        if name == CODES or own is not None:
            found[name] = Line(name, size, examples.measured(hamming_scores(codes, codes)))
    for one in Rivals(X, rows, n_bits, rng).unsupervised():
        measured = examples.measured(one.scores(rows, rows, None))
        found[one.name] = Line(one.name, one.bytes_per_item, measured)
    known = "triplets" if ends.shape[1] == 3 else "pairs"
    n, total = int(held.sum()), len(ends)
    protocol = (
        f"{n:,} of {total:,} {known} were held out of the fit; {len(rows):,} rows are searched. "
        f"{examples.meaning} Chance is .5. Partners: share of the held-out partners of a row that no other "
        f"{known[:-1]} names, among its first ten. Ties count one half."
    )
    facts = {"kind": "pairs", "known": known, "held_out": n, "learned_from": total - n, "n_bits": n_bits}
    return _chosen(tuple(found.values()), protocol, facts)


class _Examples:
    """Held-out pairs or triplets among ``rows``, and how well scores order them."""

    def __init__(
        self, ends: Ints, grades: Floats | None, held: Bools, judged: Ints, rows: Ints, n: int, rng: Rng
    ) -> None:
        place = np.full(n, -1)
        place[rows] = np.arange(len(rows))
        self.ends, self.grades = place[ends[judged]], None if grades is None else grades[judged]
        self.graded = self.grades is not None and len(np.unique(self.grades)) > 2
        self.strangers = rng.integers(len(rows), size=(len(judged), STRANGERS))
        links = self.ends[:, :2] if self.grades is None else self.ends[self.grades > 0]
        links = np.concatenate([links, links[:, ::-1]])
        links = links[~np.isin(rows[links[:, 0]], ends[~held])]  # of rows that no pair of the fit names
        asked, group = np.unique(links[:, 0], return_inverse=True)
        shape = len(asked), len(rows)
        partners = sp.csr_array((np.ones(len(links)), (group, links[:, 1])), shape=shape)
        some = np.sort(rng.permutation(len(asked))[:500])
        self.asked, self.partners = asked[some], partners[some]

    @property
    def meaning(self) -> str:
        """What the first figure says."""
        if self.ends.shape[1] == 3:
            return "In order: how often the nearer row is nearer."
        if self.grades is None:
            return "Area under ROC: how often a row's partner is nearer than a random row."
        if self.graded:
            return "In order: how often, of two pairs, the one of higher grade is nearer."
        return "Area under ROC: how often a similar pair is nearer than a dissimilar one."

    def measured(self, scores: ScoreRows) -> Measures:
        """The figures, one value per pair, and per row with partners."""
        near, out = self._near(scores, self.ends[:, 1:]), Measures()
        if self.ends.shape[1] == 3:
            out[IN_ORDER] = wins(near[:, 0], near[:, 1])
        elif self.grades is None:
            out[AUC] = wins(near, self._near(scores, self.strangers)).mean(axis=1)
        else:
            out[IN_ORDER if self.graded else AUC] = order_of_pairs(near[:, 0], self.grades)
            if self.graded:
                out[SPEARMAN] = rank_products(near[:, 0], self.grades)
        if len(self.asked):
            found = np.empty(len(self.asked))
            for part, block in self._blocks(scores, self.asked):
                block[np.arange(len(block)), self.asked[part]] = -np.inf
                theirs = self.partners[part].toarray() > 0
                found[part] = (shares_of_first(block, TEN) * theirs).sum(axis=1) / theirs.sum(axis=1)
            out[PARTNERS] = found
        return out

    def _near(self, scores: ScoreRows, others: Ints) -> Floats:
        """Scores (m, k) of the first rows of all examples with other rows (m, k)."""
        first, back = np.unique(self.ends[:, 0], return_inverse=True)
        out = np.empty(others.shape)
        for part, block in self._blocks(scores, first):
            here = np.flatnonzero((back >= part.start) & (back < part.stop))
            out[here] = block[back[here, None] - part.start, others[here]]
        return out

    @staticmethod
    def _blocks(scores: ScoreRows, rows: Ints) -> Iterator[tuple[slice, Floats]]:
        for part in block_slices(len(rows), 128):
            yield part, np.array(scores(rows[part]), np.float64)


def compare_views(
    hasher: Any,
    name: str,
    X: Matrix,
    Z: Matrix,
    y: LabelsLike = None,
    *,
    split: Split,
    random_state: Seed = None,
) -> Comparison:
    """What held-out rows of one view find among rows of another, in both directions, by mapped codes.

    Parameters
    ----------
    hasher : fitted hasher
        With a view of that name, learned from ``split.train``.
    name : str
    X, Z : matrices of shape (n, p) and (n, q)
        Rows of the first view and of the view ``name``, which belong together.
    y : labels, default=None
        Without labels, only whether the own row is among the first ten of the held-out rows.
    split : Split
    random_state : int or Generator, default=None
    """
    held, first = split.held_out, "first view"
    database = np.sort(make_rng(random_state).permutation(split.train)[:MOST_DATABASE])
    labels = None if y is None else read_labels(y, X.shape[0])
    itself = Labels(np.arange(len(held)), np.ones(len(held), bool), classes=np.arange(len(held)))
    own_sheet = AnswerSheet(itself, itself)
    sheet = None if labels is None else AnswerSheet(labels[held], labels[database])
    views = {first: (X, None), name: (Z, name)}
    lines = []

    def add(title: str, size: int, among: ScoreRows, into: ScoreRows) -> None:
        found = {} if sheet is None else sheet.of_scores(into)
        own = TEN * own_sheet.of_scores(among, ranks=False)[FIRST_TEN]
        lines.append(Line(title, size, found | {OWN: own}))

    for one, other in ((first, name), (name, first)):
        (left, asking), (right, searched) = views[one], views[other]
        new = hasher.encode(left[held], view=asking)
        both = [hasher.encode(right[rows], view=searched) for rows in (held, database)]
        size = n_bytes(int(hasher.n_bits))
        add(f"{one} → {other}", size, *(hamming_scores(new, codes) for codes in both))
        if X.shape[1] == Z.shape[1]:  # embeddings of one model can be compared as they are
            unit, width = unit_rows(left, held), 4 * int(X.shape[1])
            cosines = [cosine_scores(unit, unit_rows(right, rows)) for rows in (held, database)]
            add(f"{COSINE}, {one} → {other}", width, *cosines)
    flat = [
        hamming_scores(*(np.zeros((len(rows), 1), np.uint8) for rows in (held, one)))
        for one in (held, database)
    ]
    add(RANDOM, 0, *flat)
    facts = {"kind": "views", "queries": len(held), "database_rows": len(database), "line": lines[0].name}
    protocol = (
        f"{len(held):,} held-out rows of one view search {len(database):,} rows of the other for relevant "
        "rows, and the held-out rows of the other for their own row."
    )
    return Comparison(tuple(lines), protocol, facts)


def compare_bridge(
    hasher: Any,
    name: str,
    X: Matrix,
    Z: Matrix,
    y: LabelsLike = None,
    *,
    split: Split,
    database: Ints | None = None,
    random_state: Seed = None,
) -> Comparison:
    """What rows of a new embedding model find among codes of the old one, beside what else could be done.

    Beside the view: new rows mapped onto the old floats (a rotation after Procrustes, or ridge regression) and then
    encoded by the old model; old rows; and a database that was encoded anew by a hasher fitted on the new rows.

    Parameters
    ----------
    hasher : fitted hasher
        With a view of that name, learned from ``split.train``.
    name : str
    X, Z : arrays of shape (n, p) and (n, q)
        Old and new embeddings of the same rows.
    y : labels, default=None
        With labels, also the share of the first ten answers that are relevant.
    split : Split
        Rows that both models embedded, and rows that ask.
    database : array of int, default=None
        Rows whose codes are searched, at most 10,000 of them; None is ``split.train``.
    random_state : int or Generator, default=None
    """
    from sklearn.base import clone
    from sklearn.linear_model import RidgeCV

    rng = make_rng(random_state)
    shared, held = split.train, split.held_out[some_queries(len(split.held_out))]
    database = np.sort(rng.permutation(shared if database is None else database)[:MOST_DATABASE])
    known = None if y is None else read_labels(y, X.shape[0])
    sheet = None if known is None else AnswerSheet(known[held], known[database])
    nearest = {f"nearest by {one} cosine": nearest_ten(rows[held], rows[database])
               for one, rows in (("old", X), ("new", Z))}  # fmt: skip
    old, new = (np.asarray(rows[shared], np.float64) for rows in (X, Z))
    mean_old, mean_new = old.mean(axis=0), new.mean(axis=0)
    left, sizes, right = np.linalg.svd((new - mean_new).T @ (old - mean_old), full_matrices=False)
    stretch = sizes.sum() / max(float(((new - mean_new) ** 2).sum()), 1e-300)
    rotated = (Z[held] - mean_new) @ (left @ right) * stretch + mean_old
    scale = max(float((new - mean_new).var(axis=0).mean()) * len(new), 1e-300)
    ridge = RidgeCV(alphas=scale * np.logspace(-4, 1, 6)).fit(new, old)
    anew = clone(hasher) if y is not None else type(hasher)(hasher.n_bits, random_state=hasher.random_state)
    anew = anew.fit(Z[database], None if known is None else known[database])
    theirs = hasher.encode(X[database])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KinhashWarning)  # mapped rows are unlike those of the fit
        asked = {
            VIEW: (hasher.encode(Z[held], view=name), theirs),
            "Procrustes, old encoder": (hasher.encode(rotated), theirs),
            "ridge, old encoder": (hasher.encode(ridge.predict(np.asarray(Z[held], np.float64))), theirs),
            "old rows, old model": (hasher.encode(X[held]), theirs),
            ANEW: (anew.encode(Z[held]), anew.encode(Z[database])),
        }
    lines = []
    for title, sides in asked.items():
        scores = hamming_scores(*sides)
        found = {one: share_of_nearest(scores, rows, len(database), HUNDRED) for one, rows in nearest.items()}
        if sheet is not None:
            found = {FIRST_TEN: sheet.of_scores(scores)[FIRST_TEN]} | found
        lines.append(Line(title, n_bytes(int(hasher.n_bits)), found))
    facts = {
        "kind": "bridge",
        "queries": len(held),
        "database_rows": len(database),
        "shared_rows": len(shared),
    }
    protocol = (
        f"{len(shared):,} rows were embedded by both models; {len(held):,} other rows, new embeddings, search "
        f"{len(database):,} old codes. Nearest: of the ten nearest rows by cosine, old or new, the share among the "
        "first hundred."
    )
    return Comparison(tuple(lines), protocol, facts)
