"""Small pieces of HTML for notebooks: what users wrote is escaped, colors are those of the notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["bullets", "cell", "document", "escape", "picture", "table"]

# Inherited colors, so that light and dark notebooks both show it as they show their own text.
BOX = "font-size:0.92em;line-height:1.35;max-width:100%;overflow-x:auto"
CELL = "padding:3px 8px;text-align:{side};border-bottom:1px solid rgba(128,128,128,.35);vertical-align:top"


def document(*parts: str) -> str:
    """Pieces one below the other."""
    return f'<div class="kinhash" style="{BOX}">{"".join(parts)}</div>'


def cell(content: str, side: str = "left", tag: str = "td") -> str:
    """A cell of a table; the content is HTML."""
    return f'<{tag} style="{CELL.format(side=side)}">{content}</{tag}>'


def table(rows: Iterable[Sequence[str]], head: Sequence[str] = (), side: str = "left") -> str:
    """Cells of HTML as a table, with a line of names above."""
    lines = ["".join(cell(one, side) for one in row) for row in rows]
    names = f"<thead><tr>{''.join(cell(one, side, 'th') for one in head)}</tr></thead>" if head else ""
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<table style="border-collapse:collapse;margin:.3em 0">{names}<tbody>{body}</tbody></table>'


def bullets(sentences: Iterable[str]) -> str:
    """Plain sentences as a list; nothing where there are none."""
    items = "".join(f"<li>{escape(one)}</li>" for one in sentences)
    return f'<ul style="margin:.3em 0;padding-left:1.3em">{items}</ul>' if items else ""


def picture(address: str, words: str, style: str) -> str:
    """Inline image with a text alternative."""
    return f'<img src="{escape(address)}" alt="{escape(words)}" style="{style}">'
