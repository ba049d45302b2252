"""A section of the report: its heading, what fills it, and what it says while it is empty."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from .result_table import ResultTable, slug

__all__ = ["Part", "Section"]


@dataclass(frozen=True)
class Part:
    """A piece of a section: ready HTML, and the tables that are in it (for CSV and LaTeX)."""

    html: str
    tables: tuple[ResultTable, ...] = ()

    @classmethod
    def text(cls, words: str) -> Part:
        """A paragraph."""
        return cls(f"<p>{escape(words)}</p>")

    @classmethod
    def heading(cls, words: str, name: str) -> Part:
        """A heading below that of the section."""
        return cls(f'<h3 id="{slug(name)}">{escape(words)}</h3>')

    @classmethod
    def table(cls, table: ResultTable) -> Part:
        """A table with its remarks and its command."""
        return cls(table.html(), (table,))

    @classmethod
    def folded(cls, summary: str, *tables: ResultTable) -> Part:
        """Tables that open on demand."""
        return cls.fold(summary, [cls.table(table) for table in tables])

    @classmethod
    def fold(cls, summary: str, parts: Iterable[Part]) -> Part:
        """Parts that open on demand."""
        some = list(parts)
        inside = "\n".join(part.html for part in some)
        tables = tuple(table for part in some for table in part.tables)
        return cls(f"<details><summary>{escape(summary)}</summary>\n{inside}\n</details>", tables)


@dataclass(frozen=True)
class Section:
    """``missing`` says what no result exists for, and the command that would fill it."""

    id: str
    title: str
    parts: tuple[Part, ...] = ()
    missing: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, name: str, title: str, parts: Iterable[Part], words: str, command: str) -> Section:
        """A section of these parts; without any, the words for what is missing and the command for it."""
        found = tuple(parts)
        return cls(name, title, found) if found else cls(name, title, (), ((words, command),))

    @property
    def is_empty(self) -> bool:
        """Whether it holds nothing but the words for what is missing."""
        return bool(self.missing) and not self.parts

    def html(self) -> str:
        """Heading and parts; what is missing stands in the summary."""
        lines = [f'<section id="{escape(self.id)}" aria-labelledby="{escape(self.id)}-title">']
        lines.append(f'<h2 id="{escape(self.id)}-title">{escape(self.title)}</h2>')
        lines += [part.html for part in self.parts]
        return "\n".join([*lines, "</section>"])
