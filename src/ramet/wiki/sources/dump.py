"""The elements of a MediaWiki export, taken as the XML parser meets them: the site, then one page after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from ramet import InvalidKey
from ramet.commands.errors import one_line
from ramet.wiki.errors import SourceError
from ramet.wiki.pages import Markup, Refusal, RefusalReason
from ramet.wiki.sources.compressed_file import PackedFile, Progress, ReadProgress, unpacked
from ramet.wiki.sources.page_file import TEXT_BYTES_MAX, Origin, PageRecord, PageWriter, open_page_file
from ramet.wiki.sources.page_source import ATTRIBUTION, PageFileSource
from ramet.wiki.sources.site_notes import SiteNotes, namespaces_with_canonical
from ramet.wiki.wikitext.site import Site, language_code

DEPTH_MAX = 20
"""Most elements within each other; an export has six."""

_VALUE_BYTES_MAX = 100_000
_NUMBER_DIGITS_MAX = 18
_BUFFER_BYTES = 64 * 1024

_SITE = "/mediawiki/siteinfo"
_PAGE = "/mediawiki/page"
_REVISION = f"{_PAGE}/revision"
_TEXT = f"{_REVISION}/text"


class NotADump(Exception):
    """The XML is not a MediaWiki export, or holds what an export never does. The message says what was found."""


@dataclass(slots=True)
class DumpRevision:
    """A revision of a page. `announced` is set where the export tells that there is a text that it does not hold."""

    number: int = 0
    timestamp: str = ""
    model: str = "wikitext"
    text: str = ""
    too_large: bool = False
    announced: bool = False

    @property
    def is_wikitext(self) -> bool:
        """Whether its text is wikitext, and not a program or data."""
        return self.model == "wikitext"


@dataclass(slots=True)
class DumpPage:
    """A page of an export, with its newest revision. `namespace` is None where the export does not state it."""

    title: str = ""
    namespace: int | None = None
    redirect: str | None = None
    revision: DumpRevision = field(default_factory=DumpRevision)
    revisions: int = 0


class DumpElements:
    """Receiver of an export's elements from the parser; hands over each page at its end."""

    def __init__(self, on_page: Callable[[DumpPage], None]) -> None:
        self.events = 0
        """Number of beginnings, ends and stretches of text so far."""
        self._on_page = on_page
        self._paths = [""]
        self._parts: list[str] = []
        self._size = 0
        self._size_max = 0
        self._page = DumpPage()
        self._revision = DumpRevision()
        self._site_name = ""
        self._base = ""
        self._language = ""
        self._capital_first = True
        self._namespaces: dict[str, int] = {}
        self._namespace_key = 0
        self._starts: dict[str, Callable[[Mapping[str, str]], None]] = {
            f"{_SITE}/namespaces/namespace": self._start_namespace,
            _PAGE: self._start_page,
            f"{_PAGE}/redirect": self._start_redirect,
            _REVISION: self._start_revision,
            _TEXT: self._start_text,
        }
        self._ends: dict[str, Callable[[str], None]] = {
            f"{_SITE}/sitename": self._end_site_name,
            f"{_SITE}/base": self._end_base,
            f"{_SITE}/case": self._end_case,
            f"{_SITE}/namespaces/namespace": self._end_namespace,
            f"{_PAGE}/title": self._end_title,
            f"{_PAGE}/ns": self._end_page_namespace,
            f"{_REVISION}/id": self._end_revision_number,
            f"{_REVISION}/timestamp": self._end_timestamp,
            f"{_REVISION}/model": self._end_model,
            _TEXT: self._end_text,
            _REVISION: self._end_revision,
            _PAGE: self._end_page,
        }

    def parser(self) -> expat.XMLParserType:
        """Return a parser that feeds this; it takes no document type, and so no entities but XML's own five."""
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.buffer_size = _BUFFER_BYTES
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.StartDoctypeDeclHandler = _refuse_document_type
        parser.EntityDeclHandler = _refuse_document_type
        return parser

    def site(self, name: str) -> Site:
        """Return the wiki, as far as the export's head states it; without namespaces if there is no head."""
        return Site(
            self._site_name or name,
            namespaces=namespaces_with_canonical(self._namespaces) if self._namespaces else {},
            capital_first=self._capital_first,
            article_url=_article_url(self._base),
            language=self._language,
        )

    @property
    def attribution(self) -> str:
        """Return whose texts these are, by the export's head; empty if it has none."""
        where = f" ({self._base})" if _is_address(self._base) else ""
        return (
            f"{self._site_name}{where}: its contributors; a dump does not state the licence" if self._site_name else ""
        )

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        self.events += 1
        path = f"{self._paths[-1]}/{name}"
        self._paths.append(path)
        if len(self._paths) == 2:
            self._language = language_code(attributes.get("xml:lang"))
        if len(self._paths) == 2 and name != "mediawiki":
            raise NotADump(f"it begins with <{name[:40]}> and not with <mediawiki>")
        if len(self._paths) > DEPTH_MAX:
            raise NotADump(f"more than {DEPTH_MAX} elements stand within each other")
        if self._parts:
            self._parts = []
        self._size = 0
        # Text of elements that no handler asked for is not kept.
        self._size_max = _VALUE_BYTES_MAX if path in self._ends else 0
        start = self._starts.get(path)
        if start is not None:
            start(attributes)

    def _characters(self, text: str) -> None:
        self.events += 1
        if not self._size_max:
            return
        self._size += len(text) if text.isascii() else len(text.encode())
        if self._size <= self._size_max:
            self._parts.append(text)
        elif self._paths[-1] == _TEXT:
            self._parts = []
        elif text.strip():
            raise NotADump(
                f"the value of <{self._paths[-1].rpartition('/')[2]}> is over {_VALUE_BYTES_MAX:,} bytes long"
            )

    def _end(self, name: str) -> None:
        self.events += 1
        end = self._ends.get(self._paths.pop())
        if end is not None:
            value = "".join(self._parts)
            self._parts = []
            end(value)
        self._size_max = 0

    def _start_namespace(self, attributes: Mapping[str, str]) -> None:
        self._namespace_key = _whole(attributes.get("key", ""))
        if self._namespace_key == 0 and "case" in attributes:
            self._capital_first = attributes["case"] != "case-sensitive"

    def _start_page(self, _: Mapping[str, str]) -> None:
        self._page = DumpPage()

    def _start_redirect(self, attributes: Mapping[str, str]) -> None:
        self._page.redirect = attributes.get("title", "")

    def _start_revision(self, _: Mapping[str, str]) -> None:
        self._revision = DumpRevision()

    def _start_text(self, attributes: Mapping[str, str]) -> None:
        self._size_max = TEXT_BYTES_MAX
        self._revision.announced = attributes.get("bytes", "0") != "0" and "deleted" not in attributes

    def _end_site_name(self, value: str) -> None:
        self._site_name = " ".join(value.split())

    def _end_base(self, value: str) -> None:
        self._base = value.strip()

    def _end_case(self, value: str) -> None:
        self._capital_first = value.strip() != "case-sensitive"

    def _end_namespace(self, value: str) -> None:
        if name := " ".join(value.split()):
            self._namespaces[name] = self._namespace_key

    def _end_title(self, value: str) -> None:
        self._page.title = value.strip()

    def _end_page_namespace(self, value: str) -> None:
        self._page.namespace = _whole(value)

    def _end_revision_number(self, value: str) -> None:
        self._revision.number = _whole(value)

    def _end_timestamp(self, value: str) -> None:
        self._revision.timestamp = value.strip()

    def _end_model(self, value: str) -> None:
        self._revision.model = value.strip()

    def _end_text(self, value: str) -> None:
        self._revision.too_large = self._size > TEXT_BYTES_MAX
        self._revision.text = "" if self._revision.too_large else value

    def _end_revision(self, _: str) -> None:
        newest, found = self._page.revision, self._revision
        if not self._page.revisions or (found.timestamp, found.number) > (newest.timestamp, newest.number):
            self._page.revision = found
        self._page.revisions += 1

    def _end_page(self, _: str) -> None:
        if not self._page.title:
            raise NotADump("a page has no title")
        self._on_page(self._page)
        self._page = DumpPage()


