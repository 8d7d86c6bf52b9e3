"""The pipeline's domain tables: what people are shown of an expansion, beside the engine's own rows.

The definitions and statements are in the part of SQL that SQLite and PostgreSQL share; `?` marks a
parameter. Each write can be repeated without effect, and is made through `ctx.write`, so that it commits with
the settlement of the task that made it or not at all. `wiki_state` is the last state that was *settled*: that
a title is being fetched is read from its task. Databases sort text differently, so where an order decides
something it is made in Python.
"""

from __future__ import annotations

from enum import StrEnum


class WikiState(StrEnum):
    """The states of a title as people see them, in their order."""

    DISCOVERED = "discovered"
    """Known from a link or given as a seed; its task is pending."""
    CLAIMED = "claimed"
    """Its task has been claimed, or its page is here and on its way through the stages."""
    LOADED = "loaded"
    """It is in the graph, with sections, vectors and categories; its links are recorded but not drawn yet."""
    PROCESSED = "processed"
    """Its links have been offered to the spawn guard and drawn in the graph."""
    FAILED = "failed"
    """It could not be loaded; `error` says why."""
    ALIAS = "alias"
    """It redirects to the article `alias_of`."""
    EXCLUDED = "excluded"
    """A person took it out for good."""


IN_GRAPH = (WikiState.LOADED, WikiState.PROCESSED)
"""States of an article that the graph has."""


DEFINITIONS = (
    """
    CREATE TABLE IF NOT EXISTS wiki_articles (
        run_id          TEXT NOT NULL,
        title_key       TEXT NOT NULL,
        title           TEXT NOT NULL,
        expansion_depth INTEGER NOT NULL,
        wiki_state      TEXT NOT NULL,
        discovered_from TEXT,
        own_task        INTEGER NOT NULL,
        found_in        TEXT NOT NULL,
        offered_in      TEXT,
        drawn_in        TEXT,
        alias_of        TEXT,
        revision        TEXT,
        links_count     INTEGER,
        loaded_at       DOUBLE PRECISION,
        processed_at    DOUBLE PRECISION,
        error           TEXT,
        PRIMARY KEY (run_id, title_key)
    )""",
    """
    CREATE INDEX IF NOT EXISTS wiki_articles_level
        ON wiki_articles (run_id, expansion_depth, wiki_state)""",
    """
    CREATE INDEX IF NOT EXISTS wiki_articles_loaded
        ON wiki_articles (run_id, loaded_at)""",
    """
    CREATE TABLE IF NOT EXISTS wiki_links (
        run_id       TEXT NOT NULL,
        source_key   TEXT NOT NULL,
        position     INTEGER NOT NULL,
        target_key   TEXT NOT NULL,
        target_title TEXT NOT NULL,
        PRIMARY KEY (run_id, source_key, position)
    )""",
    """
    CREATE TABLE IF NOT EXISTS wiki_outlinks (
        run_id     TEXT NOT NULL,
        source_key TEXT NOT NULL,
        targets    TEXT NOT NULL,
        PRIMARY KEY (run_id, source_key)
    )""",
    """
    CREATE TABLE IF NOT EXISTS wiki_pages (
        run_id    TEXT NOT NULL,
        title_key TEXT NOT NULL,
        content   BYTEA NOT NULL,
        PRIMARY KEY (run_id, title_key)
    )""",
    """
    CREATE TABLE IF NOT EXISTS wiki_rules (
        run_id  TEXT PRIMARY KEY,
        content TEXT NOT NULL
    )""",
)
"""Run in this order, any number of times. Times are Unix seconds; REAL would keep too few digits on PostgreSQL, and
BYTEA is what PostgreSQL calls bytes: SQLite keeps them under any name.

`own_task`: 1 for a title that a task was made for, 0 for one known only through a redirect. `found_in`, `offered_in`,
`drawn_in`: the passes (tracking ids) in which it was first seen, in which its links were last offered to the guard, and
last drawn. `wiki_pages` carries a page from one stage to the next: when a run has ended there are only those of titles
that failed on their way, which go on from there when a person revives them. `wiki_rules` says how pages are read.
`wiki_outlinks` has the links of an article as `ramet.wiki.recorded_links` packs them; `wiki_links` those of runs of
earlier releases, a row each."""

