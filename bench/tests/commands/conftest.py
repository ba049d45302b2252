"""A way to run a command and see what it says."""

from __future__ import annotations

import pytest
from command_line import Run, Said

from kinhash.cli import main


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command in this process, as its entry point does."""

    def command(*argv: object) -> Said:
        capfd.readouterr()
        with pytest.raises(SystemExit) as left:
            main([str(word) for word in argv])
        out, err = capfd.readouterr()
        code = left.value.code
        assert isinstance(code, int)
        return Said(code, out, err)

    return command
