"""A blake2b digest at memory speed: fixed leaves, hashed on all threads.

The bytes are cut into leaves of 4 MiB and the digest is the hash of the leaf hashes,
``B(n || B(leaf_0) || B(leaf_1) || ...)`` with ``n`` the number of bytes in 8 little-endian bytes and
``B`` blake2b of 32 bytes. One thread of blake2b runs at about 0.9 GB/s; leaves let all of them help,
and the result does not depend on how many there are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

__all__ = ["DIGEST_LENGTH", "tree_digest"]

DIGEST_LENGTH = 64  # hex digits
LEAF = 4 << 20


def tree_digest(pieces: Sequence[memoryview], threads: int = 1) -> bytes:
    """Hex digest of the pieces laid end to end."""
    leaves = _leaves(pieces)
    if len(leaves) == 1 or threads == 1:
        hashes = [_leaf_hash(leaf) for leaf in leaves]
    else:
        with ThreadPoolExecutor(threads) as pool:  # hashlib lets the other threads run
            hashes = list(pool.map(_leaf_hash, leaves))
    size = sum(len(piece) for piece in pieces)
    root = hashlib.blake2b(size.to_bytes(8, "little") + b"".join(hashes), digest_size=DIGEST_LENGTH // 2)
    return root.hexdigest().encode("ascii")


def _leaves(pieces: Sequence[memoryview]) -> list[list[memoryview]]:
    """Cut the pieces, laid end to end, into runs of LEAF bytes."""
    leaves: list[list[memoryview]] = [[]]
    room = LEAF
    for piece in pieces:
        while len(piece):
            if not room:
                leaves.append([])
                room = LEAF
            part, piece = piece[:room], piece[room:]
            leaves[-1].append(part)
            room -= len(part)
    return leaves


def _leaf_hash(leaf: Sequence[memoryview]) -> bytes:
    state = hashlib.blake2b(digest_size=DIGEST_LENGTH // 2)
    for part in leaf:
        state.update(part)
    return state.digest()
