"""Draws the README's pictures of the dashboard: ``python -m tests.web.runs.pictures [NAME...]``, or
``make pictures``.
"""

from __future__ import annotations

import asyncio
import base64
import sys
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

from playwright.async_api import Page

from ramet import Client
from ramet.web.access import Access
from ramet.web.application import make_application
from tests.web.browser.chromium import NARROW, browser, served, visit
from tests.web.runs.all_runs import Made, make, opened

FOLDER = Path(__file__).parents[3] / "docs" / "pictures"
BYTES_MAX = 150_000
WIDE = (1280, 800)


EFFECT = "/act/set-setting?name=limits.call_retries&value=2&step=confirm&back=/settings"
"""The effect of a change, before it is confirmed."""


class Picture(NamedTuple):
    """One picture, drawn in light and in dark."""

    name: str
    address: Callable[[Made, str], str]
    """Of the page, given the id of a task that waits."""
    size: tuple[int, int] = WIDE
    opened: int = 0
    """So many branches of a tree are opened, one in the other."""


PICTURES = (
    Picture("overview", lambda made, waiting: "/"),
    Picture("lineage", lambda made, waiting: f"/lineages/{made.documents[0]}", opened=2),
    Picture("task", lambda made, waiting: f"/tasks/{waiting}", (1280, 720)),
    Picture("narrow", lambda made, waiting: "/alerts", NARROW),
    Picture("lineages", lambda made, waiting: "/lineages", (1280, 560)),
    Picture("timeline", lambda made, waiting: "/lineages/edition-spring/timeline"),
    Picture("timeline-narrow", lambda made, waiting: "/lineages/edition-spring/timeline", NARROW),
    Picture("tasks", lambda made, waiting: "/tasks?state=failed", (1280, 560)),
    Picture("bulk", lambda made, waiting: "/bulk?act=retry&state=failed", (1280, 560)),
    Picture("settings", lambda made, waiting: "/settings", (1280, 640)),
    Picture("setting", lambda made, waiting: EFFECT, (1280, 480)),
    Picture("jobs", lambda made, waiting: "/products/jobs", (1280, 640)),
    Picture("article", lambda made, waiting: f"/products/wiki/article?run={made.wiki}&title=Aristotle"),
    Picture("models", lambda made, waiting: "/products/llm/job?name=birds"),
)


async def draw(folder: Path, names: Collection[str] = ()) -> None:
    """Make the runs and draw every picture twice; with ``names`` only these."""
    with tempfile.TemporaryDirectory(prefix="pictures-") as place:
        made = await make(Path(place))
        async with opened(made) as client, served(make_application(client, Access(person="ada"))) as origin:
            waiting = await _waiting(client)
            async with browser() as chromium:
                for picture in [one for one in PICTURES if not names or one.name in names]:
                    for dark in (False, True):
                        async with visit(chromium, origin, dark=dark, size=picture.size) as seen:
                            await seen.page.goto(origin + picture.address(made, waiting))
                            await _prepare(seen.page, picture.opened)
                            image = await _lossless(seen.page)
                            path = folder / f"{picture.name}-{'dark' if dark else 'light'}.webp"
                            assert len(image) < BYTES_MAX, f"{path} is too large"
                            path.write_bytes(image)


async def _waiting(client: Client) -> str:
    """A task that failed and waits for its resource."""
    [task, *_] = (await client.tasks(kind="print", states=["pending"])).tasks
    return task.id


async def _prepare(page: Page, opened: int) -> None:
    """Open branches; the folder of the database is nobody's business."""
    if await page.query_selector(".pulse"):
        await page.wait_for_selector(".pulse.on")
    for number in range(opened):
        # The page's policy forbids to wait for an expression, and an open branch is no longer what the selector finds.
        shut = await page.query_selector_all("#tree details[data-part]:not([open])")
        branch = shut[0 if number == 0 else -1]
        summary = await branch.query_selector("summary")
        assert summary is not None
        await summary.click(position={"x": 4, "y": 8})
        await branch.wait_for_selector("[data-part-place] ul")
    await page.evaluate("document.querySelector('.place').textContent = 'ramet.db'")
    await page.evaluate("document.activeElement.blur(), scrollTo(0, 0)")


async def _lossless(page: Page) -> bytes:
    """What is seen, as WebP, which is lossless at quality 100 and half of a PNG."""
    session = await page.context.new_cdp_session(page)
    taken = await session.send("Page.captureScreenshot", {"format": "webp", "quality": 100})
    return base64.b64decode(taken["data"])


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    asyncio.run(draw(FOLDER, sys.argv[1:]))
