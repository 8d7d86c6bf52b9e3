"""Every address that a visitor can come to by following links, breadth-first, and which page answers it."""

from __future__ import annotations

from collections import Counter, deque
from html.parser import HTMLParser
from typing import NamedTuple
from urllib.parse import urldefrag, urlsplit

import httpx
from starlette.applications import Starlette
from starlette.routing import Match, Route

from ramet import Client
from ramet.web.access import Access
from ramet.web.application import make_application
from tests.web.in_process_client import visiting

NOT_FOLLOWED = ("/api/v1/", "/api/openapi.json", "/static/", "/metrics", "/jobs/matches")
"""What is no page: other tests look at it."""


BEGINNINGS = ("/", "/search?q=press-", "/lineages/edition-spring")
"""The second is an answer that only typed words lead to, the third has the only task with several joins."""


class Walk(NamedTuple):
    """What was found."""

    pages: dict[str, list[str]]
    """Addresses that were visited, by the name of the route."""
    broken: list[str]
    """Addresses that were not answered with 200, and what led there."""


class Links(HTMLParser):
    """Where a page leads: links, forms that only ask, and parts that a script fetches."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        asks = tag == "form" and given.get("method", "get") == "get"
        names = {"data-part", *(["href"] if tag == "a" else []), *(["action"] if asks else [])}
        self.found += [value for name, value in attrs if value and name in names]


def links_of(html: str) -> list[str]:
    """Addresses of this dashboard, each once, in their order."""
    links = Links()
    links.feed(html)
    here = [urldefrag(link).url for link in links.found if not urlsplit(link).scheme and not urlsplit(link).netloc]
    return list(dict.fromkeys(link for link in here if link.startswith("/")))


def route_of(application: Starlette, address: str) -> str | None:
    """Which page has an address; None when it is none."""
    path = urlsplit(address).path
    if f"{path}/".startswith(NOT_FOLLOWED):
        return None
    scope = {"type": "http", "method": "GET", "path": httpx.URL(path).path, "root_path": "", "headers": []}
    for route in application.routes:
        if isinstance(route, Route) and route.matches(scope)[0] is Match.FULL:
            return route.name
    return ""


async def walk(client: Client, most: int | None) -> Walk:
    """Follow every link from the beginnings on, ``most`` addresses of each page at most."""
    application = make_application(client, Access(person="ada"))
    waiting, known = deque((address, "") for address in BEGINNINGS), set(BEGINNINGS)
    visited, pages, broken = Counter[str](), dict[str, list[str]](), list[str]()
    async with visiting(client, application=application) as visitor:
        while waiting:
            address, source = waiting.popleft()
            name = route_of(application, address)
            if name is None or (most is not None and visited[name] >= most):
                continue
            visited[name] += 1
            answer = await visitor.get(address)
            if answer.status_code != 200:
                broken.append(f"{answer.status_code} {address} from {source}")
                continue
            pages.setdefault(name, []).append(address)
            for link in links_of(answer.text):
                if link not in known:
                    known.add(link)
                    waiting.append((link, address))
    return Walk(pages, broken)


def page_names(application: Starlette) -> set[str]:
    """Every page that there is: what answers a GET with HTML, but for forms that a visitor is sent to."""
    routes = [route for route in application.routes if isinstance(route, Route) and "GET" in (route.methods or ())]
    return {
        route.name
        for route in routes
        if not route.path.startswith(("/live/", *NOT_FOLLOWED)) and route.path != "/metrics"
    }
