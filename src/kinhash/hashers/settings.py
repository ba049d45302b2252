"""Settings by flat names, for callers that have only text: the command line, benchmark tasks, Spark.

``encoder__features__n_centers`` is the setting ``n_centers`` of the ``features`` of the ``encoder``, as in
scikit-learn. What is given by name becomes an object when one of its settings is given too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from ..errors import InvalidInput, UnknownName
from .model_file import part_tables

__all__ = ["with_settings"]

E = TypeVar("E")


def with_settings(estimator: E, settings: Mapping[str, object]) -> E:
    """An unfitted estimator like this one, with those settings; names that it does not have are refused."""
    known: dict[str, object] = estimator.get_params(deep=False)  # type: ignore[attr-defined]
    own: dict[str, object] = {}
    inner: dict[str, dict[str, object]] = {}
    for name, value in settings.items():
        first, _, rest = name.partition("__")
        if first not in known:
            raise UnknownName.among(f"parameter of {type(estimator).__name__}", first, known)
        if rest:
            inner.setdefault(first, {})[rest] = value
        else:
            own[first] = value
    for name, some in inner.items():
        own[name] = with_settings(_part(name, own.get(name, known[name]), next(iter(some))), some)
    return type(estimator)(**{**known, **own})


def _part(name: str, value: Any, setting: str) -> Any:
    """The object whose settings are meant."""
    tables = part_tables()
    table = tables.get(name)
    if hasattr(value, "get_params"):
        return value
    if table is None:
        raise InvalidInput(
            f"{name}__{setting} was set, and {name} has no settings of its own",
            f"settings of {', '.join(tables)}",
            "Check the name",
        )
    if value == "auto":
        raise InvalidInput(
            f"{name}__{setting} was set, and {name} is 'auto'",
            f"one of {', '.join(table)} as the {name}, since each has settings of its own",
            f"Set {name} too",
        )
    if value not in table:
        raise UnknownName.among(name, value, table)
    return table[value]()
