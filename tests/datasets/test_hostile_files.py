"""Files made to do harm: deep nesting, pickles, lying headers, exploding entities."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
from official import write_mulan

from kinhash.datasets import DATASETS, open_labels, open_matrix
from kinhash.errors import FileProblem


@pytest.mark.parametrize("depth", [2000, 200_000])
def test_deep_json_is_refused(tmp_path, depth):
    (tmp_path / "deep.json").write_text("[" * depth + "]" * depth)
    with pytest.raises(FileProblem):
        open_labels(tmp_path / "deep.json")


@pytest.mark.parametrize("shape", ["(1000000000000, 3)", "(3, 1000000000000)", "(-1, 3)", "(3,", "(2**9, 3)"])
def test_a_header_is_not_believed(tmp_path, shape):
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    data = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + bytes(72)
    (tmp_path / "x.npy").write_bytes(data)
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.writestr("X.npy", data)
    for source in (tmp_path / "x.npy", tmp_path / "x.npz", io.BytesIO(data)):
        with pytest.raises(FileProblem):
            list(open_matrix(source).blocks())


def test_pickled_objects_are_refused(tmp_path):
    np.save(tmp_path / "x.npy", np.array([{"a"}, {"b"}], object), allow_pickle=True)
    with pytest.raises(FileProblem, match="header cannot be used"):
        open_labels(tmp_path / "x.npy")


def test_exploding_xml_is_refused(tmp_path):
    write_mulan(tmp_path, "scene", False, True)
    bomb = '<!DOCTYPE l [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><labels><label name="&b;"/></labels>'
    (tmp_path / "scene.xml").write_text(bomb)
    with pytest.raises(FileProblem, match="declarations"):
        DATASETS["scene"].read(tmp_path)
