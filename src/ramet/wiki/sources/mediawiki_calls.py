"""Calls of a MediaWiki's action API: judged, tried again while a call lasts, and continued until they are complete.

A call gives a complete answer or raises: `ramet.RetryAfter` (the server named a time, or is too busy to), an error of
the shared client (`ServerTrouble` may pass, a `WebError` will not), or a `SourceError` that another try would repeat.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ramet import RetryAfter
from ramet.commands.errors import one_line
from ramet.fetch.client import AnswerTooLarge, HttpResponse, ServerTrouble, WebClient
from ramet.fetch.errors import retry_after_seconds
from ramet.fetch.host_gate import Gate
from ramet.wiki.errors import SourceError

CALL_SECONDS = 60.0
TRIES_MAX = 6
PAUSE_SECONDS = (0.5, 8.0)
"""Most seconds of the pause before the second try, and before any; the real pause is random below that."""
RETRY_AFTER_SECONDS_MAX = 3_600.0
BUSY_SECONDS = 5.0
"""Seconds that a server that is too busy and names no time is left alone; doubled each time that it says so again."""
ROUNDS_MAX = 500
"""Most calls of one continued query. 50 pages with 5,000 links each take as many."""
QUERY_BYTES_MAX = 32 * 1024 * 1024
"""Most bytes of all answers to one continued query together."""

TRANSIENT_CODES = ("readonly", "internal_api_error", "unknownerror", "srv-", "dberror", "timeout")
"""Beginnings of error codes that speak of the server's own state."""
BUSY_CODES = frozenset({"maxlag", "ratelimited"})


