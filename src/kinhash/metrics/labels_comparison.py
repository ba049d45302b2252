"""Compare a fitted hasher, on rows that were held out of the fit, with what people would build instead.

The sizes are bounded, so that comparing costs a fraction of learning, and stated, so that the numbers can
be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from .._internal.types import Facts, Ints, Matrix, Rng
from ..codes import Codes, n_bytes
from ..supervision import Labels
from .answers import MEASURES, AnswerSheet, Measures, hamming_scores, self_retrieval
from .by_label import scores_by_label
from .code_references import CodeReferences
from .comparison import (
    CLASSIFIER,
    COSINE,
    JACCARD_CLASSIFIER,
    LEARNED,
    LSH,
    MAPPED,
    RANDOM,
    SIGN_BITS,
    AnyHasher,
    Comparison,
    Line,
)
from .cosine import ScoreRows, cosine_scores, unit_rows
from .hold_out import label_counts
from .label_model import Chances, Classifier, expected_jaccard, label_bytes, shared_label
from .nearest_kin import some_queries

__all__ = ["HeldOutJudge", "compare_labels", "reference_lines"]

MOST_DATABASE = 10_000
MOST_NUMBERS = 50_000_000  # of a database of wide rows


def compare_labels(
    hasher: AnyHasher,
    X: Matrix,
    labels: Labels,
    train: Ints,
    queries: Ints,
    rng: Rng,
    above: Sequence[Labels] = (),
) -> Comparison:
    """What held-out queries find among the rows the hasher was fitted on.

    ``hasher`` was fitted on ``X[train]``. ``above`` are the labels one level up in a tree, two, and so on.
    Peak memory beyond the features: about 250 MB.
    """
    return HeldOutJudge(X, labels, train, queries, rng, above).compare(hasher)


def reference_lines(
    sheet: AnswerSheet, queries: Matrix, database: Matrix, chances: Chances
) -> tuple[Line, ...]:
    """Float cosine, classifiers with these probabilities of the queries' labels, and random order."""
    cosine = cosine_scores(unit_rows(queries), unit_rows(database))
    labels, size = sheet.database, label_bytes(sheet.database)
    lines = [
        Line(COSINE, 4 * int(database.shape[1]), sheet.of_scores(cosine)),
        Line(CLASSIFIER, size, sheet.of_scores(shared_label(chances, labels))),
    ]
    if labels.is_tags:
        lines.append(Line(JACCARD_CLASSIFIER, size, sheet.of_scores(expected_jaccard(chances, labels))))
    return (*lines, Line(RANDOM, 0, sheet.of_random_order()))


