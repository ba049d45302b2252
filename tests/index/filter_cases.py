"""Generated filters, and the truth about each: Python's own comparisons, row by row.

A case builds an index with payload and a history, draws conditions as values, mappings and text, and asks the
index in every way that takes a filter.
"""

from __future__ import annotations

import numpy as np

from kinhash import BitLayout, Codes
from kinhash.index import HammingIndex, Not

from .field_cases import pairs, ranked
from .oracle import IDS, random_codes

WORDS = [
    "a",
    "Drama",
    'say "no"',
    "it's",
    "\\",
    "b\0c",
    "b\0",
    "",
    "é",
    "a longer text than NumPy keeps inline",
]
NUMBERS = [-3, 0, 1, 2, 2**40, 2**53, 2**53 + 1, -(2**63), 2**63 - 1]
FLOATS = [0.1, -0.0, 1.0, 2.0, 1e300, float("inf"), float("nan"), float(2**53)]
COLUMNS = {  # how to draw a value of each column
    "year": lambda rng: NUMBERS[rng.integers(len(NUMBERS))],
    "small": lambda rng: int(rng.integers(0, 9)),
    "price": lambda rng: FLOATS[rng.integers(len(FLOATS))],
    "half": lambda rng: float(np.float32(FLOATS[rng.integers(len(FLOATS) - 4)])),
    "sold": lambda rng: bool(rng.integers(2)),
    "lang": lambda rng: WORDS[rng.integers(len(WORDS))],
    "tags": lambda rng: [WORDS[j] for j in rng.integers(0, len(WORDS), rng.integers(0, 4))],
    "sizes": lambda rng: [NUMBERS[j] for j in rng.integers(0, len(NUMBERS), rng.integers(0, 4))],
    "marks": lambda rng: [FLOATS[j] for j in rng.integers(0, len(FLOATS), rng.integers(0, 3))],
}
TYPES = {"year": np.int64, "small": np.uint8, "price": np.float64, "half": np.float32, "sold": bool}


