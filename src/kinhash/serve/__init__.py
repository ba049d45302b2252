"""A read-only HTTP service: encode rows, search an index, and take up new files while it runs.

    kinhash serve model.kin index.kin

from kinhash.serve import create_app
app = create_app("model.kin", "index.kin")      # an ASGI application, for a server of your choice

It needs the extra "serve" (fastapi, uvicorn, prometheus-client). Nothing here writes to a file.
"""

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach_stub(__name__, __file__)

__all__ = ["Limits", "create_app"]
