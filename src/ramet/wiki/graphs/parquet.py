"""Export a graph as Parquet files: nodes, edges, and passages with their vectors, written as they are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ramet.commands.extras import import_extra
from ramet.commands.output_files import replaced
from ramet.commands.parquet import GROUP_CHARACTERS, PARQUET_EXTRA, RowGroups
from ramet.wiki.graphs.base import GraphStore

FILES = ("nodes.parquet", "edges.parquet", "passages.parquet")
GROUP_ROWS = 10_000
"""Most rows that are written together."""
COMPRESSION = "zstd"


def export_parquet(
    graph: GraphStore, folder: Path, properties: dict[str, str], edge_properties: Sequence[str]
) -> tuple[int, int, list[Path]]:
    """Write `FILES` into a folder that is there; what is there is replaced once everything is written.

    Args:
        graph: what to write.
        folder: where to.
        properties: names of the nodes' properties with their types in GraphML.
        edge_properties: names of the edges' properties, which are text.

    Returns:
        Numbers of nodes and edges, and the files.

    Raises:
        OutputError: it cannot be written there.
        GraphError: the graph cannot be read.
        ExtraMissing: pyarrow is not installed.
    """
    arrow = import_extra("pyarrow", PARQUET_EXTRA)
    types = {"string": arrow.string(), "int": arrow.int32(), "boolean": arrow.bool_(), "double": arrow.float64()}
    text, number = types["string"], types["int"]
    of_nodes = [("id", text), ("label", text), *((name, types[kind]) for name, kind in properties.items())]
    of_passages = [("article", text), ("section", text), ("start", number), ("end", number), ("text", text)]
    if graph.dimension:
        of_passages.append(("embedding", arrow.list_(arrow.float32(), graph.dimension)))
    paths = [folder / name for name in FILES]
    edge_columns = [("source", text), ("target", text), ("label", text), *((name, text) for name in edge_properties)]
    with ExitStack() as files:
        nodes, edges, passages = (
            files.enter_context(
                RowGroups(
                    files.enter_context(replaced(path)),
                    columns,
                    group_rows=GROUP_ROWS,
                    group_characters=GROUP_CHARACTERS,
                    compression=COMPRESSION,
                )
            )
            for path, columns in zip(paths, (of_nodes, edge_columns, of_passages), strict=True)
        )
        for node in graph.nodes():
            nodes.add([node.node_id, node.label, *map(node.properties.get, properties)])
        for edge in graph.edges():
            edges.add([edge.source_id, edge.target_id, edge.label, *map(edge.properties.get, edge_properties)])
        for row in _with_texts(graph):
            passages.add(row if graph.dimension else row[:-1])
        for one in (nodes, edges, passages):
            one.finish()
    return nodes.rows, edges.rows, paths


def _with_texts(graph: GraphStore) -> Iterator[list[Any]]:
    """Yield the passages of the graph's sections, with their texts; both are read in the order of their places."""
    passages = graph.passages()
    passage = next(passages, None)
    for node in graph.nodes():
        if node.label != "Section":
            continue
        key, _, position = node.node_id.removeprefix("Section:").rpartition("#")
        place, text = (key, int(position)), str(node.properties["text"])
        while passage is not None and passage[:2] <= place:
            if passage[:2] == place:  # Others are of what a crash left out of the graph.
                part = text[passage.start : passage.end]
                yield [f"Article:{key}", node.node_id, passage.start, passage.end, part, passage.vector]
            passage = next(passages, None)
