"""Rows that come over time: every step is what fitting and scoring the rows so far gives."""

from __future__ import annotations

import numpy as np
import pytest

from kinhash import EMKSH
from kinhash.errors import InvalidInput
from kinhash.metrics import evaluate
from kinhash_bench.baselines import HMOH
from kinhash_bench.protocols import PROTOCOLS, evaluate_online

pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")


def rows(n=300):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 4, n)
    return (rng.normal(size=(n, 10)) + 2 * np.eye(10)[y]).astype(np.float32), y


def test_each_step_searches_the_rows_so_far():
    X, y = rows()
    record = evaluate_online(HMOH(8, random_state=0), (X, y), "paper", 1, n_batches=3)
    split = PROTOCOLS["paper"].partition(y, 1)
    assert [step.n_rows for step in record.steps] == [60, 120, 180]
    assert (record.protocol, record.protocol_digest, record.partition) == ("paper", "f0eb1beaca68", 1)
    from kinhash_bench.protocols.partition import random_order

    order = split.train[random_order(180, 0, 1)]
    hasher, kept = HMOH(8, random_state=0), []
    for step, batch in zip(record.steps, np.split(order, 3), strict=True):
        hasher.partial_fit(X[batch], y[batch])
        kept.append(np.asarray(hasher.encode(X[batch])))
        so_far = order[: step.n_rows]
        asked = np.asarray(hasher.encode(X[split.query])), y[split.query], y[so_far]
        for score, database in (
            (step.mapped, np.asarray(hasher.encode(X[so_far]))),
            (step.kept, np.concatenate(kept)),
        ):
            assert score.value == pytest.approx(evaluate(asked[0], database, *asked[1:]))
    assert record.steps[0].mapped.value == record.steps[0].kept.value
    assert record.mean[0] == pytest.approx(np.mean([step.mapped.value for step in record.steps]))
    assert "180" in str(record)


def test_methods_that_need_all_rows_are_refused():
    with pytest.raises(InvalidInput, match="batches"):
        evaluate_online(EMKSH(8), rows())