def _refuse_document_type(*_: object) -> None:
    raise NotADump("it declares a document type, which could hold entities that unfold without end")


def _whole(value: str) -> int:
    digits = value.strip()
    if len(digits) > _NUMBER_DIGITS_MAX or not digits.removeprefix("-").isdecimal() or not digits.isascii():
        raise NotADump(f"{digits[:40]!r} is found where a whole number is expected")
    return int(digits)


def _is_address(base: str) -> bool:
    return base.startswith(("https://", "http://"))


def _article_url(base: str) -> str:
    """Return the address of articles, made from that of the main page, the only one that an export states."""
    if not _is_address(base):
        return ""
    start, script, _ = base.partition("index.php?title=")
    if script:
        return f"{start}{script}$1"
    # A title may have slashes, a main page's seldom has.
    start, _, _ = base.rpartition("/")
    return f"{start}/$1" if start.count("/") >= 2 else ""


_PIECE_BYTES = 256 * 1024
_SILENT_BYTES_MAX = 64 * 1024 * 1024
"""Most bytes in which no element begins or ends: the parser keeps them in memory."""


def open_dump(path: Path, data_dir: Path, progress: Progress | None = None) -> PageFileSource:
    """Open a dump. It is read once, into the page file; later that is opened at once.

    Raises:
        SourceError: it cannot be read, is cut off or damaged, or not a MediaWiki export; the message names the place.
    """
    origin = Origin.of_file(path)

    def fill(writer: PageWriter) -> Site:
        with unpacked(path) as file:
            site = _DumpReader(path, writer, ReadProgress(path, progress)).read(file)
        if Origin.of_file(path) != origin:
            raise SourceError(f"{path} changed while it was read; run again when it is at rest")
        return site

    return PageFileSource(path.name, open_page_file(origin, data_dir, fill, progress))


