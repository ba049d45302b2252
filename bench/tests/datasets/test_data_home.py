"""Finding data sets: folders, checks, downloads, and what is said when something is missing."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from compact_cases import compact_arrays
from official import write_cifar10, write_espgame, write_mnist

from kinhash.errors import DamagedFile, FileProblem, InvalidInput, MissingExtra
from kinhash.plugins import Table
from kinhash_bench.datasets import (
    DATASETS,
    Facts,
    Source,
    Wanted,
    check,
    data_folder,
    load,
    prepare,
    read_compact,
)

TABLE = "kinhash_bench.datasets.home.DATASETS"


def test_the_argument_beats_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("KINHASH_DATA", str(tmp_path / "env"))
    assert data_folder() == tmp_path / "env"
    assert data_folder(tmp_path / "arg") == tmp_path / "arg"
    write_espgame(tmp_path / "arg" / "espgame")
    assert len(load("espgame", tmp_path / "arg")) == 8
    with pytest.raises(FileProblem):
        load("espgame")
    monkeypatch.setenv("KINHASH_DATA", "")
    assert data_folder() == Path.home() / "kinhash_data"


def test_a_missing_file_says_which_from_where_and_whither(tmp_path):
    with pytest.raises(FileProblem) as caught:
        load("nuswide", tmp_path)
    message = str(caught.value)
    for part in ("BoW_int.dat", "lms.comp.nus.edu.sg", str(tmp_path / "nuswide"), "nuswide81_tags"):
        assert part in message
    with pytest.raises(FileProblem, match="download=True"):
        load("cifar10", tmp_path)


def test_only_what_is_missing_is_named(tmp_path):
    write_espgame(tmp_path / "espgame")
    (tmp_path / "espgame" / "espgame_test_Gist.fvec").unlink()
    with pytest.raises(FileProblem, match=r"lacks espgame_test_Gist\.fvec\."):
        load("espgame", tmp_path)


def test_a_wrong_checksum_is_not_used_silently(tmp_path):
    write_cifar10(tmp_path, archive=True)
    with pytest.raises(DamagedFile, match="checksum is not the published one"):
        load("cifar10", tmp_path)
    assert len(load("cifar10", tmp_path, verify=False)) == 18


def test_check_tells_every_state(tmp_path):
    write_espgame(tmp_path / "espgame")
    write_cifar10(tmp_path, archive=True)
    write_mnist(tmp_path / "mnist", zipped=False)
    (tmp_path / "nuswide").mkdir()
    (tmp_path / "nuswide" / "BoW_int.dat").write_text("0 " * 500)
    found = {status.name: status for status in check(tmp_path)}
    assert list(found) == list(DATASETS)
    assert found["digits"].state == "built in"
    assert found["espgame"].state == "present"
    assert found["cifar10"].state == "damaged"
    assert found["cifar10"].damaged == (tmp_path / "cifar-10-binary.tar.gz",)
    assert found["mnist"].state == "present"
    assert found["nuswide"].state == "incomplete"
    assert found["nuswide"].missing == ("Groundtruth/AllLabels", "ImageList/Imagelist.txt")
    assert found["fashion_mnist"].state == "missing"
    assert found["fashion_mnist"].can_download
    assert not found["scene"].can_download
    assert "mulan_scene" in found["scene"].instead
    assert {status.state for status in check(tmp_path, verify=False) if status.name == "cifar10"} == {
        "present"
    }


def test_check_of_a_folder_that_is_not_there(tmp_path):
    states = {status.state for status in check(tmp_path / "nowhere")}
    assert states == {"built in", "missing"}


@pytest.mark.data
def test_check_of_the_real_folder(data_home):
    found = {status.name: status for status in check(data_home)}
    assert all(status.state != "damaged" for status in found.values())
    assert found["cifar10_gist512"].state == "present"
    assert found["nuswide"].state == "missing"
    assert "nus.edu.sg" in found["nuswide"].source


@pytest.fixture
def server(tmp_path):
    """A local server of one folder; the tests never leave the machine."""
    folder = tmp_path / "site"
    folder.mkdir()

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    yield folder, f"http://127.0.0.1:{http.server_port}"
    http.shutdown()
    thread.join()
    http.server_close()


def own_table(url: str, checksum: str) -> Table:
    facts = Facts(
        "own", "a test", url, "none", "nobody", 12, 4, 5, (Wanted(("own.npz",), checksum, url),), "own"
    )
    source = Source(facts, lambda folder: read_compact(folder / "own.npz", facts))
    sys.modules[__name__].OWN = source
    return Table("data set", {"own": f"{__name__}:OWN"})


def test_downloads_only_when_asked_and_verified(tmp_path, server, monkeypatch):
    pytest.importorskip("pooch")
    site, address = server
    np.savez(site / "own.npz", **compact_arrays("half"))
    right = hashlib.sha256((site / "own.npz").read_bytes()).hexdigest()
    home = tmp_path / "home"

    monkeypatch.setattr(TABLE, own_table(f"{address}/own.npz", f"sha256:{right}"))
    with pytest.raises(FileProblem, match="lacks"):
        load("own", home)
    assert not home.exists()
    dataset = load("own", home, download=True)
    assert dataset.checksum == right
    assert len(load("own", home)) == 12

    monkeypatch.setattr(TABLE, own_table(f"{address}/own.npz", f"sha256:{'0' * 64}"))
    with pytest.raises(DamagedFile, match="does not have the published checksum"):
        load("own", tmp_path / "other", download=True)
    assert not [path for path in (tmp_path / "other").rglob("*") if path.is_file()]

    monkeypatch.setattr(TABLE, own_table(f"{address}/gone.npz", f"sha256:{right}"))
    with pytest.raises(FileProblem, match="could not be fetched"):
        load("own", tmp_path / "third", download=True)


def test_without_pooch_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(MissingExtra, match=r"kinhash-bench\[data\]"):
        load("cifar10", tmp_path, download=True)


def test_prepare_writes_gist_of_pictures(tmp_path):
    _, classes = write_cifar10(tmp_path, archive=False)
    path = prepare("cifar10", tmp_path)
    assert path == tmp_path / "cifar10-gist.npz"
    dataset = read_compact(path)
    assert dataset.features.shape == (18, 512)
    np.testing.assert_array_equal(dataset.labels.classes, classes)
    np.testing.assert_array_equal(dataset.queries, [15, 16, 17])


def test_prepare_of_text_files_keeps_the_features(tmp_path):
    features, _ = write_espgame(tmp_path / "espgame")
    path = prepare("espgame", tmp_path, output=tmp_path / "out" / "esp.npz")
    np.testing.assert_array_equal(read_compact(path).features, features)
    with pytest.raises((FileProblem, InvalidInput)):
        prepare("espgame", tmp_path, output=tmp_path / "espgame" / "espgame_dictionary.txt" / "x.npz")


def test_importing_brings_in_no_scikit_learn_and_no_network():
    code = (
        "import sys, socket\n"
        "socket.socket = None\n"
        "import kinhash_bench.datasets as d\n"
        "d.gist, d.read_compact, list(d.DATASETS)\n"
        "bad = {'sklearn', 'pooch', 'requests', 'pyarrow', 'PIL', 'pandas'} & set(sys.modules)\n"
        "assert not bad, bad\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
