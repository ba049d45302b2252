"""An advice in a notebook: its curve, what to do in three sentences, the rest on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._internal.html import bullets, document, escape, picture
from .._internal.pictures import png_address
from ..errors import MissingExtra

if TYPE_CHECKING:
    from .advice import Advice

__all__ = ["html"]

SENTENCES = 3
WIDE = "width:100%;max-width:760px;height:auto;background:white"


def html(advice: Advice) -> str:
    """The curve as a PNG inside the page (or why there is none), the sentences, the whole text folded."""
    answer = advice.recommendation
    parts = [_curve(advice), bullets(answer.sentences[:SENTENCES])]
    if answer.warnings:
        parts.append(f"<p><b>Beware</b></p>{bullets(answer.warnings)}")
    title = "The table, and how it was measured"
    parts.append(f"<details><summary>{title}</summary><pre>{escape(str(advice))}</pre></details>")
    return document(*parts)


def _curve(advice: Advice) -> str:
    from ..plot import png_of

    try:
        content = png_of(advice._page(), dpi=100)
    except MissingExtra as missing:
        return f"<p><i>No curve. {escape(str(missing))}</i></p>"
    return picture(png_address(content), "mean average precision against bits", WIDE)
