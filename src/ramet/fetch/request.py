"""What is asked of a server, and what it answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ramet.fetch.messages import text_of_bytes

NOT_MODIFIED = 304


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a server.

    Attributes:
        url: absolute, http or https.
        method: ``GET`` or ``POST``.
        body: of a POST.
        headers: beside those that every request has; ``Content-Type`` of a body, ``Accept``.
    """

    url: str
    method: str = "GET"
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server answered.

    Attributes:
        url: the address that answered, after redirects.
        status: HTTP's; 2xx or 304.
        headers: by lower-case name; of a repeated one, the last.
        body: decoded; empty where nothing changed.
    """

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body, by the encoding that it or its header names. Each call decodes it anew."""
        return text_of_bytes(self.body, self.headers.get("content-type", ""))

    @property
    def media_type(self) -> str:
        """The content type without parameters, such as `application/json`; empty if none is stated."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def unchanged(self) -> bool:
        """Whether it is still what the validators of the request were given for."""
        return self.status == NOT_MODIFIED

    @property
    def validators(self) -> dict[str, str]:
        """What to send with the next request for the same, as :meth:`Fetcher.fetch` takes it.

        ``etag`` and ``last_modified``, as far as the server named them.
        """
        named = {"etag": self.headers.get("etag"), "last_modified": self.headers.get("last-modified")}
        return {name: value for name, value in named.items() if value}
