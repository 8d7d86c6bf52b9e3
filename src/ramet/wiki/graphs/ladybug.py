"""Data for LadybugDB: rows of articles and sections, in lists of bounded size."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar

from ramet.wiki.errors import GraphError
from ramet.wiki.graphs.base import (
    ADDED_PROPERTIES,
    DEPTH_UNKNOWN,
    FACTS,
    ArticleRank,
    EmbeddedArticle,
    GraphAlias,
    GraphLink,
)
from ramet.wiki.graphs.graph_file import check_model, check_schema, foreign_file, new_info, no_graph
from ramet.wiki.graphs.ladybug_file import LadybugFile
from ramet.wiki.graphs.ladybug_reader import LadybugReading, columns_of
from ramet.wiki.graphs.passage_index import definitions
from ramet.wiki.graphs.traversal import nearer, resolved
from ramet.wiki.sqlite_file import SqliteFile

_BYTES_PER_NUMBER = 8

_Item = TypeVar("_Item")


class State(NamedTuple):
    """State of an article before it is written."""

    loaded: bool
    expansion_depth: int


def cut(items: Sequence[_Item], size_of: Callable[[_Item], int], most: int) -> Iterator[list[_Item]]:
    """Yield the items in order, in lists that are no larger than `most` together, or of one item."""
    part: list[_Item] = []
    size = 0
    for item in items:
        if part and size + size_of(item) > most:
            yield part
            part, size = [], 0
        part.append(item)
        size += size_of(item)
    if part:
        yield part


def article_bytes(item: EmbeddedArticle) -> int:
    """Return about how many bytes an article's text and vectors are."""
    return sum(len(section.text) for section in item.article.sections) + sum(
        len(vector) * _BYTES_PER_NUMBER for vector in item.vectors
    )


def row_bytes(row: Mapping[str, Any]) -> int:
    """Return about how many bytes the text of a section's row is."""
    return len(row["text"])


def article_row(item: EmbeddedArticle, state: State | None) -> dict[str, Any]:
    """Return the row of a loaded article, whose `state` in the graph was this before."""
    article = item.article
    return {
        "title_key": article.key,
        "title": article.title,
        "depth": item.expansion_depth if state is None else nearer(state.expansion_depth, item.expansion_depth),
        "description": article.description,
        "loaded": True,
        "revision": article.revision,
        "url": article.url,
        **{name: getattr(article, name) for name in FACTS},
    }


def stub_row(key: str, title: str, depth: int) -> dict[str, Any]:
    """Return the row of an article that is known only from links or aliases."""
    return {
        "title_key": key,
        "title": title,
        "depth": depth,
        "description": "",
        "loaded": False,
        "revision": "",
        "url": "",
        **{name: ADDED_PROPERTIES[name] for name in FACTS},
    }


def section_rows(item: EmbeddedArticle) -> list[dict[str, Any]]:
    """Return the rows of an article's sections."""
    return [
        {
            "title_key": item.article.key,
            "section_key": f"{item.article.key}#{position}",
            "position": position,
            "heading": section.heading,
            "level": section.level,
            "path": section.path,
            "text": section.text,
        }
        for position, section in enumerate(item.article.sections)
    ]


LINKS_PER_TRANSACTION = 2_000
RANKS_PER_STATEMENT = 2_000

BYTES_PER_TRANSACTION = 16 * 1024 * 1024
"""Most bytes of text and vectors, about, that one transaction writes: it must find room in memory several times.
A single article may be larger."""

BYTES_PER_STATEMENT = 1024 * 1024
"""Most bytes of rows that one statement unwinds: it holds them twice, and is slower the more they are."""

