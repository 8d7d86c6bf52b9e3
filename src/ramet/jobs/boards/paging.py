"""The requests for a list: the first page, and the one after a page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from ramet.fetch.messages import Request
from ramet.jobs.boards.fields import absolute
from ramet.jobs.boards.instruction import Instruction, Paging, text_at

ACCEPT: Mapping[str, str] = {
    "json": "application/json",
    "rss": "application/rss+xml, application/atom+xml, application/xml;q=0.9, text/xml;q=0.8",
    "xml": "application/xml, text/xml;q=0.9",
    "html": "text/html, application/xhtml+xml;q=0.9",
    "jsonld": "text/html, application/xhtml+xml;q=0.9",
}


def first_request(instruction: Instruction) -> Request:
    """Return the request for the first page."""
    paging = instruction.paging
    start = {} if paging is None else {"offset": str(paging.first or 0), "page": str(_first(paging))}
    url = _filled(instruction.url, start)
    return _request(instruction, url, instruction.body)


def next_request(
    instruction: Instruction,
    request: Request,
    value: Any,
    *,
    page: int,
    count: int,
    total: int | None,
    link: str | None,
) -> Request | None:
    """Return the request for the page after this one; None: this was the last.

    Args:
        request: the request for this page.
        value: the parsed answer.
        page: number of this page, from 1.
        count: entries of this page, with those that give no posting.
        total: entries of all pages, as this page says.
        link: the address of the next page, where the page has a link to it.
    """
    paging = instruction.paging
    if paging is None or count == 0:
        return None
    if paging.by in ("offset", "page"):
        following = _counted(instruction, paging, request, page=page, count=count, total=total)
    elif paging.by == "token":
        token = text_at(value, paging.path or "")
        following = _with(instruction, request, {paging.parameter: token}) if token else None
    else:
        address = text_at(value, paging.path) if paging.path else link or ""
        url = absolute(address, request.url) if address else None
        following = None if url is None else _request(instruction, url, instruction.body)
    if following is None or following == request or not _same_host(following.url, instruction.url):
        return None
    return following


def _counted(
    instruction: Instruction, paging: Paging, request: Request, *, page: int, count: int, total: int | None
) -> Request | None:
    """Return the request for the next page by its number, or by how many entries there were before it."""
    asked = _asked(instruction, paging, request)
    offset = paging.first or 0
    before = asked - offset if paging.by == "offset" and asked is not None else (page - 1) * paging.size
    reached = before + count
    if paging.total_on_first and page > 1:
        total = None
    if paging.most is not None and reached >= paging.most:
        return None
    if total and (paging.by == "offset" or paging.size > 1):
        if reached >= total:
            return None
    elif count < paging.size:
        return None
    number = (asked if asked is not None else _first(paging) + page - 1) + 1
    values = {"offset": str(reached + offset), "page": str(number)}
    if not paging.parameter:
        return _request(instruction, _filled(instruction.url, values), instruction.body)
    return _with(instruction, request, {paging.parameter: int(values[paging.by])})


def _first(paging: Paging) -> int:
    return 1 if paging.first is None else paging.first


def _asked(instruction: Instruction, paging: Paging, request: Request) -> int | None:
    """Return the offset or number in a request; None: it has none that can be seen."""
    if not paging.parameter:
        return None
    if instruction.method == "POST":
        found = text_at(_body(request), paging.parameter)
    else:
        found = dict(parse_qsl(urlsplit(request.url).query)).get(paging.parameter, "")
    return int(found) if found.isdecimal() and len(found) < 12 else None


def _with(instruction: Instruction, request: Request, values: Mapping[str, Any]) -> Request:
    """Return the same request with other values in its address or, of a POST, in its body."""
    if instruction.method == "POST":
        body = _body(request) or {}
        for name, value in values.items():
            *around, last = name.split(".")
            inner = body
            for step in around:
                inner = inner.setdefault(step, {})
            inner[last] = value
        return _request(instruction, request.url, body)
    parts = urlsplit(request.url)
    query = [(name, value) for name, value in parse_qsl(parts.query, keep_blank_values=True) if name not in values]
    query += [(name, str(value)) for name, value in values.items()]
    return _request(instruction, urlunsplit(parts._replace(query=urlencode(query))), None)


def _body(request: Request) -> dict[str, Any] | None:
    try:
        found = json.loads(request.body or b"null")
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _request(instruction: Instruction, url: str, body: Mapping[str, Any] | None) -> Request:
    kind = "html" if instruction.embedded is not None else instruction.type
    headers = {"Accept": ACCEPT[kind], **instruction.headers}
    if instruction.method == "GET":
        return Request(url, headers=headers)
    sent = json.dumps(dict(body or {}), separators=(",", ":")).encode()
    return Request(url, method="POST", body=sent, headers={"Content-Type": "application/json", **headers})


def _filled(url: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        url = url.replace(f"{{{name}}}", quote(value, safe=""))
    return url


def _same_host(url: str, other: str) -> bool:
    try:
        one, two = urlsplit(url), urlsplit(other)
        return (one.hostname, one.port, one.scheme) == (two.hostname, two.port, two.scheme)
    except ValueError:
        return False
