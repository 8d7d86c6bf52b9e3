"""Endpoints: their names in a command, the key that goes to each, and the calls."""

from __future__ import annotations

import ipaddress
import json
import math
import os
import random
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from ramet import RetryAfter
from ramet.commands.errors import one_line
from ramet.commands.extras import import_extra
from ramet.fetch.errors import retry_after_seconds
from ramet.wiki.embedding.base import Vector, group_by_length
from ramet.wiki.errors import WIKI_EXTRA, EmbedderBusy, EmbedderError, WikiError

FORM = "openai:MODEL@BASE_URL, such as openai:text-embedding-3-small@https://api.openai.com/v1"
KEY = "RAMET_EMBEDDING_KEY"
"""The environment variable whose key goes to any endpoint that is named."""
OPENAI_KEY = "OPENAI_API_KEY"
"""The environment variable whose key goes to `OPENAI_HOST` only: it is often set for other programs."""
OPENAI_HOST = "api.openai.com"
_PATH = "/embeddings"

_NAMED = re.compile(r"(?P<model>\S+?)@(?P<url>https?://\S+)", re.IGNORECASE)
_DIMENSIONS = re.compile(r"[1-9][0-9]{0,4}")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint and a model of it.

    Attributes:
        model: as the endpoint names it.
        url: what is posted to, `/embeddings` included. Holds no secret.
        host: with its port, where one was named.
        dimensions: how long vectors are asked for; None: as the model makes them.
    """

    model: str
    url: str
    host: str
    dimensions: int | None

    @property
    def model_id(self) -> str:
        """The model and who serves it: two servers may call different models by one name."""
        return f"openai:{self.model}@{self.host}"

    @property
    def resource(self) -> str:
        """Resource that waits when the endpoint names a time to come back."""
        return f"embedding:{self.host}"


def read_endpoint(named: str) -> Endpoint:
    """Read `MODEL@BASE_URL`, with `?dimensions=NUMBER` or without. A base URL without a path means its `/v1`.

    Raises:
        EmbedderError: it is not of this form. The message does not repeat it, for it may hold a secret.
    """
    match = _NAMED.fullmatch(named)
    if match is None:
        raise EmbedderError(f"an endpoint is named as {FORM}")
    try:
        parts = urlsplit(match["url"])
        port = parts.port
        options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError as error:
        raise EmbedderError(f"the endpoint's address cannot be read; it is named as {FORM}") from error
    host = (parts.hostname or "").rstrip(".")
    if not host:
        raise EmbedderError(f"the endpoint's address has no host; it is named as {FORM}")
    if "@" in parts.netloc:
        raise EmbedderError(f"no key or password may be in the endpoint's address: put it into {KEY}")
    if parts.fragment or [name for name, _ in options] not in ([], ["dimensions"]):
        raise EmbedderError("after the endpoint's address only ?dimensions=NUMBER is understood")
    if options and not _DIMENSIONS.fullmatch(options[0][1]):
        raise EmbedderError("dimensions is a whole number, such as ?dimensions=256")
    shown = f"[{host}]" if ":" in host else host
    shown = shown if port is None else f"{shown}:{port}"
    path = parts.path.rstrip("/").removesuffix(_PATH) or "/v1"
    return Endpoint(
        model=match["model"],
        url=f"{parts.scheme.lower()}://{shown}{path}{_PATH}",
        host=shown,
        dimensions=int(options[0][1]) if options else None,
    )


def key_for(endpoint: Endpoint, environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the key that goes to an endpoint; None: none does, as servers of one's own often want none.

    Raises:
        EmbedderError: it would go over the network unencrypted, or cannot be a key.
    """
    key = environment.get(KEY, "").strip()
    if not key and endpoint.host == OPENAI_HOST:
        key = environment.get(OPENAI_KEY, "").strip()
    if not key:
        return None
    if not (key.isascii() and key.isprintable()):
        raise EmbedderError(f"{KEY} or {OPENAI_KEY} has no valid key: it holds a character that no header may")
    if endpoint.url.startswith("http://") and not _on_this_machine(endpoint.host):
        raise EmbedderError(f"the key would go to {endpoint.host} unencrypted: name it with https, or unset {KEY}")
    return key


def _on_this_machine(host: str) -> bool:
    name = urlsplit(f"//{host}").hostname or ""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost"


