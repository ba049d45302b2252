"""Our figures are those of ranx and ir_measures (trec_eval) where no two rows are equally far.

Other evaluators break ties by the order of ids or not at all, so only rankings without ties can be compared.
"""

from __future__ import annotations

import numpy as np
import pytest

from kinhash.codes import Codes
from kinhash.metrics import evaluate

N_BITS, N_QUERIES = 64, 25


class Rankings:
    """Queries with a database each, whose distances all differ; ``share`` of the rows are relevant."""

    def __init__(self, share, n_rows=N_BITS + 1, grades=1):
        rng = np.random.default_rng([int(100 * share), n_rows, grades])
        self.parts = []
        for _ in range(N_QUERIES):
            query = rng.integers(0, 2, N_BITS)
            distance = rng.permutation(N_BITS + 1)[:n_rows]
            rows = np.where(np.arange(N_BITS) < distance[:, None], 1 - query, query)
            grade = np.where(rng.random(n_rows) < share, rng.integers(1, grades + 1, n_rows), 0)
            grade[rng.integers(n_rows)] = grades  # at least one is relevant: evaluators differ where none is
            self.parts.append((Codes.from_bits(query[None]), Codes.from_bits(rows), grade, distance))

    def judged(self):
        return {
            f"q{i}": {f"d{j}": int(g) for j, g in enumerate(part[2]) if g}
            for i, part in enumerate(self.parts)
        }

    def found(self):
        return {
            f"q{i}": {f"d{j}": float(1000 - d) for j, d in enumerate(part[3])}
            for i, part in enumerate(self.parts)
        }

    def ours(self, measure, **options):
        """Figures of every query by the measure, one database at a time."""
        values = []
        for query, rows, grade, _ in self.parts:
            relevant = grade[None] if measure.startswith("ndcg") else grade[None] > 0
            values.append(float(evaluate(query, rows, relevant, None, measure, **options)))
        return np.array(values)


CASES = [Rankings(0.1), Rankings(0.5), Rankings(0.9), Rankings(0.3, n_rows=7), Rankings(0.3, n_rows=1)]
GRADED = [Rankings(0.3, grades=3), Rankings(0.8, grades=5), Rankings(0.5, n_rows=6, grades=3)]
KS = [1, 5, 10, 50]


def measures(k):
    """(ours, name in ranx, name in ir_measures) of the measures that need a number of rows."""
    return [
        (lambda case: case.ours(f"precision@{k}"), f"precision@{k}", f"P@{k}"),
        (lambda case: case.ours(f"recall@{k}"), f"recall@{k}", f"R@{k}"),
        (lambda case: case.ours(f"ndcg@{k}"), f"ndcg@{k}", f"nDCG@{k}"),
    ]


def ranx_of(case, name):
    ranx = pytest.importorskip("ranx")
    qrels, run = ranx.Qrels(case.judged()), ranx.Run(case.found())
    ranx.evaluate(qrels, run, name)
    return np.array([run.scores[name][f"q{i}"] for i in range(N_QUERIES)])


def trec_of(case, name):
    ir_measures = pytest.importorskip("ir_measures")
    kind, _, k = name.partition("@")
    measure = getattr(ir_measures, kind)  # its parser of names does not work with Python 3.14
    values = ir_measures.iter_calc([measure @ int(k) if k else measure], case.judged(), case.found())
    by_query = {entry.query_id: entry.value for entry in values}
    return np.array([by_query[f"q{i}"] for i in range(N_QUERIES)])


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("which", range(3), ids=["precision", "recall", "nDCG"])
def test_first_k_rows(case, k, which):
    ours, in_ranx, in_trec = measures(k)[which]
    np.testing.assert_allclose(ours(case), ranx_of(case, in_ranx), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(ours(case), trec_of(case, in_trec), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("ties", ["expected", "index"])
def test_average_precision_of_every_query(case, ties):
    ours = case.ours("map", ties=ties)
    np.testing.assert_allclose(ours, ranx_of(case, "map"), rtol=1e-9)
    np.testing.assert_allclose(ours, trec_of(case, "AP"), rtol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_average_precision_of_the_first_ten(case):
    """trec_eval divides by all relevant rows, ours by at most ten of them: one is a multiple of the other."""
    relevant = np.array([(part[2] > 0).sum() for part in case.parts])
    ours = case.ours("map@10") * np.minimum(relevant, 10) / relevant
    np.testing.assert_allclose(ours, trec_of(case, "AP@10"), rtol=1e-9)


@pytest.mark.parametrize("case", GRADED)
@pytest.mark.parametrize("k", [None, 5, 10])
def test_graded_relevance(case, k):
    """Linear gain, as trec_eval has it."""
    suffix = "" if k is None else f"@{k}"
    np.testing.assert_allclose(case.ours(f"ndcg{suffix}"), ranx_of(case, f"ndcg{suffix}"), rtol=1e-9)
    np.testing.assert_allclose(case.ours(f"ndcg{suffix}"), trec_of(case, f"nDCG{suffix}"), rtol=1e-9)


@pytest.mark.parametrize("case", GRADED)
def test_graded_relevance_with_exponential_gain(case):
    np.testing.assert_allclose(case.ours("ndcg/exp"), ranx_of(case, "ndcg_burges"), rtol=1e-9)
