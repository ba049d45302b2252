"""The page around the sections: one file, no script, nothing from the network."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib import resources
from string import Template

from .sections import Section

__all__ = ["page"]


def page(title: str, sections: Sequence[Section]) -> str:
    """All sections under one heading, with a list of them on top, and a switch for what is not shown."""
    style, text = (
        (resources.files(__package__) / name).read_text("utf-8") for name in ("report.css", "page.html")
    )
    links = "".join(f'<li><a href="#{escape(s.id)}">{escape(s.title)}</a></li>' for s in sections)
    body = "\n".join(section.html() for section in sections)
    return Template(text).substitute(title=escape(title), style=style, links=links, body=body)
