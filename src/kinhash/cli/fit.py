"""`kinhash fit`: learn, save, and judge on held-out rows."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import click
import numpy as np
import scipy.sparse as sp

from .. import metrics
from .._internal.types import Array, Facts, Features, Ints
from .._internal.validation import check_finite
from ..data import read_table, split_column
from ..errors import DamagedFile, InvalidInput, warn
from ..hasher import EnergyHasher
from ..labels import labels_of_levels
from ..labels import read_labels as read_labels_of
from . import inputs
from .terminal import (
    bar,
    counted,
    emit,
    file_option,
    json_option,
    max_false_option,
    output_option,
    refuse,
    talk,
    visible,
)

ENERGIES = ("rank", "ksh", "lfh", "bre", "splh", "exph")
OF_ROWS, OF_LINKS = ("labels", "tags", "tree"), ("pairs", "clicks", "triplets", "similarity")
# What a line of links holds: numbers of rows, and columns that may follow.
LINES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "pairs": (("left", "right"), ("verdict", "weight")),
    "clicks": (("left", "right"), ()),
    "triplets": (("anchor", "nearer", "further"), ()),
}
FEWEST = 20  # rows below which an order says nothing
DECIDING = 0.25  # share of the rows or pairs that is held out where they decide what is the same


class HeldOut(NamedTuple):
    """At most ``n`` rows at random, or exactly the last ones."""

    n: int
    last: bool = False


def read_held_out(ctx: click.Context, param: click.Parameter, value: str) -> HeldOut:
    """``500`` or ``last:500``."""
    order, _, number = value.rpartition(":")
    if order not in ("", "last") or not number.isdecimal() or (order and int(number) == 0):
        raise click.BadParameter(f"{value!r} is neither a number of rows, such as 500, nor last:500.")
    return HeldOut(int(number), order == "last")


@click.command()
@click.argument("features")
@file_option("labels", "One class per row; empty where it is unknown.")
@file_option("tags", "The tags of each row: lists, a;b in text, or a 0/1 matrix.")
@file_option("tree", "Labels that are paths such as sport/shoes/trail.")
@file_option("pairs", "Lines of row, row, verdict (1 similar, -1 not, or between), weight.", "FILE")
@file_option("clicks", "Lines of row, row: similar rows. The first row is 0.", "FILE")
@file_option("triplets", "Lines of row, nearer row, further row.", "FILE")
@file_option("similarity", "A matrix from -1 to 1 between rows, 0: unknown (.npz, .npy).", "FILE")
@click.option(
    "--view", "views", metavar="NAME=FILE", multiple=True,
    help="Other features of the same rows, for the same codes: text=captions.npy. May be repeated.",
)  # fmt: skip
@file_option("ids", "Ids of the rows, kept in the file of --codes. Then pairs, clicks and triplets name ids.")
@click.option(
    "--bits", default="64", show_default=True, metavar="N[,N]", help="Length; several: print a table."
)
@click.option("--energy", type=click.Choice(ENERGIES), help="What is minimized.  [default: rank]")
@click.option("--looks", type=click.FloatRange(0), help="How much looks count beside labels.  [default: 0.5]")
@click.option("--trust", type=click.FloatRange(0, 1), help="How much a row's label counts.  [default: 0.3]")
@file_option("looks-from", "Other features by which rows look alike.")
@click.option(
    "--held-out", callback=read_held_out, metavar="N", default="1000", show_default=True,
    help="Rows held out: N at random, a tenth at most (a quarter with --max-false); last:500: the last; 0: none.",
)  # fmt: skip
@max_false_option(
    "Also decide, on what was held out, which rows are the same: 1% of the matches may be false."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Same seed, same codes.")
@output_option("Where the model goes, e.g. model.kin.", required=False)
@file_option("codes", "Where the learned codes of the rows go, e.g. db.kin.", "FILE")
@json_option
def fit(
    features: str, bits: str, output: str | None, codes: str | None, as_json: bool, **options: Any
) -> None:
    """Learn codes from the rows of FEATURES (.npy, .npz, .csv, .parquet, .svm), with what is known about them.

    Without labels, tags or pairs, codes learn the looks of the rows alone. Ends with a comparison on held-out
    rows. FILE:COLUMN names a column, an array of a .npz, or several (table.csv:width,height); :COLUMN is a
    column of FEATURES, which is no feature then.

    \b
    Examples:
      kinhash fit X.npy --labels y.txt -o model.kin --codes db.kin
      kinhash fit X.npy -o model.kin
      kinhash fit table.csv:-name --labels :species -o model.kin
      kinhash fit rows.parquet:embedding --labels :label --ids :id -o model.kin --codes db.kin
      kinhash fit X.npy --clicks clicks.csv --labels some.txt -o model.kin
      kinhash fit pictures.npy --view text=captions.npy --tags tags.txt -o model.kin
      kinhash fit X.npy --pairs pairs.csv --ids ids.txt --max-false 1% -o model.kin
      kinhash fit X.npy --labels y.txt --bits 16,32,64,128
    """
    lengths = _lengths(bits)
    options = _of_features(features, options)
    _expect_sense(options, lengths, output, codes)
    files = [features, *(options[name] for name in (*OF_ROWS, *OF_LINKS, "ids", "looks_from"))]
    files += [view.partition("=")[2] for view in options["views"]]
    inputs.expect_output(output, *files)
    inputs.expect_output(codes, *files)
    start = time.perf_counter()
    with bar("reading", 1) as move:
        given = _read(features, options)
        talked = talk(given["read"])
        seconds = {"reading": time.perf_counter() - start}
        result: Facts = {"features": features, "read": given["read"], "rows": given["X"].shape[0]}
        if len(lengths) > 1:
            move(0.1, "learning")
            verdict = metrics.compare_bits(
                partial(_hasher, options), given["X"], given["y"], lengths, random_state=options["seed"]
            )
            texts, result["verdict"] = [str(verdict)], verdict.as_dict()
        else:
            move(0.1, f"learning {lengths[0]} bits")
            hasher, train, facts, texts = _learn(given, options, lengths[0], move)
            seconds |= facts.pop("seconds")
            hasher.save(output)
            result |= {**facts, "model": output, "model_id": hasher.model_id_}
            texts.append(f"Model {hasher.model_id_[:12]} ({lengths[0]} bits) written to {output}.")
        if codes is not None:
            move(1, "encoding")
            found = _all_codes(hasher, given, train)
            inputs.write_codes(found, codes)
            learned = int(found.learned_rows().sum())
            result |= {"codes": codes, "learned_codes": learned}
            texts.append(f"{counted(len(found), 'code')} written to {codes}, {learned:,} of them learned.")
    result["seconds"] = {**seconds, "total": time.perf_counter() - start}
    texts.append(f"Seconds: {result['seconds']['total']:.1f}.")
    emit(result, "\n".join([*([] if talked else [given["read"]]), *texts]), as_json)
    if output is not None and not as_json:
        talk(f"Next: kinhash encode {output} NEW_ROWS -o codes.kin")


# ---- options -----------------------------------------------------------------------------------


def _lengths(text: str) -> list[int]:
    words = [word.strip() for word in text.split(",")]
    for word in words:
        if not word.isdecimal() or int(word) < 1:
            raise click.UsageError(f"--bits {text}: {word!r} is not a number of bits.")
    return [int(word) for word in words]


def _of_features(features: str, options: Facts) -> Facts:
    """The options with ``:COLUMN`` written out: a column of FEATURES."""
    path = split_column(features)[0]
    names = (*OF_ROWS, "ids", "looks_from")
    out = {name: f"{path}{options[name]}" for name in names if (options[name] or "").startswith(":")}
    return {**options, **out}


def _expect_sense(options: Facts, lengths: list[int], output: str | None, codes: str | None) -> None:
    """Refuse options that exclude each other, or have no effect."""
    of_rows = [f"--{name}" for name in OF_ROWS if options[name]]
    of_links = [f"--{name}" for name in OF_LINKS if options[name]]
    several = len(lengths) > 1
    beyond_labels = of_links or options["views"] or options["looks_from"] or options["tree"]
    refuse(
        *((given[1:], f"Pass one of {' and '.join(given)}, not both.") for given in (of_rows, of_links)),
        (
            options["trust"] is not None and not of_rows,
            "--trust is about labels: pass --labels, --tags or --tree, too.",
        ),
        (
            options["looks_from"] and of_links,
            f"--looks-from has no effect with {''.join(of_links)}. Leave it out.",
        ),
        (
            options["held_out"].last and of_links and not options["similarity"],
            "Pairs are held out at random: leave last: away.",
        ),
        (
            options["ids"] and codes is None and not any(options[name] for name in LINES),
            "--ids has no effect without --codes FILE, pairs, clicks or triplets.",
        ),
        (
            options["max_false"] and (several or not (of_rows or options["pairs"] or options["clicks"])),
            "--max-false needs one length, and labels, tags, a tree, pairs or clicks to decide from.",
        ),
        (
            options["max_false"] and options["held_out"].n == 0,
            "--max-false decides on held-out rows: leave --held-out 0 away.",
        ),
        (
            several and (output or codes),
            "Several --bits print a table and write nothing: leave -o and --codes out.",
        ),
        (
            several and beyond_labels,
            "Several --bits are compared for labels, tags or looks alone: pass one length.",
        ),
        (
            not several and output is None,
            "Missing option '-o': where the model goes, such as -o model.kin.",
        ),
        (codes is not None and codes == output, "The model and the codes cannot be one file."),
    )


# ---- reading -----------------------------------------------------------------------------------


def _read(features: str, options: Facts) -> Facts:
    """Everything that the files hold, checked before the fit."""
    others = (options[name] for name in (*OF_ROWS, "ids", "looks_from"))
    matrix = read_table(features).features(inputs.columns_beside(features, *others))
    try:
        X = matrix.read()
    except DamagedFile as error:
        if matrix.column_names is None:
            raise
        remedy = f"Leave out columns that are no features: {matrix.path}:-COLUMN, or --labels :COLUMN"
        raise DamagedFile(error.wrong, error.expected, remedy) from error
    with inputs.naming(features):
        check_finite(X)
    n = X.shape[0]
    y = inputs.read_labels(options["labels"] or options["tree"], options["tags"], n)
    ids = inputs.read_ids(options["ids"], n)
    _expect_different(ids, options["ids"])
    links, what = _links(options, n, ids)
    views = {}
    for one in options["views"]:
        name, _, file = one.partition("=")
        if not file or name in views:
            raise click.UsageError(
                f"--view {one}: pass NAME=FILE, each name once, such as text=captions.npy."
            )
        views[name] = inputs.read_features(file, n, "rows")
    looks_from = inputs.read_features(options["looks_from"], n, "rows")
    size = f"{counted(n, 'row')} × {counted(X.shape[1], 'column')}"
    read = ", ".join(part for part in (size, what, _labels_in_words(y)) if part) + "."
    if matrix.column_names is not None:
        names = list(matrix.column_names)
        shown = ", ".join(visible(name[:40], one_line=True) for name in names[:8])
        read += f" Features: {shown}" + (f" and {len(names) - 8:,} more." if len(names) > 8 else ".")
    _warn_of_ids(X, matrix.column_names)
    return {
        "X": X, "y": y, "links": links, "ids": ids, "views": views, "looks_from": looks_from,
        "names": matrix.column_names, "read": read,
    }  # fmt: skip


def _links(options: Facts, n_rows: int, ids: Array | None) -> tuple[Facts | None, str]:
    """Arguments of the method that learns from what is known between rows, and what was read in words."""
    for kind, (ends, more) in LINES.items():
        if options[kind]:
            found = inputs.read_links(options[kind], len(ends), n_rows, more, ids)
            facts = dict(zip(ends, found.rows.T, strict=True))
            facts |= {} if found.verdicts is None else {"same": found.verdicts}
            facts |= {} if found.weights is None else {"weight": found.weights}
            return facts, counted(len(found.rows), kind[:-1])
    if spec := options["similarity"]:
        S = inputs.read_features(spec, n_rows, "rows")
        if S.shape[1] != n_rows:
            raise InvalidInput(f"{spec} has {S.shape[1]:,} columns for {n_rows:,} rows", "a square matrix")
        return {"S": S}, "similarities"
    return None, ""


def _labels_in_words(y: Any) -> str:
    """How many labels there are, and on how many rows: ``25 tags, 2.1 a row; 12 rows without a label``."""
    if y is None:
        return ""
    known = int(inputs.known_rows(y).sum())
    unknown = len(inputs.known_rows(y)) - known
    if y.ndim == 2:
        said = f"{y.shape[1]:,} tags, {(y != 0).sum() / max(1, known):.1f} a row"
    else:
        values = [one for one in y.tolist() if one is not None and one == one]
        tags = any(isinstance(one, (set, frozenset)) for one in values)
        counts = Counter(one for row in values for one in (row if tags else [row]))
        names = ", ".join(visible(str(name)[:40], one_line=True) for name in sorted(counts, key=str)[:5])
        said = (
            f"{len(counts):,} {'tags' if tags else 'classes'} ({names}{', ...' if len(counts) > 5 else ''})"
        )
    return said + (f"; {counted(unknown, 'row')} without a label" if unknown else "")


def _expect_different(ids: Array | None, spec: str | None) -> None:
    """Refuse ids that stand twice, before the fit: no index could hold them."""
    if ids is None:
        return
    names = ids.tolist()
    again = [name for name, times in Counter(names).items() if times > 1]
    if again:
        first, second = [place for place, name in enumerate(names) if name == again[0]][:2]
        raise InvalidInput(
            f"{spec} holds the id {again[0]!r} twice, in rows {first} and {second} (the first is 0); "
            f"{len(again):,} ids are not unique",
            "different ids",
            "Mend the ids, or leave them out",
        )


def _warn_of_ids(X: Features, names: tuple[str, ...] | None) -> None:
    """Say which columns look like ids: whole numbers that ascend from row to row."""
    if sp.issparse(X) or X.shape[0] < FEWEST:
        return
    some = np.asarray(X[:200], np.float64)
    ascending = (np.diff(some, axis=0) > 0).all(axis=0) & (some == np.rint(some)).all(axis=0)
    for column in np.flatnonzero(ascending).tolist():
        whole = np.asarray(X[:, column])
        if (whole[1:] > whole[:-1]).all():
            name = f"{column} (the first is 0)" if names is None else repr(names[column])
            warn(
                f"Column {name} holds whole numbers that ascend from row to row, like an id. If it is no "
                "feature, leave it out: FEATURES:-COLUMN."
            )


# ---- learning ----------------------------------------------------------------------------------


def _hasher(options: Facts, n_bits: int) -> EnergyHasher:
    settings = {name: options[name] for name in ("energy", "looks", "trust") if options[name] is not None}
    if options["tree"]:
        settings["kinship"] = "tree"
    return EnergyHasher(n_bits=n_bits, random_state=options["seed"], **settings)


def _learn(given: Facts, options: Facts, n_bits: int, move: Any) -> tuple[Any, Ints, Facts, list[str]]:
    """Hold rows or pairs out, fit, and judge: the hasher, rows of the fit, facts for JSON and lines of text."""
    hasher, rng = _hasher(options, n_bits), np.random.default_rng(options["seed"])
    X, y, links, wanted = given["X"], given["y"], given["links"], options["held_out"]
    of_rows = links is None or "S" in links
    share = DECIDING if options["max_false"] else metrics.SHARE_HELD_OUT
    split = _split(y if links is None else None, X.shape[0], wanted, rng, of_rows, share)
    train, verdict, start = split.train, None, time.perf_counter()
    held, beside = np.zeros(0, bool), {} if y is None else {"y": y[train]}
    if links is None:
        more = {} if given["looks_from"] is None else {"looks_from": given["looks_from"][train]}
        hasher.fit(X[train], **beside, **more)
    elif "S" in links:
        hasher.fit_similarity(X[train], links["S"][train][:, train], **beside)
    else:
        named = LINES["triplets" if "anchor" in links else "pairs"][0]
        ends = np.stack([links[name] for name in named], axis=1)
        held = metrics.hold_out_pairs(ends, X.shape[0], rng, share) if wanted.n else np.zeros(len(ends), bool)
        fit_links = hasher.fit_triplets if "anchor" in links else hasher.fit_pairs
        fit_links(X, **{name: value[~held] for name, value in links.items()}, **beside)
    for name, Z in given["views"].items():
        hasher.add_view(name, Z[train], beside["y"] if links is None and beside else None, beside=X[train])
    if given["names"] is not None:
        hasher.feature_names_in_ = np.array(given["names"], object)
    seconds = {"learning": time.perf_counter() - start}
    move(0.6, "judging")
    if held.any():
        compare_links = metrics.compare_triplets if "anchor" in links else metrics.compare_pairs
        rest = {name: value for name, value in links.items() if name != "weight"}
        verdict = compare_links(hasher, X, **rest, held=held, random_state=rng)
        said = f"{int(held.sum()):,} of {len(held):,} lines"
    else:
        said = f"{'the last ' if wanted.last else ''}{len(split.held_out):,} rows"
        asked = np.empty(0) if y is None else np.flatnonzero(inputs.known_rows(y)[split.held_out])
        if len(split.held_out) and (y is None or len(asked)) and links is None:
            above = labels_of_levels(read_labels_of(y), None)[1:] if options["tree"] else ()
            never = given["looks_from"] is None and not options["tree"]
            how: Facts = {"split": split, "above": above, "never_labeled": never, "random_state": rng}
            verdict = metrics.compare(hasher, X, y, **how)
    texts = [f"There is no comparison: {said} were held out."] if verdict is None else [str(verdict)]
    if options["max_false"]:
        rows = split.held_out
        known: Facts = {} if links is None else {k: v[held] for k, v in links.items() if k != "weight"}
        decision = _decide(
            hasher, X if known else X[rows], None if known else y[rows], known, options["max_false"]
        )
        texts += ["", str(decision)]
    views = []
    for name, Z in given["views"].items():
        if len(split.held_out):
            views.append(metrics.compare_views(hasher, name, X, Z, y, split=split, random_state=rng))
            texts += ["", str(views[-1])]
    seconds["judging"] = time.perf_counter() - start - seconds["learning"]
    facts: Facts = {
        "n_bits": n_bits, "columns": int(X.shape[1]), "training_rows": len(train), "held_out": said,
        "verdict": None if verdict is None else verdict.as_dict(),
        "decision": None if hasher.decision_ is None else hasher.decision_.as_dict(),
        "views": [one.as_dict() for one in views], "seconds": seconds,
    }  # fmt: skip
    return hasher, train, facts, texts


def _decide(hasher: Any, X: Features, y: Any, pairs: Facts, max_false: float) -> Any:
    """What is the same, by held-out rows or pairs; or why that cannot be decided."""
    try:
        if pairs:
            return hasher.decide_pairs(X, **pairs, max_false=max_false)
        return hasher.decide(X, y, max_false=max_false)
    except InvalidInput as error:
        return f"Nothing was decided. {error}"


def _split(y: Any, n_rows: int, wanted: HeldOut, rng: Any, of_rows: bool, share: float) -> metrics.Split:
    """Rows to fit on, and rows held out."""
    everything = np.arange(n_rows)
    if not of_rows or wanted.n == 0:
        return metrics.Split(everything, everything[:0])
    if not wanted.last:
        return metrics.hold_out(n_rows if y is None else read_labels_of(y), rng, most=wanted.n, share=share)
    if wanted.n > n_rows - 2:
        raise click.UsageError(f"--held-out last:{wanted.n} leaves fewer than two of {n_rows} rows.")
    return metrics.Split(everything[: n_rows - wanted.n], everything[n_rows - wanted.n :])


def _all_codes(hasher: Any, given: Facts, train: Ints) -> Any:
    """One code per row of the file: those of the fit, and held-out rows by their labels as far as known."""
    X, y, codes = given["X"], given["y"], hasher.codes_
    held_out = np.setdiff1d(np.arange(X.shape[0]), train)
    if not len(held_out):
        return replace(codes, ids=given["ids"])
    labels = None if y is None or given["links"] else y[held_out]
    if labels is not None and labels.ndim == 1:  # labels that no row of the fit has are unknown
        sets = [row if isinstance(row, set) else {row} for row in y.tolist()]
        known = set[Any]().union(*(sets[row] for row in train.tolist()))
        fits = [bool(sets[row]) and sets[row] <= known for row in held_out.tolist()]
        labels = np.where(fits, labels, None)
    others = inputs.codes_with_labels(hasher, X[held_out], labels)
    order = np.argsort(np.concatenate([train, held_out]))
    return replace(inputs.joined([replace(codes, ids=None), others])[order], ids=given["ids"])
