"""One suite for all rows of the table: engines find what brute force finds, in the order (distance, id)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinhash import Codes
from kinhash.engines import ENGINES, Engine, check, prepared_statement, search, statement, write
from kinhash.engines.libraries import with_ties
from kinhash.errors import InvalidInput

from .cases import asked_of, assert_answers, brute_force, clustered
from .conftest import NewTarget
from .running import run_statement
from .servers import PostgresServer

ALL = list(ENGINES)
FAST = ["duckdb", "faiss", "parquet", "sqlite"]


@pytest.mark.parametrize("n_bits", [64, 100, 256])
@pytest.mark.parametrize("name", ALL)
def test_ten_thousand_codes_with_many_ties(name: str, n_bits: int, new_target: NewTarget) -> None:
    codes, target = clustered(10_000, n_bits), new_target(name)
    assert write(name, codes, target) == 10_000
    queries = asked_of(codes, 15)
    _, distances = brute_force(codes, queries, 11)
    assert (distances[:, 9] == distances[:, 10]).mean() > 0.5, "ties straddle rank 10 for most queries"
    assert_answers(name, target, codes, queries, 10)


@pytest.mark.parametrize("name", ALL)
def test_extreme_ids(name: str, new_target: NewTarget) -> None:
    codes, target = clustered(500, 24, ids="extreme", centers=5), new_target(name)
    write(name, codes, target)
    assert_answers(name, target, codes, asked_of(codes, 6), 20)


@pytest.mark.parametrize("name", ALL)
def test_string_ids(name: str, new_target: NewTarget) -> None:
    """Found again as they are, ties in the order of their code points, as a sort in Python has it."""
    codes, target = clustered(700, 40, ids="text", centers=5), new_target(name)
    if not ENGINES[name].text_ids:
        with pytest.raises(InvalidInput, match=f"{name} holds numbers only"):
            write(name, codes, target)
        return
    assert write(name, codes, target) == 700
    assert check(name, codes, target).passed
    queries = asked_of(codes, 5)
    found = search(name, target, queries, 30)
    texts = codes.ids.tolist()
    for query, ids, distances in zip(queries.bits(), found.ids, found.distances, strict=True):
        count = (codes.bits() != query).sum(axis=1).tolist()
        truth = sorted(zip(count, texts, strict=True))[:30]
        assert list(zip(distances.tolist(), ids.tolist(), strict=True)) == truth


@pytest.mark.parametrize("name", ALL)
def test_edges_of_k_and_of_queries(name: str, new_target: NewTarget) -> None:
    """Equal codes only, k beyond the rows, k = 0, and no queries: the same shapes as HammingIndex gives."""
    codes, target = clustered(40, 12, centers=1), new_target(name)
    codes = Codes(np.repeat(codes.packed[:1], 40, axis=0), 12, codes.ids)
    write(name, codes, target)
    queries = asked_of(codes, 3)
    for k in (1, 40, 41, 1000):
        assert_answers(name, target, codes, queries, k)
    for some, k, shape in ((queries, 0, (3, 0)), (queries[:0], 5, (0, 5)), (queries[:0], 99, (0, 99))):
        found = search(name, target, some, k)
        assert found.ids.shape == found.distances.shape == shape


@pytest.mark.parametrize("name", ALL)
def test_no_codes_at_all(name: str, new_target: NewTarget) -> None:
    codes, target = Codes(np.empty((0, 8), np.uint8), 64, np.empty(0, np.int64)), new_target(name)
    assert write(name, codes, target) == 0
    assert check(name, codes, target).passed
    assert search(name, target, Codes(np.zeros((2, 8), np.uint8), 64), 3).counts.tolist() == [0, 0]


@pytest.mark.parametrize("n_bits", [1, 7, 8, 9, 55, 56, 57, 63, 65, 1023, 1024])
@pytest.mark.parametrize("name", FAST)
def test_any_length(name: str, n_bits: int, new_target: NewTarget) -> None:
    codes, target = clustered(200, n_bits, seed=n_bits, centers=9), new_target(name)
    write(name, codes, target)
    assert_answers(name, target, codes, asked_of(codes, 5), 12)
    flipped = Codes.from_bits(1 - codes.bits())  # every distance up to the full length
    assert_answers(name, target, codes, flipped[:3], 200)


@pytest.mark.parametrize("n_bits", [1, 57, 1024])
@pytest.mark.parametrize("name", [name for name in ALL if name not in FAST])
def test_some_lengths(name: str, n_bits: int, new_target: NewTarget) -> None:
    codes, target = clustered(200, n_bits, seed=n_bits, centers=9), new_target(name)
    write(name, codes, target)
    assert_answers(name, target, codes, asked_of(codes, 3), 12)


@pytest.mark.parametrize("name", ALL)
def test_plain_arrays_are_numbered(name: str, new_target: NewTarget) -> None:
    packed, target = clustered(100, 16).packed, new_target(name)
    write(name, packed, target)
    numbered = Codes(packed, 16, np.arange(100))
    assert_answers(name, target, numbered, asked_of(Codes(packed, 16), 3), 10)


@pytest.mark.parametrize("name", ALL)
def test_the_statement_finds_the_neighbors(name: str, new_target: NewTarget) -> None:
    """The text alone, pasted into the engine's own client, gives the distances, and the ids but for ties."""
    codes, target = clustered(300, 100), new_target(name)
    write(name, codes, target, table="things")
    query = asked_of(codes, 1)
    text = statement(name, query, target, k=9, table="things")
    ids, distances = run_statement(name, target, text)
    true_ids, true_distances = brute_force(codes, query, 9)
    assert distances == true_distances[0].tolist()
    inner = sum(d < distances[-1] for d in distances)  # ties with the last may be others
    if "select" in text:
        assert ids == true_ids[0].tolist()
    else:
        assert set(ids[:inner]) == set(true_ids[0][:inner].tolist())


