"""XML that asks for what is elsewhere, or unfolds, gets nothing: no file is read, nobody is asked, nothing grows.

What a stranger gives as XML are feeds and boards of the jobs pipeline and dumps of the wiki's.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from ramet.jobs.errors import WrongShape
from ramet.wiki.errors import SourceError
from ramet.wiki.sources.registry import open_source
from tests.fetch.hostile_server import Hostile
from tests.jobs.boards.sample_boards import board, read

pytestmark = pytest.mark.network

DOCUMENTS = {
    "rss": "<rss version='2.0'><channel><item><title>{text}</title><link>https://a.example/1</link></item>"
    "</channel></rss>",
    "rss broken": "<rss version='2.0'><channel><item><title>{text}</title><link>https://a.example/1</link></item>",
    "xml": "<jobs><job><title>{text}</title><url>https://a.example/1</url></job></jobs>",
    "personio": "<workzag-jobs><position><id>1</id><name>{text}</name></position></workzag-jobs>",
}
DUMP = (
    "<mediawiki><page><title>A</title><ns>0</ns><id>1</id><revision><id>1</id><text>{text}</text></revision></page>"
    "</mediawiki>"
)
BILLION = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))


class Attack(NamedTuple):
    """How a document begins, and what stands where a text is wanted."""

    prologue: str
    text: str


ATTACKS = {
    "file": Attack('<!DOCTYPE a [<!ENTITY x SYSTEM "{file}">]>', "&x;"),
    "address": Attack('<!DOCTYPE a [<!ENTITY x SYSTEM "{address}x">]>', "&x;"),
    "public": Attack('<!DOCTYPE a [<!ENTITY x PUBLIC "p" "{address}x">]>', "&x;"),
    "parameter": Attack('<!DOCTYPE a [<!ENTITY % x SYSTEM "{address}x.dtd"> %x;]>', "&y;"),
    "out of band": Attack('<!DOCTYPE a [<!ENTITY % f SYSTEM "{file}"><!ENTITY % x SYSTEM "{address}x"> %x; %f;]>', "t"),
    "document type": Attack('<!DOCTYPE a SYSTEM "{address}x.dtd">', "&x;"),
    "unfolding": Attack(f'<!DOCTYPE a [<!ENTITY l0 "haha">{BILLION}]>', "&l9;"),
    "quadratic": Attack(f'<!DOCTYPE a [<!ENTITY x "{"a" * 50_000}">]>', "&x;" * 2_000),
    "style sheet": Attack('<?xml-stylesheet type="text/xsl" href="{address}x.xsl"?>', "t"),
    "inclusion": Attack("", '<i:include xmlns:i="http://www.w3.org/2001/XInclude" parse="text" href="{file}"/>'),
}


class Planted(NamedTuple):
    """What an attack would show."""

    server: Hostile
    secret: str
    file: Path

    def document(self, form: str, attack: str, encoding: str) -> bytes:
        prologue, text = ATTACKS[attack]
        whole = f'<?xml version="1.0" encoding="{encoding}"?>{prologue}{form.replace("{text}", text)}'
        return whole.replace("{file}", self.file.as_uri()).replace("{address}", self.server.address).encode(encoding)


@pytest.fixture
async def planted(tmp_path: Path) -> AsyncIterator[Planted]:
    secret = f"secret{secrets.token_hex(8)}"
    file = tmp_path / "secret.txt"
    file.write_text(secret)
    async with Hostile() as server:
        yield Planted(server, secret, file)
        assert server.requests == []


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("form", DOCUMENTS)
async def test_a_feed_or_board_reads_nothing_from_elsewhere(
    planted: Planted, form: str, attack: str, encoding: str
) -> None:
    body = planted.document(DOCUMENTS[form], attack, encoding)
    told, refused = await asyncio.to_thread(_told, lambda: read(board(form.partition(" ")[0]), body), WrongShape)
    assert planted.secret not in told
    assert len(told) < 5_000
    assert refused or "ENTITY" not in ATTACKS[attack].prologue, "entities are refused, whoever defines them"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("attack", ATTACKS)
async def test_a_dump_reads_nothing_from_elsewhere(
    planted: Planted, tmp_path: Path, attack: str, encoding: str
) -> None:
    path, data = tmp_path / "dump.xml", tmp_path / "data"
    await asyncio.to_thread(path.write_bytes, planted.document(DUMP, attack, encoding))
    told, refused = await asyncio.to_thread(_told, lambda: _opened(path, data), SourceError)
    assert planted.secret not in told
    assert refused or "DOCTYPE" not in ATTACKS[attack].prologue, "a document type is refused"
    assert [kept.name for kept in _files(data) if planted.secret.encode() in kept.read_bytes()] == []


def _opened(path: Path, data: Path) -> str:
    asyncio.run(open_source(str(path), data).close())
    return path.name


def _told(act: Callable[[], object], refusal: type[Exception]) -> tuple[str, bool]:
    """What came of it, and whether it was refused."""
    try:
        return repr(act()), False
    except refusal as error:
        return str(error), True


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]
