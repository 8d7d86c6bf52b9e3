"""The pipeline's domain tables: what people are shown of an expansion, beside the engine's own rows.

The definitions and statements are in the part of SQL that SQLite and PostgreSQL share; `?` stands for a
parameter. Each write can be repeated without effect, and is made through `ctx.write`, so that it commits with
the settlement of the task that made it or not at all. `wiki_state` is the last state that was *settled*: that
an article is claimed is read from its task. Databases sort text differently, so where an order decides
something it is made in Python.
"""

from __future__ import annotations

from enum import StrEnum


class WikiState(StrEnum):
    """The states of an article as people see them, in their order."""

    DISCOVERED = "discovered"
    """Known from a link or given as a seed; its task is pending."""
    CLAIMED = "claimed"
    """Its task is processing. Never stored: a projection of the task's state."""
    LOADED = "loaded"
    """In the graph, with sections, vectors and categories; its links are recorded but not offered yet."""
    PROCESSED = "processed"
    """Its links have been offered to the spawn guard and drawn in the graph."""
    FAILED = "failed"
    """It could not be loaded; `error` says why."""


DEFINITIONS = (
    """
    CREATE TABLE IF NOT EXISTS wiki_articles (
        tracking_id     TEXT NOT NULL,
        title_key       TEXT NOT NULL,
        title           TEXT NOT NULL,
        expansion_depth INTEGER NOT NULL,
        wiki_state      TEXT NOT NULL,
        discovered_from TEXT,
        links_count     INTEGER,
        loaded_at       DOUBLE PRECISION,
        processed_at    DOUBLE PRECISION,
        error           TEXT,
        PRIMARY KEY (tracking_id, title_key)
    )""",
    """
    CREATE INDEX IF NOT EXISTS wiki_articles_level
        ON wiki_articles (tracking_id, expansion_depth, wiki_state)""",
    """
    CREATE TABLE IF NOT EXISTS wiki_links (
        tracking_id  TEXT NOT NULL,
        source_key   TEXT NOT NULL,
        position     INTEGER NOT NULL,
        target_key   TEXT NOT NULL,
        target_title TEXT NOT NULL,
        PRIMARY KEY (tracking_id, source_key, position)
    )""",
)
"""Run in this order, any number of times. Times are Unix seconds; REAL would keep too few digits on
PostgreSQL."""

DISCOVER = """
    INSERT INTO wiki_articles (tracking_id, title_key, title, expansion_depth, wiki_state, discovered_from)
    VALUES (?, ?, ?, ?, 'discovered', ?)
    ON CONFLICT (tracking_id, title_key) DO UPDATE SET
        discovered_from = excluded.discovered_from, expansion_depth = excluded.expansion_depth
    WHERE excluded.expansion_depth < wiki_articles.expansion_depth"""
"""(tracking_id, title_key, title, expansion_depth, discovered_from): a first sight, or nearer to a seed."""

LOAD = """
    INSERT INTO wiki_articles
        (tracking_id, title_key, title, expansion_depth, wiki_state, links_count, loaded_at)
    VALUES (?, ?, ?, ?, 'loaded', ?, ?)
    ON CONFLICT (tracking_id, title_key) DO UPDATE SET
        title = excluded.title, links_count = excluded.links_count, error = NULL,
        wiki_state = CASE WHEN wiki_articles.wiki_state = 'processed' THEN 'processed' ELSE 'loaded' END,
        loaded_at = COALESCE(wiki_articles.loaded_at, excluded.loaded_at)"""
"""(tracking_id, title_key, title, expansion_depth, links_count, loaded_at): the graph has it."""

PROCESS = """
    UPDATE wiki_articles SET wiki_state = 'processed', processed_at = ?
    WHERE tracking_id = ? AND title_key = ? AND wiki_state = 'loaded'"""
"""(processed_at, tracking_id, title_key): its links were offered; only a loaded article can be processed."""

FAIL = """
    INSERT INTO wiki_articles (tracking_id, title_key, title, expansion_depth, wiki_state, error)
    VALUES (?, ?, ?, ?, 'failed', ?)
    ON CONFLICT (tracking_id, title_key) DO UPDATE SET wiki_state = 'failed', error = excluded.error
    WHERE wiki_articles.wiki_state IN ('discovered', 'failed')"""
"""(tracking_id, title_key, title, expansion_depth, error): never loaded, and why. What is loaded stays so."""

RECORD_LINK = """
    INSERT INTO wiki_links (tracking_id, source_key, position, target_key, target_title)
    VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (tracking_id, source_key, position) DO UPDATE SET
        target_key = excluded.target_key, target_title = excluded.target_title"""
"""(tracking_id, source_key, position, target_key, target_title): a link by its place, from 0."""

FORGET_LINKS = "DELETE FROM wiki_links WHERE tracking_id = ? AND source_key = ? AND position >= ?"
"""(tracking_id, source_key, links_count): drop what an earlier version linked to beyond."""

ARTICLES = """
    SELECT title_key, title, expansion_depth, wiki_state, discovered_from, error
    FROM wiki_articles WHERE tracking_id = ?"""
"""(tracking_id): all articles of a run, unordered."""

WAITING = """
    SELECT title_key FROM wiki_articles
    WHERE tracking_id = ? AND expansion_depth <= ? AND wiki_state = 'loaded'"""
"""(tracking_id, expansion_depth): loaded articles down to that depth whose links were not offered yet, unordered."""

WAITING_LINKS = """
    SELECT wiki_articles.expansion_depth, wiki_links.source_key, wiki_links.position, wiki_links.target_key,
        wiki_links.target_title
    FROM wiki_links JOIN wiki_articles
        ON wiki_articles.tracking_id = wiki_links.tracking_id
        AND wiki_articles.title_key = wiki_links.source_key
    WHERE wiki_links.tracking_id = ? AND wiki_articles.expansion_depth <= ?
        AND wiki_articles.wiki_state = 'loaded'"""
"""(tracking_id, expansion_depth): the links of those articles, unordered."""

LINKS_FROM = "SELECT target_key FROM wiki_links WHERE tracking_id = ? AND source_key = ?"
"""(tracking_id, source_key): what one article links to, unordered."""

LINKS_TO = """
    SELECT source_key FROM wiki_links WHERE tracking_id = ? AND target_key = ? ORDER BY source_key LIMIT ?"""
"""(tracking_id, target_key, limit): which articles link to one, by key. Looks at every link."""

DISTRIBUTION = """
    SELECT expansion_depth, wiki_state, COUNT(*) FROM wiki_articles
    WHERE tracking_id = ? GROUP BY expansion_depth, wiki_state"""
"""(tracking_id): how many articles are in each settled state at each depth, unordered."""

LOADED_SINCE = (
    "SELECT COUNT(*), MIN(loaded_at), MAX(loaded_at) FROM wiki_articles WHERE tracking_id = ? AND loaded_at > ?"
)
"""(tracking_id, since): how many articles were loaded since then, the first of them, the last of them."""
