"""Requests that schemathesis makes up from /openapi.json: valid ones are answered, others refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("schemathesis", reason="schemathesis is not installed: make test-serve")

from .conftest import ask, process


@pytest.mark.slow
def test_no_request_is_answered_otherwise_than_described(pairs, tmp_path):
    hooks = {"SCHEMATHESIS_HOOKS": "made_up", "PYTHONPATH": str(Path(__file__).parent)}
    command = "from schemathesis.cli import schemathesis; schemathesis()"
    options = ["--checks", "all", "--max-examples", "300", "--seed", "1", "--no-color"]
    with process(pairs / "b") as (port, _):  # codes of whole bytes: no schema describes padding
        address = f"http://127.0.0.1:{port}/openapi.json"
        ran = subprocess.run(
            [sys.executable, "-c", command, "run", address, *options],
            env={**os.environ, **hooks},
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 0, ran.stdout
        assert "5 selected" in ran.stdout
        assert ask(port, "/livez")[0] == 200
