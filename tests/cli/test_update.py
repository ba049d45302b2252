"""Payload, add, upsert, remove, dedup and migrate: what they leave, say and refuse."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kinhash
from kinhash import Codes, HammingIndex, load_codes, save_codes
from kinhash.cli import main
from kinhash.index import near_duplicates

from .conftest import Run, done, say, succeed

ROWS = [
    {"id": k, "kind": "ab"[k % 2], "year": 2000 + k, "score": k / 8, "public": k % 3 == 0} for k in range(120)
]
WRONG = [{**row, "id": 5} if row["id"] == 7 else row for row in ROWS]


def write_rows(path: str, rows: list[dict[str, object]] = ROWS) -> None:
    if path.endswith(".json"):
        Path(path).write_text(json.dumps(rows))
    elif path.endswith(".parquet"):
        pyarrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pyarrow.Table.from_pylist(rows), path)
    else:
        with open(path, "w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if ".tsv" in path else ",")
            writer.writeheader()
            writer.writerows(rows)


def ids_of(path: str) -> list[object]:
    return HammingIndex.load(path).ids.tolist()  # type: ignore[no-any-return]


# ---- payload ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.json", "rows.parquet"])
def test_payload_columns_keep_their_types(name: str, run: Run, folder: Path) -> None:
    write_rows(name)
    result = done(run, f"index db.kin -o i.kin --payload {name}:kind,year,score,public")
    assert result["payload"] == ["kind", "year", "score", "public"]
    index = HammingIndex.load("i.kin")
    for column, values in index.payload.items():
        assert values.tolist() == [row[column] for row in ROWS]
    kinds = {column: values.dtype.kind for column, values in index.payload.items()}
    assert kinds == {"kind": "T", "year": "i", "score": "f", "public": "b"}
    found = index.search(load_codes("queries.kin"), 5, where={"kind": "a", "public": True})
    assert set((found.ids % 6).ravel().tolist()) == {0}
    assert done(run, "info i.kin")["payload"] == ["kind", "year", "score", "public"]
    as_object = {column: [row[column] for row in ROWS] for column in ROWS[0]}
    Path("columns.json").write_text(json.dumps(as_object))
    assert done(run, "index db.kin -o i.kin --payload columns.json")["payload"] == list(ROWS[0])


def test_text_that_looks_like_numbers_or_has_gaps(run: Run, folder: Path) -> None:
    fields = [f"{k:03d},{k},{'' if k == 3 else 'x'},1.5e3" for k in range(120)]
    Path("rows.csv").write_text("\n".join(["padded,whole,gaps,real", *fields]) + "\n")
    done(run, "index db.kin -o i.kin --payload rows.csv")
    payload = HammingIndex.load("i.kin").payload
    assert payload["padded"].tolist()[:2] == ["000", "001"]
    assert payload["whole"].tolist()[:2] == [0, 1]
    assert payload["gaps"].tolist()[2:4] == ["x", ""]
    assert set(payload["real"].tolist()) == {1500.0}


def test_a_payload_must_be_of_these_rows(run: Run, folder: Path) -> None:
    codes = load_codes("db.kin")
    save_codes(Codes(codes.packed, 16, np.arange(120), codes.model_id), "named.kin")
    write_rows("rows.csv")
    result = done(run, "index named.kin -o i.kin --payload rows.csv")
    assert result["payload"] == ["kind", "year", "score", "public"], "ids that agree are no payload"
    write_rows("wrong.csv", WRONG)
    said = run("index", "named.kin", "-o", "i.kin", "--payload", "wrong.csv")
    assert "Row 7 of wrong.csv has the id '5', and the code there has '7'" in said.err
    for command in ("--upsert named.kin", "--add named.kin -o other.kin"):
        said = run("update", "i.kin", *command.split(), "--payload", "wrong.csv")
        assert "Row 7 of wrong.csv has the id '5'" in said.err, command
    assert done(run, "update i.kin --upsert named.kin --payload rows.csv")["replaced"] == 120
    done(run, "index named.kin -o i.kin --payload wrong.csv:kind")
    write_rows("short.csv", ROWS[:-1])
    said = run("index", "db.kin", "-o", "i.kin", "--payload", "short.csv")
    assert "119 rows in short.csv came with 120 codes" in said.err


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("r.csv", "a\n1\n\n2\nNA\n", "row 2 has no value in the column 'a'"),
        ("r.csv", "a,a\n1,2\n", "two columns have one name"),
        ("r.csv", "a,b\n1,2\n1\n", "row 3 has 1 columns"),
        ("r.json", '[{"a": 1}, {"b": 2}]', "row 1 has no value in the column 'a'"),
        ("r.json", '{"a": [1, "x"]}', "several kinds"),
        ("r.json", '{"a": [1], "b": [1, 2]}', "different length"),
        ("r.json", "[1, 2]", "its columns have no names"),
        ("r.json", "[]", "its columns have no names"),
        ("r.xlsx", "a\n1\n", "says nothing about its format"),
    ],
)
def test_a_payload_that_cannot_be_read(name: str, content: str, says: str, run: Run, folder: Path) -> None:
    Path(name).write_text(content)
    said = run("index", "db.kin", "-o", "out.kin", "--payload", name)
    assert said.code == 2
    assert says in said.err
    assert not Path("out.kin").exists()
    said = run("index", "db.kin", "-o", "out.kin", "--payload", "X.npy:nose")
    assert said.code == 2
    write_rows("rows.csv")
    said = run("index", "db.kin", "-o", "out.kin", "--payload", "rows.csv:yaer")
    assert "Did you mean 'year'?" in said.err


# ---- add, upsert, remove -------------------------------------------------------------------------


def test_add_upsert_and_remove_are_those_of_the_library(run: Run, folder: Path) -> None:
    X, model = np.load("X.npy"), kinhash.load("model.kin")
    np.save("more.npy", X[:30] + 1)
    write_rows("rows.csv")
    write_rows("more.csv", ROWS[:30])
    Path("ids.txt").write_text("\n".join(map(str, range(100, 130))) + "\n")
    succeed(run, "index queries.kin -o i.kin --payload rows.csv")
    mirror = HammingIndex.load("i.kin", mmap=False)
    columns = {name: [row[name] for row in ROWS[:30]] for name in ROWS[0]}

    assert (
        "There is a row with the id 100 already"
        in say(run, "update i.kin --add more.npy --model model.kin --ids ids.txt --payload more.csv").err
    )
    command = "update i.kin --upsert more.npy --model model.kin --ids ids.txt --payload more.csv"
    result = done(run, command)
    assert (result["added"], result["replaced"], result["rows"]) == (10, 20, 130)
    mirror.upsert(model.encode(X[:30] + 1), np.arange(100, 130), columns)
    result = done(run, "update i.kin --add more.npy --model model.kin --payload more.csv")
    assert (result["added"], result["replaced"], result["rows"]) == (30, 0, 160)
    mirror.add(model.encode(X[:30] + 1), None, columns)
    result = done(run, "update i.kin --remove 3,159,7")
    assert (result["removed"], result["missing"], result["rows"]) == (3, 0, 157)
    mirror.remove([3, 159, 7])
    mirror.save("mirror.kin")
    assert Path("i.kin").read_bytes() == Path("mirror.kin").read_bytes()

    before = Path("i.kin").read_bytes()
    assert "no row with the id 3" in run("update", "i.kin", "--remove", "3,4").err
    assert Path("i.kin").read_bytes() == before
    Path("gone.txt").write_text("3\n4\n")
    result = done(run, "update i.kin --remove gone.txt --skip-missing -o other.kin")
    assert (result["removed"], result["missing"]) == (1, 1)
    assert Path("i.kin").read_bytes() == before
    assert set(ids_of("i.kin")) - set(ids_of("other.kin")) == {4}
    assert "Removed 1 row. Not there: 1. o.kin has 156 rows now." in succeed(
        run, "update i.kin --remove gone.txt --skip-missing -o o.kin"
    )


@pytest.mark.parametrize("name", ["rows.csv", "rows.json", "rows.parquet"])
def test_columns_that_the_index_does_not_have_are_left_out_and_named(
    name: str, run: Run, folder: Path
) -> None:
    write_rows(name)
    (folder / "ids.txt").write_text("\n".join(str(row["id"]) for row in ROWS) + "\n")
    succeed(run, f"index db.kin -o i.kin --payload {name}:year,public")
    argv = f"update i.kin --upsert db.kin --ids ids.txt --payload {name}"
    assert succeed(run, argv).endswith("\nLeft out: kind, score, which the index does not have.\n")
    assert done(run, argv)["left_out"] == ["kind", "score"]
    write_rows(name, [{"id": row["id"], "public": row["public"], "year": row["year"]} for row in ROWS])
    assert "Left out" not in succeed(run, argv)


def test_names_of_digits_stay_names(run: Run, folder: Path) -> None:
    codes = load_codes("db.kin")
    named = Codes(codes.packed[:100], 16, [str(k) for k in range(100)], codes.model_id)
    save_codes(named, "named.kin")
    payload = {"zip": [f"{k:05d}" for k in range(100)], "small": np.arange(100, dtype=np.int16)}
    HammingIndex.from_codes(named, payload=payload).save("i.kin")
    Path("ids.txt").write_text("\n".join(map(str, range(100, 220))) + "\n")
    Path("p.csv").write_text("small,zip\n" + "\n".join(f"{k},{k + 10_000}" for k in range(120)) + "\n")
    assert (
        done(run, "update i.kin --add X.npy --model model.kin --ids ids.txt --payload p.csv")["rows"] == 220
    )
    index = HammingIndex.load("i.kin")
    assert index.payload["zip"].tolist()[-1] == "00099"
    assert "10119" in index.payload["zip"].tolist()
    assert index.payload["small"].dtype == np.int16
    assert done(run, "update i.kin --remove ids.txt")["rows"] == 100
    assert done(run, "update i.kin --remove 7,8")["removed"] == 2
    Path("p.csv").write_text("small,zip\n" + "\n".join(f"{k + 40_000},x" for k in range(120)) + "\n")
    said = say(run, "update i.kin --add X.npy --model model.kin --ids ids.txt --payload p.csv")
    assert "small (int16)" in said.err, "a number that the column cannot hold is refused"


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ("update index.kin --add other_db.kin", "24 bits"),
        ("update index.kin --add X.npy --model other_model.kin", "24 bits"),
        ("update index.kin --add twin.kin", "codes made by one model"),
        ("update index.kin --upsert twin.kin --ids numbers.txt", "codes made by one model"),
        ("update index.kin --upsert db.kin", "--upsert needs the ids"),
        ("update db.kin --add queries.kin", "kind 'codes'"),
        ("update index.kin --add db.kin --payload rows.csv", "and the index has no payload"),
        ("update with_payload.kin --add db.kin", "The rows came without payload"),
        ("update index.kin --add db.kin -o db.kin", "also an input"),
        ("update nothing.kin --add db.kin", "nothing.kin"),
        ("update index.kin --remove nothing.txt", "is no file, and the ids of the index are numbers"),
        ("update index.kin --remove 1,1", "came twice"),
        ("update index.kin --remove y.txt", "strings came together"),
        ("update index.kin --remove 1 -o none/out.kin", "there is no folder"),
        ("dedup model.kin --radius 1", "kind 'model'"),
        ("dedup index.kin --radius -1", "-1"),
        ("dedup index.kin", "--radius"),
        ("dedup index.kin --radius 1 -o index.kin", "also an input"),
        ("migrate index.kin other_model.kin X.npy", "There is nobody to ask"),
        ("migrate index.kin model.kin X.npy --yes", "of this model already"),
        ("migrate index.kin other_model.kin X.npy --yes --min-overlap 1", "not both"),
        ("migrate index.kin other_model.kin short.npy --yes", "short.npy has no row for 20 of the 120 rows"),
        ("migrate index.kin other_model.kin X.npy --yes --ids ids.txt", "Numbers and strings"),
        ("migrate index.kin other_model.kin X.npy --yes --labels short.txt", "2 labels for 120 rows"),
    ],
)
def test_what_is_refused_changes_nothing(argv: str, says: str, run: Run, folder: Path) -> None:
    codes = load_codes("queries.kin")
    save_codes(Codes(codes.packed, 16, model_id="f" * 32), "twin.kin")
    np.save("short.npy", np.load("X.npy")[:100])
    Path("short.txt").write_text("a\nb\n")
    Path("ids.txt").write_text("\n".join(f"row {k}" for k in range(120)) + "\n")
    Path("numbers.txt").write_text("\n".join(map(str, range(120))) + "\n")
    write_rows("rows.csv")
    HammingIndex.from_codes(codes, payload={"year": np.arange(len(codes))}).save("with_payload.kin")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    said = run(*argv.split())
    assert said.code == 2, said
    assert says in said.err
    assert len(said.err.splitlines()) == 1
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.skipif(sys.platform == "win32", reason="no locks there")
def test_commands_at_the_same_time_wait_for_each_other(folder: Path) -> None:
    """Without the lock the last one to write would win, and the rows of the others be lost."""
    program = (
        "import sys, time\n"
        "from kinhash import HammingIndex\n"
        "from kinhash.cli import main\n"
        "save = HammingIndex.save\n"
        "HammingIndex.save = lambda index, path: (time.sleep(.3), save(index, path))\n"
        "main(['update', 'index.kin', '--add', sys.argv[1]])\n"
    )
    codes = load_codes("queries.kin")
    running = []
    for number in range(2):
        ids = 1000 * (number + 1) + np.arange(120)
        save_codes(Codes(codes.packed, 16, ids, codes.model_id), f"{number}.kin")
        running.append(subprocess.Popen([sys.executable, "-c", program, f"{number}.kin"]))
    assert [process.wait(60) for process in running] == [0, 0]
    assert len(ids_of("index.kin")) == 360


# ---- dedup -----------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", ["first", "last"])
def test_dedup_writes_the_groups_and_what_to_remove(keep: str, run: Run, folder: Path) -> None:
    said = done(run, f"dedup index.kin --radius 2 --keep {keep} -o g.csv --dropped d.txt")
    found = near_duplicates(HammingIndex.load("index.kin"), 2, keep=keep)
    with open("g.csv", newline="") as file:
        heading, *rows = csv.reader(file)
    assert heading == ["id", "group", "kept", "distance to kept"]
    columns = (found.ids, found.groups, found.kept.astype(int), found.distances)
    assert [list(map(int, row)) for row in rows] == np.stack(columns, axis=1).tolist()
    assert said["groups"] == found.n_groups > 0
    assert said["dropped"] == len(found.dropped)
    assert said["left"] == 120 - len(found.dropped)
    assert said["largest_group"] == np.bincount(found.groups).max()
    assert done(run, "update index.kin --remove d.txt")["rows"] == said["left"]
    assert "No two of" in succeed(run, "dedup index.kin --radius 0")
    np.save("db.npy", load_codes("db.kin").packed)
    assert json.loads(say(run, "dedup db.npy --radius 0 --json").out)["rows"] == 120
    assert done(run, "dedup db.kin --radius 0")["groups"] > 0
    assert f"With the {keep} row" in succeed(run, f"dedup db.kin --radius 0 --keep {keep}")
    assert ", 1 row is left;" in succeed(run, "dedup db.kin --radius 999")


# ---- migrate ---------------------------------------------------------------------------------


@pytest.fixture
def old(run: Run, folder: Path) -> HammingIndex:
    """An index with payload, from which rows were removed, so that numbers are free below the next one."""
    write_rows("rows.csv")
    succeed(run, "index queries.kin -o old.kin --payload rows.csv")
    succeed(run, "update old.kin --remove 5,6,119")
    return HammingIndex.load("old.kin", mmap=False)


def test_migrate_keeps_ids_payload_and_numbers(run: Run, folder: Path, old: HammingIndex) -> None:
    content = Path("old.kin").read_bytes()
    said = done(run, "migrate old.kin other_model.kin X.npy --labels y.txt --yes")
    new, model = HammingIndex.load("old.kin"), kinhash.load("other_model.kin")
    assert (said["switched"], said["backup"], said["n_bits"]) == (True, "old.kin.bak", 24)
    assert new.model_id == model.model_id_ == said["model_id"]
    assert new.ids.tolist() == old.ids.tolist()
    np.testing.assert_array_equal(new.codes().packed, model.encode(np.load("X.npy")[old.ids]).packed)
    for name, column in old.payload.items():
        assert new.payload[name].tolist() == column.tolist()
    assert Path("old.kin.bak").read_bytes() == content
    assert new.add(
        model.encode(np.load("X.npy")[:1]), payload={n: c[:1] for n, c in old.payload.items()}
    ) == [120]
    # The figures, by brute force.
    y = np.loadtxt("y.txt", dtype=str)[old.ids]
    rows = np.sort(np.random.default_rng(0).choice(117, 117, replace=False))
    firsts = []
    for index in (old, HammingIndex.load("old.kin")):
        bits = index.codes().packed
        far = np.bitwise_count(bits[rows][:, None] ^ bits[None]).sum(axis=2).astype(int)
        far[np.arange(117), rows] = 10_000
        firsts.append(np.argsort(far, axis=1, kind="stable")[:, :10])
    same = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(*firsts, strict=True)])
    assert said["overlap"] == pytest.approx(same)
    for name, first in zip(("relevant_old", "relevant_new"), firsts, strict=True):
        assert said[name] == pytest.approx((y[first] == y[rows][:, None]).mean())


def test_migrate_switches_only_if_answers_are_alike_enough(run: Run, folder: Path, old: HammingIndex) -> None:
    before = Path("old.kin").read_bytes()
    command = "migrate old.kin other_model.kin X.npy"
    said = run(*f"{command} --min-overlap 1".split())
    assert said.code == 1
    assert "Not switched: old.kin is as it was." in said.out
    assert Path("old.kin").read_bytes() == before
    result = done(run, f"{command} -o new.kin")
    assert (result["switched"], result["backup"]) == (True, None)
    assert Path("old.kin").read_bytes() == before
    least = result["overlap"]
    assert isinstance(least, float)
    assert 0 < least < 1
    assert done(run, f"{command} --min-overlap {least - 0.01}")["switched"]
    assert Path("old.kin").read_bytes() == Path("new.kin").read_bytes()
    assert HammingIndex.load("old.kin.bak").ids.tolist() == old.ids.tolist()


def test_a_second_migration_keeps_the_first_backup(run: Run, folder: Path, old: HammingIndex) -> None:
    first = Path("old.kin").read_bytes()
    assert "Earlier backups" not in succeed(run, "migrate old.kin other_model.kin X.npy --yes")
    second = Path("old.kin").read_bytes()
    said = succeed(run, "migrate old.kin model.kin X.npy --yes")
    assert "The old index is old.kin.bak2. Earlier backups were kept: remove old.kin.bak" in said
    assert Path("old.kin.bak").read_bytes() == first
    assert Path("old.kin.bak2").read_bytes() == second
    assert Path("old.kin").read_bytes() == first, "the model of the beginning"
    third = done(run, "migrate old.kin other_model.kin X.npy --yes")
    assert third["backup"] == "old.kin.bak", "the same bytes are not kept twice"
    succeed(run, "update old.kin --remove 7")
    assert done(run, "migrate old.kin model.kin X.npy --yes")["backup"] == "old.kin.bak3"


def test_migrate_asks_whoever_sits_there(
    run: Run, folder: Path, old: HammingIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    import io

    class Terminal(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    before = Path("old.kin").read_bytes()
    for word, code in (("n", 1), ("y", 0)):
        monkeypatch.setattr(sys, "stdin", Terminal(io.BytesIO(f"{word}\n".encode())))
        said = say(run, "migrate old.kin other_model.kin X.npy")
        assert said.code == code
        assert "are the same in both indexes.\nSwitch? [y/N]" in said.err
        assert (Path("old.kin").read_bytes() == before) == bool(code)


PROGRAM = """
import os, signal, sys
from kinhash.cli import main
real = {{name: getattr(os, name) for name in ("fsync", "replace")}}
left = [{turn}]
def die(*args, name="{name}", **more):
    left[0] -= 1
    if left[0] < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return real[name](*args, **more)
