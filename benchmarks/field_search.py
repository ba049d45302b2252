"""Search among codes with fields: the plain scan, the flat weighted one, and the search in two steps.

    python benchmarks/search.py fields           # needs KINHASH_DATA

A million rows of 24 kin bits that count four times and 40 alike bits. Kin bits are those of `EnergyHasher`
on the network features of CIFAR-10 (learned: 10 kin codes; mapped: some 2,000), or 1,000 codes drawn at
random, one for each of 1,000 kinds, with one in thirty bits of a query wrong. Alike bits are those of ITQ on
the features; 20,000 rows become a million by jitter. Queries are 1,000 other rows, mapped.

Times are CPU time of one thread, which other work on the machine disturbs less than time on the clock.
"""

from __future__ import annotations

import os
import time

import numpy as np
from search import ROWS, random_codes, threads, verdict

from kinhash import BitLayout, Codes, EnergyHasher, datasets
from kinhash.baselines import ITQ
from kinhash.index import HammingIndex

os.environ.setdefault("KINHASH_COMPILE", "first")  # no times of NumPy twins

FIELDS = BitLayout(alike=40, kin_weight=4)
TRAINED = 20_000
JITTER = 0.5  # of a feature's deviation


def best_of(rounds, **works):
    """Least seconds of CPU of each work, all of them in turn, ``rounds`` times."""
    best = dict.fromkeys(works, np.inf)
    for _ in range(rounds):
        for name, work in works.items():
            start = time.process_time()
            work()
            best[name] = min(best[name], time.process_time() - start)
    return best


def database():
    """Name, packed codes and packed queries of every set, and the margins of the queries."""
    rng = np.random.default_rng(0)
    data = datasets.load("cifar10_efficientnet_lite0_pca256")
    order = rng.permutation(len(data.features))
    X, y = np.asarray(data.features, np.float32), np.asarray(data.labels.classes)
    train, asked = order[:TRAINED], X[order[TRAINED : TRAINED + 1000]]
    kin = EnergyHasher(24, random_state=0).fit(X[train], y[train])
    itq = ITQ(40, random_state=0).fit(X[train])
    width = JITTER * X[train].std(axis=0)
    parts = [itq.encode(X[train]).packed]
    while len(parts) * TRAINED < ROWS:
        parts.append(itq.encode(X[train] + width * rng.normal(size=(TRAINED, X.shape[1]))).packed)
    alike, copies = np.concatenate(parts), len(parts)
    kinds = random_codes(rng, 1000, 24)
    wrong = np.packbits(rng.random((1000, 24)) < 1 / 30, axis=1)
    sets = {
        "learned": (kin.codes_.packed, kin.encode(asked).packed),
        "mapped": (kin.encode(X[train]).packed, kin.encode(asked).packed),
        "1,000 kinds": (kinds[rng.integers(0, 1000, TRAINED)], kinds ^ wrong),
    }
    own = itq.encode(asked).packed
    margins = np.hstack([kin.decision_function(asked), itq.decision_function(asked)])
    for name, (rows, queries) in sets.items():
        yield name, np.hstack([np.tile(rows, (copies, 1)), alike]), np.hstack([queries, own]), margins
    yield "random", random_codes(rng, ROWS, 64), random_codes(rng, 1000, 64), margins


def run():
    threads(1)
    for name, packed, queries, margins in database():
        plain = HammingIndex.from_codes(packed)
        flat, grouped = (HammingIndex.from_codes(Codes(packed, 64, fields=FIELDS)) for _ in range(2))
        flat._state.segments[0].grouping.built = True  # without groups: it keeps scanning
        built = best_of(1, build=grouped.prepare)["build"]
        groups = grouped._state.segments[0].grouping.groups
        size = f"{len(groups)} groups, {1e3 * built:.0f} ms to build, " if groups else "no groups, "
        print(f"{name}: {size}{grouped.stats().group_bytes / 1e6:.1f} MB")
        for k in (10, 100):
            for some, rounds in ((queries[:1], 100), (queries, 4)):
                times((plain, flat, grouped), some, k, rounds, 5 if name == "1,000 kinds" else 0)
        float_times(flat, grouped, margins[:100])


def times(indexes, queries, k, rounds, goal):
    plain, flat, grouped = indexes
    a, b = flat.search(queries, k), grouped.search(queries, k)
    assert (a.ids == b.ids).all()
    assert (a.distances == b.distances).all()
    took = best_of(
        rounds,
        plain=lambda: plain.search(queries, k),
        flat=lambda: flat.search(queries, k),
        grouped=lambda: grouped.search(queries, k),
    )
    each = {name: 1e3 * seconds / len(queries) for name, seconds in took.items()}
    print(
        f"  {len(queries):4d} queries, k = {k:3d}: plain {each['plain']:.4f} ms, flat {each['flat']:.4f} ="
        f" {took['flat'] / took['plain']:.2f} x plain (goal 1.6), two steps {each['grouped']:.4f}, flat / two"
        f" steps {verdict(took['flat'] / took['grouped'], goal)}"
    )


def float_times(flat, grouped, margins):
    took = best_of(
        3,
        flat=lambda: flat.search(None, 10, margins=margins, margins_of="alike"),
        grouped=lambda: grouped.search(None, 10, margins=margins, margins_of="alike"),
    )
    each = {name: 1e3 * seconds / len(margins) for name, seconds in took.items()}
    print(f"  margins of the alike bits, k = 10: flat {each['flat']:.3f} ms, two steps {each['grouped']:.3f}")
