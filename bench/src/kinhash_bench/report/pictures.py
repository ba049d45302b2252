"""The picture page: queries and what they find. Relevant rows are marked by a word and an outline."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from html import escape
from typing import Any

from ..tasks.result import Result
from .commands import command_of
from .rows import group_by
from .sections import Part, Section

__all__ = ["gallery"]

SIGNATURES = {"png": b"\x89PNG\r\n\x1a\n", "webp": b"RIFF"}


def gallery(results: Sequence[Result]) -> Section:
    """Queries down, what they find across, in order of distance and then of row."""
    title = "Queries and what they find"
    shown = [r for r in results if r.ok and r.gallery]
    if not shown:
        words = "No results with pictures."
        return Section("gallery", title, (), ((words, "kinhash bench paper --only gallery"),))
    parts = [
        Part.text(
            "Each row is a query and its nearest rows among those with a picture, nearest first, by mapped "
            "codes. Under each picture: its label, whether it is relevant, and its distance in bits."
        )
    ]
    for dataset, some in group_by(shown, lambda r: r.dataset).items():
        for result in sorted(
            some, key=lambda r: (r.label != "EnergyHasher", r.label, r.n_bits or 0, r.partition)
        ):
            heading = f"{dataset}: {result.label}" + (f", {result.n_bits} bits" if result.n_bits else "")
            shelves = [Part(_shelf(page, number)) for number, page in enumerate(result.gallery, 1)]
            parts.append(Part.fold(heading, shelves))
        parts.append(
            Part(f'<p class="command">Again: <code>{escape(command_of(some, "gallery"))}</code></p>')
        )
    return Section("gallery", title, tuple(parts))


def _shelf(page: dict[str, Any], number: int) -> str:
    found = page["found"]
    kin = sum(bool(item["kin"]) for item in found)
    query = f"query {number} (label {page['query']['label']}): {kin} of {len(found)} are relevant"
    items = [f'<li class="query">{_picture(page["query"], "query")}<b>query</b></li>']
    for item in found:
        word = "kin" if item["kin"] else "stranger"
        words = f"{word}, {item['distance']} bit{'' if item['distance'] == 1 else 's'}"
        items.append(f'<li class="{word}">{_picture(item, word)}<span>{escape(words)}</span></li>')
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(query)}">'
        f'<p class="shelf">{escape(query)}</p><ol class="shelf">{"".join(items)}</ol></div>'
    )


def _picture(item: dict[str, Any], role: str) -> str:
    words = escape(f"{role}: {item['label']}, row {item['row']}")
    label = f"<i>{escape(str(item['label']))}</i>"
    for kind, signature in SIGNATURES.items():
        if kind in item and _is_picture(item[kind], signature):
            source = f"data:image/{kind};base64,{item[kind]}"
            return f'<img src="{source}" alt="{words}" width="64" height="64">{label}'
    return f'<span class="nothing" role="img" aria-label="{words}">no picture</span>{label}'


def _is_picture(text: Any, signature: bytes) -> bool:
    """Whether it is base64 of the right kind, and so safe to stand in an attribute."""
    try:
        return base64.b64decode(str(text), validate=True).startswith(signature)
    except (binascii.Error, ValueError):
        return False