_SCHEMA = (
    "CREATE NODE TABLE GraphInfo(name STRING PRIMARY KEY, value STRING)",
    "CREATE NODE TABLE Article(title_key STRING PRIMARY KEY, title STRING, expansion_depth INT64, "
    "description STRING, loaded BOOLEAN, revision STRING, url STRING)",
    "CREATE NODE TABLE Section(section_key STRING PRIMARY KEY, position INT64, heading STRING, level INT64, "
    "path STRING, text STRING)",
    "CREATE NODE TABLE Category(name STRING PRIMARY KEY)",
    "CREATE NODE TABLE Alias(alias_key STRING PRIMARY KEY, title STRING)",
    "CREATE REL TABLE HAS_SECTION(FROM Article TO Section)",
    "CREATE REL TABLE IN_CATEGORY(FROM Article TO Category)",
    "CREATE REL TABLE LINKS_TO(FROM Article TO Article)",
    "CREATE REL TABLE ALIAS_OF(FROM Alias TO Article)",
)
_ADD_FACTS = (
    "ALTER TABLE Article ADD infobox STRING",
    "ALTER TABLE Article ADD latitude DOUBLE",
    "ALTER TABLE Article ADD longitude DOUBLE",
    "ALTER TABLE Article ADD wikidata STRING",
)
_INDEX_TABLES = "SELECT name FROM sqlite_schema WHERE name = 'passages'"
_CREATE_INFO = "UNWIND $rows AS row CREATE (:GraphInfo {name: row.name, value: row.value})"
_TABLES = "CALL show_tables() RETURN name"
_AN_ARTICLE = "MATCH (a:Article) WHERE a.loaded RETURN a.title_key LIMIT 1"
_INFO = "MATCH (i:GraphInfo) RETURN i.name, i.value"

_STATES = """
    UNWIND $keys AS key MATCH (a:Article {title_key: key}) RETURN a.title_key, a.loaded, a.expansion_depth"""
_CREATE_ARTICLES = """
    UNWIND $rows AS row CREATE (:Article {title_key: row.title_key, title: row.title, expansion_depth: row.depth,
        description: row.description, loaded: row.loaded, revision: row.revision, url: row.url,
        infobox: row.infobox, latitude: CAST(row.latitude AS DOUBLE), longitude: CAST(row.longitude AS DOUBLE),
        wikidata: row.wikidata})"""
_SET_ARTICLES = """
    UNWIND $rows AS row MATCH (a:Article {title_key: row.title_key})
    SET a.title = row.title, a.expansion_depth = row.depth, a.description = row.description, a.loaded = row.loaded,
        a.revision = row.revision, a.url = row.url, a.infobox = row.infobox, a.latitude = CAST(row.latitude AS DOUBLE),
        a.longitude = CAST(row.longitude AS DOUBLE), a.wikidata = row.wikidata"""
_SET_DEPTHS = "UNWIND $rows AS row MATCH (a:Article {title_key: row.title_key}) SET a.expansion_depth = row.depth"
_ADD_RANKS = ("ALTER TABLE Article ADD pagerank DOUBLE", "ALTER TABLE Article ADD community INT64")
_SET_RANKS = """
    UNWIND $rows AS row MATCH (a:Article {title_key: row.title_key})
    SET a.pagerank = row.pagerank, a.community = row.community"""
_FORGET_ARTICLE = """
    MATCH (a:Article {title_key: $key}) SET a.loaded = false, a.description = '', a.revision = '', a.url = '',
        a.infobox = '', a.latitude = NULL, a.longitude = NULL, a.wikidata = ''"""
_DELETE_ARTICLE = "MATCH (a:Article {title_key: $key}) DETACH DELETE a"
_CREATE_SECTIONS = """
    UNWIND $rows AS row MATCH (a:Article {title_key: row.title_key})
    CREATE (a)-[:HAS_SECTION]->(:Section {section_key: row.section_key, position: row.position,
        heading: row.heading, level: row.level, path: row.path, text: row.text})"""
_DELETE_SECTIONS = "MATCH (:Article {title_key: $key})-[:HAS_SECTION]->(s:Section) DETACH DELETE s"

