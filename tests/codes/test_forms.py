"""Forms of arrays: one length per letter, and nothing missing, unknown or out of range."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kinhash.codes.array_schema import POSITIVE, Form, check_forms

FORMS = {
    "weights": Form("f4", "qd"),
    "intercept": Form("f4", "d"),
    "scale": Form("f8", "q", low=POSITIVE),
    "count": Form("i8", "1", 1, 32),
    "nodes": Form("i4", "N", low=0),
    "places": Form("u1", "N"),
    "word": Form("u1", "*", high=127),
}


def sound() -> dict[str, Any]:
    return {
        "weights": np.ones((3, 2), np.float32),
        "intercept": np.zeros(2, np.float32),
        "scale": np.full(3, 5e-324),
        "count": np.array([32]),
        "nodes": np.zeros(0, np.int32),
        "places": np.zeros(0, np.uint8),
        "word": np.frombuffer(b"row", np.uint8),
    }


def test_letters_stand_for_lengths() -> None:
    assert check_forms(sound(), FORMS) == {"q": 3, "d": 2, "N": 0}


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("weights", np.ones((3, 2))),  # another type
        ("weights", np.ones((3, 2), ">f2")),
        ("weights", np.ones(6, np.float32)),  # another number of axes
        ("weights", np.ones((3, 2, 1), np.float32)),
        ("scale", np.ones(4)),  # another length than elsewhere
        ("intercept", np.zeros((1,), np.float32)),  # which would broadcast
        ("count", np.array([1, 1])),
        ("places", np.zeros(1, np.uint8)),
        ("weights", np.full((3, 2), np.nan, np.float32)),  # out of range
        ("weights", np.full((3, 2), np.inf, np.float32)),
        ("intercept", np.array([0, -np.inf], np.float32)),
        ("scale", np.array([1.0, 0.0, 1.0])),
        ("scale", np.array([1.0, np.nan, 1.0])),
        ("count", np.array([0])),
        ("count", np.array([2**62])),
        ("word", np.array([200], np.uint8)),
        ("more", np.zeros(1)),  # nobody asked for it
    ],
)
def test_an_array_of_another_form_is_refused(name: str, array: Any) -> None:
    with pytest.raises(ValueError, match=name):
        check_forms({**sound(), name: array}, FORMS)


@pytest.mark.parametrize("name", FORMS)
def test_a_missing_array_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"missing or unknown: {name}"):
        check_forms({key: array for key, array in sound().items() if key != name}, FORMS)


def test_small_letters_are_at_least_one_and_d_at_most_the_longest_code() -> None:
    one = {"intercept": FORMS["intercept"]}
    check_forms({"intercept": np.zeros(1024, np.float32)}, one)
    for length in (0, 1025):
        with pytest.raises(ValueError, match=r"bits|intercept"):
            check_forms({"intercept": np.zeros(length, np.float32)}, one)