class HeldOutJudge:
    """Compares hashers fitted on the same rows; what does not depend on the hasher is measured once.

    Queries are the held-out rows. The database are rows of the fit, 10,000 of them at most.
    """

    def __init__(
        self,
        X: Matrix,
        labels: Labels,
        train: Ints,
        queries: Ints,
        rng: Rng,
        above: Sequence[Labels] = (),
    ) -> None:
        known = np.flatnonzero(labels.known[train])  # rows of unknown label are in no ranking
        size = min(len(known), MOST_DATABASE, max(1_000, MOST_NUMBERS // X.shape[1]))
        self.chosen = np.sort(rng.permutation(known)[:size])
        self.X, self.labels, self.train, self.queries = X, labels, train, queries
        self.database, self.rng = train[self.chosen], rng
        self.X_new, self.X_database = X[queries], X[self.database]
        mine = labels[queries]
        levels = tuple(AnswerSheet(one[queries], one[self.database]) for one in above)
        self.sheet = AnswerSheet(
            mine, labels[self.database], features=(self.X_new, self.X_database), above=levels
        )
        self.later = AnswerSheet(mine, mine, own=np.arange(len(queries)))

    def measures(self, new: Codes, database: Codes) -> Measures:
        """What the codes of queries find in a database of mapped codes, and among each other."""
        return self.sheet.of_codes(new, database) | self._later(hamming_scores(new, new))

    def _later(self, scores: ScoreRows) -> Measures:
        return {"later": self.later.average_precision(scores)}

    @cached_property
    def references(self) -> tuple[Line, ...]:
        """Float cosine, sign bits, the classifiers and random order."""
        classifier = Classifier.fit(self.X[self.train], self.labels[self.train])
        cosine, *others = reference_lines(self.sheet, self.X_new, self.X_database, classifier(self.X_new))
        unit = unit_rows(self.X_new)
        cosine.measures.update(self._later(cosine_scores(unit, unit)))
        codes = CodeReferences(self.X, self.database, 1, self.rng)
        new = codes.sign_bits(self.queries)
        signs = self.sheet.of_scores(hamming_scores(new, codes.sign_bits(self.database)))
        signs |= self._later(hamming_scores(new, new))
        return (cosine, Line(SIGN_BITS, n_bytes(int(self.X.shape[1])), signs), *others)

    def reference(self, name: str) -> Line:
        """The reference of that name."""
        return next(line for line in self.references if line.name == name)

    def lsh(self, n_bits: int) -> Line:
        """Random projections of that length."""
        codes = CodeReferences(self.X, self.database, n_bits, self.rng)
        found = self.measures(codes.lsh(self.queries), codes.lsh(self.database))
        return Line(LSH, n_bytes(n_bits), found)

    def mapped(self, name: str, hasher: AnyHasher) -> Line:
        """A fitted hasher whose database holds mapped codes."""
        found = self.measures(hasher.encode(self.X_new), hasher.encode(self.X_database))
        return Line(name, n_bytes(int(hasher.n_bits)), found)

    def compare(self, hasher: AnyHasher, *others: Line) -> Comparison:
        """The lines of a hasher, of the references and of ``others``; and what else is worth knowing."""
        cosine, signs, *classifiers = self.references
        new, mapped = hasher.encode(self.X_new), hasher.encode(self.X_database)
        size = n_bytes(new.n_bits)
        lines = [Line(MAPPED, size, self.measures(new, mapped))]
        searched, learned = mapped, hasher.codes_.learned
        if learned:  # some methods only map: their codes_ are the mapped ones again
            searched = hasher.codes_[self.chosen]
            lines.insert(0, Line(LEARNED, size, self.sheet.of_codes(new, searched)))
        asked = some_queries(len(self.database))
        facts: Facts = {
            "codes": "learned" if learned else "mapped",
            "queries": len(self.queries),
            "queries_without_kin": int(np.isnan(lines[0].measures["mAP"]).sum()),
            "database_rows": len(self.database),
            "training_rows": len(self.train),
            "self_retrieval": self_retrieval(mapped[asked], searched, asked),
            "self_retrieval_of": len(asked),
            "unique_codes_mapped": len(np.unique(mapped.packed, axis=0)),
            "bytes_per_item_before": cosine.bytes_per_item,
            "bytes_per_item_after": size,
            "n_bits": new.n_bits,
            "alike_bits": new.fields.alike,
            "kin_weight": new.fields.kin_weight,
            "labels": int((label_counts(self.labels[self.train]) > 0).sum()),
            "labels_are": "tags" if self.labels.is_tags else "classes",
            "classes_sharing_a_code": hasher.report_.classes_sharing_a_code,
        }
        if learned:
            facts["unique_codes_learned"] = len(np.unique(searched.packed, axis=0))
        by_label = scores_by_label(
            lines[0].measures["mAP"], cosine.measures["mAP"], self.labels[self.queries]
        )
        facts["by_label"] = [one._asdict() for one in by_label]
        lines += [cosine, signs, self.lsh(new.n_bits), *others, *classifiers]
        return Comparison("mAP", self._protocol(facts), tuple(lines), facts)

    def _protocol(self, facts: Facts) -> str:
        n_database, n_train = facts["database_rows"], facts["training_rows"]
        which = f"all {n_train:,}" if n_database == n_train else f"{n_database:,} of the {n_train:,}"
        origin = "learned codes come from labels, mapped ones from features"
        if facts["codes"] == "mapped":
            origin = "all codes come from features, since this method learns a map alone"
        skipped = facts["queries_without_kin"]
        without = f" {skipped:,} queries have no relevant row and are left out." if skipped else ""
        measured = "; ".join(
            f"{name}: {MEASURES[name]}" for name in self.references[0].measures if name in MEASURES
        )
        if self.sheet.above:
            measured += "; 1 up: the same where rows below the same node one level up the tree are relevant"
        return (
            f"Protocol: {facts['queries']:,} rows were held out of the fit and are the queries.{without}\n"
            f"Database: {which} rows of the fit; {origin}. Relevant: "
            f"{'at least one shared tag' if self.labels.is_tags else 'the same class'}.\n{measured}.\n"
            "Classifier: logistic regression and the database's true labels, one byte per label. Ties: "
            "expected value over all orders. Intervals: over queries."
        )
