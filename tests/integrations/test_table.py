"""Every integration has a row, an extra, and an error that names the extra where its library is missing."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from kinhash.integrations import INTEGRATIONS

ROOT = Path(__file__).parents[2]


def test_every_file_has_a_row_and_an_extra():
    folder = ROOT / "src/kinhash/integrations"
    assert {path.stem for path in folder.glob("*.py")} - {"__init__"} == INTEGRATIONS.keys()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(INTEGRATIONS.values()) <= extras.keys()


@pytest.mark.parametrize("name", INTEGRATIONS)
def test_a_missing_library_is_named_with_its_extra(name):
    libraries = dict.fromkeys(("huggingface_hub", "sentence_transformers", "langchain_core"))
    code = f"import sys; sys.modules.update({libraries})\nimport kinhash.integrations.{name}"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 1
    assert f"pip install 'kinhash[{INTEGRATIONS[name]}]'" in ran.stderr
