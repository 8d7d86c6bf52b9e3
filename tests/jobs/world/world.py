"""The web as the jobs pipeline sees it: companies' sites and job boards under their real names, on loopback.

The product's own code asks it: ``RAMET_JOBS_CONNECT`` leads every host name here, ``SSL_CERT_FILE`` makes its
certificates good. It runs in a thread, so that a worker in this process and command lines beside it can ask it alike.
"""

from __future__ import annotations

import json
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, TextIO
from urllib.parse import urlsplit

from tests.jobs.world import boards, paged_boards
from tests.jobs.world.boards import Board, Maker, Wanted
from tests.jobs.world.messages import NOT_FOUND, Asked, Handler, Play, Reply, html
from tests.jobs.world.openings import Opening
from tests.jobs.world.pages import ABOUT, CULTURE, company_pages
from tests.jobs.world.server import HOST, Server

Action = Reply | Play
Place = tuple[str, str]
"""Host and path, without a last slash."""

MAKERS: dict[str, Maker] = {
    "greenhouse": boards.greenhouse, "ashby": boards.ashby, "workable": boards.workable,
    "recruitee": boards.recruitee, "personio": boards.personio, "teamtailor": boards.teamtailor,
    "breezy": boards.breezy, "bamboohr": boards.bamboohr, "rss": boards.rss, "jobvite": boards.jobvite,
    "lever": paged_boards.lever, "smartrecruiters": paged_boards.smartrecruiters, "workday": paged_boards.workday,
    "workable_v3": paged_boards.workable_v3,
}  # fmt: skip


