"""A table as a value: filled once, written as HTML, CSV and LaTeX, so that all three say the same."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import groupby

__all__ = ["NOT_RUN", "Column", "Entry", "ResultTable", "slug"]

MARKS = {"first": "★", "level": "≈"}  # read aloud by their names
LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#",
    "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "±": r"$\pm$", "−": "$-$", "–": "--",
    "≤": r"$\le$", "★": r"$\star$", "≈": r"$\approx$", "·": r"$\cdot$",
    "<": r"\textless{}", ">": r"\textgreater{}",
}  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """One cell: a number with its spread and its range, or a text in its place.

    ``low`` and ``high`` are a tie band or an interval, ``n`` the partitions behind the number. ``mark`` is
    "first", "level", "failed" or nothing; it is a sign with a name or a word, never a color alone. A page
    shows the number and its spread; tie bands come when they are asked for.
    """

    value: float | None = None
    spread: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    text: str = ""
    mark: str = ""
    digits: int = 4
    signed: bool = False

    def number(self, value: float) -> str:
        """A number as all three forms print it."""
        shown = f"{value:{'+' if self.signed else ''}.{self.digits}f}"
        return shown.replace("-", "−") if float(shown) else f"{0:.{self.digits}f}"

    @property
    def reach(self) -> str:
        """The range, where there is one: tie bands to three digits, intervals with their signs."""
        if self.low is None or self.high is None:
            return ""
        if self.signed:
            return f"{self.number(self.low)} to {self.number(self.high)}"
        return f"{self.low:.3f}–{self.high:.3f}"

    @property
    def main(self) -> str:
        """The number, or the text in its place."""
        return self.text if self.value is None else self.number(self.value)


NOT_RUN = Entry(text="not run")


@dataclass(frozen=True)
class Column:
    """A heading, the heading above it that it shares with its neighbors, and whether texts stand in it."""

    name: str
    group: str = ""
    ours: bool = True
    words: bool = False

    @property
    def full(self) -> str:
        """Both headings in one line."""
        return f"{self.group} {self.name}".strip()


@dataclass(frozen=True)
class ResultTable:
    """Rows under columns, with a caption, remarks, and the command that makes it again.

    ``id`` becomes its ``name``, in the page and of its files. ``corner`` heads the names of the rows.
    """

    id: str
    caption: str
    corner: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, tuple[Entry, ...]], ...]
    notes: tuple[str, ...] = ()
    command: str = ""

    @property
    def name(self) -> str:
        """Its id without letters that would mean something in an address or a path."""
        return slug(self.id)

    def html(self) -> str:
        """A table in a region that scrolls by itself, its remarks and its command below."""
        caption = f"{self.name}-caption"
        parts = [
            f'<div class="scroll" role="region" tabindex="0" aria-labelledby="{caption}">',
            f'<table id="{self.name}"><caption id="{caption}"><span>{escape(self.caption)}</span></caption>',
            f"<thead>{self._head()}</thead><tbody>",
        ]
        for row, entries in self.rows:
            cells = "".join(map(_html_cell, self.columns, entries))
            name = escape(row).replace("_", "_<wbr>")  # long names break where they may
            parts.append(f'<tr><th scope="row">{name}</th>{cells}</tr>')
        parts.append("</tbody></table></div>")
        if self.notes:
            parts.append(f'<p class="note">{" ".join(map(escape, self.notes))}</p>')
        if self.command:
            parts.append(f'<p class="command">Again: <code>{escape(self.command)}</code></p>')
        return "\n".join(parts)

    def _head(self) -> str:
        corner = f'<th scope="col">{escape(self.corner)}</th>'
        names = "".join(
            f'<th scope="col"{_side(column)}>{escape(column.name)}</th>' for column in self.columns
        )
        if not any(column.group for column in self.columns):
            return f"<tr>{corner}{names}</tr>"
        corner = corner.replace('scope="col"', 'scope="col" rowspan="2"')
        groups = ""
        for group, members in groupby(column.group for column in self.columns):
            groups += f'<th scope="colgroup" colspan="{len(list(members))}">{escape(group)}</th>'
        return f"<tr>{corner}{groups}</tr><tr>{names}</tr>"

    def csv(self) -> str:
        """Numbers to six digits, each part of an entry in a column of its own."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        columns = [[entries[place] for _, entries in self.rows] for place in range(len(self.columns))]
        split = [
            list(_csv_column(column.full, entries))
            for column, entries in zip(self.columns, columns, strict=True)
        ]
        rows = [[self.corner, *(name for parts in split for name, _ in parts)]]
        for place, (row, _) in enumerate(self.rows):
            rows.append([row, *(values[place] for parts in split for _, values in parts)])
        writer.writerows([[_harmless(cell) for cell in row] for row in rows])
        return text.getvalue()

    def latex(self) -> str:
        """A ``table`` with a ``tabular`` that needs no package."""
        lines = [
            r"\begin{table}",
            r"\centering",
            rf"\begin{{tabular}}{{l{'r' * len(self.columns)}}}",
            r"\hline",
        ]
        if any(column.group for column in self.columns):
            groups = groupby(column.group for column in self.columns)
            spans = [rf"\multicolumn{{{len(list(some))}}}{{c}}{{{_latex(name)}}}" for name, some in groups]
            lines.append(" & ".join(["", *spans]) + r" \\")
        lines.append(
            " & ".join(_latex(name) for name in (self.corner, *(c.name for c in self.columns))) + r" \\"
        )
        lines.append(r"\hline")
        for row, entries in self.rows:
            lines.append(" & ".join([_latex(row), *map(_latex_cell, entries)]) + r" \\")
        about = " ".join([self.caption + ("" if self.caption.endswith(".") else "."), *self.notes])
        lines += [r"\hline", r"\end{tabular}", rf"\caption{{{_latex(about)}}}"]
        return "\n".join([*lines, rf"\label{{tab:{self.name}}}", r"\end{table}", ""])


