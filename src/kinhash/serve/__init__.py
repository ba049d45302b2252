"""A read-only HTTP service: encode rows, search an index, and take up new files while it runs.

    kinhash serve model.kin index.kin

from kinhash.serve import create_app
app = create_app("model.kin", "index.kin")      # an ASGI application, for a server of your choice

It needs the extra "serve" (fastapi, uvicorn, prometheus-client). Nothing here writes to a file.
"""

from ..errors import MissingExtra

try:
    from .app import create_app as create_app
    from .requests import Limits as Limits
    from .server import BACKLOG as BACKLOG
    from .server import serve as serve
except ModuleNotFoundError as problem:
    raise MissingExtra.of(str(problem.name), "serve") from None

__all__ = ["BACKLOG", "Limits", "create_app", "serve"]
