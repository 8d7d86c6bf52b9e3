"""Export a graph as GraphML, JSON Lines, CSV or Parquet, written as it is read: nothing is held in memory."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from io import TextIOWrapper
from pathlib import Path
from typing import TextIO
from xml.sax.saxutils import escape, quoteattr

from ramet.commands.extras import need_modules
from ramet.commands.output_files import harmless_cell, os_errors_as_user_errors, replaced
from ramet.commands.parquet import PARQUET_EXTRA
from ramet.wiki.graphs.base import GraphStore
from ramet.wiki.graphs.parquet import export_parquet

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

PROPERTIES = {
    "title": "string",
    "name": "string",
    "expansion_depth": "int",
    "description": "string",
    "loaded": "boolean",
    "revision": "string",
    "url": "string",
    "infobox": "string",
    "latitude": "double",
    "longitude": "double",
    "wikidata": "string",
    "pagerank": "double",
    "community": "int",
    "position": "int",
    "heading": "string",
    "level": "int",
    "path": "string",
    "text": "string",
    "kind": "string",
    "aliases": "string",
    "article": "string",
}
"""Every property of every node -> its type in GraphML, in the order of the columns."""


EDGE_PROPERTIES = ("kind", "section")
"""Every property of edges; all are text."""


class ExportFormat(StrEnum):
    """Format of an export."""

    GRAPHML = "graphml"
    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"


FOLDERS = (ExportFormat.CSV, ExportFormat.PARQUET)
"""Formats of several files, in a folder."""


@dataclass(slots=True)
class Exported:
    """Result of an export. `dropped` counts characters that XML forbids, which were left out."""

    nodes: int = 0
    edges: int = 0
    dropped: int = 0
    paths: list[Path] = field(default_factory=list)


def export_file(graph: GraphStore, path: Path, form: ExportFormat) -> Exported:
    """Write the graph to `path`: a file, or for CSV and Parquet a folder for `nodes.csv`, `edges.csv` and their like.

    An earlier export there is replaced once everything is written; until then it stays as it is.

    Raises:
        OutputError: it cannot be written there.
        GraphError: the graph cannot be read.
        ExtraMissing: Parquet, and pyarrow is not installed.
    """
    if form is ExportFormat.PARQUET:
        need_modules(["pyarrow"], PARQUET_EXTRA)
        with os_errors_as_user_errors(path):
            path.mkdir(parents=True, exist_ok=True)
            nodes, edges, written = export_parquet(graph, path, PROPERTIES, EDGE_PROPERTIES)
        return Exported(nodes, edges, paths=written)
    paths = [path / "nodes.csv", path / "edges.csv"] if form is ExportFormat.CSV else [path]
    with os_errors_as_user_errors(path), ExitStack() as files:
        if form is ExportFormat.CSV:
            path.mkdir(parents=True, exist_ok=True)
        out = [files.enter_context(_text_file(one)) for one in paths]
        exported = _csv(graph, *out) if form is ExportFormat.CSV else export_stream(graph, out[0], form)
    exported.paths = paths
    return exported


def export_stream(graph: GraphStore, out: TextIO, form: ExportFormat) -> Exported:
    """Write the graph to an open stream, which takes UTF-8, as GraphML or JSON Lines."""
    writers: dict[ExportFormat, Callable[[GraphStore, TextIO], Exported]] = {
        ExportFormat.GRAPHML: _graphml,
        ExportFormat.JSONL: _jsonl,
    }
    return writers[form](graph, out)


@contextmanager
def _text_file(path: Path) -> Iterator[TextIO]:
    with replaced(path) as file:
        out = TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        try:
            yield out
        finally:
            out.detach()  # `replaced` closes the file.


def _jsonl(graph: GraphStore, out: TextIO) -> Exported:
    exported = Exported()
    for node in graph.nodes():
        line = {"node": node.node_id, "label": node.label, **node.properties}
        out.write(json.dumps(line, ensure_ascii=False) + "\n")
        exported.nodes += 1
    for edge in graph.edges():
        line = {"edge": edge.label, "source": edge.source_id, "target": edge.target_id, **edge.properties}
        out.write(json.dumps(line, ensure_ascii=False) + "\n")
        exported.edges += 1
    return exported


def _graphml(graph: GraphStore, out: TextIO) -> Exported:
    exported = Exported()

    def clean(text: str) -> str:
        kept, dropped = _NOT_XML.subn("", text)
        exported.dropped += dropped
        return kept

    def attribute(text: str) -> str:
        return quoteattr(clean(text))

    def data(name: str, value: str | int | float | bool) -> str:
        text = str(value).lower() if isinstance(value, bool) else clean(str(value))
        return f'<data key="{name}">{escape(text, _RETURN)}</data>'

    out.write('<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
    for name, kind in {"label": "string", **PROPERTIES}.items():
        out.write(f'<key id="{name}" for="node" attr.name="{name}" attr.type="{kind}"/>\n')
    out.write('<key id="edge_label" for="edge" attr.name="label" attr.type="string"/>\n')
    for name in EDGE_PROPERTIES:
        out.write(f'<key id="edge_{name}" for="edge" attr.name="{name}" attr.type="string"/>\n')
    out.write('<graph id="wiki" edgedefault="directed">\n')
    for node in graph.nodes():
        values = "".join(data(name, value) for name, value in {"label": node.label, **node.properties}.items())
        out.write(f"<node id={attribute(node.node_id)}>{values}</node>\n")
        exported.nodes += 1
    for edge in graph.edges():
        ends = f"source={attribute(edge.source_id)} target={attribute(edge.target_id)}"
        values = "".join(
            data(f"edge_{name}", value) for name, value in {"label": edge.label, **edge.properties}.items()
        )
        out.write(f"<edge {ends}>{values}</edge>\n")
        exported.edges += 1
    out.write("</graph>\n</graphml>\n")
    return exported


# A reader of XML takes a bare carriage return for a line feed.
_RETURN = {"\r": "&#13;"}


def _csv(graph: GraphStore, nodes: TextIO, edges: TextIO) -> Exported:
    exported = Exported()
    rows = csv.writer(nodes, quoting=csv.QUOTE_ALL)
    rows.writerow(["id", "label", *PROPERTIES])
    for node in graph.nodes():
        values = [node.properties.get(name, "") for name in PROPERTIES]
        values = [str(value).lower() if isinstance(value, bool) else harmless_cell(value) for value in values]
        rows.writerow([node.node_id, node.label, *values])
        exported.nodes += 1
    rows = csv.writer(edges, quoting=csv.QUOTE_ALL)
    rows.writerow(["source", "target", "label", *EDGE_PROPERTIES])
    for edge in graph.edges():
        values = [harmless_cell(edge.properties.get(name, "")) for name in EDGE_PROPERTIES]
        rows.writerow([edge.source_id, edge.target_id, edge.label, *values])
        exported.edges += 1
    return exported
