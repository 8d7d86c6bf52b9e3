"""Asking a graph by commands: sections with links, walks, and exports that are whole or not there."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from ramet.cli import main
from ramet.wiki.embedding.base import HashingEmbedder
from ramet.wiki.errors import GraphError
from ramet.wiki.graphs.base import NO_MODEL, EmbeddedArticle, GraphAlias, GraphEdge, GraphLink
from ramet.wiki.graphs.export import ExportFormat, export_file
from ramet.wiki.graphs.registry import Graph, open_graph_reader, open_graph_writer
from ramet.wiki.graphs.sqlite_reader import SqliteReading
from ramet.wiki.pages import Article, Section

MODEL = HashingEmbedder()
PAGES = {
    "Ollo Island": [("", 'An island with a lighthouse & a "pier".'), ("Harbour", "A stone pier,\r\nrebuilt twice.")],
    "Lighthouse": [("", "A tower with a lamp."), ("The lamp room", "Its lamp burns whale oil.")],
    "Tarn": [("", "=A village of pilots.")],
    "iPod": [("", "A bell\x07 rings.")],
}
GRAPHML = "{http://graphml.graphdrawing.org/xmlns}"


def fill(graph: Graph) -> None:
    articles = [
        Article(
            title, title, tuple(Section(h, 2 if h else 1, t) for h, t in sections), url=f"https://wiki.example/{title}"
        )
        for title, sections in PAGES.items()
    ]
    vectors = [
        tuple(MODEL.embed([section.text for section in article.sections])) if graph.dimension else ()
        for article in articles
    ]
    graph.load_articles([EmbeddedArticle(*pair) for pair in zip(articles, [0] * len(articles), vectors, strict=True)])
    targets = ("Lighthouse", "Tarn", "Yet to come")
    graph.add_links([GraphLink("Ollo Island", target, target, 1) for target in targets])
    graph.add_aliases([GraphAlias("The island", "the island", "Ollo Island")])


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """A graph whose writer is still at work."""
    path = tmp_path / "islands.sqlite"
    with open_graph_writer(path, model_id=MODEL.model_id, dimension=MODEL.dimension) as graph:
        fill(graph)
        yield path


@pytest.fixture
def wordy(tmp_path: Path) -> Path:
    """A graph without vectors."""
    path = tmp_path / "wordy.sqlite"
    with open_graph_writer(path, model_id=NO_MODEL, dimension=0) as graph:
        fill(graph)
    return path


def run(path: Path, *words: str) -> Result:
    return CliRunner().invoke(main, ["wiki", words[0], *words[1:], "--graph", str(path)], env={"COLUMNS": "100"})


def lines_of(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def refusal(result: Result) -> str:
    """The one line of a command that was refused."""
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    [line] = result.stderr.splitlines()
    assert line.startswith("ramet: ")
    return line


# --- search -----------------------------------------------------------------------------------------------------


def test_a_hit_tells_its_section_its_score_and_where_it_is_read(path: Path) -> None:
    [hit] = lines_of(run(path, "search", "whale oil burns", "--limit", "1", "--json"))
    assert (hit["title"], hit["heading"], hit["url"]) == (
        "Lighthouse",
        "The lamp room",
        "https://wiki.example/Lighthouse#The_lamp_room",
    )
    assert 0 < hit["score"] <= 1
    shown = run(path, "search", "whale oil burns", "--limit", "1").stdout
    assert shown.splitlines()[:3] == [
        f"1. Lighthouse § The lamp room  {hit['score']:.2f} · a seed",
        "   Its lamp burns whale oil.",
        "   https://wiki.example/Lighthouse#The_lamp_room",
    ]
    assert "share words with the text, not meaning" in shown


def test_following_links_shows_the_best_section_of_the_nearest_linked_articles(path: Path) -> None:
    [hit] = lines_of(
        run(path, "search", "stone pier rebuilt twice burns oil", "--limit", "1", "--follow", "1", "--json")
    )
    assert (hit["heading"], [(near["title"], near["heading"]) for near in hit["linked"]]) == (
        "Harbour",
        [("Lighthouse", "The lamp room")],
    )
    shown = run(path, "search", "stone pier rebuilt twice burns oil", "--limit", "1", "--follow", "5").stdout
    assert "   → Lighthouse § The lamp room" in shown
    assert "   → Tarn" in shown
    assert "Yet to come" not in shown, "nothing is known of it"


def test_words_are_searched_on_request_and_where_there_are_no_vectors(path: Path, wordy: Path) -> None:
    asked, forced = (run(place, "search", "PIER island", *flags) for place, flags in ((path, ["--words"]), (wordy, [])))
    assert asked.stdout.startswith("1. Ollo Island § Harbour  ")
    assert "   A stone pier, rebuilt twice.\n" in asked.stdout
    assert "no vectors" not in asked.stdout
    assert forced.stdout.startswith(asked.stdout)
    assert forced.stdout.endswith("this graph has no vectors: these are the sections that fit your words\n")
    assert "no section holds any of these words" in run(wordy, "search", "zeppelin").stdout
    [hit, *_] = lines_of(run(wordy, "search", "pier", "--follow", "2", "--json"))
    assert hit["ranking"] == "words"
    assert hit["passage"] in hit["text"]
    assert hit["linked"] == []


# --- neighbors --------------------------------------------------------------------------------------------------


def test_neighbors_are_told_by_title_alias_or_another_spelling(path: Path) -> None:
    for title in ("Ollo Island", "ollo_Island", "the island"):
        found = lines_of(run(path, "neighbors", title, "--json"))
        assert [(near["title"], near["loaded"]) for near in found] == [
            ("Lighthouse", True),
            ("Tarn", True),
            ("Yet to come", False),
        ]
    assert lines_of(run(path, "neighbors", "iPod", "--json")) == []
    shown = run(path, "neighbors", "the island", "--limit", "2").stdout.splitlines()
    assert shown[0] == "Ollo Island"
    assert [line.split() for line in shown[1:3]] == [
        ["1", "Lighthouse", "https://wiki.example/Lighthouse"],
        ["1", "Tarn", "https://wiki.example/Tarn"],
    ]
    assert "--limit" in shown[3]
    assert "not loaded" in run(path, "neighbors", "the island").stdout


def test_links_are_followed_in_the_direction_asked_for(path: Path) -> None:
    [near] = lines_of(run(path, "neighbors", "Tarn", "--direction", "in", "--json"))
    assert near["title"] == "Ollo Island"
    both = lines_of(run(path, "neighbors", "Tarn", "--direction", "both", "--depth", "2", "--json"))
    assert [(near["title"], near["distance"]) for near in both] == [
        ("Ollo Island", 1),
        ("Lighthouse", 2),
        ("Yet to come", 2),
    ]
    assert "it links to nothing" in run(path, "neighbors", "Tarn").stdout


@pytest.mark.parametrize(
    ("title", "said"), [("Nowhere", "the graph has no article 'Nowhere'"), ("#", "is not a valid title")]
)
def test_a_title_that_the_graph_does_not_know_is_one_line(path: Path, title: str, said: str) -> None:
    assert said in refusal(run(path, "neighbors", title))


# --- export -----------------------------------------------------------------------------------------------------


def test_graphml_is_read_back_whole_by_an_xml_parser(path: Path, tmp_path: Path) -> None:
    result = run(path, "export", "graphml", "--out", str(tmp_path / "out.graphml"))
    assert result.stderr.splitlines() == [
        f"wrote 12 nodes and 10 edges to {tmp_path / 'out.graphml'}",
        "left out 1 character that XML forbids",
    ]
    root = ElementTree.parse(tmp_path / "out.graphml").getroot()
    keys = {key.attrib["id"] for key in root.iter(f"{GRAPHML}key")}
    nodes = {
        node.attrib["id"]: {data.attrib["key"]: data.text or "" for data in node}
        for node in root.iter(f"{GRAPHML}node")
    }
    assert keys >= {name for properties in nodes.values() for name in properties}
    with open_graph_reader(path) as graph:
        for node in graph.nodes():
            expected = {"label": node.label, **node.properties}
            told = {
                name: str(value).lower() if isinstance(value, bool) else str(value).replace("\x07", "")
                for name, value in expected.items()
            }
            assert nodes.pop(node.node_id) == told
        assert nodes == {}
        edges = [
            GraphEdge(edge[0].text or "", edge.attrib["source"], edge.attrib["target"])
            for edge in root.iter(f"{GRAPHML}edge")
        ]
        assert edges == list(graph.edges())


def test_json_lines_hold_every_node_and_edge(path: Path) -> None:
    lines = lines_of(run(path, "export", "jsonl", "--out", "-"))
    nodes = {line.pop("node"): line for line in lines if "node" in line}
    assert nodes["Section:Ollo Island#1"] == {
        "label": "Section",
        "position": 1,
        "heading": "Harbour",
        "level": 2,
        "path": "",
        "text": "A stone pier,\r\nrebuilt twice.",
    }
    edges = [line for line in lines if "edge" in line]
    assert {"edge": "ALIAS_OF", "source": "Alias:The island", "target": "Article:Ollo Island"} in edges
    assert all(edge["source"] in nodes and edge["target"] in nodes for edge in edges)
    assert (len(nodes), len(edges)) == (12, 10)


def test_tables_are_read_back_whole_and_hold_no_formula(path: Path, tmp_path: Path) -> None:
    [told] = lines_of(run(path, "export", "csv", "--out", str(tmp_path / "tables"), "--json"))
    assert told["paths"] == [str(tmp_path / "tables" / name) for name in ("nodes.csv", "edges.csv")]
    with (tmp_path / "tables" / "nodes.csv").open(newline="", encoding="utf-8") as file:
        nodes = {row["id"]: row for row in csv.DictReader(file)}
    with (tmp_path / "tables" / "edges.csv").open(newline="", encoding="utf-8") as file:
        edges = list(csv.DictReader(file))
    assert (told["nodes"], told["edges"]) == (len(nodes), len(edges)) == (12, 10)
    assert nodes["Section:Tarn#0"]["text"] == "'=A village of pilots."
    assert nodes["Section:Ollo Island#1"]["text"] == "A stone pier,\r\nrebuilt twice."
    assert nodes["Article:Yet to come"]["loaded"] == "false"
    assert {edge["source"] for edge in edges} | {edge["target"] for edge in edges} <= set(nodes)


@pytest.mark.parametrize("form", ExportFormat)
def test_an_export_that_fails_leaves_what_was_there(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: ExportFormat
) -> None:
    out = tmp_path / "out"
    with open_graph_reader(path) as graph:
        export_file(graph, out, form)
    before = {file: file.read_bytes() for file in [out, *out.glob("*")] if file.is_file()}

    def breaking(self: SqliteReading) -> Iterator[GraphEdge]:
        yield GraphEdge("LINKS_TO", "a", "b")
        raise GraphError("the disk is gone")

    monkeypatch.setattr(SqliteReading, "edges", breaking)
    with open_graph_reader(path) as graph, pytest.raises(GraphError, match="the disk is gone"):
        export_file(graph, out, form)
    assert {file: file.read_bytes() for file in [out, *out.glob("*")] if file.is_file()} == before
    assert [file.name for file in tmp_path.rglob("*.part")] == []


def test_what_cannot_be_exported_so_is_refused(path: Path, tmp_path: Path) -> None:
    assert "csv is several files" in refusal(run(path, "export", "csv", "--out", "-"))
    (tmp_path / "file").write_text("")
    assert "cannot write" in refusal(run(path, "export", "jsonl", "--out", str(tmp_path / "file" / "below")))
    assert "there is no graph at" in refusal(run(tmp_path / "none.sqlite", "export", "jsonl"))


def test_without_a_name_the_export_is_named_as_the_graph(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for form in ("jsonl", "csv"):
        assert run(path, "export", form).exit_code == 0
    assert {file.name for file in tmp_path.iterdir()} >= {"islands.jsonl", "islands-csv"}
