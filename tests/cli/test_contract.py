"""Every option of every command changes something, or is refused; and a word means one thing everywhere."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from pathlib import Path

import click
import numpy as np
import pytest

from kinhash.cli import COMMANDS
from kinhash.cli import kinhash as program

from .conftest import Run

FIT = "fit X.npy --labels y.txt --bits 16 --held-out 0 -o o.kin --codes c.kin"
ADD = "update index.kin --add X.npy --model model.kin"
BRIDGE = "bridge model.kin --old X.npy --new other.npy -o o.kin"
# A command that works, and it with the option: what is printed or written must differ.
CHANGES = {
    "fit --labels": (FIT.replace("--labels y.txt", ""), FIT),
    "fit --tags": (FIT, FIT.replace("--labels y.txt", "--tags tags.txt")),
    "fit --tree": (FIT, FIT.replace("--labels y.txt", "--tree paths.txt")),
    "fit --pairs": (FIT, f"{FIT} --pairs pairs.csv"),
    "fit --clicks": (FIT, f"{FIT} --clicks clicks.csv"),
    "fit --triplets": (FIT, f"{FIT} --triplets triplets.csv"),
    "fit --similarity": (FIT, FIT.replace("--labels y.txt", "--similarity S.npy")),
    "fit --view": (FIT, f"{FIT} --view text=X.npy"),
    "fit --ids": (FIT, f"{FIT} --ids ids.txt"),
    "fit --bits": (FIT, FIT.replace("16", "24")),
    "fit --energy": (FIT, f"{FIT} --energy ksh"),
    "fit --looks": (FIT, f"{FIT} --looks 0"),
    "fit --trust": (FIT, f"{FIT} --trust 1"),
    "fit --looks-from": (FIT, f"{FIT} --looks-from other.npy"),
    "fit --held-out": (FIT, FIT.replace("--held-out 0", "--held-out last:9")),
    "fit --max-false": (
        FIT.replace("--held-out 0", "--held-out 50"),
        f"{FIT.replace('--held-out 0', '--held-out 50')} --max-false 9%",
    ),
    "fit --seed": (FIT, f"{FIT} --seed 1"),
    "fit --output": (FIT, FIT.replace("o.kin", "p.kin")),
    "fit --codes": (FIT, FIT.replace(" --codes c.kin", "")),
    "encode --output": ("encode model.kin X.npy -o a.kin", "encode model.kin X.npy -o b.kin"),
    "encode --ids": ("encode model.kin X.npy -o a.kin", "encode model.kin X.npy -o a.kin --ids ids.txt"),
    "index --output": ("index db.kin -o a.kin", "index db.kin -o b.kin"),
    "index --ids": ("index db.kin -o a.kin", "index db.kin -o a.kin --ids ids.txt"),
    "index --payload": ("index db.kin -o a.kin", "index db.kin -o a.kin --payload table.csv:kind"),
    "update --remove": (ADD, f"{ADD} --remove 1,2"),
    "update --skip-missing": (f"{ADD} --remove 1", f"{ADD} --remove 1,999 --skip-missing"),
    "update --add": ("update index.kin --remove 1", "update index.kin --remove 1 --add queries.kin"),
    "update --upsert": (ADD, "update index.kin --upsert X.npy --model model.kin --ids numbers.txt"),
    "update --model": ("update index.kin --add db.kin", ADD),
    "update --labels": (ADD, f"{ADD} --labels y.txt"),
    "update --tags": (
        "update tagged.kin --add X.npy --model tags.kin",
        "update tagged.kin --add X.npy --model tags.kin --tags tags.txt",
    ),
    "update --ids": (ADD, f"{ADD} --ids numbers.txt"),
    "update --payload": (
        "update pay.kin --remove 3",
        "update pay.kin --remove 3 --payload one.csv:kind --ids one.csv:id",
    ),
    "update --output": (ADD, f"{ADD} -o b.kin"),
    "search -k": ("search index.kin queries.kin", "search index.kin queries.kin -k 3"),
    "search --radius": ("search index.kin queries.kin", "search index.kin queries.kin --radius 1"),
    "search --same": ("search index.kin queries.kin", "search index.kin queries.kin --same"),
    "search --model": ("search index.kin queries.kin", "search index.kin shifted.npy --model model.kin"),
    "search --margins": (
        "search index.kin X.npy --model model.kin",
        "search index.kin X.npy --model model.kin --margins",
    ),
    "search --where": ("search pay.kin queries.kin", "search pay.kin queries.kin --where kind=='class-1'"),
    "search --show": ("search pay.kin queries.kin", "search pay.kin queries.kin --show kind"),
    "dedup --radius": ("dedup db.kin --radius 0", "dedup db.kin --radius 6"),
    "dedup --max-false": ("dedup db.kin --radius 0", "dedup db.kin --max-false 1%"),
    "dedup --pairs": ("dedup db.kin --radius 0", "dedup db.kin --radius 0 --pairs clicks.csv"),
    "dedup --linkage": ("dedup db.kin --radius 2", "dedup db.kin --radius 2 --linkage chain"),
    "dedup --keep": ("dedup db.kin --radius 1 -o g.csv", "dedup db.kin --radius 1 -o g.csv --keep last"),
    "dedup --output": ("dedup db.kin --radius 1", "dedup db.kin --radius 1 -o g.csv"),
    "dedup --dropped": ("dedup db.kin --radius 1", "dedup db.kin --radius 1 --dropped d.txt"),
    "migrate --ids": ("migrate index.kin other_model.kin X.npy --yes",
                      "migrate index.kin other_model.kin X.npy --yes --ids backwards.txt"),
    "migrate --labels": ("migrate index.kin other_model.kin X.npy --yes",
                         "migrate index.kin other_model.kin X.npy --yes --labels y.txt"),
    "migrate --tags": ("migrate index.kin other_model.kin X.npy --yes",
                       "migrate index.kin other_model.kin X.npy --yes --tags tags.txt"),
    "migrate --min-overlap": ("migrate index.kin other_model.kin X.npy --yes",
                              "migrate index.kin other_model.kin X.npy --min-overlap 1"),
    "migrate --yes": ("migrate index.kin other_model.kin X.npy", "migrate index.kin other_model.kin X.npy --yes"),
    "migrate --output": ("migrate index.kin other_model.kin X.npy --yes",
                         "migrate index.kin other_model.kin X.npy -o b.kin"),
    "bridge --old": (BRIDGE, BRIDGE.replace("--old X.npy", "--old shifted.npy")),
    "bridge --new": (BRIDGE, BRIDGE.replace("--new other.npy", "--new X.npy")),
    "bridge --output": (BRIDGE, BRIDGE.replace("o.kin", "p.kin")),
    "eval --labels": ("eval queries.kin --tags tags.txt", "eval queries.kin --labels y.txt"),
    "eval --tags": ("eval queries.kin --labels y.txt", "eval queries.kin --tags tags.txt"),
    "eval --features": ("eval queries.kin --labels y.txt", "eval queries.kin --labels y.txt --features X.npy"),
    "eval --ties": ("eval queries.kin --labels y.txt", "eval queries.kin --labels y.txt --ties pessimistic"),
    "eval -k": ("eval queries.kin --labels y.txt", "eval queries.kin --labels y.txt -k 3"),
    "explore --output": ("explore db.kin -o a.html", "explore db.kin -o b.html"),
    "explore --labels": ("explore db.kin -o a.html", "explore db.kin -o a.html --labels y.txt"),
    "explore --tags": ("explore db.kin -o a.html", "explore db.kin -o a.html --tags tags.txt"),
    "explore --text": ("explore db.kin -o a.html", "explore db.kin -o a.html --text y.txt"),
    "explore --pictures": ("explore db.kin -o a.html", "explore db.kin -o a.html --pictures nowhere"),
    "explore --model": ("explore db.kin -o a.html --features X.npy",
                        "explore db.kin -o a.html --features X.npy --model model.kin"),
    "explore --features": ("explore db.kin -o a.html --labels y.txt",
                           "explore db.kin -o a.html --labels y.txt --features X.npy"),
    "explore --ids": ("explore db.kin -o a.html", "explore db.kin -o a.html --ids ids.txt"),
    "export --to": ("export db.kin --to sqlite -o a.db", "export model.kin --to onnx -o a.db"),
    "export --output": ("export db.kin --to sqlite -o a.db", "export db.kin --to sqlite -o b.db"),
    "export --table": ("export db.kin --to sqlite -o a.db", "export db.kin --to sqlite -o a.db --table shoes"),
    "export --ids": ("export db.kin --to sqlite -o a.db", "export db.kin --to sqlite -o a.db --ids ids.txt"),
    "export --overwrite": ("export db.kin --to sqlite -o there.db",
                           "export db.kin --to sqlite -o there.db --overwrite"),
    "info --compile": ("info", "info model.kin --compile"),
    "demo --bits": ("demo", "demo --bits 8"),
    "demo --output": ("demo", "demo -o a.png"),
}  # fmt: skip
# Options of a command that waits for requests: tests/serve sees what they do; here, what they refuse.
SERVE = {
    "serve --host": "serve model.kin index.kin --host nowhere.invalid --port 0",
    "serve --port": "serve model.kin index.kin --port 99999",
    "serve --api-key": "serve model.kin index.kin --api-key",
    "serve --limit": "serve model.kin index.kin --limit rosw=3",
    "serve --reload-seconds": "serve model.kin index.kin --reload-seconds 0",
}
# Options without effect where they stand.
REFUSED = {
    "encode model.kin X.npy:foo -o a.kin": "has no names of columns, so there is no 'foo'",
    "encode model.kin table.csv:nose -o a.kin": "no column called 'nose'",
    "encode model.kin X.npy --ids ids.txt -o a.npy": "--ids has no effect",
    "encode model.kin:text X.npy -o a.kin": "no view called 'text'",
    "fit X.npy --labels y.txt --ids ids.txt -o a.kin": "--ids has no effect without --codes",
    "fit X.npy --labels y.txt --tags tags.txt -o a.kin": "not both",
    "fit X.npy --pairs pairs.csv --clicks clicks.csv -o a.kin": "not both",
    "fit X.npy --pairs pairs.csv --looks-from X.npy -o a.kin": "--looks-from has no effect",
    "fit X.npy --pairs pairs.csv --held-out last:9 -o a.kin": "held out at random",
    "fit X.npy --trust 1 -o a.kin": "--trust is about labels",
    "fit X.npy --labels y.txt --bits 8,16 -o a.kin": "write nothing",
    "fit X.npy --labels y.txt --bits 8,16 --codes a.kin": "write nothing",
    "fit X.npy --labels y.txt": "Missing option '-o'",
    "update index.kin": "what is to change",
    "update index.kin --add db.kin --upsert db.kin": "not both",
    "update index.kin --add db.kin --labels y.txt": "need",
    "update index.kin --add db.kin --skip-missing": "--skip-missing needs --remove",
    "update index.kin --remove 1 --model model.kin": "--model needs",
    "update index.kin --remove 1 --ids ids.txt": "--ids needs",
    "update pay.kin --payload one.csv:kind": "needs --ids",
    "search index.kin queries.kin --margins": "--margins needs --model",
    "search index.kin queries.kin --radius 2 -k 3": "Pass one of -k, --radius and --same",
    "search index.kin X.npy --model model.kin --radius 2 --margins": "goes with -k",
    "search index.kin queries.kin --show nose": "no column called 'nose'",
    "explore db.kin -o a.html --model model.kin": "--model needs --features",
    "explore db.kin -o a.html --labels y.txt --tags tags.txt": "not both",
    "export model.kin --to onnx -o a.onnx --table shoes": "--table has no effect",
    "export model.kin --to onnx -o a.onnx --ids ids.txt": "--ids has no effect",
    "migrate index.kin other_model.kin X.npy --yes --min-overlap 1": "not both",
    "info model.kin --compile": "takes no FILE",
}


def options() -> dict[str, click.Option]:
    """All options but ``--help`` and ``--json``, by "command option"."""
    found = {}
    for name in COMMANDS:
        command = program.get_command(click.Context(program), name)
        assert command is not None
        for one in command.params:
            if isinstance(one, click.Option):
                long = next((opt for opt in one.opts if opt.startswith("--")), one.opts[0])
                found[f"{name} {long}"] = one
    return found


@pytest.fixture
def files(folder: Path, run: Run) -> Path:
    """The good files, and more for the options that need them."""
    X = np.load("X.npy")
    names = {
        "ids.txt": [f"row {k}" for k in range(120)],
        "numbers.txt": range(500, 620),
        "backwards.txt": range(119, -1, -1),
        "paths.txt": [f"{'low' if k % 3 < 2 else 'high'}/{k % 3}" for k in range(120)],
        "one.csv": ["id,kind", "5,other"],
    }
    for name, lines in names.items():
        Path(name).write_text("\n".join(map(str, lines)) + "\n")
    pairs = np.loadtxt("pairs.csv", delimiter=",", dtype=int)
    alike = pairs[pairs[:, 2] == 1, :2]
    np.savetxt("clicks.csv", alike, fmt="%d", delimiter=",")
    far = (alike[:, 0] + 1) % 120
    np.savetxt("triplets.csv", np.column_stack([alike, far])[alike[:, 1] != far], fmt="%d", delimiter=",")
    np.save("other.npy", X[:, ::-1] ** 2)
    np.save("shifted.npy", np.roll(X, 1, axis=0))
    y = np.arange(120) % 3
    np.save("S.npy", np.where(y[:, None] == y, 1.0, -0.5))
    assert run("index", "db.kin", "-o", "pay.kin", "--payload", "table.csv:kind").code == 0
    assert run("export", "db.kin", "--to", "sqlite", "-o", "there.db").code == 0
    return folder


def outcome(run: Run, argv: str, folder: Path, tmp_path: Path) -> tuple[int, object, dict[str, bytes]]:
    """Exit code, result and files of a command that runs in a fresh copy of the folder."""
    here = tmp_path / f"copy {len(list(tmp_path.iterdir()))}"
    shutil.copytree(folder, here)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        said = run(*argv.split(), "--json")
        files = {path.name: path.read_bytes() for path in here.iterdir() if path.is_file()}
    result = json.loads(said.out) if said.out else said.err
    return said.code, _timeless(result), files


def _timeless(value: object) -> object:
    if isinstance(value, dict):
        return {name: _timeless(one) for name, one in value.items() if name != "seconds"}
    return value


OUTCOMES: dict[str, tuple[int, object, dict[str, bytes]]] = {}  # of commands that several rows begin with


def test_there_are_few_commands_and_options() -> None:
    assert len(COMMANDS) <= 14
    assert len(options()) <= 100


def test_every_option_has_a_row_here() -> None:
    tried = {*CHANGES, *SERVE}
    assert {name for name in options() if not name.endswith("--json")} == tried


def test_a_word_means_one_thing_everywhere() -> None:
    forms = defaultdict(set)
    for name, option in options().items():
        if option.name not in ("n_bits", "bits"):  # a list of lengths for fit, to compare them
            form = option.type.name if option.metavar is None else option.metavar
            forms[name.split()[1]].add((form, option.is_flag))
    assert not {name: found for name, found in forms.items() if len(found) > 1 and name != "--output"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CHANGES)
def test_every_option_changes_something(name: str, run: Run, files: Path, tmp_path: Path) -> None:
    before, after = CHANGES[name]
    if name == "update --tags":
        assert run("fit", "X.npy", "--tags", "tags.txt", "--bits", 16, "-o", "tags.kin").code == 0
        assert run("encode", "tags.kin", "X.npy", "-o", "t.kin").code == 0
        assert run("index", "t.kin", "-o", "tagged.kin").code == 0
    if before not in OUTCOMES:
        OUTCOMES[before] = outcome(run, before, files, tmp_path)
    first = OUTCOMES[before]
    second = outcome(run, after, files, tmp_path)
    refused = name in (
        "search --same",
        "dedup --max-false",
        "dedup --pairs",
        "explore --pictures",
        "info --compile",
        "migrate --min-overlap",
    )
    assert (second[0] in (1, 2)) == refused, second[1]
    assert first[0] == 0 or name in ("export --overwrite", "migrate --yes"), first[1]
    assert first != second


@pytest.mark.parametrize("name", SERVE)
def test_options_of_the_service_are_checked(name: str, run: Run, folder: Path) -> None:
    said = run(*SERVE[name].split())
    assert said.code == 2
    assert said.err.splitlines()[-1].startswith("Error: ")


@pytest.mark.parametrize("argv", REFUSED)
def test_an_option_that_does_not_apply_is_refused(argv: str, run: Run, files: Path) -> None:
    before = {path.name: path.read_bytes() for path in files.iterdir()}
    said = run(*argv.split())
    assert (said.code, said.out) == (2, "")
    assert REFUSED[argv] in said.err
    assert said.err.count("\n") == 1
    assert {path.name: path.read_bytes() for path in files.iterdir()} == before


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_page_of_help_with_an_example(name: str, run: Run) -> None:
    said = run(name, "--help")
    assert said.code == 0
    assert f"kinhash {name}" in said.out
    assert "Example" in said.out
