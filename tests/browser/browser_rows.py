"""What the page of the browser tests is made of."""

from __future__ import annotations

from typing import Any

from kinhash import Fields

N = 300
FIELDS = Fields(alike=13, kin_weight=2)  # fields that part within a byte
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
