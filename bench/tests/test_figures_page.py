"""The page of figures: what is in the records is on the page, and losses are named."""

from __future__ import annotations

import json
from pathlib import Path

from kinhash_bench.figures_page import page, read


def record(method: str, partition: int, figures: dict, where: str = "digits", which: str = "") -> dict:
    cell = {"set": where, "protocol": "nolabels", "partition": partition, "bits": 64, "which": which}
    return {"method": method, **cell, "figures": figures}


def test_figures_spreads_and_losses(tmp_path: Path) -> None:
    records = [
        *(record("kinhash", p, {"near": 0.8 + p / 100, "float near": 0.85}) for p in (0, 2)),
        *(record("opq", p, {"near": 0.9}) for p in (0, 1, 2)),
        record("itq", 0, {"near": 0.7}),
        record("cosine", 0, {"near": 1.0}),
        {"section": "flat", "bits": 64, "threads": 1, "what": "single", "peer": "faiss", "ratio": 7.5,
         "least": 7.0, "most": 8.0, "rounds": 7, "kinhash_us": 12.5},
        {"rows": 1_000, "columns": 8, "step": "index", "seconds": 1.5, "cpu": 1.0, "peak_mb": 300, "wrong": 0},
        {"task": "dedup", "rows": 1_000, "radius": 3},  # has a page of its own
    ]  # fmt: skip
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    text = "\n".join(page(read(tmp_path)))
    assert "| kinhash | .810 ± .014 [2] |" in text
    assert "| kinhash, float | .850 ± .000 [2] |" in text
    assert "| opq | **.900** ± .000 [3] |" in text
    assert "| cosine | 1.000 [1] |" in text
    (loss,) = [line for line in text.splitlines() if line.startswith("| digits |")]
    assert ".850 | opq .900 | .050 | 2 |" in loss  # the partitions of both, whole floats left out
    assert "| 64 | single | 1 | 12.5 | 7.50 [7.00 to 8.00] |" in text
    assert "| index | 1.500 | 1.00 | 300 | wrong 0 |" in text


def test_a_level_rival_is_no_loss_and_the_best_label_byte_stands_for_all() -> None:
    records = [
        record("kinhash", 0, {"near": 0.8}),
        record("labelbyte C=1", 0, {"near": 0.804}),
        record("labelbyte C=10", 0, {"near": 0.5}),
    ]
    text = "\n".join(page(records))
    assert "loses" not in text
    assert "| label byte, best setting | **.804** [1] |" in text
    assert text.count("label byte, best setting") == 1
