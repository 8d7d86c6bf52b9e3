"""What is handed to LadybugDB: rows of articles and sections, in lists of bounded size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from ramet.wiki.graphs.base import EmbeddedArticle
from ramet.wiki.graphs.traversal import nearer

_BYTES_PER_NUMBER = 8

_Item = TypeVar("_Item")


class State(NamedTuple):
    """What is known of an article before it is written."""

    loaded: bool
    expansion_depth: int


def cut(items: Sequence[_Item], size_of: Callable[[_Item], int], most: int) -> Iterator[list[_Item]]:
    """The items in order, in lists that are no larger than `most` together, or of one item."""
    part: list[_Item] = []
    size = 0
    for item in items:
        if part and size + size_of(item) > most:
            yield part
            part, size = [], 0
        part.append(item)
        size += size_of(item)
    if part:
        yield part


def article_bytes(item: EmbeddedArticle) -> int:
    """About how many bytes an article's text and vectors are."""
    return sum(len(section.text) for section in item.article.sections) + sum(
        len(vector) * _BYTES_PER_NUMBER for vector in item.vectors
    )


def row_bytes(row: Mapping[str, Any]) -> int:
    """The same of a section's row."""
    return len(row["text"]) + len(row.get("embedding", ())) * _BYTES_PER_NUMBER


def article_row(item: EmbeddedArticle, state: State | None) -> dict[str, Any]:
    """A loaded article, of which `state` is what the graph knew before."""
    article = item.article
    return {
        "title_key": article.key,
        "title": article.title,
        "depth": item.expansion_depth if state is None else nearer(state.expansion_depth, item.expansion_depth),
        "description": article.description,
        "loaded": True,
        "revision": article.revision,
        "url": article.url,
    }


def stub_row(key: str, title: str, depth: int) -> dict[str, Any]:
    """An article that is known only from links or aliases."""
    return {
        "title_key": key,
        "title": title,
        "depth": depth,
        "description": "",
        "loaded": False,
        "revision": "",
        "url": "",
    }


def section_rows(item: EmbeddedArticle) -> list[dict[str, Any]]:
    """The sections of an article, with their vectors if it has some."""
    rows = [
        {
            "title_key": item.article.key,
            "section_key": f"{item.article.key}#{position}",
            "position": position,
            "heading": section.heading,
            "level": section.level,
            "text": section.text,
        }
        for position, section in enumerate(item.article.sections)
    ]
    if item.vectors:
        for row, vector in zip(rows, item.vectors, strict=True):
            row["embedding"] = vector
    return rows
