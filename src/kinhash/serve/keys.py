"""API keys: one of those given must come in a header, compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

from ..errors import InvalidInput
from .packages import fastapi
from .problems import Refused

__all__ = ["Keys"]

HEADER = "x-api-key"
BEARER = "bearer "


class Keys:
    """The keys of a service; without any, every request is let in."""

    def __init__(self, keys: Sequence[str]) -> None:
        if not all(keys):
            raise InvalidInput("An API key is empty", "a secret text", "Pass another, or none at all")
        self._digests = [_digest(key.encode("utf-8", "surrogateescape")) for key in keys]

    def check(self, request: fastapi.Request) -> None:
        """Refuse a request that has none of the keys, in X-API-Key or as Authorization: Bearer."""
        if not self._digests:
            return
        given = request.headers.get(HEADER)
        if given is None:
            bearer = request.headers.get("authorization", "")
            given = bearer[len(BEARER) :] if bearer.lower().startswith(BEARER) else ""
        digest = _digest(given.encode("latin-1"))  # as headers are read: these are the bytes that came
        # All are compared, and digests of equal length: the time says nothing about a key.
        if not sum([hmac.compare_digest(digest, known) for known in self._digests]):
            raise Refused(
                401,
                "The API key is missing or wrong" if given else "No API key came",
                "a key of this service",
                "Send it in the header X-API-Key",
            )


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()
