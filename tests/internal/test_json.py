from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from kinhash import EMKSH
from kinhash._internal.texts import TEXT_OR_BRACKET, plain, require_shallow
from kinhash.files import _plain_parameters


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (np.bool_(True), True),
        (np.int64(3), 3),
        (np.uint8(200), 200),
        (np.float32(0.5), 0.5),
        (np.str_("a"), "a"),
        (float("nan"), None),
        (np.float32("inf"), None),
        (np.array([[1, 2]]), [[1, 2]]),
        (np.array(["a", "b"], np.dtypes.StringDType()), ["a", "b"]),
        (np.array([1.0, np.nan]), [1.0, None]),
        ({1: (np.int8(1), {"a": Path("b")})}, {"1": [1, {"a": "b"}]}),
    ],
)
def test_values_become_what_json_knows(value, expected):
    found = plain(value)
    assert found == expected
    assert type(found) is type(expected)
    json.dumps(found, allow_nan=False)


def test_the_caller_decides_about_everything_else():
    assert plain([1, Path("a"), float("inf")], repr) == [1, repr(Path("a")), "inf"]


def test_numpy_values_inside_parameters_are_kept_and_objects_are_not():
    class Odd(EMKSH):
        def get_params(self, deep=True):
            return {"a": (np.int64(1), [np.float32(0.5)]), "b": np.bool_(False), "c": object(), "d": np.nan}

    assert _plain_parameters(Odd()) == {"a": [1, [0.5]], "b": False}


@pytest.mark.parametrize("text", ['"' + '\\"' * 1000, '"a\\'])
def test_a_text_without_an_end_is_read_once(text):
    """Looked for again from every quote in it, a header of 16 MB would be read for hours."""
    assert len(TEXT_OR_BRACKET.findall(text)) <= 2
    require_shallow(text)
