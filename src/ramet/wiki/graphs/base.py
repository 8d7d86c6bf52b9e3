"""Graph of loaded articles: the interface of a graph store in any database.

Node labels Article, Section, Category and Alias; edges HAS_SECTION, IN_CATEGORY, LINKS_TO and ALIAS_OF. Task state
does not live here: the graph is written first and the state after, every write can be repeated without effect
(merge, or delete and create, in one transaction), and so a crash at any point leaves nothing that running again
would not put right. The content is a function of what was loaded: it holds no time, no random number, and no
order of arrival.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from ramet.wiki.embedding.base import Vector
from ramet.wiki.graphs.entities import Entity, Mention, Relation
from ramet.wiki.pages import Article

NO_MODEL = "none"
"""The `model_id` of a graph without vectors."""

DEPTH_UNKNOWN = -1
"""The `expansion_depth` of an article that is known only as an alias's target; loading it replaces this."""

DIGITS_COMPARED = 4
"""Decimal places to which `dump` compares vectors: beyond them, machines differ."""


@dataclass(frozen=True, slots=True)
class EmbeddedArticle:
    """An article that is ready to be loaded.

    Attributes:
        article: the article.
        expansion_depth: links between it and the nearest seed.
        vectors: one for each of its passages (`passages_of`), in their order; empty for a graph without vectors.
    """

    article: Article
    expansion_depth: int
    vectors: tuple[Vector, ...]


@dataclass(frozen=True, slots=True)
class GraphLink:
    """A link to be drawn.

    Attributes:
        source_key: canonical title of an article in the graph.
        target_key: canonical title of the linked article, which may not be loaded yet.
        target_title: its display title, used only if the graph does not have it.
        target_depth: its expansion_depth, used only if the graph does not have it, or only from farther links.
    """

    source_key: str
    target_key: str
    target_title: str
    target_depth: int


@dataclass(frozen=True, slots=True)
class GraphAlias:
    """A title that redirects: canonical and display title, and canonical title of the article it leads to at last."""

    alias_key: str
    alias_title: str
    target_key: str


@dataclass(frozen=True, slots=True)
class GraphCounts:
    """Counts of a graph. `articles` counts loaded ones, `discovered` those known only from links."""

    articles: int
    discovered: int
    sections: int
    categories: int
    links: int
    aliases: int
    entities: int = 0
    relations: int = 0


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A section that was found.

    Attributes:
        score: how well it fits, larger for better ones; only scores of one search can be compared. The cosine of its
            passage's vector and the query's, from -1 to 1; BM25's where words were looked for; the mean of both as
            shares of the best where both were, from 0 to 1.
        title_key: canonical title of its article.
        title: of its article, as displayed.
        expansion_depth: of its article.
        heading: its own; empty for the lead.
        text: its plain text.
        url: where its article is read; empty if nowhere.
        passage: the part of `text` that fits best.
        path: the headings that it is below, and its own.
    """

    score: float
    title_key: str
    title: str
    expansion_depth: int
    heading: str
    text: str
    url: str = ""
    passage: str = ""
    path: str = ""


class FoundPassage(NamedTuple):
    """A section that was found by one of its passages, before it is read; `score` is as that of a `SearchHit`."""

    score: float
    title_key: str
    position: int
    """Position of the section in its article, from 0."""
    start: int
    end: int
    """End of the passage, which begins at `start`, in the section's text."""


class GraphPassage(NamedTuple):
    """A passage of the index, without its text; fields as of a `FoundPassage`."""

    title_key: str
    position: int
    start: int
    end: int
    vector: bytes | None
    """Little-endian 32-bit numbers; None in a graph without vectors."""


@dataclass(frozen=True, slots=True)
class GraphSection:
    """A section of a loaded article.

    Attributes:
        heading: its own; empty for the lead.
        level: 1 for the lead, 2 to 6 as MediaWiki counts headings.
        path: the headings that it is below, and its own; empty for the lead.
        text: plain text.
    """

    heading: str
    level: int
    path: str
    text: str


