"""A protocol is a value: frozen, comparable, with a digest that nothing but its fields decides."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest

from kinhash.errors import InvalidInput, UnknownName
from kinhash.metrics import NO_KIN, TIES
from kinhash_bench.protocols import PROTOCOLS, Protocol
from kinhash_bench.protocols.protocol import CHOICES

DIGESTS = {
    "paper": "f0eb1beaca68",
    "paper-one-bit": "f6937e00a344",
    "inductive": "de25e5187da8",
    "unseen-classes": "b9fe519f5943",
    "pairs": "73d8860d06c4",
    "cifar10": "0c3116ac2814",
    "cifar10-1": "304144b61875",
    "cifar10-2": "dd4f35bae355",
    "nuswide-21": "15c62a99e1ed",
    "coco": "e44f89a85ac9",
    "mirflickr": "59da5991ad0e",
    "imagenet-100": "df5cf3081fd8",
    "given": "9d5592a475c9",
}
OTHER = {
    "name": "paper2",
    "split": "classes",
    "n_queries": 999,
    "n_validation": 0,
    "most": 0.25,
    "n_train": 500,
    "database": "apart",
    "database_share": 0.4,
    "unseen_share": 0.2,
    "codes": ("learned",),
    "seed": 1,
    "standardize": "training",
    "measure": "pair auc",
    "ties": "index",
    "no_kin": "zero",
    "top": 100,
    "untagged": "drop",
    "divide_by": "found",
}


def test_digests_are_pinned():
    assert {name: PROTOCOLS[name].digest for name in PROTOCOLS} == DIGESTS
    assert {PROTOCOLS[name].name for name in PROTOCOLS} == set(PROTOCOLS)


def test_digests_do_not_depend_on_the_process():
    code = "from kinhash_bench.protocols import PROTOCOLS; print(PROTOCOLS['pairs'])"
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == f"pairs@{DIGESTS['pairs']}"


@pytest.mark.parametrize("field", [field.name for field in fields(Protocol) if field.name != "relevance"])
def test_any_other_field_gives_another_digest(field):
    start = Protocol("paper", database="apart", codes=("mapped",))
    if field in ("database", "codes", "measure", "ties"):
        start = Protocol("paper")
    changed = replace(start, codes=("mapped",)) if field == "database" else start
    changed = replace(changed, **{field: OTHER[field]})
    assert changed.digest != start.digest
    assert changed != start


def test_every_field_has_been_tried():
    assert set(OTHER) == {field.name for field in fields(Protocol)} - {
        "relevance"
    }  # which has one value only


def test_equal_protocols_are_one_key():
    again = Protocol("paper", n_queries=np.int64(1000), most=np.float64(0.2), codes=["mapped", "learned"])
    assert again == PROTOCOLS["paper"]
    assert again.digest == PROTOCOLS["paper"].digest
    assert {PROTOCOLS["paper"]: 1}[again] == 1
    with pytest.raises(FrozenInstanceError):
        again.seed = 3


def test_the_choices_are_those_of_the_metrics():
    assert CHOICES["ties"] == TIES
    assert CHOICES["no_kin"] == NO_KIN


def test_an_unknown_protocol_suggests_a_known_one():
    with pytest.raises(UnknownName, match=r"no protocol called 'papr'.*Did you mean 'paper'"):
        PROTOCOLS["papr"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"name": "My Protocol"}, "called 'My Protocol'"),
        ({"split": "row"}, "Did you mean 'rows'"),
        ({"ties": "random"}, "ties"),
        ({"n_queries": 0}, "n_queries is 0"),
        ({"n_queries": True}, "n_queries is True"),
        ({"n_train": 1}, "n_train is 1"),
        ({"seed": -1}, "seed is -1"),
        ({"most": 0}, "most is 0"),
        ({"most": float("nan")}, "most is nan"),
        ({"codes": ()}, "codes is empty"),
        ({"codes": ("learnt",)}, "learned"),
        ({"top": 0}, "top is 0"),
        ({"database": "apart"}, "Learned codes came with"),
        ({"split": "classes", "codes": "mapped"}, "split='classes'"),
        ({"measure": "pair auc", "top": 3}, "pairs stand in no list"),
    ],
)
def test_what_contradicts_itself_is_refused(wrong, message):
    with pytest.raises(InvalidInput, match=message):
        Protocol(**{"name": "mine", **wrong})
