"""What the page of the browser tests is made of, and how it is opened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

N = 300
HOSTILE = (
    '</script><img src="http://example.org/x" onerror="document.title=\'taken\'">',
    "\u202eשלום <b>עולם</b>",
)


def until(page: Any, expression: str, arg: Any = None) -> None:
    """Wait until an expression holds.

    Playwright's own way evaluates text in the page whenever it looks again, which the page forbids.
    """
    for _ in range(300):
        if page.evaluate(expression, arg):
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"{expression} did not come true in 15 seconds")


@contextmanager
def from_disk(browser: Any, file: Path, size: tuple[int, int] = (1280, 800)) -> Iterator[Any]:
    """A page that is offline. What it asks the network for is in ``asked``, what goes wrong in ``wrong``."""
    width, height = size
    context = browser.new_context(
        viewport={"width": width, "height": height}, offline=True, accept_downloads=True
    )
    opened = context.new_page()
    opened.asked, opened.wrong = [], []
    opened.on("request", lambda one: opened.asked.append(one.url))
    opened.on("pageerror", lambda error: opened.wrong.append(str(error)))
    opened.on("console", lambda said: opened.wrong.append(said.text) if said.type == "error" else None)
    opened.on("dialog", lambda dialog: (opened.wrong.append("dialog"), dialog.dismiss()))
    opened.goto(file.as_uri())
    until(opened, "view.width > 0 && painting.mode !== ''")
    yield opened
    assert opened.wrong == []
    assert [url for url in opened.asked if not url.startswith(("file:", "blob:", "data:"))] == []
    context.close()
