"""Questions in Cypher: those of the first design as they stand there, on both stores, finished and in the middle."""

from __future__ import annotations

import asyncio
import datetime
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ramet import Worker
from ramet.cli import main
from ramet.wiki.errors import WikiError
from ramet.wiki.expansion import prepare, submit
from ramet.wiki.graphs.base import EmbeddedArticle, GraphAlias, GraphLink
from ramet.wiki.graphs.cypher import as_parameter, check_query, copy_of
from ramet.wiki.graphs.registry import open_graph_reader, open_graph_writer
from ramet.wiki.node_states import NodeState
from ramet.wiki.pages import Article, Section
from ramet.wiki.runs import FETCH, find_run
from ramet.wiki.tasks.article import app, expansions
from tests.wiki.made_up_wikis import SEEDS, expand_in_process, settings_for, what_is_left, write_world

pytest.importorskip("ladybug", reason="the extra [wiki] is not installed")

DISTRIBUTION = """
MATCH (a:Article)
RETURN a.expansion_state AS state,
       COUNT(a) AS count,
       AVG(a.expansion_depth) AS avg_depth
ORDER BY count DESC
"""
QUEUE = """
MATCH (a:Article)
WHERE a.expansion_state = 'discovered'
RETURN COUNT(a) AS queue_size
"""
PROGRESS = """
MATCH (a:Article)
WITH COUNT(a) AS total

MATCH (loaded:Article)
WHERE loaded.expansion_state IN ['loaded', 'processed']
WITH total, COUNT(loaded) AS loaded_count

RETURN loaded_count, total, (100.0 * loaded_count / total) AS percent_complete
"""
STALE = """
MATCH (a:Article)
WHERE a.expansion_state = 'claimed'
  AND a.claimed_at < $cutoff
RETURN a.title, a.claimed_at, a.expansion_depth
"""
RECLAIM = """
MATCH (a:Article)
WHERE a.expansion_state = 'claimed'
  AND a.claimed_at < $cutoff

SET a.expansion_state = 'discovered',
    a.claimed_at = NULL

RETURN COUNT(a) AS reclaimed
"""


def ask(folder: Path, cypher: str, *words: str) -> Result:
    return CliRunner().invoke(main, ["wiki", "query", cypher, *words, "--db", str(folder / "wiki.db")])


