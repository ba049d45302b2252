"""Names to things, imported only when asked for.

A row is ``"ksh": "kinhash.paper.energies:KSH"``. What is in a table is in the API, the command
line, the common tests and the docs; other packages add rows through an entry point group.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ..errors import MissingExtra, UnknownName


class Table(Mapping[str, Any]):
    """A read-only mapping of names to classes or functions, resolved on first use."""

    def __init__(
        self,
        kind: str,
        rows: Mapping[str, str],
        entry_points: str | None = None,
        more_in: str | None = None,
        names_there: Collection[str] = (),
    ) -> None:
        """``more_in`` names a package that adds rows by entry points. If it is not installed, the error for an
        unknown name mentions it; for the names of its rows, ``names_there``, it says that they are there.
        """
        self.kind = kind
        self._rows = dict(rows)
        self._entry_points = entry_points
        self._more_in = more_in
        self._names_there = {one.lower(): one for one in names_there}

    def __getitem__(self, name: str) -> Any:
        target = self._targets().get(name) if isinstance(name, str) else None
        if target is None:
            absent = self._absent_package()
            if absent is not None and (there := self._names_there.get(str(name).lower())) is not None:
                raise MissingExtra(
                    f"{there} comes with the package {absent}, which is not installed",
                    "",
                    f"Install it with: pip install {absent}",
                )
            raise UnknownName.among(self.kind, name, self._targets(), absent)
        module, _, attribute = target.partition(":")
        return getattr(import_module(module), attribute)

    def __contains__(self, name: object) -> bool:
        return name in self._targets()

    def __iter__(self) -> Iterator[str]:
        return iter(self._targets())

    def __len__(self) -> int:
        return len(self._targets())

    def make(self, name_or_thing: object, **parameters: Any) -> Any:
        """Build the thing of that name; anything that is not a string passes through."""
        return self[name_or_thing](**parameters) if isinstance(name_or_thing, str) else name_or_thing

    def _absent_package(self) -> str | None:
        if self._more_in is None or find_spec(self._more_in.replace("-", "_")) is not None:
            return None
        return self._more_in

    def _targets(self) -> dict[str, str]:
        if self._entry_points is not None:
            from importlib.metadata import entry_points

            # Built-in rows win: another package cannot change what a built-in name means.
            found = {point.name: point.value for point in entry_points(group=self._entry_points)}
            self._rows = {**found, **self._rows}
            self._entry_points = None
        return self._rows
