"""`kinhash bench`: run a benchmark, or go on with one."""

from __future__ import annotations

import sys
import textwrap
import time
from typing import TYPE_CHECKING, Any

import click

from kinhash.cli import INTERRUPTED, bar, counted, emit, json_option, visible

if TYPE_CHECKING:
    from ..tasks import Cell, Result, RunPlan, Task

__all__ = ["bench"]

WIDTH = 98  # of a line, after two blanks


@click.command(short_help="Run a benchmark, or go on with one.")
@click.argument("task", required=False)
@click.option("--only", multiple=True, metavar="SECTION", help="One table or figure of the task; repeatable.")
@click.option("--methods", multiple=True, metavar="NAME", help="Only this method; repeatable, or a,b,c.")
@click.option("--datasets", multiple=True, metavar="NAME", help="Only this data set; repeatable, or a,b,c.")
@click.option("--bits", multiple=True, metavar="N", help="Only this length; repeatable, or 8,16,32.")
@click.option("--partitions", type=click.IntRange(1), help="At most N partitions.")
@click.option("--protocol", metavar="NAME", help="Evaluate under this protocol instead.")
@click.option(
    "--jobs", type=click.IntRange(1), default=1, show_default=True, help="Processes; they share the cores."
)
@click.option(
    "--timeout", type=click.FloatRange(1), metavar="SECONDS", help="A cell that takes longer fails."
)
@click.option(
    "--device",
    type=click.Choice(["cpu", "gpu"]),
    default="cpu",
    show_default=True,
    help="Where rows are encoded and rankings scored; the figures are the same.",
)
@click.option("-o", "--output", default="runs", show_default=True, metavar="FOLDER", help="Where results go.")
@click.option("--resume", is_flag=True, help="Go on in a folder that holds results already.")
@click.option("--retry-failed", is_flag=True, help="With --resume: run cells that failed once more.")
@json_option
def bench(
    task: str | None,
    only: tuple[str, ...],
    methods: tuple[str, ...],
    datasets: tuple[str, ...],
    bits: tuple[str, ...],
    partitions: int | None,
    protocol: str | None,
    jobs: int,
    timeout: float | None,
    device: str,
    output: str,
    resume: bool,
    retry_failed: bool,
    as_json: bool,
) -> None:
    """Run TASK cell by cell; every cell leaves one JSON file that `kinhash report` reads.

    TASK is the name of one of ours (leave it out to see them) or a TOML file of your own. What is there
    already is not run again with --resume; a cell that fails is a row of the report, not a gap.

    \b
    Examples:
      kinhash bench smoke -o runs
      kinhash bench paper --only table1-cifar10 --methods EMKSH,COSDISH --partitions 3 -o runs --resume
      kinhash report runs -o report.html
    """
    from kinhash.gpu import all_cards

    from ..tasks import Store, plan, read_task, run

    if task is None:
        _list_tasks(as_json)
        return
    chosen = read_task(task).only(
        sections=_split(only),
        methods=_split(methods),
        datasets=_split(datasets),
        bits=_numbers(bits),
        partitions=partitions,
        protocol=protocol,
    )
    if device == "gpu":
        all_cards()  # an error now rather than in every cell
    store = Store(output)
    planned = plan(chosen.cells, store, retry_failed=retry_failed)
    _expect_fresh(planned, resume, output)
    for result in planned.adopted:
        store.add(result)
    start = time.perf_counter()
    with bar(f"{counted(len(planned.todo), 'cell')}", total=len(planned.todo)) as move:
        progress = _Progress(planned, move)
        try:
            new = run(planned.todo, store, jobs=jobs, timeout=timeout, listener=progress, device=device)
        except KeyboardInterrupt:
            finished = f"{counted(progress.done, 'cell')} finished, in {output}"
            click.echo(visible(f"{finished}. The same command with --resume goes on."), err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None  # one sentence is enough
    _report(chosen, planned, new, output, time.perf_counter() - start, as_json)
    if new and not any(result.ok for result in new):
        raise click.exceptions.Exit(1)


def _split(names: tuple[str, ...]) -> list[str]:
    return [part.strip() for name in names for part in name.split(",") if part.strip()]


def _numbers(texts: tuple[str, ...]) -> list[int]:
    try:
        return [int(part) for part in _split(texts)]
    except ValueError:
        raise click.BadParameter(f"{', '.join(texts)}: whole numbers, such as 8,16,32.") from None


def _expect_fresh(planned: RunPlan, resume: bool, output: str) -> None:
    from kinhash.errors import InvalidInput

    if planned.done and not resume:
        raise InvalidInput(
            f"{output} holds {counted(len(planned.done), 'result')} of this task already",
            "a folder without them",
            "Go on with --resume, or choose another --output",
        )


class _Progress:
    """Moves the bar by expected work, and writes a line per cell where there is no terminal."""

    def __init__(self, planned: RunPlan, move: Any) -> None:
        self._move, self._start = move, time.perf_counter()
        self._left = list(planned.todo)
        self.done = 0
        self._seconds: dict[tuple[str, str, int | None], list[float]] = {}

    def __call__(self, cell: Cell, result: Result) -> None:
        self.done += 1
        self._left.remove(cell)
        self._seconds.setdefault(_kind(cell), []).append(sum(result.seconds.values()))
        self._move(self.done, str(cell))
        if not sys.stderr.isatty():
            scores = [
                f"{which} {score.value:.4f}"
                for which in ("learned", "mapped")
                if (score := getattr(result, which))
            ]
            outcome = ", ".join(scores) if result.ok else f"failed: {result.error}"
            total = self.done + len(self._left)
            click.echo(
                visible(f"[{self.done}/{total}, {self._time_left()} left] {cell}: {outcome}"), err=True
            )

    def _time_left(self) -> str:
        """Cells like those that were measured take as long again; the others as long as the mean."""
        known = {kind: sum(spent) / len(spent) for kind, spent in self._seconds.items()}
        usual = sum(known.values()) / len(known)
        measured = sum(known[kind] * len(spent) for kind, spent in self._seconds.items())
        rate = (time.perf_counter() - self._start) / max(measured, 1e-9)  # several jobs, start-up
        seconds = rate * sum(known.get(_kind(cell), usual) for cell in self._left)
        return f"{seconds / 60:.0f} min" if seconds > 90 else f"{seconds:.0f} s"


def _kind(cell: Cell) -> tuple[str, str, int | None]:
    return cell.dataset, cell.method, cell.n_bits


def _list_tasks(as_json: bool) -> None:
    from ..tasks import named_tasks, read_task

    tasks = [read_task(name) for name in named_tasks()]
    result = {
        task.name: {"about": task.about, "cells": len(task.cells), "sections": task.sections}
        for task in tasks
    }
    emit(result, "\n\n".join(map(_described, tasks)), as_json)


def _described(task: Task) -> str:
    """A paragraph no wider than a terminal."""
    about = textwrap.wrap(task.about, WIDTH)
    parts = f"{counted(len(task.cells), 'cell')}; sections: {', '.join(task.sections)}"
    listed = textwrap.wrap(parts, WIDTH, break_on_hyphens=False, break_long_words=False)
    return "\n".join([task.name, *("  " + line for line in about + listed)])


def _report(
    task: Task, planned: RunPlan, new: list[Result], output: str, seconds: float, as_json: bool
) -> None:
    everything = [*planned.done, *new]
    failed = [result for result in everything if not result.ok]
    result = {
        "task": task.name,
        "output": output,
        "cells": len(task.cells),
        "run": len(new),
        "already_there": len(planned.done),
        "failed": [
            {"key": r.key, "cell": f"{r.label} {r.n_bits} {r.dataset}", "error": r.error} for r in failed
        ],
        "missing": {name: len(cells) for name, cells in planned.missing.items()},
        "seconds": seconds,
    }
    lines = [
        f"{counted(len(new), 'cell')} run, {len(planned.done):,} already there, {len(failed):,} failed, "
        f"in {output}. ({seconds:.0f} s)"
    ]
    versions = {result.version for result in everything}
    if len(versions) > 1:
        lines.append(
            f"  made by different code: {', '.join(sorted(versions))} (kinhash report --at takes one)"
        )
    lines += [
        f"  failed: {r.label} {r.n_bits or ''} on {r.dataset}, partition {r.partition}: {r.error}"
        for r in failed
    ]
    for name, cells in planned.missing.items():
        sections = dict.fromkeys(section for cell in cells for section in cell.sections)
        lines.append(
            f"  not run: {counted(len(cells), 'cell')} of {', '.join(sections)}: the data set {name} is "
            "missing (kinhash data check says what it needs)"
        )
    if everything:
        lines.append(f"Look at it: kinhash report {output} -o report.html")
    emit(result, "\n".join(lines), as_json)
