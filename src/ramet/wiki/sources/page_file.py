"""The pages of a big source in a file of their own: made once in one pass, then any page is found in no time.

The file is a cache: `DATA_DIR/pages/NAME-PLACE-STATE.sqlite`, where PLACE is a digest of where the source is and STATE
one of its size and time of change. It is written under another name and renamed when it is whole, so that a process
that is killed leaves nothing that could be taken for one; and under a lock, so that of several processes one writes
and the others wait for it. Texts are kept in it, compressed, so that a source that changes or goes away meanwhile
disturbs no reader.
"""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
import re
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from ramet.commands.errors import one_line
from ramet.wiki.errors import SourceError
from ramet.wiki.pages import Markup, Refusal, RefusalReason
from ramet.wiki.sources.compressed_file import Progress
from ramet.wiki.sqlite_file import Row, SqliteFile
from ramet.wiki.wikitext.site import Site

FORMAT = "2"
"""Version of the tables, and of what is read out of a source; with another one, every page file is made again."""

TEXT_BYTES_MAX = 4_000_000
"""Most bytes of one page's text, twice what MediaWiki allows; of a longer one only the refusal is kept."""

_ROWS_TOGETHER = 200
_COMPRESSION = 1
"""Wikitext shrinks to 0.42 of its size, at three times the speed of the usual level, which reaches 0.37."""

_TABLES = (
    "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    # The text comes last, so that the other columns are read without it.
    "CREATE TABLE pages (position INTEGER PRIMARY KEY, key TEXT NOT NULL, folded TEXT NOT NULL, title TEXT NOT NULL, "
    "revision TEXT NOT NULL, changed_at TEXT NOT NULL, number INTEGER, redirect TEXT, reason TEXT, detail TEXT, "
    "markup TEXT NOT NULL, stated TEXT, text BLOB NOT NULL)",
)
_ENTRY = "position, key, title, revision, redirect, reason, detail"


@dataclass(frozen=True, slots=True)
class PageRecord:
    """A page on its way into a page file.

    Attributes:
        position: its place in the source, such as the number of its line; unique.
        key: canonical title.
        title: as the source displays it.
        markup: how `text` is written.
        text: of the newest revision; empty if there is a `refusal`.
        revision: number of this revision; None where the source has none, and a digest takes its place.
        changed_at: when this revision was made, as text that sorts by time; may be empty.
        redirect: None: an ordinary page; else it redirects, to where this title says, or if empty, its text.
        refusal: why it is none that can be had, if so.
        stated: what else the source states, as JSON: categories, links, description, url.
    """

    position: int
    key: str
    title: str
    markup: Markup
    text: str
    revision: int | None = None
    changed_at: str = ""
    redirect: str | None = None
    refusal: Refusal | None = None
    stated: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class PageEntry:
    """Row of a page file without the text of the page; fields as in `PageRecord`."""

    position: int
    key: str
    title: str
    revision: str
    redirect: str | None
    refusal: Refusal | None


@dataclass(frozen=True, slots=True)
class Origin:
    """Source that a page file is made from.

    Attributes:
        name: what a person calls it.
        place: where it is, as long as only its content changes.
        state: another one when its content has changed.
    """

    name: str
    place: str
    state: str

    @classmethod
    def of_file(cls, path: Path) -> Origin:
        """Return a file, whose content is taken to change only with its size or its time of change.

        Raises:
            SourceError: it cannot be looked at.
        """
        try:
            found = path.stat()
        except OSError as error:
            raise SourceError(f"cannot read {path}: {one_line(error.strerror or error)}") from error
        if not stat.S_ISREG(found.st_mode):
            kind = "Is a directory" if stat.S_ISDIR(found.st_mode) else "Is not a regular file"
            raise SourceError(f"cannot read {path}: {kind}")
        return cls(path.name, str(path.absolute()), f"{found.st_size} {found.st_mtime_ns}")

    def file_name(self) -> str:
        """Return the name of its page file, without suffix."""
        state = sha256(f"{FORMAT} {self.state}".encode()).hexdigest()[:12]
        return f"{self.place_name()}-{state}"

    def place_name(self) -> str:
        """Return the prefix of the names of the page files of all its states."""
        readable = re.sub(r"[^A-Za-z0-9._]+", "_", self.name)[:60]
        return f"{readable}-{sha256(self.place.encode(errors='surrogateescape')).hexdigest()[:12]}"


