"""Tasks are strict data: what is misspelt is an error, what is asked for twice is run once."""

from __future__ import annotations

from pathlib import Path

import pytest

from kinhash.errors import FileProblem, InvalidInput, KinhashError, UnknownName
from kinhash_bench.tasks import named_tasks, read_task
from kinhash_bench.tasks.methods import make_method

GOOD = """
about = "two tables that share a cell"
[section.first]
dataset = "digits"
bits = [8, 16]
partitions = 2
methods = ["EMKSH", {name = "COSDISH", label = "COSDISH, linear", given = {map = "linear"}, bits = [8]}]
[section.second]
dataset = ["digits"]
bits = [8]
methods = ["EMKSH", "Cosine"]
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text)
    return path


def test_cells_are_the_grid_and_shared_ones_are_run_once(tmp_path: Path) -> None:
    task = read_task(written(tmp_path, GOOD))
    assert (task.name, task.sections) == ("mine", ("first", "second-digits"))
    shared = [cell for cell in task.cells if len(cell.sections) == 2]
    assert [(c.method, c.n_bits, c.partition) for c in shared] == [("EMKSH", 8, 0)]
    # EMKSH: two lengths and two partitions; COSDISH: one length; cosine has no length and comes once.
    assert len(task.cells) == 4 + 2 + 1
    assert len({cell.key for cell in task.cells}) == len(task.cells)
    (cosine,) = (cell for cell in task.cells if cell.method == "Cosine")
    assert cosine.n_bits is None
    partitions = [cell.partition for cell in task.cells if cell.sections[0] == "first"]
    assert partitions == sorted(partitions), "a run that is stopped early has whole partitions"


def test_values_that_vary_are_combined(tmp_path: Path) -> None:
    more = """
[section.third]
dataset = "digits"
bits = [8]
methods = ["EMKSH"]
vary = {clip = [0.5, 1.0], n_sweeps = [1, 2, 3]}
vary_protocol = {n_queries = [50, 60]}
"""
    cells = read_task(written(tmp_path, more)).cells
    assert len(cells) == 2 * 3 * 2
    assert {cell.rules.n_queries for cell in cells} == {50, 60}
    assert len({cell.rules.digest for cell in cells}) == 2
    assert {(cell.given["clip"], cell.given["n_sweeps"]) for cell in cells} == {
        (clip, sweeps) for clip in (0.5, 1.0) for sweeps in (1, 2, 3)
    }


def test_settings_and_a_seed_reach_the_method() -> None:
    made = make_method("EnergyHasher", {"looks": 0, "kinship": "any"}, 16, 7)
    assert (made.n_bits, made.random_state, made.looks, made.kinship) == (16, 7, 0, "any")
    mapped = make_method("SDH", {"map": "@boosted-regression-trees"}, 16, 7)
    assert mapped.map.random_state == 7


def test_part_of_a_task(tmp_path: Path) -> None:
    task = read_task(written(tmp_path, GOOD))
    assert {cell.method for cell in task.only(methods=["COSDISH, linear"]).cells} == {"COSDISH"}
    assert {cell.partition for cell in task.only(partitions=1).cells} == {0}
    assert {cell.n_bits for cell in task.only(bits=[16]).cells} == {16, None}
    assert {cell.protocol for cell in task.only(protocol="inductive").cells} == {"inductive"}
    assert len(task.only(sections=["second-digits"]).cells) == 2
    with pytest.raises(UnknownName, match="Did you mean 'first'"):
        task.only(sections=["frist"])
    with pytest.raises(UnknownName, match="method"):
        task.only(methods=["EMKHS"])
    with pytest.raises(UnknownName, match=r"length of this task called '64'.*one of 16, 8"):
        task.only(bits=[64])
    with pytest.raises(InvalidInput, match="No cell"):
        task.only(methods=["COSDISH, linear"], bits=[16])


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ('dataset = "digits"|dataset = "digit"', "digits"),
        ('"EMKSH", {|"EMKHS", {', "EMKSH"),
        ("partitions = 2|partition = 2", "partitions"),
        ("partitions = 2|partitions = 'two'", "partitions"),
        ("bits = [8, 16]|bits = 8", "bits"),
        ('label = "COSDISH, linear"|lable = "x"', "label"),
        ("[section.first]|[sections.first]", "section"),
        ("bits = [8, 16]|protocol = 'papers'", "paper"),
        ("bits = [8, 16]|protocol_options = {n_query = 3}", "n_query"),
        ("bits = [8, 16]|vary = {clip = 1.0}", "vary"),
        ("bits = [8, 16]|bits = [8, 16", "mine"),
        ("bits = [8, 16]|bits = [0]", "n_bits is 0"),
        ("bits = [8, 16]|bits = ['8']", "n_bits"),
        ("partitions = 2|partitions = 0", "partitions is 0"),
        ('given = {map = "linear"}|given = {mop = "linear"}', "Did you mean 'map'"),
        ("bits = [8, 16]|vary = {clib = [1.0]}", "Did you mean 'clip'"),
        ("bits = [8, 16]|vary = {n_bits = [8]}", "no parameter of EMKSH called 'n_bits'"),
        ('"EMKSH", {|{name = "EnergyHasher", given = {look = 1}}, {', "Did you mean 'looks'"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, change: str, word: str) -> None:
    old, new = change.split("|")
    assert old in GOOD
    with pytest.raises(InvalidInput, match=word) as found:
        read_task(written(tmp_path, GOOD.replace(old, new, 1)))
    assert found.value.remedy


def test_no_such_task(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="smoke"):
        read_task("smok")
    with pytest.raises(FileProblem, match=r"none.toml: No such file or directory\. Expected"):
        read_task(tmp_path / "none.toml")


@pytest.mark.parametrize("name", named_tasks())
def test_our_tasks_are_well_formed_and_name_the_bytes_they_mean(name: str) -> None:
    task = read_task(name)
    assert task.about
    official = {"espgame", "nuswide"}  # whoever has them has them in one of several forms
    for cell in task.cells:
        assert cell.checksum or cell.dataset in official, cell
        try:
            _ = cell.rules
        except KinhashError as error:  # pragma: no cover
            pytest.fail(f"{cell}: {error}")


DEEP = {
    "lists": "a = " + "[" * 5000 + "]" * 5000,
    "tables": "a = " + "{a = " * 5000 + "1" + "}" * 5000,
    "keys": GOOD.replace('given = {map = "linear"}', "given = {map." + "a." * 3000 + "a = 1}"),
}


@pytest.mark.parametrize("how", DEEP)
def test_deep_nesting_is_refused(how: str, tmp_path: Path) -> None:
    with pytest.raises(KinhashError, match="nested"):
        read_task(written(tmp_path, DEEP[how]))


@pytest.mark.parametrize("number", ["nan", "-inf", "inf", "+nan"])
def test_numbers_in_a_task_are_finite(number: str, tmp_path: Path) -> None:
    text = GOOD.replace('"EMKSH", "Cosine"', f'{{name = "EnergyHasher", given = {{looks = {number}}}}}')
    with pytest.raises(InvalidInput, match="finite"):
        read_task(written(tmp_path, text))
