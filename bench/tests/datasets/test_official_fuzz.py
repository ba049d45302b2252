"""Readers of data sets meet damaged files: the documented error, or a data set, and nothing else.

Each reader gets 500 mutated copies of good files. ``make test-slow`` repeats it with ten times as many.
"""

from __future__ import annotations

import pytest
from file_accidents import N_MUTANTS, survives
from official import write_cifar10, write_espgame, write_mnist, write_mulan, write_nuswide

from kinhash_bench.datasets import DATASETS

pytestmark = pytest.mark.parametrize(
    "times", [pytest.param(1, id="default"), pytest.param(10, id="slow", marks=pytest.mark.slow)]
)


@pytest.mark.parametrize("archive", [True, False])
def test_cifar10(tmp_path, archive, times):
    write_cifar10(tmp_path, archive)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    survives(lambda: DATASETS["cifar10"].read(tmp_path), files, times * N_MUTANTS // 2)


@pytest.mark.parametrize("zipped", [True, False])
def test_mnist(tmp_path, zipped, times):
    write_mnist(tmp_path, zipped)
    survives(lambda: DATASETS["mnist"].read(tmp_path), sorted(tmp_path.iterdir()), times * N_MUTANTS // 2)


def test_nuswide(tmp_path, times):
    write_nuswide(tmp_path)
    labels = sorted(tmp_path.glob("Groundtruth/AllLabels/*"))[::20]
    files = [*labels, *tmp_path.glob("Low_Level_Features/*"), *tmp_path.glob("ImageList/*")]
    survives(lambda: DATASETS["nuswide"].read(tmp_path), files, times * N_MUTANTS)


def test_espgame(tmp_path, times):
    write_espgame(tmp_path)
    survives(lambda: DATASETS["espgame"].read(tmp_path), sorted(tmp_path.iterdir()), times * N_MUTANTS)


@pytest.mark.parametrize("sparse", [True, False])
def test_mulan(tmp_path, sparse, times):
    write_mulan(tmp_path, "scene", sparse, True)
    survives(lambda: DATASETS["scene"].read(tmp_path), sorted(tmp_path.iterdir()), times * N_MUTANTS // 2)
