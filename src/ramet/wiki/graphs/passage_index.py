"""The index of passages: their words in SQLite's full-text search (BM25), and their vectors, in tables of one file.

A graph of SQLite has these tables beside its own and writes both in one transaction. A graph of LadybugDB has them in a
file of its own beside it, written after the graph: what a crash leaves out is written when its task runs again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice, starmap
from typing import Any

from ramet.wiki.embedding.base import Vector
from ramet.wiki.graphs import vector_index
from ramet.wiki.graphs.base import (
    EmbeddedArticle,
    FoundPassage,
    GraphEdge,
    GraphNode,
    GraphPassage,
    SearchHit,
    vector_digest,
)
from ramet.wiki.graphs.entities import Entity, EntityIndex, Mention, Relation
from ramet.wiki.graphs.passages import LETTERS_PER_WORD, UNSPACED, passages_of
from ramet.wiki.graphs.ranking import nearest, pack, unpack
from ramet.wiki.graphs.vector_index import VectorIndex, open_index, remove_indexes, write_index
from ramet.wiki.sqlite_file import SqliteFile
from ramet.wiki.wikitext.site import is_english

TITLE_WEIGHT, HEADING_WEIGHT, TEXT_WEIGHT = 5.0, 3.0, 1.0
"""Weights of a word by its place: one in a title says more about a passage than one in its text."""
TERMS_MAX = 64
"""Most words of a query that are looked for."""
CANDIDATES_MIN, CANDIDATES_PER_PASSAGE = 64, 2
"""Candidates of a vector index that are compared exactly: the least number, and the number a wanted passage."""
PASSAGES_PER_SECTION = 4
"""Passages that are ranked for each section that is wanted; as many times more while they are of too few sections."""

_TERM = re.compile(rf"[{UNSPACED}]+|[^\W{UNSPACED}]+")


def definitions(language: str) -> tuple[str, ...]:
    """Return the statements that make the tables.

    Args:
        language: code of the texts' language, as wikis have it; empty if it is not known.
    """
    # The one stemmer that SQLite has is of English.
    stemmer = "porter " if is_english(language) else ""
    return (
        """CREATE TABLE passages(
            id INTEGER PRIMARY KEY, title_key TEXT NOT NULL, position INTEGER NOT NULL, start INTEGER NOT NULL,
            stop INTEGER NOT NULL, UNIQUE(title_key, position, start))""",
        f"""CREATE VIRTUAL TABLE words USING fts5(
            title, heading, text, tokenize = '{stemmer}unicode61 remove_diacritics 2')""",
        # Apart from the rest, so that looking for words reads no vectors.
        "CREATE TABLE vectors(passage INTEGER PRIMARY KEY, embedding BLOB NOT NULL)",
        """CREATE TRIGGER passages_deleted AFTER DELETE ON passages BEGIN
            DELETE FROM words WHERE rowid = OLD.id; DELETE FROM vectors WHERE passage = OLD.id; END""",
    )


_DELETE = "DELETE FROM passages WHERE title_key = ?"
_CREATE = "INSERT INTO passages(title_key, position, start, stop) VALUES (?, ?, ?, ?) RETURNING id"
_CREATE_WORDS = "INSERT INTO words(rowid, title, heading, text) VALUES (?, ?, ?, ?)"
_CREATE_VECTOR = "INSERT INTO vectors(passage, embedding) VALUES (?, ?)"
_RANK = f"bm25(words, {TITLE_WEIGHT}, {HEADING_WEIGHT}, {TEXT_WEIGHT})"
_AMONG = " AND title_key IN (SELECT value FROM json_each(?))"
_FIND = f"""
    SELECT -{_RANK} AS score, title_key, position, start, stop FROM words JOIN passages ON passages.id = words.rowid
    WHERE words MATCH ?%s ORDER BY {_RANK}, title_key, position, start LIMIT ?"""  # noqa: S608 - of constants
_VECTORS = "SELECT passage, embedding FROM vectors"
_VECTORS_AMONG = f"{_VECTORS} JOIN passages ON passages.id = passage WHERE true{_AMONG}"
_VECTORS_LISTED = f"{_VECTORS} JOIN json_each(?) ON passage = value"
_COUNT = "SELECT count(*) FROM passages"
# Made by the first write, so that a graph of an earlier release has it, too.
_VERSIONS = "CREATE TABLE IF NOT EXISTS vectors_version(version TEXT NOT NULL)"
_HAS_VERSIONS = "SELECT name FROM sqlite_schema WHERE name = 'vectors_version'"
_VERSION = "SELECT version FROM vectors_version"
_FORGET_VERSION = "DELETE FROM vectors_version"
_PUT_VERSION = "INSERT INTO vectors_version(version) VALUES (lower(hex(randomblob(8))))"
_PLACES = """
    SELECT passages.id, title_key, position, start, stop FROM json_each(?) JOIN passages ON passages.id = value"""
_ALL = """
    SELECT title_key, position, start, stop, embedding FROM passages LEFT JOIN vectors ON passage = passages.id
    ORDER BY title_key, position, start"""


def index_terms(text: str) -> list[str]:
    """Return the words of a text as they are indexed: of scripts without spaces, pairs of letters that overlap."""
    terms: list[str] = []
    for run in _TERM.findall(text):
        if re.match(rf"[{UNSPACED}]", run) and len(run) > LETTERS_PER_WORD:
            terms += [run[start : start + LETTERS_PER_WORD] for start in range(len(run) - LETTERS_PER_WORD + 1)]
        else:
            terms.append(run)
    return terms


class PassageIndex:
    """The index in an open file that has its tables. Writes are parts of a transaction of the caller's."""

    def __init__(self, file: SqliteFile) -> None:
        """Wrap `file`, which the caller closes."""
        self._file = file
        self.entities = EntityIndex(file)

    def load(self, batch: Sequence[EmbeddedArticle]) -> None:
        """Put articles in, replacing what was there of them."""
        self.remove([item.article.key for item in batch])
        if any(item.vectors for item in batch):
            self._new_version()
        for item in batch:
            passages = passages_of(item.article)
            assert len(item.vectors) in (0, len(passages))
            for number, (position, start, end) in enumerate(passages):
                section = item.article.sections[position]
                [(passage,)] = self._file.rows(_CREATE, [item.article.key, position, start, end])
                columns = (item.article.title, section.path or section.heading, section.text[start:end])
                self._file.rows(_CREATE_WORDS, [passage, *map(_indexed, columns)])
                if item.vectors:
                    self._file.rows(_CREATE_VECTOR, [passage, pack(item.vectors[number])])

    def remove(self, keys: Collection[str]) -> None:
        """Take articles out, given by canonical title."""
        self._file.run_many(_DELETE, [(key,) for key in keys])
        self.entities.remove(keys)

    def by_words(self, text: str, *, limit: int, among: Collection[str] | None = None) -> list[FoundPassage]:
        """Return the sections that fit a text's words best (BM25), each by its best passage.

        Args:
            text: what a person typed; none of its characters is an operator.
            limit: sections, at most.
            among: canonical titles of the articles to look into; None: all.
        """
        terms = dict.fromkeys(term.casefold() for term in index_terms(text))
        query = " OR ".join(f'"{term}"' for term in list(terms)[:TERMS_MAX])
        if not query:
            return []
        listed = () if among is None else (json.dumps(sorted(set(among))),)
        statement = _FIND % ("" if among is None else _AMONG)
        return _by_section(
            lambda count: [FoundPassage(*row) for row in self._file.rows(statement, [query, *listed, count])], limit
        )

    def by_vector(self, vector: Vector, *, limit: int, among: Collection[str] | None = None) -> list[FoundPassage]:
        """Return the sections that are nearest to a vector by cosine, each by its nearest passage; as `by_words`."""

        listed = None if among is None else [json.dumps(sorted(set(among)))]
        index = self.vector_index(len(vector)) if listed is None else None

        def ranked(count: int) -> list[FoundPassage]:
            if index is not None:
                cosines = self._among_candidates(index, vector, count)
            else:
                rows = self._file.stream(_VECTORS) if listed is None else self._file.stream(_VECTORS_AMONG, listed)
                cosines = nearest(vector, ((number, data) for number, data in rows), limit=count)
            places = self._file.rows(_PLACES, [json.dumps(list(cosines))])
            found = [FoundPassage(cosines[number], *place) for number, *place in places]
            return sorted(found, key=lambda one: (-one.score, one[1:]))[:count]

        return _by_section(ranked, limit)

    def _among_candidates(self, index: VectorIndex, vector: Vector, count: int) -> dict[int, float]:
        """Return the nearest of the candidates of an index that are still there, as `nearest` does."""
        asked = max(CANDIDATES_MIN, CANDIDATES_PER_PASSAGE * count)
        while True:
            numbers = json.dumps(index.nearest(vector, asked))
            rows = [(number, data) for number, data in self._file.rows(_VECTORS_LISTED, [numbers])]
            if len(rows) >= count or asked >= len(index):
                return nearest(vector, rows, limit=count)
            asked *= CANDIDATES_PER_PASSAGE

    def vector_index(self, dimension: int) -> VectorIndex | None:
        """Return the index of the vectors as they are in this file now; None where there is none."""
        return open_index(self._file.path, self._version(), dimension)

    def count(self) -> int:
        """Return the number of passages."""
        [(count,)] = self._file.rows(_COUNT)
        return int(count)

    def index_vectors(self, dimension: int) -> None:
        """See `GraphStore.index_vectors`."""
        if self.count() < vector_index.INDEXED_FROM:
            remove_indexes(self._file.path)
            return
        if not self._version():
            with self._file.transaction():
                self._new_version()
        if self.vector_index(dimension) is None:
            rows = ((number, data) for number, data in self._file.stream(_VECTORS))
            write_index(self._file.path, self._version(), dimension, rows)

    def _version(self) -> str:
        """Return a text that changes when a vector is added, not when one is removed; empty before the first."""
        rows = self._file.rows(_VERSION) if self._file.rows(_HAS_VERSIONS) else []
        return str(rows[0][0]) if rows else ""

    def _new_version(self) -> None:
        for statement in (_VERSIONS, _FORGET_VERSION, _PUT_VERSION):
            self._file.rows(statement)

    def all(self) -> Iterator[GraphPassage]:
        """See `GraphStore.passages`."""
        return starmap(GraphPassage, self._file.stream(_ALL))

    def dump(self) -> Iterator[list[object]]:
        """Yield every passage, with a digest of its vector if it has one."""
        for *place, embedding in self._file.stream(_ALL):
            yield [*place, *([] if embedding is None else [vector_digest(unpack(embedding))])]


