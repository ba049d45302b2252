"""Who is first, who is level, and in how many cells our method is either."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kinhash_bench.report.paired import difference, first_of, is_level
from kinhash_bench.report.report import make_report
from kinhash_bench.report.rows import Group
from kinhash_bench.report.wins import verdicts, wins_sentence
from kinhash_bench.tasks import Result, Score
from records import result


def scored(values: Any) -> Score:
    values = np.asarray(values, dtype=float)
    mean = float(np.nanmean(values))
    return Score(mean, (mean, mean), len(values), 0, (), values)


def row(method: str, *partitions: Any, first: int = 0, **more: Any) -> list[Result]:
    n_bits = more.pop("n_bits", 16)
    return [
        replace(
            result("field-x", "x", method, n_bits, first + number, tags=True, **more),
            learned=scored(values),
            mapped=None,
        )
        for number, values in enumerate(partitions)
    ]


def group(*partitions: Any, first: int = 0) -> Group:
    return Group.of(row("SDH", *partitions, first=first))


def test_the_standard_error_is_that_of_the_differences() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 2, 30))
    b[0, 4] = np.nan
    apart = difference(group(*a), group(*b), "learned")
    expected = (a - b).ravel()
    expected = expected[~np.isnan(expected)]
    assert apart is not None
    assert apart.mean == pytest.approx(expected.mean())
    assert apart.error == pytest.approx(expected.std(ddof=1) / np.sqrt(59))
    assert (apart.n_queries, apart.n_partitions) == (59, 2)


def test_only_shared_partitions_are_compared() -> None:
    left, right = group([0.9, 0.8], [0.5, 0.5]), group([0.1, 0.2], first=1)
    apart = difference(left, right, "learned")
    assert apart is not None
    assert apart.mean == pytest.approx(0.35)
    assert difference(left, group([0.1, 0.2], first=7), "learned") is None
    assert difference(left, None, "learned") is None


def test_nobody_is_first_because_others_ran_less_often() -> None:
    hard, easy = [0.2, 0.3], [0.8, 0.9]
    groups = {"often": group(easy, hard), "seldom": group([0.25, 0.36], first=1)}
    assert first_of(groups, "learned") == "seldom"  # ahead on the partition both have
    groups = {"often": group(hard, easy), "seldom": group([0.75, 0.85], first=1)}
    assert first_of(groups, "learned") == "often"  # though its mean over all is lower
    assert first_of({"none": Group((), ())}, "learned") is None


def test_first_is_decided_on_shared_partitions_against_every_row() -> None:
    def flat(*values: float, first: int = 0) -> Group:
        return group(*([value] * 4 for value in values), first=first)

    # "ours" leads "often" where both ran, but "third" leads "ours" there.
    groups = {"often": flat(0.6, 0.8, 0.8), "third": flat(0.7, 0.7, 0.7), "ours": flat(0.65)}
    assert first_of(groups, "learned") != "ours"
    # Means over other partitions do not count: "ours" is ahead on both that are shared.
    groups = {"a": flat(0.5, 0.5, 0.9), "ours": group([0.55] * 4, [0.55] * 4)}
    assert first_of(groups, "learned") == "ours"


def test_a_rival_that_ran_once_does_not_hide_one_that_is_far_ahead() -> None:
    def flat(value: float) -> Any:
        return np.full(10, value)

    rows = [
        *row("EnergyHasher", flat(0.65), *[flat(0.70)] * 4),
        *row("SDH", flat(0.60), *[flat(0.80)] * 4),
        *row("KSH", flat(0.62)),
    ]
    (verdict,) = verdicts(rows, other_maps=False)
    assert (verdict.rival, verdict.won) == ("SDH", False)
    assert verdict.behind.mean == pytest.approx(0.07)


def test_cells_that_share_no_partition_are_not_counted() -> None:
    rows = [*row("EnergyHasher", [0.5, 0.6]), *row("SDH", [0.6, 0.7], first=3)]
    assert verdicts(rows, other_maps=False) == []


def test_level_means_within_one_standard_error() -> None:
    base = np.full(100, 0.5)
    noise = np.tile([0.1, -0.1], 50)
    error = noise.std(ddof=1) / 10
    first = group(base)
    assert is_level(group(base - 0.99 * error + noise), first, "learned")
    assert not is_level(group(base - 1.01 * error + noise), first, "learned")


def test_the_count_of_wins() -> None:
    steady = np.full(50, 0.6)
    shaky = steady - 0.001 + np.tile([0.05, -0.05], 25)
    rows = [
        *row("EnergyHasher", steady, n_bits=8),
        *row("SDH", steady - 0.1, n_bits=8),  # first
        *row("EnergyHasher", shaky, n_bits=16),
        *row("SDH", steady, n_bits=16),  # level
        *row("EnergyHasher", steady - 0.1, n_bits=32),
        *row("SDH", steady, n_bits=32),  # behind
        *row(
            "EnergyHasher",
            steady + 0.3,
            n_bits=32,
            label="EnergyHasher, rbf",
            given={"features": "rbf"},
        ),
    ]
    found = {v.n_bits: v for v in verdicts(rows, other_maps=False)}
    assert [(v.first, v.won) for _, v in sorted(found.items())] == [
        (True, True),
        (False, True),
        (False, False),
    ]
    assert "first or level with the first in 2 of 3 (67%) cells against rivals" in wins_sentence(rows)
    assert "no rival's codes were run with another map" in wins_sentence(rows)
    assert "paper 2 of 3 (67%); inductive not run" in wins_sentence(rows)
    lost = next(table for table in make_report(rows).tables if table.name == "wins-lost")
    ((where, entries),) = lost.rows
    assert where == "x, paper, 32 bits, learned"
    assert entries[0].text == "SDH"
    assert entries[3].value == pytest.approx(0.1)


def test_the_count_names_the_settings_that_ours_had_in_all_cells() -> None:
    steady = np.full(50, 0.6)
    rival = row("SDH", steady - 0.1)
    alone = row("EnergyHasher", steady, given={"looks": 0}, label="EnergyHasher")
    plain = row("EnergyHasher", steady, first=1)
    assert "EnergyHasher with looks = 0 is first" in wins_sentence([*alone, *rival])
    assert "EnergyHasher as it comes is first" in wins_sentence([*plain, *row("SDH", steady - 0.1, first=1)])
    assert "EnergyHasher with settings that differ between cells is first" in wins_sentence(
        [*alone, *plain, *rival]
    )
    count = next(table for table in make_report([*alone, *rival]).tables if table.name == "wins-count")
    assert "takes part with looks = 0" in count.notes[0]


def test_one_length_is_said_once_and_several_in_every_row() -> None:
    steady = np.full(50, 0.6)
    short, long = (row("EnergyHasher", steady, n_bits=n) for n in (16, 32))
    later = [replace(one, dataset="y", sections=("field-y",)) for one in long]
    one, two = (
        next(table for table in make_report(rows).tables if table.name == "headline")
        for rows in ([*short, *row("SDH", steady)], [*short, *later])
    )
    assert (one.caption, [name for name, _ in one.rows]) == ("16 bits: mAP", ["x, paper, learned"])
    assert [name for name, _ in two.rows] == ["x, paper, 16 bits, learned", "y, paper, 32 bits, learned"]


@pytest.mark.parametrize("section", ["maps-x", "a task of one's own"])
def test_other_maps_on_rivals_codes_count_apart(section: str) -> None:
    steady = np.full(50, 0.6)
    other = row("SDH", steady + 0.1, given={"map": "tuned"}, label="SDH, tuned map")
    rows = [
        *row("EnergyHasher", steady),
        *row("SDH", steady - 0.1),
        *(replace(one, sections=(section,)) for one in other),
    ]
    assert [v.won for v in verdicts(rows, other_maps=False)] == [True]
    assert [(v.won, v.rival) for v in verdicts(rows, other_maps=True)] == [(False, "SDH, tuned map")]
    own = [replace(one, given={"map": "own"}, label="SDH") for one in other]
    assert [v.won for v in verdicts([*rows[:1], *own], other_maps=False)] == [False]
    elsewhere = [*row("EnergyHasher", steady, n_bits=32), *row("SDH", steady - 0.1, n_bits=32)]
    sentence = wins_sentence([*rows, *elsewhere])
    assert "2 of 2 (100%) cells against rivals with maps of their own" in sentence
    assert "0 of 1 (0%) against their codes with other maps" in sentence  # only where these were run


def test_scores_stand_beside_a_difference_on_the_partitions_it_was_taken_on() -> None:
    """Ours ran on an easy partition that the rival has not seen: it must not look better for that."""
    rows = [
        *row("EnergyHasher", [0.5, 0.5], [0.5, 0.5], [0.9, 0.9]),
        *row("SDH", [0.6, 0.6], [0.6, 0.6]),
    ]
    made = make_report(rows)
    ((_, lost),) = next(table for table in made.tables if table.name == "wins-lost").rows
    assert [lost[i].value for i in (1, 2, 3)] == pytest.approx([0.6, 0.5, 0.1])
    ((_, top),) = next(table for table in made.tables if table.name == "headline").rows
    assert [top[i].value for i in (0, 1, 3)] == pytest.approx([0.5, 0.6, -0.1])


def test_inductive_cells_are_counted_beside_those_of_the_paper() -> None:
    seen = [*row("EnergyHasher", [0.5, 0.6]), *row("SDH", [0.4, 0.5])]
    later = [
        replace(one, learned=None, mapped=one.learned)
        for method, value in (("EnergyHasher", 0.5), ("SDH", 0.7))
        for one in row(method, [value, value], protocol="inductive")
    ]
    sentence = wins_sentence([*seen, *later])
    assert "in 1 of 2 (50%) cells" in sentence
    assert "paper 1 of 1 (100%); inductive 0 of 1 (0%)" in sentence


def test_sets_with_classes_are_counted_and_told_apart() -> None:
    rows = [
        replace(one, dataset="cifar10_gist512", tags=None)
        for method, values in (("EnergyHasher", [0.5, 0.6]), ("SDH", [0.4, 0.5]))
        for one in row(method, values)
    ]
    rows += [*row("EnergyHasher", [0.5, 0.6]), *row("SDH", [0.6, 0.7])]
    assert [v.tags for v in verdicts(rows, other_maps=False)] == [False, True]
    count = dict(next(table for table in make_report(rows).tables if table.name == "wins-count").rows)
    won = {name: entries[2].value for name, entries in count.items()}
    assert won == {
        "paper, learned database": 1,
        "all, sets with tags": 0,
        "all, sets with classes": 1,
        "all": 1,
    }
