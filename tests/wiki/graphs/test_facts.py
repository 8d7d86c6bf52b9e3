"""Infobox, coordinates and Wikidata id are properties of an article in both databases, and an older graph gets them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest

from ramet.wiki.embedding.base import HashingEmbedder
from ramet.wiki.graphs.base import EmbeddedArticle, GraphLink
from ramet.wiki.graphs.cypher import copy_of
from ramet.wiki.graphs.export import ExportFormat, export_file, export_stream
from ramet.wiki.graphs.registry import Graph, open_graph_reader, open_graph_writer
from ramet.wiki.pages import Article
from ramet.wiki.tasks.article import pack_article, unpack_article
from tests.wiki.article_texts import article_from_text

Embed = Callable[[Sequence[Article], int], list[EmbeddedArticle]]
INFOBOX = json.dumps({"name": "Infobox settlement", "fields": {"mayor": 'A "B"\nC, \u6771\u4eac'}}, ensure_ascii=False)
FACTS = {"infobox": INFOBOX, "latitude": 52.52, "longitude": -13.405, "wikidata": "Q64"}
DROPPED = ("infobox", "latitude", "longitude", "wikidata")


def berlin() -> Article:
    return replace(article_from_text("Berlin", "Berlin is a city."), **FACTS)  # type: ignore[arg-type]


def articles() -> list[Article]:
    return [berlin(), article_from_text("Tarn", "Tarn is a village.")]


def facts(graph: Graph, key: str) -> dict[str, object]:
    [node] = [node for node in graph.nodes() if node.node_id == f"Article:{key}"]
    return {name: value for name, value in node.properties.items() if name in FACTS}


def test_facts_are_properties_of_the_article_that_states_them(graph: Graph, embedded: Embed) -> None:
    graph.load_articles(embedded(articles(), 0))
    graph.add_links([GraphLink("Tarn", "Far", "Far", 1)])
    assert facts(graph, "Berlin") == FACTS
    assert facts(graph, "Tarn") == facts(graph, "Far") == {}


def test_facts_follow_the_page_and_go_with_it(graph: Graph, embedded: Embed) -> None:
    graph.load_articles(embedded(articles(), 0))
    graph.add_links([GraphLink("Tarn", "Berlin", "Berlin", 1)])
    graph.load_articles(embedded([replace(berlin(), infobox="", latitude=1.0, longitude=None)], 0))
    assert facts(graph, "Berlin") == {"latitude": 1.0, "wikidata": "Q64"}
    graph.remove_articles(["Berlin"])
    assert facts(graph, "Berlin") == {}
    assert not any("Q64" in line for line in graph.dump())


def test_facts_are_in_exports_and_cypher(graph: Graph, embedded: Embed, graph_path: Path, tmp_path: Path) -> None:
    graph.load_articles(embedded(articles(), 0))
    lines, markup = StringIO(), StringIO()
    with open_graph_reader(graph_path) as reader:
        export_stream(reader, lines, ExportFormat.JSONL)
        export_stream(reader, markup, ExportFormat.GRAPHML)
        export_file(reader, tmp_path / "csv", ExportFormat.CSV)
        with copy_of(reader, {}) as copy:
            asked = "MATCH (a:Article) WHERE a.latitude > 50 RETURN a.infobox, a.latitude, a.longitude, a.wikidata"
            found = copy.ask(asked, {}, limit=9, seconds=60)
    berlin_line = next(line for line in map(json.loads, lines.getvalue().splitlines()) if line.get("title") == "Berlin")
    assert {name: berlin_line[name] for name in FACTS} == FACTS
    assert '<data key="latitude">52.52</data>' in markup.getvalue()
    assert "Q64" in (tmp_path / "csv" / "nodes.csv").read_text(encoding="utf-8")
    assert found.rows == [list(FACTS.values())]


def test_facts_are_columns_of_parquet(graph: Graph, embedded: Embed, graph_path: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra [parquet] is not installed")
    graph.load_articles(embedded(articles(), 0))
    with open_graph_reader(graph_path) as reader:
        export_file(reader, tmp_path / "out", ExportFormat.PARQUET)
    rows = parquet.read_table(tmp_path / "out" / "nodes.parquet").to_pylist()
    shown = {row["title"]: {name: row[name] for name in FACTS} for row in rows if row["label"] == "Article"}
    assert shown == {"Berlin": FACTS, "Tarn": dict.fromkeys(FACTS)}


def test_both_databases_hold_the_same(tmp_path: Path, embedder: HashingEmbedder, embedded: Embed) -> None:
    pytest.importorskip("ladybug", reason="the extra [wiki] is not installed")
    dumps = []
    for name in ("graph.sqlite", "graph.lbug"):
        with open_graph_writer(tmp_path / name, model_id=embedder.model_id, dimension=embedder.dimension) as graph:
            graph.load_articles(embedded(articles(), 0))
            dumps.append(graph.dump())
    assert dumps[0] == dumps[1]
    assert any("52.52" in line for line in dumps[0])


def test_a_graph_that_was_made_without_facts_is_read_and_goes_on(
    graph: Graph, graph_path: Path, embedder: HashingEmbedder, embedded: Embed
) -> None:
    graph.load_articles(embedded(articles(), 0))
    graph.close()
    drop_columns(graph_path)
    with open_graph_reader(graph_path) as reader:
        assert facts(reader, "Berlin") == {}
        before = reader.dump()
    with open_graph_writer(graph_path, model_id=embedder.model_id, dimension=embedder.dimension) as writer:
        assert writer.dump() == before
        writer.load_articles(embedded([berlin()], 0))
        assert facts(writer, "Berlin") == FACTS
        assert facts(writer, "Tarn") == {}
    with open_graph_reader(graph_path) as reader:
        assert facts(reader, "Berlin") == FACTS


def drop_columns(path: Path) -> None:
    """Take away what releases before had not."""
    if path.read_bytes()[:6] == b"SQLite":
        with sqlite3.connect(path) as connection:
            for name in DROPPED:
                connection.execute(f"ALTER TABLE articles DROP COLUMN {name}")
        connection.close()
        return
    ladybug = pytest.importorskip("ladybug")
    database = ladybug.Database(str(path))
    connection = ladybug.Connection(database)
    for name in DROPPED:
        connection.execute(f"ALTER TABLE Article DROP {name}")
    connection.close()
    database.close()


def test_facts_go_from_stage_to_stage() -> None:
    assert unpack_article(pack_article(berlin())).article == berlin()
