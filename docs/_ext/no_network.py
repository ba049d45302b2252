"""Nothing in the site may be loaded from elsewhere: it has to work from a file, offline."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.util import logging

log = logging.getLogger(__name__)
LOADED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["'](?:https?:)?//|<link\b[^>]*\bhref=["'](?:https?:)?//|url\(["']?https?:""",
    re.IGNORECASE,
)


def setup(app: Any) -> dict[str, Any]:
    """Look at the pages when they are written."""
    app.connect("build-finished", look)
    return {"parallel_read_safe": True}


def look(app: Any, problem: Exception | None) -> None:
    """Warn, and so fail, of every page that would ask the network for something."""
    for page in [] if problem else sorted(Path(app.outdir).rglob("*.html")):
        if LOADED.search(page.read_text("utf-8")):
            log.warning("%s loads something from the network", page)
