"""Pages of a page file as a source, and the titles that a text mentions, found by an Aho-Corasick automaton."""

from __future__ import annotations

import asyncio
import difflib
import threading
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from ramet import InvalidKey, title_key
from ramet.commands.extras import import_extra
from ramet.wiki.errors import WIKI_EXTRA
from ramet.wiki.pages import Markup, Page, Refusal, RefusalReason
from ramet.wiki.sources.page_file import PageEntry, PageFile
from ramet.wiki.wikitext.site import Site
from ramet.wiki.wikitext.titles import WikiTitle, read_title, redirect_target


class TitleMatcher:
    """Finder of known titles that a text mentions.

    A mention is the whole title, without regard to case, with no letter, digit, underscore or combining mark
    touching either end; of mentions that overlap, the one that begins first counts, and of those the longest.
    The answer depends on the titles and the text alone. Building costs about a microsecond per title, finding
    is linear in the text.
    """

    def __init__(self, titles: Iterable[str]) -> None:
        """Build the automaton. Of titles that differ in case alone, the first in code-point order is meant.

        Raises:
            ExtraMissing: the extra `[wiki]` is not installed.
        """
        self._automaton = import_extra("ahocorasick", WIKI_EXTRA).Automaton()
        for title in sorted(titles, reverse=True):
            if pattern := _fold(title):
                self._automaton.add_word(pattern, (len(pattern), title))
        # An automaton without words has nothing to link and refuses to search.
        self._empty = len(self._automaton) == 0
        self._automaton.make_automaton()

    def find(self, text: str, *, exclude: str | None = None) -> tuple[str, ...]:
        """Return the titles that `text` mentions, each once, in order of first mention, without `exclude`."""
        if self._empty:
            return ()
        folded = _fold(text)
        mentions = [
            (last - length + 1, -length, title)
            for last, (length, title) in self._automaton.iter(folded)
            if _stands_alone(folded, last - length + 1, last)
        ]
        found: dict[str, None] = {}
        free_from = 0
        for start, negative_length, title in sorted(mentions):
            if start >= free_from:
                free_from = start - negative_length
                found[title] = None
        if exclude is not None:
            found.pop(exclude, None)
        return tuple(found)