class Direction(StrEnum):
    """Direction in which links are followed."""

    OUT = "out"
    IN = "in"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Neighbor:
    """An article near another: `distance` links away (1 at least); `loaded` is false for one known only from links."""

    distance: int
    title_key: str
    title: str
    expansion_depth: int
    loaded: bool
    url: str
    pagerank: float | None = None
    """PageRank as in `ArticleRank`; None before `ramet wiki rank`, and for articles that came later."""


@dataclass(frozen=True, slots=True)
class ArticleRank:
    """The place of an article among the links of its graph.

    Attributes:
        title_key: canonical title of the article.
        pagerank: its share of all PageRank: all together are 1.
        community: number of the group of articles that link to each other more than to others; the largest is 1.
    """

    title_key: str
    pagerank: float
    community: int


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node of an export. `properties` are JSON values; vectors are never among them."""

    label: str
    node_id: str
    """Id that is unique over all labels: `Article:Ollo Island`."""
    properties: Mapping[str, str | int | float | bool]


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """An edge of an export, between nodes by `node_id`."""

    label: str
    source_id: str
    target_id: str
    properties: Mapping[str, str] = field(default_factory=dict)
    """Properties of a RELATES edge: its `kind`, and the `section` that says it; others have none."""


class GraphStore(Protocol):
    """A graph opened for writing by its one writer, or for reading by any number beside it.

    A reader sees the graph as it was when it was opened. Methods may be called from any thread.
    """

    model_id: str
    """Id of the model of its vectors; fixed when the graph is made."""
    dimension: int
    """Length of its vectors; 0 for a graph without vectors, whose `model_id` is `NO_MODEL`."""

    def load_articles(self, batch: Sequence[EmbeddedArticle]) -> None:
        """Put articles into the graph, replacing sections and categories they had.

        In one transaction, or in several where the articles are very large; each article as a whole.

        Each key at most once in a batch. An article's depth never grows: of two, the smaller stays. A key that was
        an alias's becomes the article's.

        Raises:
            GraphError: nothing was written of the transaction that failed.
        """

    def add_links(self, links: Sequence[GraphLink]) -> None:
        """Draw links, in transactions of bounded size; links that exist stay as they are.

        A target that the graph does not have is added by its title, to be loaded later. A target that is an alias
        means its article. No article links to itself. A link whose source the graph does not have is an error
        of the caller, and is not drawn.

        Raises:
            GraphError: the links of earlier transactions may have been written.
        """

    def replace_links(self, source_keys: Collection[str], links: Sequence[GraphLink]) -> None:
        """Take away every link that leaves one of `source_keys`, and draw `links`, in one transaction.

        An article known only from links that are gone, goes as well.

        Raises:
            GraphError: nothing was written.
        """

    def add_aliases(self, aliases: Sequence[GraphAlias]) -> None:
        """Note what redirects where, replacing what was noted of the same alias; a missing target is added as a stub.

        An article under the alias's key that was never loaded is merged into the target: links to it lead there.
        One that was loaded stays an article, and the alias is left out: take it away first (`remove_articles`).

        Raises:
            GraphError: nothing was written.
        """

    def remove_articles(self, keys: Collection[str]) -> None:
        """Take away the sections, categories and outgoing links of articles whose page is gone.

        One that others link to stays, as known only from links; one without such links goes, with its aliases, and
        so do articles that were known only from its links.

        Raises:
            GraphError: nothing was written.
        """

    def exclude_articles(self, keys: Collection[str]) -> None:
        """Take articles away entirely: with their sections, categories, aliases and all links from and to them.

        Articles that were known only from their links go as well.

        Raises:
            GraphError: nothing was written.
        """

    def set_ranks(self, ranks: Sequence[ArticleRank]) -> None:
        """Write the ranks of articles as their properties, in one transaction; what the graph does not have is skipped.

        Raises:
            GraphError: nothing was written.
        """

    def set_entities(self, mentions: Iterable[Mention], relations: Iterable[Relation]) -> None:
        """Put these in place of all entities and relations, in one transaction.

        Raises:
            GraphError: nothing was written.
        """

    def entities(self, entity_key: str | None = None) -> Iterator[Entity]:
        """Yield every entity that sections name, by key; or the one of a key."""

    def relations(self, entity_key: str | None = None) -> list[Relation]:
        """Return the relations from and to an entity, or all, in a fixed order."""

    def article_keys(self) -> list[str]:
        """Return the canonical title of every article, loaded or not."""

    def links(self) -> Iterator[tuple[str, str]]:
        """Yield every link, as the canonical titles of the article that has it and of its target, in any order."""

    def revisions(self, keys: Collection[str]) -> dict[str, str]:
        """Return the revision of each of these articles that is loaded."""

    def counts(self) -> GraphCounts:
        """Return the counts of the graph."""

    def find(self, title_key: str) -> Neighbor | None:
        """Return the article of this canonical title, or the one that it is an alias of, at distance 0."""

    def sections(self, title_key: str) -> list[GraphSection]:
        """Return the sections of the article of this canonical title, in order; none of one that is not loaded."""

    def neighbors(
        self, title_key: str, *, direction: Direction, depth: int, limit: int, by_rank: bool = False
    ) -> list[Neighbor]:
        """Return the other articles within `depth` links, nearest first, then by canonical title; each once.

        `title_key` is an article's, not an alias's. With `by_rank`, those of the highest PageRank first.
        """

    def search(self, vector: Vector, *, limit: int, among: Collection[str] | None = None) -> list[FoundPassage]:
        """Return the sections with the passages nearest to `vector` by cosine, best first; ties by title and position.

        With an index of the vectors, those are nearly always the nearest (`among` is always looked through).

        `among` are the canonical titles of the articles to look into; None: all.
        """

    def index_vectors(self) -> None:
        """Make the index that `search` uses where there are many vectors; nothing to do while one fits them.

        For the graph's writer. Vectors that come in later make it useless until it is made again; what is taken out
        does not.

        Raises:
            GraphError: it cannot be written.
            ExtraMissing: the extra `[wiki-index]` is not installed.
        """

    def unindexed_vectors(self) -> int:
        """Return the number of vectors if `search` compares them one by one although they are many; else 0."""

    def search_words(self, text: str, *, limit: int, among: Collection[str] | None = None) -> list[FoundPassage]:
        """Return the sections with the passages that fit the words of `text` best (BM25), as `search` orders them.

        A passage has the words of its article's title, of its heading and its own. `among` is as for `search`.
        """

    def read_hits(self, found: Iterable[FoundPassage], limit: int | None = None) -> list[SearchHit]:
        """Return the hits with their texts, without those that left the graph. At most `limit`; None: all."""

    def nodes(self) -> Iterator[GraphNode]:
        """Yield every node, articles first, in a fixed order, without holding all of them in memory."""

    def edges(self) -> Iterator[GraphEdge]:
        """Yield every edge, in a fixed order, without holding all of them in memory."""

    def passages(self) -> Iterator[GraphPassage]:
        """Yield every passage of the index, by canonical title and place, without holding all of them in memory.

        It may have some of a section that the graph lacks, after a crash.
        """

    def dump(self) -> list[str]:
        """Return every node and edge, one line each, sorted: equal graphs have equal dumps.

        A vector appears as a hash of its values rounded to `DIGITS_COMPARED` places.
        """

    def close(self) -> None:
        """Release the graph; further calls do nothing."""


ADDED_PROPERTIES = {
    "infobox": "",
    "latitude": None,
    "longitude": None,
    "wikidata": "",
    "pagerank": None,
    "community": None,
}
"""Properties that an article has only where they are known, with the value of an unknown one. A graph of an earlier
release has no columns for them before it is written to, or ranked."""
FACTS = ("infobox", "latitude", "longitude", "wikidata")
"""Added properties that come from the page."""


def added_properties(values: Iterable[Any]) -> dict[str, Any]:
    """Return `ADDED_PROPERTIES` by name, from their values; unknown ones are left out."""
    return {name: value for name, value in zip(ADDED_PROPERTIES, values, strict=True) if value not in (None, "")}


def vector_digest(vector: Sequence[float]) -> str:
    """Return a short hash of a vector rounded to `DIGITS_COMPARED` places."""
    # Adding zero turns a negative zero, which prints differently, into zero.
    rounded = " ".join(f"{round(value, DIGITS_COMPARED) + 0.0:.{DIGITS_COMPARED}f}" for value in vector)
    return hashlib.sha256(rounded.encode()).hexdigest()[:16]
