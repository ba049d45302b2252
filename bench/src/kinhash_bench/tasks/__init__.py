"""Benchmarks: a task (TOML) → one JSON result per cell → a report that reads nothing else.

``run`` works through the cells of a `Task`, resumes where it was stopped, and keeps a failing cell as a row;
``read_results`` gives its results back. The command line calls both: ``kinhash bench``, ``kinhash report``.
"""

from __future__ import annotations

from .cell import Cell, run_cell
from .result import Result, Score
from .runner import RunPlan, plan, run
from .store import Store, read_results
from .task import Task, named_tasks, read_task

__all__ = [
    "Cell",
    "Result",
    "RunPlan",
    "Score",
    "Store",
    "Task",
    "named_tasks",
    "plan",
    "read_results",
    "read_task",
    "run",
    "run_cell",
]
