"""Milvus: a collection of binary vectors with the exact index ``BIN_FLAT``.

The target is the address of a server (``http://...``) or a file, which milvus-lite opens; of milvus-lite,
2.x has binary vectors and 3.x has none.
"""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar

from .._internal.blocks import block_slices
from ..codes import Codes, n_bytes
from ..errors import InvalidInput
from .base import Engine, EngineFacts, Found, Listed, Place, Reader, driver, has_text_ids, with_ties
from .sql import already_there, fresh_file, not_there

__all__ = ["Milvus"]

_milvus = partial(driver, "pymilvus", "milvus")

BLOCK = 4096  # rows per insert; a server takes 64 MB at once
MOST = 16384  # neighbors per query that Milvus gives at most


class Milvus(Engine):
    """A collection ``id`` (INT64 or VARCHAR), ``code`` (BINARY_VECTOR of bytes); the note is its description.

    Milvus has no transactions. New codes go to a collection that is dropped if anything fails; to replace
    an earlier one they get a temporary name, and the earlier one goes when all is there.
    """

    file: ClassVar[bool] = False

    def problems(self) -> tuple[type[Exception], ...]:
        _milvus()
        return (driver("pymilvus.exceptions", "milvus").MilvusException, driver("grpc", "milvus").RpcError)

    def write(self, codes: Codes, place: Place, overwrite: bool) -> None:
        local = "://" not in place.target
        with fresh_file(place.target), _connected(place) as client:
            there = client.has_collection(place.table)
            if there and not overwrite:
                raise already_there(place, "collection")
            if there and local:
                raise InvalidInput(
                    f"milvus-lite cannot rename, so {place.table!r} cannot be replaced in one step",
                    "a new collection or a new file",
                    "Choose another table, or remove the old one first",
                )
            name = f"{place.table}_{secrets.token_hex(6)}" if there else place.table
            try:
                _fill(client, name, codes)
                if there:
                    _replace(client, place.table, name)
            except BaseException:
                client.drop_collection(name)
                raise

    @contextmanager
    def open(self, place: Place) -> Iterator[Reader]:
        if "://" not in place.target and not os.path.exists(place.target):
            raise not_there(place)  # connecting would make the file
        with _connected(place) as client:
            if not client.has_collection(place.table):
                raise not_there(place)
            client.load_collection(place.table)
            n_rows = int(client.query(place.table, output_fields=["count(*)"])[0]["count(*)"])
            facts = EngineFacts.from_note(
                client.describe_collection(place.table)["description"], n_rows, place
            )

            def nearest(code: Codes, k: int) -> Found:
                def fetch(wanted: int) -> Listed:
                    query = code.repeated().tobytes()
                    found = client.search(place.table, [query], limit=wanted, anns_field="code")[0]
                    return [one["id"] for one in found], [one["distance"] for one in found]

                return with_ties(fetch, k, n_rows, MOST)

            yield Reader(facts, nearest)

    def statement(self, code: Codes, k: int, place: Place) -> str:
        return (
            "from pymilvus import MilvusClient\n"
            f"client = MilvusClient({place.target!r})\n"
            f"query = bytes.fromhex({code.repeated().tobytes().hex()!r})\n"
            f'found = client.search({place.table!r}, [query], limit={k}, anns_field="code")[0]\n'
            'ids, distances = [one["id"] for one in found], [one["distance"] for one in found]'
        )


def _fill(client: Any, name: str, codes: Codes) -> None:
    types = _milvus().DataType
    assert codes.ids is not None
    schema = client.create_schema(
        auto_id=False, enable_dynamic_field=False, description=EngineFacts.note(codes)
    )
    if has_text_ids(codes):
        longest = max((len(text.encode()) for text in codes.ids.tolist()), default=1)
        schema.add_field("id", types.VARCHAR, is_primary=True, max_length=max(longest, 1))
    else:
        schema.add_field("id", types.INT64, is_primary=True)
    schema.add_field("code", types.BINARY_VECTOR, dim=8 * n_bytes(codes.max_distance))
    index = client.prepare_index_params()
    index.add_index("code", index_type="BIN_FLAT", metric_type="HAMMING")
    client.create_collection(name, schema=schema, index_params=index, consistency_level="Strong")
    for rows in block_slices(len(codes), BLOCK):
        pairs = zip(codes.ids[rows].tolist(), codes[rows].repeated(), strict=True)
        client.insert(name, [{"id": number, "code": code.tobytes()} for number, code in pairs])


def _replace(client: Any, old: str, new: str) -> None:
    """Put one collection in the place of another, which goes last."""
    aside = f"{new}_old"
    client.rename_collection(old, aside)
    try:
        client.rename_collection(new, old)
    except BaseException:
        client.rename_collection(aside, old)
        raise
    client.drop_collection(aside)


@contextmanager
def _connected(place: Place) -> Iterator[Any]:
    """A client, without the log: pymilvus writes every error with its traceback before raising it."""
    log = logging.getLogger("pymilvus")
    before, log.disabled = log.disabled, True
    lite, running = None, False
    try:
        if "://" not in place.target:
            lite = driver("milvus_lite.server_manager", "milvus", "milvus-lite").server_manager_instance
            # What other code started is left running.
            running = os.path.realpath(place.target) in lite._servers
        client = _milvus().MilvusClient(place.target)
        try:
            yield client
        finally:
            client.close()
            if lite is not None and not running:  # its process would keep the file, even a deleted one
                lite.release_server(place.target)
    finally:
        log.disabled = before
