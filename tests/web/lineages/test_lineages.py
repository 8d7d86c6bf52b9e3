"""The list of lineages and the page of one: the outcome first, and of long names the part that differs."""

from __future__ import annotations

import re

import pytest

from ramet import App, Limits
from ramet.testing import fresh_client
from ramet.web.templating import NAME_CHARACTERS, short_names
from tests.web.in_process_client import visiting
from tests.web.world import HOSTILE, ODD

LONG = "https://example.org/a/very/long/address/that/all/of/them/share/"


@pytest.mark.parametrize(
    "names", [[], ["short", HOSTILE, ODD], [f"{LONG}{n}/index.html" for n in range(9)], [LONG * 3]]
)
def test_no_two_names_of_a_list_look_alike_and_short_ones_are_whole(names: list[str]) -> None:
    found = short_names(names)
    assert len(set(found.values())) == len(names)
    for name, shown in found.items():
        assert shown == name if len(name) <= NAME_CHARACTERS else len(shown) <= NAME_CHARACTERS + 1


def test_the_part_that_differs_is_shown_and_not_its_end() -> None:
    first, second = (f"{LONG}{day}{'/tail' * 20}" for day in ("2026-11-25", "2026-11-26"))
    found = short_names([first, second, "x"])
    assert (found[first], found["x"]) == ("https://exam…5/tail/tail/tail/tail/tail/tail/tai…", "x")
    assert "6/tail" in found[second]
    assert short_names([LONG * 3])[LONG * 3].startswith("https://exam…")


async def test_a_lineage_that_failed_is_red_and_says_how_many_of_how_many() -> None:
    async with fresh_client(App()) as client, visiting(client) as at:
        for name in ("bad", "good", "open"):
            await client.submit("look", key=name, tracking_id=name, limits=Limits(max_cost=150_000_000))
        for claim in await client.claim("look", n=2):
            await (claim.fail("broken", retry=False) if claim.tracking_id == "bad" else claim.complete())
        page = (await at.get("/lineages")).text
        rows = dict(re.findall(r'<tr id="l-([^"]+)"(.*?)</tr>', page, re.DOTALL))
        assert "1 of 1 failed" in rows["bad"]
        assert "is-failed" in rows["bad"]
        assert ">finished<" not in rows["bad"]
        assert ">finished<" in rows["good"]
        assert ">running<" in rows["open"]
        assert "<meter" not in page


async def test_the_page_of_a_lineage_says_what_failed_first_and_counts_what_is_below_each() -> None:
    async with fresh_client(App()) as client, visiting(client) as at:
        await client.submit("root", key="root", tracking_id="line")
        [root] = await client.claim("root")
        for number in range(3):
            root.spawn("child", key=f"{HOSTILE} {number}")
        await root.complete()
        first, *_ = await client.claim("child", n=3)
        await first.fail(f"broken {HOSTILE}", retry=False)
        page = (await at.get("/lineages/line")).text
        assert page.index("1 of 4 failed") < page.index("broken &lt;script&gt;") < page.index("Budget")
        assert "3 below" in page
        assert "1 failed below" in page
        only = (await at.get("/lineages/line?only=failed")).text
        assert (only.count(f'href="/tasks/{first.id}"'), only.count('<li class="in')) == (2, 2)
        assert (await at.get("/lineages/line?only=slow")).text.count('<li class="in') == 4
        assert (await at.get("/lineages/line?only=late")).status_code == 400
        assert "<script>alert" not in page + only