def _fold(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _stands_alone(text: str, first: int, last: int) -> bool:
    if first > 0 and _in_word(text[first - 1]):
        return False
    return last + 1 >= len(text) or not _in_word(text[last + 1])


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_" or unicodedata.category(character).startswith("M")


REDIRECTS_MAX = 50
"""Most redirects that are followed from one title."""

SUGGESTED_MAX = 3
_LOOKED_AT_MAX = 20_000
_SPELLINGS_MAX = 20

PLAIN = "plain"
"""Fact of a page file whose titles are taken as written, not by a wiki's rules."""

ATTRIBUTION = "attribution"
"""Fact that names the authors and the licence of the texts."""


@dataclass(frozen=True, slots=True)
class _ResolvedPage:
    """The page at the end of a chain of redirects, and the titles of these."""

    entry: PageEntry
    aliases: tuple[str, ...]


class PageFileSource:
    """A dump, or a file of articles; an `ArticleSource`.

    Links that a plain text does not state are the titles of other pages that it mentions. Finding these takes all
    titles in memory, up to 50 bytes for each of their characters; the matcher is built when first needed, once per
    process.
    """

    resource = ""

    def __init__(self, name: str, file: PageFile) -> None:
        """Answer out of `file`, which `close` closes."""
        self.name = name
        self.attribution = file.fact(ATTRIBUTION)
        self._file = file
        self._site = file.site
        self._plain = bool(file.fact(PLAIN))
        self._matcher: TitleMatcher | None = None
        self._building = threading.Lock()

    async def site(self) -> Site:
        """See `ArticleSource.site`."""
        return self._site

    async def pages(self, titles: Sequence[str]) -> Mapping[str, Page | Refusal | Exception]:
        """See `ArticleSource.pages`."""
        return await asyncio.to_thread(lambda: {title: self._page(title) for title in titles})

    async def revisions(self, titles: Sequence[str]) -> Mapping[str, str | Refusal]:
        """See `ArticleSource.revisions`."""
        return await asyncio.to_thread(lambda: {title: self._revision(title) for title in titles})

    async def absent(self, keys: Sequence[str]) -> Collection[str]:
        """See `ArticleSource.absent`."""
        return await asyncio.to_thread(lambda: {key for key in keys if self._file.find(key) is None})

    async def resolve(self, title: str) -> str | None:
        """See `ArticleSource.resolve`. One that differs in case alone is found too, if it can mean one article only."""
        return await asyncio.to_thread(self._resolve, title)

    async def suggest(self, title: str) -> tuple[str, ...]:
        """See `ArticleSource.suggest`: titles that `title` is a part of, or that look like it."""
        return await asyncio.to_thread(self._suggest, title)

    async def close(self) -> None:
        """See `ArticleSource.close`."""
        self._file.close()

    def _page(self, title: str) -> Page | Refusal:
        found = self._follow(title)
        if isinstance(found, Refusal):
            return found
        entry = found.entry
        markup, text, stated = self._file.content(entry.position)
        if markup is Markup.WIKITEXT:
            return Page(
                entry.title, entry.key, markup, text, entry.revision, aliases=found.aliases, url=self._url(entry.title)
            )
        links = stated.get("links")
        return Page(
            entry.title,
            entry.key,
            markup,
            text,
            entry.revision,
            aliases=found.aliases,
            categories=tuple(stated.get("categories") or ()),
            links=self._mentioned(text, entry.title) if links is None else tuple(links),
            description=stated.get("description", ""),
            disambiguation=False,
            url=stated.get("url", ""),
        )

    def _revision(self, title: str) -> str | Refusal:
        found = self._follow(title)
        if isinstance(found, Refusal):
            return found
        if found.aliases:
            return Refusal(RefusalReason.NOT_FOUND, f"'{title}' redirects to '{found.entry.title}' now")
        return found.entry.revision

    def _resolve(self, title: str) -> str | None:
        found = self._follow(title)
        if isinstance(found, _ResolvedPage):
            return found.entry.title
        read = self._read(title)
        if isinstance(read, Refusal) or found.reason is not RefusalReason.NOT_FOUND:
            return None
        meant = [self._follow_from(entry) for entry in self._file.find_folded(read.text, limit=_SPELLINGS_MAX)]
        titles = {found.entry.title for found in meant if isinstance(found, _ResolvedPage)}
        return titles.pop() if len(titles) == 1 else None

    def _suggest(self, title: str) -> tuple[str, ...]:
        wanted = " ".join(title.replace("_", " ").casefold().split())
        if not wanted:
            return ()
        holding = self._file.titles_with(wanted, limit=_LOOKED_AT_MAX)
        whole = [found for found in holding if f" {wanted} " in f" {found.casefold()} "]
        near = {found.casefold(): found for found in self._file.titles_near(wanted, limit=_LOOKED_AT_MAX)}
        close = difflib.get_close_matches(wanted, list(near), n=SUGGESTED_MAX, cutoff=0.7)
        return tuple(dict.fromkeys([*whole, *(near[folded] for folded in close)]))[:SUGGESTED_MAX]

    def _follow(self, title: str) -> _ResolvedPage | Refusal:
        """Return the page that a title leads to, redirects followed."""
        read = self._read(title)
        if isinstance(read, Refusal):
            return read
        entry = self._file.find(read.text)
        if entry is None:
            return Refusal(RefusalReason.NOT_FOUND, f"{self.name} has no page '{title}'")
        return self._follow_from(entry)

    def _follow_from(self, entry: PageEntry) -> _ResolvedPage | Refusal:
        walked: dict[str, str] = {}
        while True:
            if entry.refusal is not None:
                return entry.refusal
            if entry.redirect is None:
                return _ResolvedPage(entry, tuple(walked.values()))
            walked[entry.key] = entry.title
            chain = " -> ".join(walked.values())
            target = self._target(entry)
            if isinstance(target, Refusal):
                return Refusal(target.reason, f"'{chain}' redirects on: {target.detail}")
            # A redirect to a section of its own page has no text.
            if not target.text or target.text in walked or len(walked) > REDIRECTS_MAX:
                first = next(iter(walked.values()))
                return Refusal(
                    RefusalReason.REDIRECT_LOOP, f"'{first}' redirects in a circle or without end: {_cut(chain)}"
                )
            following = self._file.find(target.text)
            if following is None:
                return Refusal(
                    RefusalReason.NOT_FOUND, f"{_cut(chain)} -> {target.text}: {self.name} has no page '{target.text}'"
                )
            entry = following

    def _target(self, entry: PageEntry) -> WikiTitle | Refusal:
        """Return where a redirect leads: to what its text says, or else to what its source states."""
        if self._plain:
            return self._read(entry.redirect or "")
        _, text, _ = self._file.content(entry.position)
        target = redirect_target(text, self._site)
        return self._article(target, entry.title) if target is not None else self._read(entry.redirect or "")

    def _read(self, title: str) -> WikiTitle | Refusal:
        """Return the article of this source that a title can name, or the reason why it names none."""
        try:
            if self._plain:
                return WikiTitle(0, title_key(title))
            return self._article(read_title(title, self._site), title)
        except InvalidKey as error:
            return Refusal(RefusalReason.INVALID_TITLE, f"{title!r} is not a valid title: {error}")

    def _article(self, read: WikiTitle, title: str) -> WikiTitle | Refusal:
        if read.interwiki:
            return Refusal(RefusalReason.ELSEWHERE, f"'{title}' leads to another wiki, '{read.interwiki}:{read.text}'")
        if read.namespace != 0:
            return Refusal(
                RefusalReason.NOT_AN_ARTICLE, f"'{title}' is of namespace {read.namespace}, where no articles are"
            )
        return read

    def _mentioned(self, text: str, title: str) -> tuple[str, ...]:
        with self._building:
            if self._matcher is None:
                self._matcher = TitleMatcher(self._file.titles())
        return self._matcher.find(text, exclude=title)

    def _url(self, title: str) -> str:
        if not self._site.article_url:
            return ""
        return self._site.article_url.replace("$1", quote(title.replace(" ", "_"), safe="/:@!$*(),;~'"))


def _cut(chain: str) -> str:
    return chain if len(chain) <= 300 else f"{chain[:300]}..."
