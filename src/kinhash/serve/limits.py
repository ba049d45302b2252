"""What one request may cost. Beyond it a request is refused before it takes time or memory."""

from __future__ import annotations

from dataclasses import dataclass, fields

from .._internal.validation import check_integer

__all__ = ["Limits"]


@dataclass(frozen=True)
class Limits:
    """Limits of a service.

    Memory of the answers is at most about ``answer_values * concurrent`` times 20 bytes, while every client
    asks for all it may and payload texts and lists are short.

    Parameters
    ----------
    rows : rows of one request, at most.
    k : neighbors of one row, at most.
    answer_values : rows × neighbors × (payload columns + 1) of one answer, at most.
    body_bytes : bytes of a request body, at most.
    concurrent : requests that are answered or wait for an answer at the same time; further ones get 429.
    body_seconds : seconds within which a request body must have arrived.

    Examples
    --------
    >>> Limits(k=100).k
    100
    """

    rows: int = 1_000
    k: int = 1_000
    answer_values: int = 1_000_000
    body_bytes: int = 16_000_000
    concurrent: int = 256
    body_seconds: int = 10

    def __post_init__(self) -> None:
        for one in fields(self):
            check_integer(one.name, getattr(self, one.name), 1)