class PageWriter:
    """A page file that is being made. Nothing of it is seen before it is whole."""

    def __init__(self, file: SqliteFile) -> None:
        self.file = file
        self._waiting: list[tuple[Any, ...]] = []
        self.count = 0
        for table in _TABLES:
            file.rows(table)

    def add(self, page: PageRecord) -> None:
        """Add a page. `finish` decides between pages of the same key."""
        stated = None if page.stated is None else json.dumps(page.stated, ensure_ascii=False, sort_keys=True)
        text = page.text.encode()
        revision = str(page.revision) if page.revision is not None else _digest(text, stated)
        reason, detail = (page.refusal.reason.value, page.refusal.detail) if page.refusal else (None, None)
        names = (page.position, page.key, page.key.casefold(), page.title)
        states = (revision, page.changed_at, page.revision, page.redirect, reason, detail)
        self._waiting.append((*names, *states, page.markup.value, stated, zlib.compress(text, _COMPRESSION)))
        self.count += 1
        if len(self._waiting) >= _ROWS_TOGETHER:
            self._flush()

    def sort(self) -> Iterator[tuple[int, int]]:
        """Make the pages findable, and of those that share a key keep the newest.

        Yields the positions of two pages that share a key and whose revisions do not decide between them.
        """
        self._flush()
        self.file.rows("CREATE INDEX pages_by_key ON pages (key)")
        for (key,) in self.file.rows("SELECT key FROM pages GROUP BY key HAVING count(*) > 1"):
            twins = self.file.rows(
                "SELECT position, number FROM pages WHERE key = ? ORDER BY changed_at, number, position", (key,)
            )
            if any(number is None for _, number in twins):
                first, second, *_ = sorted(position for position, _ in twins)
                yield first, second
            self.file.run_many("DELETE FROM pages WHERE position = ?", [(position,) for position, _ in twins[:-1]])
        self.file.rows("CREATE INDEX pages_by_folded ON pages (folded)")

    def has_title_with(self, prefix: str) -> bool:
        """Return whether a page's title begins with `prefix`, which is casefolded, and a colon. After `sort`."""
        # The character after the colon is the semicolon.
        between = (f"{prefix}:", f"{prefix};")
        return bool(self.file.rows("SELECT 1 FROM pages WHERE folded >= ? AND folded < ? LIMIT 1", between))

    def state(self, name: str, value: str) -> None:
        """Keep a fact beside the pages, for `PageFile.fact`."""
        self.file.rows("INSERT INTO facts VALUES (?, ?)", (name, value))

    def _flush(self) -> None:
        marks = ", ".join("?" * 13)
        self.file.run_many(f"INSERT INTO pages VALUES ({marks})", self._waiting)  # noqa: S608 only question marks
        self._waiting.clear()


class PageFile:
    """A page file that is whole. Its methods may be called from any thread."""

    def __init__(self, path: Path) -> None:
        """Open it.

        Raises:
            SourceError: it is damaged.
        """
        self._file = SqliteFile(path, failure=SourceError, immutable=True)
        try:
            self._facts: dict[str, str] = dict(self._file.stream("SELECT name, value FROM facts"))
            self.site = _site_from_json(self._facts["site"])
        except (KeyError, TypeError, ValueError) as error:
            self._file.close()
            raise SourceError(f"{path} is damaged: delete it and run again") from error
        except BaseException:
            self._file.close()
            raise

    def __len__(self) -> int:
        """Return the number of pages, redirects included."""
        return int(self._facts["pages"])

    def fact(self, name: str) -> str:
        """Return the notes that `PageWriter.state` kept; empty if none."""
        return self._facts.get(name, "")

    def find(self, key: str) -> PageEntry | None:
        """Return the page of this canonical title."""
        rows = self._file.rows(f"SELECT {_ENTRY} FROM pages WHERE key = ?", (key,))  # noqa: S608 a constant
        return _entry(rows[0]) if rows else None

    def find_folded(self, key: str, *, limit: int) -> list[PageEntry]:
        """Return the pages whose canonical titles differ from this one in case at most, in the source's order."""
        rows = self._file.rows(
            f"SELECT {_ENTRY} FROM pages WHERE folded = ? ORDER BY position LIMIT ?",  # noqa: S608 a constant
            (key.casefold(), limit),
        )
        return [_entry(row) for row in rows]

    def content(self, position: int) -> tuple[Markup, str, dict[str, Any]]:
        """Return a page's markup and text, and what else the source states of it."""
        ((markup, stated, text),) = self._file.rows(
            "SELECT markup, stated, text FROM pages WHERE position = ?", (position,)
        )
        return Markup(markup), zlib.decompress(text).decode(), json.loads(stated) if stated else {}

    def titles(self) -> Iterator[str]:
        """Return the display titles of all pages that are no redirects, in the source's order."""
        found = self._file.stream("SELECT title FROM pages WHERE redirect IS NULL ORDER BY position")
        return (title for (title,) in found)

    def titles_with(self, part: str, *, limit: int) -> list[str]:
        """Return display titles that hold `part`, which is casefolded; the shortest first. Looks at every title."""
        rows = self._file.rows(
            "SELECT title FROM pages WHERE instr(folded, ?) > 0 ORDER BY length(folded), folded LIMIT ?", (part, limit)
        )
        return [title for (title,) in rows]

    def titles_near(self, folded: str, *, limit: int) -> list[str]:
        """Return display titles, those about as long as `folded` first; of big files only those that begin alike."""
        sql, bounds = "SELECT title FROM pages", []
        if len(self) > limit and folded:
            sql += " WHERE folded >= ? AND folded < ?"
            bounds = [folded[0], chr(min(ord(folded[0]) + 1, 0x10FFFF))]
        rows = self._file.rows(
            f"{sql} ORDER BY abs(length(folded) - ?), folded LIMIT ?",  # the values are bound
            (*bounds, len(folded), limit),
        )
        return [title for (title,) in rows]

    def close(self) -> None:
        """Close the file; further calls do nothing."""
        self._file.close()


