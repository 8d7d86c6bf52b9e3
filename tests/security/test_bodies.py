"""Answers without end, or that come drop by drop, cost the two readers of strangers' answers a bounded time and size.

The client that both share: `tests/fetch/test_client.py`; what is packed: `test_decompression.py`.
"""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import pytest

from ramet import Transient
from ramet.fetch.client import AnswerTooLarge, WebClient
from ramet.fetch.errors import TooLarge, Trouble
from ramet.fetch.fetcher import Fetcher
from ramet.wiki.sources.base import SourceOptions
from ramet.wiki.sources.mediawiki import MediaWikiSource
from tests.fetch.hostile_server import Hostile, Play, head, streams

pytestmark = pytest.mark.network

HASTY_SECONDS, SECONDS = 0.1, 20.0
"""That a whole answer may take, where it drips and where it has no end."""
BYTES_MAX = 200_000
HELD_BYTES_MAX = 4_000_000
"""That an answer may take of memory at its peak, whatever it would have had."""


async def _read_as_a_board(server: Hostile, seconds: float) -> None:
    fetcher = Fetcher(WebClient(user_agent="tests", extra="'ramet[jobs]'", private=True))
    try:
        await fetcher.fetch(f"{server.address}jobs.json", bytes_max=BYTES_MAX, seconds=seconds)
    finally:
        await fetcher.close()


async def _read_as_a_page(server: Hostile, seconds: float) -> None:
    """With robots.txt before it, which is as hostile."""
    fetcher = Fetcher(WebClient(user_agent="tests", extra="'ramet[jobs]'", private=True))
    try:
        await fetcher.fetch(f"{server.address}careers", bytes_max=BYTES_MAX, seconds=seconds, robots=True)
    finally:
        await fetcher.close()


async def _read_as_a_wiki(server: Hostile, seconds: float) -> None:
    async def at_once(_: float) -> None:
        """Tries follow without a pause."""

    web = WebClient(
        user_agent="tests", extra="'ramet[wiki]'", private=True, answer_seconds=seconds, answer_bytes_max=BYTES_MAX
    )
    source = MediaWikiSource(server.api, SourceOptions(private=True), web=web, sleep=at_once)
    try:
        await source.site()
    finally:
        await source.close()


class Reader(NamedTuple):
    """Who reads, and what it says."""

    read: Callable[[Hostile, float], Awaitable[None]]
    too_slow: type[Exception]
    too_large: type[Exception]


READERS = {
    "board": Reader(_read_as_a_board, Trouble, TooLarge),
    "page": Reader(_read_as_a_page, Trouble, TooLarge),
    "wiki": Reader(_read_as_a_wiki, Transient, AnswerTooLarge),
}
SLOW: dict[str, Callable[[], Play]] = {
    "body": lambda: streams(itertools.repeat(b"x"), head(Content_Length=1_000), pause_seconds=0.02),
    "chunks": lambda: streams(itertools.repeat(b"1\r\nx\r\n"), head(Transfer_Encoding="chunked"), pause_seconds=0.02),
    "headers": lambda: streams(itertools.repeat(b"X-A: b\r\n"), b"HTTP/1.1 200 OK\r\n", pause_seconds=0.02),
    "nothing": lambda: streams(itertools.repeat(b""), b"", pause_seconds=0.02),
}
LARGE: dict[str, Callable[[], Play]] = {
    "endless": lambda: streams(itertools.repeat(b"x" * 65_536), head()),
    "chunks": lambda: streams(
        itertools.repeat(b"1000\r\n" + b"x" * 4_096 + b"\r\n"), head(Transfer_Encoding="chunked")
    ),
    "announced": lambda: streams(itertools.repeat(b"x" * 65_536), head(Content_Length=10**12)),
}


@pytest.mark.parametrize("slow", SLOW)
@pytest.mark.parametrize("reader", READERS)
async def test_what_comes_drop_by_drop_is_given_up(reader: str, slow: str) -> None:
    """The test's own time-out is the limit: what drips here never ends."""
    async with Hostile(SLOW[slow]()) as server:
        with pytest.raises(READERS[reader].too_slow) as told:
            await READERS[reader].read(server, HASTY_SECONDS)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("large", LARGE)
@pytest.mark.parametrize("reader", ["board", "wiki"])
async def test_what_has_no_end_is_cut_off_and_not_kept(reader: str, large: str) -> None:
    async with Hostile(LARGE[large]()) as server:
        tracemalloc.start()
        try:
            with pytest.raises(READERS[reader].too_large, match="bytes"):
                await READERS[reader].read(server, SECONDS)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < HELD_BYTES_MAX
