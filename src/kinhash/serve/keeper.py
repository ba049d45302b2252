"""The pair in use, and a thread that replaces it when the files change."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from ..errors import CodesMismatch, KinhashError
from .pair import Files, Pair, Stamp, load_pair

__all__ = ["Keeper"]

log = logging.getLogger("kinhash.serve")


class Keeper:
    """Holds the pair that answers requests.

    The next pair is loaded while the present pair answers, and takes its place by one assignment. A request
    that has begun keeps its pair. A new pair is refused, and the present one stays, if a file cannot be read
    or if model and index do not belong together (for example because only one file has been replaced).
    """

    def __init__(self, files: Files, seconds: float, on_reload: Callable[[Keeper, bool], None]) -> None:
        self.files, self.seconds = files, seconds
        self._on_reload = on_reload
        self._stamp: Stamp | None = files.stamp()
        self.pair: Pair = load_pair(files, 1)
        self.refusal: str | None = None  # why the files as they are now are not in use
        self._wake, self._stopped = threading.Event(), False
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Watch the files from now on."""
        self._stopped = False
        self._wake.clear()
        self._thread = threading.Thread(target=self._watch, daemon=True, name="kinhash-reload")
        self._thread.start()

    def stop(self) -> None:
        """Watch no longer; a load in progress is not waited for."""
        self._stopped = True
        self._wake.set()

    def wake(self) -> None:
        """Load the files again now, changed or not. Safe in a signal handler."""
        self._stamp = None
        self._wake.set()

    def _watch(self) -> None:
        while not self._stopped:
            self._wake.wait(self.seconds)
            self._wake.clear()
            if not self._stopped:
                self.look()

    def look(self) -> None:
        """Load the files if they have changed since they were last looked at."""
        try:
            before = self.files.stamp()
            if before == self._stamp:
                return
            self._stamp = before
            fresh = load_pair(self.files, self.pair.number + 1)
            if self.files.stamp() != before:  # a file came between the two reads
                self._stamp = None
                return
        except Exception as problem:  # whatever it is, the pair in use must go on answering
            self._refuse(problem)
            return
        self.pair, self.refusal = fresh, None
        log.info("Loaded model %s and %d rows", fresh.model_id[:12], len(fresh.index))
        self._on_reload(self, True)

    def _refuse(self, problem: Exception) -> None:
        mismatch = isinstance(problem, CodesMismatch)
        said = "model and index belong to different models" if mismatch else type(problem).__name__
        if isinstance(problem, FileNotFoundError):
            self._stamp = None  # gone for a moment: look again
            if self.refusal == said:
                return
        self.refusal = said
        known = isinstance(problem, (KinhashError, OSError))
        log.warning("The files were refused, the pair in use stays: %s", problem, exc_info=not known)
        self._on_reload(self, False)
