"""LangChain's own tests of vector stores, and ours: filters, scores, files, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from kinhash import HammingIndex, load
from kinhash.errors import InvalidInput

pytest.importorskip("langchain_core", reason="langchain-core is not installed")
standard = pytest.importorskip(
    "langchain_tests.integration_tests", reason="langchain-tests is not installed: make test-integrations"
)

from langchain_core.documents import Document  # noqa: E402
from langchain_core.embeddings import DeterministicFakeEmbedding  # noqa: E402

from kinhash import EnergyHasher  # noqa: E402
from kinhash.integrations import langchain  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::kinhash.errors.KinhashWarning")
SIZE = 6
EMBEDDING = DeterministicFakeEmbedding(size=SIZE)


@pytest.fixture(scope="module")
def hasher():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, SIZE))
    return EnergyHasher(64, random_state=0).fit(X, X.argmax(axis=1))


@pytest.mark.asyncio
@pytest.mark.filterwarnings("ignore:.*is marked with '@pytest.mark.asyncio'")
class TestStandard(standard.VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, hasher):
        return langchain.KinhashVectorStore(self.get_embeddings(), hasher)


@pytest.fixture
def store(hasher):
    metadatas = [{"parity": n % 2, "tags": ["a"] * n} for n in range(20)]
    return langchain.KinhashVectorStore.from_texts(
        [f"text {n}" for n in range(20)],
        EMBEDDING,
        metadatas,
        ids=[f"id {n:02}" for n in range(20)],
        hasher=hasher,
    )


def test_the_order_and_the_scores_are_those_of_the_codes(store, hasher):
    for text in ("text 3", "something else"):
        distances = hasher.encode([EMBEDDING.embed_query(text)] * 20).distances(store.index.codes())
        wanted = sorted(zip(distances.tolist(), store.index.ids.tolist(), strict=True))[:7]
        found = store.similarity_search_with_score(text, k=7)
        assert [(score, document.id) for document, score in found] == wanted
        by_vector = store.similarity_search_by_vector(EMBEDDING.embed_query(text), k=7)
        assert by_vector == [document for document, _ in found]
        relevance = [score for _, score in store.similarity_search_with_relevance_scores(text, k=7)]
        assert relevance == [1 - distance / 64 for distance, _ in wanted]


def test_filters_come_before_the_selection(store):
    wanted = [one for one in store.similarity_search("text 3", k=20) if one.metadata["parity"] == 1]
    assert store.similarity_search("text 3", k=5, filter={"parity": 1}) == wanted[:5]
    assert (
        store.similarity_search("text 3", k=5, filter=lambda one: one.metadata["parity"] == 1) == wanted[:5]
    )
    assert store.similarity_search("text 3", k=5, filter={"gone": 1}) == []
    retriever = store.as_retriever(search_kwargs={"k": 2, "filter": {"parity": 1}})
    assert retriever.invoke("text 3") == wanted[:2]


def test_a_file_holds_texts_and_metadata(store, hasher, tmp_path):
    store.delete(["id 04", "never there"])
    store.add_documents([Document(page_content="new", metadata={"parity": 1}, id="id 05")])
    store.save(tmp_path / "store.kin")
    again = langchain.KinhashVectorStore(EMBEDDING, hasher, load(tmp_path / "store.kin"))
    assert again.similarity_search("new", k=19) == store.similarity_search("new", k=19)
    assert again.get_by_ids(["id 05"])[0].page_content == "new"
    assert again.get_by_ids(["id 04"]) == []
    again.add_texts(["more"], ids=["id 04"])
    assert len(again.index) == 20
    assert again.delete()
    assert len(again.index) == 0


def test_a_document_that_is_changed_outside_stays_as_it_was_inside(store):
    store.get_by_ids(["id 03"])[0].metadata["tags"].append("b")
    assert store.get_by_ids(["id 03"])[0].metadata["tags"] == ["a"] * 3


def test_the_last_of_equal_ids_stays(store):
    assert store.add_texts(["one", "two"], ids=["x", "x"]) == ["x", "x"]
    assert store.get_by_ids(["x"])[0].page_content == "two"


def test_refusals(store, hasher):
    with pytest.raises(InvalidInput, match="not fitted"):
        langchain.KinhashVectorStore(EMBEDDING, EnergyHasher())
    with pytest.raises(InvalidInput, match="No hasher"):
        langchain.KinhashVectorStore.from_texts(["a"], EMBEDDING)
    with pytest.raises(InvalidInput, match="1 metadata came with 2 texts"):
        store.add_texts(["a", "b"], [{}])
    other = EnergyHasher(64, random_state=1).fit(np.eye(SIZE).repeat(9, axis=0), np.arange(54) // 9)
    with pytest.raises(InvalidInput, match="another model"):
        langchain.KinhashVectorStore(EMBEDDING, other, store.index)
    index = HammingIndex.from_codes(hasher.encode(np.eye(SIZE)))
    with pytest.raises(InvalidInput, match="payload columns none"):
        langchain.KinhashVectorStore(EMBEDDING, hasher, index)
