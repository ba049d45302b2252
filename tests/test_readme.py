"""What README, quickstart and FAQ say is tried: code runs, commands exist, files are there, numbers hold."""

from __future__ import annotations

import ast
import re
import runpy
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest

from kinhash.cli import kinhash, main

ROOT = Path(__file__).parent.parent
PAGES = ["README.md", "docs/quickstart.md", "docs/faq.md", "docs/explore.md"]


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    found = re.findall(r"^```(\w*)\n(.*?)^```$", read(page), re.DOTALL | re.MULTILINE)
    return [body for name, body in found if name == language]


def commands(page: str) -> list[str]:
    """Every kinhash command in a block, as one would type it."""
    lines = [line for block in blocks(page, "") for line in block.splitlines()]
    return [line.partition("#")[0].strip() for line in lines if line.startswith("kinhash ")]


def test_the_few_lines_run_and_find_kin() -> None:
    (block,) = blocks("README.md", "python")
    assert len([line for line in block.splitlines() if line.strip()]) <= 6
    names: dict[str, object] = {}
    exec(block, names)
    found, y = names["found"], np.asarray(names["y"])
    assert (y[found.ids] == y[1500:, None]).mean() > 0.85


def test_the_quickstart_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first, transformers = blocks("docs/quickstart.md", "python")
    names: dict[str, object] = {}
    exec(first, names)
    assert names["found"].ids.shape == (297, 10)
    ast.parse(transformers)


def test_the_lines_of_the_explorer_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("PIL")
    monkeypatch.chdir(tmp_path)
    (block,) = blocks("docs/explore.md", "python")
    exec(block, {})
    assert (tmp_path / "page.html").stat().st_size > 100_000


def test_the_recipe_for_sentence_transformers_runs_with_any_embedding() -> None:
    _, recipe = blocks("docs/quickstart.md", "python")
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(3, 384))

    class Model:
        def __init__(self, name: str) -> None:
            self.name = name

        def encode(self, texts: list[str]) -> np.ndarray:
            return np.stack([centers[len(text) % 3] + rng.normal(size=384) for text in texts])

    texts = ["x" * k for k in range(1, 91)]
    names = {
        "texts": texts,
        "topics": [len(text) % 3 for text in texts],
        "names": [f"t{k}" for k in range(90)],
    }
    body = recipe.replace("from sentence_transformers import SentenceTransformer", "")
    exec(body, {**names, "SentenceTransformer": Model})


@pytest.mark.parametrize("page", PAGES)
def test_commands_and_their_options_exist(page: str) -> None:
    for line in commands(page):
        words = shlex.split(line)[1:]
        if words[0].startswith("-"):
            assert words in (["--version"], ["--help"])
            continue
        command = kinhash.get_command(None, words[0])
        assert command is not None, line
        command.make_context(words[0], words[1:])
    for line in re.findall(r"`(kinhash [^`]+)`", read(page)):  # in a sentence: names and options at least
        name, *words = shlex.split(line)[1:]
        command = kinhash.get_command(None, name)
        assert command is not None, line
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= known, line


def test_the_commands_of_the_quickstart_work_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from sklearn.datasets import load_digits, load_iris

    monkeypatch.chdir(tmp_path)
    X, y = load_digits(return_X_y=True)
    np.save("X.npy", X[:600])
    np.save("new.npy", X[600:800])
    Path("y.txt").write_text("\n".join(map(str, y[:600])))
    iris = load_iris()
    lines = ["name,a,b,c,d,species"]
    for number, (row, kind) in enumerate(zip(iris.data, iris.target, strict=True)):
        lines.append(",".join([f"flower {number}", *map(str, row), iris.target_names[kind]]))
    Path("flowers.csv").write_text("\n".join(lines) + "\n")
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    ids = [f"row {number}" for number in range(600)]
    table = arrow.table({"id": ids, "embedding": X[:600].tolist(), "label": y[:600]})
    parquet.write_table(table, "rows.parquet")
    ran = [line for line in commands("docs/quickstart.md") if line != "kinhash --version"]
    assert len(ran) >= 6
    for line in ran:
        with pytest.raises(SystemExit) as left:
            main(shlex.split(line)[1:])
        assert left.value.code == 0, capsys.readouterr().err
    assert "first ten relevant" in capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", read(page)):
        if not target.startswith("http"):
            assert ((ROOT / page).parent / target).exists(), target
    for path in re.findall(r"`((?:examples|benchmarks|docs)/[\w./]*)`", read(page)):
        assert (ROOT / path).exists(), path


def test_the_two_commands_are_in_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    wanted = re.findall(r"^make (\w+)", read("README.md"), re.MULTILINE)
    assert wanted == ["demo", "test"]
    assert set(wanted) <= targets


def test_the_readme_is_one_screen_and_its_pictures_small() -> None:
    assert len(read("README.md").splitlines()) < 58
    for name in ("demo", "explorer"):
        assert (ROOT / f"docs/images/{name}.png").stat().st_size < 200_000


def table() -> dict[str, list[str]]:
    """The figures on the front page, by the name of the row."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in read("README.md").splitlines()]
    return {cells[0].replace("*", ""): cells[2:] for cells in rows if len(cells) == 6}


def test_the_table_says_what_the_sentence_says() -> None:
    figures = table()
    ours, cosine = (
        figures[name][0].replace("*", "").split(" / ") for name in ("kinhash, 64 bits", "float cosine")
    )
    assert all(float(a) > float(b) for a, b in zip(ours, cosine, strict=True))
    for word in ("Protocol", "ties", "the same class", "partition", "benchmarks/front_page.py"):
        assert word in read("README.md")


def test_the_numbers_in_the_table_are_those_of_the_records() -> None:
    program = runpy.run_path(str(ROOT / "benchmarks/front_page.py"))
    found, figures = program["rows"](program["figures"](program["RECORDS"], "newsgroups")), table()
    for way, cells in found.items():
        for said, values in zip(figures[way], cells, strict=True):
            if None not in values and said != "–":
                numbers = [float(text) for text in said.replace("*", "").split(" / ")]
                assert numbers == pytest.approx(values, abs=0.03), way


def test_nothing_of_the_demo_is_left_in_the_repository() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a clone")
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "kinhash-demo.png" not in tracked
