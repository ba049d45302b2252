"""Saving: what may be replaced, what stays as it was, and what becomes of temporary files."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import kinhash
from kinhash import Codes, save_codes
from kinhash._internal.files import keeping_others_out
from kinhash.errors import FileProblem

fcntl = pytest.importorskip("fcntl")
pytestmark = pytest.mark.skipif(os.name == "nt", reason="permissions, pipes and signals are a Unix matter")


def write(path, n=9):
    save_codes(Codes(np.zeros((n, 1), np.uint8), 8), path)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("problem", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_fault_keeps_the_old_file_and_leaves_no_other(tmp_path, monkeypatch, step, problem):
    (tmp_path / "f").write_bytes(b"old")

    def fail(*_):
        raise problem

    with monkeypatch.context() as patch:
        patch.setattr(os, step, fail)
        with pytest.raises((FileProblem, KeyboardInterrupt)):
            write(tmp_path / "f")
    assert names(tmp_path) == ["f"]
    assert (tmp_path / "f").read_bytes() == b"old"


def test_what_is_no_plain_file_is_refused_and_stays(tmp_path):
    """A pipe stands for /dev/null, which root could replace by a file."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("pipe")
    for name, what in (("pipe", "a device, a pipe"), ("link", "a device, a pipe"), ("folder", "a folder")):
        with pytest.raises(FileProblem, match=f"{name} is {what}.*Expected a plain file"):
            write(tmp_path / name)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert names(tmp_path) == ["folder", "link", "pipe"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_permissions_are_those_of_the_file_that_is_replaced(tmp_path, mode):
    path = tmp_path / "f"
    path.touch()
    path.chmod(mode)
    write(path)
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_private_file_is_private_while_it_is_written(tmp_path, monkeypatch):
    (tmp_path / "f").touch()
    (tmp_path / "f").chmod(0o600)
    seen = []

    def look(handle, real=os.fsync):
        seen.extend(stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir())
        real(handle)

    monkeypatch.setattr(os, "fsync", look)
    write(tmp_path / "f")
    assert set(seen) == {0o600}


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_a_new_file_has_the_usual_permissions(tmp_path, mask):
    before = os.umask(mask)
    try:
        write(tmp_path / "f")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o666 & ~mask


def test_a_folder_that_cannot_be_read_is_no_failure(tmp_path, monkeypatch):
    """Root may read any folder, so the refusal is played."""
    real_open, real_list = os.open, os.listdir

    def refuse(real, path, *rest):
        if os.path.isdir(path):
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", lambda path, *rest: refuse(real_open, path, *rest))
        patch.setattr(os, "listdir", lambda path: refuse(real_list, path))
        write(tmp_path / "f")
    assert names(tmp_path) == ["f"]


SAVER = """
import os, sys, time, numpy as np
from kinhash import Codes, save_codes
def wait(handle):
    print("writing", flush=True)
    time.sleep(600)
os.fsync = wait
save_codes(Codes(np.zeros((9, 1), np.uint8), 8), sys.argv[1])
"""


def test_what_a_killed_save_left_goes_with_the_next_and_a_living_one_stays(tmp_path):
    path = tmp_path / "f.kin"
    (tmp_path / ".g.kin.0123456789ab.kinhash-tmp").touch()  # of another target
    with subprocess.Popen([sys.executable, "-c", SAVER, path], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        try:
            assert child.stdout.readline() == b"writing\n"
            (left,) = (name for name in names(tmp_path) if name.startswith(".f.kin."))
            write(path)
            assert left in names(tmp_path)
        finally:
            child.kill()
    assert left in names(tmp_path)
    write(path, 4)
    assert names(tmp_path) == [".g.kin.0123456789ab.kinhash-tmp", "f.kin"]
    assert len(kinhash.load(path)) == 4


def test_what_was_left_of_a_backup_goes_with_the_file_itself(tmp_path):
    """`kinhash migrate` may be killed while it writes the backup, and nobody writes that name again."""
    left = [f".f.kin{end}.0123456789ab.kinhash" for end in ("", ".bak", ".bak2")]
    for name in left:
        (tmp_path / f"{name}-tmp").touch()
    (tmp_path / ".f.kin.bakery.0123456789ab.kinhash-tmp").touch()  # of another target
    (tmp_path / f"{left[1]}-old").mkdir()  # the only copy of another target, a folder
    write(tmp_path / "f.kin")
    assert names(tmp_path) == [f"{left[1]}-old", ".f.kin.bakery.0123456789ab.kinhash-tmp", "f.kin"]


def test_what_was_left_goes_even_if_the_change_is_refused(tmp_path):
    (tmp_path / "f.kin").touch()
    (tmp_path / ".f.kin.0123456789ab.kinhash-tmp").touch()
    with keeping_others_out(tmp_path / "f.kin"):
        assert names(tmp_path) == ["f.kin"]


def test_what_was_left_of_a_read_only_file_goes_with_the_next(tmp_path, monkeypatch):
    """Root may write to any file, so the refusal is played."""
    (tmp_path / "f").touch()
    (tmp_path / ".f.0123456789ab.kinhash-tmp").touch()
    real = os.open

    def refuse(path, flags, *rest):
        if flags & os.O_RDWR:
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path, flags, *rest)

    monkeypatch.setattr(os, "open", refuse)
    with keeping_others_out(tmp_path / "f"):
        assert names(tmp_path) == ["f"]
        handle = real(tmp_path / "f", os.O_RDONLY)
        with pytest.raises(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(handle)


def test_without_locks_of_the_system_a_file_beside_keeps_others_out(tmp_path, monkeypatch):
    """As on Windows."""
    pytest.importorskip("filelock")
    monkeypatch.setattr("kinhash._internal.files.fcntl", None)
    path = tmp_path / "f"
    path.write_text("0")

    def count():
        for _ in range(20):
            with keeping_others_out(path):
                found = int(path.read_text())
                time.sleep(0.001)
                path.write_text(str(found + 1))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert path.read_text() == "80"
    with keeping_others_out(tmp_path / "no" / "folder"):
        pass


def test_two_writers_in_one_process_do_not_disturb_each_other(tmp_path, monkeypatch):
    """The second save begins and ends while the first is under way."""
    path, real, nested = tmp_path / "f.kin", os.fsync, []

    def again(handle):
        if not nested:
            nested.append(True)
            write(path, 2)
        real(handle)

    monkeypatch.setattr(os, "fsync", again)
    write(path, 5)
    assert nested
    assert len(kinhash.load(path)) == 5
    assert names(tmp_path) == ["f.kin"]
