"""Calls through a vendor's SDK: bounded in time and size, without retries of its own.

The meaning of an answer other than 2xx is in the table of :mod:`ramet.llm.providers.openai_errors`. To distinguish
"certainly not sent" from "perhaps taken on" the transport notes when a request begins to leave: until then nothing was
sent.

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
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from ramet.commands.errors import one_line
from ramet.commands.extras import import_extra
from ramet.llm.errors import LLM_EXTRA, Ambiguous, LlmError, NotSent, ProviderError, Refused
from ramet.llm.providers.base import (
    CHAT_CAPS,
    Answer,
    AnswerState,
    Mode,
    Poll,
    PollState,
    RateLimit,
    Sending,
    Submission,
)
from ramet.llm.providers.openai_answers import UNREADABLE
from ramet.llm.providers.openai_errors import fault_of, rates_from

if TYPE_CHECKING:
    import httpx2

CONNECT_SECONDS_MAX = 10.0
_SENDING: ContextVar[Sending | None] = ContextVar("ramet_llm_sending", default=None)


@dataclass(frozen=True, slots=True)
class Reply:
    """A 2xx answer: its JSON object and the rates in its headers."""

    body: dict[str, Any]
    rates: tuple[RateLimit, ...]


class Caller:
    """A vendor's SDK with our transport. Belongs to one event loop; safe for many calls at once."""

    def __init__(self, sdk: str, url: str, api_key: str | None, *, extra: str = LLM_EXTRA) -> None:
        """Connect to nothing yet.

        Args:
            sdk: the SDK's module. Its classes of errors have the same names with every vendor.
            url: where the vendor's addresses begin.
            api_key: None for a server that asks for none. No message repeats it.
            extra: what installs the SDK, quoted for a shell.

        Raises:
            ExtraMissing: the SDK is not installed.
            LlmError: the address is none, or the key has a character that no header may have.
        """
        self.host = checked_host(url)
        if api_key is not None and not (api_key.isascii() and api_key.isprintable() and api_key.strip() == api_key):
            raise LlmError("the API key has a character that no key has: was a line break copied with it?")
        self._key = api_key
        self._module = import_extra(sdk, extra)
        # Not before the extra is known to be installed: it brings httpx2.
        from ramet.llm.providers.sdk_transport import open_http_client

        self.http: httpx2.AsyncClient = open_http_client(_SENDING)

    async def ask(
        self, call: Callable[[Any], Awaitable[Any]], *, seconds: float, submit: bool = False, batch: bool = False
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
        body = json.loads(raw.http_response.content)
        if not isinstance(body, dict):
            raise ValueError("the answer is not a JSON object")
        return Reply(body, self._rates(raw.headers))

    @asynccontextmanager
    async def translated(
        self, seconds: float, sending: Sending | None = None, *, submit: bool = False, batch: bool = False
    ) -> AsyncIterator[Any]:
        """Translate the SDK's errors into this pipeline's; provide the SDK's ``timeout``."""
        if seconds <= 0:
            raise NotSent(f"there was no time left to ask {self.host}")
        httpx = import_extra("httpx2", LLM_EXTRA)
        sdk = self._module
        try:
            yield httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS_MAX))
        except sdk.APIResponseValidationError as error:
            raise self._unreadable(submit, f"is not as it should be: {one_line(error)[:200]}") from None
        except sdk.APIStatusError as error:
            raise self._fault(
                error.status_code, error.response.headers, error.body, submit=submit, batch=batch
            ) from None  # fmt: skip
        except sdk.APIConnectionError as error:
            raise self._broken(sending, submit, error.__cause__ or error) from None
        except (httpx.TransportError, TimeoutError) as error:
            raise self._broken(sending, submit, error) from None
        except (ValueError, RecursionError) as error:
            if submit and sending is not None and not sending.began:
                words = f"the request cannot be written as JSON: {one_line(error)[:200]}"
                raise Refused(words, "invalid_request") from None
            raise self._unreadable(submit, f"cannot be read: {type(error).__name__}") from None

    def _fault(
        self, status: int, headers: Mapping[str, str], body: object, *, submit: bool, batch: bool
    ) -> ProviderError:
        """Return the error for an answer other than 2xx."""
        return fault_of(status, headers, body, host=self.host, key=self._key, submit=submit, batch=batch)

    def _rates(self, headers: Mapping[str, str]) -> tuple[RateLimit, ...]:
        """Return the rate limits in an answer's headers."""
        return rates_from(headers)

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
        await self.http.aclose()


def checked_host(url: str) -> str:
    """Return the host and port of an address that calls can go to.

    Raises:
        LlmError: it is not an http or https address, or has a user name or password in it.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise LlmError(f"{url[:200]!a} is not an address: give one such as http://localhost:8000/v1") from None
    if parts.scheme not in ("http", "https") or not host:
        whole = f"http://{url}" if "://" not in url else "http://localhost:8000/v1"
        raise LlmError(f"{url[:200]!a} has no scheme http or https: give an address such as {whole[:200]}")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise LlmError(f"the address of {host} has a user, a query or a fragment in it: leave that out; keys are given "
                       "in the environment")  # fmt: skip
    return f"{host}:{port}" if port else host


class AnswersAtOnce:
    """A provider in mode chat. Nothing is kept at the provider, so there is nothing to poll, cancel or find.

    A call whose connection breaks may have been answered and billed: that is `Ambiguous`, and stays so.
    """

    mode = Mode.CHAT
    caps = CHAT_CAPS
    calls: ClassVar[str]
    """The provider's own word for what is asked."""

    async def poll(self, remote_id: str, *, seconds: float) -> Poll:
        """Return None: an answered call is not kept at the provider."""
        return Poll(PollState.LOST, "unknown", error=f"{self.calls} are not kept at the provider")

    async def cancel(self, remote_id: str, *, seconds: float) -> None:
        """Nothing is running once the call is over."""

    async def results(self, remote_id: str, *, seconds: float) -> AsyncIterator[Answer]:
        """None: the submit brought it."""
        nothing: tuple[Answer, ...] = ()
        for answer in nothing:
            yield answer

    async def find(self, submit_key: str, *, seconds: float, submitted_at: float | None = None) -> str | None:
        """Not possible."""
        raise NotImplementedError(f"{self.calls} cannot be looked up")


def submission(answer: Answer, reply: Reply, submit_key: str, host: str) -> Submission:
    """Return the result of a call.

    Raises:
        Ambiguous: it was answered, and the answer is unknown.
    """
    if answer.state is AnswerState.FAILED and answer.code == UNREADABLE:
        raise Ambiguous(f"{host} answered, but {answer.error}")
    return Submission(answer.response_id or submit_key, answer, reply.rates)