_CATEGORIES = "UNWIND $keys AS key MATCH (c:Category {name: key}) RETURN c.name"
_CATEGORIES_OF = "MATCH (:Article {title_key: $key})-[:IN_CATEGORY]->(c:Category) RETURN c.name"
_CREATE_CATEGORIES = "UNWIND $rows AS row CREATE (:Category {name: row.name})"
_CREATE_MEMBERSHIPS = """
    UNWIND $rows AS row MATCH (a:Article {title_key: row.title_key}) MATCH (c:Category {name: row.name})
    CREATE (a)-[:IN_CATEGORY]->(c)"""
_DELETE_MEMBERSHIPS = "MATCH (:Article {title_key: $key})-[edge:IN_CATEGORY]->(:Category) DELETE edge"
_A_MEMBER = "MATCH (a:Article)-[:IN_CATEGORY]->(:Category {name: $key}) RETURN a.title_key LIMIT 1"
_DELETE_CATEGORY = "MATCH (c:Category {name: $key}) DETACH DELETE c"

_MERGE_LINKS = """
    UNWIND $rows AS row MATCH (a:Article {title_key: row.source_key}) MATCH (b:Article {title_key: row.target_key})
    MERGE (a)-[:LINKS_TO]->(b)"""
_DELETE_LINKS = "MATCH (:Article {title_key: $key})-[edge:LINKS_TO]->(:Article) DELETE edge"
_TARGETS = "MATCH (:Article {title_key: $key})-[:LINKS_TO]->(b:Article) RETURN b.title_key"
_SOURCES = "MATCH (:Article {title_key: $key})<-[:LINKS_TO]-(b:Article) RETURN b.title_key"
_A_SOURCE = f"{_SOURCES} LIMIT 1"

_ALIASES = "UNWIND $keys AS key MATCH (x:Alias {alias_key: key}) RETURN x.alias_key"
_ALIAS_LEADS_TO = "MATCH (:Alias {alias_key: $key})-[:ALIAS_OF]->(a:Article) RETURN a.title_key"
_ALIASES_OF = "MATCH (x:Alias)-[:ALIAS_OF]->(:Article {title_key: $key}) RETURN x.alias_key, x.title"
_CREATE_ALIASES = """
    UNWIND $rows AS row MATCH (a:Article {title_key: row.target_key})
    CREATE (:Alias {alias_key: row.alias_key, title: row.title})-[:ALIAS_OF]->(a)"""
_DELETE_ALIAS = "MATCH (x:Alias {alias_key: $key}) DETACH DELETE x"