DISCOVER = """
    INSERT INTO wiki_articles
        (run_id, title_key, title, expansion_depth, wiki_state, discovered_from, own_task, found_in)
    VALUES (?, ?, ?, ?, 'discovered', ?, 1, ?)
    ON CONFLICT (run_id, title_key) DO UPDATE SET
        own_task = 1, discovered_from = excluded.discovered_from, expansion_depth = excluded.expansion_depth
    WHERE wiki_articles.own_task = 0 OR excluded.expansion_depth < wiki_articles.expansion_depth"""
"""(run_id, title_key, title, expansion_depth, discovered_from, found_in): a title that has a task of its own. The
nearest to a seed counts."""

FIND = """
    INSERT INTO wiki_articles
        (run_id, title_key, title, expansion_depth, wiki_state, discovered_from, own_task, found_in)
    VALUES (?, ?, ?, ?, 'discovered', ?, 0, ?)
    ON CONFLICT (run_id, title_key) DO UPDATE SET
        discovered_from = excluded.discovered_from, expansion_depth = excluded.expansion_depth
    WHERE wiki_articles.own_task = 0 AND (excluded.expansion_depth < wiki_articles.expansion_depth
        OR (excluded.expansion_depth = wiki_articles.expansion_depth
            AND excluded.discovered_from < wiki_articles.discovered_from))"""
"""(run_id, title_key, title, expansion_depth, discovered_from, found_in): an article that a redirect leads to, found
from the redirect; of several, the nearest to a seed and then the first by key counts."""

ALIAS = """
    UPDATE wiki_articles SET wiki_state = 'alias', alias_of = ?, error = NULL, drawn_in = NULL
    WHERE run_id = ? AND title_key = ? AND wiki_state <> 'excluded'"""
"""(alias_of, run_id, title_key): a title that is there redirects to that article."""

CLAIM = """
    UPDATE wiki_articles SET wiki_state = 'claimed', error = NULL
    WHERE run_id = ? AND title_key = ? AND wiki_state IN ('discovered', 'failed')"""
"""(run_id, title_key): its page is here."""

LOAD = """
    UPDATE wiki_articles SET
        title = ?, revision = ?, links_count = ?, error = NULL, alias_of = NULL,
        wiki_state = CASE WHEN wiki_state IN ('processed', 'excluded') THEN wiki_state ELSE 'loaded' END,
        loaded_at = COALESCE(loaded_at, ?)
    WHERE run_id = ? AND title_key = ?"""
"""(title, revision, links_count, loaded_at, run_id, title_key): the graph has it."""

OFFER = "UPDATE wiki_articles SET offered_in = ? WHERE run_id = ? AND title_key = ?"
"""(tracking_id, run_id, title_key): its links were offered to the guard in that pass."""

PROCESS = """
    UPDATE wiki_articles SET
        wiki_state = CASE WHEN wiki_state = 'loaded' THEN 'processed' ELSE wiki_state END,
        processed_at = COALESCE(processed_at, ?), drawn_in = ?
    WHERE run_id = ? AND title_key = ? AND wiki_state IN ('loaded', 'processed', 'alias')"""
"""(processed_at, tracking_id, run_id, title_key): its links were offered and drawn; only a loaded article can be
processed. Of an alias: the graph knows it."""

REDRAW = "UPDATE wiki_articles SET drawn_in = NULL WHERE run_id = ? AND title_key = ?"
"""(run_id, title_key): what the graph has of its links is not what it links to now."""

DRAW = "UPDATE wiki_articles SET drawn_in = ? WHERE run_id = ? AND title_key = ?"
"""(tracking_id, run_id, title_key): the graph is up to date."""

FAIL = """
    UPDATE wiki_articles SET wiki_state = 'failed', error = ?
    WHERE run_id = ? AND title_key = ? AND wiki_state IN ('discovered', 'claimed', 'failed')"""
"""(error, run_id, title_key): never loaded, and why. A loaded article stays so."""

VANISH = """
    UPDATE wiki_articles SET wiki_state = 'failed', error = ?, revision = NULL, drawn_in = NULL
    WHERE run_id = ? AND title_key = ? AND wiki_state IN ('loaded', 'processed', 'failed')"""
"""(error, run_id, title_key): its source has it no more, and why."""

EXCLUDE = """
    UPDATE wiki_articles SET wiki_state = 'excluded', error = ?, drawn_in = ?, revision = NULL, links_count = NULL,
        loaded_at = NULL, processed_at = NULL
    WHERE run_id = ? AND title_key = ? AND wiki_state <> 'alias'"""