os.{name} = die
main("migrate old.kin other_model.kin X.npy --yes".split())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL there")
@pytest.mark.parametrize(("name", "turn"), [("fsync", 0), ("replace", 1)])
def test_a_migration_that_is_killed_leaves_the_old_index(
    name: str, turn: int, folder: Path, old: HammingIndex, run: Run
) -> None:
    before = Path("old.kin").read_bytes()
    program = PROGRAM.format(name=name, turn=turn)
    process = subprocess.run([sys.executable, "-c", program], check=False, timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert Path("old.kin").read_bytes() == before
    if turn:
        assert Path("old.kin.bak").read_bytes() == before
    done(run, "migrate old.kin other_model.kin X.npy --yes")
    assert not [path.name for path in folder.iterdir() if path.name.endswith("-tmp")], "nothing is left over"


def killed_within(seconds: float, argv: str) -> bool:
    """Whether a command in a forked process was killed before it ended."""
    child = os.fork()
    if not child:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        with suppress(BaseException):
            main(argv.split())
        os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL there")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
@pytest.mark.parametrize("count", [20, pytest.param(1_000, marks=pytest.mark.slow)])
def test_commands_that_are_killed_leave_the_old_or_the_new_file(count: int, folder: Path, run: Run) -> None:
    """At random moments; whatever is left, the next command works and tidies up."""
    rng, killed, changed = np.random.default_rng(count), 0, 0
    codes = load_codes("queries.kin")[np.arange(40)]
    save_codes(replace(codes, ids=np.arange(1000, 1040), learned=True), "more.kin")
    commands = [  # each with the ids that it leaves
        ("update index.kin --add more.kin", [*range(120), *range(1000, 1040)]),
        ("update index.kin --remove 1000,1001,5", [*range(5), *range(6, 120), *range(1002, 1040)]),
        ("update index.kin --upsert more.kin", [*range(5), *range(6, 120), *range(1000, 1040)]),
        ("index db.kin -o index.kin", list(range(120))),
    ]
    before = ids_of("index.kin")
    for step in range(count):
        command, after = commands[step % len(commands)]
        killed += killed_within(float(rng.uniform(0, 0.06)), command)
        found = ids_of("index.kin")
        assert found in (before, after), command
        changed += found == after
        if found != after:
            done(run, command)
        assert not [path.name for path in folder.iterdir() if path.name.endswith("-tmp")], "nothing is left"
        before = after
    assert killed > count / 4, "too late to matter"
    print(f"{count} commands, {killed} killed, {changed} had taken effect")


def test_where_nothing_is_dropped_nothing_is_removed(run: Run, folder: Path) -> None:
    codes = Codes(np.array([[0], [255]], np.uint8), 8)
    HammingIndex.from_codes(codes).save("far.kin")
    assert done(run, "dedup far.kin --radius 1 --dropped none.txt")["dropped"] == 0
    assert done(run, "update far.kin --remove none.txt")["rows"] == 2


def test_payload_alone_changes_and_nothing_else(run: Run, folder: Path) -> None:
    write_rows("rows.csv")
    succeed(run, "index db.kin -o i.kin --payload rows.csv:kind,year")
    before = HammingIndex.load("i.kin", mmap=False)
    Path("new.csv").write_text("id,year\n7,1999\n3,1950\n")
    assert done(run, "update i.kin --payload new.csv:year --ids new.csv:id")["payload_changed"] == 2
    after = HammingIndex.load("i.kin")
    np.testing.assert_array_equal(after.codes().packed, before.codes().packed)
    assert np.all(after.codes().learned)
    assert after.payload["kind"].tolist() == before.payload["kind"].tolist()
    years = before.payload["year"].copy()
    years[[7, 3]] = 1999, 1950
    assert after.payload["year"].tolist() == years.tolist()
    for words, says in (
        ("--payload rows.csv:score --ids rows.csv:id", "The index has no column score"),
        ("--payload new.csv:year --ids far.txt", "999"),
    ):
        Path("far.txt").write_text("999\n7\n")
        said = say(run, f"update i.kin {words}")
        assert (said.code, says in said.err) == (2, True), said.err


def test_labels_give_learned_codes_and_mapped_rows_are_warned_of(run: Run, folder: Path) -> None:
    X, y, model = np.load("X.npy"), np.loadtxt("y.txt", dtype=str), kinhash.load("model.kin")
    lines = y.tolist()
    lines[4] = ""
    Path("some.txt").write_text("\n".join(lines) + "\n")
    said = say(run, "update index.kin --add X.npy --model model.kin --labels y.txt")
    assert (said.code, said.err) == (0, "")
    np.testing.assert_array_equal(ids_and_codes("index.kin")[1][120:], model.learned_codes(X, y).packed)
    assert np.all(HammingIndex.load("index.kin").codes().learned)
    said = say(run, "update index.kin --add X.npy --model model.kin --labels some.txt")
    assert "1 mapped rows joined an index of 240 learned rows" in said.err
    index = HammingIndex.load("index.kin")
    assert np.flatnonzero(~index.codes().learned).tolist() == [244]
    np.testing.assert_array_equal(index.codes().packed[244:245], model.encode(X[4:5]).packed)


def ids_and_codes(path: str) -> tuple[list[object], np.ndarray]:
    index = HammingIndex.load(path, mmap=False)
    return index.ids.tolist(), index.codes().packed


def test_one_update_does_all_or_nothing(run: Run, folder: Path) -> None:
    before = Path("index.kin").read_bytes()
    assert say(run, "update index.kin --remove 1,2 --add db.kin --ids y.txt").code == 2
    assert Path("index.kin").read_bytes() == before
    result = done(run, "update index.kin --remove 1,2 --add queries.kin")
    assert (result["removed"], result["added"], result["rows"]) == (2, 120, 238)
