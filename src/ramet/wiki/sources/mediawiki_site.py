"""Rules that a MediaWiki states of its titles, and how a client of it introduces itself."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

import ramet
from ramet.fetch.addresses import AddressRefused, NameUnknown, WebError, host_and_port, joined
from ramet.fetch.client import WebClient, plain_url
from ramet.wiki.errors import SourceError, WikiError
from ramet.wiki.sources.mediawiki_calls import ApiCalls, records
from ramet.wiki.wikitext.site import Site, language_code

SITE_PARAMETERS = {
    "meta": "siteinfo",
    "siprop": "general|namespaces|namespacealiases|interwikimap|magicwords|rightsinfo",
    "list": "pagepropnames",
    "ppnlimit": "max",
}

WIKIMEDIA_DOMAINS = frozenset(
    {
        "mediawiki.org",
        "toolforge.org",
        "w.wiki",
        "wikibooks.org",
        "wikidata.org",
        "wikifunctions.org",
        "wikimedia.org",
        "wikimediafoundation.org",
        "wikinews.org",
        "wikipedia.org",
        "wikiquote.org",
        "wikisource.org",
        "wikiversity.org",
        "wikivoyage.org",
        "wiktionary.org",
        "wmcloud.org",
        "wmflabs.org",
    }
)
_CONTACT = re.compile(r"[^\s@()<>]+@[^\s@()<>]+\.[^\s@()<>]+|https?://[^\s()<>]+\.[^\s()<>]+")


def is_wikimedia(host: str) -> bool:
    """Return whether the Wikimedia Foundation runs it, whose rules ask every client for a contact."""
    labels = host.lower().rstrip(".").split(".")
    return ".".join(labels[-2:]) in WIKIMEDIA_DOMAINS


def user_agent(host: str, contact: str) -> str:
    """Return the `User-Agent` for a host: this program, its version, and whom to write to.

    Raises:
        WikiError: a Wikimedia host would be asked without an e-mail address or web page to turn to.
    """
    contact = contact.strip()
    if is_wikimedia(host) and not _CONTACT.search(contact):
        raise WikiError(f"{host} asks its clients for a contact: give your e-mail address or web page with --contact")
    if contact and (not contact.isascii() or not contact.isprintable()):
        raise WikiError("the user agent has a character that no header may have: use plain ASCII")
    return f"ramet-wiki/{ramet.__version__}" + (f" ({contact})" if contact else "")


def site_of(query: Mapping[str, Any], endpoint: str) -> Site:
    """Return a wiki's rules, from the answer to `SITE_PARAMETERS`.

    Raises:
        SourceError: it is not such an answer.
    """
    general = query.get("general")
    named = query.get("namespaces")
    if not isinstance(general, dict) or not isinstance(named, dict):
        raise SourceError(f"{endpoint} does not describe its wiki: give the address of a MediaWiki's api.php")
    namespaces: dict[str, int] = {}
    for space in records(list(named.values())):
        for field in ("canonical", "name"):
            _add_namespace(namespaces, space.get(field), space.get("id"))
    for alias in records(query.get("namespacealiases")):
        _add_namespace(namespaces, alias.get("alias"), alias.get("id"))
    words = [
        str(word).casefold()
        for magic in records(query.get("magicwords"))
        if magic.get("name") == "redirect" and isinstance(magic.get("aliases"), list)
        for word in magic["aliases"]
    ]
    return Site(
        name=str(general.get("sitename", "")),
        namespaces=namespaces,
        interwiki=frozenset(str(other.get("prefix", "")).casefold() for other in records(query.get("interwikimap"))),
        capital_first=general.get("case") != "case-sensitive",
        redirect_words=tuple(dict.fromkeys([*words, "#redirect"])),
        article_url=_article_url(general, endpoint),
        language=language_code(general.get("lang")),
    )


def knows_disambiguation(query: Mapping[str, Any]) -> bool:
    """Return whether this wiki marks disambiguation pages by the property that most wikis mark them by."""
    return any(prop.get("propname") == "disambiguation" for prop in records(query.get("pagepropnames")))


def attribution_of(query: Mapping[str, Any]) -> str:
    """Return the attribution of the texts: the wiki's name and the licence that it states."""
    rights, general = query.get("rightsinfo"), query.get("general")
    name = str(general.get("sitename", "")) if isinstance(general, dict) else ""
    stated = [str(rights.get(field) or "") for field in ("text", "url")] if isinstance(rights, dict) else []
    licence = next((text for text in stated if text), "")
    return ": ".join(part for part in (name, licence) if part) if licence else ""


def web_address(address: str, endpoint: str) -> str:
    """Return an address that the wiki states, made whole; empty if it is not a web address."""
    whole = joined(endpoint, address) if address else ""
    return whole if whole.startswith(("http://", "https://")) else ""


def _add_namespace(namespaces: dict[str, int], name: Any, number: Any) -> None:
    if isinstance(name, str) and name and isinstance(number, int):
        namespaces[name.replace("_", " ").casefold()] = number


def _article_url(general: Mapping[str, Any], endpoint: str) -> str:
    path = str(general.get("articlepath", ""))
    server = web_address(str(general.get("server", "")), endpoint)
    return f"{server}{path}" if server and "$1" in path else ""


SCRIPT = "api.php"
USUAL_PATHS = ("/w/api.php", "/api.php")
_HEAD_LENGTH_MAX = 65_536
_LINK = re.compile(r"<link\b[^<>]{0,1000}>", re.IGNORECASE)
_EDIT_URI = re.compile(r"""\brel=["']?EditURI["'\s>/]""", re.IGNORECASE)
_HREF = re.compile(r"""\bhref=["']([^"'<>]{1,500})["']""", re.IGNORECASE)


async def open_endpoint(calls: ApiCalls, web: WebClient, url: str) -> dict[str, Any]:
    """Return the answer to `SITE_PARAMETERS` of the wiki at `url`; from then on the calls go to where it came from.

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
    """Return `api.php` in the folder of a wiki that is not at the root of its host: `/team/index.php/Main_Page`."""
    folder, script, _ = path.partition("/index.php")
    if script and folder:
        yield f"{folder}/{SCRIPT}"


def _stated(page: str, url: str) -> Iterator[str]:
    """Yield the endpoints that a page's head names, on the same host."""
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
