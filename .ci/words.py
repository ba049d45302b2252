"""Words of the project: no banned turns, no names or documents that do not exist, one spelling in code.

    python .ci/words.py

`make check` runs it. Each rule is a function from text to finds.
"""

from __future__ import annotations

import io
import os
import re
import sys
import tokenize
from functools import cache
from importlib import import_module
from pathlib import Path

ROOT = Path(__file__).parents[1]
CODE = ["src", "bench/src", "benchmarks", "examples", "docs", ".ci"]
MADE = {"_build", "api", "commands", "gallery", "example", "images", "__pycache__"}  # by `make docs`, or data
PROSE_ENDINGS = {".md", ".py", ".pyi", ".js", ".html", ".css", ".cu", ".toml", ".rst"}

TURNS = re.compile(
    r"what is no\b|\bone['’]s own|\bso many\b|whom nobody|\bsaid so\b|\btold\b|\bon their way\b"
    r"|\bgoes without\b|\bwho asks\b|\bnobody will\b|\bgrades its own\b|own homework|\bfrom afar\b"
    r"|\bas ever\b|\b(?:is|are) no \w+ at all\b|\bno say\b|\bkin to nobody\b|\bto be had\b|\bin so far\b"
    r"|\bsomebody\b",
    re.IGNORECASE,
)
BRITISH = re.compile(
    r"cent(?:re|ring)|neighbour|colour|behaviour|favour|licence|grey|labell|modell|cancell|analyse"
    r"|(?:normal|standard|initial|optim|minim|maxim|linear|quant|regular|general|parallel|vector|serial|summar"
    r"|categor|organ|recogn|penal|memor|amort|random|factor|discret|token|custom|synchron)is(?:e|ing|ation)",
    re.IGNORECASE,
)
NAMES_OF_ASYNCIO = {"CancelledError", "cancelled"}
BACKTICKED = re.compile(r"`{1,2}([\w./]+)(?:\([^`\n]*\))?`{1,2}")
DOCUMENT = re.compile(r"(?<![\w/:.])((?:[\w.-]+/)*[\w-]+\.md)\b")
PATH = re.compile(r"(?:[\w.-]+/)+[\w.-]*\.(?:py|pyi|md|toml|js|css|cu|html|yml)|\w+\.py")
IDENTIFIER = re.compile(r"`{1,2}(_[a-z][A-Za-z0-9_]*|[A-Z][A-Za-z0-9_]{2,})(?:\([^`\n]*\))?`{1,2}")
NOT_OURS = {
    "KINHASH_DATA",
    "FILE",
    "MISSED",
    "MemAvailable",
    "NaN",
    "BIT",
    "BINARY_VECTOR",
    "BIN_FLAT",
    "DBSCAN",
    "Dense",
    "VARCHAR",
}
PLACEHOLDERS = {"NAME.py", "foo.py", "COMMAND.py"}
OTHER_FILES = {"kinhash.json"}  # written by an engine


def files(folders: list[str], endings: set[str]) -> list[Path]:
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*"))]
    kept = [path for path in found if path.suffix in endings and path.name != Path(__file__).name]
    return [path for path in kept if not MADE & set(path.relative_to(ROOT).parts)]


def prose_files() -> list[Path]:
    own = sorted(path for path in ROOT.glob("*.md") if path.name != "CHANGELOG.md")  # it says how things were
    return [*own, ROOT / "bench/README.md", *files(["src", "bench/src", "docs"], PROSE_ENDINGS)]


def tokens(text: str) -> list[tokenize.TokenInfo]:
    return list(tokenize.generate_tokens(io.StringIO(text).readline))


def prose(path: Path) -> list[tuple[int, str]]:
    """Line numbers and text for people: comments and strings of Python, everything of other files."""
    text = path.read_text("utf-8")
    if path.suffix not in {".py", ".pyi"}:
        return list(enumerate(text.splitlines(), 1))
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.COMMENT)}
    spoken = [token for token in tokens(text) if token.type in kinds]
    lines = [(token.start[0], token.string.splitlines()) for token in spoken]
    return [(start + i, line) for start, several in lines for i, line in enumerate(several)]


@cache
def paths() -> set[str]:
    """Every file and folder of the repository, from every folder it may be named from."""
    found: set[str] = set()
    for folder, below, names in os.walk(ROOT):
        below[:] = [
            one for one in below if one not in {".git", ".venv", ".venv-lowest", "_build", "__pycache__"}
        ]
        parts = Path(folder).relative_to(ROOT).parts
        for one in (*below, *names):
            found |= {"/".join((*parts, one)[start:]) for start in range(len(parts) + 1)}
    return found


@cache
def exists(name: str) -> bool:
    """Whether a dotted name of ours is a module, or can be had from one."""
    parts = name.split(".")
    for size in range(len(parts), 0, -1):
        try:
            thing = import_module(".".join(parts[:size]))
        except ModuleNotFoundError:
            continue
        except ImportError:
            return True  # an optional dependency is missing
        for part in parts[size:]:
            if not hasattr(thing, part):
                return part in getattr(thing, "__annotations__", {})
            thing = getattr(thing, part)
        return True
    return False


def banned_turns(line: str) -> list[str]:
    return TURNS.findall(line)


def missing_names(line: str) -> list[str]:
    wrong = []
    for name in BACKTICKED.findall(line):
        dotted = name.rstrip(".")
        if re.fullmatch(r"kinhash(_bench)?(\.\w+)+", dotted) and dotted not in OTHER_FILES:
            wrong += [] if exists(dotted) else [name]
        elif PATH.fullmatch(name) and Path(name).name not in PLACEHOLDERS:
            wrong += [] if name in paths() else [name]
    return wrong


@cache
def identifiers() -> set[str]:
    found = [path for folder in [*CODE, "tests", "bench/tests"] for path in (ROOT / folder).rglob("*.py*")]
    texts = [path.read_text("utf-8") for path in found if path.suffix in {".py", ".pyi"}]
    return {token.string for text in texts for token in tokens(text) if token.type == tokenize.NAME}


def missing_identifiers(line: str) -> list[str]:
    return [name for name in IDENTIFIER.findall(line) if name not in identifiers() | NOT_OURS]


def missing_documents(line: str) -> list[str]:
    return [name for name in DOCUMENT.findall(line) if Path(name).name not in paths()]


def british(text: str) -> list[str]:
    """Identifiers that are not spelled as scikit-learn spells them."""
    names = {token.string for token in tokens(text) if token.type == tokenize.NAME}
    return sorted(name for name in names if BRITISH.search(name) and name not in NAMES_OF_ASYNCIO)


RULES = {
    "turn": banned_turns,
    "name": missing_names,
    "identifier": missing_identifiers,
    "document": missing_documents,
}


def main() -> int:
    finds = [
        f"{path.relative_to(ROOT)}:{number}: {found}"
        for rule, found_by in RULES.items()
        for path in prose_files()
        if rule != "identifier" or path.suffix in {".py", ".pyi"}  # pages name things of other packages, too
        for number, line in prose(path)
        for found in found_by(line)
    ]
    code = files(CODE, {".py", ".pyi"})
    finds += [
        f"{path.relative_to(ROOT)}: {name}" for path in code for name in british(path.read_text("utf-8"))
    ]
    print("\n".join(finds), end="\n" if finds else "")
    return int(bool(finds))


if __name__ == "__main__":
    sys.exit(main())