def rows(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("graph", ["wiki.lbug", "wiki.sqlite"])
def test_the_first_design_s_questions_on_a_finished_graph(tmp_path: Path, graph: str) -> None:
    world = write_world(tmp_path / "world.jsonl", articles=60)
    asyncio.run(expand_in_process(tmp_path, settings_for(tmp_path, world, max_articles=20, graph=graph)))
    articles = what_is_left(tmp_path)["articles"]
    border = {line.split('"')[1] for line in what_is_left(tmp_path)["graph"] if line.endswith("false]")}
    states = {row["state"]: (row["count"], row["avg_depth"]) for row in rows(ask(tmp_path, DISTRIBUTION, "--json"))}
    assert set(states) == {"processed", "discovered", "failed"}
    assert states["processed"] == (20, pytest.approx(sum(row[2] for row in articles if row[3] == "processed") / 20))
    assert (states["failed"][0], states["discovered"][0]) == (1, len(border) - 1)
    assert rows(ask(tmp_path, QUEUE, "--json")) == [{"queue_size": len(border) - 1}]
    [told] = rows(ask(tmp_path, PROGRESS, "--json"))
    assert (told["loaded_count"], told["total"]) == (20, 20 + len(border))
    assert told["percent_complete"] == pytest.approx(100 * 20 / told["total"])
    assert rows(ask(tmp_path, STALE, "--param", "cutoff=2100-01-01", "--json")) == []
    properties = "MATCH (a:Article {title: 'Place 000'}) RETURN a.word_count AS words, a.category AS category, "
    [one] = rows(ask(tmp_path, properties + "a.retry_count AS retries, a.processed_at AS at", "--json"))
    assert (one["words"], one["category"], one["retries"]) == (5, "Region 0", 0)
    assert datetime.datetime.fromisoformat(one["at"]) > datetime.datetime(2026, 11, 1, tzinfo=datetime.UTC)
    refused = ask(tmp_path, RECLAIM, "--param", "cutoff=2026-01-01")
    assert refused.exit_code == 2
    assert "read-only" in refused.stderr


async def begin(folder: Path) -> None:
    """Submit a run, and do nothing yet."""
    world = write_world(folder / "world.jsonl", articles=60)
    prepared = await prepare(SEEDS, settings_for(folder, world, max_articles=20, graph="wiki.sqlite"))
    async with app.client(folder / "wiki.db") as client:
        await submit(client, prepared)


async def go_half_way(folder: Path) -> str:
    """Load some articles, and claim a title as a worker that then falls silent; its key."""
    async with app.client(folder / "wiki.db") as client:
        run = await find_run(client)
        await Worker(app, client, max_tasks=9, until_ended=run.run_id).run()
        [claim] = await client.claim(FETCH, 1, lease_seconds=60)
        expansions.close()
        return claim.key


def test_a_graph_in_the_middle_shows_what_waits_what_is_in_work_and_stale_claims(tmp_path: Path) -> None:
    asyncio.run(begin(tmp_path))
    nothing = ask(tmp_path, QUEUE)
    assert (nothing.exit_code, "has no graph yet" in nothing.stderr) == (2, True)
    claimed = asyncio.run(go_half_way(tmp_path))
    states = {row["state"]: row["count"] for row in rows(ask(tmp_path, DISTRIBUTION, "--json"))}
    assert min(states["claimed"], states["discovered"]) >= 1
    [in_work] = rows(ask(tmp_path, "MATCH (a:Article {title_key: $key}) RETURN a.expansion_state AS state", "--param",
                         f"key={claimed}", "--json"))  # fmt: skip
    assert in_work == {"state": "claimed"}
    later = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1)
    stale = rows(ask(tmp_path, STALE, "--param", f"cutoff={later.isoformat()}", "--json"))
    assert claimed in {row["a.title"] for row in stale}
    assert rows(ask(tmp_path, STALE, "--param", "cutoff=2020-01-01T00:00:00", "--json")) == []


HOSTILE = 'O\'Brien "x" \\ {a: 1}, ünï\n漢字 🏝'


