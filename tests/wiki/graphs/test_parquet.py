"""Parquet: every node, edge and passage with its vector, in groups of rows, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ramet.wiki.embedding.base import HashingEmbedder
from ramet.wiki.graphs import parquet
from ramet.wiki.graphs.base import NO_MODEL, EmbeddedArticle, GraphAlias, GraphLink, GraphPassage
from ramet.wiki.graphs.export import PROPERTIES, ExportFormat, export_file
from ramet.wiki.graphs.passage_index import PassageSearch
from ramet.wiki.graphs.passages import texts_of
from ramet.wiki.graphs.ranking import pack
from ramet.wiki.graphs.registry import Graph, open_graph_writer
from ramet.wiki.pages import Article

arrow_files: Any = pytest.importorskip("pyarrow.parquet", reason="the extra [parquet] is not installed")

Embed = Callable[[Sequence[Article], int], list[EmbeddedArticle]]


def fill(graph: Graph, loaded: Sequence[EmbeddedArticle]) -> None:
    graph.load_articles(loaded)
    graph.add_links([GraphLink("Tarn", "Oil", "Oil", 2), GraphLink("Tarn", "Yet to come", "Yet to come", 2)])
    graph.add_aliases([GraphAlias("The island", "the island", "Ollo Island")])


def tables(folder: Path) -> dict[str, list[dict[str, Any]]]:
    return {name: arrow_files.read_table(folder / name).to_pylist() for name in parquet.FILES}


def test_nodes_edges_and_passages_are_read_back_whole(
    graph: Graph, embedded: Embed, articles: list[Article], embedder: HashingEmbedder, tmp_path: Path
) -> None:
    loaded = embedded(articles, 1)
    fill(graph, loaded)
    exported = export_file(graph, tmp_path / "out", ExportFormat.PARQUET)
    assert [path.name for path in exported.paths] == list(parquet.FILES)
    read = tables(tmp_path / "out")
    assert [(row["id"], row["label"]) for row in read["nodes.parquet"]] == [
        (node.node_id, node.label) for node in graph.nodes()
    ]
    for row, node in zip(read["nodes.parquet"], graph.nodes(), strict=True):
        assert {name: row[name] for name in PROPERTIES if row[name] is not None} == dict(node.properties)
    assert [tuple(row.values()) for row in read["edges.parquet"]] == [
        (edge.source_id, edge.target_id, edge.label, None, None) for edge in graph.edges()
    ]
    wanted = sorted(
        (f"Article:{one.article.key}", text, tuple(pack(vector)))
        for one in loaded
        for text, vector in zip(_bare(one.article), one.vectors, strict=True)
    )
    told = read["passages.parquet"]
    assert sorted((row["article"], row["text"], tuple(pack(row["embedding"]))) for row in told) == wanted
    texts = {row["id"]: row["text"] for row in read["nodes.parquet"]}
    assert all(texts[row["section"]][row["start"] : row["end"]] == row["text"] for row in told)
    kind = arrow_files.read_schema(tmp_path / "out" / "passages.parquet").field("embedding").type
    assert str(kind) == f"fixed_size_list<element: float>[{embedder.dimension}]"


def _bare(article: Article) -> list[str]:
    """The passages of an article of short sections, which are these."""
    bare = [section.text for section in article.sections if section.text]
    assert len(bare) == len(texts_of(article))
    return bare


def test_groups_of_rows_are_bounded_and_together_the_same(
    graph: Graph, embedded: Embed, articles: list[Article], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(graph, embedded(articles, 1))
    export_file(graph, tmp_path / "once", ExportFormat.PARQUET)
    monkeypatch.setattr(parquet, "GROUP_ROWS", 3)
    export_file(graph, tmp_path / "rows", ExportFormat.PARQUET)
    monkeypatch.setattr(parquet, "GROUP_CHARACTERS", 1)
    export_file(graph, tmp_path / "characters", ExportFormat.PARQUET)
    assert tables(tmp_path / "once") == tables(tmp_path / "rows") == tables(tmp_path / "characters")
    for folder, most in (("rows", 3), ("characters", 1)):
        for name in parquet.FILES:
            metadata = arrow_files.read_metadata(tmp_path / folder / name)
            groups = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
            assert len(groups) > 1
            assert max(groups) == most


def test_a_graph_without_vectors_has_passages_without_a_column_for_them(
    graph_path: Path, articles: list[Article], tmp_path: Path
) -> None:
    with open_graph_writer(graph_path, model_id=NO_MODEL, dimension=0) as graph:
        fill(graph, [EmbeddedArticle(article, 0, ()) for article in articles])
        export_file(graph, tmp_path / "out", ExportFormat.PARQUET)
    names = arrow_files.read_schema(tmp_path / "out" / "passages.parquet").names
    assert names == ["article", "section", "start", "end", "text"]
    assert len(tables(tmp_path / "out")["passages.parquet"]) == 8


def test_passages_without_a_section_and_without_a_vector_are_borne(
    graph: Graph, embedded: Embed, articles: list[Article], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(graph, embedded(articles, 1))
    found = list(graph.passages())
    odd = [
        *(GraphPassage(key, 0, 0, 1, None) for key in ("A", "Zz")),
        GraphPassage("Tarn", 7, 0, 1, None),
        found[0]._replace(vector=None),
        *found[1:],
    ]
    monkeypatch.setattr(PassageSearch, "passages", lambda self: iter(sorted(odd, key=lambda one: one[:3])))
    export_file(graph, tmp_path / "out", ExportFormat.PARQUET)
    told = tables(tmp_path / "out")["passages.parquet"]
    assert len(told) == len(found)
    assert [row["embedding"] is None for row in told] == [True] + [False] * (len(found) - 1)
