"""Codes as one verified file: the packed bytes, their number of bits, ids and model id."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ._forms import Form, check_forms
from .codes import MAX_BITS, Codes
from .container import Arrays, read_container, write_container
from .errors import DamagedFile

__all__ = ["SENSELESS", "load_codes", "require_fields", "save_codes"]

CODES_FIELDS = {"n_bits": int, "model_id": (str, type(None))}
# What contents that make no sense may raise; an energy's or a hasher's own checks are among them.
SENSELESS = (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, RecursionError)


def save_codes(codes: Codes, path: Any) -> None:
    """Write codes with their number of bits, ids and model id."""
    arrays = {"packed": codes.packed}
    if codes.ids is not None:
        ids = np.asarray(codes.ids)
        if ids.dtype.kind in "iu":
            arrays["ids"] = ids.astype(np.int64)
        else:
            text = [str(value).encode() for value in ids]
            arrays["id_text"] = np.frombuffer(b"".join(text), np.uint8)
            arrays["id_ends"] = np.cumsum([len(value) for value in text], dtype=np.int64)
    write_container(path, arrays, {"n_bits": codes.n_bits, "model_id": codes.model_id}, "codes")


def load_codes(path: Any, mmap: bool = False) -> Codes:
    """Read codes that `save_codes` or the command line wrote."""
    arrays, header = read_container(path, kind="codes", mmap=mmap)
    try:
        require_fields(header, CODES_FIELDS)
        forms = {"packed": Form("u1", "N*")}
        if "id_ends" in arrays:
            forms |= {"id_text": Form("u1", "*"), "id_ends": Form("i8", "N", low=0)}
        elif "ids" in arrays:
            forms["ids"] = Form("i8", "N")
        check_forms(arrays, forms)
        ids = _id_words(arrays) if "id_ends" in arrays else arrays.get("ids")
        return Codes(arrays["packed"], header["n_bits"], ids=ids, model_id=header["model_id"])
    except SENSELESS as error:
        raise DamagedFile(
            f"{path} is a codes file with contents this version cannot use ({str(error)[:300]})",
            "a file written by `save_codes`",
            "Encode the rows again",
        ) from error


def _id_words(arrays: Arrays) -> npt.NDArray[Any]:
    """Ids that are text, cut out of all texts in a row."""
    text, ends = arrays["id_text"], arrays["id_ends"]
    # Ends that fall would read the same text many times, and give much more than the file holds.
    if (np.diff(ends) < 0).any() or (ends[-1] if len(ends) else 0) != len(text):
        raise ValueError("ids that end before they begin, or outside their text")
    whole, places = text.tobytes(), [0, *ends.tolist()]
    words = [whole[a:b].decode() for a, b in pairwise(places)]
    return np.array(words, np.dtypes.StringDType())  # fixed-width text would drop a NUL at its end


def require_fields(header: dict[str, Any], fields: dict[str, Any]) -> None:
    """Refuse a header that has not exactly these fields, of these types, and a sensible length."""
    if header.keys() != fields.keys():
        raise ValueError("facts that are missing or unknown")
    for name, kind in fields.items():
        if not isinstance(header[name], kind) or isinstance(header[name], bool):
            raise ValueError(f"{name} of the type {type(header[name]).__name__}")
    if not 1 <= header["n_bits"] <= MAX_BITS:
        raise ValueError(f"codes of {header['n_bits']} bits")
