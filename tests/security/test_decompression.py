"""What unpacks to much is cut off while it streams: neither what is packed nor what comes out of it grows in memory.

Sizes, in `tests/fetch/test_client.py` and `tests/jobs/fetching/test_hostile_servers.py`: a bomb of 400 MB,
50 MB that are not packed. Files that an operator gives (dumps, archives): `tests/wiki/sources`.
"""

from __future__ import annotations

import gzip
import itertools
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Iterator

import pytest

from ramet.fetch.client import AnswerTooLarge, HttpRequest, ServerTrouble, WebClient, WebRefused
from ramet.fetch.decoding import accepted
from tests.fetch.hostile_server import Hostile, Play, answers, bomb, head, streams

pytestmark = pytest.mark.network

MAX = 100_000
HELD_BYTES_MAX = 4_000_000
"""That a request may add, whatever is sent; a fortieth of what the streams below offer."""


@pytest.fixture
async def server() -> AsyncIterator[Hostile]:
    async with Hostile() as server:
        yield server


UNKNOWN = [name for name in ("br", "zstd") if name not in accepted()]
"""Read only where a package that bounds them is installed."""


@pytest.fixture
async def client() -> AsyncIterator[WebClient]:
    client = WebClient(user_agent="tests", extra="'ramet[wiki]'", private=True, answer_bytes_max=MAX)
    yield client
    await client.close()


@pytest.mark.parametrize(
    "encoding", [*UNKNOWN, "compress", "gzip, gzip", "deflate, gzip", "gzip,br", "gzip, identity", "x"]
)
async def test_only_one_layer_of_a_known_encoding_is_taken(server: Hostile, client: WebClient, encoding: str) -> None:
    server.play = answers(zlib.compress(b"{}"), Content_Encoding=encoding)
    with pytest.raises(WebRefused, match="encoding"):
        await client.get(server.api)


async def test_a_bomb_within_a_bomb_is_unpacked_once(server: Hostile, client: WebClient) -> None:
    inner = bomb(20)
    server.play = answers(gzip.compress(inner), Content_Encoding="gzip")
    assert (await client.get(server.api)).body == inner


async def test_a_byte_over_is_too_much_and_a_byte_under_is_not(server: Hostile, client: WebClient) -> None:
    for size, fits in ((MAX, True), (MAX + 1, False)):
        server.play = answers(gzip.compress(b"a" * size), Content_Encoding="gzip")
        if fits:
            assert len((await client.get(server.api)).body) == size
        else:
            with pytest.raises(AnswerTooLarge):
                await client.get(server.api)


def endless(begin: bytes, part: bytes) -> Iterator[bytes]:
    """160 MB, which no test reads to the end."""
    return itertools.chain([begin], itertools.repeat(part * (65_536 // len(part)), 2_500))


NAME = b"\x1f\x8b\x08\x08" + b"\0" * 6
"""The head of a gzip file whose name follows, up to a NUL that never comes."""
BLOCKS = b"\x1f\x8b\x08" + b"\0" * 7
"""The head of a gzip file, before blocks that store nothing."""


@pytest.mark.parametrize(
    ("begin", "part"),
    [(NAME, b"a"), (BLOCKS, b"\0\0\0\xff\xff"), (b"", gzip.compress(b" " * 10_000_000))],
    ids=["a name without end", "blocks of nothing", "one bomb after the other"],
)
async def test_what_unpacks_to_nothing_or_too_much_ends(
    server: Hostile, client: WebClient, begin: bytes, part: bytes
) -> None:
    server.play = streams(endless(begin, part), head(Content_Encoding="gzip"))
    with pytest.raises(AnswerTooLarge):
        await client.get(server.api)


@pytest.mark.parametrize("cut", [False, True])
async def test_what_follows_the_end_is_neither_read_nor_kept(server: Hostile, client: WebClient, cut: bool) -> None:
    """zlib keeps all that comes after the end of a stream, if it is given any."""
    server.play = streams(endless(gzip.compress(b"{}"), b"a"), head(Content_Encoding="gzip"))
    tracemalloc.start()
    try:
        answer = await client.send(HttpRequest(server.api, cut=cut))
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert answer.body == b"{}"
    assert held < HELD_BYTES_MAX


@pytest.mark.parametrize(
    "play",
    [
        answers(gzip.compress(b"x" * 1_000)[:-9], Content_Encoding="gzip"),
        answers(gzip.compress(b"x" * 1_000)[:-8] + b"\0" * 8, Content_Encoding="gzip"),
        answers(b"\x1f\x8b\x08", Content_Encoding="gzip"),
    ],
    ids=["cut", "checksum", "head"],
)
async def test_half_of_a_packed_answer_is_none(server: Hostile, client: WebClient, play: Play) -> None:
    server.play = play
    with pytest.raises(ServerTrouble):
        await client.get(server.api)
