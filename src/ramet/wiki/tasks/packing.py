"""What travels from one stage of an article's task to the next through the database: pages and articles as bytes."""

from __future__ import annotations

import json
import struct
import sys
import zlib
from array import array
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from ramet.wiki.articles import Article, Section
from ramet.wiki.embedding.base import Vector
from ramet.wiki.pages import Markup, Page

_LENGTH = struct.Struct("<I")
LEVEL = 1
"""Of compression: a page is read once more and then gone, so speed counts."""
UNPACKED_BYTES_MAX = 256 * 1024 * 1024


class PackedArticle(NamedTuple):
    """An article on its way to the graph; no vectors before the stage that embeds."""

    article: Article
    vectors: tuple[Vector, ...]


def pack_page(page: Page) -> bytes:
    """A page as bytes."""
    return _pack(asdict(page))


def unpack_page(content: bytes) -> Page:
    """The page that `pack_page` packed."""
    told = _unpack(content)
    for name in ("aliases", "categories", "links"):
        told[name] = None if told[name] is None else tuple(told[name])
    return Page(**{**told, "markup": Markup(told["markup"])})


def pack_article(article: Article, vectors: Sequence[Vector] = ()) -> bytes:
    """An article as bytes, with one vector of 32-bit numbers for each section, or none."""
    assert not vectors or len(vectors) == len(article.sections)
    packed = _pack(asdict(article))
    numbers = array("f", [number for vector in vectors for number in vector])
    if sys.byteorder == "big":
        numbers.byteswap()
    return _LENGTH.pack(len(packed)) + packed + numbers.tobytes()


def unpack_article(content: bytes) -> PackedArticle:
    """The article that `pack_article` packed, and its vectors."""
    (length,) = _LENGTH.unpack_from(content)
    told = _unpack(content[_LENGTH.size : _LENGTH.size + length])
    told["sections"] = tuple(Section(**section) for section in told["sections"])
    for name in ("categories", "links"):
        told[name] = None if told[name] is None else tuple(told[name])
    article = Article(**told)
    numbers = array("f", content[_LENGTH.size + length :])
    if sys.byteorder == "big":
        numbers.byteswap()
    dimension = len(numbers) // len(article.sections) if article.sections else 0
    vectors = [numbers[start : start + dimension].tolist() for start in range(0, len(numbers), dimension or 1)]
    return PackedArticle(article, tuple(vectors))


def _pack(told: dict[str, Any]) -> bytes:
    return zlib.compress(json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode(), LEVEL)


def _unpack(content: bytes) -> dict[str, Any]:
    # Written by this pipeline, but bounded all the same: a database can be shared with others.
    unpacking = zlib.decompressobj()
    text = unpacking.decompress(content, UNPACKED_BYTES_MAX)
    if not unpacking.eof:
        raise ValueError("a packed page is damaged, or larger than any page may be")
    told = json.loads(text)
    assert isinstance(told, dict)
    return told