class ApiCalls:
    """The calls to one endpoint. Belongs to one event loop."""

    def __init__(
        self,
        web: WebClient,
        *,
        host: str,
        resource: str,
        gate: Gate,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        rng: random.Random | None = None,
    ) -> None:
        """Call through `web`, each request through `gate`; `sleep` and `rng` are for the pauses between tries."""
        self.gate = gate
        self.endpoint = ""
        """Address of `api.php`; set by the source that found it, before the first call."""
        self.is_known = False
        """Whether an API has answered there: from then on a page of something else is a trouble that passes."""
        self._web = web
        self._host = host
        self._resource = resource
        self._sleep = sleep
        self._rng = rng or random.Random()
        self._busy_count = 0

    async def query(self, parameters: Mapping[str, str], *, tries: int = TRIES_MAX) -> dict[str, Any]:
        """Call `action=query`, continued to its end; return the merged parts below `query`.

        Raises:
            RetryAfter, ServerTrouble, AnswerTooLarge, SourceError: see the module; nothing is kept of what was had.
        """
        merged = MergedQuery()
        carried: dict[str, str] = {}
        total = 0
        for _ in range(ROUNDS_MAX):
            answer, size = await self.ask({"action": "query", **parameters, **carried}, tries=tries)
            total += size
            if total > QUERY_BYTES_MAX:
                raise AnswerTooLarge(f"{self._host} answers with more than {QUERY_BYTES_MAX:,} bytes")
            merged.add(answer.get("query"))
            following = answer.get("continue")
            if not isinstance(following, dict) or not following:
                return merged.query
            following = {str(name): str(value) for name, value in following.items()}
            if following == carried:
                raise ServerTrouble(f"{self._host} continues an answer where it was continued before")
            carried = following
        raise AnswerTooLarge(f"{self._host} continues an answer more than {ROUNDS_MAX} times")

    async def ask(self, parameters: Mapping[str, str], *, tries: int = TRIES_MAX) -> tuple[dict[str, Any], int]:
        """Return one answer and its bytes; at most `tries` requests within `CALL_SECONDS`, waits at the gate apart.

        Raises:
            RetryAfter, ServerTrouble, AnswerTooLarge, SourceError: see the module.
        """
        sent = {**parameters, "format": "json", "formatversion": "2", "maxlag": "5"}
        first, longest = PAUSE_SECONDS
        left = CALL_SECONDS
        loop = asyncio.get_running_loop()
        for number in range(1, tries + 1):
            # Waiting for the gate is not a fault of the server, and costs the call none of its time.
            async with self.gate.request():
                began = loop.time()
                try:
                    return await self._ask_once(sent, left)
                except ServerTrouble:
                    pause = self._rng.uniform(0.0, min(longest, first * 2 ** (number - 1)))
                    left -= loop.time() - began + pause
                    if number == tries or left <= 0:
                        raise
            await self._sleep(pause)
        raise AssertionError("a call has at least one try")

    async def _ask_once(self, sent: Mapping[str, str], seconds: float) -> tuple[dict[str, Any], int]:
        try:
            async with asyncio.timeout(seconds):
                answer = await self._web.get(self.endpoint, sent, accept="application/json")
        except TimeoutError:
            raise ServerTrouble(f"{self._host} gave no answer in {CALL_SECONDS:g} s") from None
        data = self._judged(answer)
        self._busy_count = 0
        # Where it redirects, the next call goes to the end of that at once.
        self.endpoint = answer.url.partition("?")[0]
        return data, len(answer.body)

    def _judged(self, answer: HttpResponse) -> dict[str, Any]:
        """Return the content of an answer, if it is one to the question."""
        wait = retry_after_seconds(answer.headers.get("retry-after", ""), time.time())
        if answer.status == 429 or (answer.status == 503 and wait is not None):
            raise self._come_back(wait)
        if answer.status >= 500:
            raise ServerTrouble(f"{self._host} answers with an error of its own (HTTP {answer.status})")
        if answer.status in (401, 403):
            said = one_line(answer.body[:2_000].decode("utf-8", "replace"))[:120]
            raise SourceError(f"{self._host} cannot be read without permission (HTTP {answer.status}): {said}")
        data = _as_object(answer)
        if data is None:
            raise self._no_api(answer)
        error = data.get("error")
        if isinstance(error, dict):
            self._raise_for(str(error.get("code", "")), one_line(error.get("info", ""))[:200], wait)
        return data

    def _raise_for(self, code: str, said: str, wait: float | None) -> None:
        if code in BUSY_CODES:
            raise self._come_back(wait)
        if code.startswith(TRANSIENT_CODES):
            raise ServerTrouble(f"{self._host} answers with an error of its own ({code}): {said}")
        if code == "readapidenied":
            raise SourceError(f"{self._host} lets only its members read it: a wiki behind a login cannot be a source")
        raise SourceError(f"{self._host} refuses the question ({code}): {said}")

    def _no_api(self, answer: HttpResponse) -> Exception:
        what = f"{answer.media_type or 'something without a type'}, HTTP {answer.status}"
        if self.is_known:
            return ServerTrouble(f"{self._host} answers with something else than its API's JSON ({what})")
        return SourceError(f"there is no MediaWiki API at {answer.url[:200]} ({what}): give the address of its api.php")

    def _come_back(self, wait: float | None) -> RetryAfter:
        if wait is None:
            # Two to the tenth is past the longest wait.
            wait = BUSY_SECONDS * 2 ** min(self._busy_count, 10)
            self._busy_count += 1
        return RetryAfter(min(max(wait, 1.0), RETRY_AFTER_SECONDS_MAX), self._resource)


class MergedQuery:
    """The parts of a continued query, put together: by page and property, lists after each other."""

    def __init__(self) -> None:
        self.query: dict[str, Any] = {}
        self._pages: dict[str, dict[str, Any]] = {}

    def add(self, part: Any) -> None:
        """Take in what one answer has below `query`, which may be nothing."""
        if not isinstance(part, dict):
            return
        for name, value in part.items():
            if name == "pages":
                for page in records(value):
                    self._add_page(page)
            else:
                _merge(self.query, name, value)

    def _add_page(self, page: dict[str, Any]) -> None:
        title = str(page.get("title", ""))
        known = self._pages.get(title)
        if known is None:
            self._pages[title] = dict(page)
            self.query.setdefault("pages", []).append(self._pages[title])
            return
        for name, value in page.items():
            _merge(known, name, value)


def _merge(into: dict[str, Any], name: str, value: Any) -> None:
    known = into.get(name)
    if isinstance(known, list) and isinstance(value, list):
        known.extend(value)
    elif isinstance(known, dict) and isinstance(value, dict):
        known.update(value)
    else:
        into[name] = value


def records(value: Any) -> list[dict[str, Any]]:
    """Return the JSON objects of a list; of anything else, none."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _as_object(answer: HttpResponse) -> dict[str, Any] | None:
    if answer.status != 200 or answer.media_type != "application/json":
        return None
    try:
        data = json.loads(answer.body)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None
