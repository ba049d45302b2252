"""Whether what came out of a JSON file has the types that a dataclass says its fields have.

Only the types that results use: text, numbers, truth values, None, unions, dictionaries with text as keys,
and tuples, which JSON writes as lists. Numbers are finite and fit into 64 bits, so nothing that is printed or
added up later can overflow.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from typing import Any, Union, get_args, get_origin, get_type_hints

__all__ = ["require_types", "strict_json"]

LARGEST = 2**63
DEEPEST = 8  # dictionaries and lists inside each other; results have three


def strict_json(text: str | bytes) -> Any:
    """JSON without NaN and infinity, which are no JSON."""
    import json

    return json.loads(text, parse_constant=_refuse)


def require_types(plain: Mapping[str, Any], kind: type, skip: tuple[str, ...] = ()) -> None:
    """A ValueError that names the first field of another type; ``skip`` are checked elsewhere."""
    for name, hint in get_type_hints(kind).items():
        if name in plain and name not in skip and not _fits(plain[name], hint):
            raise ValueError(f"{name} is not what it should be")


def _fits(value: Any, hint: Any, depth: int = 0) -> bool:
    origin, arguments = get_origin(hint), get_args(hint)
    if depth > DEEPEST:
        return False
    if origin in (Union, types.UnionType):
        return any(_fits(value, one, depth) for one in arguments)
    if origin is dict:
        pairs = value.items() if isinstance(value, dict) else [(None, None)]
        return all(_fits(k, str, depth) and _fits(one, arguments[1], depth + 1) for k, one in pairs)
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            return False
        kinds = [arguments[0]] * len(value) if arguments[-1] is Ellipsis else list(arguments)
        return len(kinds) == len(value) and all(
            _fits(one, kind, depth + 1) for one, kind in zip(value, kinds, strict=True)
        )
    if hint is Any:
        return _is_plain(value, depth)
    if isinstance(value, bool):
        return hint is bool
    if hint in (int, float):
        return isinstance(value, (int, float) if hint is float else int) and _is_sane(value)
    if hint is str:
        return isinstance(value, str) and _is_text(value)
    return value is None if hint is type(None) else isinstance(value, hint)


def _is_plain(value: Any, depth: int) -> bool:
    """JSON of any shape, with numbers that are sane."""
    if isinstance(value, (dict, list, tuple)):
        inside = [*value, *value.values()] if isinstance(value, dict) else value
        return depth < DEEPEST and all(_is_plain(one, depth + 1) for one in inside)
    if isinstance(value, str):
        return _is_text(value)
    return value is None or isinstance(value, bool) or _is_sane(value)


def _is_text(value: str) -> bool:
    """Whether it can be written: half of a surrogate pair cannot."""
    return not any("\ud800" <= letter <= "\udfff" for letter in value)


def _is_sane(value: float) -> bool:
    return math.isfinite(value) if isinstance(value, float) else -LARGEST <= value < LARGEST


def _refuse(constant: str) -> Any:
    raise ValueError(f"the number {constant}")
