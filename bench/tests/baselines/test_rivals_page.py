"""docs/rivals.md says what the table of baselines says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rival_cases import classes

from kinhash.errors import InvalidInput
from kinhash_bench.baselines import BASELINES
from kinhash_bench.baselines.cards import FEATURES, PAIRS, cards_table, fill_page

pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
PAGE = Path(__file__).parents[3] / "docs" / "rivals.md"
QUICK = {"n_rounds": 2, "n_partners": 5, "n_pairs": 200, "n_epochs": 1}


def test_every_row_of_the_table_is_on_the_page():
    text = PAGE.read_text("utf-8")
    listed = [line.split("`")[1] for line in cards_table().splitlines()[2:]]
    assert sorted(listed) == sorted(BASELINES)
    assert fill_page(text) == text, "run: python -m kinhash_bench.baselines.cards docs/rivals.md"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name == "MMC")) for name in BASELINES]
)
def test_the_card_says_what_the_method_takes_and_has(name):
    card = BASELINES[name].card
    if "metric-learn" in card.ours:
        pytest.importorskip("metric_learn")
    X, y = classes(n=60)
    hasher = BASELINES[name](random_state=0)
    hasher.set_params(n_bits=4, **{key: QUICK[key] for key in QUICK if key in hasher.get_params()})
    left, right = [0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]
    if card.learns_from == PAIRS:
        assert hasher.fit_pairs(X, left, right, [1, -1, 1, -1, 1, -1]).encode(X).shape == (60, 1)
    elif card.learns_from != FEATURES:
        with pytest.raises(InvalidInput, match="classes or tags"):
            hasher.fit_pairs(X, left, right, [1, -1, 1, -1, 1, -1])
    fitted = hasher.fit(X, None if card.learns_from == FEATURES else y)
    assert bool(np.all(fitted.codes_.learned)) == ("map" in hasher.get_params())
