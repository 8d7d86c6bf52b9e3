"""A MediaWiki export in XML, as a wiki's dumps are: plain, or packed by bzip2 or gzip, read in one pass.

Of a page with several revisions the newest counts. What a document type could do (entities that unfold, files that
are fetched) is refused with the declaration.
"""

from __future__ import annotations

from pathlib import Path
from xml.parsers import expat

from ramet.commands.errors import one_line
from ramet.model.keys import InvalidKey
from ramet.wiki.errors import SourceError
from ramet.wiki.pages import Markup, Reason, Refusal
from ramet.wiki.sources.compressed_file import PackedFile, Progress, unpacked
from ramet.wiki.sources.dump_elements import DumpElements, DumpPage, NotADump
from ramet.wiki.sources.page_file import TEXT_BYTES_MAX, Origin, PageRecord, PageWriter, open_page_file
from ramet.wiki.sources.page_source import ATTRIBUTION, PageFileSource
from ramet.wiki.sources.progress import Shares
from ramet.wiki.sources.site_notes import SiteNotes
from ramet.wiki.wikitext.site import Site

_PIECE_BYTES = 256 * 1024
_SILENT_BYTES_MAX = 64 * 1024 * 1024
"""Bytes in which nothing begins or ends, at most: the parser keeps what it cannot yet tell."""


def open_dump(path: Path, data_dir: Path, progress: Progress | None = None) -> PageFileSource:
    """Open a dump. It is read once, into the page file; later that is opened at once.

    Raises:
        SourceError: it cannot be read, is cut off or damaged, or is no MediaWiki export; the message names the place.
    """
    origin = Origin.of_file(path)

    def fill(writer: PageWriter) -> Site:
        with unpacked(path) as file:
            site = _DumpReader(path, writer, Shares(path, progress)).read(file)
        if Origin.of_file(path) != origin:
            raise SourceError(f"{path} changed while it was read; run again when it is at rest")
        return site

    return PageFileSource(path.name, open_page_file(origin, data_dir, fill, progress))


class _DumpReader:
    """Reads one dump into a page file."""

    def __init__(self, path: Path, writer: PageWriter, shares: Shares) -> None:
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
            raise SourceError(f"{self._path} is no MediaWiki export {self._place(parser)}: {error}") from error
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
            # One odd title among millions is no reason to refuse the others; nothing can link to it.
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
        return Refusal(Reason.TOO_LARGE, f"the text of '{page.title}' is over {TEXT_BYTES_MAX:,} bytes long")
    if not page.revision.is_wikitext:
        return Refusal(Reason.UNPARSABLE, f"'{page.title}' is written in {page.revision.model}, not in wikitext")
    return None