@pytest.mark.parametrize("name", ["graph.lbug", "graph.sqlite"])
def test_every_node_and_edge_is_in_the_copy_whatever_its_letters(tmp_path: Path, name: str) -> None:
    sections = (Section("", 1, f"{HOSTILE} lead"), Section("H", 2, 'two, "quoted"\nlines'))
    article = Article("T", HOSTILE, sections, ("b", "a"), description=HOSTILE)
    with open_graph_writer(tmp_path / name, model_id="none", dimension=0) as graph:
        graph.load_articles([EmbeddedArticle(article, 0, ())])
        graph.add_links([GraphLink(HOSTILE, "Far, away", "Far, away", 1)])
        graph.add_aliases([GraphAlias("Way", "way", HOSTILE)])
    states = {"Soon": NodeState("Soon", "claimed", 2, 1, 1_700_000_000.5, None)}
    with open_graph_reader(tmp_path / name) as graph, copy_of(graph, states) as copy:

        def ask_copy(query: str) -> list[list[Any]]:
            return copy.ask(query, {"key": HOSTILE}, limit=100, seconds=30).rows

        found = ask_copy("MATCH (a:Article {title_key: $key}) RETURN a.title, a.description, a.category, a.word_count")
        words = sum(len(section.text.split()) for section in sections)
        assert found == [["T", HOSTILE, "a", words]]
        texts = ask_copy("MATCH (:Article {title_key: $key})-[:HAS_SECTION]->(s) RETURN s.text ORDER BY s.position")
        assert texts == [[section.text] for section in sections]
        assert ask_copy("MATCH (x:Alias)-[:ALIAS_OF]->(a {title_key: $key}) RETURN x.alias_key, x.title") == [
            ["Way", "way"]
        ]
        assert ask_copy(
            "MATCH (:Article {title_key: $key})-[:LINKS_TO]->(b) RETURN b.title_key, b.expansion_state"
        ) == [["Far, away", "discovered"]]
        moment = datetime.datetime.fromtimestamp(1_700_000_000.5, datetime.UTC).replace(tzinfo=None)
        assert ask_copy("MATCH (a:Article {title_key: 'Soon'}) RETURN a.retry_count, a.claimed_at, a.processed_at") == [
            [1, moment, None]
        ]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", "begins with MATCH"),
        ("CREATE (:Article {title_key: 'x'})", "begins with MATCH"),
        ("COPY (MATCH (a) RETURN a) TO 'x.csv'", "begins with MATCH"),
        ("EXPORT DATABASE 'x'", "begins with MATCH"),
        ("LOAD FROM 'x.csv' RETURN *", "begins with MATCH"),
        ("MATCH (a) LOAD FROM 'x.csv' RETURN *", "LOAD is not allowed"),
        ("MATCH (a) RETURN a; MATCH (b) RETURN b", "one query at a time"),
        ("MATCH (a) /* ; */ CALL show_tables() RETURN *", "CALL is not allowed"),
        ("MATCH (a) RETURN 1 //\nATTACH 'x' AS y", "ATTACH is not allowed"),
        ("RETURN '" + "x" * 20_000 + "'", "at most 20,000"),
    ],
)
def test_what_reaches_beyond_the_graph_is_refused_with_a_reason(query: str, said: str) -> None:
    with pytest.raises(WikiError, match=said):
        check_query(query)


@pytest.mark.parametrize(
    "query",
    [
        "MATCH (a:Article) WHERE a.title = 'LOAD; it' RETURN a.load;",
        'RETURN "CALL me" AS `copy; this`',
        "match (a) return a // ; LOAD",
        "RETURN(1)",
    ],
)
def test_words_in_strings_names_and_comments_refuse_nothing(query: str) -> None:
    assert check_query(query) == query.removesuffix(";")


def test_parameters_are_json_times_or_text() -> None:
    assert as_parameter("5") == 5
    assert as_parameter('["a", 1]') == ["a", 1]
    assert as_parameter("Alan Turing") == "Alan Turing"
    assert as_parameter("2026-01-02T03:04:05+01:00") == datetime.datetime(2026, 1, 2, 2, 4, 5)  # noqa: DTZ001 - as the database has it


def test_a_query_is_bounded_in_rows_and_time(tmp_path: Path) -> None:
    with open_graph_writer(tmp_path / "g.sqlite", model_id="none", dimension=0) as graph:
        numbers = [EmbeddedArticle(Article(f"A{n}", f"A{n}", ()), 0, ()) for n in range(2_000)]
        graph.load_articles(numbers)
    with open_graph_reader(tmp_path / "g.sqlite") as graph, copy_of(graph, {}) as copy:
        found = copy.ask("MATCH (a:Article) RETURN a.title ORDER BY a.title", {}, limit=3, seconds=30)
        assert (found.columns, found.rows, found.more) == (("a.title",), [["A0"], ["A1"], ["A10"]], True)
        with pytest.raises(WikiError, match=r"takes longer than 0\.05 s"):
            copy.ask("MATCH (a:Article), (b:Article), (c:Article) WHERE a.title < b.title AND b.title < c.title "
                     "RETURN count(*)", {}, limit=3, seconds=0.05)  # fmt: skip
        with pytest.raises(WikiError, match="Cannot find property nope"):
            copy.ask("MATCH (a:Article) RETURN a.nope", {}, limit=3, seconds=30)
    with closing(sqlite3.connect(tmp_path / "g.sqlite")) as database:
        assert database.execute("SELECT count(*) FROM articles").fetchone() == (2_000,)
