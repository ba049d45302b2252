"""The table of docs/rivals.md, written from the cards of all methods."""

from __future__ import annotations

__all__ = ["FEATURES", "LABELS", "PAIRS", "cards_table", "fill_page"]

FEATURES, LABELS, PAIRS = "features alone", "classes, tags", "classes, tags, pairs"
BEGIN, END = "<!-- rivals: begin -->", "<!-- rivals: end -->"
HEAD = ("method", "source", "learns from", "database codes", "own map", "what is ours")


def cards_table() -> str:
    """All rows of `BASELINES` as a Markdown table."""
    from kinhash_bench.baselines import BASELINES

    rows = [HEAD, tuple("---" for _ in HEAD)]
    for name in sorted(BASELINES, key=str.lower):
        method = BASELINES[name]
        card = getattr(method, "card", None)
        if card is None:  # a plugin's row may do without
            continue
        codes = "learned" if "map" in method().get_params() else "mapped"
        rows.append((f"`{name}`", card.source, card.learns_from, codes, card.own_map, card.ours))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def fill_page(text: str) -> str:
    """The page with its table brought up to date: what stands between the two markers is replaced."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{cards_table()}\n{END}{after}"


if __name__ == "__main__":
    import sys
    from pathlib import Path

    page = Path(sys.argv[1])
    page.write_text(fill_page(page.read_text("utf-8")), "utf-8")
