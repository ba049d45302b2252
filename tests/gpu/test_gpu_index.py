"""An index on a card answers as one on the processor; without a device, by the kernels' twin in NumPy."""

import importlib.util
import pickle
import weakref

import numpy as np
import pytest
from brute_force import check_one
from generated import compare_one, same

import kinhash
from kinhash import Codes, HammingIndex, gpu
from kinhash.errors import InvalidInput, MissingExtra, NotEnoughMemory
from kinhash.gpu import Queries, device, search
from kinhash.index import GpuIndex, gpu_index
from numpy_card import Twin

HAS_CUPY = importlib.util.find_spec("cupy") is not None


def _has_card() -> bool:
    if not HAS_CUPY:
        return False
    try:
        return bool(device.all_cards())
    except InvalidInput:
        return False


needs_card = pytest.mark.skipif(not _has_card(), reason="needs CuPy and an NVIDIA card")


@pytest.fixture
def twins(monkeypatch):
    """Cards that are NumPy, as many as a test likes."""

    def put(*cards):
        monkeypatch.setattr(gpu, "all_cards", lambda: cards)

    put(Twin())
    return put


def _index(n: int = 300, n_bits: int = 40, seed: int = 0) -> HammingIndex:
    rng = np.random.default_rng(seed)
    return HammingIndex.from_codes(Codes(rng.integers(0, 256, (n, n_bits // 8), np.uint8), n_bits))


@pytest.mark.parametrize("block", range(8))
def test_generated_cases_agree(twins, block):
    for seed in range(50 * block, 50 * block + 50):
        compare_one(seed, lambda index: index.to_gpu(), most_rows=200)


@pytest.mark.parametrize("block", range(4))
def test_kernels_find_what_all_distances_say(block):
    for seed in range(100 * block, 100 * block + 100):
        check_one(Twin(), seed, most_rows=400)


@needs_card
def test_kernels_of_a_card_find_what_all_distances_say():
    for seed in range(200):
        check_one(device.Card(), seed, most_rows=5000, most_queries=40)


@needs_card
@pytest.mark.parametrize("block", range(4))
def test_generated_cases_agree_on_a_card(block):
    for seed in range(50 * block, 50 * block + 50):
        compare_one(seed, lambda index: index.to_gpu(), most_rows=6000)


@pytest.mark.parametrize("seed", range(20))
def test_codes_that_do_not_fit_are_searched_in_slices(twins, monkeypatch, seed):
    monkeypatch.setattr(gpu_index, "LEAST_SLICE", 8)
    twins(Twin(memory=800), Twin(memory=400))
    compare_one(seed, lambda index: index.to_gpu(), most_rows=400)


def test_several_cards_share_the_rows(twins):
    twins(Twin(), Twin(), Twin())
    index = _index()
    moved = index.to_gpu(cards=[0, 2])
    assert [part.count for part in moved._state.segments[0].parts] == [150, 150]
    queries = _index(20, seed=1).codes()
    same(index.search(queries, 7), moved.search(queries, 7))


def test_rows_that_fit_nowhere_are_refused_with_the_number_of_bytes(twins):
    twins(Twin(memory=64))
    with pytest.raises(NotEnoughMemory, match=r"298 codes of 8 bytes.*4768 bytes"):
        _index().to_gpu()


def test_masks_are_put_beside_the_codes_without_copying_these(twins, monkeypatch):
    moved = _index().to_gpu()
    monkeypatch.setattr(Twin, "rows", None)  # codes that were copied again would call it
    mask = np.arange(300) % 3 == 0
    found = moved.search(_index(5, seed=1).codes(), 4, where=mask)
    assert (found.ids % 3 == 0).all()


def test_saved_and_loaded_and_pickled(twins, tmp_path):
    index = _index()
    moved = index.to_gpu()
    moved.save(tmp_path / "index.kin")
    queries = Codes(_index(9, seed=1).codes().packed, 40)
    for other in (
        HammingIndex.load(tmp_path / "index.kin"),
        GpuIndex.load(tmp_path / "index.kin"),
        pickle.loads(pickle.dumps(moved)),
        moved.to_cpu(),
    ):
        same(index.search(queries, 5), other.search(queries, 5))
        assert other.add(queries[:1]).tolist() == [300]
    assert moved.stats() == index.stats()
    assert "on NumPy" in repr(moved)


def test_a_search_does_not_touch_the_index_it_came_from(twins):
    index = _index()
    moved = index.to_gpu()
    moved.remove([0, 1, 2])
    assert len(index) == 300
    assert len(moved) == 297


class _Counting(Twin):
    """A card that knows how much lies on it."""

    def __init__(self, memory):
        super().__init__(memory)
        self.lying, self.most = weakref.WeakSet(), 0

    def rows(self, words):
        rows = super().rows(words)
        self.lying.add(rows)
        self.most = max(self.most, sum(8 * each.n_rows * len(each.words) for each in self.lying))
        return rows


def test_codes_never_take_more_of_a_card_than_they_may(twins, monkeypatch):
    monkeypatch.setattr(gpu_index, "LEAST_SLICE", 8)
    small, large = _Counting(1000), _Counting(2400)
    twins(small, large)
    index = _index(600)
    moved = index.to_gpu()
    queries = _index(9, seed=1).codes()
    same(index.search(queries, 5), moved.search(queries, 5))
    assert small.most <= 500
    assert large.most <= 1200
    assert small.most > 400  # and they make use of it


def test_the_callers_array_may_change_afterwards(twins, monkeypatch):
    monkeypatch.setattr(gpu_index, "LEAST_SLICE", 8)
    twins(Twin(memory=800))
    packed = _index(300, 64).codes().packed.copy()
    moved = GpuIndex.from_codes(packed)
    queries = packed[290:].copy()
    packed[:] = 0
    assert moved.search(queries, 1).distances.max() == 0


def test_ids_and_payload_cannot_be_written(twins):
    moved = GpuIndex(40)
    moved.add(_index(4).codes(), ids=[1, 5, 9, 12], payload={"kind": np.arange(4)})

    def write(payload):
        payload["kind"][0] = 77

    for work in (
        lambda: moved.ids.__setitem__(0, 77),
        lambda: moved.search(_index(1).codes(), 1, where=write),
    ):
        with pytest.raises(ValueError, match="read-only"):
            work()


@pytest.mark.parametrize("margins", ["zero", "one", "random"])
def test_margins_that_tell_few_rows_apart(twins, margins):
    index, queries = _index(800), _index(7, seed=1).codes()
    given = np.random.default_rng(0).normal(size=(7, 40)) * {"zero": 0.0, "one": 1e-9, "random": 1.0}[margins]
    given[:, 3] = {"zero": 0.0, "one": 1.0, "random": 0.5}[margins]
    given = np.abs(given) * (2.0 * queries.bits() - 1)
    for k in (1, 9):
        asked = {"k": k, "margins": given}
        same(index.search(queries, **asked), index.to_gpu().search(queries, **asked))


def test_a_pickled_index_keeps_its_cards(twins):
    twins(Twin(), Twin())
    moved = pickle.loads(pickle.dumps(_index().to_gpu(cards=[1], memory=10**6)))
    assert moved._named == ([1], 10**6)
    assert len(moved._cards.cards) == 1


def test_codes_too_wide_for_a_card_are_refused(twins):
    with pytest.raises(InvalidInput, match="at most 1024 bits"):
        _index(3, 1032).to_gpu()


@pytest.mark.parametrize("numbers", [[1], [-1], ["0"], [], [0, 0]])
def test_cards_that_are_not_there_are_refused(twins, numbers):
    with pytest.raises(InvalidInput, match="cards"):
        _index().to_gpu(cards=numbers)


def test_without_cupy_the_extra_is_named():
    if HAS_CUPY:
        pytest.skip("CuPy is installed")
    with pytest.raises(MissingExtra, match=r"kinhash\[gpu\]"):
        _index().to_gpu()


def test_a_machine_without_a_card_says_so(monkeypatch):
    class Refused(Exception):
        pass

    def refuse():
        raise Refused("no CUDA-capable device is detected")

    runtime = type("runtime", (), {"CUDARuntimeError": Refused, "getDeviceCount": staticmethod(refuse)})
    fake = type("cupy", (), {"cuda": type("cuda", (), {"runtime": runtime})})
    monkeypatch.setattr(device, "cupy", lambda: fake)
    with pytest.raises(InvalidInput, match=r"no CUDA-capable device.*HammingIndex"):
        device.all_cards()


def test_a_failed_limit_is_counted_and_many_ties_are_taken_from_the_front(monkeypatch):
    """The first sample sees nothing of the near rows, which lie together: the last pass finds too few."""
    calls = []
    counted = search._counted
    monkeypatch.setattr(search, "_counted", lambda *given: calls.append(1) or counted(*given))
    twin = Twin()
    words = np.full((4000, 1), 2**64 - 1, np.uint64)
    words[1:4] = 0
    rows = twin.rows(words)
    keys = search.nearest(twin, rows, Queries(np.zeros((1, 1), np.uint64), None, 64), 10)
    assert (keys[0] & np.uint64(gpu.ROW)).tolist() == [1, 2, 3, 0, 4, 5, 6, 7, 8, 9]
    assert calls


def test_nothing_imports_cupy_unasked():
    assert "cupy" not in {name.partition(".")[0] for name in vars(kinhash)}
