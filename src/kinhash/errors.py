"""All errors and warnings of kinhash, in one tree.

    KinhashError
    ├── InvalidInput(ValueError)      what you handed in cannot be used
    │   ├── UnknownName               no such energy, map, solver, ... (with a suggestion)
    │   └── CodesMismatch             codes of another length or another model
    ├── FileProblem(OSError)          a file is missing, damaged, or of another kind
    │   ├── DamagedFile               its digest or its structure does not hold
    │   └── EngineProblem             a database or a server cannot be reached, or refuses
    ├── MissingExtra(ImportError)     an optional dependency is not installed
    └── NotEnoughMemory(MemoryError)  the work would not fit; said before it starts

    KinhashWarning(UserWarning)       doubtful, but the work goes on

A message is three sentences in one order: what was wrong, what was expected, what to do.
The constructors take exactly those three, so no message can forget one.
"""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable

__all__ = [
    "CodesMismatch",
    "DamagedFile",
    "EngineProblem",
    "FileProblem",
    "InvalidInput",
    "KinhashError",
    "KinhashWarning",
    "MissingExtra",
    "NotEnoughMemory",
    "UnknownName",
    "warn",
]


class KinhashError(Exception):
    """Any error kinhash raises on purpose; the command line turns it into one line."""

    def __init__(self, wrong: str, expected: str = "", remedy: str = "") -> None:
        self.wrong, self.expected, self.remedy = wrong, expected, remedy
        parts = [_sentence(wrong)]
        if expected:
            parts.append(_sentence(f"Expected {expected}"))
        if remedy:
            parts.append(_sentence(remedy))
        super().__init__(" ".join(parts))

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.wrong, self.expected, self.remedy))


class InvalidInput(KinhashError, ValueError):
    """The data or a parameter cannot be used as it is."""


class UnknownName(InvalidInput):
    """A name that is in none of our tables."""

    @classmethod
    def among(
        cls, kind: str, name: object, choices: Iterable[str], more_in: str | None = None
    ) -> UnknownName:
        """Build the message from the table itself, so the list cannot go stale.

        ``more_in`` is a package that would add rows to the table and is not installed.
        """
        names = sorted(choices)
        asked = str(name)[:100]  # comparing takes memory and time
        spelt = {other.lower(): other for other in names}  # 'sdh' means 'SDH'
        close = difflib.get_close_matches(asked, names, n=1) or [
            spelt[other] for other in difflib.get_close_matches(asked.lower(), spelt, n=1)
        ]
        article = "an" if kind[:1] in "aeiou" else "a"
        remedy = f"Did you mean {close[0]!r}?" if close else f"Pass {article} {kind} from that list"
        if more_in is not None:
            remedy = f"{_sentence(remedy)} Others come with: pip install {more_in}"
        return cls(f"There is no {kind} called {name!r}", f"one of {', '.join(names)}", remedy)


class CodesMismatch(InvalidInput):
    """Two sets of codes that must not be compared with each other."""


class FileProblem(KinhashError, OSError):
    """A file cannot be read or written."""

    def __str__(self) -> str:  # OSError would print only its first argument
        return str(self.args[0])


class DamagedFile(FileProblem):
    """A file whose contents changed after it was written."""


class EngineProblem(FileProblem):
    """A database or a server could not be reached, or refused what it was asked for."""


class MissingExtra(KinhashError, ImportError):
    """An optional dependency is needed and absent."""

    @classmethod
    def of(cls, package: str, extra: str, distribution: str = "kinhash") -> MissingExtra:
        """Name the package that is missing and the extra of ``distribution`` that brings it."""
        return cls(
            f"This needs the package {package!r}, which is not installed",
            "",
            f"Install it with: pip install '{distribution}[{extra}]'",
        )


class NotEnoughMemory(KinhashError, MemoryError):
    """The work would need more memory than there is."""


class KinhashWarning(UserWarning):
    """Doubtful input or a doubtful result; the work goes on."""


def _sentence(text: str) -> str:
    text = text.strip()
    return text if text[-1] in ".?!" else text + "."


OURS = ("kinhash", "kinhash_bench", "sklearn")


def warn(text: str, category: type[Warning] = KinhashWarning) -> None:
    """Warn at the line of the first caller outside kinhash and scikit-learn, however deep we are."""
    frame, level = sys._getframe(1), 2
    while frame is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] in OURS:
        frame, level = frame.f_back, level + 1  # type: ignore[assignment]
    warnings.warn(text, category, stacklevel=level)