class World:
    """What there is on the web. Use it in ``with``; what it has can change while it is asked."""

    def __init__(self, *, log: TextIO | None = None) -> None:
        """``log`` gets a line of JSON for every request."""
        self.requests: list[Asked] = []
        """All that was asked, in order."""
        self._server = Server(self._answer)
        self._folder = tempfile.TemporaryDirectory(prefix="world")
        self._log = log
        self._changing = threading.Condition()
        self._handlers: dict[Place, Handler | Reply] = {}
        self._prefixes: list[tuple[Place, Callable[[Asked], Reply | None]]] = []
        self._behaviours: dict[str, deque[Action]] = {}
        self._for_ever: set[str] = set()

    def __enter__(self) -> Self:
        self._server.start()
        self._certificate = self._server.certificates.write(Path(self._folder.name) / "authority.pem")
        return self

    def __exit__(self, *_: object) -> None:
        self._server.release()
        self._server.stop()
        self._folder.cleanup()

    @property
    def port(self) -> int:
        """On loopback, for https."""
        return self._server.port

    @property
    def plain_port(self) -> int:
        """On loopback, for http."""
        return self._server.plain_port

    def environment(self) -> dict[str, str]:
        """What leads the product here."""
        https, http = f"*={HOST}:{self._server.port}", f"*:80={HOST}:{self._server.plain_port}"
        return {"RAMET_JOBS_CONNECT": f"{http},{https}", "SSL_CERT_FILE": str(self._certificate)}

    # --- what there is

    def page(self, url: str, text: str, *, etag: bool = False, **headers: str) -> None:
        """A page; `_` in the name of a header is `-`."""
        self.answer(url, html(text, 200, etag=etag, **headers))

    def answer(self, url: str, reply: Reply) -> None:
        """Always the same answer. An address with a query goes before the one without."""
        self._handlers[_place(url)] = reply

    def handle(self, url: str, handler: Handler) -> None:
        """An answer that depends on what is asked."""
        self._handlers[_place(url)] = handler

    def under(self, url: str, handler: Callable[[Asked], Reply | None]) -> None:
        """For all addresses that begin so and have no answer of their own; None: there is nothing."""
        self._prefixes.insert(0, (_place(url, slash=True), handler))

    def robots(self, url: str, text: str, status: int = 200) -> None:
        """The robots.txt of an address' host."""
        parts = urlsplit(url)
        self.answer(f"{parts.scheme}://{parts.netloc}/robots.txt", Reply(text.encode(), status, "text/plain"))

    def remove(self, url: str) -> None:
        """There is nothing at this address any more."""
        self._handlers[_place(url)] = NOT_FOUND

    def board(
        self,
        kind: str,
        token: str,
        openings: Iterable[Opening] = (),
        *,
        company: str | None = None,
        recorded: Path | None = None,
        etag: bool = True,
        **options: Any,
    ) -> Board:
        """Put up a board at its vendor's real addresses, or change what is on it.

        Args:
            kind: one of ``MAKERS``.
            token: the vendor's name of it; of ``rss``, the feed's address.
            company: the board's own name; the token with a capital unless given.
            recorded: a payload of the corpus, answered (in pages, where the vendor has them) instead of the openings.
            etag: whether a list has a validator.
            options: ``wd`` and ``site`` of a Workday board, ``eu`` of a Lever one.
        """
        listed: Sequence[Opening] = list(openings)
        body = recorded.read_bytes() if recorded is not None else None
        return MAKERS[kind](self, Wanted(token, company or token.capitalize(), listed, body, etag, options))

    def company(
        self,
        name: str,
        site: str,
        *,
        careers: str = "",
        links: Iterable[str] = (),
        about: str = ABOUT,
        culture: str = CULTURE,
    ) -> str:
        """Put up a company's home, /about and /careers. Returns the address of its careers page.

        Args:
            site: such as ``https://acme.example/``.
            careers: markup on the careers page, such as a link to a board.
            links: addresses that the home page links to.
        """
        site = site.rstrip("/")
        for path, text in company_pages(
            name, f"{site}/", about=about, culture=culture, careers=careers, links=links
        ).items():
            self.page(f"{site}{path}", text)
        return f"{site}/careers"

    # --- what goes wrong

    def behave(self, url: str, *actions: Action, forever: bool = False) -> None:
        """Answer so, one after the other, before the address is itself again; ``forever``: keep to the last one.

        The address is the whole one with its query, or without for whatever query. See ``plays`` for what there is.
        """
        with self._changing:
            key = _whole(url)
            self._behaviours[key] = deque(actions)
            (self._for_ever.add if forever else self._for_ever.discard)(key)

    def release(self) -> None:
        """Let go of what hangs or drips."""
        self._server.release()

    # --- what was asked

    def asked(self, url: str = "") -> list[Asked]:
        """The requests for an address, whatever their query; for a host where it has no path; all without one."""
        parts = urlsplit(url)
        host, path = parts.netloc.lower(), parts.path.rstrip("/")
        return [
            asked
            for asked in list(self.requests)
            if (not host or asked.host == host) and (not path or asked.path.rstrip("/") == path)
        ]

    def wait_until_asked(self, url: str = "", times: int = 1, seconds: float = 60.0) -> None:
        """Block until an address was asked for so often; see ``asked``. In a loop, by ``asyncio.to_thread``."""
        with self._changing:
            assert self._changing.wait_for(lambda: len(self.asked(url)) >= times, seconds), f"nobody asked for {url}"

    def _answer(self, asked: Asked) -> Reply | Play:
        with self._changing:
            self.requests.append(asked)
            self._changing.notify_all()
        if self._log is not None:
            line = {"method": asked.method, "url": asked.url, "body": asked.body.decode(errors="replace")}
            self._log.write(json.dumps(line) + "\n")
            self._log.flush()
        with self._changing:
            for key in (_whole(asked.url), _whole(asked.url.partition("?")[0])):
                left = self._behaviours.get(key)
                if left:
                    return left[0] if len(left) == 1 and key in self._for_ever else left.popleft()
        found = self._handlers.get((asked.host, asked.target)) or self._handlers.get(
            _place(asked.url.partition("?")[0])
        )
        if found is None:
            return self._below(asked) or NOT_FOUND
        return found if isinstance(found, Reply) else found(asked)

    def _below(self, asked: Asked) -> Reply | None:
        for (host, start), handler in self._prefixes:
            if asked.host == host and asked.path.startswith(start):
                reply = handler(asked)
                if reply is not None:
                    return reply
        return None


@contextmanager
def leading_to(world: World, setenv: Callable[[str, str], None]) -> Iterator[World]:
    """The world, running, with this process' environment leading there."""
    with world:
        for name, value in world.environment().items():
            setenv(name, value)
        yield world


def _place(url: str, *, slash: bool = False) -> Place:
    parts = urlsplit(url)
    path = parts.path if slash else parts.path.rstrip("/")
    return parts.netloc.lower(), f"{path}?{parts.query}" if parts.query else path


def _whole(url: str) -> str:
    parts = urlsplit(url)
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme}://{parts.netloc.lower()}{parts.path.rstrip('/')}{query}"
