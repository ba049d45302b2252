"""`kinhash bench --device gpu` without a card: one clear error, and nothing is run."""

import importlib.util

import pytest
from click.testing import CliRunner

from kinhash.cli import kinhash
from kinhash.errors import KinhashError, MissingExtra


def test_a_card_that_cannot_be_used_is_an_error_before_any_cell(tmp_path):
    if importlib.util.find_spec("cupy") is not None:
        pytest.skip("CuPy is installed")
    given = ["bench", "smoke", "--device", "gpu", "-o", str(tmp_path / "runs")]
    result = CliRunner().invoke(kinhash, given)
    assert isinstance(result.exception, KinhashError)
    assert isinstance(result.exception, MissingExtra)
    assert not (tmp_path / "runs").exists()
