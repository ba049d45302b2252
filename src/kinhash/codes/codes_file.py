"""Codes as one verified file: the packed bytes, their number of bits, ids and model id."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._internal.files import PathLike
from .._internal.texts import from_bytes, to_bytes
from .._internal.types import Array, Facts
from ..errors import DamagedFile, InvalidInput
from .array_schema import Form, check_forms
from .container import Arrays, read_container, write_container
from .packed import MAX_BITS, BitLayout, Codes

__all__ = ["SENSELESS", "load_codes", "read_share", "require_facts", "save_codes"]

CODES_FACTS = {"n_bits": int, "model_id": (str, type(None)), "fields": dict}
# What contents that make no sense may raise; an energy's or a hasher's own checks are among them.
SENSELESS = (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, RecursionError)


def save_codes(codes: Codes, path: PathLike) -> None:
    """Write codes with their number of bits, ids and model id."""
    arrays: Arrays = {"packed": codes.packed}
    if codes.ids is not None:
        ids = np.asarray(codes.ids)
        if ids.dtype.kind in "iu":
            _check_numbers(ids)
            arrays["ids"] = ids.astype(np.int64)
        else:
            arrays["id_text"], arrays["id_ends"] = to_bytes(str(value) for value in ids)
    header: Facts = {
        "n_bits": codes.n_bits,
        "model_id": codes.model_id,
        "fields": codes.fields.as_dict(),
    }
    if codes.learned:
        header["learned"] = True
    if not codes.knows_looks:
        header["knows_looks"] = False
    if codes.mapped_share is not None:
        header["mapped_share"] = codes.mapped_share
    write_container(path, arrays, header, "codes")


def load_codes(path: PathLike, mmap: bool = False) -> Codes:
    """Read codes that `save_codes` or the command line wrote."""
    arrays, header = read_container(path, kind="codes", mmap=mmap)
    try:
        learned = header.pop("learned", False)  # a fact that only learned codes have
        if not isinstance(learned, bool):
            raise ValueError("learned is neither true nor false")
        knows_looks = header.pop("knows_looks", True)
        if not isinstance(knows_looks, bool):
            raise ValueError("knows_looks is neither true nor false")
        mapped_share = read_share(header.pop("mapped_share", None))
        require_facts(header, CODES_FACTS)
        forms = {"packed": Form("u1", "N*")}
        if "id_ends" in arrays:
            forms |= {"id_text": Form("u1", "*"), "id_ends": Form("i8", "N", low=0)}
        elif "ids" in arrays:
            forms["ids"] = Form("i8", "N")
        check_forms(arrays, forms)
        ids = from_bytes(arrays["id_text"], arrays["id_ends"]) if "id_ends" in arrays else arrays.get("ids")
        fields = BitLayout.from_dict(header["fields"])
        known = header["n_bits"], ids, header["model_id"], fields, learned, mapped_share, knows_looks
        return Codes(arrays["packed"], *known)
    except SENSELESS as error:
        raise DamagedFile(
            f"{path} is a codes file with contents this version cannot use ({str(error)[:300]})",
            "a file written by `save_codes`",
            "Encode the rows again",
        ) from error


def _check_numbers(ids: Array) -> None:
    """Refuse ids that int64 does not hold."""
    if len(ids) and int(ids.max()) >= 2**63:
        raise InvalidInput(
            f"The number {int(ids.max())} is among the ids",
            "integers from -2**63 to 2**63 - 1",
            "Pass such ids as strings, with list(map(str, ...))",
        )


def read_share(value: Any) -> float | None:
    """A number from 0 to 1 in a header, or None."""
    if value is not None and not (isinstance(value, float) and 0 <= value <= 1):
        raise ValueError("a share that is not from 0 to 1")
    return value


def require_facts(header: Facts, facts: Facts) -> None:
    """Refuse a header that has not exactly these facts, of these types, and a sensible length."""
    if header.keys() != facts.keys():
        raise ValueError("facts that are missing or unknown")
    for name, kind in facts.items():
        if not isinstance(header[name], kind) or isinstance(header[name], bool):
            raise ValueError(f"{name} of the type {type(header[name]).__name__}")
    if not 1 <= header["n_bits"] <= MAX_BITS:
        raise ValueError(f"codes of {header['n_bits']} bits")
