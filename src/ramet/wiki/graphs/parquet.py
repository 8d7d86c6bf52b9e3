"""Export a graph as Parquet files: nodes, edges, and passages with their vectors, written as they are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, BinaryIO, Self

from ramet.commands.extras import import_extra
from ramet.commands.output_files import replaced
from ramet.wiki.errors import PARQUET_EXTRA
from ramet.wiki.graphs.base import GraphStore

FILES = ("nodes.parquet", "edges.parquet", "passages.parquet")
GROUP_ROWS = 10_000
"""Rows that are written together, at most."""
GROUP_CHARACTERS = 8_000_000
"""Characters of text and bytes of vectors after which a group is written, whole or not."""
NUMBER_BYTES = 4
"""Of one number of a vector."""
COMPRESSION = "zstd"


class RowGroups:
    """One Parquet file, of which at most one group of rows is in memory."""

    def __init__(self, file: BinaryIO, columns: Sequence[tuple[str, Any]]) -> None:
        """`columns`: names with types of pyarrow.

        Raises:
            ExtraMissing: pyarrow is not installed.
        """
        self._arrow = import_extra("pyarrow", PARQUET_EXTRA)
        self._schema = self._arrow.schema(columns)
        self._writer = import_extra("pyarrow.parquet", PARQUET_EXTRA).ParquetWriter(
            file, self._schema, compression=COMPRESSION
        )
        self._columns: tuple[list[Any], ...] = tuple([] for _ in columns)
        self._characters = 0
        self.rows = 0

    def add(self, row: Sequence[Any]) -> None:
        """Add one row, in the order of the columns; a vector is bytes of little-endian 32-bit numbers."""
        for column, value in zip(self._columns, row, strict=True):
            column.append(value)
            if isinstance(value, (str, bytes)):
                self._characters += len(value)
        self.rows += 1
        if len(self._columns[0]) >= GROUP_ROWS or self._characters >= GROUP_CHARACTERS:
            self._write()

    def finish(self) -> None:
        """Write what is left, and the end of the file."""
        if self._columns[0]:
            self._write()
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        # Else the writer would do so when it is collected, after its file, and complain.
        with suppress(OSError):
            self._writer.close()

    def _write(self) -> None:
        arrays = [self._array(field.type, column) for field, column in zip(self._schema, self._columns, strict=True)]
        self._writer.write_table(self._arrow.table(arrays, schema=self._schema), row_group_size=GROUP_ROWS)
        for column in self._columns:
            column.clear()
        self._characters = 0

    def _array(self, kind: Any, column: list[Any]) -> Any:
        arrow = self._arrow
        if not arrow.types.is_fixed_size_list(kind):
            return arrow.array(column, type=kind)
        # Without a list of Python's for each vector. Of what has none there are zeros below its null.
        none = bytes(NUMBER_BYTES * kind.list_size)
        data = arrow.py_buffer(b"".join(none if vector is None else vector for vector in column))
        numbers = arrow.Array.from_buffers(arrow.float32(), len(column) * kind.list_size, [None, data])
        missing = arrow.array([vector is None for vector in column], type=arrow.bool_())
        return arrow.FixedSizeListArray.from_arrays(numbers, type=kind, mask=missing)


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
            files.enter_context(RowGroups(files.enter_context(replaced(path)), columns))
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
    """The passages of the sections that the graph has, with their texts; both are read in the order of their places."""
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
