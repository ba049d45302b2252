"""The fit over blocks, for any engine that holds the rows.

Two kinds of settings, which the hasher itself can distinguish:

* *fixed settings* (what ``partial_fit`` takes: a ridge encoder, nothing left to choose) are a reduction.
  Codes of the labels come from the counts of all rows, the map from sums over all rows.
* *all other settings*, the default among them, make choices on held-out rows and fit a label model on at
  most 100,000 rows even in ``fit``. So as many rows as that are gathered, and ``fit`` learns from them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from .._internal.blocks import single_blas_thread
from .._internal.rows import Rows
from .._internal.validation import check_features, make_rng
from ..encoders import GUESS_ROWS, LABEL_ROWS, RBF, Moments, feature_map
from ..errors import InvalidInput
from ..hashers import Anchored, Hasher, Stream, StreamingHasher, StreamPlan
from .blocks import Block, Blocks, LocalBlocks
from .steps import Taken, join, sum_block, take_rows
from .survey import Survey, choose_rows, spread_rows, survey_block

__all__ = ["SAMPLE_ROWS", "fit_blocks", "learn_from"]

SAMPLE_ROWS = LABEL_ROWS  # as many as one fit's label model looks at
H = TypeVar("H", bound=Hasher)


def fit_blocks(hasher: H, blocks: Sequence[Block], n_jobs: int | None = None) -> H:
    """Fit a hasher to a list of blocks (X, y) in this process, and return it.

    Either part of a block may be a function without arguments that loads it, so the rows need never be in
    memory at once; see `cut_rows` for matrices and memory maps. Memory: see `learn_from`, and what two
    blocks per thread need.
    """
    return learn_from(hasher, LocalBlocks(blocks, n_jobs))


def learn_from(hasher: H, blocks: Blocks, *, sample_rows: int = SAMPLE_ROWS) -> H:
    """Fit a hasher to blocks that an engine holds, and return it.

    Equal blocks and an integer ``random_state`` give the same model, bit for bit, on every engine. Up to
    ``sample_rows`` rows, all of them labeled, settings that are not fixed give exactly the model of ``fit``.
    ``codes_`` is not kept, unless all rows were gathered.

    Memory here: the gathered rows (at most ``sample_rows`` and a few of each rare name) and what ``fit``
    needs for them; for fixed settings about 1000 rows and a few p × p matrices.
    """
    start = time.perf_counter()
    hasher.check_parameters()
    if _setting(hasher, "anchors", None) is not None:
        raise InvalidInput(
            "anchors were set for a fit over blocks",
            "anchors=None: row numbers mean little where rows lie in many places",
            "Leave anchors out, or use fit",
        )
    plan = _fixed_plan(hasher)
    # A child, so that fit draws the same as without blocks.
    rng = make_rng(hasher.random_state).spawn(1)[0]
    look = partial(survey_block, most=int(_setting(hasher, "n_anchors", 1000)), seed=int(rng.integers(2**62)))
    survey = blocks.reduce_labels(look, Survey.merge)
    if not survey.n_known:
        raise InvalidInput(
            "Nothing is known about any row (every label is missing)",
            "labels for some rows",
            "Pass labels",
        )
    if plan is None:
        taken = join(blocks.gather(take_rows, choose_rows(survey, sample_rows, rng)))
        _fit_sample(hasher, taken, survey)
    else:
        assert isinstance(hasher, StreamingHasher)
        wanted = spread_rows(survey, GUESS_ROWS)
        features = feature_map(plan.encoder.features)
        if isinstance(features, RBF):
            wanted = choose_rows(survey, GUESS_ROWS + features.n_centers, rng)
        taken = join(blocks.gather(take_rows, wanted))
        _reduce(hasher, plan, taken, survey, blocks)
    hasher.report_.seconds["all blocks"] = time.perf_counter() - start
    return hasher


def _setting(hasher: Hasher, name: str, otherwise: Any) -> Any:
    """A setting of the hasher, or of its solver."""
    return getattr(hasher, name, getattr(getattr(hasher, "solver", None), name, otherwise))


def _fit_sample(hasher: Hasher, taken: Taken, survey: Survey) -> None:
    """The ordinary fit of the gathered rows."""
    hasher.fit(taken.X, taken.labels)
    hasher.report_.n_rows = survey.n_rows
    hasher.report_.facts["n_sampled"] = len(taken.labels)
    if len(taken.labels) < survey.n_rows:  # codes of some rows, whose numbers nobody knows
        hasher.adopt(replace(hasher.fitted_, codes=None, group_of_row=None, marginals=None))


def _reduce(hasher: StreamingHasher, plan: StreamPlan, taken: Taken, survey: Survey, blocks: Blocks) -> None:
    """Codes from the counts of all labels, then one sum over all rows."""
    X = check_features(hasher, taken.X, reset=True)
    # Counts say all about few distinct labels. Where they are many, or not merged, labels are drawn.
    few = survey.kinds is not None and len(survey.kinds) > 1 and plan.solver.merge
    labels, weights = (survey.kinds, survey.counts) if few else (survey.drawn, None)
    assert labels is not None
    with single_blas_thread():
        anchored = Anchored.of(plan, labels, weights, Rows(X), make_rng(hasher.random_state))
    look = partial(sum_block, anchored=anchored, width=X.shape[1])
    stream = Stream(anchored, Rows(X).block_rows())
    stream.moments = blocks.reduce(look, Moments.merge)
    stream.n_rows = survey.n_rows
    with single_blas_thread():
        hasher.become(stream)


def _fixed_plan(hasher: Hasher) -> StreamPlan | None:
    """The plan of fixed settings; None where something is left to choose."""
    if not isinstance(hasher, StreamingHasher):
        return None
    try:
        return hasher.stream_plan()
    except InvalidInput:
        return None