def open_page_file(
    origin: Origin, data_dir: Path, fill: Callable[[PageWriter], Site], progress: Progress | None = None
) -> PageFile:
    """Open the page file of `origin`, or make it first by `fill`, which adds every page and returns the site.

    Raises:
        SourceError: it cannot be made; whatever `fill` raises.
    """
    folder = data_dir / "pages"
    path = folder / f"{origin.file_name()}.sqlite"
    if (present := _present(path)) is not None:
        return present
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _lock(folder / f"{origin.place_name()}.lock", origin, progress):
            if (present := _present(path)) is not None:
                return present
            # Parts that a killed process has left are unused: only the holder of the lock writes.
            _forget(folder.glob(f".{origin.place_name()}-*.part"))
            _make(path, fill)
            _forget(old for old in folder.glob(f"{origin.place_name()}-*.sqlite") if old != path)
    except OSError as error:
        raise SourceError(
            f"cannot write to the data directory {data_dir}: {one_line(error)}; choose another with --data DIR"
        ) from error
    return PageFile(path)


def _present(path: Path) -> PageFile | None:
    """Return the page file if it is there and whole. A damaged one, as of a failing disk, counts as missing."""
    if not path.exists():
        return None
    try:
        return PageFile(path)
    except SourceError:
        return None


def _forget(files: Iterable[Path]) -> None:
    for file in list(files):
        file.unlink(missing_ok=True)


def _make(path: Path, fill: Callable[[PageWriter], Site]) -> None:
    part = path.with_name(f".{path.name}.part")
    try:
        # The parts that a crash leaves are deleted, so nothing need be logged or forced to disk before it is whole.
        pragmas: dict[str, str | int] = {"journal_mode": "MEMORY", "synchronous": "OFF", "cache_size": -32_768}
        file = SqliteFile(part, failure=SourceError, pragmas=pragmas)
        try:
            with file.transaction():
                writer = PageWriter(file)
                site = fill(writer)
                writer.state("site", _site_to_json(site))
                ((pages,),) = file.rows("SELECT count(*) FROM pages")
                writer.state("pages", str(pages))
        finally:
            file.close()
        _force_to_disk(part)
        part.replace(path)
        _force_to_disk(path.parent)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def _lock(path: Path, origin: Origin, progress: Progress | None) -> Iterator[None]:
    """Hold the lock on a place's page files; waits for a process that has it. The system frees it when one dies."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if progress is not None:
                progress(f"{origin.name}: another process is reading it; waiting for that to end")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _force_to_disk(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _digest(text: bytes, stated: str | None) -> str:
    digest = sha256(text)
    if stated is not None:
        digest.update(b"\0" + stated.encode())
    return digest.hexdigest()[:16]


def _entry(row: Row) -> PageEntry:
    position, key, title, revision, redirect, reason, detail = row
    return PageEntry(
        position, key, title, revision, redirect, Refusal(RefusalReason(reason), detail) if reason else None
    )


def _site_to_json(site: Site) -> str:
    fields = dataclasses.asdict(site)
    return json.dumps(
        {name: sorted(value) if isinstance(value, frozenset) else value for name, value in fields.items()}
    )


def _site_from_json(text: str) -> Site:
    fields = json.loads(text)
    fields["redirect_words"] = tuple(fields["redirect_words"])
    for name in ("interwiki", "disambiguation_templates", "hidden_categories"):
        fields[name] = frozenset(fields[name])
    return Site(**fields)
