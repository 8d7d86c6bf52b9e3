"""Writing MediaWiki exports and files of JSON Lines for tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">
<siteinfo><sitename>Isles</sitename><dbname>isles</dbname><base>https://isles.example/wiki/Main_Page</base>
<generator>MediaWiki 1.39</generator><case>first-letter</case><namespaces>
<namespace key="-2" case="first-letter">Media</namespace><namespace key="0" case="first-letter"/>
<namespace key="4" case="first-letter">Insulae</namespace><namespace key="6" case="first-letter">Pictura</namespace>
<namespace key="10" case="first-letter">Forma</namespace><namespace key="14" case="first-letter">Genus</namespace>
</namespaces></siteinfo>
"""
HEADLESS = "<mediawiki>"
TAIL = "</mediawiki>\n"


@dataclass(frozen=True)
class Revision:
    """A revision of a page, as an export has it."""

    text: str
    number: int = 1
    timestamp: str = "2024-01-01T00:00:00Z"
    model: str = "wikitext"


def page(title: str, *revisions: Revision | str, namespace: int = 0, redirect: str = "") -> str:
    """A page of an export."""
    stated = f"<redirect title={quoteattr(redirect)} />" if redirect else ""
    written = "".join(
        _revision(revision if isinstance(revision, Revision) else Revision(revision)) for revision in revisions
    )
    return f"<page><title>{escape(title)}</title><ns>{namespace}</ns><id>7</id>{stated}{written}</page>\n"


def _revision(revision: Revision) -> str:
    return (
        f"<revision><id>{revision.number}</id><timestamp>{revision.timestamp}</timestamp>"
        f"<contributor><username>Somebody</username><id>5</id></contributor><comment>why</comment>"
        f"<model>{revision.model}</model><format>text/x-wiki</format>"
        f'<text bytes="{len(revision.text.encode())}" xml:space="preserve">{escape(revision.text)}</text>'
        "<sha1>x</sha1></revision>"
    )


def export(path: Path, pages: Iterable[str], *, head: str = HEAD) -> Path:
    """Write an export of `pages`."""
    path.write_text(head + "".join(pages) + TAIL, encoding="utf-8")
    return path


def json_lines(path: Path, records: Sequence[Mapping[str, Any]]) -> Path:
    """Write one record a line."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path