"""(error, drawn_in, run_id, title_key): a person took it out, and why; `drawn_in` is None while the graph has it."""

LINKED_AGAIN = """
    UPDATE wiki_articles SET wiki_state = 'loaded' WHERE run_id = ? AND title_key = ? AND wiki_state = 'processed'"""
"""(run_id, title_key): it links to a title that was excluded and is tried again, so its links are to be drawn again."""

ALIASES_OF = "SELECT title_key FROM wiki_articles WHERE run_id = ? AND alias_of = ?"
"""(run_id, alias_of): the titles that redirect to an article."""

ALIASES_AGAIN = "UPDATE wiki_articles SET drawn_in = NULL WHERE run_id = ? AND alias_of = ? AND wiki_state = 'alias'"
"""(run_id, alias_of): the graph lost its redirects with it."""

REDISCOVER = """
    UPDATE wiki_articles SET wiki_state = 'discovered', error = NULL
    WHERE run_id = ? AND title_key = ? AND wiki_state IN ('failed', 'excluded')"""
"""(run_id, title_key): a person wants it tried again."""

PUT_LINKS = """
    INSERT INTO wiki_outlinks (run_id, source_key, targets) VALUES (?, ?, ?)
    ON CONFLICT (run_id, source_key) DO UPDATE SET targets = excluded.targets"""
"""(run_id, source_key, targets): what a loaded article links to, in place of what an earlier version linked to."""
FORGET_LINKS = (
    "DELETE FROM wiki_outlinks WHERE run_id = ? AND source_key = ?",
    "DELETE FROM wiki_links WHERE run_id = ? AND source_key = ?",
)
"""Each (run_id, source_key): it is not an article any more."""

PUT_PAGE = """
    INSERT INTO wiki_pages (run_id, title_key, content) VALUES (?, ?, ?)
    ON CONFLICT (run_id, title_key) DO UPDATE SET content = excluded.content"""
"""(run_id, title_key, content): what the next stage of a title's task needs."""
PAGE = "SELECT content FROM wiki_pages WHERE run_id = ? AND title_key = ?"
"""(run_id, title_key)"""
DROP_PAGE = "DELETE FROM wiki_pages WHERE run_id = ? AND title_key = ?"
"""(run_id, title_key)"""
PUT_RULES = """
    INSERT INTO wiki_rules (run_id, content) VALUES (?, ?)
    ON CONFLICT (run_id) DO UPDATE SET content = excluded.content"""
"""(run_id, content): how the pages of a run are read, as JSON."""
RULES = "SELECT content FROM wiki_rules WHERE run_id = ?"
"""(run_id)"""


ARTICLES = """
    SELECT title_key, title, expansion_depth, wiki_state, own_task, found_in, alias_of, discovered_from, error
    FROM wiki_articles WHERE run_id = ?"""
"""(run_id): all titles of a run."""

NODE_STATES = """
    SELECT title_key, title, expansion_depth, wiki_state, own_task, discovered_from, loaded_at, processed_at
    FROM wiki_articles WHERE run_id = ? AND wiki_state NOT IN ('alias', 'excluded')"""
"""(run_id): what the nodes of a run's graph say of it."""

ARTICLE = f"{ARTICLES} AND title_key = ?"
"""(run_id, title_key): one of them."""

SEEN = """
    SELECT title_key, expansion_depth, wiki_state, own_task, found_in, discovered_from
    FROM wiki_articles WHERE run_id = ?"""
"""(run_id): all titles of a run, as far as what is offered depends on them."""

UNSETTLED = "SELECT title_key FROM wiki_articles WHERE run_id = ? AND wiki_state IN ('discovered', 'claimed')"
"""(run_id): titles that are neither loaded nor failed yet."""

HELD = """
    SELECT COUNT(*) FROM wiki_articles
    WHERE run_id = ? AND wiki_state IN ('discovered', 'claimed', 'loaded', 'processed')"""
"""(run_id): how many titles are articles of the run, or may become some."""

TO_OFFER = """
    SELECT title_key, expansion_depth FROM wiki_articles
    WHERE run_id = ? AND expansion_depth <= ? AND wiki_state IN ('loaded', 'processed')
        AND (offered_in IS NULL OR offered_in <> ?)"""
"""(run_id, expansion_depth, tracking_id): articles down to that depth whose links the pass has not offered yet."""

TO_DRAW = """
    SELECT title_key, wiki_state, expansion_depth FROM wiki_articles
    WHERE run_id = ? AND expansion_depth <= ? AND wiki_state IN ('loaded', 'processed')
        AND (drawn_in IS NULL OR drawn_in <> ?)"""
