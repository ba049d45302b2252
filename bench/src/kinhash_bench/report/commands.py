"""Under every table: the command that makes it again, from the sections its results were run for."""

from __future__ import annotations

from collections.abc import Iterable

from ..tasks.result import Result

__all__ = ["command_of", "paper_command", "tasks_of"]

# Which of our tasks has sections that begin with this word; sections of other tasks come from custom tasks.
PAPER = (
    "table1",
    "table2",
    "table3",
    "table4",
    "standins",
    "figure2",
    "figure3",
    "sweeps",
    "memory",
    "gallery",
)
SMOKE = ("smoke", "figure2", "gallery")  # of the one task of ours on digits
TASKS = {
    **dict.fromkeys(PAPER, "paper"),
    **{name: name for name in ("field", "network", "maps", "published", "slow", "smoke")},
}


def paper_command(section: str) -> str:
    """For a section of the paper that has no results yet."""
    return f"kinhash bench paper --only {section}"


def tasks_of(results: Iterable[Result]) -> set[str]:
    """Which of our tasks these results belong to, by the names of their sections; none for others."""
    found = list(results)
    known = _known(found)
    return {
        known[name] for r in found for name in (part.split("-")[0] for part in r.sections) if name in known
    }


def _known(results: Iterable[Result]) -> dict[str, str]:
    return dict.fromkeys(SMOKE, "smoke") if all(r.dataset == "digits" for r in results) else TASKS


def command_of(results: Iterable[Result], *words: str) -> str:
    """The command for these results, by those of their sections that begin with one of ``words``.

    The first word that any section begins with decides; without one, all sections do.
    """
    found = list(results)
    names = sorted({name for r in found for name in r.sections})
    for word in words:
        chosen = [name for name in names if name == word or name.startswith(f"{word}-")]
        if chosen:
            names = chosen
            break
    known = _known(found)
    tasks = [known.get(name.split("-")[0], "TASK.toml") for name in names]
    if not names:
        return "kinhash bench TASK.toml"
    task = max(dict.fromkeys(tasks), key=tasks.count)
    sections = [name for name, own in zip(names, tasks, strict=True) if own == task]
    return f"kinhash bench {task} --only {','.join(sections)}"
