"""One call to an embedding endpoint: bounded in time and size, its faults sorted by what can be done about them."""

from __future__ import annotations

import email.utils
import json
import random
import time
from collections.abc import Callable, Mapping
from typing import Any

from ramet import RetryAfter
from ramet.commands.errors import one_line
from ramet.commands.extras import import_extra
from ramet.wiki.embedding.endpoint_spec import KEY, Endpoint
from ramet.wiki.errors import WIKI_EXTRA, EmbedderBusy, EmbedderError, WikiError

TRIES_MAX = 6
TRYING_SECONDS_MAX = 60.0
"""Tries and the waits between them; a call that has begun is not cut short by it."""
WAIT_SECONDS_MAX = 16.0
CONNECT_SECONDS_MAX = 10.0
CALL_SECONDS_MAX = 60.0
"""From the first byte sent to the last received."""
ANSWER_BYTES_MAX = 1 << 20
"""Of an answer, which may not be compressed, and for each text as much again as `VECTOR_BYTES_MAX`."""
VECTOR_BYTES_MAX = 1 << 18
FAULT_BYTES_MAX = 1 << 16
"""Of an answer that tells of a fault; the rest of it is not read."""
FAULT_CHARACTERS_MAX = 200
"""Of what an endpoint says about a fault that are repeated."""
BUSY_SECONDS = (5.0, 300.0)
"""How long an endpoint is left alone that is busy and does not say for how long: first, and at most."""
RETRY_AFTER_SECONDS_MAX = 3_600.0

_TOO_MUCH = frozenset({400, 413, 422})
_BUSY = frozenset({408, 425})
_NO_QUOTA = "insufficient_quota"


class AskedTooMuch(Exception):
    """The endpoint refused what was sent: perhaps a text is too long, or there are too many."""


class TookTooLong(Exception):
    """The endpoint was computing when the time for a call was up."""


class EmbedderRateLimited(RetryAfter, WikiError):
    """The endpoint named the time to come back."""

    def __init__(self, seconds: float, resource: str) -> None:
        """Come back in `seconds`."""
        super().__init__(seconds, resource)
        self.args = (f"{resource} asks to be left alone for {seconds:g} s; run it again after that",)


class Caller:
    """Posts JSON to one endpoint, and tries again where that can help. Thread-safe.

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
        # What this machine trusts is read once: reading it can take longer than a call.
        self._tls = self._httpx.create_ssl_context()
        self._busy_in_a_row = 0

    def post(self, body: Mapping[str, object]) -> Any:
        """The endpoint's answer, decoded.

        Raises:
            AskedTooMuch, TookTooLong: see there.
            EmbedderRateLimited: it is busy and says for how long, or has too many requests.
            EmbedderBusy: it cannot be reached, or fails on its side, at every try.
            EmbedderError: it refused us, or its answer is no JSON of a bearable size.
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
            raise TookTooLong(f"{host} took more than {CALL_SECONDS_MAX:g} s for a call") from error
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
                raise TookTooLong(f"{self._endpoint.host} took more than {CALL_SECONDS_MAX:g} s for a call")
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
        code, told = _fault(content, self._headers.get("Authorization", "").removeprefix("Bearer "))
        if status == 429 and code == _NO_QUOTA:
            raise EmbedderError(f"{host} says that the account has no quota left: {told}")
        after = _retry_after_seconds(response.headers.get("retry-after", ""))
        if status == 429 or (status == 503 and after is not None):
            if after is None:
                first, longest = BUSY_SECONDS
                after = min(first * 2.0**self._busy_in_a_row, longest)
                self._busy_in_a_row = min(self._busy_in_a_row + 1, 16)
            raise EmbedderRateLimited(after, self._endpoint.resource)
        if status >= 500 or status in _BUSY:
            raise EmbedderBusy(f"{host} answered {status}: {told}; try again later")
        if status in _TOO_MUCH:
            raise AskedTooMuch(f"{host} refused the request ({status}): {told}")
        if status in (401, 403):
            raise EmbedderError(f"{host} refused the key ({status}): {told}; set {KEY} to one that it takes")
        if status == 404:
            raise EmbedderError(f"{self._endpoint.url} is not there, or has no model {self._endpoint.model}: {told}")
        raise EmbedderError(f"{self._endpoint.url} answered {status}: {told}; check the address")


def _retry_after_seconds(header: str) -> float | None:
    """Seconds from now that a Retry-After means, in either of its forms; None: there is none that can be read."""
    header = header.strip()
    if header.isascii() and header.isdigit():
        seconds = float(header[:9])
    else:
        try:
            seconds = email.utils.parsedate_to_datetime(header).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return min(max(seconds, 1.0), RETRY_AFTER_SECONDS_MAX)


def _fault(content: bytes, key: str) -> tuple[str, str]:
    """The code and the words of a fault, as far as the answer has any that may be repeated."""
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