TRIES_MAX = 6
TRYING_SECONDS_MAX = 60.0
"""Most seconds of the tries and the waits between them; a call that has begun is not cut short by it."""
WAIT_SECONDS_MAX = 16.0
CONNECT_SECONDS_MAX = 10.0
CALL_SECONDS_MAX = 60.0
"""Most seconds from the first byte sent to the last received."""
ANSWER_BYTES_MAX = 1 << 20
"""Most bytes of an uncompressed answer, besides `VECTOR_BYTES_MAX` for each text."""
VECTOR_BYTES_MAX = 1 << 18
FAULT_BYTES_MAX = 1 << 16
"""Most bytes that are read of an answer that reports a fault."""
FAULT_CHARACTERS_MAX = 200
"""Most characters that are repeated of an endpoint's words about a fault."""
BUSY_SECONDS = (5.0, 300.0)
"""Seconds that an endpoint is left alone that is busy and does not say for how long: first, and at most."""
RETRY_AFTER_SECONDS_MAX = 3_600.0

_TOO_MUCH = frozenset({400, 413, 422})
_BUSY = frozenset({408, 425})
_NO_QUOTA = "insufficient_quota"


class InputTooLarge(Exception):
    """The endpoint refused what was sent: perhaps a text is too long, or there are too many."""


class EndpointTimeout(Exception):
    """The endpoint was computing when the time for a call was up."""


class EmbedderRateLimited(RetryAfter, WikiError):
    """The endpoint named the time to come back."""

    def __init__(self, seconds: float, resource: str) -> None:
        """Come back in `seconds`."""
        super().__init__(seconds, resource)
        self.args = (f"{resource} asks to be left alone for {seconds:g} s; run it again after that",)


class Caller:
    """Client that posts JSON to one endpoint, and tries again where that can help. Thread-safe.

    It follows no redirect, uses no proxy and reads no credentials from files: the key goes to the endpoint that was
    named and nowhere else.
    """

    def __init__(
        self, endpoint: Endpoint, key: str | None, wait: Callable[[float], object], clock: Callable[[], float]
    ) -> None:
        """Prepare calls; nothing is sent yet."""
        self._endpoint = endpoint
        self._headers = {"Accept": "application/json", "Accept-Encoding": "identity"} | (
            {"Authorization": f"Bearer {key}"} if key else {}
        )
        self._wait = wait
        self._clock = clock
        self._httpx = import_extra("httpx2", WIKI_EXTRA)
        # The certificates that this machine trusts are read once: reading it can take longer than a call.
        self._tls = self._httpx.create_ssl_context()
        self._busy_in_a_row = 0

    def post(self, body: Mapping[str, object]) -> Any:
        """Return the endpoint's answer, decoded.

        Raises:
            InputTooLarge, EndpointTimeout: see there.
            EmbedderRateLimited: it is busy and says for how long, or has too many requests.
            EmbedderBusy: it cannot be reached, or fails on its side, at every try.
            EmbedderError: it refused us, or its answer is not JSON, or is too large.
        """
        until = self._clock() + TRYING_SECONDS_MAX
        for tries in range(1, TRIES_MAX + 1):
            try:
                answer = self._post_once(body)
            except EmbedderBusy:
                seconds = random.uniform(0.0, min(2.0**tries, WAIT_SECONDS_MAX))
                if tries == TRIES_MAX or self._clock() + seconds > until:
                    raise
                self._wait(seconds)
            else:
                self._busy_in_a_row = 0
                return answer
        raise AssertionError("the last try returns or raises")

    def _post_once(self, body: Mapping[str, object]) -> Any:
        httpx = self._httpx
        host = self._endpoint.host
        times = httpx.Timeout(CALL_SECONDS_MAX, connect=CONNECT_SECONDS_MAX)
        until = self._clock() + CALL_SECONDS_MAX
        try:
            with (
                httpx.Client(verify=self._tls, timeout=times, trust_env=False, follow_redirects=False) as client,
                client.stream("POST", self._endpoint.url, json=body, headers=self._headers) as response,
            ):
                if response.status_code == 200:
                    texts = body["input"]
                    assert isinstance(texts, list)
                    limit = ANSWER_BYTES_MAX + VECTOR_BYTES_MAX * len(texts)
                    return self._decoded(response, self._read(response, limit, until))
                self._fail(response, self._read(response, FAULT_BYTES_MAX, until, cut=True))
        except httpx.ConnectTimeout as error:
            raise EmbedderBusy(f"{host} does not answer: check the address, or try again later") from error
        except httpx.TimeoutException as error:
            raise EndpointTimeout(f"{host} took more than {CALL_SECONDS_MAX:g} s for a call") from error
        except httpx.ConnectError as error:
            raise EmbedderBusy(
                f"{host} cannot be reached: {one_line(error)}; check the address, or try again later"
            ) from error
        except httpx.TransportError as error:
            raise EmbedderBusy(f"{host} broke the connection: {type(error).__name__}; try again later") from error
        except httpx.InvalidURL as error:
            raise EmbedderError(f"the address of {host} is none: {one_line(error)}") from error

    def _read(self, response: Any, bytes_max: int, until: float, *, cut: bool = False) -> bytes:
        if response.headers.get("content-encoding", "identity") != "identity":
            raise EmbedderError(f"{self._endpoint.host} compressed its answer though asked not to: check the address")
        content = bytearray()
        for part in response.iter_raw():
            content += part
            if len(content) > bytes_max:
                if cut:
                    break
                raise EmbedderError(f"{self._endpoint.host} sent more than {bytes_max:,} bytes: check the address")
            if self._clock() > until:
                raise EndpointTimeout(f"{self._endpoint.host} took more than {CALL_SECONDS_MAX:g} s for a call")
        return bytes(content)

    def _decoded(self, response: Any, content: bytes) -> Any:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise EmbedderError(f"{self._endpoint.url} answers with no JSON: is it the address of an embedding API?")
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise EmbedderError(f"{self._endpoint.url} sent JSON that cannot be read") from error

    def _fail(self, response: Any, content: bytes) -> None:
        """Raise what an answer other than 200 means."""
        status = response.status_code
        host = self._endpoint.host
        code, words = _fault(content, self._headers.get("Authorization", "").removeprefix("Bearer "))
        if status == 429 and code == _NO_QUOTA:
            raise EmbedderError(f"{host} says that the account has no quota left: {words}")
        after = retry_after_seconds(response.headers.get("retry-after", ""), time.time())
        if status == 429 or (status == 503 and after is not None):
            if after is None:
                first, longest = BUSY_SECONDS
                after = min(first * 2.0**self._busy_in_a_row, longest)
                self._busy_in_a_row = min(self._busy_in_a_row + 1, 16)
            raise EmbedderRateLimited(min(max(after, 1.0), RETRY_AFTER_SECONDS_MAX), self._endpoint.resource)
        if status >= 500 or status in _BUSY:
            raise EmbedderBusy(f"{host} answered {status}: {words}; try again later")
        if status in _TOO_MUCH:
            raise InputTooLarge(f"{host} refused the request ({status}): {words}")
        if status in (401, 403):
            raise EmbedderError(f"{host} refused the key ({status}): {words}; set {KEY} to one that it takes")
        if status == 404:
            raise EmbedderError(f"{self._endpoint.url} is not there, or has no model {self._endpoint.model}: {words}")
        raise EmbedderError(f"{self._endpoint.url} answered {status}: {words}; check the address")


