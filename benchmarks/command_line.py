"""What the command line costs: `kinhash --help`, and `kinhash fit` beside the fit alone, interleaved.

    python benchmarks/command_line.py [--rows 60000] [--rounds 3]

"Alone" is a Python process that loads the same files, fits and saves; its bare fit seconds stand beside it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ALONE = """
import time
import numpy as np
from kinhash import EnergyHasher
X, y = np.load("X.npy"), np.load("y.npy")
start = time.perf_counter()
hasher = EnergyHasher(64, random_state=0).fit(X, y)
print(time.perf_counter() - start)
hasher.save("alone.kin")
"""


def seconds(*argv: str, folder: str) -> tuple[float, str]:
    start = time.perf_counter()
    done = subprocess.run([sys.executable, *argv], cwd=folder, capture_output=True, text=True, check=True)
    return time.perf_counter() - start, done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, options.rows)
    X = (rng.normal(size=(options.rows, 256)) + 0.6 * rng.normal(size=(10, 256))[y]).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "X.npy", X)
        np.save(Path(folder) / "y.npy", y)
        helps = [seconds("-m", "kinhash", "--help", folder=folder)[0] for _ in range(9)]
        print(f"kinhash --help: best {min(helps):.2f} s, median {np.median(helps):.2f} s")
        bare, alone, command = [], [], []
        for _ in range(options.rounds):
            spent, said = seconds("-c", ALONE, folder=folder)
            alone.append(spent)
            bare.append(float(said))
            argv = ["-m", "kinhash", "fit", "X.npy", "--labels", "y.npy", "-o", "m.kin", "--codes", "d.kin"]
            command.append(seconds(*argv, folder=folder)[0])
        for name, times in (
            ("fit, bare", bare),
            ("fit alone, process", alone),
            ("kinhash fit, process", command),
        ):
            print(f"{name:<22} best {min(times):6.2f} s   all {np.round(times, 2).tolist()}")
        print(f"kinhash fit / fit alone (processes): {min(command) / min(alone):.2f}")
        print(f"kinhash fit / bare fit: {min(command) / min(bare):.2f}")


if __name__ == "__main__":
    main()
