"""Codes from a SentenceTransformer (extra ``kinhash[sentence-transformers]``).

    hasher = EnergyHasher(64).fit(model.encode(texts), labels)
    coder = SentenceTransformer(modules=[*model, KinhashModule(hasher)])
    codes = coder.encode(texts)              # (n, 8) bytes, those of hasher.encode(model.encode(texts))
    coder.save("folder")                     # or push_to_hub; the hasher is in it
    SentenceTransformer("folder", trust_remote_code=True)

sentence-transformers 6 asks for ``trust_remote_code=True`` when it loads any class that is not its own.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .._internal.types import Facts
from .._internal.validation import check_choice
from ..base import Hasher
from ..errors import FileProblem, InvalidInput, MissingExtra
from ..files import load_model

try:
    import torch

    # Before version 5.7, precision="ubinary" packed codes wrongly whose length is not a multiple of 8.
    from sentence_transformers.sentence_transformer.modules import Module
except ImportError:
    raise MissingExtra.of("sentence-transformers>=5.7", "sentence-transformers") from None

__all__ = ["KinhashModule"]

MODEL_FILE = "model.kin"
OUTPUTS = ("packed", "margins")


class KinhashModule(Module):
    """The last module of a SentenceTransformer: sentence embeddings in, codes out.

    ``output`` says what `encode` of the SentenceTransformer returns:

    - "packed": the bytes (n, ceil(d / 8)) of ``hasher.encode``, as ``precision="ubinary"`` would pack them.
    - "margins": float32 (n, d), one per bit, above zero where the bit is 1. Then ``precision="ubinary"``
      gives the same bytes, and ``precision="binary"`` the signed ones.

    The codes are exactly those of the embedding. A transformer may give a text another embedding in another
    batch, in the last digits.
    """

    config_keys = ["output"]  # noqa: RUF012, as the base class has it

    def __init__(self, hasher: Hasher, output: str = "packed") -> None:
        super().__init__()
        check_choice("output", output, OUTPUTS)
        if getattr(hasher, "model_", None) is None:
            raise InvalidInput("The hasher is not fitted", "a fitted hasher", "Call fit first")
        self.hasher, self.output = hasher, output

    def forward(self, features: Facts, **_: Any) -> Facts:
        """Replace ``sentence_embedding`` by codes. They have no gradient."""
        given = features["sentence_embedding"]
        rows = given.detach().cpu()
        rows = (rows if rows.dtype == torch.float64 else rows.float()).numpy()
        found = self.hasher.encode(rows).packed if self.output == "packed" else self._margins(rows)
        return {**features, "sentence_embedding": torch.from_numpy(found).to(given.device)}

    def _margins(self, rows: Any) -> Any:
        exact = self.hasher.decision_function(rows)
        with np.errstate(over="ignore", under="ignore"):
            found = exact.astype(np.float32)
        return np.where((exact > 0) & (found == 0), np.finfo(np.float32).tiny, found)  # keeps the bit

    def get_embedding_dimension(self) -> int:
        """Columns of what `encode` returns: bytes, or bits."""
        n_bits = int(self.hasher.model_.map.n_bits)
        return n_bits if self.output == "margins" else -(-n_bits // 8)

    def save(self, output_path: str, *args: Any, **kwargs: Any) -> None:
        """Write the hasher and the settings to a folder."""
        self.save_config(output_path)
        self.hasher.save(os.path.join(output_path, MODEL_FILE))

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", **kwargs: Any) -> KinhashModule:
        """Read what `save` wrote, from a folder or from the Hub."""
        names = ("token", "cache_folder", "revision", "local_files_only")
        place = {name: kwargs[name] for name in names if name in kwargs}
        config = cls.load_config(model_name_or_path, subfolder=subfolder, **place)
        path = cls.load_file_path(model_name_or_path, MODEL_FILE, subfolder=subfolder, **place)
        if path is None:
            raise FileProblem(
                f"There is no {MODEL_FILE} in {os.path.join(model_name_or_path, subfolder)}",
                "a folder that KinhashModule.save wrote",
                "Save the model again",
            )
        return cls(load_model(path), **config)
