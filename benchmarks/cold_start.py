"""How long the first answers take, with an empty cache of compiled kernels and with a full one.

    python benchmarks/cold_start.py [--rounds 3] [--only TEXT]

Every line is a new process: *serve* imports, loads a model and an index, encodes one row and searches it;
*readme* is the example of the README. Caches:

- *compile first*: empty, KINHASH_COMPILE=first, so that every call waits for its kernels
- *empty*: a fresh NUMBA_CACHE_DIR
- *warmed*: a folder that `kinhash warm` has filled
- *full*: a folder that the same script has filled (compile first)
- *container*: the package in a folder nobody can write to, no HOME, no NUMBA_CACHE_DIR, user 65534 (as root)

Wall-clock seconds, and seconds of the processor up to the last answer, compilation behind it included; best
of the rounds, which run in turns. All digests of codes and answers must be equal.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import kinhash

TIMED = """
import json, os, sys, time
laps, begin = {{}}, time.perf_counter()
def lap(name):
    global begin
    now = time.perf_counter()
    laps[name], begin = now - begin, now
{work}
cpu = time.process_time()
import hashlib
bits = found.ids.tobytes() + found.distances.tobytes() + codes.packed.tobytes()
print(json.dumps({{"laps": laps, "cpu": cpu, "digest": hashlib.sha256(bits).hexdigest()}}))
"""
WORK = {
    "serve": """
import kinhash
import numpy as np
rows = np.load("sample.npy")[:1]
lap("import")
hasher, index = kinhash.load("model.kin"), kinhash.load("index.kin")
lap("load")
codes = hasher.encode(rows)
lap("encode")
found = index.search(codes, k=10)
lap("search")
""",
    "readme": """
from sklearn.datasets import load_digits
from kinhash import EnergyHasher, HammingIndex
X, y = load_digits(return_X_y=True)
lap("import")
hasher = EnergyHasher(n_bits=64, random_state=0).fit(X[:1500], y[:1500])
lap("fit")
codes = hasher.encode(X[1500:])
lap("encode")
found = HammingIndex.from_codes(hasher.codes_).search(codes, k=10)
lap("search")
""",
}
FILES = """
import numpy as np
from sklearn.datasets import load_digits
from kinhash import EnergyHasher, HammingIndex
X, y = load_digits(return_X_y=True)
hasher = EnergyHasher(n_bits=64, random_state=0).fit(X[:1500], y[:1500])
hasher.save("model.kin")
HammingIndex.from_codes(hasher.codes_).save("index.kin")
np.save("sample.npy", X[1500:])
"""
COMMAND = "import sys; from kinhash.cli import main; main(sys.argv[1:])"
CACHES = ("compile first", "empty", "warmed", "full", "container")
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


def run(folder: Path, code: str, *words: str, cache: Path | None, container: Path | None = None, **more: str):
    """What a new process prints; it sees no settings of Numba or kinhash but those given."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA_", "KINHASH_", "XDG_"))}
    start: list[str] = []
    if cache is not None:
        more["NUMBA_CACHE_DIR"] = str(cache)
    if container is not None:
        del kept["HOME"]
        more |= {"PYTHONPATH": str(container), "PYTHONDONTWRITEBYTECODE": "1"}
        start = NOBODY if os.getuid() == 0 else []
    ran = subprocess.run(
        [*start, sys.executable, "-c", code, *words], cwd=folder, env={**kept, **more}, text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def read_only_package(folder: Path) -> Path:
    """A copy of the package, byte-compiled, that nobody may write to."""
    shutil.copytree(
        Path(kinhash.__file__).parent, folder / "kinhash", ignore=shutil.ignore_patterns("*.nb[ci]", "*.pyc")
    )
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(folder)], check=True)
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    return folder


def measured(work: str, cache: str, home: Path, round_: int):
    """One process; its cache is as the name says."""
    code, fresh = TIMED.format(work=WORK[work]), home / f"{work}-{cache}-{round_}"
    if cache == "container":
        return run(home, code, cache=None, container=home / "package")
    if cache in ("warmed", "full"):
        return run(home, code, cache=home / cache)
    mode = {"KINHASH_COMPILE": "first"} if cache == "compile first" else {}
    return run(home, code, cache=fresh, **mode)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="lines whose name holds this text")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        home.chmod(0o755)
        (home / "package").mkdir()
        read_only_package(home / "package")
        run(home, FILES, cache=home / "full", KINHASH_COMPILE="first")
        for work in WORK.values():
            run(home, TIMED.format(work=work), cache=home / "full", KINHASH_COMPILE="first")
        print(run(home, COMMAND, "warm", cache=home / "warmed"))
        lines = [(work, cache) for work in WORK for cache in CACHES if chosen.only in f"{work}, {cache}"]
        found: dict[tuple[str, str], list[dict]] = {line: [] for line in lines}
        for round_ in range(chosen.rounds):
            for work, cache in lines:
                found[work, cache].append(json.loads(measured(work, cache, home, round_)))
        show(found)
        for path in [home / "package", *(home / "package").rglob("*")]:
            path.chmod(0o755)


def show(found: dict[tuple[str, str], list[dict]]) -> None:
    for (work, cache), ran in found.items():
        laps = {name: min(one["laps"][name] for one in ran) for name in ran[0]["laps"]}
        total, cpu = min(sum(one["laps"].values()) for one in ran), min(one["cpu"] for one in ran)
        parts = ", ".join(f"{name} {seconds:.2f}" for name, seconds in laps.items())
        print(f"{work + ', ' + cache:22} {total:6.2f} s, processor {cpu:6.2f} s: {parts}")
    for work in WORK:
        digests = {one["digest"] for (own, _), ran in found.items() if own == work for one in ran}
        assert len(digests) <= 1, f"{work}: answers differ"
    print("All answers are equal.")


if __name__ == "__main__":
    main()
