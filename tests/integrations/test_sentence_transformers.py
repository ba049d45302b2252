"""A SentenceTransformer that ends in a hasher gives the hasher's codes. Nothing is downloaded."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from kinhash import EnergyHasher
from kinhash.errors import FileProblem, InvalidInput

torch = pytest.importorskip("torch", reason="torch is not installed")
st = pytest.importorskip("sentence_transformers", "5.7", reason="sentence-transformers>=5.7 is not installed")
tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")

from sentence_transformers.sentence_transformer.modules import StaticEmbedding  # noqa: E402

from kinhash.integrations import sentence_transformers as room  # noqa: E402

WORDS = [f"word{k}" for k in range(60)]
RNG = np.random.default_rng(0)
LABELS = np.arange(240) % 3
TEXTS = [" ".join(RNG.choice(WORDS[20 * label : 20 * label + 30 - 10 * (label == 2)], 6)) for label in LABELS]


@pytest.fixture(scope="module")
def base():
    """A tiny model: the mean of random vectors of words."""
    model = tokenizers.models.WordLevel({word: k for k, word in enumerate(["?", *WORDS])}, unk_token="?")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    vectors = np.random.default_rng(1).normal(size=(61, 24)).astype(np.float32)
    return st.SentenceTransformer(
        modules=[StaticEmbedding(tokenizer, embedding_weights=vectors)], device="cpu"
    )


@pytest.fixture(scope="module")
def embeddings(base):
    return base.encode(TEXTS)


@pytest.fixture(scope="module")
def hasher(embeddings):
    return EnergyHasher(20, random_state=0).fit(embeddings, LABELS)


def coder(base, module):
    return st.SentenceTransformer(modules=[*base, module], device="cpu")


def test_encode_gives_the_codes_of_the_hasher(base, embeddings, hasher):
    ours = hasher.encode(embeddings).packed
    packed = coder(base, room.KinhashModule(hasher))
    for size in (1, 7, 256):
        codes = packed.encode(TEXTS, batch_size=size)
        assert (codes.dtype, codes.shape) == (np.uint8, (240, 3))
        np.testing.assert_array_equal(codes, ours)
    np.testing.assert_array_equal(packed.encode(TEXTS[0]), ours[0])
    np.testing.assert_array_equal(packed.encode(TEXTS, convert_to_tensor=True).numpy(), ours)
    assert packed.get_embedding_dimension() == 3


def test_margins_become_the_same_codes_as_ubinary(base, embeddings, hasher):
    floats = coder(base, room.KinhashModule(hasher, output="margins"))
    ours = hasher.encode(embeddings).packed
    np.testing.assert_array_equal(floats.encode(TEXTS, precision="ubinary"), ours)
    signed = floats.encode(TEXTS, precision="binary")
    np.testing.assert_array_equal((signed.astype(int) + 128).astype(np.uint8), ours)
    margins = floats.encode(TEXTS)
    assert margins.dtype == np.float32
    np.testing.assert_array_equal(margins, hasher.decision_function(embeddings).astype(np.float32))
    assert floats.get_embedding_dimension() == 20
    np.testing.assert_array_equal(st.quantize_embeddings(margins, "ubinary"), ours)


def test_margins_too_small_for_float32_keep_their_bits(hasher, monkeypatch):
    module = room.KinhashModule(hasher, output="margins")
    tiny = np.array([[1e-300, -1e-300, 0.0, 1.0]])
    monkeypatch.setattr(type(hasher), "decision_function", lambda *_: tiny)
    np.testing.assert_array_equal(module._margins(None) > 0, tiny > 0)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_embeddings_of_any_type(hasher, dtype):
    rows = torch.from_numpy(np.random.default_rng(2).normal(size=(50, 24))).to(dtype)
    found = room.KinhashModule(hasher)({"sentence_embedding": rows})["sentence_embedding"]
    np.testing.assert_array_equal(found.numpy(), hasher.encode(rows.double().numpy()).packed)


@pytest.mark.parametrize("output", ["packed", "margins"])
def test_it_saves_and_loads_with_the_model(base, hasher, tmp_path, output):
    before = coder(base, room.KinhashModule(hasher, output))
    before.save(str(tmp_path / "model"))
    listed = json.loads((tmp_path / "model/modules.json").read_text())
    assert listed[-1]["type"] == "kinhash.integrations.sentence_transformers.KinhashModule"
    assert {path.name for path in (tmp_path / "model" / listed[-1]["path"]).iterdir()} == {
        "config.json", "model.kin",
    }  # fmt: skip
    after = st.SentenceTransformer(str(tmp_path / "model"), trust_remote_code=True, device="cpu")
    np.testing.assert_array_equal(after.encode(TEXTS), before.encode(TEXTS))
    assert after[-1].hasher.model_id_ == hasher.model_id_
    (tmp_path / "model" / listed[-1]["path"] / "model.kin").unlink()
    with pytest.raises(FileProblem, match=r"model\.kin"):
        room.KinhashModule.load(str(tmp_path / "model"), subfolder=listed[-1]["path"])


def test_refusals(hasher):
    with pytest.raises(InvalidInput, match="not fitted"):
        room.KinhashModule(EnergyHasher())
    with pytest.raises(InvalidInput, match="output"):
        room.KinhashModule(hasher, output="floats")


def test_the_page_on_encoding_anywhere(base, embeddings, tmp_path, monkeypatch):
    """The blocks of docs/encode_anywhere.md that need kinhash run as written."""
    page = Path(__file__).parents[2] / "docs" / "encode_anywhere.md"
    if not page.exists():
        pytest.skip("the page is in a clone")
    pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    names = {"model": base, "texts": TEXTS, "labels": LABELS}
    for block in blocks:
        if "kinhash" in block:
            exec(block, names)
    ours = names["hasher"].encode(embeddings).packed
    np.testing.assert_array_equal(names["codes"], ours)
    np.testing.assert_array_equal(names["coder"].encode(TEXTS), ours)
