"""What a stranger's file holds is shown, never sent to the terminal as a command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from kinhash import Codes, EnergyHasher, HammingIndex, save_codes
from kinhash.cli import terminal

from .conftest import Run, three_classes

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\r\b\x7f\u202eevil"
FORBIDDEN = set("\x1b\x07\x9b\r\b\x7f\u202e\x00")


def assert_harmless(*texts: str) -> None:
    for text in texts:
        assert not FORBIDDEN & set(text), repr(text)


def test_control_characters_are_escaped_and_others_are_not() -> None:
    assert terminal.visible("a\tb\nü 日本 👩\u200d🚀 'x' \\") == "a\tb\nü 日本 👩\u200d🚀 'x' \\"
    assert terminal.visible("\x1b[2J\x9b\u202e\ud800\x00") == r"\x1b[2J\x9b\u202e\ud800\x00"


@pytest.mark.parametrize("as_json", [False, True])
def test_ids_and_model_ids(as_json: bool, run: Run, tmp_path: Path) -> None:
    codes = Codes(
        np.arange(6, dtype=np.uint8)[:, None], 8, [f"{EVIL}\n{k}" for k in range(6)], f"{EVIL}\nrows"
    )
    save_codes(codes, tmp_path / "db.kin")
    HammingIndex.from_codes(codes, payload={EVIL: np.arange(6)}).save(tmp_path / "index.kin")
    more = ["--json"] if as_json else []
    for argv in (
        ["info", "db.kin"],
        ["info", "index.kin"],
        ["search", "index.kin", "db.kin", "-k", "1"],
        ["search", "db.kin", "db.kin", "-k", "1"],
    ):
        said = run(*[tmp_path / word if word.endswith(".kin") else word for word in argv], *more)
        assert said.code == 0
        assert_harmless(said.out, said.err)
        if as_json:
            assert EVIL in str(json.loads(said.out)) or "ids" in said.out
        else:
            assert r"\x1b" in said.out
    if not as_json:
        assert len(run("search", tmp_path / "db.kin", tmp_path / "db.kin", "-k", "1").out.splitlines()) == 9


def test_labels_and_column_names(run: Run, tmp_path: Path) -> None:
    X, y = three_classes(120)
    header = ",".join(f"{EVIL.replace(chr(13), '')}{k}" for k in range(6))
    np.savetxt(tmp_path / "X.csv", X, delimiter=",", header=header, comments="", encoding="utf-8")
    (tmp_path / "y.json").write_text(json.dumps([f"{EVIL}{k}" for k in y]))
    model = tmp_path / "model.kin"
    said = run("fit", tmp_path / "X.csv", "--labels", tmp_path / "y.json", "-o", model, "--bits", "8")
    assert said.code == 0, said.err
    assert_harmless(said.out, said.err)
    said = run("info", model)
    assert r"\x1b" in said.out
    assert_harmless(said.out, said.err)
    (tmp_path / "other.csv").write_text(f"{EVIL.replace(chr(13), '')},b\n1,2\n")
    said = run("encode", model, tmp_path / "other.csv", "-o", tmp_path / "codes.kin")
    assert said.code == 2
    assert_harmless(said.out, said.err)


def test_a_model_with_hostile_names_of_columns(run: Run, tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    X, y = three_classes(60)
    EnergyHasher(8).fit(pd.DataFrame(X, columns=[f"{EVIL}\n{k}" for k in range(6)]), y).save(
        tmp_path / "m.kin"
    )
    said = run("info", tmp_path / "m.kin")
    assert_harmless(said.out)
    assert not any(line.startswith("0") for line in said.out.splitlines())
