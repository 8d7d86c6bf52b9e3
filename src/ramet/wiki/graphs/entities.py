"""Entities and relations: the tables of one file, beside the index of passages, and how names become entities.

A row says which section names an entity, and by what name; an entity is all rows of its key. So an article that leaves
the graph takes with it what only its sections say, and nothing is left of it.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ramet.wiki.sqlite_file import SqliteFile

_TABLES = (
    """CREATE TABLE IF NOT EXISTS entity_mentions(
        entity_key TEXT NOT NULL, title_key TEXT NOT NULL, position INTEGER NOT NULL, name TEXT NOT NULL,
        kind TEXT NOT NULL, aliases TEXT NOT NULL, article_key TEXT NOT NULL,
        PRIMARY KEY(entity_key, title_key, position, name, kind, aliases)) WITHOUT ROWID""",
    "CREATE INDEX IF NOT EXISTS entity_mentions_by_article ON entity_mentions(title_key)",
    """CREATE TABLE IF NOT EXISTS entity_relations(
        source_key TEXT NOT NULL, target_key TEXT NOT NULL, kind TEXT NOT NULL, title_key TEXT NOT NULL,
        position INTEGER NOT NULL,
        PRIMARY KEY(source_key, target_key, kind, title_key, position)) WITHOUT ROWID""",
    "CREATE INDEX IF NOT EXISTS entity_relations_by_target ON entity_relations(target_key)",
    "CREATE INDEX IF NOT EXISTS entity_relations_by_article ON entity_relations(title_key)",
)
_ARE_THERE = "SELECT 1 FROM sqlite_schema WHERE name = 'entity_relations'"
_EMPTY = ("DELETE FROM entity_mentions", "DELETE FROM entity_relations")
_ADD_MENTION = "INSERT OR IGNORE INTO entity_mentions VALUES (?, ?, ?, ?, ?, ?, ?)"
_ADD_RELATION = "INSERT OR IGNORE INTO entity_relations VALUES (?, ?, ?, ?, ?)"
_REMOVE = ("DELETE FROM entity_mentions WHERE title_key = ?", "DELETE FROM entity_relations WHERE title_key = ?")
_UNNAMED = """
    DELETE FROM entity_relations WHERE source_key NOT IN (SELECT entity_key FROM entity_mentions)
        OR target_key NOT IN (SELECT entity_key FROM entity_mentions)"""
_MENTIONS = """
    SELECT entity_key, title_key, position, name, kind, aliases, article_key FROM entity_mentions %s
    ORDER BY entity_key, title_key, position, name, kind, aliases"""
_RELATIONS = """
    SELECT source_key, target_key, kind, title_key, position FROM entity_relations
    ORDER BY source_key, target_key, kind, title_key, position"""
_RELATIONS_OF = """
    SELECT source_key, target_key, kind, title_key, position FROM entity_relations WHERE source_key = ?1
    UNION SELECT source_key, target_key, kind, title_key, position FROM entity_relations WHERE target_key = ?1"""
_COUNTS = (
    "SELECT count(DISTINCT entity_key) FROM entity_mentions",
    "SELECT count(*) FROM entity_relations",
)


class Mention(NamedTuple):
    """A section that names an entity."""

    entity_key: str
    title_key: str
    """Canonical title of the section's article."""
    position: int
    """Position of the section in its article, from 0."""
    name: str
    kind: str
    aliases: tuple[str, ...]
    article_key: str
    """Canonical title of the article about the entity; empty where the graph has none."""