class LadybugGraph(LadybugReading):
    """A `GraphStore` in a LadybugDB file, from `open_writer` or `open_reader`; a context manager."""

    @classmethod
    def open_writer(cls, path: Path, *, model_id: str, dimension: int, language: str = "") -> LadybugGraph:
        """Open the graph at `path` as its only writer, making it if it is not there.

        Raises:
            GraphBusy: another writer holds it.
            GraphMismatch: its vectors come from another model, or its schema from another version.
            GraphError: the file cannot be opened or is not such a graph.
        """
        file = LadybugFile(path, read_only=False)
        try:
            if not file.read(_TABLES):
                _create_schema(file, new_info(model_id=model_id, dimension=dimension, language=language))
            info = _read_info(file)
            check_model(path, info, model_id=model_id, dimension=dimension)
            if "infobox" not in columns_of(file):  # New, or of a release that did not know them.
                with file.transaction():
                    for statement in _ADD_FACTS:
                        file.write(statement)
            return cls(file, info, _open_index(path, info, empty=not file.read(_AN_ARTICLE)))
        except BaseException:
            file.close()
            raise

    @classmethod
    def open_reader(cls, path: Path) -> LadybugGraph:
        """Open a snapshot of the graph at `path`, beside a writer or without one; close it soon.

        While a reader is open the writer's log grows, as it cannot be folded into the file.

        Raises:
            GraphError: there is no graph, or it cannot be read.
        """
        if not path.exists():
            raise no_graph(path)
        file = LadybugFile(path, read_only=True)
        try:
            return cls(file, _read_info(file), _read_index(path))
        except BaseException:
            file.close()
            raise

    def load_articles(self, batch: Sequence[EmbeddedArticle]) -> None:
        """See `GraphStore.load_articles`."""
        for part in cut(batch, article_bytes, BYTES_PER_TRANSACTION):
            if any(len(vector) != self.dimension for item in part for vector in item.vectors):
                raise GraphError(f"{self._file.path} could not be written: a vector has another dimension")
            with self._file.transaction():
                self._load(part)
            with self._index_file.transaction():
                self._index.load(part)

    def _load(self, batch: Sequence[EmbeddedArticle]) -> None:
        states = self._states(item.article.key for item in batch)
        rows = [article_row(item, states.get(item.article.key)) for item in batch]
        self._file.write(_CREATE_ARTICLES, [row for row in rows if row["title_key"] not in states])
        self._file.write(_SET_ARTICLES, [row for row in rows if row["title_key"] in states])
        self._delete_aliases(item.article.key for item in batch)
        left = self._delete_contents(key for key, state in states.items() if state.loaded)
        self._create_sections(batch)
        self._create_memberships(batch)
        self._delete_empty_categories(left)

    def add_links(self, links: Sequence[GraphLink]) -> None:
        """See `GraphStore.add_links`."""
        for start in range(0, len(links), LINKS_PER_TRANSACTION):
            with self._file.transaction():
                self._draw(links[start : start + LINKS_PER_TRANSACTION])

    def replace_links(self, source_keys: Collection[str], links: Sequence[GraphLink]) -> None:
        """See `GraphStore.replace_links`."""
        with self._file.transaction():
            targets = self._delete_links(source_keys)
            self._draw(links)
            self._delete_unlinked(targets)

    def add_aliases(self, aliases: Sequence[GraphAlias]) -> None:
        """See `GraphStore.add_aliases`."""
        leads = resolved(aliases)
        with self._file.transaction():
            states = self._states([*leads, *(target for _, target in leads.values())])
            leads = {key: lead for key, lead in leads.items() if not (key in states and states[key].loaded)}
            targets = dict.fromkeys(target for _, target in leads.values())
            self._delete_aliases([*leads, *targets])
            stubs: dict[str, dict[str, Any]] = {}
            for key, (_, target) in sorted(leads.items()):
                if target not in states:
                    depth = states[key].expansion_depth if key in states else DEPTH_UNKNOWN
                    known = stubs.setdefault(target, stub_row(target, target, depth))
                    known["depth"] = nearer(known["depth"], depth)
            self._file.write(_CREATE_ARTICLES, list(stubs.values()))
            rows = [{"alias_key": key, "title": title, "target_key": target} for key, (title, target) in leads.items()]
            self._file.write(_CREATE_ALIASES, rows)
            for key, (_, target) in leads.items():
                if key in states:
                    self._merge(key, target)

    def remove_articles(self, keys: Collection[str]) -> None:
        """See `GraphStore.remove_articles`."""
        with self._file.transaction():
            known, targets = self._empty(keys)
            for key in known:
                self._file.read(_FORGET_ARTICLE, {"key": key})
            self._delete_unlinked([*known, *targets])
        self._unindex(keys)

    def exclude_articles(self, keys: Collection[str]) -> None:
        """See `GraphStore.exclude_articles`."""
        with self._file.transaction():
            known, targets = self._empty(keys)
            for key in known:
                for alias, _ in self._file.read(_ALIASES_OF, {"key": key}):
                    self._file.read(_DELETE_ALIAS, {"key": alias})
                self._file.read(_DELETE_ARTICLE, {"key": key})
            self._delete_unlinked(targets)
        self._unindex(keys)

    def set_ranks(self, ranks: Sequence[ArticleRank]) -> None:
        """See `GraphStore.set_ranks`."""
        with self._file.transaction():
            for statement in () if "pagerank" in self._columns else _ADD_RANKS:
                self._file.write(statement)
            for start in range(0, len(ranks), RANKS_PER_STATEMENT):
                self._file.write(_SET_RANKS, [asdict(one) for one in ranks[start : start + RANKS_PER_STATEMENT]])
        self._columns = columns_of(self._file)

    def _unindex(self, keys: Collection[str]) -> None:
        with self._index_file.transaction():
            self._index.remove(keys)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    def _states(self, keys: Iterable[str]) -> dict[str, State]:
        """Return the state of each of these articles that the graph has."""
        wanted = list(dict.fromkeys(keys))
        rows = self._file.read(_STATES, {"keys": wanted}) if wanted else []
        return {key: State(loaded, depth) for key, loaded, depth in rows}

    def _draw(self, links: Sequence[GraphLink]) -> None:
        aliases = self._existing_aliases(link.target_key for link in links)
        leads = {key: self._file.read(_ALIAS_LEADS_TO, {"key": key})[0][0] for key in aliases}
        drawn = {(link.source_key, leads.get(link.target_key, link.target_key)): link for link in reversed(links)}
        states = self._states(target for _, target in drawn)
        stubs: dict[str, dict[str, Any]] = {}
        closer: dict[str, int] = {}
        for (_, target), link in drawn.items():
            if target not in states:
                stub = stubs.setdefault(target, stub_row(target, link.target_title, link.target_depth))
                stub["depth"] = nearer(stub["depth"], link.target_depth)
            elif not states[target].loaded:
                depth = closer.get(target, states[target].expansion_depth)
                if nearer(depth, link.target_depth) != depth:
                    closer[target] = nearer(depth, link.target_depth)
        self._file.write(_CREATE_ARTICLES, list(stubs.values()))
        self._file.write(_SET_DEPTHS, [{"title_key": key, "depth": depth} for key, depth in closer.items()])
        rows = [{"source_key": source, "target_key": target} for source, target in drawn if source != target]
        self._file.write(_MERGE_LINKS, rows)

    def _merge(self, key: str, target: str) -> None:
        """Let what leads to the article `key`, which was never loaded, lead to `target`; then forget it."""
        sources = [source for (source,) in self._file.read(_SOURCES, {"key": key}) if source != target]
        self._file.write(_MERGE_LINKS, [{"source_key": source, "target_key": target} for source in sources])
        aliases = self._file.read(_ALIASES_OF, {"key": key})
        for alias, _ in aliases:
            self._file.read(_DELETE_ALIAS, {"key": alias})
        rows = [{"alias_key": alias, "title": title, "target_key": target} for alias, title in aliases]
        self._file.write(_CREATE_ALIASES, rows)
        self._file.read(_DELETE_ARTICLE, {"key": key})

    def _create_sections(self, batch: Sequence[EmbeddedArticle]) -> None:
        for rows in cut([row for item in batch for row in section_rows(item)], row_bytes, BYTES_PER_STATEMENT):
            self._file.write(_CREATE_SECTIONS, rows)

    def _create_memberships(self, batch: Sequence[EmbeddedArticle]) -> None:
        rows = [
            {"title_key": item.article.key, "name": name}
            for item in batch
            for name in dict.fromkeys(item.article.categories)
        ]
        names = list(dict.fromkeys(row["name"] for row in rows))
        known = {name for (name,) in self._file.read(_CATEGORIES, {"keys": names})} if names else set()
        self._file.write(_CREATE_CATEGORIES, [{"name": name} for name in names if name not in known])
        self._file.write(_CREATE_MEMBERSHIPS, rows)

    def _delete_contents(self, keys: Iterable[str]) -> set[str]:
        """Take away the sections and categories of these articles; the categories that they were in."""
        left: set[str] = set()
        for key in keys:
            self._file.read(_DELETE_SECTIONS, {"key": key})
            left.update(name for (name,) in self._file.read(_CATEGORIES_OF, {"key": key}))
            self._file.read(_DELETE_MEMBERSHIPS, {"key": key})
        return left

    def _empty(self, keys: Iterable[str]) -> tuple[list[str], list[str]]:
        """Take away what these articles hold and their links; which of them there were, and where they led."""
        known = list(self._states(keys))
        self._delete_empty_categories(self._delete_contents(known))
        return known, self._delete_links(known)

    def _delete_empty_categories(self, names: Iterable[str]) -> None:
        for name in names:
            if not self._file.read(_A_MEMBER, {"key": name}):
                self._file.read(_DELETE_CATEGORY, {"key": name})

    def _delete_links(self, source_keys: Iterable[str]) -> list[str]:
        """Take away the links that leave these articles; where they led."""
        targets: dict[str, None] = {}
        for key in source_keys:
            targets.update(dict.fromkeys(target for (target,) in self._file.read(_TARGETS, {"key": key})))
            self._file.read(_DELETE_LINKS, {"key": key})
        return list(targets)

    def _delete_unlinked(self, keys: Iterable[str]) -> None:
        """Forget those of these articles that are not loaded and that no article links to, with their aliases."""
        for key, state in self._states(keys).items():
            if not state.loaded and not self._file.read(_A_SOURCE, {"key": key}):
                for alias, _ in self._file.read(_ALIASES_OF, {"key": key}):
                    self._file.read(_DELETE_ALIAS, {"key": alias})
                self._file.read(_DELETE_ARTICLE, {"key": key})

    def _existing_aliases(self, keys: Iterable[str]) -> list[str]:
        wanted = list(dict.fromkeys(keys))
        return [key for (key,) in self._file.read(_ALIASES, {"keys": wanted})] if wanted else []

    def _delete_aliases(self, keys: Iterable[str]) -> None:
        for key in self._existing_aliases(keys):
            self._file.read(_DELETE_ALIAS, {"key": key})


