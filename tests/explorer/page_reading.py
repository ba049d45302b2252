"""What stands on a page, read back as a browser would: data blocks, policy, scripts."""

from __future__ import annotations

import base64
import json
from html.parser import HTMLParser
from typing import Any

import numpy as np


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], str]] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.append((tag, dict(attrs), ""))

    def handle_data(self, data: str) -> None:
        if self.found:
            tag, attributes, text = self.found[-1]
            self.found[-1] = tag, attributes, text + data


def elements(page: str, tag: str) -> list[tuple[dict[str, str | None], str]]:
    parser = _Elements()
    parser.feed(page)
    return [(attributes, text) for name, attributes, text in parser.found if name == tag]


def block(page: str, name: str) -> Any:
    (text,) = [text for attributes, text in elements(page, "script") if attributes.get("id") == name]
    return json.loads(text)


def facts(page: str) -> Any:
    return block(page, "facts")


def array(page: str, name: str, dtype: Any) -> np.ndarray:
    return np.frombuffer(base64.b64decode(block(page, f"data-{name}")), dtype)