class _DumpReader:
    """Reader of one dump into a page file."""

    def __init__(self, path: Path, writer: PageWriter, shares: ReadProgress) -> None:
        self._path = path
        self._writer = writer
        self._shares = shares
        self._notes: SiteNotes | None = None
        self._elements = DumpElements(self._page)
        self._pages = 0
        self._texts = 0
        self._left_out = 0
        self._last = ""

    def read(self, file: PackedFile) -> Site:
        """Read all of it; the site."""
        parser = self._elements.parser()
        silent = 0
        try:
            while piece := file.read(_PIECE_BYTES):
                before = self._elements.events
                parser.Parse(piece, False)
                silent = silent + len(piece) if self._elements.events == before else 0
                if silent > _SILENT_BYTES_MAX:
                    raise NotADump(f"{_SILENT_BYTES_MAX:,} bytes hold no element and no text")
                self._shares.tell(file.share, self._pages)
            parser.Parse(b"", True)
        except expat.ExpatError as error:
            raise SourceError(
                f"{self._path} is cut off or damaged {self._place(parser)} ({one_line(error)}); fetch it again"
            ) from error
        except NotADump as error:
            raise SourceError(f"{self._path} is not a MediaWiki export {self._place(parser)}: {error}") from error
        except SourceError as error:
            raise SourceError(f"{error} {self._place(parser)}") from error
        return self._finish()

    def _finish(self) -> Site:
        if not self._writer.count:
            raise SourceError(f"{self._path} holds no article: none of its {self._pages:,} pages is in namespace 0")
        if not self._texts:
            raise SourceError(
                f"{self._path} holds no texts, as dumps named 'stub' do not; take the one named 'pages-articles'"
            )
        self._shares.done(self._pages, left_out=self._left_out)
        for first, second in self._writer.sort():
            raise AssertionError(f"pages {first} and {second} have no revision")
        self._writer.state(ATTRIBUTION, self._elements.attribution)
        assert self._notes is not None
        return self._notes.finish()

    def _place(self, parser: expat.XMLParserType) -> str:
        after = f"after {self._pages:,} pages, the last of them '{self._last}'" if self._pages else "before any page"
        return f"at byte {max(0, parser.CurrentByteIndex):,}, {after}"

    def _page(self, page: DumpPage) -> None:
        self._pages += 1
        self._last = page.title
        if self._notes is None:
            self._notes = SiteNotes(self._writer, self._elements.site(self._path.name))
        revision = page.revision
        try:
            title = self._notes.page(page.namespace, page.title)
        except InvalidKey:
            # One invalid title among millions must not fail the others; nothing can link to it.
            self._left_out += 1
            return
        self._texts += bool(revision.text or revision.too_large or not revision.announced)
        if not revision.too_large and revision.is_wikitext:
            self._notes.note(title, revision.text, page.redirect)
        if title.namespace != 0 or title.interwiki:
            return
        redirect = self._notes.redirect(revision.text, page.redirect)
        refusal = _refusal(page) if redirect is None else None
        self._writer.add(
            PageRecord(
                self._pages,
                title.text,
                page.title,
                Markup.WIKITEXT,
                "" if refusal else revision.text,
                revision=revision.number,
                changed_at=revision.timestamp,
                redirect=redirect,
                refusal=refusal,
            )
        )


def _refusal(page: DumpPage) -> Refusal | None:
    if page.revision.too_large:
        return Refusal(RefusalReason.TOO_LARGE, f"the text of '{page.title}' is over {TEXT_BYTES_MAX:,} bytes long")
    if not page.revision.is_wikitext:
        return Refusal(RefusalReason.UNPARSABLE, f"'{page.title}' is written in {page.revision.model}, not in wikitext")
    return None
