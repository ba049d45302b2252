"""Pages do what they say: every Python block runs, every link leads somewhere, every command exists."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
import runpy
import shlex
from contextlib import nullcontext, suppress
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits

import kinhash
import kinhash.paper
from kinhash.cli import kinhash as command_line

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    str(page.relative_to(ROOT))
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    if not {"_build", "api", "commands", "gallery"} & set(page.parts)
)
TUTORIALS = [page for page in PAGES if page.startswith("docs/tutorials/") and not page.endswith("index.md")]
# Pages whose Python is run by the tests of what they are about.
ELSEWHERE = {
    "README.md": "tests/test_readme.py",
    "docs/quickstart.md": "tests/test_readme.py",
    "docs/explore.md": "tests/test_readme.py",
    "docs/encode_anywhere.md": "tests/export/test_encode_anywhere.py",
    "docs/engines.md": "tests/engines/test_docs.py",
    "docs/integrations.md": "tests/integrations/test_integrations_page.py",
    "docs/metrics.md": "tests/metrics/test_health.py",
    "docs/scale.md": "tests/distributed/test_scale_page.py",
    "docs/searching.md": "tests/index/test_docs.py",
}
DOCTESTS = [
    *TUTORIALS,
    "docs/maintain.md",
    "docs/protocols.md",
    "docs/production.md",
    "docs/same_or_not.md",
    "docs/change_embedding_model.md",
]
LABORATORY = (
    "docs/protocols.md",
    "docs/benchmark.md",
    "docs/datasets.md",
    "docs/rivals.md",
)  # of kinhash-bench
SCRIPTS = ["docs/benchmark.md", "docs/datasets.md", "docs/rivals.md"]


def read(page):
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page, language="python"):
    found = re.findall(r"^```(\w*)\n(.*?)^```$", read(page), re.DOTALL | re.MULTILINE)
    return [body for name, body in found if name == language]


def test_every_page_with_python_is_run_somewhere():
    with_python = {page for page in PAGES if blocks(page)}
    run = {*ELSEWHERE, *DOCTESTS, *SCRIPTS, "docs/index.md", "docs/gpu.md"}
    assert with_python == run, "add new pages to DOCTESTS, SCRIPTS or ELSEWHERE, so that their code is run"
    for page, test in ELSEWHERE.items():
        assert page.removeprefix("docs/") in (ROOT / test).read_text("utf-8"), test


@pytest.mark.parametrize("page", DOCTESTS)
def test_sessions_run_as_written(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if page in LABORATORY:
        pytest.importorskip("kinhash_bench")
    results = doctest.testfile(str(ROOT / page), module_relative=False)
    assert results.attempted == sum(block.count(">>>") for block in blocks(page))
    assert results.failed == 0
    if page == "docs/production.md":  # its service reads the files that the session wrote
        service: dict[str, object] = {}
        exec(blocks(page)[0], service)
        assert len(service["nearest"](load_digits().data[:2], k=3)[0]) == 2


@pytest.mark.parametrize("page", SCRIPTS)
def test_scripts_run_as_written(page, tmp_path, monkeypatch):
    """In order, in one room, with small data in place of the reader's own."""
    if page in LABORATORY:
        pytest.importorskip("kinhash_bench")
    monkeypatch.chdir(tmp_path)
    X, y = load_digits(return_X_y=True)
    np.savetxt("features.csv", X[:50], delimiter=",")
    Path("labels.csv").write_text("\n".join(["tags", *(f"{digit};all" for digit in y[:50])]))
    pictures = np.random.default_rng(0).integers(0, 256, (3, 32, 32), np.uint8)
    names = {"X": X[:400], "y": y[:400], "pictures": pictures}
    for block in blocks(page):
        exec(block, names)


