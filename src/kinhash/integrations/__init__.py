"""Hashers inside other libraries. Each file needs the library it is named after, and is imported by its name.

    from kinhash.integrations.sentence_transformers import KinhashModule
    from kinhash.integrations.hub import push_to_hub
    from kinhash.integrations.langchain import KinhashVectorStore

Add one: a file here, an extra of the same name in pyproject.toml, and a row in `INTEGRATIONS`.
"""

from __future__ import annotations

__all__ = ["INTEGRATIONS"]

# Module: the extra that brings what it needs.
INTEGRATIONS = {"hub": "hub", "langchain": "langchain", "sentence_transformers": "sentence-transformers"}
