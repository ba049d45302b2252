"""Made-up results that fill every section of a report: numbers follow from names, so tests know them."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import replace
from typing import Any

import numpy as np

from kinhash_bench.tasks import Result, Score

N_QUERIES = 40
PAPER = ("CCAITQ", "KSH", "LFH", "SDH", "COSDISH", "NSH", "BSH", "EMKSH", "EnergyHasher")
FIELD = ("EnergyHasher", "EMKSH", "COSDISH", "SDH", "ITQ")
LABELS = {"CCAITQ": "CCA-ITQ", "EMKSH": "EM-KSH", "EMSPLH": "EM-SPLH", "ClassScores": "class scores (float)"}
DIGESTS = {
    name: hashlib.sha256(name.encode()).hexdigest()[:12]
    for name in ("paper", "paper-one-bit", "inductive", "unseen-classes")
}
PIXEL = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63606060"
        "00000004000127340a27000000004945" "4e44ae426082"
    )
).decode()  # fmt: skip


def share(*words: object) -> float:
    """A number in [0, 1) that follows from the words."""
    return int(hashlib.sha256(repr(words).encode()).hexdigest()[:8], 16) / 2**32


def score(*words: object, base: float = 0.5) -> Score:
    rng = np.random.default_rng(int(2**30 * share(*words)))
    values = np.clip(base + 0.05 * rng.normal(size=N_QUERIES), 0.01, 0.99)
    values[3] = np.nan  # a query without kin
    recall = np.linspace(0.0, 1.0, 21)
    mean = float(np.nanmean(values))
    return Score(
        value=mean,
        band=(mean - 0.02, mean + 0.03),
        n_queries=N_QUERIES,
        n_without_kin=1,
        quantiles=tuple(np.nanquantile(values, (0, 0.1, 0.25, 0.5, 0.75, 0.9, 1)).tolist()),
        per_query=values,
        ranked_precision=tuple(np.minimum(mean + 0.3 * (1 - recall), 1.0).tolist()),
        precision_at={"100": share(*words, "P@100"), "1000": share(*words, "P@1000")},
        map_at={"1000": 0.5 * share(*words, "at")},
        map_at_found={"1000": 0.5 + 0.5 * share(*words, "at")},
        within_radius=share(*words, "radius"),
        empty=share(*words, "empty"),
        near_kin=0.3 * share(*words, "near"),
        nearest_found=share(*words, "found"),
        distinct=int(N_QUERIES * share(*words, "distinct")),
        distinct_of=N_QUERIES,
    )


def result(
    section: str | tuple[str, ...],
    dataset: str,
    method: str,
    n_bits: int | None,
    partition: int = 0,
    **more: Any,
) -> Result:
    given = more.pop("given", {})
    protocol = more.pop("protocol", "paper")
    label = more.pop("label", LABELS.get(method, method))
    n_queries = more.pop("n_queries", 1000)
    sections = (section,) if isinstance(section, str) else section
    quality = 0.3 + 0.4 * share(label, dataset) + 0.002 * (n_bits or 90)
    work = [dataset, protocol, method, given, n_bits, partition, n_queries, bool(more.get("gallery"))]
    kinds = ("learned", "mapped") if protocol.startswith("paper") else ("mapped",)
    ok = more.get("status", "ok") == "ok"
    scores = {
        kind: score(work, kind, base=min(quality, 0.8) - 0.1 * (kind == "mapped")) for kind in kinds if ok
    }
    facts: dict[str, Any] = {
        "key": hashlib.sha256(json.dumps(work).encode()).hexdigest()[:16],
        "sections": sections,
        "dataset": dataset,
        "checksum": hashlib.sha256(dataset.encode()).hexdigest(),
        "protocol": protocol,
        "protocol_digest": DIGESTS[protocol] if n_queries == 1000 else f"{n_queries:012d}",
        "n_queries": n_queries,
        "method": method,
        "label": label,
        "given": given,
        "n_bits": n_bits,
        "partition": partition,
        "status": "ok",
        "parameters": {"clip": 2.0, "n_anchors": 1000, **given} if method == "EMKSH" else dict(given),
        "n_train": 58_000,
        "n_database": 58_000,
        "seconds": {"load": 0.1, "fit": 0.5 + 10 * share(label) + partition, "encode": 0.2, "score": 0.3},
        "peak_bytes": int(1e8 * (1 + share(label, n_bits))),
        "environment": {
            "kinhash": "0.1.0",
            "source": "0a1b2c3d4e5f",
            "numpy": "2.4.6",
            "cpu": "Some CPU",
            "threads": 1,
            "load": 0.5,
        },
        **scores,
    }
    return Result(**{**facts, **more})


def failed(section: str, dataset: str, method: str, n_bits: int | None, error: str, **more: Any) -> Result:
    return result(section, dataset, method, n_bits, status="failed", error=error, seconds={}, **more)


def every_section() -> list[Result]:
    """Three partitions of everything the page can show, on sets of the paper too; some cells failed."""
    found: list[Result] = []
    for partition in range(3):
        found += _paper(partition) + _figures(partition) + _field(partition)
    found.append(
        failed("table1-cifar10", "cifar10_gist512", "FastHash", 8, "ValueError: /tmp/a/b.npy is bad")
    )
    found.append(failed("table4-nuswide", "nuswide", "BSH", 256, "out of memory: 3 GB"))
    found.append(failed("table1-cifar10", "cifar10_gist512", "LFH", 8, "ArithmeticError: no", partition=3))
    page = {
        "query": {"row": 7, "label": "cat", "png": PIXEL},
        "found": [
            {"row": 8, "label": "cat", "distance": 0, "kin": True, "png": PIXEL},
            {"row": 9, "label": "dog", "distance": 1, "kin": False, "png": PIXEL},
        ],
    }
    found.append(result("gallery", "cifar10_gist512", "EnergyHasher", 64, gallery=(page,)))
    return united(found)


def united(results: list[Result]) -> list[Result]:
    """Each piece of work once, for all its sections, as the runner keeps it."""
    found: dict[str, Result] = {}
    for one in results:
        known = found.get(one.key, one)
        found[one.key] = replace(known, sections=tuple(dict.fromkeys((*known.sections, *one.sections))))
    return list(found.values())


def _paper(partition: int) -> list[Result]:
    found = []
    for section, dataset in (
        ("table1-cifar10", "cifar10_gist512"),
        ("table1-espgame", "espgame"),
        ("table2-nuswide", "nuswide"),
        ("standins-coco20770_gist512", "coco20770_gist512"),
        ("standins-coco117266_efficientnet_lite0_pca128", "coco117266_efficientnet_lite0_pca128"),
    ):
        for method in PAPER:
            if method == "KSH" and partition:
                continue  # run less often than the others
            found += [result(section, dataset, method, n, partition) for n in (8, 16, 32, 64)]
    for dataset in ("cifar10_gist512", "espgame", "nuswide", "coco20770_gist512"):
        for method in ("LFH", "COSDISH", "NSH", "BSH", "EMKSH", "EMSPLH"):
            found.append(result(f"table3-{dataset}", dataset, method, 1, partition, protocol="paper-one-bit"))
    for section, dataset in (("table4-nuswide", "nuswide"), ("table4", "cifar10_gist512")):
        for method in ("LFH", "EMKSH", "COSDISH"):
            found += [result(section, dataset, method, n, partition) for n in (128, 256)]
    return found


def _figures(partition: int) -> list[Result]:
    def swept(section: str, **more: Any) -> Result:
        return result(section, "cifar10_gist512", more.pop("method", "EMKSH"), 32, partition, **more)

    found = [swept("figure2", given={"clip": c}) for c in (0.5, 1.0, 2.5)]
    found += [swept("figure3-anchors", given={"n_anchors": m}) for m in (100, 2000)]
    found += [swept("sweeps", given={"n_sweeps": t}) for t in range(1, 11)]
    for n_queries in (2000, 10_000):
        for method in ("EMKSH", "LFH"):
            found.append(swept("figure3-queries", method=method, n_queries=n_queries))
    if partition == 0:
        for n_bits in (64, 128, 256):
            found.append(result("memory", "cifar10_gist512", "BSH", n_bits))
            found.append(result(("table4", "memory"), "cifar10_gist512", "EMKSH", n_bits))
    return found


def _field(partition: int) -> list[Result]:
    found = []
    for dataset in ("mulan_scene", "reuters21578_minilm384", "mulan_yeast", "mulan_bibtex"):
        for method in FIELD:
            found += [result(f"field-{dataset}", dataset, method, n, partition) for n in (16, 64)]
        for method in ("ClassScores", "Cosine"):
            found.append(result(f"field-{dataset}", dataset, method, None, partition))
        for name, label in (("linear", "linear + intercept"), ("tuned", "tuned map")):
            given = {"map": name}
            found.append(
                result(
                    f"maps-{dataset}",
                    dataset,
                    "COSDISH",
                    64,
                    partition,
                    given=given,
                    label=f"COSDISH, {label}",
                )
            )
    for protocol, section in (
        ("paper", "network-paper"),
        ("inductive", "network-inductive"),
        ("unseen-classes", "network-unseen"),
    ):
        for method in FIELD:
            name = "cifar10_efficientnet_lite0_pca256"
            found.append(result(section, name, method, 64, partition, protocol=protocol))
    return found