"""(run_id, expansion_depth, tracking_id): articles down to that depth whose links the pass has not drawn yet."""

NEW_ALIASES = """
    SELECT title_key, title, alias_of FROM wiki_articles
    WHERE run_id = ? AND wiki_state = 'alias' AND drawn_in IS NULL"""
"""(run_id): redirects that the graph does not know yet."""

LOADED = "SELECT title_key FROM wiki_articles WHERE run_id = ? AND wiki_state IN ('loaded', 'processed')"
"""(run_id): articles that are in the graph."""

VANISHED = """
    SELECT title_key, wiki_state FROM wiki_articles
    WHERE run_id = ? AND loaded_at IS NOT NULL AND drawn_in IS NULL AND wiki_state IN ('failed', 'alias')"""
"""(run_id): titles that are not articles any more and that the graph may still have."""

UNDRAWN = """
    SELECT title_key, expansion_depth FROM wiki_articles
    WHERE run_id = ? AND drawn_in IS NULL AND wiki_state IN ('loaded', 'processed')"""
"""(run_id): articles in the graph whose links are not, or not as they are now."""

UNFINISHED = """
    SELECT 1 FROM wiki_articles
    WHERE run_id = ? AND (wiki_state = 'loaded' OR wiki_state = 'excluded' AND drawn_in IS NULL) LIMIT 1"""
"""(run_id): a row if an article was loaded, or taken out, after its level had been closed."""

UNDRAWN_EXCLUDED = """
    SELECT title_key FROM wiki_articles WHERE run_id = ? AND wiki_state = 'excluded' AND drawn_in IS NULL"""
"""(run_id): titles that were taken out of the run, and not of the graph yet."""

DISTRIBUTION = """
    SELECT expansion_depth, wiki_state, COUNT(*) FROM wiki_articles
    WHERE run_id = ? GROUP BY expansion_depth, wiki_state"""
"""(run_id): how many titles are in each settled state at each depth."""

FAILURES = (
    "SELECT title_key, title, expansion_depth, error FROM wiki_articles WHERE run_id = ? AND wiki_state = 'failed'"
)
"""(run_id): what could not be loaded, and why."""

LOADED_SINCE = "SELECT COUNT(*), MIN(loaded_at), MAX(loaded_at) FROM wiki_articles WHERE run_id = ? AND loaded_at > ?"
"""(run_id, since): how many articles were loaded since then, the first of them, the last of them."""


def outlinks_of(count: int) -> str:
    """Read what `count` articles link to: (run_id, then title_keys) to (source_key, targets)."""
    members = ", ".join(["?"] * count)
    return f"SELECT source_key, targets FROM wiki_outlinks WHERE run_id = ? AND source_key IN ({members})"  # noqa: S608


def links_of(count: int) -> str:
    """Return the recorded links of `count` articles: (run_id, then source_keys) to (source_key, position, target_key,
    target_title)."""
    members = ", ".join(["?"] * count)
    return f"""
    SELECT source_key, position, target_key, target_title FROM wiki_links
    WHERE run_id = ? AND source_key IN ({members})"""  # noqa: S608 -- only placeholders


def pages_of(count: int) -> str:
    """Read what the last stage of `count` titles left: (run_id, then title_keys) to (title_key, content)."""
    members = ", ".join(["?"] * count)
    return f"SELECT title_key, content FROM wiki_pages WHERE run_id = ? AND title_key IN ({members})"  # noqa: S608


def revisions_of(count: int) -> str:
    """Read `count` articles of a run: (run_id, then title_keys) to (title_key, title, expansion_depth, revision,
    discovered_from)."""
    members = ", ".join(["?"] * count)
    return f"""
    SELECT title_key, title, expansion_depth, revision, discovered_from FROM wiki_articles
    WHERE run_id = ? AND title_key IN ({members})"""  # noqa: S608 -- only placeholders


def titles_of(count: int) -> str:
    """Read `count` titles as a run knows them: (run_id, then title_keys) to (title_key, expansion_depth, wiki_state,
    found_in, alias_of)."""
    members = ", ".join(["?"] * count)
    return f"""
    SELECT title_key, expansion_depth, wiki_state, found_in, alias_of FROM wiki_articles
    WHERE run_id = ? AND title_key IN ({members})"""  # noqa: S608 -- only placeholders
