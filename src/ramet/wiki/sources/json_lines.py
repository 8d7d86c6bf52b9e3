"""A UTF-8 file with one page a line: plain articles, or a wiki's pages in wikitext.

A plain line is `{"title", "text", "links"?, "categories"?, "description"?, "url"?}`; its title is taken as written.
A line of a wiki is `{"title", "wikitext", "ns"?, "redirect"?, "revid"?, "timestamp"?}`; its title is read by
MediaWiki's rules, and the pages that state an `ns` show which prefixes are namespaces. Either may be a
`redirect` to another title, and then needs no text. The first line tells of which kind a file is.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ramet import InvalidKey, title_key
from ramet.commands.errors import one_line
from ramet.wiki.errors import SourceError
from ramet.wiki.pages import Markup, Refusal, RefusalReason
from ramet.wiki.sources.compressed_file import Progress, ReadProgress, unpacked
from ramet.wiki.sources.page_file import TEXT_BYTES_MAX, Origin, PageRecord, PageWriter, open_page_file
from ramet.wiki.sources.page_source import PLAIN, PageFileSource
from ramet.wiki.sources.site_notes import SiteNotes
from ramet.wiki.wikitext.site import Site

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NUMBER_MAX = 2**63 - 1

Add = Callable[[dict[str, Any], int, str], None]
"""Function that adds a line's page: its fields, its number, and the name of the line in an error."""


def open_json_lines(path: Path, data_dir: Path, progress: Progress | None = None) -> PageFileSource:
    """Open a file of JSON Lines, also packed. Every line is checked before any page is given.

    Raises:
        SourceError: the file cannot be read, or a line is not a page; the message names the line.
    """
    origin = Origin.of_file(path)

    def fill(writer: PageWriter) -> Site:
        site = _read(path, writer, ReadProgress(path, progress))
        if Origin.of_file(path) != origin:
            raise SourceError(f"{path} changed while it was read; run again when it is at rest")
        return site

    return PageFileSource(path.name, open_page_file(origin, data_dir, fill, progress))


def _read(path: Path, writer: PageWriter, shares: ReadProgress) -> Site:
    add: Add | None = None
    wiki: _WikiLines | None = None
    with unpacked(path) as file:
        for number, line in file.lines():
            shares.tell(file.share, writer.count)
            data = line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line
            if not data.strip():
                continue
            where = f"{path}, line {number}"
            record = _record(data, where)
            if add is None:
                wiki = _WikiLines(writer, path.name) if "wikitext" in record or "ns" in record else None
                add = wiki.add if wiki is not None else _PlainLines(writer).add
            add(record, number, where)
    if add is None:
        raise SourceError(f'{path} holds no article; give one a line as {{"title": "…", "text": "…"}}')
    shares.done(writer.count)
    for first, second in writer.sort():
        raise SourceError(f"{path}, line {second}: its title is that of line {first} too; keep one of them")
    return wiki.notes.finish() if wiki is not None else Site(path.name)


class _PlainLines:
    """Reader of plain articles, whose titles do not follow a wiki's rules."""

    def __init__(self, writer: PageWriter) -> None:
        self._writer = writer
        writer.state(PLAIN, "yes")

    def add(self, record: dict[str, Any], number: int, where: str) -> None:
        if "wikitext" in record:
            raise SourceError(f"{where}: 'wikitext', where the first line has 'text'; keep both kinds apart")
        title, redirect = _text(record, "title", where), _redirect(record, where)
        text = _text(record, "text", where, default=None if redirect is None else "")
        stated: dict[str, Any] = {
            "categories": list(
                dict.fromkeys(name for raw in _texts(record, "categories", where) if (name := raw.strip()))
            ),
            "description": _text(record, "description", where, default="").strip(),
        }
        try:
            key = title_key(title)
            if record.get("links") is not None:
                stated["links"] = _texts(record, "links", where)
                for link in stated["links"]:
                    title_key(link)
        except InvalidKey as error:
            raise SourceError(f"{where}: not a title: {one_line(error)}") from error
        if url := _text(record, "url", where, default=""):
            stated["url"] = _address(url, where)
        refusal = _too_large(title, text)
        self._writer.add(
            PageRecord(
                number,
                key,
                title.strip(),
                Markup.PLAIN,
                "" if refusal else text,
                redirect=redirect,
                refusal=refusal,
                stated=stated,
            )
        )


class _WikiLines:
    """Reader of pages of a wiki."""

    def __init__(self, writer: PageWriter, name: str) -> None:
        self._writer = writer
        self.notes = SiteNotes(writer, Site(name))

    def add(self, record: dict[str, Any], number: int, where: str) -> None:
        stated = _redirect(record, where)
        title = _text(record, "title", where)
        text = _text(record, "wikitext", where, default=None if stated is None else "")
        try:
            read = self.notes.page(_number(record, "ns", where), title)
        except InvalidKey as error:
            raise SourceError(f"{where}: not a title: {one_line(error)}") from error
        refusal = _too_large(title, text)
        if refusal is None:
            self.notes.note(read, text, stated)
        if read.namespace != 0 or read.interwiki:
            return
        redirect = self.notes.redirect(text, stated)
        self._writer.add(
            PageRecord(
                number,
                read.text,
                title.strip(),
                Markup.WIKITEXT,
                "" if refusal else text,
                revision=_number(record, "revid", where),
                changed_at=_text(record, "timestamp", where, default=""),
                redirect=redirect,
                refusal=refusal,
            )
        )


def _record(data: bytes, where: str) -> dict[str, Any]:
    try:
        record = json.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise SourceError(f"{where}: is not UTF-8 text ({error.reason}); save it as UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{where}: not JSON ({one_line(error)}); give one article a line") from error
    if not isinstance(record, dict):
        raise SourceError(f'{where}: expected an object {{"title": "…", "text": "…"}}')
    return record


def _redirect(record: dict[str, Any], where: str) -> str | None:
    return None if record.get("redirect") is None else _text(record, "redirect", where)


def _text(record: dict[str, Any], field: str, where: str, *, default: str | None = None) -> str:
    value = record.get(field)
    if value is None:
        value = default
    if not isinstance(value, str):
        raise SourceError(f"{where}: '{field}' must be a text")
    return _storable(value, field, where)


def _texts(record: dict[str, Any], field: str, where: str) -> list[str]:
    values = record.get(field)
    if values is None:
        return []
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise SourceError(f"{where}: '{field}' must be a list of texts")
    return [_storable(value, field, where) for value in values]


def _number(record: dict[str, Any], field: str, where: str) -> int | None:
    value = record.get(field)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > _NUMBER_MAX:
        raise SourceError(f"{where}: '{field}' must be a whole number")
    return value


def _address(url: str, where: str) -> str:
    if not url.startswith(("https://", "http://")):
        raise SourceError(f"{where}: 'url' must begin with https:// or http://")
    return url


def _storable(value: str, field: str, where: str) -> str:
    """Refuse what no database can keep: NUL, and halves of surrogate pairs, which JSON can smuggle in."""
    try:
        value.encode()
    except UnicodeEncodeError:
        unstorable = True
    else:
        unstorable = "\x00" in value
    if unstorable:
        raise SourceError(f"{where}: '{field}' holds a NUL or half of a surrogate pair; remove it")
    return value


def _too_large(title: str, text: str) -> Refusal | None:
    # A character has four bytes at most.
    if len(text) * 4 <= TEXT_BYTES_MAX or len(text.encode()) <= TEXT_BYTES_MAX:
        return None
    return Refusal(RefusalReason.TOO_LARGE, f"the text of '{title}' is over {TEXT_BYTES_MAX:,} bytes long")
