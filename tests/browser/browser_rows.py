"""What the page of the browser tests is made of."""

from __future__ import annotations

from kinhash import Fields

N = 300
FIELDS = Fields(alike=13, kin_weight=2)  # fields that part within a byte
HOSTILE = (
    '</script><img src="http://example.org/x" onerror="document.title=\'taken\'">',
    "\u202eשלום <b>עולם</b>",
)
