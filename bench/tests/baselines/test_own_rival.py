"""A rival outside the package needs public names only, and no rival has parameters it does not take."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsRegressor

from kinhash.errors import InvalidInput
from kinhash.models import Map
from kinhash.paper import Baseline, Solved, Training, Unsupervised
from kinhash.testing import check_hasher
from kinhash_bench.baselines import BASELINES, TwoStepBaseline

PAGE = Path(__file__).parents[3] / "docs" / "rivals.md"


class Column(Map):
    """The first column against a threshold, for every bit."""

    kind = "column"

    def __init__(self, thresholds):
        self.thresholds = thresholds

    @property
    def n_bits(self):
        return len(self.thresholds)

    def scores(self, block):
        return np.asarray(block, np.float64)[:, :1] - self.thresholds

    def arrays(self):
        return {"thresholds": self.thresholds}

    @classmethod
    def from_arrays(cls, arrays):
        return cls(arrays["thresholds"])


class Quantiles(Unsupervised):
    def _solve(self, training: Training) -> Solved:
        column = np.asarray(training.rows.X)[:, 0]
        return Solved(map=Column(np.quantile(column, np.arange(1, self.n_bits + 1) / (self.n_bits + 1))))


class KinMean(Baseline):
    """Thresholds around the mean of the rows that have kin among the others."""

    def _solve(self, training: Training) -> Solved:
        groups = training.supervision.group_of_row
        column = np.asarray(training.rows.X)[np.bincount(groups)[groups] > 1, 0]
        return Solved(
            map=Column(column.mean() + training.rng.normal(size=self.n_bits)), facts={"seen": len(column)}
        )


def the_page_s_own():
    text = PAGE.read_text("utf-8").split("## A rival of your own")[1]
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert "kinhash._" not in block
    assert "._" not in re.sub(r"def _solve", "", block)
    names: dict = {}
    exec(block, names)
    return names["BitPerClass"]


@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")  # bits that are twins
@pytest.mark.parametrize("make", [lambda: Quantiles, lambda: KinMean, the_page_s_own])
def test_a_rival_of_ones_own_keeps_every_promise(make):
    check_hasher(make()(n_bits=12))


@pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
@pytest.mark.parametrize("map_", ["own", "linear", "rbf", KNeighborsRegressor(3)])
def test_its_codes_combine_with_every_map(map_):
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = rng.normal(size=(90, 5)) + 5 * rng.normal(size=(3, 5))[y]
    fitted = the_page_s_own()(n_bits=8, map=map_, n_centers=20, random_state=0).fit(X, y)
    np.testing.assert_array_equal(fitted.codes_, np.packbits(y[:, None] == np.arange(8) % 3, axis=1))
    np.testing.assert_array_equal(fitted.encode(X), fitted.codes_)


def test_facts_are_reported_and_labels_are_not_read_without_need():
    X = np.random.default_rng(0).normal(size=(20, 2))
    assert KinMean(4, random_state=0).fit(X, np.arange(20) % 2).report_.facts["seen"] == 20
    np.testing.assert_array_equal(Quantiles(4).fit(X).encode(X), Quantiles(4).fit(X, ["a"] * 20).encode(X))


@pytest.mark.parametrize("base", [Baseline, TwoStepBaseline, Unsupervised])
def test_a_rival_that_finds_nothing_is_told_what_to_return(base):
    class Nothing(base):
        def _solve(self, training: Training) -> Solved:
            return Solved()

    with pytest.raises(InvalidInput, match=r"Nothing gave no .* Return"):
        Nothing(4).fit(np.eye(4), [0, 0, 1, 1])


@pytest.mark.parametrize("name", BASELINES)
def test_no_rival_pretends_to_have_a_choice(name):
    """What looks like a parameter is one, and can be set."""
    rival = BASELINES[name]()
    for parameter in ("map", "alpha", "n_centers"):
        assert hasattr(rival, parameter) == (parameter in rival.get_params())
