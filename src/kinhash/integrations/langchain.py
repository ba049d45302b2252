"""A vector store for LangChain that keeps codes instead of vectors (extra ``kinhash[langchain]``).

store = KinhashVectorStore(embedding, hasher)         # hasher: fitted on embeddings of the same model
store.add_texts(texts, metadatas)
store.similarity_search("red shoes", k=4, filter={"shop": "north"})
store.save("store.kin")                               # an index file, with texts and metadata as payload
KinhashVectorStore(embedding, hasher, load("store.kin"))
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .._internal.types import Facts
from .._internal.validation import check_rows
from ..base import Hasher
from ..codes import Codes
from ..errors import InvalidInput, MissingExtra
from ..index import HammingIndex

try:
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import VectorStore
except ImportError:
    raise MissingExtra.of("langchain_core", "langchain") from None

__all__ = ["KinhashVectorStore"]

TEXT, METADATA = "text", "metadata"  # payload columns


class KinhashVectorStore(VectorStore):
    """Texts by their codes. Search is exact, in the order (distance, id).

    ``filter`` of a search is a mapping of metadata to a wanted value, or a function from a document to a
    boolean; either looks at every document. The score is the distance of two codes: 0 is nearest. Metadata
    must be JSON. Memory: the codes, and every text twice.
    """

    def __init__(self, embedding: Embeddings, hasher: Hasher, index: HammingIndex | None = None) -> None:
        if getattr(hasher, "model_", None) is None:
            raise InvalidInput("The hasher is not fitted", "a fitted hasher", "Call fit first")
        n_bits = hasher.model_.map.n_bits
        self._embedding, self.hasher = embedding, hasher
        self.index = HammingIndex(n_bits, hasher.model_id_) if index is None else index
        if self.index.model_id != hasher.model_id_:
            raise InvalidInput(
                "The index holds codes of another model", "an index that `save` wrote", "Load the other one"
            )
        self._documents = _documents_of(self.index)

    @property
    def embeddings(self) -> Embeddings:
        """What makes vectors of texts."""
        return self._embedding

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[Facts] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **_: Any,
    ) -> list[str]:
        """Add texts, or replace those whose ids are there. Returns their ids."""
        texts = list(texts)
        metadata = [{} for _ in texts] if metadatas is None else metadatas
        names = [None] * len(texts) if ids is None else list(ids)
        check_rows(len(metadata), "metadata", len(texts), "texts")
        check_rows(len(names), "ids", len(texts), "texts")
        chosen = [str(uuid.uuid4()) if name is None else str(name) for name in names]
        if not texts:
            return []
        # If an id comes twice, the last text stays.
        last = {name: place for place, name in enumerate(chosen)}
        kept = list(last.values())
        payload = {
            TEXT: [texts[place] for place in kept],
            METADATA: [json.dumps(metadata[place]) for place in kept],
        }
        codes = self._codes(self._embedding.embed_documents(payload[TEXT]))
        self.index.upsert(codes, list(last), payload)
        for name, text, facts in zip(last, payload[TEXT], payload[METADATA], strict=True):
            self._documents[name] = Document(page_content=text, metadata=json.loads(facts), id=name)
        return chosen

    def delete(self, ids: list[str] | None = None, **_: Any) -> bool:
        """Remove texts by their ids, all of them by default. Ids that are not there do no harm."""
        asked = dict.fromkeys(self._documents if ids is None else ids)
        known = [name for name in asked if name in self._documents]
        if known:
            self.index.remove(known)
        for name in known:
            del self._documents[name]
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Documents by their ids, without those that are not there."""
        return [_copy(self._documents[name]) for name in ids if name in self._documents]

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """The ``k`` nearest documents."""
        return [found for found, _ in self.similarity_search_with_score(query, k, **kwargs)]

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, **kwargs: Any
    ) -> list[Document]:
        """The ``k`` documents nearest to a vector."""
        return [found for found, _ in self._nearest(embedding, k, **kwargs)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """The ``k`` nearest documents and their distances."""
        return self._nearest(self._embedding.embed_query(query), k, **kwargs)

    def _nearest(
        self, vector: list[float], k: int, filter: Any = None, **_: Any
    ) -> list[tuple[Document, float]]:
        where = None
        if filter is not None:
            passes = filter if callable(filter) else _matching(filter)
            where = [name for name, document in self._documents.items() if passes(document)]
        found = self.index.search(self._codes([vector]), k, where=where)[0]
        pairs = zip(found.ids.tolist(), found.distances.tolist(), strict=True)
        return [(_copy(self._documents[name]), float(distance)) for name, distance in pairs]

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        """From 1 for equal codes to 0 for opposite ones."""
        full = self.index.n_bits
        return lambda distance: 1.0 - distance / full

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[Facts] | None = None,
        *,
        ids: list[str] | None = None,
        hasher: Hasher | None = None,
        **_: Any,
    ) -> KinhashVectorStore:
        """Make a store of texts; the fitted ``hasher`` is needed, too."""
        if hasher is None:
            raise InvalidInput("No hasher came", "a fitted hasher", "Pass hasher=")
        store = cls(embedding, hasher)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write codes, texts and metadata as one index file. All or nothing."""
        self.index.save(path)

    def _codes(self, vectors: list[list[float]]) -> Codes:
        return self.hasher.encode(np.asarray(vectors))


def _documents_of(index: HammingIndex) -> dict[str, Document]:
    """The documents in the payload of an index."""
    if not len(index):
        return {}
    payload, ids = index.payload, index.ids.tolist()
    if not {TEXT, METADATA} <= payload.keys() or not isinstance(ids[0], str):
        raise InvalidInput(
            f"The index has the payload columns {', '.join(payload) or 'none'}",
            f"{TEXT} and {METADATA}, and strings as ids",
            "Load a file that `save` wrote",
        )
    rows = zip(ids, payload[TEXT].tolist(), payload[METADATA].tolist(), strict=True)
    return {
        name: Document(page_content=text, metadata=json.loads(facts), id=name) for name, text, facts in rows
    }


def _matching(wanted: Facts) -> Callable[[Document], bool]:
    """Whether the metadata of a document have all of these values."""
    return lambda document: all(
        name in document.metadata and document.metadata[name] == value for name, value in wanted.items()
    )


def _copy(document: Document) -> Document:
    """A document that may be changed without changing the store."""
    return document.model_copy(deep=True)
