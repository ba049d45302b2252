"""Compilation of kernels by Numba, with its cache if a folder for it can be written."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numba

__all__ = ["njit"]

log = logging.getLogger("kinhash")


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """``numba.njit``, without its cache if neither the package's folder nor the user's can be written."""

    def compiled(function: Callable[..., Any]) -> Any:
        try:
            return numba.njit(**options)(function)
        except RuntimeError as error:
            if not str(error).startswith("cannot cache function"):
                raise
        _say_once()
        return numba.njit(**{**options, "cache": False})(function)

    return compiled


@lru_cache(maxsize=1)
def _say_once() -> None:
    log.warning(
        "Compiled functions cannot be kept, so every process compiles its own. Expected a folder that can be "
        "written: the package's or the user's cache. Set NUMBA_CACHE_DIR to one."
    )
