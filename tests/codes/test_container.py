"""The file format: round trips, every damage refused, hostile files harmless, saves all or nothing."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from kinhash._internal import container
from kinhash._internal.container import container_kind, read_container, tree_digest, write_container
from kinhash.errors import FileProblem, InvalidInput

DTYPES = ["?", "u1", "i1", "u2", "i2", "f2", "u4", "i4", "f4", "u8", "i8", "f8"]
SMALL = {"x": np.arange(12, dtype=np.uint64).reshape(3, 4), "flags": np.array([True, False, True])}


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.kin"
    write_container(path, SMALL, {"name": "tiny"}, "test")
    return path


def sign(raw: bytes) -> bytes:
    """Give a forged file a digest that holds, as a stranger could."""
    at = container._DIGEST_AT
    zeroed = raw[:at] + b"0" * 64 + raw[at + 64 :]
    return raw[:at] + tree_digest([memoryview(zeroed)]) + raw[at + 64 :]


def forge(
    entries: str, data: bytes = b"", header: str = '"{}"', form: str = "2", kind: str = "test"
) -> bytes:
    text = (
        '{"__metadata__":{"digest":"'
        + "0" * 64
        + f'","format":"{form}","kind":"{kind}","header":{header}'
        + "}"
    )
    text = text + entries + "}"
    raw = text.encode("latin-1")
    raw += b" " * (-(8 + len(raw)) % 64)
    return sign(len(raw).to_bytes(8, "little") + raw + data)


def entry(name: str, dtype: str, shape: list[int], begin: int, end: int) -> str:
    fact = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
    return f',"{name}":' + json.dumps(fact, separators=(",", ":"))


# ---- what goes in comes out ------------------------------------------------------------------


@given(
    arrays=st.lists(
        st.sampled_from(DTYPES).flatmap(
            lambda code: hnp.arrays(code, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5))
        ),
        max_size=4,
    ),
    header=st.dictionaries(
        st.text(), st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.lists(st.text()))
    ),
    mmap=st.booleans(),
)
def test_round_trip(tmp_path_factory, arrays, header, mmap):
    path = tmp_path_factory.mktemp("round") / "file.kin"
    named = {f"a.{i}": array for i, array in enumerate(arrays)}
    write_container(path, named, header, "test")
    found, read_header = read_container(path, "test", mmap=mmap)
    assert read_header == header
    assert list(found) == list(named)
    for name, array in named.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)
        assert found[name].ctypes.data % 64 == 0 or not array.size
        assert found[name].flags.writeable != mmap


def test_any_memory_order_and_byte_order(tmp_path):
    arrays = {"f": np.asfortranarray(np.arange(6.0).reshape(2, 3)), "big": np.arange(3, dtype=">i4")}
    arrays["strided"] = np.arange(10)[::3]
    write_container(tmp_path / "f", arrays, {}, "test")
    for name, array in read_container(tmp_path / "f")[0].items():
        np.testing.assert_array_equal(array, arrays[name])


def test_the_safetensors_package_opens_it(small):
    found = safetensors.numpy.load_file(small)
    np.testing.assert_array_equal(found["x"], SMALL["x"])
    with safetensors.safe_open(small, "np") as file:
        assert json.loads(file.metadata()["header"]) == {"name": "tiny"}


def test_threads_do_not_change_the_digest():
    data = memoryview(np.random.default_rng(0).integers(0, 256, 9_000_001, dtype=np.uint8).tobytes())
    whole = tree_digest([data])
    assert tree_digest([data[:5], data[5:5_000_000], data[5_000_000:]]) == whole
    assert tree_digest([data], threads=3) == whole


def test_same_content_same_bytes(tmp_path, small):
    write_container(tmp_path / "again", SMALL, {"name": "tiny"}, "test")
    assert (tmp_path / "again").read_bytes() == small.read_bytes()


@pytest.mark.parametrize(
    ("arrays", "header", "kind"),
    [
        ({"x": np.array(["text"])}, {}, "test"),
        ({"x": np.array([None])}, {}, "test"),
        ({"x": np.array([1j])}, {}, "test"),
        ({"pad.0": np.arange(2)}, {}, "test"),
        ({'a"b': np.arange(2)}, {}, "test"),
        ({}, {"x": float("nan")}, "test"),
        ({}, {"x": object()}, "test"),
        ({}, {}, "Not A Kind"),
        ({f"a{i}": np.arange(1) for i in range(1001)}, {}, "test"),
    ],
)
def test_what_cannot_be_stored_is_said(tmp_path, arrays, header, kind):
    with pytest.raises(InvalidInput):
        write_container(tmp_path / "f", arrays, header, kind)
    assert list(tmp_path.iterdir()) == []


# ---- damage ----------------------------------------------------------------------------------


def refused(path: Path, raw: bytes) -> None:
    path.write_bytes(raw)
    for mmap in (False, True):
        with pytest.raises(FileProblem):
            read_container(path, "test", mmap=mmap)


def test_every_single_bit_flip_is_refused(small):
    raw = small.read_bytes()
    for position in range(len(raw)):
        for bit in range(8):
            small.write_bytes(raw[:position] + bytes([raw[position] ^ (1 << bit)]) + raw[position + 1 :])
            with pytest.raises(FileProblem):
                read_container(small, "test")


def test_every_truncation_and_any_growth_is_refused(small):
    raw = small.read_bytes()
    for length in range(len(raw)):
        refused(small, raw[:length])
    refused(small, raw + b"\0")
    refused(small, raw + raw)


@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_random_mutations_of_a_larger_file_are_refused(tmp_path, count):
    """300 of 10,000 by default."""
    path = tmp_path / "large.kin"
    rng = random.Random(1)
    write_container(path, {"x": np.arange(40_000, dtype=np.uint32)}, {"a": 1}, "test")
    raw = path.read_bytes()
    for _ in range(count):
        changed = mutate(rng, raw)
        if changed != raw:
            path.write_bytes(changed)
            with pytest.raises(FileProblem):
                read_container(path, "test", mmap=bool(rng.getrandbits(1)))


def mutate(rng: random.Random, raw: bytes) -> bytes:
    changed = bytearray(raw)
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(changed)) if rng.random() < 0.4 else rng.randrange(min(400, len(changed)))
        match rng.randrange(6):
            case 0:
                changed[place] ^= 1 << rng.randrange(8)
            case 1:
                changed[place] = rng.randrange(256)
            case 2:
                del changed[place : place + rng.randint(1, 40)]
            case 3:
                changed[place:place] = rng.randbytes(rng.randint(1, 40))
            case 4:
                other = rng.randrange(len(changed))
                changed[place : place + 20] = changed[other : other + 20]
            case _:
                changed[place : place + 1] = rng.choice(
                    [b"9", b"-", b"99999999999", b'"', b"\\", b"[", b"{", b","]
                )
        if not changed:
            return b""
    return bytes(changed)


@pytest.mark.parametrize("count", [3_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_fuzzed_files_raise_nothing_else(tmp_path, count):
    """3,000 of 100,000 by default; half of them with a digest that holds, to get past it."""
    rng = random.Random(2)
    path = tmp_path / "fuzz.kin"
    write_container(path, {**SMALL, "y": np.arange(3.0)}, {"deep": [[{"a": [1, "\n"]}]]}, "test")
    raw, opened, messages = path.read_bytes(), 0, set()
    for number in range(count):
        changed = mutate(rng, raw) if number % 50 else rng.randbytes(rng.randrange(600))
        if number % 2 and len(changed) > 200:
            changed = sign(changed)
        path.write_bytes(changed)
        try:
            read_container(path, mmap=bool(number & 4))
            opened += 1
        except FileProblem as problem:
            messages.add(str(problem))
    assert all("fuzz.kin" in message for message in messages)
    assert opened < count / 2


# ---- hostile files ---------------------------------------------------------------------------

HUGE = 2**63 - 1
HOSTILE = {
    "overlap": forge(entry("a", "U8", [64], 0, 64) + entry("b", "U8", [64], 0, 64), bytes(64)),
    "hole": forge(entry("a", "U8", [64], 0, 64) + entry("b", "U8", [64], 128, 192), bytes(192)),
    "bytes nobody owns": forge(entry("a", "U8", [64], 0, 64), bytes(128)),
    "outside the file": forge(entry("a", "U8", [128], 0, 128), bytes(64)),
    "backwards": forge(entry("a", "U8", [64], 64, 0), bytes(64)),
    "negative shape": forge(entry("a", "U8", [-8, -8], 0, 64), bytes(64)),
    "negative offset": forge(entry("a", "U8", [64], -64, 0), bytes(64)),
    "enormous shape": forge(entry("a", "U8", [HUGE, HUGE], 0, 64), bytes(64)),
    "wrapping shape": forge(entry("a", "U64", [2**61, 8], 0, 0)),
    "enormous and empty": forge(entry("a", "U8", [0, HUGE, HUGE], 0, 0)),
    "forty dimensions": forge(entry("a", "U8", [1] * 40 + [64], 0, 64), bytes(64)),
    "duplicate keys": forge(entry("a", "U8", [64], 0, 64) + entry("a", "U8", [64], 64, 128), bytes(128)),
    "duplicate keys inside": forge("", header=json.dumps('{"a":1,"a":2}')),
    "deep JSON": forge("", header=json.dumps("[" * 100_000)),
    "deep JSON outside": forge(',"a":' + "[" * 100_000),
    "nested JSON": forge("", header=json.dumps('{"a":' + "[" * 300 + "]" * 300 + "}")),
    "header no dictionary": forge("", header=json.dumps("[1]")),
    "header not JSON": forge("", header=json.dumps("{")),
    "header with NaN": forge("", header=json.dumps('{"a":NaN}')),
    "half an escape": forge("", header='"\\u12"'),
    "number of a million digits": forge("", header=json.dumps('{"a":' + "9" * 1_000_000 + "}")),
    "unknown dtype": forge(entry("a", "OBJECT", [8], 0, 64), bytes(64)),
    "wrong dtype": forge(entry("a", "F64", [64], 0, 64), bytes(64)),
    "booleans of two": forge(entry("a", "BOOL", [64], 0, 64), b"\2" * 64),
    "off alignment": forge(entry("pad.0", "U8", [8], 0, 8) + entry("a", "U8", [64], 8, 72), bytes(72)),
    "too many arrays": forge("".join(entry(f"a{i}", "U8", [0], 0, 0) for i in range(2000))),
    "header longer than the file": (10**6).to_bytes(8, "little") + forge("")[8:],
    "header of 2**63 bytes": (2**63).to_bytes(8, "little") + forge("")[8:],
    "newer format": forge("", form="3"),
    "format of many digits": forge("", form="9" * 50),
    "format zero": forge("", form="0"),
    "other kind": forge("", kind="other"),
    "long name": forge(entry("a" * 101, "U8", [64], 0, 64), bytes(64)),
    "many small lists": forge("," + "[]," * 100_000),
    "trailing spaces": forge("}" + " " * 10_000),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("mmap", [False, True])
def test_hostile_files_are_refused_within_memory(tmp_path, name, mmap):
    path = tmp_path / "hostile.kin"
    path.write_bytes(HOSTILE[name])
    tracemalloc.start()
    try:
        with pytest.raises(FileProblem) as caught:
            read_container(path, "test", mmap=mmap)
        # Files whose digest holds may cost their own JSON as well: still a few times the file.
        late = name in {"duplicate keys inside", "deep JSON", "nested JSON", "number of a million digits"}
        assert tracemalloc.get_traced_memory()[1] <= len(HOSTILE[name]) * (6 if late else 1) + (1 << 20)
    finally:
        tracemalloc.stop()
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("inner", [("[", "]"), ('{"a":', "}"), ('{"]}":[', "]}"), ('["\\\\",', "]")])
def test_deep_headers_are_refused_by_depth(tmp_path, inner):
    """Valid JSON, which every Python could parse: 100 levels open, more do not."""
    per_entry = inner[0].count("[") + inner[0].count('{"')
    for count, opens in ((99 // per_entry, True), (99 // per_entry + 1, False)):
        text = '{"a":' + inner[0] * count + "1" + inner[1] * count + "}"
        json.loads(text)
        (tmp_path / "f").write_bytes(forge("", header=json.dumps(text)))
        if opens:
            read_container(tmp_path / "f")
        else:
            with pytest.raises(FileProblem, match="JSON of a sane form"):
                read_container(tmp_path / "f")


def test_a_header_that_could_not_be_opened_is_not_written(tmp_path):
    header = {}
    for _ in range(100):
        header = {"a": header}
    with pytest.raises(InvalidInput, match="more than 100 levels"):
        write_container(tmp_path / "f.kin", SMALL, header, "test")
    write_container(tmp_path / "f.kin", SMALL, header["a"], "test")
    assert read_container(tmp_path / "f.kin")[1] == header["a"]


def test_brackets_in_texts_are_no_nesting(tmp_path):
    names = {"names": ["[{" * 500, '"[' * 500, "\\"], "deep": [[[[{"a": [{}]}]]]]}
    (tmp_path / "f").write_bytes(forge("", header=json.dumps(json.dumps(names))))
    assert read_container(tmp_path / "f", "test")[1]["names"] == names["names"]


def test_forged_files_open_when_they_are_sane(tmp_path):
    """The forge itself is right: otherwise the hostile set would prove nothing."""
    (tmp_path / "f").write_bytes(forge(entry("a", "U8", [64], 0, 64), bytes(64)))
    assert read_container(tmp_path / "f", "test")[0]["a"].shape == (64,)


def test_a_newer_format_is_refused_by_number(tmp_path):
    (tmp_path / "f").write_bytes(HOSTILE["newer format"])
    with pytest.raises(FileProblem, match=r"format 3.*Upgrade"):
        read_container(tmp_path / "f")


def test_kinds(small):
    assert container_kind(small) == "test"
    with pytest.raises(FileProblem, match="kind 'test'"):
        read_container(small, "index")


def test_paths_that_are_no_files(tmp_path):
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "text").write_text("a,b\n" * 100)
    for name in ("", "missing", "empty", "pipe", "text", "nul\0byte"):
        with pytest.raises(FileProblem):
            read_container(str(tmp_path / name) if name else tmp_path)
    for target in (tmp_path, tmp_path / "no" / "folder", str(tmp_path / "nul\0byte")):
        with pytest.raises(FileProblem):
            write_container(target, SMALL, {}, "test")
    if os.geteuid():
        (tmp_path / "text").chmod(0)
        with pytest.raises(FileProblem, match="ermission"):
            read_container(tmp_path / "text")


def test_an_ordinary_safetensors_file_is_called_what_it_is(tmp_path):
    safetensors.numpy.save_file({"a": np.arange(100)}, tmp_path / "other.safetensors")
    with pytest.raises(FileProblem):
        read_container(tmp_path / "other.safetensors")


# ---- saves are all or nothing ----------------------------------------------------------------


@pytest.mark.parametrize("problem", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_fault_at_any_step_keeps_the_old_file(small, monkeypatch, problem):
    """Every write, fsync and rename fails once; that of the folder, after the rename, may fail unsaid."""
    old = small.read_bytes()
    steps = 0
    real = {name: getattr(os, name) for name in ("write", "fsync", "replace")}
    for failing in range(100):
        calls: list[str] = []

        def step(name, *arguments, calls=calls, failing=failing):
            calls.append(name)
            if len(calls) == failing + 1:
                raise problem
            return real[name](*arguments)

        with monkeypatch.context() as patch:
            for name in real:
                patch.setattr(os, name, lambda *a, name=name, step=step: step(name, *a))
            try:
                write_container(small, {"new": np.arange(99)}, {}, "test")
                assert calls[-1] == "fsync"
                assert isinstance(problem, OSError) or len(calls) <= failing
            except (FileProblem, KeyboardInterrupt) as caught:
                same_type = isinstance(caught, KeyboardInterrupt) == isinstance(problem, KeyboardInterrupt)
                steps += same_type
            else:
                if len(calls) <= failing:
                    break
                steps += 1
        assert [file.name for file in small.parent.iterdir()] == [small.name]
        if "replace" in calls[:-1]:
            assert list(read_container(small)[0]) == ["new"]
            small.write_bytes(old)
        assert small.read_bytes() == old
    assert steps == len(calls) >= 5


def test_short_writes_are_continued(tmp_path, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, piece: real(handle, piece[:7]))
    write_container(tmp_path / "f", SMALL, {}, "test")
    monkeypatch.undo()
    np.testing.assert_array_equal(read_container(tmp_path / "f")[0]["x"], SMALL["x"])


def test_a_link_stays_a_link_and_an_open_map_stays_valid(small, tmp_path):
    link = tmp_path / "link.kin"
    link.symlink_to(small)
    mapped = read_container(link, mmap=True)[0]["x"]
    write_container(link, {"x": np.zeros(3)}, {}, "test")
    assert link.is_symlink()
    np.testing.assert_array_equal(mapped, SMALL["x"])
    assert read_container(small)[0]["x"].shape == (3,)


SAVER = """
import sys, numpy as np
from kinhash._internal.container import write_container
print("ready", flush=True)
while True:
    for value in (1, 2):
        write_container(sys.argv[1], {"x": np.full(300_000, value)}, {"value": value}, "test")
"""


@pytest.mark.parametrize("count", [6, pytest.param(200, marks=pytest.mark.slow)])
def test_kill_during_save_leaves_the_old_or_the_new_file(tmp_path, count):
    """6 of 200 by default, at random moments."""
    path = tmp_path / "killed.kin"
    write_container(path, {"x": np.full(300_000, 2)}, {"value": 2}, "test")
    rng = random.Random(3)
    for _ in range(count):
        child = subprocess.Popen([sys.executable, "-c", SAVER, path], stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(rng.random() * 0.03)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdout.close()
        arrays, header = read_container(path, "test")
        assert (arrays["x"] == header["value"]).all()
