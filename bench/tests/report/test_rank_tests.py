"""Ranks and tests across data sets, against tables in print and counts by hand."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from test_paired import scored

from kinhash_bench.report.rank_tests import _critical_distance, compare, holm
from kinhash_bench.report.report import make_report
from kinhash_bench.tasks import Result
from records import result

SETS = [f"set{n}" for n in range(6)]


def rows(scores: dict[str, list[float]], first: int = 0) -> list[Result]:
    """One partition per data set and method, every query scoring the same."""
    return [
        replace(
            result("field-x", name, method, 16, first),
            learned=scored(np.full(5, value)),
            mapped=None,
        )
        for method, values in scores.items()
        for name, value in zip(SETS, values, strict=False)
    ]


def test_the_critical_distance_is_that_of_the_tables() -> None:
    """Demšar 2006, table 5a: q for 2, 5 and 10 methods; his example of 4 methods on 14 sets."""
    for methods, q in ((2, 1.960), (5, 2.728), (10, 3.164)):
        reach = q * np.sqrt(methods * (methods + 1) / (6 * 20))
        assert _critical_distance(20, methods) == pytest.approx(reach, rel=1e-3)
    assert _critical_distance(14, 4) == pytest.approx(1.25, abs=0.01)


def test_holm_is_never_below_p_and_rejects_what_stepping_down_rejects() -> None:
    p = [0.01, 0.04, 0.03, 0.005]
    assert holm(p) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    rng = np.random.default_rng(0)
    for _ in range(50):
        some = (rng.random(5) ** 2).tolist()
        rejected, left = set(), sorted(range(5), key=lambda i: some[i])
        for place, i in enumerate(left):
            if some[i] > 0.05 / (5 - place):
                break
            rejected.add(i)
        assert {i for i, one in enumerate(holm(some)) if one <= 0.05} == rejected


def test_signed_ranks_are_exact_over_all_signs() -> None:
    ours = [0.5, 0.6, 0.7, 0.55, 0.65, 0.75]
    apart = [0.01, 0.02, -0.005, 0.03, 0.04, 0.05]
    scores = {
        "EnergyHasher": ours,
        "SDH": [a - b for a, b in zip(ours, apart, strict=True)],
        "LSH": [0.1] * 6,
    }
    found = compare(rows(scores), "learned")
    assert found is not None
    sizes = np.argsort(np.argsort(np.abs(apart))) + 1
    own = min(sizes[np.array(apart) > 0].sum(), sizes[np.array(apart) < 0].sum())
    every = [
        min(sizes @ np.array(signs), sizes @ (1 - np.array(signs)))
        for signs in itertools.product((0, 1), repeat=6)
    ]
    one = next(a for a in found.against if a.rival == "SDH")
    assert one.p == pytest.approx(np.mean(np.array(every) <= own))
    assert (one.wins, one.losses) == (5, 1)
    assert one.median == pytest.approx(np.median(apart))
    assert found.ranks == pytest.approx((1 + 1 / 6, 2 - 1 / 6, 3.0))


def test_a_set_counts_by_the_partitions_that_all_share() -> None:
    scores = {"EnergyHasher": [0.5] * 6, "SDH": [0.4] * 6, "LSH": [0.3] * 6}
    easy = rows({"SDH": [0.9] * 6}, first=1)
    found = compare([*rows(scores), *easy], "learned")
    assert found is not None
    assert found.methods == ("EnergyHasher", "SDH", "LSH")
    assert found.scores[0].tolist() == pytest.approx([0.5, 0.4, 0.3])


def test_methods_on_few_sets_are_left_out_by_name() -> None:
    scores = {"EnergyHasher": [0.5] * 6, "SDH": [0.4] * 6, "LSH": [0.3] * 6, "KSH": [0.2] * 2}
    found = compare(rows(scores), "learned")
    assert found is not None
    assert found.left_out == ("KSH",)
    assert len(found.sets) == 6
    assert compare(rows({name: values[:3] for name, values in scores.items()}), "learned") is None
    html = make_report(rows(scores)).html
    assert "Left out, for being on fewer sets: KSH." in html
    assert "critical difference" in html
