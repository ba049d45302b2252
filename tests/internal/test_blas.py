"""BLAS is on one thread while we compute, in any thread, and as it was before afterwards."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
import threadpoolctl

from kinhash import EMKSH
from kinhash._internal import blas
from kinhash.plugins import map_blocks, single_blas_thread


def libraries():
    """NumPy's and SciPy's: that of faiss, if another test has imported it, has a limit for every thread."""
    return [library for library in blas._libraries() if "faiss" not in library.filepath]


def threads():
    return [library.num_threads for library in libraries()]


@pytest.fixture(autouse=True)
def two_threads():
    """BLAS on two threads, which must be so again in the end, whoever set a limit before."""
    with single_blas_thread():
        pass
    before = threads()
    for library in libraries():
        blas._set(library, 2)
        blas._let_go(library)
    yield
    after = threads()
    for library, count in zip(libraries(), before, strict=True):
        blas._set(library, count)
        blas._let_go(library)
    assert set(after) == {2}


def in_threads(work, arguments):
    """Results of ``work`` on every argument, each in a thread of its own, all at once."""
    together = threading.Barrier(len(arguments))

    def one(argument):
        together.wait(30)
        return work(argument)

    with ThreadPoolExecutor(len(arguments)) as pool:
        return list(pool.map(one, arguments))


def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 600)
    X = rng.normal(size=(600, 200))
    X[:, :5] += np.eye(5)[y]
    return X, y


def test_the_libraries_of_numpy_and_scipy_are_found_and_held():
    assert libraries()
    with single_blas_thread():
        assert set(threads()) == {1}


def test_a_fit_in_a_thread_gives_the_bits_of_a_fit_in_the_main_thread():
    X, y = rows()

    def fit(seed):
        fitted = EMKSH(16, random_state=seed).fit(X, y)
        return fitted.decision_function(X).tobytes(), fitted.model_id_

    alone = [fit(seed) for seed in range(4)]
    assert in_threads(fit, [0]) == alone[:1]
    assert in_threads(fit, range(4)) == alone
    assert set(threads()) == {2}
    assert fit(0) == alone[0]


def test_a_limit_that_another_thread_owns_does_not_stop_ours():
    """threadpoolctl 3.8 lets the first thread that sets a limit own it; a call without ``with`` keeps it."""
    X, y = rows()
    alone = EMKSH(16, random_state=0).fit(X, y).model_id_
    threadpoolctl.ThreadpoolController().limit(limits=2, user_api="blas")
    assert in_threads(lambda seed: EMKSH(16, random_state=seed).fit(X, y).model_id_, [0]) == [alone]
    with ThreadPoolExecutor(1) as pool:
        owner = pool.submit(threadpoolctl.ThreadpoolController().limit, limits=2, user_api="blas").result()
        with single_blas_thread():
            assert set(threads()) == {1}
        pool.submit(owner.restore_original_limits).result()


def test_nobody_is_kept_from_setting_limits_afterwards():
    with single_blas_thread():
        pass

    def limited(count):
        with threadpoolctl.ThreadpoolController().limit(limits=count, user_api="blas"):
            return set(threads())

    assert in_threads(limited, [1]) == [{1}]


def test_the_last_to_leave_lifts_the_limit():
    """Contexts of several threads overlap in every order of entering and leaving."""
    for leaving in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        pools = [ThreadPoolExecutor(1) for _ in range(3)]
        contexts = [single_blas_thread() for _ in pools]
        for pool, context in zip(pools, contexts, strict=True):
            pool.submit(context.__enter__).result()
        for number in leaving:
            assert set(threads()) == {1}
            pools[number].submit(contexts[number].__exit__, None, None, None).result()
            pools[number].shutdown()
        assert set(threads()) == {2}


def test_a_limit_changed_by_others_is_set_again_and_lifted_to_theirs():
    with single_blas_thread():
        with threadpoolctl.ThreadpoolController().limit(limits=2, user_api="blas"), single_blas_thread():
            assert set(threads()) == {1}
        with single_blas_thread():
            assert set(threads()) == {1}


def test_an_error_lifts_the_limit():
    with pytest.raises(ZeroDivisionError), single_blas_thread(), single_blas_thread():
        raise ZeroDivisionError
    assert set(threads()) == {2}


class OnePerThread:
    """A library whose limit is one for every thread, as MKL's is."""

    user_api, internal_api, threading_layer = "blas", "mkl", "intel"

    def __init__(self):
        self._own = threading.local()

    @property
    def num_threads(self):
        return getattr(self._own, "count", 8)

    def set_num_threads(self, count):
        self._own.count = count


def test_a_library_with_a_limit_for_every_thread_is_held_in_every_thread(monkeypatch):
    library = OnePerThread()
    monkeypatch.setattr(blas, "_libraries", lambda: [library])
    monkeypatch.setattr(threadpoolctl, "__version__", "3.8.0")
    assert list(map_blocks(lambda _: library.num_threads, range(9), n_jobs=3)) == [1] * 9
    inside, leave = threading.Event(), threading.Event()

    def stay(_):
        with single_blas_thread():
            inside.set()
            leave.wait(30)
            held = library.num_threads
        return held, library.num_threads

    with ThreadPoolExecutor(1) as pool:
        staying = pool.submit(stay, None)
        inside.wait(30)
        assert library.num_threads == 8
        with single_blas_thread(), single_blas_thread():
            assert library.num_threads == 1
        assert library.num_threads == 8  # although the other thread is still inside
        leave.set()
        assert staying.result() == (1, 8)


@pytest.mark.parametrize(
    ("version", "api", "layer", "expected"),
    [
        ("3.5.0", "mkl", "intel", False),
        ("3.6.0", "openblas", "openmp", False),
        ("3.7.0", "mkl", "gnu", True),
        ("3.8.0", "openblas", "openmp", True),
        ("3.10.1", "openblas", "openmp", True),
        ("3.8.0", "openblas", "pthreads", False),
        ("3.8.0", "blis", "openmp", False),
    ],
)
def test_which_limits_are_for_one_thread(monkeypatch, version, api, layer, expected):
    monkeypatch.setattr(threadpoolctl, "__version__", version)
    assert blas._limits_one_thread(SimpleNamespace(internal_api=api, threading_layer=layer)) is expected
