"""Whose credit: our own method under a plain ridge map stands in the same columns as the rivals."""

from __future__ import annotations

import pytest

from kinhash_bench.report.all_methods import field
from kinhash_bench.report.encoder_swap import maps
from kinhash_bench.report.tables import TUNING
from kinhash_bench.tasks.task import read_task
from records import result


def test_ours_with_a_ridge_map_is_in_the_column_of_linear_maps() -> None:
    where = ("maps-mulan_scene", "mulan_scene")
    ours = {"alike": 0}
    rows = [
        result(*where, "COSDISH", 64, 0),
        result(*where, "COSDISH", 64, 0, given={"map": "linear"}, label="COSDISH, linear + intercept"),
        result(*where, "EnergyHasher", 64, 0, given=ours),
        result(
            *where, "EnergyHasher", 64, 0, given={**ours, "encoder": "ridge"}, label="EnergyHasher, linear"
        ),
    ]
    (part,) = maps(rows).parts
    (table,) = part.tables
    heads = [(column.name, column.group) for column in table.columns]
    (row,) = [entries for name, entries in table.rows if name == "EnergyHasher"]
    for name, record in (("own", rows[2]), ("linear", rows[3])):
        entry = row[heads.index((name, "64 bits, mapped"))]
        assert record.mapped is not None
        assert entry.value == pytest.approx(record.mapped.value)


def test_the_task_asks_for_it_on_cifar10() -> None:
    cells = [cell for cell in read_task("maps").cells if cell.dataset == "cifar10_gist512"]
    labels = {cell.label for cell in cells}
    assert {"EnergyHasher", "EnergyHasher, linear + intercept", "COSDISH, expected map"} <= labels
    assert {cell.partition for cell in cells} == {0, 1, 2}
    assert all(cell.protocol_options == {"n_train": 20000} for cell in cells)


def test_tables_of_methods_say_who_was_tuned() -> None:
    rows = [result("field-mulan_scene", "mulan_scene", name, 16, 0) for name in ("EnergyHasher", "SDH")]
    tables = [table for part in field(rows).parts for table in part.tables]
    assert TUNING in tables[0].notes