def test_the_page_on_cards_runs_with_the_processor_in_place_of_a_card(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert callable(kinhash.HammingIndex.to_gpu)
    assert callable(kinhash.on_gpu)
    monkeypatch.setattr(kinhash.HammingIndex, "to_gpu", lambda index: index)
    monkeypatch.setattr("kinhash.on_gpu", nullcontext, raising=False)
    X, y = load_digits(return_X_y=True)
    X, y = X[:200], y[:200]
    hasher = kinhash.EnergyHasher(8, random_state=0).fit(X, y)
    kinhash.HammingIndex.from_codes(hasher.codes_).save("index.kin")
    names = {"X": X, "hasher": hasher, "queries": hasher.encode(X), "query_labels": y, "labels": y}
    names |= {"kinhash": kinhash, "HammingIndex": kinhash.HammingIndex, "metrics": kinhash.metrics}
    for block in blocks("docs/gpu.md"):
        exec(block, names)


def test_the_home_page_has_the_five_lines_of_the_readme():
    def lines(page):
        (block,) = blocks(page)
        return [re.sub(r"\s*#.*", "", line) for line in block.splitlines()]

    assert lines("docs/index.md") == lines("README.md")


def slug(heading):
    """The anchor of a heading, as code hosts and the site make it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```$", "", read(page), flags=re.DOTALL | re.MULTILINE)
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        there = (ROOT / page).parent / target if target else ROOT / page
        assert there.exists(), f"{page}: {target}"
        if anchor and there.suffix == ".md":
            headings = re.findall(r"^#+ (.*)$", there.read_text("utf-8"), re.MULTILINE)
            assert anchor in {slug(heading) for heading in headings}, f"{page}: {target}#{anchor}"


@pytest.mark.parametrize("page", TUTORIALS)
def test_commands_in_tutorials_exist(page):
    lines = [line for block in blocks(page, "") for line in block.splitlines() if line.startswith("kinhash ")]
    for line in [*lines, *re.findall(r"`(kinhash [^`]+)`", read(page))]:
        name, *words = shlex.split(line)[1:]
        command = command_line.get_command(None, name)
        assert command is not None, line
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= known, line


def calls(page):
    """Calls with settings that stand in the running text of a page."""
    for code in re.findall(r"`([A-Za-z][^`\n]*\([^`\n]*=[^`\n]*)`", read(page)):
        with suppress(SyntaxError):  # not Python
            yield from (node for node in ast.walk(ast.parse(code, mode="eval")) if isinstance(node, ast.Call))


def test_settings_in_the_text_exist():
    rooms = (kinhash, kinhash.paper, kinhash.metrics, kinhash.index)
    checked = 0
    for page in set(PAGES) - {"CHANGELOG.md"}:
        for call in calls(page):
            name = getattr(call.func, "id", None) or call.func.attr
            made = [getattr(room, name) for room in rooms if inspect.isclass(getattr(room, name, None))]
            given = {word.arg for word in call.keywords}
            known = [given <= inspect.signature(one).parameters.keys() for one in made]
            assert any(known) or not made, (page, ast.unparse(call))
            checked += len(made)
    assert checked > 8


def test_every_page_is_in_the_table_of_contents():
    """A page that no toctree names could only be found by search."""
    named = set()
    for page in ("docs/index.md", "docs/concepts.md", "docs/tutorials/index.md"):
        (tree,) = re.findall(r"^```\{toctree\}\n(.*?)^```$", read(page), re.DOTALL | re.MULTILINE)
        folder = Path(page).parent
        for line in re.findall(r"^[\w\[].*", tree, re.MULTILINE):
            name = re.sub(r".*<(.*)>", r"\1", line)
            found = (ROOT / folder).glob(f"{name}.md")  # a pattern makes room for a page that may come
            named |= {str(page.relative_to(ROOT)) for page in found} or {f"{folder / name}.md"}
    made = {f"docs/{folder}/index.md" for folder in ("api", "commands", "gallery")}
    assert {page for page in PAGES if page.startswith("docs/")} == (named | {"docs/index.md"}) - made, (
        "name new pages in a toctree of docs/index.md, docs/concepts.md or docs/tutorials/index.md"
    )


EXAMPLES = {"classes": 0.95, "tags": 0.75, "pairs": 0.75}  # what each must reach


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run_and_find_kin(name):
    pytest.importorskip("matplotlib").use("agg")
    names = runpy.run_path(str(ROOT / "examples" / f"plot_{name}.py"))
    assert float(getattr(names["score"], "value", names["score"])) > EXAMPLES[name]


def test_every_example_draws_and_says_what_it_shows():
    examples = sorted((ROOT / "examples").glob("*.py"))
    assert len(examples) >= 10
    for example in examples:
        text = example.read_text("utf-8")
        assert example.name.startswith("plot_")
        assert re.match(r'"""\n[^\n]+\n=+\n\n', text), example.name
        assert "KINHASH_DATA" not in text
        assert "plot" in text.split('"""', 2)[2]
