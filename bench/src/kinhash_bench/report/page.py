"""The page around the sections: one file, no script, nothing from the network."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib import resources

from .sections import Section

__all__ = ["page"]


def page(title: str, sections: Sequence[Section]) -> str:
    """All sections under one heading, with a list of them on top, and a switch for what is not shown."""
    style = (resources.files(__package__) / "report.css").read_text(encoding="utf-8")
    links = "".join(f'<li><a href="#{escape(s.id)}">{escape(s.title)}</a></li>' for s in sections)
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(title)}</title>",
            f"<style>\n{style}</style>",
            "</head>",
            "<body>",
            '<a class="skip" href="#main">Skip to the results</a>',
            f"<header><h1>{escape(title)}</h1></header>",
            f'<nav aria-label="Sections"><ul>{links}</ul></nav>',
            '<input type="checkbox" id="all" class="switch"><label for="all" class="switch">Show the band '
            "that the order of ties leaves below every number</label>",
            '<main id="main" tabindex="-1">',
            *(section.html() for section in sections),
            "</main>",
            "<footer><p>Made by <code>kinhash report</code> from the results alone: the same results give "
            "the same page. Sections unfold. Tables scroll sideways within their frame: focus one and use "
            "the arrow keys.</p></footer>",
            "</body>",
            "</html>",
            "",
        ]
    )
