"""Figures of one learner beside its rivals: known labels, new kinds, few labels, no labels, odd data.

    KINHASH_DATA=... python -m kinhash_bench.learner_figures --method kinhash --sets newsgroups network
        --protocol known oldnew few --partitions 30-34 --out results.jsonl [--bits 64] [--with looks=1]

Every record is one line of JSON: method, set, protocol, partition, bits, figures, seconds of the fit. Records
that are in the file already are not computed again. The protocols are the functions of `PROTOCOLS`; each
docstring says what is fitted, asked and found. Partitions 0 to 4 are for development, 30 to 34 for final
figures.

mAP is over the whole ranking. mAP, the first ten ("ten") and near neighbors are expected values over the
orders of tied rows. Distances of codes are whole numbers; scores of floats are rounded to 65,536 levels.
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .learner_rivals import BLIND, RIVALS, UNKNOWN, Bits, as_labels
from .learner_scores import Array, Figures, agreement, found_precision, levels, near, scored, unit
from .learner_sets import TAGGED, UNLABELED, draw

Found = Iterator[tuple[str, Figures]]  # what is appended to the name of the method or protocol, and figures


# ---- methods -----------------------------------------------------------------------------------


def kinhash_learner(**settings: Any) -> Callable[..., Any]:
    """`EnergyHasher` of the installed kinhash; bits that count more than once are repeated."""

    def learn(X: Array, y: Array | None, n_bits: int, seed: int) -> Any:
        from kinhash import EnergyHasher

        hasher = EnergyHasher(n_bits, random_state=seed, **settings).fit(X, as_labels(y))
        weighted = "alike" in inspect.signature(EnergyHasher).parameters

        def bits(codes: Any) -> Array:
            packed = codes.repeated() if weighted else np.asarray(codes)
            return np.unpackbits(packed, axis=1).astype(bool)

        def learned(X: Array, y: Array) -> Array:
            out, known = bits(hasher.encode(X)), y != UNKNOWN if y.ndim == 1 else y.any(axis=1)
            if known.any():
                z = as_labels(y[known])
                codes = hasher.learned_codes(z, X[known]) if weighted else hasher.learned_codes(X[known], z)
                out[known] = bits(codes)
            return out

        def floats(X: Array) -> Array:
            return np.tanh(hasher.decision_function(X))

        return Bits(lambda X: bits(hasher.encode(X)), learned, None if weighted else floats)

    return learn


Learn = Callable[..., Any]  # (X, y or None, n_bits, seed) → (encode, learned), a model, or [(name, model)]


def _models(learn: Learn, X: Array, y: Array | None, n_bits: int, seed: int) -> Iterator[tuple[str, Any]]:
    found = learn(X, y, n_bits, seed)
    if isinstance(found, tuple):
        found = Bits(*found)
    yield from found if isinstance(found, list) else [("", found)]


# ---- protocols ---------------------------------------------------------------------------------


def known(learn: Learn, name: str, partition: int, n_bits: int) -> Found:
    """30 % of the labels stay out with their rows. Of the others 500 queries, 1,000 later rows, rest fitted.

    "learned" and "later": queries against fitted and against later rows; "never": rows of the labels held out
    against each other; "self": a fitted row's features find it first; "mix": share of the first ten that
    15 % mapped rows take among learned ones. With tags no labels are held out.
    """
    X, y, rng = draw(name, partition)
    new = np.zeros(len(X), bool) if y.ndim == 2 else np.isin(y, _some_labels(y, rng))
    old, small = np.flatnonzero(~new), len(X) < 3_000
    n_queries, n_later = (150, 300) if small else (500, 1_000)
    ask, later, fitted = np.split(old, [n_queries, n_queries + n_later])
    never = np.flatnonzero(new)[:2_000]
    gains = agreement(y[ask], y[fitted])
    for suffix, model in _models(learn, X[fitted], y[fitted], n_bits, partition):
        queries, database = model.ask(X[ask]), model.learned(X[fitted], y[fitted])
        apart = model.distances(queries, database)
        figures = scored(apart, gains, "learned ")
        mapped = model.kept(X[later])
        figures |= scored(model.distances(queries, mapped), agreement(y[ask], y[later]), "later ")
        figures["near"] = near(apart, X[ask], X[fitted], gains)
        some = np.arange(min(400, len(fitted)))
        apart = model.distances(model.ask(X[fitted[some]]), database)
        figures["self"] = float((apart[some, some] == apart.min(axis=1)).mean())
        swapped = np.random.default_rng(partition).random(len(fitted)) < 0.15
        mixed = model.mixed(database, model.kept(X[fitted]), swapped)
        share = np.broadcast_to(swapped.astype(np.float32)[:, None], (len(ask), len(fitted), 1))
        figures["mix"] = scored(model.distances(queries, mixed), share)["ten"] / float(swapped.mean())
        if len(never):
            themselves, relevant = np.arange(len(never)), agreement(y[never], y[never])
            apart = model.distances(model.ask(X[never]), model.kept(X[never]))
            figures |= scored(apart, relevant, "never ", themselves)
            figures["near never"] = near(apart, X[never], X[never], relevant, themselves)
        yield suffix, figures


def _some_labels(y: Array, rng: np.random.Generator) -> Array:
    labels = rng.permutation(np.unique(y))
    return labels[: max(2, round(0.3 * len(labels)))]


def oldnew(learn: Learn, name: str, partition: int, n_bits: int) -> Found:
    """30 % of the labels are unknown, but their rows are in the fit and in the database; 1,500 queries."""
    X, y, rng = draw(name, partition)
    ask, rest = np.arange(len(X))[:1_500], np.arange(len(X))[1_500:]
    labels = _some_labels(y, rng)
    is_new, gains = np.isin(y[ask], labels), agreement(y[ask], y[rest])
    given = np.where(np.isin(y[rest], labels), UNKNOWN, y[rest])
    for suffix, model in _models(learn, X[rest], given, n_bits, partition):
        figures: Figures = {}
        database = model.learned(X[rest], given)
        ways = {"": model.distances(model.ask(X[ask]), database)}
        if getattr(model, "floats", None):
            ways["float "] = model.floats_apart(X[ask], database)
        for way, apart in ways.items():
            for kind, rows in (("old", ~is_new), ("new", is_new)):
                figures |= scored(apart[rows], gains[rows], f"{kind} {way}")
        yield suffix, figures


def unseen(learn: Learn, name: str, partition: int, n_bits: int) -> Found:
    """Unseen in all: 30 % of the labels stay out of the fit with their rows, which then join the database.

    Queries of both kinds (1,500) against all rows; "among": those of unseen labels against rows of unseen labels
    alone, which is the easier question that is mostly asked. With tags nothing is held out, so there is none.
    """
    X, y, rng = draw(name, partition)
    ask, rest = np.split(np.arange(len(X)), [min(1_500, len(X) // 4)])
    labels = _some_labels(y, rng)
    is_new, came_later = np.isin(y[ask], labels), np.isin(y[rest], labels)
    fitted = rest[~came_later]
    rest = np.r_[fitted, rest[came_later]]
    later = np.arange(len(rest)) >= len(fitted)
    given, gains = np.where(later, UNKNOWN, y[rest]), agreement(y[ask], y[rest])
    for suffix, model in _models(learn, X[fitted], y[fitted], n_bits, partition):
        apart = model.distances(model.ask(X[ask]), model.learned(X[rest], given))
        figures = scored(apart[~is_new], gains[~is_new], "seen ")
        figures |= scored(apart[is_new], gains[is_new], "unseen ")
        yield suffix, figures | scored(apart[is_new][:, later], gains[is_new][:, later], "among ")


def few(
    learn: Learn, name: str, partition: int, n_bits: int, counts: tuple[int, ...] = (1, 5, 20, 100)
) -> Found:
    """``counts`` labels a class; all other rows are unlabeled, in the fit and, mapped, in the database."""
    X, y, rng = draw(name, partition)
    ask, rest = np.arange(len(X))[:1_000], np.arange(len(X))[1_000:14_000]
    gains, order = agreement(y[ask], y[rest]), rng.permutation(len(rest))
    rank = np.empty(len(rest), np.int64)
    for label in np.unique(y):
        mine = order[y[rest][order] == label]
        rank[mine] = np.arange(len(mine))
    for count in counts:
        given = np.where(rank < count, y[rest], UNKNOWN) if count else None
        for suffix, model in _models(learn, X[rest], given, n_bits, partition):
            apart = model.distances(model.ask(X[ask]), model.kept(X[rest]))
            yield f"{suffix}|few{count}", scored(apart, gains)


def nolabels(learn: Learn, name: str, partition: int, n_bits: int) -> Found:
    """A fit without labels; 1,000 queries against the fitted rows (at most 13,000)."""
    X, y, _ = draw(name, partition)
    n = min(1_000, len(X) // 5)
    ask, rest = np.arange(len(X))[:n], np.arange(len(X))[n : n + 13_000]
    gains = agreement(y[ask], y[rest])
    for suffix, model in _models(learn, X[rest], None, n_bits, partition):
        database = model.kept(X[rest])
        apart = model.distances(model.ask(X[ask]), database)
        figures = scored(apart, gains) | {"near": near(apart, X[ask], X[rest], None)}
        if getattr(model, "floats", None):
            figures["float near"] = near(model.floats_apart(X[ask], database), X[ask], X[rest], None)
        yield suffix, figures


def foundation(learn: Learn, name: str, partition: int, n_bits: int) -> Found:
    """CroVCA's protocol: labels known, the database mapped, mAP of the first 1,000 divided by relevant rows found.

    1,000 queries, as floats ("float") where a model takes them and as they are; rows at the same distance in
    the order of the draw.
    """
    X, y, _ = draw(name, partition)
    n = min(1_000, len(X) // 5)
    ask, rest = np.arange(len(X))[:n], np.arange(len(X))[n:]
    gains = agreement(y[ask], y[rest])
    for suffix, model in _models(learn, X[rest], y[rest], n_bits, partition):
        database = model.kept(X[rest])
        figures = {"found map": found_precision(model.distances(model.ask(X[ask]), database), gains)}
        if getattr(model, "floats", None):
            figures["float found map"] = found_precision(model.floats_apart(X[ask], database), gains)
        yield suffix, figures


def deadcols(learn: Learn, name: str, partition: int, n_bits: int) -> Found:
    """Noise on the queries that no cosine notices: the share of bits that flip, and the first ten."""
    X, y, rng = draw(name, partition)
    ask, rest = np.arange(len(X))[:500], np.arange(len(X))[500:]
    given, gains = None if name in UNLABELED else y[rest], agreement(y[ask], y[rest])
    for suffix, model in _models(learn, X[rest], given, n_bits, partition):
        database, clean = model.learned(X[rest], y[rest]) if given is not None else None, model.ask(X[ask])
        figures = {}
        for size in (0.0, 1e-6, 1e-4):
            codes = model.ask((X[ask] + size * rng.standard_normal(X[ask].shape)).astype(np.float32))
            figures[f"{size:g} flips"] = float((codes != clean).mean())
            if database is not None:
                figures |= scored(model.distances(codes, database), gains, f"{size:g} ")
        yield suffix, figures


def oddcols(learn: Learn, name: str, partition: int, n_bits: int) -> Found:
    """One column of large mean and small spread beside the others: first ten of fitted rows."""
    X, y, rng = draw(name, partition)
    ask, rest = np.arange(len(X))[:400], np.arange(len(X))[400:]
    for mean, spread in ((0, 0), (1_000, 3), (2_010, 5), (20_240, 15)):
        column = mean + spread * rng.standard_normal((len(X), 1))
        Z = np.hstack([X, column]).astype(np.float32) if spread else X
        for suffix, model in _models(learn, Z[rest], y[rest], n_bits, partition):
            apart = model.distances(model.ask(Z[ask]), model.learned(Z[rest], y[rest]))
            yield f"{suffix}|{mean}", scored(apart, agreement(y[ask], y[rest]))


def narrow(learn: Learn, name: str, partition: int, n_bits: int) -> Found:
    """Few columns, classes that need distances; "float": nearest rows by Euclidean distance."""
    X, y, _ = draw(name, partition)
    ask, later, rest = np.split(np.arange(len(X)), [400, 1_000])
    euclid = levels(2 * X[ask] @ X[rest].T - (X[rest] ** 2).sum(axis=1))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        models = list(_models(learn, X[rest], y[rest], n_bits, partition))
    for suffix, model in models:
        gains, queries = agreement(y[ask], y[rest]), model.ask(X[ask])
        figures = scored(model.distances(queries, model.learned(X[rest], y[rest])), gains, "learned ")
        apart = model.distances(queries, model.kept(X[later]))
        figures |= scored(apart, agreement(y[ask], y[later]), "later ") | scored(euclid, gains, "float ")
        yield suffix, figures | {"warned": float(any("kinhash" in str(one.category) for one in told))}


def noise(learn: Learn, name: str, partition: int, n_bits: int) -> Found:
    """30 % of the labels are wrong in the fit; judged by the true ones: learned against mapped rows."""
    X, y, rng = draw(name, partition)
    ask, rest = np.arange(len(X))[: len(X) // 20], np.arange(len(X))[len(X) // 20 :]
    wrong, classes = rng.random(len(rest)) < 0.3, np.unique(y)
    given = np.where(wrong, rng.choice(classes, len(rest)), y[rest])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        models = list(_models(learn, X[rest], given, n_bits, partition))
    for suffix, model in models:
        queries, gains = model.ask(X[ask]), agreement(y[ask], y[rest])
        figures = scored(model.distances(queries, model.learned(X[rest], given)), gains, "learned ")
        figures |= scored(model.distances(queries, model.kept(X[rest])), gains, "mapped ")
        yield suffix, figures | {"warned": float(any("kinhash" in str(one.category) for one in told))}


def rare(learn: Learn, name: str, partition: int, n_bits: int) -> Found:
    """Five rows of one class among all others; its other rows ask. mAP, and recall of logistic regression."""
    from sklearn.linear_model import LogisticRegression

    X, y, _ = draw(name, partition)
    mine = np.flatnonzero(y == np.unique(y)[partition % len(np.unique(y))])
    ask, rest = mine[5:505], np.r_[mine[:5], np.flatnonzero(y != y[mine[0]])]
    rows = unit(X - X[rest].mean(axis=0))
    guess = LogisticRegression(C=10, max_iter=300).fit(rows[rest], y[rest]).predict(rows[ask])
    for suffix, model in _models(learn, X[rest], y[rest], n_bits, partition):
        apart = model.distances(model.ask(X[ask]), model.learned(X[rest], y[rest]))
        figures = scored(apart, agreement(y[ask], y[rest]))
        yield suffix, {"map": figures["map"], "logistic": float((guess == y[ask]).mean())}


def seeds(learn: Learn, name: str, partition: int, n_bits: int) -> Found:
    """Ten seeds on the rows of one partition: standard deviations of mAP and of the first ten."""
    X, y, _ = draw(name, partition)
    ask, later, rest = np.split(np.arange(len(X)), [500, 1_500] if len(X) > 3_000 else [150, 450])
    runs = []
    for seed in range(10):
        for _, model in _models(learn, X[rest], y[rest], n_bits, seed):
            queries = model.ask(X[ask])
            apart = model.distances(queries, model.learned(X[rest], y[rest]))
            found = scored(apart, agreement(y[ask], y[rest]), "learned ")
            apart = model.distances(queries, model.kept(X[later]))
            runs.append(found | scored(apart, agreement(y[ask], y[later]), "later "))
    for which, of in (("mean", np.mean), ("sd", lambda values: np.std(values, ddof=1))):
        yield f"|{which}", {key: float(of([run[key] for run in runs])) for key in runs[0]}


PROTOCOLS: dict[str, Callable[..., Found]] = {
    "known": known,
    "oldnew": oldnew,
    "few": few,
    "unseen": unseen,
    "foundation": foundation,
    "nolabels": nolabels,
    "deadcols": deadcols,
    "oddcols": oddcols,
    "narrow": narrow,
    "noise": noise,
    "rare": rare,
    "seeds": seeds,
}


# ---- running -----------------------------------------------------------------------------------


def quick(
    learn: Learn,
    sets: tuple[str, ...] = ("newsgroups", "network", "icd10"),
    partition: int = 0,
    n_bits: int = 64,
    counts: tuple[int, ...] = (5, 100),
    protocols: tuple[str, ...] = ("known", "oldnew", "few"),
) -> dict[str, Figures]:
    """One setting on a few sets, printed as it goes: a line for each set and protocol.

    ``learn(X, y, n_bits, seed)`` returns ``(encode, learned)``: ``encode(X)`` and ``learned(X, y)`` give bits
    (n, n_bits) as bool. ``y`` is None, classes (n,) with −1 for rows without a label, or tags (n, t).
    """
    table: dict[str, Figures] = {}
    for name in sets:
        for protocol in protocols:
            if protocol in ("oldnew", "few") and name in TAGGED:
                continue
            start = time.process_time()
            more = {"counts": counts} if protocol == "few" else {}
            for suffix, figures in PROTOCOLS[protocol](learn, name, partition, n_bits, **more):
                table[key := f"{name} {protocol}{suffix}"] = figures
                say(f"{key:<24} {brief(figures)}   {time.process_time() - start:.0f} s")
                start = time.process_time()
    return table


def brief(figures: Figures) -> str:
    """Figures without leading zeros; what was measured together stands together."""
    parts: list[str] = []
    for key, value in figures.items():
        *head, last = key.rsplit(" ", 1)
        text = f"{value:.3f}".replace("0.", ".", 1)
        first_of_row = last not in ("ten", "exact", "jaccard")
        parts.append((f"{' '.join(head) or last} " if first_of_row else "/ ") + text)
    return "  ".join(parts).replace("  /", " /")


def say(line: str) -> None:
    """Print one line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--method", required=True, choices=("kinhash", "today", *RIVALS))
    parser.add_argument("--sets", nargs="+", default=["newsgroups", "network", "icd10"])
    parser.add_argument("--protocol", nargs="+", default=["known"], choices=tuple(PROTOCOLS))
    parser.add_argument("--partitions", default="0", help="such as 30-34")
    parser.add_argument("--bits", nargs="+", type=int, default=[64])
    parser.add_argument("--counts", nargs="+", type=int, help="labels a class of the protocol few")
    parser.add_argument("--with", dest="settings", nargs="*", default=[], metavar="NAME=VALUE")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    settings = {key: _value(text) for key, text in (one.split("=", 1) for one in asked.settings)}
    learn = RIVALS.get(asked.method) or kinhash_learner(**settings)
    first, _, last = asked.partitions.partition("-")
    done = _records(asked.out)
    for partition in range(int(first), int(last or first) + 1):
        for name in asked.sets:
            for protocol in asked.protocol:
                for n_bits in asked.bits:
                    label = " ".join([asked.method, *asked.settings])
                    cell = {"set": name, "protocol": protocol, "partition": partition, "bits": n_bits}
                    if (label, *cell.values()) in done:
                        continue
                    start = time.process_time()
                    more: dict[str, Any] = {}
                    if protocol == "few" and (asked.counts or asked.method in BLIND):
                        more["counts"] = (0,) if asked.method in BLIND else tuple(asked.counts)
                    for suffix, figures in PROTOCOLS[protocol](learn, name, partition, n_bits, **more):
                        variant, _, which = suffix.partition("|")
                        seconds = round(time.process_time() - start, 1)
                        record = {"method": label + variant, "run": label, **cell, "which": which}
                        rounded = {key: round(value, 4) for key, value in figures.items()}
                        _write(asked.out, record | {"figures": rounded, "seconds": seconds})
                        start = time.process_time()


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _records(path: Path | None) -> set[tuple[Any, ...]]:
    lines = path.read_text().splitlines() if path is not None and path.exists() else []
    return {tuple(json.loads(x)[k] for k in ("run", "set", "protocol", "partition", "bits")) for x in lines}


def _write(path: Path | None, record: dict[str, Any]) -> None:
    line = json.dumps(record)
    say(line)
    if path is not None:
        with path.open("a") as file:
            file.write(line + "\n")


if __name__ == "__main__":
    main()
