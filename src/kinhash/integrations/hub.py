"""Hashers on the Hugging Face Hub (extra ``kinhash[hub]``).

    save_pretrained(hasher, "folder")                # model.kin, config.json and a README.md
    push_to_hub(hasher, "me/shoe-codes")
    hasher = from_pretrained("me/shoe-codes")        # or the folder

A model file holds arrays and no code, and is checked when it is opened, so a model from an untrusted source
can be loaded safely.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from .._internal.types import Facts
from ..base import Hasher
from ..errors import FileProblem, InvalidInput, MissingExtra
from ..files import load_model

try:
    from huggingface_hub import ModelCard, ModelHubMixin, hf_hub_download
except ImportError:
    raise MissingExtra.of("huggingface_hub", "hub") from None

__all__ = ["HubHasher", "from_pretrained", "push_to_hub", "save_pretrained"]

MODEL_FILE = "model.kin"
CARD = """---
library_name: kinhash
tags:
- kinhash
- hashing
- binary-embeddings
- model_hub_mixin
---

# {n_bits}-bit codes of {n_features} features

A hasher of [kinhash](https://github.com/kinhash/kinhash): {n_bits} bits, each of which counts one in a distance.

```python
from kinhash.integrations.hub import from_pretrained

hasher = from_pretrained("{where}")
codes = hasher.encode(X)      # X: (n, {n_features}) embeddings of the model that the hasher was fitted on
```

Model id: `{model_id}`. Codes of models with other ids must not be compared with these.
"""


class HubHasher(ModelHubMixin):
    """A hasher with the methods of `huggingface_hub.ModelHubMixin`; ``hasher`` is the hasher itself."""

    def __init__(self, hasher: Hasher) -> None:
        if getattr(hasher, "model_", None) is None:
            raise InvalidInput("The hasher is not fitted", "a fitted hasher", "Call fit first")
        self.hasher = hasher

    def _facts(self) -> Facts:
        fitted = self.hasher.model_
        return {
            "n_bits": fitted.map.n_bits,
            "n_features": fitted.map.n_features,
            "model_id": self.hasher.model_id_,
        }

    def _save_pretrained(self, save_directory: Path) -> None:
        self.hasher.save(save_directory / MODEL_FILE)
        (save_directory / "config.json").write_text(json.dumps(self._facts(), indent=2) + "\n")

    def generate_model_card(self, *args: Any, **kwargs: Any) -> ModelCard:
        """The README: what the codes are and the lines that load the hasher."""
        facts = self._facts()
        where = kwargs.get("repo_id") or "user/name"
        return ModelCard(CARD.format(**{**facts, "where": where}))

    @classmethod
    def _from_pretrained(cls, *, model_id: str, **kwargs: Any) -> HubHasher:
        if os.path.isdir(model_id):
            path = os.path.join(model_id, MODEL_FILE)
        else:
            names = ("revision", "cache_dir", "force_download", "local_files_only", "token")
            place = {name: kwargs[name] for name in names if name in kwargs}
            path = hf_hub_download(repo_id=model_id, filename=MODEL_FILE, **place)
        if not os.path.exists(path):
            raise FileProblem(
                f"There is no {MODEL_FILE} in {model_id}",
                "a folder that save_pretrained wrote",
                "Save it again",
            )
        return cls(load_model(path))


def save_pretrained(hasher: Hasher, folder: str | os.PathLike[str]) -> None:
    """Write a hasher to a folder as it would be on the Hub. A README.md that is there already stays."""
    HubHasher(hasher).save_pretrained(folder)


def push_to_hub(hasher: Hasher, repo_id: str, **how: Any) -> str:
    """Upload a hasher. Returns the address of the commit.

    ``how`` goes to `ModelHubMixin.push_to_hub`: ``private``, ``branch``, ``token`` and others.
    """
    how.setdefault("model_card_kwargs", {"repo_id": repo_id})
    return str(HubHasher(hasher).push_to_hub(repo_id, **how))


def from_pretrained(folder_or_repo: str | os.PathLike[str], **how: Any) -> Hasher:
    """Load a hasher from a folder or from the Hub.

    ``how`` goes to `ModelHubMixin.from_pretrained`: ``revision``, ``token``, ``cache_dir`` and others.
    """
    return HubHasher.from_pretrained(os.fspath(folder_or_repo), **how).hasher