def slug(text: str) -> str:
    """Letters, digits, ``-`` and ``_``; anything else becomes ``-``."""
    return "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "-_") else "-" for letter in text
    )


def _side(column: Column) -> str:
    return ' class="theirs"' if not column.ours else ' class="words"' if column.words else ""


def _html_cell(column: Column, entry: Entry) -> str:
    kinds = " ".join(
        filter(None, [entry.mark, "" if column.ours else "theirs", "words" if column.words else ""])
    )
    main = escape(entry.main)
    parts = [f"<strong>{main}</strong>" if entry.mark in ("first", "best") else main]
    if entry.mark in MARKS:
        parts.append(f'<abbr class="mark" title="{entry.mark}">{MARKS[entry.mark]}</abbr>')
    if entry.spread is not None:
        parts.append(f' <span class="small">± {entry.number(entry.spread).lstrip("+")}</span>')
    if entry.value is not None and entry.text:
        parts.append(f' <span class="small">{escape(entry.text)}</span>')
    if entry.reach:
        parts.append(f' <span class="{"small" if entry.signed else "more"}">{entry.reach}</span>')
    return f"<td{f' class={chr(34)}{kinds}{chr(34)}' if kinds else ''}>{''.join(parts)}</td>"


def _csv_column(name: str, entries: list[Entry]) -> Iterator[tuple[str, list[str]]]:
    """The columns of a file that one column of a table becomes: those parts that any entry has."""
    yield name, [_plain(entry.value) if entry.value is not None else entry.text for entry in entries]
    for part, values in (
        ("deviation", [_plain(entry.spread) for entry in entries]),
        ("low", [_plain(entry.low) for entry in entries]),
        ("high", [_plain(entry.high) for entry in entries]),
        ("partitions", ["" if entry.n is None else str(entry.n) for entry in entries]),
        ("mark", [entry.mark if entry.mark != "failed" else "" for entry in entries]),
        ("remark", [entry.text if entry.value is not None else "" for entry in entries]),
    ):
        if any(values):
            yield f"{name} {part}", values


def _harmless(cell: str) -> str:
    """Text that a spreadsheet would run as a formula gets an apostrophe; numbers stay numbers."""
    if not cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:.6f}"


def _latex_cell(entry: Entry) -> str:
    main = _latex(entry.main)
    if entry.mark in ("first", "best"):
        main = rf"\textbf{{{main}}}"
    parts = [main]
    if entry.spread is not None:
        parts.append(_latex(f"± {entry.number(entry.spread).lstrip('+')}"))
    if entry.reach:
        parts.append(f"({_latex(entry.reach)})")
    if entry.value is not None and entry.text:
        parts.append(_latex(entry.text))
    if entry.mark in ("first", "level"):
        parts.append(_latex(MARKS[entry.mark]))
    return " ".join(parts)


def _latex(text: str) -> str:
    return "".join(LATEX.get(letter, letter) for letter in text)
