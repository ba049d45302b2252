"""How much house there is: lines, files, and what a fit, an encode and a search enter.

    python benchmarks/house.py

*Reachable* counts the modules of kinhash that `EnergyHasher`, `HammingIndex` and `load` import, at any place
in a file. *Entered* counts the functions of kinhash that were called (by `sys.setprofile`, on every thread),
and their files, after one call to import what is imported late. *Behind the doors* is a name that a test
imports from a module that is not `kinhash.ROOM`, or that begins with an underscore.
"""

from __future__ import annotations

import ast
import statistics
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType

import click
import numpy as np
from sklearn.datasets import load_digits

import kinhash
from kinhash import EnergyHasher, HammingIndex
from kinhash.cli import COMMANDS
from kinhash.cli import kinhash as command_line

PACKAGE = Path(kinhash.__file__).parent
ROOT = Path(__file__).parents[1]
DOORS = ("kinhash.hasher", "kinhash.index", "kinhash.files")
Function = ast.FunctionDef | ast.AsyncFunctionDef


def lines(*paths: Path) -> int:
    return sum(len(path.read_text("utf-8").splitlines()) for path in paths)


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree: ast.AST, module: str, is_room: bool) -> Iterator[tuple[str, str]]:
    """Modules of kinhash that a file imports, with the name taken from each; not those for type checkers."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from ((one.name, "") for one in node.names if one.name.split(".")[0] == "kinhash")
        elif isinstance(node, ast.ImportFrom):
            above = module.split(".")
            above = above[: len(above) - node.level + is_room] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((source, one.name) for one in node.names if source.split(".")[0] == "kinhash")
        else:
            yield from imported(node, module, is_room)


def reachable(files: dict[str, Path]) -> set[str]:
    found, waiting = set(), ["kinhash", *DOORS]
    while waiting:
        module = waiting.pop()
        if module in files and module not in found:
            found.add(module)
            tree = ast.parse(files[module].read_text("utf-8"))
            for source, name in imported(tree, module, files[module].stem == "__init__"):
                waiting += [source, f"{source}.{name}"]
    return found


def entered(call: Callable[[], object]) -> tuple[int, int]:
    """Functions of kinhash that `call` enters, and their files."""
    call()
    codes: set[CodeType] = set()

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(str(PACKAGE)):
            codes.add(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    named = [code for code in codes if not code.co_name.startswith("<")]
    return len(named), len({code.co_filename for code in named})


def behind_doors(path: Path) -> set[tuple[str, str]]:
    """(module, name) that a test imports from behind the doors."""
    found = imported(ast.parse(path.read_text("utf-8")), "", False)
    named = {(f"{module}.{name}" if name[:1] == "_" else module, name) for module, name in found}
    return {(module, name) for module, name in named if module.count(".") > 1 or "._" in module}


def main() -> None:
    files = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}
    trees = [ast.parse(path.read_text("utf-8")) for path in files.values()]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    total = lines(*files.values())
    functions = [node for node in nodes if isinstance(node, Function)]
    lengths = [node.end_lineno - node.lineno + 1 for node in functions]
    used = Counter(node.id for node in nodes if isinstance(node, ast.Name))
    used.update(node.attr for node in nodes if isinstance(node, ast.Attribute))
    private = [node for node in functions if node.name.startswith("_") and not node.name.endswith("__")]
    doors = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    doors += [node for node in nodes if isinstance(node, ast.Assign) and "__all__" in ast.unparse(node)[:7]]
    n_doors = sum(node.end_lineno - node.lineno + 1 for node in doors) + lines(*PACKAGE.rglob("*.pyi"))
    reached = reachable(files)

    X, y = load_digits(return_X_y=True)
    hasher = EnergyHasher(random_state=0).fit(X, y)
    index = HammingIndex.from_codes(hasher.codes_)
    queries = hasher.encode(X[:5])
    fit = entered(lambda: EnergyHasher(random_state=0).fit(X, y))
    encode = entered(lambda: hasher.encode(np.ascontiguousarray(X[:5])))
    search = entered(lambda: index.search(queries, k=10))

    tests = sorted([*(ROOT / "tests").rglob("*.py"), *(ROOT / "bench/tests").rglob("*.py")])
    behind = [behind_doors(path) for path in tests]
    n_behind = sum(map(bool, behind))
    commands = [command_line.get_command(click.Context(command_line), name) for name in COMMANDS]
    n_options = sum(isinstance(one, click.Option) for command in commands for one in command.params)
    pages, tutorials = (len(list(ROOT.glob(pattern))) for pattern in ("docs/*.md", "docs/tutorials/*.md"))

    table = [
        ("lines of Python in src/kinhash", f"{total:,}", "24,000"),
        ("files; median function", f"{len(files)}; {statistics.median(lengths):g} lines", "160"),
        ("reachable from fit, search and load", f"{lines(*(files[one] for one in reached)):,}", "11,000"),
        ("a default fit enters", "{} functions in {} files".format(*fit), "150 in 20"),
        ("encode of five rows enters", "{} functions in {} files".format(*encode), "8 files"),
        ("search of five queries enters", "{} functions in {} files".format(*search), "6 files"),
        ("private functions named once", f"{sum(used[node.name] == 1 for node in private)}", ""),
        ("share of imports, __all__ and .pyi", f"{n_doors / total:.1%}", "5 %"),
        ("options of the command line", f"{n_options} in {len(commands)} commands", "90 in 13"),
        ("lines of tests", f"{lines(*tests):,}", "28,000"),
        ("names tests import from behind doors", f"{len(set().union(*behind))} in {n_behind} files", "100"),
        ("pages of documentation", f"{pages} + {tutorials} tutorials", "14 + 8"),
    ]
    for what, found, aim in table:
        print(f"{what:42}{found:>28}{aim:>14}")


if __name__ == "__main__":
    main()
