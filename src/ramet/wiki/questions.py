"""What is asked of the pipeline's domain tables. Nothing here writes; orders are made by whoever asks, in Python."""

from __future__ import annotations

ARTICLES = """
    SELECT title_key, title, expansion_depth, wiki_state, own_task, found_in, alias_of, discovered_from, error
    FROM wiki_articles WHERE run_id = ?"""
"""(run_id): all titles of a run."""

ARTICLE = f"{ARTICLES} AND title_key = ?"
"""(run_id, title_key): one of them."""

SEEN = "SELECT title_key, expansion_depth, own_task, found_in FROM wiki_articles WHERE run_id = ?"
"""(run_id): all titles of a run, as far as what is offered depends on them."""

UNSETTLED = "SELECT title_key FROM wiki_articles WHERE run_id = ? AND wiki_state IN ('discovered', 'claimed')"
"""(run_id): titles that nobody has loaded yet, nor said why not."""

LOOKED_UP = "SELECT COUNT(*) FROM wiki_articles WHERE run_id = ? AND own_task = 1"
"""(run_id): how many titles have or had tasks of their own."""

TO_OFFER = """
    SELECT title_key, expansion_depth FROM wiki_articles
    WHERE run_id = ? AND expansion_depth <= ? AND wiki_state IN ('loaded', 'processed')
        AND (offered_in IS NULL OR offered_in <> ?)"""
"""(run_id, expansion_depth, tracking_id): articles down to that depth whose links the pass has not offered yet."""

TO_DRAW = """
    SELECT title_key, wiki_state FROM wiki_articles
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
"""(run_id): articles that were in the graph once and are none any more; it has not been told yet."""

UNDRAWN = """
    SELECT title_key FROM wiki_articles
    WHERE run_id = ? AND drawn_in IS NULL AND wiki_state IN ('loaded', 'processed')"""
"""(run_id): articles in the graph whose links are not, or not as they are now."""

FRONTIER = """
    SELECT 1 FROM wiki_links JOIN wiki_articles
        ON wiki_articles.run_id = wiki_links.run_id AND wiki_articles.title_key = wiki_links.source_key
    WHERE wiki_links.run_id = ? AND wiki_articles.expansion_depth < ?
        AND wiki_articles.wiki_state IN ('loaded', 'processed')
        AND NOT EXISTS (SELECT 1 FROM wiki_articles AS target
            WHERE target.run_id = wiki_links.run_id AND target.title_key = wiki_links.target_key)
    LIMIT 1"""
"""(run_id, max_depth): a row if some article short of that depth links to a title that the run has not seen."""

UNFINISHED = "SELECT 1 FROM wiki_articles WHERE run_id = ? AND wiki_state = 'loaded' LIMIT 1"
"""(run_id): a row if an article was loaded after its level had been closed."""

LINKS_TO = "SELECT source_key FROM wiki_links WHERE run_id = ? AND target_key = ? ORDER BY source_key LIMIT ?"
"""(run_id, target_key, limit): which articles link to one, by key. Looks at every link."""

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


def links_of(count: int) -> str:
    """The recorded links of `count` articles: (run_id, then source_keys) to (source_key, position, target_key,
    target_title)."""
    members = ", ".join(["?"] * count)
    return f"""
    SELECT source_key, position, target_key, target_title FROM wiki_links
    WHERE run_id = ? AND source_key IN ({members})"""  # noqa: S608 -- only placeholders


def pages_of(count: int) -> str:
    """What the last stage of `count` titles left for the next: (run_id, then title_keys) to (title_key, content)."""
    members = ", ".join(["?"] * count)
    return f"SELECT title_key, content FROM wiki_pages WHERE run_id = ? AND title_key IN ({members})"  # noqa: S608


def revisions_of(count: int) -> str:
    """What a run has of `count` articles: (run_id, then title_keys) to (title_key, title, expansion_depth, revision,
    discovered_from)."""
    members = ", ".join(["?"] * count)
    return f"""
    SELECT title_key, title, expansion_depth, revision, discovered_from FROM wiki_articles
    WHERE run_id = ? AND title_key IN ({members})"""  # noqa: S608 -- only placeholders


def titles_of(count: int) -> str:
    """What a run knows of `count` titles: (run_id, then title_keys) to (title_key, title, expansion_depth, found_in,
    alias_of)."""
    members = ", ".join(["?"] * count)
    return f"""
    SELECT title_key, title, expansion_depth, found_in, alias_of FROM wiki_articles
    WHERE run_id = ? AND title_key IN ({members})"""  # noqa: S608 -- only placeholders
