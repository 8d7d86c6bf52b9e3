"""Finding a wiki's API from the address of the wiki, and its description along with it."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin, urlsplit

from ramet.fetch.addresses import AddressRefused, NameUnknown, WebError, host_and_port, joined
from ramet.fetch.client import WebClient, plain_url
from ramet.wiki.errors import SourceError
from ramet.wiki.sources.mediawiki_calls import ApiCalls
from ramet.wiki.sources.mediawiki_site import SITE_PARAMETERS

SCRIPT = "api.php"
USUAL_PATHS = ("/w/api.php", "/api.php")
_HEAD_LENGTH_MAX = 65_536
_LINK = re.compile(r"<link\b[^<>]{0,1000}>", re.IGNORECASE)
_EDIT_URI = re.compile(r"""\brel=["']?EditURI["'\s>/]""", re.IGNORECASE)
_HREF = re.compile(r"""\bhref=["']([^"'<>]{1,500})["']""", re.IGNORECASE)


async def open_endpoint(calls: ApiCalls, web: WebClient, url: str) -> dict[str, Any]:
    """The answer to `SITE_PARAMETERS` of the wiki at `url`; from then on the calls go to where it came from.

    An address of `api.php` is taken as it is. For another the usual places are tried, and what its page says of itself.

    Raises:
        SourceError: there is no API, or it may not be asked.
        RetryAfter, Transient: it cannot be asked just now.
    """
    path = urlsplit(url).path
    if path.endswith(f"/{SCRIPT}"):
        calls.endpoint = url.partition("?")[0]
        return await calls.query(SITE_PARAMETERS)
    for endpoint in dict.fromkeys(urljoin(url, place) for place in (*USUAL_PATHS, *_beside(path))):
        answer = await _described(calls, endpoint)
        if answer is not None:
            return answer
    async with calls.gate.request():
        page = await web.get(url, accept="text/html")
    for endpoint in _stated(page.body.decode("utf-8", "replace")[:_HEAD_LENGTH_MAX], page.url):
        answer = await _described(calls, endpoint)
        if answer is not None:
            return answer
    calls.endpoint = ""
    host = urlsplit(url).netloc
    raise SourceError(f"no MediaWiki API was found at {host}: give the address of its {SCRIPT}")


async def _described(calls: ApiCalls, endpoint: str) -> dict[str, Any] | None:
    calls.endpoint = endpoint
    try:
        answer = await calls.query(SITE_PARAMETERS)
    except (AddressRefused, NameUnknown):
        raise
    except (SourceError, WebError):
        return None
    return answer if "general" in answer else None


def _beside(path: str) -> Iterator[str]:
    """`api.php` in the folder of a wiki that is not at the root of its host: `/team/index.php/Main_Page`."""
    folder, script, _ = path.partition("/index.php")
    if script and folder:
        yield f"{folder}/{SCRIPT}"


def _stated(page: str, url: str) -> Iterator[str]:
    """The endpoints that a page's head names, on the same host."""
    for link in _LINK.findall(page):
        named = _HREF.search(link)
        if not _EDIT_URI.search(link) or named is None:
            continue
        endpoint = joined(url, html.unescape(named[1])).partition("?")[0]
        try:
            same = host_and_port(endpoint)[0] == host_and_port(url)[0]
        except WebError:
            continue
        if same and endpoint.endswith(f"/{SCRIPT}"):
            yield plain_url(endpoint)