@pytest.mark.parametrize("name", [name for name in ALL if hasattr(ENGINES[name], "prepared_statement")])
def test_a_prepared_statement_finds_the_neighbors_of_every_code(name: str, new_target: NewTarget) -> None:
    codes, target = clustered(300, 100), new_target(name)
    write(name, codes, target, table="things")
    queries, texts = asked_of(codes, 5), set()
    for row, k in enumerate([9, 1, 30, 300, 7]):
        text, parameters = prepared_statement(name, queries[row : row + 1], target, k=k, table="things")
        texts.add(text)
        assert parameters["k"] == k
        assert run_statement(name, target, text, parameters) == run_statement(
            name, target, statement(name, queries[row : row + 1], target, k=k, table="things")
        )
        _, distances = brute_force(codes, queries[row : row + 1], k)
        assert run_statement(name, target, text, parameters)[1] == distances[0].tolist()
    assert len(texts) == 1, "one text for all queries"


@pytest.mark.parametrize("name", [name for name in ALL if not hasattr(ENGINES[name], "prepared_statement")])
def test_an_engine_without_sql_has_no_prepared_statement(name: str) -> None:
    with pytest.raises(InvalidInput, match="has no SQL"):
        prepared_statement(name, np.zeros((1, 8), np.uint8), "place")


@pytest.mark.parametrize("name", ALL)
def test_every_row_is_a_final_engine(name: str) -> None:
    kind = ENGINES[name]
    assert issubclass(kind, Engine)
    assert not kind.__abstractmethods__
    assert not kind.__subclasses__()


def test_a_check_that_fails_says_so(new_target: NewTarget) -> None:
    codes, target = clustered(300, 32), new_target("sqlite")
    write("sqlite", codes, target)
    turned = Codes(codes.packed[:, ::-1].copy(), 32, codes.ids)  # bytes in the other order
    outcome = check("sqlite", turned, target)
    assert not outcome.passed
    assert "distances differ from ours" in str(outcome)
    assert "equal ours" in str(check("sqlite", codes, target))
    renamed = Codes(codes.packed, 32, codes.ids + 1)
    outcome = check("sqlite", renamed, target)
    assert outcome.distances_equal
    assert not outcome.ids_equal
    assert "ids (at equal distances) differ" in str(outcome)


def test_an_hnsw_index_does_not_make_pgvector_approximate(pgvector_server: PostgresServer) -> None:
    """In a new database, where writing brings the extension along."""
    import psycopg

    codes, target = clustered(5_000, 64, centers=10), pgvector_server.new_database()
    write("pgvector", codes, target)
    with psycopg.connect(target) as db:
        db.execute("create index on codes using hnsw (code bit_hamming_ops)")
        db.execute("alter role kinhash set enable_seqscan = off")  # take the index wherever it can be taken
    with psycopg.connect(target) as db:
        plan = "explain select id from codes order by code <~> (select code from codes limit 1) limit 10"
        assert "codes_code_idx" in str(db.execute(plan).fetchall())
    assert_answers("pgvector", target, codes, asked_of(codes, 15), 10)
    pgvector_server.run("alter role kinhash reset enable_seqscan")


def test_parquet_asks_the_file_of_that_name_and_no_other(tmp_path: Path) -> None:
    """DuckDB reads a name with [, * or ? as a pattern, which fits other files."""
    pytest.importorskip("pyarrow")
    pytest.importorskip("duckdb")
    for name, other in (("codes[1]", "codes1"), ("c?", "cx"), ("d*", "dx")):
        rows, decoys = clustered(40, 64, seed=1), clustered(40, 64, seed=2)
        write("parquet", decoys, tmp_path / f"{other}.parquet")
        write("parquet", rows, tmp_path / f"{name}.parquet")
        assert check("parquet", rows, tmp_path / f"{name}.parquet").passed


@given(
    distances=st.lists(st.integers(0, 6), min_size=1, max_size=400),
    k=st.integers(1, 400),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_smallest_ids_win_in_any_order_of_ties(distances: list[int], k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, k = np.array(distances, np.float32), min(k, len(distances))
    ids = rng.permutation(len(count)) - 50
    whim = rng.random(len(count))  # the engine's own order among ties
    order = np.lexsort((whim, count))
    asked: list[int] = []

    def fetch(wanted: int) -> tuple[np.ndarray, np.ndarray]:
        asked.append(wanted)
        return ids[order[:wanted]], count[order[:wanted]]

    found, near = with_ties(fetch, k, len(count))
    best = np.lexsort((ids, count))[:k]
    assert found.tolist() == ids[best].tolist()
    assert near.tolist() == count[best].tolist()
    assert max(asked) <= len(count)


@pytest.mark.parametrize("n_bits", [64, 128])
def test_eight_bytes_stay_eight_bytes(n_bits: int, new_target: NewTarget) -> None:
    """A row of FAISS and of SQLite holds the bits of the code and no more."""
    faiss = pytest.importorskip("faiss")
    codes, target = clustered(1_000, n_bits), new_target("faiss")
    write("faiss", codes, target)
    assert faiss.read_index_binary(target).code_size == n_bits // 8
    assert Path(target).stat().st_size < 1_000 * (n_bits // 8 + 8) + 1_000
