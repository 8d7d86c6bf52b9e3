"""For the tests of programs that fetch: answers recorded once from real servers, replayed without a network.

A cassette is a JSON file that is meant to be kept beside the tests and read by people: one entry for each request, in
the order in which they were made. Possible secrets in headers are struck out before it is written, and never compared.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from ramet.commands.errors import UserError
from ramet.fetch.client import HttpRequest, HttpResponse, plain_url
from ramet.fetch.errors import FETCH_EXTRA, Refused
from ramet.fetch.fetcher import Client, Fetcher
from ramet.fetch.settings import FetchSettings

__all__ = ["RECORD_VARIABLE", "Cassette", "CassetteUnreadable", "NotRecorded"]

RECORD_VARIABLE = "RAMET_CASSETTES"
"""``record`` in this environment variable records every cassette again."""
STRUCK = "(struck out)"
_SECRET = re.compile(r"auth|cookie|token|secret|session|password|api-?key|signature|credential", re.IGNORECASE)
_SECRET_PARAMETER = re.compile(
    r"(?i)((?:^|[?&])[^=&]*(?:token|secret|session|password|key|signature|sig|auth)[^=&]*=)[^&#]+"
)
_SHOWN_AS_TEXT = ("text/", "application/json", "application/xml", "application/xhtml+xml", "application/ld+json")
_TRANSIENT_HEADERS = frozenset({"content-encoding", "content-length", "transfer-encoding", "connection", "keep-alive"})
"""Headers of how the body travelled; it is kept as it was decoded."""


class NotRecorded(Refused):
    """A cassette has no answer to a request."""


class CassetteUnreadable(UserError):
    """The file of a cassette is missing or is not one."""


class Cassette:
    """Answers recorded in a file; while the block runs, all fetches of this process use it.

    ::

        with Cassette("tests/cassettes/shop.json"):
            run = await run_task(app, "page", "https://shop.example/")

    Replaying asks no server and no database, and waits for no turn. The same request asked several times gets its
    answers in the order in which they were recorded, and then the last again.
    """

    def __init__(self, path: str | Path, *, record: bool | None = None) -> None:
        """Read nothing yet.

        Args:
            path: of the file.
            record: ask the real servers and write the file; None for what the environment variable ``RAMET_CASSETTES``
                says (``record``).
        """
        self._path = Path(path)
        self.records = os.environ.get(RECORD_VARIABLE) == "record" if record is None else record
        self._entries: list[dict[str, Any]] = []
        self._answers: dict[str, list[HttpResponse]] = defaultdict(list)
        self._fetcher: Fetcher | None = None

    def __enter__(self) -> Self:
        """Begin.

        Raises:
            CassetteUnreadable: there is nothing to replay.
        """
        if not self.records:
            self._load()
        _active.append(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _active.remove(self)
        if self.records and kind is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            text = json.dumps({"version": 1, "entries": self._entries}, ensure_ascii=False, indent=1)
            self._path.write_text(text + "\n", encoding="utf-8")

    def fetcher(self, settings: FetchSettings) -> Fetcher:
        """Return what answers from this cassette."""
        if self._fetcher is None:
            self._fetcher = Fetcher(_Replayed(self), settings)
        return self._fetcher

    def recorded(self, question: HttpRequest, answer: HttpResponse) -> None:
        """Add an answer of a real server."""
        self._entries.append(
            {
                "method": question.method,
                "url": _struck_url(answer.url),
                **({"body_sha256": hashlib.sha256(question.body).hexdigest()} if question.body else {}),
                "request_headers": _struck(question.headers),
                "status": answer.status,
                "headers": {
                    name: value for name, value in _struck(answer.headers).items() if name not in _TRANSIENT_HEADERS
                },
                **_body_out(answer),
            }
        )

    def answer(self, question: HttpRequest) -> HttpResponse:
        """Return the recorded answer to a request.

        Raises:
            NotRecorded: there is none.
        """
        url = plain_url(question.url)
        left = self._answers.get(_request_of(question.method, _struck_url(url), _hash_of(question.body)))
        if not left:
            raise NotRecorded(
                f"{question.method} {_struck_url(url)[:300]} is not in {self._path}: "
                f"record it with {RECORD_VARIABLE}=record",
                url=url,
            )
        found = left.pop(0) if len(left) > 1 else left[0]
        return HttpResponse(url, found.status, found.headers, found.body)

    def _load(self) -> None:
        try:
            entries = json.loads(self._path.read_text(encoding="utf-8"))["entries"]
            for entry in entries:
                request = _request_of(entry["method"], entry["url"], entry.get("body_sha256", ""))
                headers = dict(entry["headers"])
                self._answers[request].append(HttpResponse(entry["url"], entry["status"], headers, _body_in(entry)))
        except FileNotFoundError:
            said = f"there is no cassette {self._path}: record it with {RECORD_VARIABLE}=record"
            raise CassetteUnreadable(said) from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            said = f"{self._path} is not a cassette ({type(error).__name__}): record it with {RECORD_VARIABLE}=record"
            raise CassetteUnreadable(said) from None


_active: list[Cassette] = []
"""Active recording of the process, not of a context: plain handlers run in threads."""


def active_cassette() -> Cassette | None:
    """Return the cassette of the innermost block that runs now; None outside of any."""
    return _active[-1] if _active else None


class _Replayed:
    """Answers from a cassette, in the place of a client."""

    def __init__(self, cassette: Cassette) -> None:
        self.extra = FETCH_EXTRA
        self._cassette = cassette

    async def send(self, question: HttpRequest) -> HttpResponse:
        return self._cassette.answer(question)

    async def close(self) -> None:
        """There is no connection."""


class Recording:
    """A client whose answers go into the cassette that records, if one does."""

    def __init__(self, client: Client) -> None:
        self.extra = client.extra
        self._client = client

    async def send(self, question: HttpRequest) -> HttpResponse:
        """Ask once."""
        answer = await self._client.send(question)
        cassette = active_cassette()
        if cassette is not None and cassette.records:
            cassette.recorded(question, answer)
        return answer

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


def _request_of(method: str, url: str, body_hash: str) -> str:
    return f"{method} {url} {body_hash}"


def _hash_of(body: bytes | None) -> str:
    return hashlib.sha256(body).hexdigest() if body else ""


def _struck(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: STRUCK if _SECRET.search(name) else _struck_url(value) for name, value in headers.items()}


def _struck_url(url: str) -> str:
    before, mark, query = url.partition("?")
    return before + mark + _SECRET_PARAMETER.sub(r"\1" + STRUCK, query)


def _body_out(answer: HttpResponse) -> dict[str, str]:
    if answer.media_type.startswith(_SHOWN_AS_TEXT):
        try:
            return {"text": answer.body.decode("utf-8")}
        except UnicodeDecodeError:
            pass  # In another encoding: kept as bytes, since what it is called is a matter of its reader.
    return {"base64": base64.b64encode(answer.body).decode("ascii")}


def _body_in(entry: Mapping[str, Any]) -> bytes:
    if "text" in entry:
        return str(entry["text"]).encode("utf-8")
    return base64.b64decode(entry["base64"], validate=True)
