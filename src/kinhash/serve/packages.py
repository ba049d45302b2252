"""What the extra "serve" brings, imported in one place, so that one error names it where it is missing."""

from __future__ import annotations

from ..errors import MissingExtra

try:
    import fastapi
    import prometheus_client
    import pydantic
    import starlette.requests
    import uvicorn
except ImportError as problem:
    raise MissingExtra.of(str(problem.name), "serve") from None

__all__ = ["fastapi", "prometheus_client", "pydantic", "starlette", "uvicorn"]