class Relation(NamedTuple):
    """A statement of a section: one entity is related to another."""

    source_key: str
    target_key: str
    kind: str
    title_key: str
    position: int


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity, of all sections that name it.

    Attributes:
        entity_key: of which no other entity is.
        name: the name that most sections give it.
        kind: such as `person` or `place`; the one that most sections give it.
        aliases: its other names, sorted.
        article_key: canonical title of the article about it; empty where the graph has none.
        sections: (canonical title, position) of the sections that name it.
    """

    entity_key: str
    name: str
    kind: str
    aliases: tuple[str, ...]
    article_key: str
    sections: tuple[tuple[str, int], ...]


class NamedEntity(NamedTuple):
    """An entity as one section has it."""

    name: str
    kind: str
    aliases: tuple[str, ...]


class SectionFinding(NamedTuple):
    """Entities and relations that a section names: relations are (source, kind, target), by name or alias."""

    title_key: str
    position: int
    entities: tuple[NamedEntity, ...]
    relations: tuple[tuple[str, str, str], ...]


class EntityIndex:
    """The tables in an open file, which a graph has from its first extraction on. Writes are parts of a transaction."""

    def __init__(self, file: SqliteFile) -> None:
        """Wrap `file`, which the caller closes."""
        self._file = file
        self._there = bool(file.rows(_ARE_THERE))

    def replace(self, mentions: Iterable[Mention], relations: Iterable[Relation]) -> None:
        """Put these in place of all that is there, in one transaction."""
        with self._file.transaction():
            for statement in (*_TABLES, *_EMPTY):
                self._file.rows(statement)
            self._file.run_many(
                _ADD_MENTION,
                ((*one[:5], json.dumps(one.aliases, ensure_ascii=False), one.article_key) for one in mentions),
            )
            self._file.run_many(_ADD_RELATION, relations)
        self._there = True

    def remove(self, keys: Collection[str]) -> None:
        """Take out what the sections of these articles say."""
        if self._there and keys:
            for statement in _REMOVE:
                self._file.run_many(statement, [(key,) for key in keys])
            self._file.rows(_UNNAMED)

    def counts(self) -> tuple[int, int]:
        """Return the numbers of entities and relations."""
        if not self._there:
            return 0, 0
        entities, relations = (self._file.rows(query)[0][0] for query in _COUNTS)
        return entities, relations

    def entities(self, entity_key: str | None = None) -> Iterator[Entity]:
        """Yield every entity, by key; or that of a key, if there is one."""
        held: list[Mention] = []
        for one in self._mentions(entity_key):
            if held and held[0].entity_key != one.entity_key:
                yield _entity(held)
                held = []
            held.append(one)
        if held:
            yield _entity(held)

    def relations(self, entity_key: str | None = None) -> list[Relation]:
        """Return the relations from and to an entity, or all, in a fixed order."""
        if not self._there:
            return []
        rows = self._file.rows(_RELATIONS) if entity_key is None else self._file.rows(_RELATIONS_OF, [entity_key])
        return sorted(Relation(*row) for row in rows)

    def dump(self) -> Iterator[tuple[str, Sequence[object]]]:
        """Yield every row, as `GraphStore.dump` has them."""
        yield from (("Mention", one) for one in self._mentions())
        yield from (("RELATES", one) for one in self.relations())

    def _mentions(self, entity_key: str | None = None) -> Iterator[Mention]:
        keys = [] if entity_key is None else [entity_key]
        statement = _MENTIONS % ("WHERE entity_key = ?" if keys else "")
        for key, title_key, position, name, kind, aliases, article in (
            self._file.stream(statement, keys) if self._there else ()
        ):
            yield Mention(key, title_key, position, name, kind, tuple(json.loads(aliases)), article)


def _entity(mentions: Sequence[Mention]) -> Entity:
    first = mentions[0]
    # The title of an article is its name; of others the most frequent one, of equals the first by letters.
    name = first.article_key or _most(one.name for one in mentions)
    names = {one.name for one in mentions} | {alias for one in mentions for alias in one.aliases}
    return Entity(
        first.entity_key,
        name,
        _most(one.kind for one in mentions),
        tuple(sorted(names - {name})),
        first.article_key,
        tuple(sorted({(one.title_key, one.position) for one in mentions})),
    )


def _most(values: Iterable[str]) -> str:
    return min(Counter(values).items(), key=lambda one: (-one[1], one[0]))[0]


def name_key(name: str) -> str:
    """Return the key of equal names: the case of letters, spaces and ways of writing accents do not count."""
    return unicodedata.normalize("NFC", " ".join(unicodedata.normalize("NFC", name).split()).casefold())


def merge(findings: Iterable[SectionFinding], articles: Mapping[str, str]) -> tuple[list[Mention], list[Relation]]:
    """Return the mentions of entities and the relations of all sections; the order of these does not count.

    Equal names are one entity. A name that is an alias of another entity is that entity; a mere alias that two entities
    share ("the king") makes them one no more than an alias that is the name of two articles would.

    Args:
        findings: of the sections.
        articles: canonical title by name key, of articles and their redirects.
    """
    listed = sorted(findings)
    groups = _Groups(articles)
    for finding in listed:
        for entity in finding.entities:
            groups.add(name_key(entity.name))
    pairs = {
        (name_key(alias), name_key(one.name)) for found in listed for one in found.entities for alias in one.aliases
    }
    for alias, name in sorted(pairs):
        groups.join(alias, name)
    mentions: list[Mention] = []
    relations: set[Relation] = set()
    for finding in listed:
        known: dict[str, str] = {}
        for entity in finding.entities:
            key, article = groups.entity(name_key(entity.name))
            mentions.append(
                Mention(key, finding.title_key, finding.position, entity.name, entity.kind, entity.aliases, article)
            )
            for name in (*entity.aliases, entity.name):
                known.setdefault(name_key(name), key)
        for entity in finding.entities:  # A name is stronger than an alias of another.
            known[name_key(entity.name)] = groups.entity(name_key(entity.name))[0]
        for source, kind, target in finding.relations:
            ends = known.get(name_key(source)), known.get(name_key(target))
            if ends[0] is not None and ends[1] is not None and ends[0] != ends[1]:
                relations.add(Relation(ends[0], ends[1], kind, finding.title_key, finding.position))
    return mentions, sorted(relations)


class _Groups:
    """Names that stand for one entity. A group has one article at most."""

    def __init__(self, articles: Mapping[str, str]) -> None:
        self._articles = articles
        self._parents: dict[str, str] = {}

    def add(self, name: str) -> None:
        """Begin a group of this name, if it has none."""
        self._parents.setdefault(name, name)

    def join(self, alias: str, name: str) -> None:
        """Let an alias that is itself a name, or an article's, be one with `name`, unless they are of two articles."""
        if alias not in self._parents:
            if alias not in self._articles:
                return
            self.add(alias)
        first, second = self._root(alias), self._root(name)
        both = {self._articles[one] for one in (first, second) if one in self._articles}
        if first != second and len(both) < 2:
            # An article's name stays on top, so that a group knows its article.
            top, below = sorted((first, second), key=lambda one: (one not in self._articles, one))
            self._parents[below] = top

    def entity(self, name: str) -> tuple[str, str]:
        """Return the key of the entity of a name, and the canonical title of its article, or an empty text."""
        top = self._root(name)
        article = self._articles.get(top, "")
        return (name_key(article) if article else top), article

    def _root(self, name: str) -> str:
        while self._parents[name] != name:
            name = self._parents[name]
        return name


def names_of_articles(articles: Iterable[tuple[str, str]], aliases: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return canonical titles by name key.

    Args:
        articles: canonical titles, and titles as displayed.
        aliases: titles that redirect, and the canonical titles that they lead to.
    """
    names: dict[str, list[str]] = defaultdict(list)
    for key, title in articles:
        names[name_key(key)].append(key)
        names[name_key(title)].append(key)
    found = {name: min(keys) for name, keys in names.items()}
    for title, key in sorted(aliases):
        found.setdefault(name_key(title), key)
    return found
