"""Evaluation: the right rows go to the right places, and the numbers are those of the metrics."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from protocol_methods import SignBits, blobs
from sklearn.metrics import average_precision_score, roc_auc_score

from kinhash import EMKSH, EnergyHasher, metrics
from kinhash.codes import Codes, unpack_bits
from kinhash.errors import CodesMismatch, InvalidInput, KinhashWarning, UnknownName
from kinhash_bench import datasets
from kinhash_bench.protocols import PROTOCOLS, Cosine, Partition, Protocol, evaluate, nearest_kin_of
from kinhash_bench.protocols.near_kin import NearestKin, near_kin, near_kin_from_scores

PAPER = PROTOCOLS["paper"]


@pytest.fixture(autouse=True)
def _forget():
    SignBits.seen.clear()


def distances(packed, others, n_bits):
    left, right = unpack_bits(packed, n_bits), unpack_bits(others, n_bits)
    return (left[:, None, :] != right[None, :, :]).sum(axis=2)


# -- what is scored ----------------------------------------------------------------------------


def test_learned_and_mapped_are_what_the_metrics_say():
    X, y = blobs()
    record = evaluate(SignBits(), (X, y))
    part = PAPER.partition(len(y))
    method = SignBits().fit(X[part.train], y[part.train])
    queries = method.encode(X[part.query])
    for score, packed in ((record.learned, method.codes_), (record.mapped, method.encode(X[part.train]))):
        wanted = metrics.evaluate(queries, packed, y[part.query], y[part.train], n_bits=4)
        assert score.value == wanted.value
        assert score.band == wanted.band
        assert score.band[0] <= score.value <= score.band[1]
        np.testing.assert_array_equal(score.per_query, wanted.per_query)
    assert record.learned.value != record.mapped.value
    assert (record.queries == part.query).all()
    assert record.health["learned"]["n_unique"] == 5
    assert record.health["mapped"]["n_codes"] == len(part.train)


@pytest.mark.parametrize("protocol", ["paper", "inductive", "pairs", "unseen-classes"])
def test_nearest_kin_found_beforehand_are_those_of_the_evaluation(protocol, monkeypatch):
    data = blobs()
    records = [evaluate(method, data, protocol, 1) for method in (SignBits(), Cosine())]
    known = nearest_kin_of(data, protocol, 1)
    monkeypatch.setattr(NearestKin, "of", None)  # nobody looks for them again
    for method, record in zip((SignBits(), Cosine()), records, strict=True):
        again = evaluate(method, data, protocol, 1, nearest=known)
        for which, near in record.near_kin.items():
            np.testing.assert_array_equal(again.near_kin[which].per_query, near.per_query)


@pytest.mark.parametrize("method", [SignBits(), Cosine()])
def test_a_record_says_how_well_the_nearest_kin_are_found(method):
    X, y = blobs(700)
    record, part = evaluate(method, (X, y)), PAPER.partition(len(y))
    sides = y[part.query], y[part.train], X[part.query], X[part.train]
    if isinstance(method, Cosine):
        unit = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in sides[2:]]
        wanted = {"mapped": near_kin_from_scores(unit[0] @ unit[1].T, *sides)}
    else:
        fitted = SignBits().fit(X[part.train], y[part.train])
        queries = fitted.encode(X[part.query])
        databases = {"learned": fitted.codes_, "mapped": fitted.encode(X[part.train])}
        wanted = {kind: near_kin(queries, codes, *sides, n_bits=4) for kind, codes in databases.items()}
    assert record.near_kin.keys() == wanted.keys()
    for kind, near in wanted.items():
        found = record.near_kin[kind]
        assert (found.value, found.recall) == pytest.approx((near.value, near.recall))
        assert (found.distinct, found.n_queries) == (near.distinct, len(part.query))
        assert record.to_dict(per_query=False)["near_kin"][kind]["recall"] == found.recall


def test_only_training_rows_are_trained_on():
    X, y = blobs()
    X[:, 0] = np.arange(len(X))  # so that rows can be told apart
    for name in ("paper", "inductive", "unseen-classes", "pairs"):
        SignBits.seen.clear()
        evaluate(SignBits(), (X, y), name, 2)
        part = PROTOCOLS[name].partition(y, 2)
        ((rows, labels),) = SignBits.seen
        assert rows[:, 0].tolist() == part.train.tolist()
        assert labels.tolist() == y[part.train].tolist()
        hidden = [part.query, part.validation] + ([] if name == "paper" else [part.database])
        assert not np.isin(rows[:, 0], np.concatenate(hidden)).any()


def test_the_method_itself_stays_as_it_was():
    X, y = blobs()
    hasher = EMKSH(8, random_state=0)
    first = evaluate(hasher, (X, y))
    assert not hasattr(hasher, "codes_")
    assert evaluate(hasher, (X, y)).learned.value == first.learned.value
    assert first.parameters["n_bits"] == 8
    assert first.method == "EMKSH"


def test_learned_codes_that_lie_outside_do_not_help():
    """A database that knows its labels beats one that does not, and `inductive` has no such database."""
    X, y = blobs(n=600)
    record = evaluate(EnergyHasher(8, random_state=0), (X, y))
    assert record.learned.value > record.mapped.value
    outside = evaluate(EnergyHasher(8, random_state=0), (X, y), "inductive")
    assert outside.learned is None
    assert outside.n_database + outside.n_train == 600 - 2 * 120


def test_methods_without_learned_codes():
    record = evaluate(SignBits(learns=False), blobs())
    assert record.learned is None
    assert record.mapped is not None
    assert record.health.keys() == {"mapped"}


def test_unseen_tags_decide_alone_who_is_kin():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 6))
    Y = sp.csr_array((rng.random((400, 8)) < 0.25).astype(int))
    record = evaluate(SignBits(learns=False), (X, Y), "unseen-classes")
    part = PROTOCOLS["unseen-classes"].partition(Y)
    kept = Y[:, part.unseen]
    wanted = metrics.evaluate(
        SignBits().encode(X[part.query]),
        SignBits().encode(X[part.database]),
        kept[part.query],
        kept[part.database],
        n_bits=4,
    )
    assert record.mapped.value == wanted
    ((_, labels),) = SignBits.seen
    assert labels.shape[1] == 8 - len(part.unseen)


@pytest.mark.parametrize(("ties", "top", "no_kin"), [("index", 5, "skip"), ("optimistic", None, "zero")])
def test_ties_cut_and_queries_without_kin(ties, top, no_kin):
    X, y = blobs(n=60, k=5)
    y = np.where(np.arange(60) % 7 == 0, [f"alone {i}" for i in range(60)], y)
    protocol = Protocol("mine", codes="mapped", ties=ties, top=top, no_kin=no_kin)
    record = evaluate(SignBits(learns=False), (X, y), protocol)
    part = protocol.partition(60)
    wanted = metrics.evaluate(
        SignBits().encode(X[part.query]),
        SignBits().encode(X[part.train]),
        y[part.query],
        y[part.train],
        measures="map" if top is None else f"map@{top}",
        n_bits=4,
        ties=ties,
        no_kin=no_kin,
    )
    assert record.mapped.value == wanted
    assert record.mapped.n_without_kin == sum(label.startswith("alone") for label in y[part.query]) > 0


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("rows", ["training", "all"])
def test_standardized_columns(rows, sparse):
    X, y = blobs()
    X[:, 5] = 3.25
    protocol = replace(PAPER, standardize=rows)
    evaluate(SignBits(), (sp.csr_array(X) if sparse else X, y), protocol)
    part = protocol.partition(len(y))
    ((seen, _),) = SignBits.seen
    used = X[part.train] if rows == "training" else X
    wanted = (X - used.mean(axis=0)) / np.where(used.std(axis=0) > 0, used.std(axis=0), 1)
    np.testing.assert_allclose(seen, wanted[part.train], atol=1e-5)
    assert (seen[:, 5] == 0).all()
    if rows == "training":
        np.testing.assert_allclose(seen[:, :5].std(axis=0), 1, atol=1e-5)


def test_settings_are_chosen_on_validation_rows():
    X, y = blobs()
    record = evaluate(SignBits(), (X, y), on="validation")
    assert record.on == "validation"
    assert (record.queries == PAPER.partition(len(y)).validation).all()
    assert record.n_database == len(PAPER.partition(len(y)).train)
    assert "queries: validation rows" in str(record)


def test_unknown_labels_are_counted():
    X, y = blobs()
    y = y.astype(object)
    part = PAPER.partition(len(y))
    y[part.query[:4]] = None
    y[part.train[:9]] = None
    record = evaluate(EMKSH(8, random_state=0), (X, y))
    assert record.learned.n_unknown_queries == 4
    assert record.learned.n_unknown_rows == 9
    assert np.isnan(record.learned.per_query[:4]).all()
    assert not np.isnan(record.learned.value)


# -- pairs -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_bits", [1, 4, 6])
def test_pairs_are_scored_like_scikit_learn_does(n_bits):
    X, y = blobs(n=200)
    record = evaluate(SignBits(n_bits, learns=False), (X, y), "pairs")
    rows = PROTOCOLS["pairs"].partition(len(y)).query
    codes = SignBits(n_bits).encode(X[rows])
    far, kin = distances(codes, codes, n_bits), y[rows][:, None] == y[rows][None, :]
    upper = np.triu_indices(len(rows), 1)
    assert record.mapped.value == pytest.approx(roc_auc_score(kin[upper], -far[upper]), abs=1e-12)
    for i in range(len(rows)):
        others = np.arange(len(rows)) != i
        wanted = roc_auc_score(kin[i][others], -far[i][others])
        assert record.mapped.per_query[i] == pytest.approx(wanted, abs=1e-12)
    assert record.learned is None
    assert record.mapped.metric == "ROC AUC over pairs"
    # No way to break the ties leaves the band.
    worst = roc_auc_score(kin[upper], -far[upper] - 0.5 * kin[upper])
    best = roc_auc_score(kin[upper], -far[upper] + 0.5 * kin[upper])
    assert record.mapped.band == pytest.approx((worst, best), abs=1e-12)


def test_pairs_against_a_database_and_with_unknown_labels():
    X, y = blobs(n=200)
    y = y.astype(object)
    y[::11] = None
    protocol = Protocol("mine", measure="pair auc", codes="mapped")
    record = evaluate(SignBits(learns=False), (X, y), protocol)
    part = protocol.partition(len(y))
    asked = part.query[[label is not None for label in y[part.query]]]
    found = part.train[[label is not None for label in y[part.train]]]
    far = distances(SignBits().encode(X[asked]), SignBits().encode(X[found]), 4)
    kin = y[asked][:, None] == y[found][None, :]
    assert record.mapped.value == pytest.approx(roc_auc_score(kin.ravel(), -far.ravel()), abs=1e-12)
    assert record.mapped.n_unknown_queries == len(part.query) - len(asked)


def test_no_kin_at_all():
    X, y = blobs(n=60)
    alone = [f"{label} {i}" for i, label in enumerate(y)]
    with pytest.warns(KinhashWarning, match="AUC is NaN"):
        record = evaluate(SignBits(learns=False), (X, alone), "pairs")
    assert np.isnan(record.mapped.value)
    assert record.to_dict()["mapped"]["value"] is None
    assert record.mapped.n_without_kin == 12


# -- records -----------------------------------------------------------------------------------


def test_a_record_says_how_its_numbers_came_about():
    digits = datasets.load("digits")
    record = evaluate(EMKSH(12, random_state=1), digits, "paper", 1)
    assert (record.protocol, record.protocol_digest) == ("paper", PAPER.digest)
    assert (record.dataset, record.checksum) == ("digits", digits.checksum)
    assert (record.n_bits, record.bytes_per_item, record.partition) == (12, 2, 1)
    assert record.seconds.keys() == {"fit", "encode", "score"}
    assert record.n_encoded == len(record.queries) + record.n_database
    assert f"paper@{PAPER.digest} partition 1" in str(record)
    again = json.loads(json.dumps(record.to_dict(), allow_nan=False))
    assert again["learned"]["value"] == record.learned.value
    assert again["learned"]["per_query"] == record.learned.per_query.tolist()
    assert again["parameters"]["random_state"] == 1
    short = record.to_dict(per_query=False)
    assert "queries" not in short
    assert "per_query" not in short["mapped"]
    assert short["mapped"]["band"] == list(record.mapped.band)


def test_parameters_that_are_objects_can_be_written():
    X, y = blobs()
    record = evaluate(SignBits(n_bits=np.int64(4), learns=np.bool_(True)), (X, y))
    assert record.parameters == {"learns": True, "n_bits": 4}
    odd = EMKSH(4, alpha=float("inf"), anchors=np.arange(3), random_state=np.random.default_rng(0))
    from kinhash_bench.protocols.record import plain_parameters

    plain = plain_parameters(odd)
    assert (plain["alpha"], plain["anchors"]) == (None, [0, 1, 2])
    assert plain["random_state"].startswith("Generator(PCG64)")
    json.dumps(plain, allow_nan=False)


def test_scores_per_query_as_a_table(tmp_path):
    X, y = blobs(n=100)
    y[PAPER.partition(100).query[2]] = "z"  # a class of its own
    record = evaluate(SignBits(), (X, y))
    record.write_per_query(tmp_path / "ap.csv")
    with open(tmp_path / "ap.csv", newline="") as stream:
        table = list(csv.DictReader(stream))
    assert [int(line["query"]) for line in table] == record.queries.tolist()
    for name, column in {
        "learned": record.learned.per_query,
        "mapped": record.mapped.per_query,
        "mapped_worst": record.mapped.worst,
        "learned_best": record.learned.best,
    }.items():
        assert table[2][name] == ""
        found = [float(line[name] or "nan") for line in table]
        np.testing.assert_array_equal(found, column)  # to the last digit
    assert list(tmp_path.iterdir()) == [tmp_path / "ap.csv"]


def test_a_partition_from_a_file_gives_the_same_record(tmp_path):
    X, y = blobs()
    PAPER.partition(y, 5).save(tmp_path / "split.npz")
    by_file = evaluate(SignBits(), (X, y), "paper", Partition.load(tmp_path / "split.npz"))
    by_number = evaluate(SignBits(), (X, y), "paper", 5)
    assert by_file.partition == 5
    assert by_file.learned.value == by_number.learned.value


def test_data_without_a_checksum_gets_one():
    X, y = blobs()
    one = evaluate(SignBits(), (X, y)).checksum
    assert len(one) == 64
    assert evaluate(SignBits(), (np.asfortranarray(X), list(y))).checksum == one
    assert evaluate(SignBits(), (X.astype(">f4"), y)).checksum == one
    assert evaluate(SignBits(), (X + 1, y)).checksum != one
    assert evaluate(SignBits(), (X, np.roll(y, 1))).checksum != one
    assert evaluate(SignBits(), (X, [f"{label}!" for label in y])).checksum != one


# -- bad input ---------------------------------------------------------------------------------


class TooFewCodes(SignBits):
    def encode(self, X):
        return super().encode(X)[1:]


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda X, y: evaluate(SignBits(), (X, y), "indcutive"), UnknownName, "Did you mean 'inductive'"),
        (lambda X, y: evaluate(SignBits(), (X, None)), InvalidInput, "no labels"),
        (lambda X, y: evaluate(SignBits(), (None, y)), InvalidInput, "no features"),
        (lambda X, y: evaluate(SignBits(), X), InvalidInput, "came as ndarray"),
        (lambda X, y: evaluate(SignBits(), (X, y[1:])), InvalidInput, "300 rows and the labels have 299"),
        (lambda X, y: evaluate(SignBits(), (X[0], y)), InvalidInput, "shape"),
        (lambda X, y: evaluate(SignBits(), (X[:4], y[:4])), InvalidInput, "too few"),
        (lambda X, y: evaluate(object(), (X, y)), InvalidInput, "neither encode nor score"),
        (lambda X, y: evaluate(SignBits(), (X, y), on="train"), UnknownName, "validation"),
        (
            lambda X, y: evaluate(SignBits(), (X, y), "unseen-classes", on="validation"),
            InvalidInput,
            "no valid",
        ),
        (
            lambda X, y: evaluate(SignBits(), (X, y), "paper", PAPER.partition(299)),
            InvalidInput,
            "299 rows",
        ),
        (
            lambda X, y: evaluate(SignBits(), (X, y), "paper", PROTOCOLS["pairs"].partition(300)),
            InvalidInput,
            "belongs to pairs@",
        ),
        (lambda X, y: evaluate(TooFewCodes(), (X, y)), CodesMismatch, "59 codes for 60 rows"),
        (lambda X, y: evaluate(SignBits(12), (X, y)), CodesMismatch, "12 bits"),
        (
            lambda X, y: evaluate(SignBits(), datasets.Dataset("own", X, None, "", "", "", "")),
            InvalidInput,
            "no lab",
        ),
    ],
)
def test_what_cannot_be_evaluated(call, kind, message):
    with pytest.raises(kind, match=message):
        call(*blobs())


# -- beside each other ---------------------------------------------------------------------------


def test_codes_and_floats_agree_on_the_same_ranking():
    """Hamming distance handed over as a float score gives the same record, tie band included."""
    from kinhash_bench.protocols import FloatRanking

    class Bits(FloatRanking):
        def fit(self, X, y):
            self.bytes_per_item = 16
            return self

        def prepare(self, X):
            return np.where(X[:, :4] > 0, 1.0, -1.0)

        def scores(self, queries, database):
            return queries @ database.T

    X, y = blobs()
    y = y.astype(object)
    y[::17] = None
    for name in ("inductive", "pairs", "unseen-classes"):
        codes = evaluate(SignBits(learns=False), (X, y), name).mapped
        floats = evaluate(Bits(), (X, y), name).mapped
        assert floats.value == pytest.approx(codes.value, abs=1e-12)
        assert floats.band == pytest.approx(codes.band, abs=1e-12)
        np.testing.assert_allclose(floats.per_query, codes.per_query, atol=1e-12)
        np.testing.assert_allclose(floats.worst, codes.worst, atol=1e-12)
        assert (floats.n_without_kin, floats.n_unknown_rows) == (codes.n_without_kin, codes.n_unknown_rows)


def test_average_precision_is_scikit_learns_where_nothing_ties():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 40)

    class Distinct(SignBits):  # row i has i ones, so that no two rows tie for the query of zeros
        def encode(self, X):
            ones = np.arange(39) < X[:, :1]
            return Codes.from_bits(ones).packed

    X = np.arange(40.0)[:, None]
    protocol = Protocol("mine", n_queries=1, codes="mapped", n_validation=0, database="apart")
    number = next(k for k in range(1000) if protocol.partition(40, k).query[0] == 0)
    record = evaluate(Distinct(39, learns=False), (X, y), protocol, number)
    database = protocol.partition(40, number).database
    wanted = average_precision_score(y[database] == y[0], -database)
    assert record.mapped.value == pytest.approx(wanted, abs=1e-12)
    assert record.mapped.band == (record.mapped.value, record.mapped.value)
