"""The top of the report: what was run, what came out, what failed, what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ..tasks.result import Result
from .all_methods import OURS, Setting, headline, settings
from .commands import command_of, tasks_of
from .result_table import Column, Entry, ResultTable
from .rows import group_by, reason
from .sections import Part, Section
from .wins import wins_sentence

__all__ = ["failures", "summary"]

SOFTWARE = ("python", "numpy", "scipy", "scikit-learn", "numba")


def summary(results: Sequence[Result], missing: Sequence[tuple[str, str, str]]) -> Section:
    """Written last, because ``missing`` is what the other sections lack: title, words, command."""
    failed = [r for r in results if not r.ok]
    sets = len({r.dataset for r in results})
    sentence = wins_sentence(results)
    parts = [Part(f'<p class="lead">{escape(sentence)}</p>')] if sentence else []
    parts += [Part(f'<p class="missing">{escape(words)}</p>') for words in _cautions(results)]
    parts.append(Part.text(_counts(results, failed, sets)))
    table = headline(results)
    if table is not None:
        parts.append(Part.table(table))
    elif tasks_of(results):
        parts.append(Part.text(f"There is no result of {OURS} yet, so there is no headline table."))
    parts.append(Part.fold("What was run", [Part.table(_what_was_run(results))]))
    parts.append(Part.fold("Under which conditions", [Part(_conditions(results))]))
    if missing:
        parts.append(Part.fold(f"What is missing: {len(missing)}", [Part(_missing(missing))]))
    elif tasks_of(results):
        parts.append(Part.text("Nothing is missing: every section has results."))
    return Section("summary", "Summary", tuple(parts))


def _cautions(results: Sequence[Result]) -> list[str]:
    """Results that should not stand in one table: on other data under the same name, or of other versions."""
    found = []
    for dataset, some in group_by(results, lambda r: r.dataset).items():
        files = {r.checksum for r in some if r.ok and r.checksum}
        if len(files) > 1:
            found.append(
                f"Caution: the results on {dataset} come from {len(files)} different files of that name."
            )
    made = group_by(results, lambda r: r.version)
    if len(made) > 1:
        counts = ", ".join(f"{len(made[name]):,} by {name}" for name in sorted(made))
        found.append(
            f"Caution: these results were made by {len(made)} versions of the code ({counts}), and the "
            "tables below mix them. kinhash report --at VERSION takes those of one."
        )
    return found


def _counts(results: Sequence[Result], failed: Sequence[Result], sets: int) -> str:
    methods = len({r.label for r in results})
    return (
        f"{len(results):,} results of {methods} rows on {sets} data set{'s' if sets > 1 else ''}; "
        + (f"{len(failed):,} of them failed (see What failed)." if failed else "none of them failed.")
        + " Every number below that is ours comes from these results alone; mAP is the mean average "
        "precision of the full ranking, in expectation over the order of ties."
    )


def _what_was_run(results: Sequence[Result]) -> ResultTable:
    rows = []
    for setting, some in settings(results).items():
        queries = sorted({r.n_queries for r in some})
        sizes = sorted({r.n_train for r in some if r.n_train is not None})
        searched = sorted({r.n_database for r in some if r.n_database is not None})
        checksums = sorted({r.checksum[:12] for r in some if r.checksum}) or ["–"]
        texts = (
            ", ".join(checksums),
            setting.digest or "–",
            _range([r.partition for r in some]),
            _range(sizes),
            _range(searched),
            _range(queries),
            f"{len(some):,}",
            f"{sum(not r.ok for r in some):,}",
            ", ".join(sorted({r.version for r in some})),
        )
        rows.append((setting.name, tuple(Entry(text=text) for text in texts)))
    names = (
        "data checksum", "protocol digest", "partitions", "training rows", "searched rows",
        "queries asked for", "results", "failed", "made by",
    )  # fmt: skip
    columns = tuple(Column(name) for name in names)
    note = "Sets too small for that many queries ask with 20 % of their rows. Partitions are numbered from 0."
    return ResultTable("run", "What was run", "data set, protocol", columns, tuple(rows), (note,))


def _range(values: Sequence[int]) -> str:
    if not values:
        return "–"
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _conditions(results: Sequence[Result]) -> str:
    """Versions, processor, threads and load, as a list of terms."""
    machines = [r.environment for r in results if r.environment]

    def seen(name: str) -> str:
        return (
            ", ".join(sorted({str(e[name]) for e in machines if e.get(name) is not None})) or "not recorded"
        )

    loads = sorted(float(e["load"]) for e in machines if isinstance(e.get("load"), (int, float)))
    load = (
        (f"{loads[0]:.1f}" if loads[0] == loads[-1] else f"{loads[0]:.1f} to {loads[-1]:.1f}")
        if loads
        else "not recorded"
    )
    terms = {
        "Code": ", ".join(sorted({r.version for r in results}))
        + " (version of kinhash + digest of its source)",
        "Versions": "; ".join(f"{name} {seen(name)}" for name in SOFTWARE),
        "Processor": f"{seen('cpu')}; cores: {seen('cores')}; threads per result: {seen('threads')}",
        "Load per core": f"{load} (seconds were taken beside other work where it is above 1)",
    }
    items = "".join(f"<dt>{escape(term)}</dt><dd>{escape(text)}</dd>" for term, text in terms.items())
    return f"<dl>{items}</dl>"


def _missing(missing: Sequence[tuple[str, str, str]]) -> str:
    lines = [
        f'<li class="absent">{escape(title)}: {escape(words)} <code>{escape(command)}</code></li>'
        for title, words, command in missing
    ]
    return f"<ul>{''.join(lines)}</ul>"


def failures(results: Sequence[Result]) -> Section:
    """Every cell that failed, with its reason."""
    failed = [r for r in results if not r.ok]
    title = "What failed"
    if not failed:
        return Section("failed", title, (Part.text("No result failed."),))
    rows = []

    def cell(r: Result) -> tuple[Setting, str, int | None, str]:
        return (Setting.of(r), r.label, r.n_bits, reason(r))

    for (setting, label, n_bits, why), some in group_by(failed, cell).items():
        partitions = ", ".join(str(n) for n in sorted({r.partition for r in some}))
        length = f"{n_bits}" if n_bits else "float"
        entries = (setting.name, length, partitions, why, command_of(some))
        rows.append((label, tuple(Entry(text=text) for text in entries)))
    rows.sort(key=lambda row: (row[1][0].text, row[0], row[1][1].text.zfill(5)))
    names = ("data set, protocol", "bits", "partitions", "reason", "again")
    columns = tuple(Column(name, words=name not in ("bits", "partitions")) for name in names)
    table = ResultTable("failed-table", "Cells that failed", "method", columns, tuple(rows))
    return Section("failed", title, (Part.fold(f"{len(failed):,} results", [Part.table(table)]),))