def _create_schema(file: LadybugFile, info: Mapping[str, str]) -> None:
    # In one transaction: a graph has all of its tables and says whose vectors it holds, or is empty.
    with file.transaction():
        for statement in _SCHEMA:
            file.write(statement)
        file.write(_CREATE_INFO, [{"name": name, "value": value} for name, value in info.items()])


def _read_info(file: LadybugFile) -> dict[str, str]:
    if ["GraphInfo"] not in file.read(_TABLES):
        raise foreign_file(file.path)
    info: dict[str, str] = dict(file.read(_INFO))
    check_schema(file.path, info)
    return info


def index_path(path: Path) -> Path:
    """Return the path of the index of passages of the graph at `path`."""
    return path.with_name(f"{path.name}.passages")


def _open_index(path: Path, info: Mapping[str, str], *, empty: bool) -> SqliteFile:
    """Open the index for writing, making it beside a graph that holds nothing yet.

    Raises:
        GraphError: it is missing, or cannot be opened.
    """
    place = index_path(path)
    if not place.exists() and not empty:
        raise _no_index(path)
    file = SqliteFile(place, failure=GraphError, pragmas={"journal_mode": "WAL", "synchronous": "FULL"})
    try:
        if not file.rows(_INDEX_TABLES):
            with file.transaction():
                for statement in definitions(info["language"]):
                    file.rows(statement)
    except BaseException:
        file.close()
        raise
    return file


def _read_index(path: Path) -> SqliteFile:
    place = index_path(path)
    if not place.exists():
        raise _no_index(path)
    return SqliteFile.snapshot(place, failure=GraphError)


def _no_index(path: Path) -> GraphError:
    return GraphError(f"{index_path(path)} is missing, which holds what {path} is searched by: put it back beside it")
