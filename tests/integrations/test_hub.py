"""Hashers in folders laid out as on the Hugging Face Hub. Nothing is sent or downloaded."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

from kinhash import EnergyHasher
from kinhash.errors import DamagedFile, FileProblem, InvalidInput

hub = pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")

from kinhash.integrations import hub as room  # noqa: E402

X, y = load_digits(return_X_y=True)


@pytest.fixture(scope="module")
def hasher():
    return EnergyHasher(16, random_state=0).fit(X[:300], y[:300])


def test_a_hasher_goes_through_a_folder(hasher, tmp_path):
    room.save_pretrained(hasher, tmp_path / "codes")
    assert {path.name for path in (tmp_path / "codes").iterdir()} == {"README.md", "config.json", "model.kin"}
    for again in (
        room.from_pretrained(tmp_path / "codes"),
        room.HubHasher.from_pretrained(tmp_path / "codes").hasher,
    ):
        assert again.model_id_ == hasher.model_id_
        np.testing.assert_array_equal(again.encode(X).packed, hasher.encode(X).packed)
    config = json.loads((tmp_path / "codes/config.json").read_text())
    assert (config["n_bits"], config["n_features"]) == (16, 64)


def test_the_card_is_valid_and_says_what_the_codes_are(hasher, tmp_path):
    room.save_pretrained(hasher, tmp_path)
    card = hub.ModelCard.load(tmp_path / "README.md")
    assert card.data.library_name == "kinhash"
    assert "16-bit codes of 64 features" in card.text
    assert hasher.model_id_ in card.text
    (tmp_path / "README.md").write_text("mine")
    room.save_pretrained(hasher, tmp_path)
    assert (tmp_path / "README.md").read_text() == "mine"


def test_what_would_be_uploaded(hasher, monkeypatch):
    """The upload itself is replaced: the folder that goes to the Hub can be loaded."""
    seen = {}

    class Api:
        def __init__(self, **_):
            pass

        def create_repo(self, repo_id, **_):
            return type("Url", (), {"repo_id": repo_id})()

        def upload_folder(self, repo_id, folder_path, **_):
            seen.update(repo_id=repo_id, codes=room.from_pretrained(folder_path).encode(X[:9]).packed)
            seen["card"] = (Path(folder_path) / "README.md").read_text()
            return "https://huggingface.co/me/codes/commit/1"

    monkeypatch.setattr("huggingface_hub.hub_mixin.HfApi", Api)
    assert room.push_to_hub(hasher, "me/codes", private=True).endswith("commit/1")
    assert seen["repo_id"] == "me/codes"
    assert 'from_pretrained("me/codes")' in seen["card"]
    np.testing.assert_array_equal(seen["codes"], hasher.encode(X[:9]).packed)


def test_from_the_hub(hasher, tmp_path, monkeypatch):
    """The download itself is replaced: repository, file and revision are asked for as they were given."""
    room.save_pretrained(hasher, tmp_path)
    asked = []

    def download(repo_id, filename, revision=None, **_):
        asked.append((repo_id, filename, revision))
        return str(tmp_path / filename)

    monkeypatch.setattr("huggingface_hub.hub_mixin.hf_hub_download", download)
    monkeypatch.setattr("kinhash.integrations.hub.hf_hub_download", download)
    again = room.from_pretrained("me/codes", revision="v2")
    assert ("me/codes", "model.kin", "v2") in asked
    np.testing.assert_array_equal(again.encode(X[:9]).packed, hasher.encode(X[:9]).packed)


def test_refusals(hasher, tmp_path):
    with pytest.raises(InvalidInput, match="not fitted"):
        room.save_pretrained(EnergyHasher(), tmp_path)
    with pytest.raises(FileProblem, match=r"model\.kin"):
        room.from_pretrained(tmp_path)
    room.save_pretrained(hasher, tmp_path)
    (tmp_path / "model.kin").write_bytes((tmp_path / "model.kin").read_bytes()[:-1])
    with pytest.raises(DamagedFile):
        room.from_pretrained(tmp_path)
