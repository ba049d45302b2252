"""What docs/scale.md says is tried: its examples run, and its twenty lines for Ray give the same model."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest
from block_data import classes, default, linear

from kinhash.distributed import cut_rows, fit_blocks, learn_from

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"

pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")


def test_the_examples_run():
    pytest.importorskip("dask", reason="the extra kinhash[dask] is not installed")
    found = doctest.testfile(str(PAGE), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert found.attempted > 15
    assert found.failed == 0


def test_the_recipe_for_ray_gives_the_model_of_one_process():
    ray = pytest.importorskip("ray", reason="ray is not installed")
    (recipe,) = re.findall(r"^```python\n(import ray\n.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert len([line for line in recipe.splitlines() if line.strip()]) <= 20
    X, y = classes()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100_000_000)
    try:
        names: dict = {}
        exec(recipe, names)
        pairs = [(ray.put(x), ray.put(t)) for x, t in cut_rows(X, y, 100)]
        for make in (default, linear):
            found = learn_from(make(), names["RayBlocks"](pairs))
            assert found.model_id_ == fit_blocks(make(), cut_rows(X, y, 100)).model_id_
    finally:
        ray.shutdown()
