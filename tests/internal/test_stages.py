"""Long work says where it is: to the log, to the report, never to the terminal."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from kinhash import EMKSH, EnergyHasher

pytestmark = pytest.mark.usefixtures("quick_fits")
rng = np.random.default_rng(0)
Y = np.arange(120) % 4
X = rng.normal(size=(120, 5)) + 3 * rng.normal(size=(4, 5))[Y]


def test_stages_are_timed_in_the_report():
    for hasher in (EMKSH(8, random_state=0), EnergyHasher(8, random_state=0)):
        seconds = hasher.fit(X, Y).report_.seconds
        assert len(seconds) >= 2
        assert all(spent >= 0 for spent in seconds.values())


def test_verbose_speaks_to_the_log_and_nothing_to_the_terminal(caplog, capsys):
    with caplog.at_level(logging.INFO, logger="kinhash"):
        EMKSH(8, random_state=0).fit(X, Y)
        quiet = len(caplog.records)
        EMKSH(8, random_state=0, verbose=1).fit(X, Y)
    assert quiet == 0
    assert any(": 0." in record.getMessage() for record in caplog.records)
    captured = capsys.readouterr()
    assert captured.out == ""