def check_filter_case(seed, most_rows=150):
    """Build an index, draw filters, compare every answer; returns how many rows passed."""
    rng = np.random.default_rng(seed)
    n_bits = int(rng.choice([13, 64, 64, 64, 100]))
    fields = BitLayout() if rng.random() < 0.7 else BitLayout(n_bits // 2, 3)
    index, rows = built(rng, n_bits, fields, most_rows)
    queries = np.unpackbits(random_codes(rng, int(rng.integers(1, 5)), n_bits, 3, 0.1), axis=1, count=n_bits)
    asked = Codes.from_bits(queries, fields=fields)
    drawn = [draw(rng, rows) for _ in range(3)]
    where, passes = drawn[0]
    passing = [passes] * len(queries)
    how = rng.integers(4)
    if how == 1:
        where = index.filter(where)
    elif how == 2:  # one for each query
        chosen = [drawn[j] for j in rng.integers(0, 3, len(queries))]
        chosen[0] = (None, lambda row: True)
        where, passing = [one for one, _ in chosen], [holds for _, holds in chosen]
        where = [index.filter(one) if rng.random() < 0.3 and one is not None else one for one in where]
    elif how == 3:  # prepared for what the index was
        where = index.filter(where)
        change(rng, index, rows)
    weights, k = fields.weights(n_bits), int(rng.integers(0, 30))
    truth = []
    for query, holds in zip(queries, passing, strict=True):
        some = {name: row["bits"] for name, row in rows.items() if holds(row)}
        truth.append(ranked(some, query, weights, None))
    for _ in range(2):  # unknown, then remembered
        assert pairs(index.search(asked, k, where=where)) == [row[:k] for row in truth]
    r = int(rng.integers(0, fields.max_distance(n_bits)))
    near = index.search_radius(asked, r, where=where)
    assert pairs(near) == [[(d, name) for d, name in row if d <= r] for row in truth]
    margins = np.where(queries == 1, 1.0, -1.0)  # all firm alike: the order stays
    firm = index.search(asked, k, margins=margins, where=where)
    assert [one.ids.tolist() for one in firm] == [[name for _, name in row[:k]] for row in truth]
    return sum(map(len, truth))


def built(rng, n_bits, fields, most_rows):
    """An index with a history, and what it should hold: {id: {column: value, "bits": code}}."""
    name = IDS[list(IDS)[rng.integers(len(IDS))]]
    index, rows = HammingIndex(n_bits, fields=fields), {}
    for _ in range(rng.integers(1, 4)):
        numbers = rng.choice(400, int(rng.integers(1, most_rows)), replace=False)
        put(rng, index, rows, [name(int(number)) for number in numbers])
        gone = [one for one in rows if rng.random() < 0.1]
        index.remove(gone)
        for one in gone:
            del rows[one]
    if rng.random() < 0.5:
        index.compact()
    return index, rows


def put(rng, index, rows, ids):
    """Add or replace rows of few codes, with payload."""
    n_distinct = int(rng.choice([2, 10, 400]))
    packed = random_codes(rng, len(ids), index.n_bits, n_distinct, 0.02)
    bits = np.unpackbits(packed, axis=1, count=index.n_bits)
    drawn = {name: [value(rng) for _ in ids] for name, value in COLUMNS.items()}
    payload = {name: np.array(v, TYPES[name]) if name in TYPES else v for name, v in drawn.items()}
    payload["sizes"] = payload["sizes"] if any(payload["sizes"]) else [[1], *payload["sizes"][1:]]
    payload["marks"] = payload["marks"] if any(payload["marks"]) else [[1.0], *payload["marks"][1:]]
    index.upsert(Codes.from_bits(bits, fields=index.fields), ids, payload)
    for place, one in enumerate(ids):
        rows[one] = {name: column[place] for name, column in payload.items()} | {
            "bits": bits[place],
            "id": one,
        }
        for name in TYPES:
            rows[one][name] = rows[one][name].item()


def change(rng, index, rows):
    """Remove some rows, replace others."""
    gone = [one for one in rows if rng.random() < 0.2]
    index.remove(gone)
    for one in gone:
        del rows[one]
    if rows:
        put(rng, index, rows, [one for one in rows if rng.random() < 0.2] or [next(iter(rows))])


# ---- conditions ------------------------------------------------------------------------------


def draw(rng, rows):
    """A filter, and a function that says of a row whether it passes."""
    kind = rng.integers(7)
    if kind < 2:
        return text_of(rng, 0)
    if kind < 4:
        parts = [of_column(rng, name) for name in rng.permutation(list(COLUMNS))[: rng.integers(0, 4)]]
        where = {name: value for name, value, _ in parts}
        return where, lambda row: all(holds(row) for _, _, holds in parts)
    if kind == 4:
        where, holds = draw(rng, rows)
        return Not(where), lambda row: not holds(row)
    if kind == 5:
        return lambda payload: payload["small"] < 4, lambda row: row["small"] < 4
    names = sorted(rows)
    chosen = rng.random(len(names)) < 0.3
    ids = {name for name, passes in zip(names, chosen, strict=True) if passes}
    where = chosen if rng.random() < 0.5 else list(ids)
    return where, lambda row: row["id"] in ids


def of_column(rng, name):
    """A column, what is wanted of it, and a function that says whether a row has that."""
    some = lambda: first(COLUMNS[name](rng), COLUMNS[name], rng)  # noqa: E731
    kind = rng.integers(4)
    if kind == 0:
        value = some()
        return name, value, lambda row: any(own == value for own in values(row[name]))
    if kind == 1:
        wanted = [some() for _ in range(rng.integers(0, 12))]
        wanted_set = set(wanted) if rng.random() < 0.5 else wanted
        return (
            name,
            wanted_set,
            lambda row: any(own in list(wanted) and own == own for own in values(row[name])),
        )
    if kind == 2:
        low, high = (None if rng.random() < 0.3 else number(some()) for _ in range(2))
        return name, (low, high), lambda row: any(between(own, low, high) for own in values(row[name]))
    _, value, holds = of_column(rng, name)
    return name, Not(value), lambda row: not holds(row)


def first(drawn, draw_value, rng):
    """A single value, also of a column of lists."""
    while isinstance(drawn, list):
        drawn = drawn[0] if drawn else draw_value(rng)
    return drawn


def number(value):
    """Bounds are no NaN."""
    return 0.5 if value != value else value


def values(cell):
    return cell if isinstance(cell, list) else [cell]


def between(own, low, high):
    return own == own and (low is None or own >= low) and (high is None or own <= high)


COMPARISONS = {
    "==": lambda own, value: own == value,
    "<": lambda own, value: own < value,
    "<=": lambda own, value: own <= value,
    ">": lambda own, value: own > value,
    ">=": lambda own, value: own >= value,
}


def text_of(rng, depth):
    """A filter as text, and a function that says whether a row passes."""
    kind = rng.integers(6) if depth < 3 else 0
    if kind == 5:
        text, holds = text_of(rng, depth + 1)
        return f"not ({text})", lambda row: not holds(row)
    if kind in (3, 4):
        parts = [text_of(rng, depth + 1) for _ in range(rng.integers(2, 4))]
        joined = f" {['and', 'OR'][kind - 3]} ".join(f"({text})" for text, _ in parts)
        join = all if kind == 3 else any
        return joined, lambda row: join(holds(row) for _, holds in parts)
    name = list(COLUMNS)[rng.integers(len(COLUMNS))]
    value = number(first(COLUMNS[name](rng), COLUMNS[name], rng))
    written = f"`{name}`" if rng.random() < 0.2 else name
    if kind == 2:
        wanted = [value, number(first(COLUMNS[name](rng), COLUMNS[name], rng))]
        negated = bool(rng.integers(2))
        text = f"{written} {'not ' * negated}in [{', '.join(map(literal, wanted))}]"
        return text, lambda row: negated != any(own in wanted for own in values(row[name]))
    if kind == 1:
        return f"{literal(value)} in {written}", lambda row: any(own == value for own in values(row[name]))
    sign = list(COMPARISONS)[rng.integers(len(COMPARISONS))]
    compare = COMPARISONS[sign]
    return f"{written}{sign} {literal(value)}", lambda row: any(
        compare(own, value) for own in values(row[name])
    )


def literal(value):
    """A value as text says it."""
    if isinstance(value, str):
        quote = "'" if value == 'say "no"' else '"'
        return quote + value.replace("\\", "\\\\") + quote
    return "1e999" if value == float("inf") else str(value).lower()