class PassageSearch:
    """The part of a `GraphStore` that its index answers."""

    dimension: int

    def __init__(self, index: PassageIndex) -> None:
        """Ask `index`."""
        self._index = index

    def search(self, vector: Vector, *, limit: int, among: Collection[str] | None = None) -> list[FoundPassage]:
        """See `GraphStore.search`."""
        assert len(vector) == self.dimension > 0
        return self._index.by_vector(vector, limit=limit, among=among)

    def search_words(self, text: str, *, limit: int, among: Collection[str] | None = None) -> list[FoundPassage]:
        """See `GraphStore.search_words`."""
        return self._index.by_words(text, limit=limit, among=among)

    def index_vectors(self) -> None:
        """See `GraphStore.index_vectors`."""
        if self.dimension:
            self._index.index_vectors(self.dimension)

    def unindexed_vectors(self) -> int:
        """See `GraphStore.unindexed_vectors`."""
        if not self.dimension or self._index.vector_index(self.dimension) is not None:
            return 0
        count = self._index.count()
        return count if count >= vector_index.INDEXED_FROM else 0

    def passages(self) -> Iterator[GraphPassage]:
        """See `GraphStore.passages`."""
        return self._index.all()

    def read_hits(self, found: Iterable[FoundPassage], limit: int | None = None) -> list[SearchHit]:
        """See `GraphStore.read_hits`."""
        return list(islice(self._hits(found), limit))

    def _hits(self, found: Iterable[FoundPassage]) -> Iterator[SearchHit]:
        for score, key, position, start, end in found:
            row = self._section(key, position)
            if row is not None:
                title, depth, heading, text, url, path = row
                yield SearchHit(score, key, title, depth, heading, text, url, text[start:end], path)

    def set_entities(self, mentions: Iterable[Mention], relations: Iterable[Relation]) -> None:
        """See `GraphStore.set_entities`."""
        self._index.entities.replace(mentions, relations)

    def entities(self, entity_key: str | None = None) -> Iterator[Entity]:
        """See `GraphStore.entities`."""
        return self._index.entities.entities(entity_key)

    def relations(self, entity_key: str | None = None) -> list[Relation]:
        """See `GraphStore.relations`."""
        return self._index.entities.relations(entity_key)

    def _entity_nodes(self) -> Iterator[GraphNode]:
        for one in self.entities():
            properties = {
                "name": one.name,
                "kind": one.kind,
                "aliases": " | ".join(one.aliases),
                "article": one.article_key,
            }
            yield GraphNode("Entity", f"Entity:{one.entity_key}", properties)

    def _entity_edges(self) -> Iterator[GraphEdge]:
        for one in self.entities():
            for key, position in one.sections:
                yield GraphEdge("MENTIONS", f"Section:{key}#{position}", f"Entity:{one.entity_key}")
        for source, target, kind, key, position in self.relations():
            properties = {"kind": kind, "section": f"{key}#{position}"}
            yield GraphEdge("RELATES", f"Entity:{source}", f"Entity:{target}", properties)

    def _section(self, title_key: str, position: int) -> Sequence[Any] | None:
        """Return title, expansion_depth, heading, text, url and path of a section, if the graph has it."""
        raise NotImplementedError


def _by_section(ranked: Callable[[int], list[FoundPassage]], limit: int) -> list[FoundPassage]:
    """Return the first `limit` sections of a ranking, each by its first passage."""
    count = limit * PASSAGES_PER_SECTION
    while True:
        found = ranked(count)
        best: dict[tuple[str, int], FoundPassage] = {}
        for one in found:
            best.setdefault((one.title_key, one.position), one)
        if len(best) >= limit or len(found) < count:
            return list(best.values())[:limit]
        count *= PASSAGES_PER_SECTION


def _indexed(text: str) -> str:
    # The database cuts texts with spaces into words itself; it folds fewer letters than Python (ß).
    return (" ".join(index_terms(text)) if re.search(rf"[{UNSPACED}]", text) else text).casefold()
