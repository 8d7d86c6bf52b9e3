"""Embedders by the names that commands take."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from ramet.commands.extras import need_modules
from ramet.wiki.embedding.base import Embedder, HashingEmbedder
from ramet.wiki.embedding.endpoint import EndpointEmbedder, key_for, read_endpoint
from ramet.wiki.embedding.minilm import PACKAGES, MiniLmEmbedder
from ramet.wiki.embedding.multilingual import EXTRA, MODULE, MultilingualEmbedder
from ramet.wiki.embedding.sentence import PACKAGE, SentenceEmbedder
from ramet.wiki.errors import WIKI_EXTRA, EmbedderError
from ramet.wiki.graphs.base import NO_MODEL

DEFAULT = "onnx"
SENTENCE = "sentence-transformers"
ENDPOINT = "openai"
MULTILINGUAL = "multilingual"
HASHING = "hashing"
NONE = "none"
AUTO = "auto"
"""The graph's own model; for a new graph the default one, or the multilingual one for texts that are not English."""
MULTILINGUAL_ADVICE = f"give --embed multilingual (`pip install {EXTRA}`), in a new graph"
FORMS = f"{DEFAULT}, {MULTILINGUAL}, {SENTENCE}:MODEL, {ENDPOINT}:MODEL@BASE_URL, {HASHING} or {NONE}"


def open_embedder(spec: str, data_dir: Path) -> Embedder | None:
    """Open the embedder that `spec` names; None if it names none.

    Args:
        spec: `onnx`: the default model, of English. `multilingual`: one of a hundred languages.
            `sentence-transformers:MODEL` or `sentence-transformers:MODEL@REVISION`. `openai:MODEL@BASE_URL`, with
            `?dimensions=NUMBER` or without: an endpoint that is asked for one vector here. `hashing`: the stand-in
            without a model. `none`: passages get no vectors.
        data_dir: where what is fetched is kept.

    Raises:
        EmbedderError: there is no such embedder, or an endpoint refuses us.
        EmbedderBusy: an endpoint cannot be reached just now.
        ramet.RetryAfter: an endpoint names the time to come back.
        ExtraMissing, DatasetError: as `MiniLmEmbedder` and `SentenceEmbedder`.
    """
    kind, rest = _split(spec)
    match kind:
        case "onnx":
            return MiniLmEmbedder(data_dir)
        case "multilingual":
            return MultilingualEmbedder()
        case "sentence-transformers":
            return SentenceEmbedder(rest)
        case "openai":
            return EndpointEmbedder(read_endpoint(rest))
        case "hashing":
            return HashingEmbedder()
        case _:
            return None


def model_of(spec: str) -> tuple[str, int] | None:
    """Return the id and the dimension of the model that `spec` names, where that is known without opening it.

    So who only loads vectors needs neither the model nor the key. ("none", 0) where there are no vectors; None for
    sentence-transformers, and for an endpoint that is not asked for a dimension.

    Raises:
        EmbedderError: `spec` names no embedder.
    """
    kind, rest = _split(spec)
    if kind == DEFAULT:
        return MiniLmEmbedder.model_id, MiniLmEmbedder.dimension
    if kind == MULTILINGUAL:
        return MultilingualEmbedder.model_id, MultilingualEmbedder.dimension
    if kind == HASHING:
        stand_in = HashingEmbedder()
        return stand_in.model_id, stand_in.dimension
    if kind == ENDPOINT:
        endpoint = read_endpoint(rest)
        return (endpoint.model_id, endpoint.dimensions) if endpoint.dimensions else None
    return (NO_MODEL, 0) if kind == NONE else None


def spec_of(model_id: str) -> str | None:
    """Return the embedder of a graph's vectors; None where a graph alone must not choose one."""
    stand_in = HashingEmbedder()
    return {
        stand_in.model_id: HASHING,
        MiniLmEmbedder.model_id: DEFAULT,
        MultilingualEmbedder.model_id: MULTILINGUAL,
        NO_MODEL: NONE,
    }.get(model_id)


def multilingual_installed() -> bool:
    """Return whether the multilingual model is there."""
    return importlib.util.find_spec(MODULE) is not None


def check_embedder(spec: str) -> None:
    """Check whether `spec` can be opened, without loading, fetching or asking anything.

    Raises:
        EmbedderError: it names no embedder.
        ExtraMissing: a package that it needs is not installed; the message says what installs it.
    """
    kind, rest = _split(DEFAULT if spec == AUTO else spec)
    if kind == DEFAULT:
        need_modules(PACKAGES, WIKI_EXTRA)
    elif kind == MULTILINGUAL:
        need_modules((MODULE,), EXTRA)
    elif kind == SENTENCE:
        need_modules(("sentence_transformers",), PACKAGE)
    elif kind == ENDPOINT:
        key_for(read_endpoint(rest))
        need_modules(("httpx2",), WIKI_EXTRA)


def _split(spec: str) -> tuple[str, str]:
    kind, colon, rest = spec.partition(":")
    if kind in (DEFAULT, MULTILINGUAL, HASHING, NONE) and not colon:
        return kind, ""
    if kind in (SENTENCE, ENDPOINT) and rest:
        return kind, rest
    # The value is not repeated: an address in it may hold a secret.
    raise EmbedderError(f"no such embedder; it is one of {FORMS}")
