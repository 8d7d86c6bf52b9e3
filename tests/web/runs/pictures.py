"""Draws the README's pictures of the dashboard: ``python -m tests.web.runs.pictures``, or ``make pictures``."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from playwright.async_api import Page

from ramet import Client
from ramet.web.access import Access
from ramet.web.application import make_application
from tests.web.browser.browsing import NARROW, browser, served, visit
from tests.web.runs.making import Made, make, opened

FOLDER = Path(__file__).parents[3] / "docs" / "pictures"
BYTES_MAX = 150_000
WIDE = (1280, 800)


FETCHED = "[...document.querySelectorAll('details[open] > [data-part-place]')].every((one) => one.querySelector('ul'))"


class Picture(NamedTuple):
    """One picture, drawn in light and in dark."""

    name: str
    address: Callable[[Made, str], str]
    """Of the page, given the id of a task that waits on a path."""
    size: tuple[int, int] = WIDE
    opened: int = 0
    """So many branches of a tree are opened, one in the other."""


PICTURES = (
    Picture("overview", lambda made, waiting: "/"),
    Picture("lineage", lambda made, waiting: f"/lineages/{made.documents[0]}", opened=2),
    Picture("task", lambda made, waiting: f"/tasks/{waiting}"),
    Picture("narrow", lambda made, waiting: "/alerts", NARROW),
)


async def draw(folder: Path) -> None:
    """Make the runs and draw every picture twice."""
    with tempfile.TemporaryDirectory(prefix="pictures-") as place:
        made = await make(Path(place))
        async with opened(made) as client, served(make_application(client, Access(person="ada"))) as origin:
            waiting = await _waiting(client)
            async with browser() as chromium:
                for picture in PICTURES:
                    for dark in (False, True):
                        async with visit(chromium, origin, dark=dark, size=picture.size) as seen:
                            await seen.page.goto(origin + picture.address(made, waiting))
                            await _prepare(seen.page, picture.opened)
                            path = folder / f"{picture.name}-{'dark' if dark else 'light'}.png"
                            await seen.page.screenshot(path=path)
                            assert path.stat().st_size < BYTES_MAX, f"{path} is too large"


async def _waiting(client: Client) -> str:
    """A task that waits for others on its path."""
    [task, *_] = (await client.tasks(kind="binding", states=["pending"])).tasks
    return task.id


async def _prepare(page: Page, opened: int) -> None:
    """Open branches; the folder of the database is nobody's business."""
    await page.wait_for_selector(".pulse.on")
    for number in range(opened):
        parts = page.locator("details[data-part]:not([open])")
        await parts.nth(0 if number == 0 else await parts.count() - 1).locator("summary").first.click()
        await page.wait_for_function(FETCHED)
    await page.evaluate("document.querySelector('.place').textContent = 'ramet.db'")
    await page.evaluate("document.activeElement.blur(), scrollTo(0, 0)")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    asyncio.run(draw(FOLDER))
