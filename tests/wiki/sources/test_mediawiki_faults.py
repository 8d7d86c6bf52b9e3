"""A real MediaWiki that is ill: what passes costs no article, and what stays is told for the one title it is about."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator

import pytest

from ramet import RetryAfter, Transient
from ramet.wiki.pages import Page
from ramet.wiki.sources.base import SourceOptions
from ramet.wiki.sources.mediawiki import MediaWikiSource
from ramet.wiki.sources.mediawiki_calls import TRIES_MAX
from tests.wiki.mediawiki import MediaWiki
from tests.wiki.mediawiki_pages import village

pytest.importorskip("httpcore2", reason="the extra [wiki] is not installed")

FIFTY = [village(number) for number in range(50)]


class Pauses:
    """Remembers how long was to be waited, and waits not at all."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


@pytest.fixture
async def source(mediawiki: MediaWiki, pauses: Pauses) -> AsyncIterator[MediaWikiSource]:
    source = MediaWikiSource(mediawiki.api, SourceOptions(private=True), sleep=pauses, rng=random.Random(1))
    await source.site()
    mediawiki.forget()
    yield source
    await source.close()


@pytest.mark.parametrize("status", ["429", "503"])
async def test_a_server_that_names_a_time_is_left_alone_for_so_long(
    source: MediaWikiSource, mediawiki: MediaWiki, pauses: Pauses, status: str
) -> None:
    mediawiki.faults(**{status: 1})
    with pytest.raises(RetryAfter) as raised:
        await source.pages(FIFTY)
    assert (raised.value.seconds, raised.value.resource) == (2.0, source.resource)
    assert len(mediawiki.asked()) == 1
    assert pauses.seconds == []
    assert all(isinstance(found, Page) for found in (await source.pages(FIFTY)).values())


@pytest.mark.network
@pytest.mark.process
async def test_a_server_that_lags_names_the_time_itself(
    mediawiki_to_edit: MediaWiki,
) -> None:
    mediawiki_to_edit.edit("Template:Foot", "Another foot.")
    source = MediaWikiSource(mediawiki_to_edit.api, SourceOptions(private=True))
    await source.site()
    mediawiki_to_edit.faults(lag=True)
    with pytest.raises(RetryAfter) as raised:
        await source.pages(["Village 001"])
    assert (raised.value.seconds, raised.value.resource) == (5.0, source.resource)
    mediawiki_to_edit.faults()
    assert isinstance((await source.pages(["Village 001"]))["Village 001"], Page)
    await source.close()


@pytest.mark.parametrize("fault", ["500", "503_without_time"])
async def test_errors_of_the_server_are_outlasted_within_one_call(
    source: MediaWikiSource, mediawiki: MediaWiki, pauses: Pauses, fault: str
) -> None:
    mediawiki.faults(**{fault: TRIES_MAX - 1})
    assert all(isinstance(found, Page) for found in (await source.pages(FIFTY)).values())
    assert len(mediawiki.asked()) == TRIES_MAX
    assert len(pauses.seconds) == TRIES_MAX - 1
    assert all(0 <= seconds <= 8 for seconds in pauses.seconds)


async def test_a_server_that_stays_ill_is_asked_no_more_than_that(
    source: MediaWikiSource, mediawiki: MediaWiki
) -> None:
    mediawiki.faults(**{"500": 1_000})
    with pytest.raises(Transient, match="HTTP 500"):
        await source.pages(["Village 001"])
    assert len(mediawiki.asked()) == TRIES_MAX
    mediawiki.forget()
    with pytest.raises(Transient, match="HTTP 500"):
        await source.pages(FIFTY)
    assert len(mediawiki.asked()) < 4 * TRIES_MAX


async def test_a_title_that_breaks_the_server_takes_no_other_with_it(
    source: MediaWikiSource, mediawiki: MediaWiki
) -> None:
    mediawiki.faults(poison=FIFTY[33])
    found = await source.pages(FIFTY)
    assert isinstance(found[FIFTY[33]], Transient)
    assert all(isinstance(page, Page) for title, page in found.items() if title != FIFTY[33])


async def test_a_slow_server_is_waited_for(source: MediaWikiSource, mediawiki: MediaWiki) -> None:
    mediawiki.faults(slow_ms=1_200)
    assert isinstance((await source.pages(["Village 001"]))["Village 001"], Page)
    assert len(mediawiki.asked()) == 1


async def test_every_request_says_who_asks(mediawiki: MediaWiki) -> None:
    source = MediaWikiSource(mediawiki.api, SourceOptions(private=True, user_agent="tests@example.org"))
    await source.pages(["Village 001"])
    await source.close()
    assert {call.agent.partition("/")[0] for call in mediawiki.asked()} == {"ramet-wiki"}
    assert all(call.agent.endswith(" (tests@example.org)") for call in mediawiki.asked())
