"""Files that appear under their name when they are complete, or not at all.

A temporary one is made beside the target, brought to the disk and renamed. It is locked as long as its
process lives. An unlocked one was left behind by a process that was killed. The next write to the same
target, or the next command that changes it, removes it. Without such locks (Windows, some network disks) it
cannot be recognized and stays.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator, Sequence

from ..errors import FileProblem

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


PathLike = str | os.PathLike[str]
TEMPORARY = ".kinhash-tmp"
LOCK = ".kinhash-lock"
BACKUP = ".bak"  # backups of a file are called NAME.bak, NAME.bak2, NAME.bak3, ...

_unfinished: set[str] = set()  # temporary files of this process, and what other programs write for it


def replace_file(path: PathLike, pieces: Sequence[memoryview]) -> None:
    """Write all of a file or nothing: temporary file, fsync, rename, fsync of the folder.

    A link stays a link: what it points to is replaced. The new file has the permissions of the old one, and its
    owner and group where the system allows it.
    """
    before = expect_plain_file(path)
    try:
        target = os.path.realpath(path)
        with _beside(target, 0o666 if before is None else 0o600) as temporary:
            handle = os.open(temporary, os.O_WRONLY | getattr(os, "O_BINARY", 0))
            try:
                for piece in pieces:
                    done = 0
                    while done < len(piece):  # a write may be short, and 1 GiB at a time suits every system
                        done += os.write(handle, piece[done : done + (1 << 30)])
                os.fsync(handle)
            finally:
                os.close(handle)
            _keep_rights(temporary, before)
            os.replace(temporary, target)
        _sync_folder(os.path.dirname(target))
    except OSError as problem:
        raise _unwritten(path, problem) from problem


@contextlib.contextmanager
def keeping_others_out(path: PathLike) -> Iterator[None]:
    """One process at a time reads a file, changes it and puts the new one in its place; others wait here.

    Readers are not kept waiting. Without locks (some network disks) nobody waits. What killed processes left
    behind goes first, even if the file is not written in the end.
    """
    if fcntl is None:
        with _locked_beside(path):
            yield
        return
    lock = None
    with contextlib.suppress(OSError, ValueError):  # no such file: who reads it will say so
        _remove_left_behind(os.path.realpath(path))
    while lock is None:
        try:
            lock = _lock(os.fspath(path), wait=True)
            if lock is None or os.path.samestat(os.fstat(lock), os.stat(path)):
                break
        except (OSError, ValueError):  # no locks here, or no such file: who reads it will say so
            break
        os.close(lock)  # while we waited another process put a new file in place
        lock = None
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


@contextlib.contextmanager
def _locked_beside(path: PathLike) -> Iterator[None]:
    """The lock is a file of its own: Windows replaces no open file."""
    from filelock import FileLock

    folder, name = os.path.split(os.path.realpath(path))
    lock = FileLock(os.path.join(folder, f".{name}{LOCK}"))
    with contextlib.suppress(OSError, NotImplementedError):  # no such folder, or no locks here
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def expect_plain_file(path: PathLike) -> os.stat_result | None:
    """The state of the file that would be replaced, None if the name is free; a device is refused."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as problem:
        raise _unwritten(path, problem) from problem
    if stat.S_ISREG(found.st_mode):
        return found
    what = "a folder" if stat.S_ISDIR(found.st_mode) else "a device, a pipe or a socket"
    raise FileProblem(
        f"{os.fspath(path)} is {what}", "a plain file, or a name that is not taken", "Choose another place"
    )


def remove_unfinished() -> None:
    """Remove what this process has begun to write; for a process that is about to end."""
    for temporary in list(_unfinished):
        _remove(temporary)


@contextlib.contextmanager
def new_files(*paths: str) -> Iterator[None]:
    """Remove the files that another program writes in this block, unless the block ends without an error."""
    _unfinished.update(paths)
    try:
        yield
    except BaseException:
        for path in paths:
            _remove(path)
        raise
    finally:
        _unfinished.difference_update(paths)


@contextlib.contextmanager
def _beside(target: str, mode: int) -> Iterator[str]:
    """A temporary file beside the target, locked; removed at the end unless it was renamed."""
    _remove_left_behind(target)
    folder, name = os.path.split(target)
    temporary, lock = os.path.join(folder, f".{name}.{secrets.token_hex(6)}{TEMPORARY}"), None
    _unfinished.add(temporary)
    try:
        while True:
            os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
            try:
                lock = _lock(temporary, wait=True)
            except FileNotFoundError:  # taken for one left behind, in the moment before it was locked
                continue
            except OSError:  # no locks here
                pass
            break
        yield temporary
    finally:
        _remove(temporary)
        _unfinished.discard(temporary)
        if lock is not None:
            os.close(lock)


def _lock(path: str, wait: bool) -> int | None:
    """A handle that holds the lock of a file until it is closed."""
    if fcntl is None:
        return None
    try:
        handle = os.open(path, os.O_RDWR)
    except PermissionError:  # a read-only file can be locked, too, except on some network disks
        handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        os.stat(path)  # it may have been removed while we waited
    except BaseException:
        os.close(handle)
        raise
    return handle


def _remove_left_behind(target: str) -> None:
    """Remove temporaries of this target and of its backups that no living process holds."""
    folder, name = os.path.split(target)
    form = re.compile(rf"{re.escape(f'.{name}')}(?:{re.escape(BACKUP)}[0-9]*)?\.[0-9a-f]{{12}}{TEMPORARY}")
    try:
        found = list(filter(form.fullmatch, os.listdir(folder)))
    except OSError:  # a folder one may write to and not list
        return
    for path in (os.path.join(folder, other) for other in found):
        with contextlib.suppress(OSError):  # BlockingIOError: another process is writing it
            lock = _lock(path, wait=False)
            if lock is not None:
                _remove(path)
                os.close(lock)


def _remove(path: str) -> None:
    if os.path.isdir(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            os.unlink(path)


def _keep_rights(temporary: str, before: os.stat_result | None) -> None:
    if before is None:
        return
    if hasattr(os, "chown"):
        with contextlib.suppress(OSError):  # another's file: it becomes ours
            os.chown(temporary, before.st_uid, before.st_gid)
    with contextlib.suppress(OSError):  # a disk without permissions
        os.chmod(temporary, stat.S_IMODE(before.st_mode) & 0o777)


def _sync_folder(folder: str) -> None:
    """Make a rename last through a power cut; the new file is complete and in place with or without it."""
    with contextlib.suppress(OSError):  # on Windows a folder cannot be opened
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _unwritten(path: PathLike, problem: Exception) -> FileProblem:
    reason = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
    return FileProblem(
        f"{os.fspath(path)} could not be written: {reason}",
        "",
        "Choose a folder that exists, is writable and has space",
    )
