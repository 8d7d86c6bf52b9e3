"""An honest site is seen whole: nothing of it is refused but what a task has already, and no page is fetched twice."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections import Counter
from pathlib import Path

import pytest

from ramet import Limits
from ramet.model.keys import shape_of
from tests.cli.conftest import Cli
from tests.hostile.crawler import KIND, Counted, FromSites, OverHttp
from tests.hostile.crawls import Crawls, crawl
from tests.hostile.honest import PER_SHAPE
from tests.hostile.pages import Site
from tests.hostile.site import HostileSites, honest, monotonous
from tests.support.backends import Backend

PAGES = 5_000
SHAPE_MAX = Limits().max_shape


def addresses(site: Site) -> set[str]:
    """Everything that can be reached from the home page of a site."""
    found, left = {"/"}, ["/"]
    while left:
        for link in site.answer(site.host, left.pop()).links:
            if link not in found:
                found.add(link)
                left.append(link)
    return {f"http://{site.host}{target}" for target in found}


async def check_whole(crawls: Crawls, site: Site, asked: Counter[str]) -> None:
    """Every page has one task that succeeded and was fetched once, and the guard refused duplicates only."""
    crawled = await crawls.of(site)
    assert (crawled.lineage.state, crawled.lineage.tasks) == ("finished", site.pages)
    assert crawled.lineage.success == site.pages
    assert crawled.bounds == frozenset()
    assert dict(asked) == dict.fromkeys(addresses(site), 1)


def test_the_honest_site_has_5000_pages_and_at_most_900_of_a_shape() -> None:
    pages = addresses(honest(PAGES))
    shapes = Counter(map(shape_of, pages))
    assert len(pages) == PAGES
    assert max(shapes.values()) == PER_SHAPE
    assert len(shapes) > 500


async def test_nothing_of_an_honest_site_of_5000_pages_is_blocked(backend: Backend) -> None:
    site, asked = honest(PAGES), Counter[str]()
    async with crawl(backend, Counted(FromSites([site]), asked), [site], Limits(), check=False) as crawls:
        await check_whole(crawls, site, asked)


async def check_served(backend: Backend, pages: int) -> None:
    """Crawl an honest site through ``ramet.fetch``; its server was asked once for each page."""
    site, asked = honest(pages), Counter[str]()
    async with (
        HostileSites([site]) as server,
        crawl(backend, Counted(OverHttp(server.mapping, answer_seconds=60.0), asked), [site], Limits()) as crawls,
    ):
        await check_whole(crawls, site, asked)
        assert server.asked[site.host] == pages


@pytest.mark.network
async def test_nothing_of_an_honest_site_is_blocked_when_a_server_sends_it(backend: Backend) -> None:
    await check_served(backend, 700)


@pytest.mark.nightly
@pytest.mark.timeout(1_800)
async def test_nothing_of_an_honest_site_of_5000_pages_is_blocked_when_a_server_sends_it(backend: Backend) -> None:
    await check_served(backend, PAGES)


async def test_of_5000_pages_of_one_shape_the_block_names_the_setting_to_raise(backend: Backend) -> None:
    site = monotonous(PAGES)
    async with crawl(backend, FromSites([site]), [site], Limits(), check=False) as crawls:
        crawled = await crawls.of(site)
        assert crawled.bounds == {"trap"}
        assert crawled.lineage.success == 1 + SHAPE_MAX
        blocks = await crawls.client.blocks(site.host, reason="trap", limit=PAGES)
        assert len({block.key for block in blocks}) == PAGES - SHAPE_MAX
        assert {block.detail for block in blocks} == {
            f"the lineage has {SHAPE_MAX} keys of the shape {site.host}/item/#: if they are honest, allow the shape"
        }


async def test_what_the_commands_say_about_one_shape_lets_the_rest_of_it_through(
    backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person reads what was refused, types what the explanation says, and every page is there."""
    monkeypatch.delenv("COLUMNS", raising=False)  # pytest-xdist sets it; then lines are broken.
    site, asked = monotonous(120), Counter[str]()
    async with crawl(backend, Counted(FromSites([site]), asked), [site], Limits(max_shape=100)) as crawls:
        cli = Cli(Path(), backend.address)
        assert "allow the shape" in await asyncio.to_thread(cli.good, "blocks", site.host, "--blocked-by", "trap")
        [block, *_] = await crawls.client.blocks(site.host, reason="trap")
        told = await asyncio.to_thread(cli.good, "explain", KIND, block.key)
        found = re.search(
            r"ramet (lineage raise \S+ --allow-shape '[^']+'), then ramet (blocks reoffer \S+ --blocked-by trap "
            r"--shape '[^']+')",
            told,
        )
        assert found is not None, told
        await asyncio.to_thread(cli.good, *shlex.split(f"{found[1]} --reason honest"))
        await asyncio.to_thread(cli.good, *shlex.split(found[2]))
        await crawls.go_on()
        lineage = await crawls.client.lineage(site.host)
        assert lineage is not None
        assert (lineage.state, lineage.success) == ("finished", site.pages)
        assert dict(asked) == dict.fromkeys(addresses(site), 1)
