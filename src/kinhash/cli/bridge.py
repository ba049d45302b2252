"""`kinhash bridge`: queries of a new embedding model search the codes of the old one."""

from __future__ import annotations

import time

import click
import numpy as np

from .._internal.types import Facts
from ..errors import InvalidInput
from ..metrics import compare_bridge, hold_out
from .inputs import expect_output, matrix_for, open_model, read_features
from .terminal import emit, file_option, json_option, output_option


@click.command()
@click.argument("model")
@file_option("old", "Rows as the embedding model of MODEL gives them.", required=True)
@file_option("new", "The same rows, in the same order, as the new embedding model gives them.", required=True)
@output_option("Where MODEL with the view goes, e.g. model2.kin.")
@json_option
def bridge(model: str, old: str, new: str, output: str, as_json: bool) -> None:
    """Add the view "new" to MODEL: rows of a new embedding model get codes that search an index of the old one.

    A few thousand rows that both models embedded are enough. No row of the index is embedded or encoded again. Ends
    with what held-out rows find, beside encoding everything anew.

    \b
    Examples:
      kinhash bridge model.kin --old A.npy --new B.npy -o model2.kin
      kinhash search index.kin queries.npy --model model2.kin:new
    """
    expect_output(output, old, new)
    start = time.perf_counter()
    hasher = open_model(model)
    if hasher.view_ is not None:
        raise click.UsageError("Pass the model without a view: the new rows learn from its first view.")
    X = matrix_for(hasher, old, ()).read()
    Z = read_features(new, X.shape[0], f"rows in {old}")
    X, Z = (np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows) for rows in (X, Z))
    split = hold_out(len(X), np.random.default_rng(0))
    if not len(split.held_out):
        raise InvalidInput(
            f"{old} has {len(X)} rows", "rows to learn from, and some to judge by", "Embed 1,000 rows"
        )
    hasher.add_view("new", Z[split.train], beside=X[split.train])
    verdict = compare_bridge(hasher, "new", X, Z, split=split, random_state=0)
    hasher.save(output)
    result: Facts = {"model": output, "model_id": hasher.model_id_, "view": "new", "verdict": verdict.as_dict(),
                     "seconds": time.perf_counter() - start}  # fmt: skip
    said = f'The model with the view "new" is {output}: search with --model {output}:new.'
    if hasher.decision_ is not None:
        said += (
            ' What is the same has to be decided for the view, too: hasher.decide(…, view="new", beside=…).'
        )
    emit(result, f"{verdict}\n\n{said} ({result['seconds']:.1f} s)", as_json)
