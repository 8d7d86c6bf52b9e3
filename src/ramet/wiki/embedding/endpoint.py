"""Vectors from an endpoint that speaks OpenAI's `/v1/embeddings`: a provider's, or a server of one's own."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence

from ramet.wiki.embedding.base import Vector
from ramet.wiki.embedding.calling import AskedTooMuch, Caller, TookTooLong
from ramet.wiki.embedding.endpoint_spec import Endpoint, key_for
from ramet.wiki.embedding.groups import group_by_length
from ramet.wiki.errors import EmbedderBusy, EmbedderError

TEXTS_MAX = 64
"""Texts in one call, at first; fewer once a call took too long."""
CHARACTERS_MAX = 128_000
"""Characters in one call, padding included: some 32,000 tokens of English. A longer text is alone."""
TEXT_CHARACTERS_MAX = 24_000
"""Of one text; what comes after is ignored. Models read 512 to 8,192 tokens."""
TEXT_CHARACTERS_MIN = 500
"""A text that the endpoint finds too long is cut in halves, down to this."""
DIMENSION_MAX = 16_384

_PROBE = "dimension"


class EndpointEmbedder:
    """A model behind an endpoint. Its vectors are brought to length 1, whatever the endpoint sends.

    Faults of the endpoint are tried again within the call (`Caller`). What it finds too long is cut. The key comes
    from the environment and goes nowhere but into the calls.
    """

    semantic = True

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        wait: Callable[[float], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Ask the endpoint for one vector, to learn their length and whether it lets us in.

        Args:
            endpoint: where, and which model.
            wait: waits some seconds between tries; None: really waits.
            clock: monotonic seconds.

        Raises:
            EmbedderError: as `embed`.
            EmbedderBusy: as `embed`.
            ramet.RetryAfter: as `embed`.
        """
        self._endpoint = endpoint
        self._caller = Caller(endpoint, key_for(endpoint), wait or threading.Event().wait, clock)
        self._texts_max = TEXTS_MAX
        self.model_id = endpoint.model_id
        self.dimension = endpoint.dimensions or 0
        (vector,) = self._embed_group([_PROBE])
        self.dimension = len(vector)

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """See `Embedder.embed`.

        Raises:
            EmbedderError: the endpoint refused, or its answer cannot be used.
            EmbedderBusy: it cannot be reached or fails on its side, also after a minute of tries.
            ramet.RetryAfter: it named the time to come back; the resource is `embedding:HOST`.
        """
        # No endpoint takes an empty text.
        asked = [text[:TEXT_CHARACTERS_MAX] or " " for text in texts]
        groups = group_by_length(
            [len(text) for text in asked], padded_max=CHARACTERS_MAX, count_max=max(self._texts_max, 1)
        )
        vectors: list[Vector] = [[]] * len(asked)
        for group in groups:
            for position, vector in zip(group, self._embed_group([asked[place] for place in group]), strict=True):
                vectors[position] = vector
        return vectors

    def _embed_group(self, texts: list[str]) -> list[Vector]:
        """Call for some texts at once; where that is too much, for halves of them, and at last for half a text."""
        try:
            return self._call(texts)
        except TookTooLong as error:
            if len(texts) == 1:
                raise EmbedderBusy(str(error)) from error
            self._texts_max = max(len(texts) // 4, 1)
        except AskedTooMuch as error:
            if len(texts) == 1 and len(texts[0]) <= TEXT_CHARACTERS_MIN:
                raise EmbedderError(str(error)) from error
        if len(texts) == 1:
            return self._embed_group([texts[0][: len(texts[0]) // 2]])
        middle = len(texts) // 2
        return self._embed_group(texts[:middle]) + self._embed_group(texts[middle:])

    def _call(self, texts: list[str]) -> list[Vector]:
        body: dict[str, object] = {"model": self._endpoint.model, "input": texts, "encoding_format": "float"}
        if self._endpoint.dimensions is not None:
            body["dimensions"] = self._endpoint.dimensions
        try:
            return read_answer(self._caller.post(body), len(texts), self.dimension)
        except ValueError as error:
            raise EmbedderError(f"{self._endpoint.url} gave no usable vectors: {error}") from error


def read_answer(answer: object, count: int, dimension: int) -> list[Vector]:
    """The vectors in an endpoint's answer, by their index, each brought to length 1.

    Args:
        answer: decoded JSON.
        count: how many texts were sent.
        dimension: how long each vector must be; 0: as long as the first.

    Raises:
        ValueError: it is not exactly that; the message says what is wrong and holds nothing of the answer.
    """
    items = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ValueError("there is no list of vectors in the answer")
    if len(items) != count:
        raise ValueError(f"{len(items)} vectors came for {count} texts")
    by_index = {item.get("index"): item.get("embedding") for item in items if type(item.get("index")) is int}
    if sorted(by_index) != list(range(count)):
        raise ValueError("the vectors' indexes are not those of the texts")
    vectors = [_unit_vector(by_index[index]) for index in range(count)]
    expected = dimension or len(vectors[0])
    for vector in vectors:
        if len(vector) != expected:
            raise ValueError(f"a vector has {len(vector)} numbers where {expected} were expected")
    return vectors


def _unit_vector(numbers: object) -> Vector:
    if not isinstance(numbers, list) or not 0 < len(numbers) <= DIMENSION_MAX:
        raise ValueError(f"a vector is not a list of 1 to {DIMENSION_MAX:,} numbers")
    if not all(type(number) in (int, float) for number in numbers):
        raise ValueError("a vector holds something that is no number")
    try:
        vector = [float(number) for number in numbers]
        norm = math.hypot(*vector)
    except OverflowError:
        norm = math.inf
        vector = []
    if not math.isfinite(norm) or norm == 0.0:
        raise ValueError("a vector is zero or not finite")
    return [number / norm for number in vector]
