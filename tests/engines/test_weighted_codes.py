"""Codes with weighted fields: every engine gives weighted distances, in the order (distance, id)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kinhash import BitLayout, Codes
from kinhash.engines import ENGINES, EngineFacts, Place, check, search, statement, write
from kinhash.engines.brute_force import nearest_rows
from kinhash.errors import CodesMismatch, InvalidInput

from .cases import ANSWERING, DOCUMENTS, MODEL, WEIGHTED, asked_of, assert_answers, brute_force, clustered
from .conftest import NewTarget
from .running import run_statement

ALL = list(ENGINES)
KIN_FIRST = WEIGHTED["4 and 1"]


@pytest.mark.parametrize("fields", WEIGHTED)
@pytest.mark.parametrize("name", ALL)
def test_the_weighted_order(name: str, fields: str, new_target: NewTarget) -> None:
    """Codes whose plain order is another one, with ties at rank 10."""
    codes, target = clustered(1_000, 64, fields=WEIGHTED[fields]), new_target(name)
    assert write(name, codes, target) == 1_000
    assert_answers(name, target, codes, asked_of(codes, 12), 10)
    opposite = Codes.from_bits(1 - codes.bits()[:2], fields=codes.fields)  # up to the largest distance
    assert_answers(name, target, codes, opposite, 1_000)
    assert check(name, codes, target).passed


def test_the_plain_order_is_another_one() -> None:
    codes = clustered(1_000, 64, fields=KIN_FIRST)
    queries = asked_of(codes, 12)
    plain = brute_force(replace(codes, fields=BitLayout()), queries, 10)[0]
    assert (brute_force(codes, queries, 10)[0] != plain).any(axis=1).mean() > 0.5


@pytest.mark.parametrize(
    ("n_bits", "fields"),
    [
        (9, BitLayout(alike=1, kin_weight=2)),
        (100, BitLayout(alike=41, kin_weight=4)),
        (130, BitLayout(alike=70, kin_weight=15, alike_weight=14)),  # several words in each field
        (1024, BitLayout(alike=1000, kin_weight=15)),
        (1024, BitLayout(alike=24, kin_weight=15)),  # 15,024 bits where they are repeated
    ],
)
@pytest.mark.parametrize("name", ALL)
def test_lengths_and_weights(name: str, n_bits: int, fields: BitLayout, new_target: NewTarget) -> None:
    codes, target = clustered(120, n_bits, seed=n_bits, centers=9, fields=fields), new_target(name)
    write(name, codes, target)
    assert_answers(name, target, codes, asked_of(codes, 4), 12)
    opposite = Codes.from_bits(1 - codes.bits()[:2], fields=fields)
    assert_answers(name, target, codes, opposite, 120)


@pytest.mark.parametrize("name", ALL)
def test_no_codes_and_string_ids(name: str, new_target: NewTarget) -> None:
    nothing, target = clustered(3, 64, fields=KIN_FIRST)[:0], new_target(name)
    assert write(name, nothing, target) == 0
    assert check(name, nothing, target).passed
    if ENGINES[name].text_ids:
        codes, target = clustered(300, 64, ids="text", centers=5, fields=KIN_FIRST), new_target(name)
        write(name, codes, target)
        assert check(name, codes, target, k=30).passed
        if name in ANSWERING:
            query = asked_of(codes, 1)
            differs = (codes.bits() != query.bits()).astype(int)
            distances = 4 * differs[:, :24].sum(axis=1) + differs[:, 24:].sum(axis=1)
            truth = sorted(zip(distances.tolist(), codes.ids.tolist(), strict=True))[:30]
            found = search(name, target, query, 30)
            assert list(zip(found.distances[0].tolist(), found.ids[0].tolist(), strict=True)) == truth


@pytest.mark.parametrize("fields", ["4 and 1", "3 and 2", "no alike bits"])
@pytest.mark.parametrize("name", ANSWERING)
def test_the_statement_counts_weights(name: str, fields: str, new_target: NewTarget) -> None:
    codes, target = clustered(300, 64, fields=WEIGHTED[fields]), new_target(name)
    write(name, codes, target, table="things")
    query = asked_of(codes, 1)
    text = statement(name, query, target, k=9, table="things")
    ids, distances = run_statement(name, target, text)
    true_ids, true_distances = brute_force(codes, query, 9)
    assert distances == true_distances[0].tolist()
    if ENGINES[name].weighs:
        assert ids == true_ids[0].tolist()


@pytest.mark.parametrize("name", ALL)
def test_codes_of_other_fields_are_refused(name: str, new_target: NewTarget) -> None:
    codes, target = clustered(50, 64, fields=KIN_FIRST), new_target(name)
    write(name, codes, target)
    others = [
        BitLayout(),
        BitLayout(alike=40),
        BitLayout(alike=40, kin_weight=5),
        BitLayout(alike=39, kin_weight=4),
    ]
    for fields in others:
        with pytest.raises(CodesMismatch):
            check(name, replace(codes, fields=fields), target)
    if name in ANSWERING:
        with pytest.raises(CodesMismatch):
            search(name, target, codes.packed, 3)
    if name not in ("faiss", "usearch"):  # whose files know the length of their rows only
        with pytest.raises(CodesMismatch, match="bits count alike"):
            check(name, replace(codes, fields=BitLayout(alike=52, kin_weight=7)), target)  # 136 bits as well


@pytest.mark.parametrize("name", ALL)
def test_plain_codes_are_written_as_ever(name: str, tmp_path: Path, new_target: NewTarget) -> None:
    """One plain field is not mentioned: the note, the statement and the columns are those of plain codes."""
    plain = clustered(50, 64)
    assert EngineFacts.note(plain) == json.dumps({"kinhash": 1, "n_bits": 64, "model_id": MODEL})
    both = replace(plain, fields=BitLayout(alike=40))
    assert statement(name, both, tmp_path) == statement(name, plain, tmp_path)
    target = new_target(name)
    write(name, plain, target)
    if name not in ("faiss", "usearch"):
        with pytest.raises(CodesMismatch, match="bits count alike"):
            check(name, both, target)


@pytest.mark.parametrize("fields", [3, [], {"alike": 3}, {"alike": -1, "kin_weight": 1, "alike_weight": 1}])
def test_a_note_with_other_fields_is_no_note(fields: object) -> None:
    note = json.dumps({"kinhash": 1, "n_bits": 64, "model_id": None, "fields": fields})
    with pytest.raises(InvalidInput, match="says nothing about its codes"):
        EngineFacts.from_note(note, 3, Place("x", "codes"))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_the_note_of_a_folder_says_the_fields(name: str, tmp_path: Path) -> None:
    write(name, clustered(20, 64, fields=KIN_FIRST), tmp_path / "out")
    note = json.loads((tmp_path / "out" / "kinhash.json").read_text())
    assert note["fields"] == {"alike": 40, "kin_weight": 4, "alike_weight": 1}


def test_a_check_of_other_distances_fails(new_target: NewTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that counts each bit once is found out."""
    codes, target = clustered(300, 64, fields=KIN_FIRST), new_target("sqlite")
    write("sqlite", codes, target)
    kind = ENGINES["sqlite"]
    honest = kind.statement
    monkeypatch.setattr(kind, "statement", lambda *given: honest(*given).replace("4 * ", "1 * "))
    assert not check("sqlite", codes, target).passed


def test_brute_force_of_the_check_is_brute_force() -> None:
    codes = clustered(500, 64, fields=KIN_FIRST)
    codes = codes[np.argsort(codes.ids)]
    query = asked_of(codes, 1)
    order, distances = nearest_rows(codes.repeated(), query.repeated(), 40)
    ids, true_distances = brute_force(codes, query, 40)
    assert codes.ids[order].tolist() == ids[0].tolist()
    assert distances.tolist() == true_distances[0].tolist()