def _fault(content: bytes, key: str) -> tuple[str, str]:
    """Return the code and the words of a fault, as far as the answer has any that may be repeated."""
    try:
        error = json.loads(content)["error"]
    except (ValueError, RecursionError, KeyError, TypeError, IndexError):
        return "", "it does not say why"
    code = str(error.get("code") or "") if isinstance(error, dict) else ""
    told = error.get("message") if isinstance(error, dict) else error
    words = one_line(told) if isinstance(told, str) else ""
    if key:
        words = words.replace(key, "***")
    words = "".join(character for character in words if character.isprintable())[:FAULT_CHARACTERS_MAX]
    return code, words or "it does not say why"


TEXTS_MAX = 64
"""Most texts in one call, at first; fewer once a call took too long."""
CHARACTERS_MAX = 128_000
"""Most characters in one call, padding included: some 32,000 tokens of English. A longer text is alone."""
TEXT_CHARACTERS_MAX = 24_000
"""Most characters of one text; the rest is ignored. Models read 512 to 8,192 tokens."""
TEXT_CHARACTERS_MIN = 500
"""Least characters to which a text that the endpoint finds too long is halved."""
DIMENSION_MAX = 16_384

_PROBE = "dimension"


class EndpointEmbedder:
    """A model behind an endpoint. Its vectors are brought to length 1, whatever the endpoint sends.

    A call that fails is tried again (`Caller`). Texts that the endpoint finds too long are cut. The key comes
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

    def embed_query(self, text: str) -> Vector:
        """See `Embedder.embed_query`; raises what `embed` raises."""
        return self.embed([text])[0]

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
        except EndpointTimeout as error:
            if len(texts) == 1:
                raise EmbedderBusy(str(error)) from error
            self._texts_max = max(len(texts) // 4, 1)
        except InputTooLarge as error:
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
    """Return the vectors in an endpoint's answer, by their index, each brought to length 1.

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
        raise ValueError("a vector holds something that is not a number")
    try:
        vector = [float(number) for number in numbers]
        norm = math.hypot(*vector)
    except OverflowError:
        norm = math.inf
        vector = []
    if not math.isfinite(norm) or norm == 0.0:
        raise ValueError("a vector is zero or not finite")
    return [number / norm for number in vector]
