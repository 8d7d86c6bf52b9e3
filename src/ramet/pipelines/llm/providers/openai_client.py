"""One client for each provider that speaks OpenAI's API: bounded in time and size, without retries of its own.

What its errors mean is told in the table of :mod:`ramet.pipelines.llm.providers.openai_faults`. To tell "certainly not
sent" from "perhaps taken on" the transport notes when a request begins to leave: until then nothing was sent.

Nothing but the arguments decides where calls go and with what key: no proxy, credential, organisation or header that
environment variables name is used. Redirects are not followed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ramet.pipelines.llm.errors import Ambiguous, LlmError, NotSent, ProviderError, import_extra, one_line
from ramet.pipelines.llm.providers.base import Rate
from ramet.pipelines.llm.providers.openai_faults import fault_of
from ramet.pipelines.llm.providers.openai_rates import rates_from

if TYPE_CHECKING:
    from openai import AsyncOpenAI

OPENAI_URL = "https://api.openai.com/v1"
CONNECT_SECONDS_MAX = 10.0
ANSWER_BYTES_MAX = 32 * 1024 * 1024
"""Of one answer that is held in memory."""
FILE_BYTES_MAX = 4 * 1024 * 1024 * 1024
"""Of one file, which is streamed."""
CONNECTIONS_MAX = 100
KEEPALIVE_SECONDS = 2.0
"""Shorter than servers keep a connection: one that closes as we write would leave a submit in doubt."""


@dataclass(slots=True)
class Sending:
    """What the transport saw of one call."""

    began: bool = False
    """Whether bytes of the request may have left."""


_SENDING: ContextVar[Sending | None] = ContextVar("ramet_llm_sending", default=None)


@dataclass(frozen=True, slots=True)
class Reply:
    """A 2xx answer: its JSON object and what its headers told."""

    body: dict[str, Any]
    rates: tuple[Rate, ...]


class Client:
    """The SDK's client with our transport. Belongs to one event loop; safe for many calls at once."""

    def __init__(
        self, *, base_url: str | None, api_key: str | None, organization: str | None = None, strict: bool = False
    ) -> None:
        """Connect to nothing yet.

        Args:
            base_url: of a compatible server, ``http://localhost:8000/v1``; None: OpenAI itself.
            api_key: None for a server that asks for none.
            organization: OpenAI's, if the key belongs to several.
            strict: whether answers must be exactly what the SDK's types say; for tests.

        Raises:
            ExtraMissing: the SDK is not installed.
            LlmError: the address is none, or the key has a character that no header may have.
        """
        url = (base_url or OPENAI_URL).rstrip("/")
        self.host = _checked_host(url)
        if api_key is not None and not (api_key.isascii() and api_key.isprintable() and api_key.strip() == api_key):
            raise LlmError("the API key has a character that no key has: was a line break copied with it?")
        self._key = api_key
        openai = import_extra("openai")
        from ramet.pipelines.llm.providers.openai_transport import open_http_client

        self._openai = openai
        self.sdk: AsyncOpenAI = openai.AsyncOpenAI(
            # The SDK insists on some key; servers that ask for none ignore it.
            api_key=api_key or "none",
            admin_api_key="",
            base_url=url,
            max_retries=0,
            http_client=open_http_client(_SENDING),
            _strict_response_validation=strict,
        )
        # The SDK fills these from the environment when they are not given.
        self.sdk.organization = organization
        self.sdk.project = None
        self.sdk._custom_headers = {}

    async def ask(
        self,
        call: Callable[[Any], Awaitable[Any]],
        *,
        seconds: float,
        submit: bool = False,
        batch: bool = False,
    ) -> Reply:
        """Make one call and read its answer.

        Args:
            call: is given the SDK's ``timeout`` and makes a call `with_raw_response`.
            seconds: for all of it.
            submit: whether it hands something over that costs money.
            batch: whether that is a batch.

        Raises:
            ProviderError: by the table of `openai_faults`; `NotFound` for an id that the provider does not know.
        """
        sending = Sending()
        mark = _SENDING.set(sending)
        try:
            async with self.translated(seconds, sending, submit=submit, batch=batch) as timeout:
                async with asyncio.timeout(seconds):
                    raw = await call(timeout)
                return self._read(raw)
        finally:
            _SENDING.reset(mark)

    def _read(self, raw: Any) -> Reply:
        raw.parse()
        body = json.loads(raw.http_response.content)
        if not isinstance(body, dict):
            raise ValueError("the answer is no JSON object")
        return Reply(body, rates_from(raw.headers))

    @asynccontextmanager
    async def translated(
        self, seconds: float, sending: Sending | None = None, *, submit: bool = False, batch: bool = False
    ) -> AsyncIterator[Any]:
        """The SDK's errors in this pipeline's words; gives the SDK's ``timeout``."""
        if seconds <= 0:
            raise NotSent(f"there was no time left to ask {self.host}")
        httpx = import_extra("httpx2")
        openai = self._openai
        try:
            yield httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS_MAX))
        except openai.APIResponseValidationError as error:
            raise self._unreadable(submit, f"is not as it should be: {one_line(error)[:200]}") from None
        except openai.APIStatusError as error:
            raise fault_of(
                error.status_code, error.response.headers, error.body,
                host=self.host, key=self._key, submit=submit, batch=batch,
            ) from None  # fmt: skip
        except openai.APIConnectionError as error:
            raise self._broken(sending, submit, error.__cause__ or error) from None
        except (httpx.TransportError, TimeoutError) as error:
            raise self._broken(sending, submit, error) from None
        except (ValueError, RecursionError) as error:
            raise self._unreadable(submit, f"cannot be read: {type(error).__name__}") from None

    def _unreadable(self, submit: bool, why: str) -> ProviderError:
        return (Ambiguous if submit else NotSent)(f"the answer of {self.host} {why}")

    def _broken(self, sending: Sending | None, submit: bool, error: BaseException) -> ProviderError:
        reason = one_line(error) or type(error).__name__
        if sending is not None and not sending.began:
            return NotSent(f"{self.host} cannot be reached: {reason}")
        told = f"{self.host} gave no whole answer: {reason}"
        return Ambiguous(told) if submit else NotSent(told)

    async def close(self) -> None:
        """Close the connections."""
        await self.sdk.close()


def _checked_host(url: str) -> str:
    """The host and port of an address that calls can go to.

    Raises:
        LlmError: it is no http or https address, or has a user name or password in it.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise LlmError(f"{url[:200]!a} is no address: give one such as http://localhost:8000/v1") from None
    if parts.scheme not in ("http", "https") or not host:
        raise LlmError(f"{url[:200]!a} is no http or https address: give one such as http://localhost:8000/v1")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise LlmError(f"the address of {host} has a key or a query in it: give keys in the environment")
    return f"{host}:{port}" if port else host


def error_of(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The ``error`` object of an answer, where it has one."""
    error = body.get("error")
    return error if isinstance(error, Mapping) else None
