"""Whose credit: which maps the task asks for, and what tables say about tuning."""

from __future__ import annotations

from kinhash_bench.report.all_methods import field
from kinhash_bench.report.tables import TUNING
from kinhash_bench.tasks.task import read_task
from records import result


def test_the_task_asks_for_other_maps_on_cifar10() -> None:
    cells = [cell for cell in read_task("maps").cells if cell.dataset == "cifar10_gist512"]
    labels = {cell.label for cell in cells}
    assert {"EnergyHasher", "COSDISH, ridge tuned on held-out rows"} <= labels
    assert {cell.partition for cell in cells} == {0, 1, 2}
    assert all(cell.protocol_options == {"n_train": 20000} for cell in cells)


def test_tables_of_methods_say_who_was_tuned() -> None:
    rows = [result("field-mulan_scene", "mulan_scene", name, 16, 0) for name in ("EnergyHasher", "SDH")]
    tables = [table for part in field(rows).parts for table in part.tables]
    assert TUNING in tables[0].notes
