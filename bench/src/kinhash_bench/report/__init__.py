"""From results to a report: tables, figures and statistics on one page. It reads nothing but results."""

from __future__ import annotations

from .report import Report, make_report

__all__ = ["Report", "make_report"]
