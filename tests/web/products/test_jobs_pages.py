"""Openings in the dashboard: looked through, marked with the name of who did it, and hostile text stays text."""

from __future__ import annotations

import html
import re
import tomllib
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from ramet import App, Client
from ramet.jobs.config.config_file import sample
from ramet.jobs.dashboard import pages
from ramet.jobs.kinds import LISTING
from ramet.jobs.match_status import match_history
from ramet.jobs.pipeline import app
from ramet.testing import drain, fresh_client
from ramet.web import products
from ramet.web.access import Access
from ramet.web.products import Product
from tests.jobs.world.openings import TEXT
from tests.web.in_process_client import visiting
from tests.web.world import HOSTILE

PROJECT = Path(__file__).parents[3]
READ, ADMIN = "read-token-of-the-tests", "admin-token-of-the-tests"
URLS = [f"https://acme.example/jobs/{number}" for number in range(3)]
TICK = re.compile(r'type="checkbox" name="([^"]+)"')
CSRF = re.compile(r'name="csrf" value="([^"]*)"')


@pytest.fixture(autouse=True)
def _pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever this environment has installed, the pages are the package's."""
    monkeypatch.setattr(products, "installed", lambda: (Product("jobs", pages()),))


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    """Three matches, seen by a dashboard that knows nothing of the pipeline."""
    async with fresh_client(app, folder=tmp_path) as client:
        eager = {"jobs.match.min_score": 0, "jobs.match.preferred_office_min_score": 0}
        await client.settings.set_many(sample() | eager)
        for number, url in enumerate(URLS):
            posting = {"url": url, "title": f"Python {number} {HOSTILE}", "company": HOSTILE, "description": TEXT,
                       "whole": True}  # fmt: skip
            await client.submit(LISTING, {"url": url, "posting": posting})
        await drain(app, client)
        yield Client(App().registry, client.store, client._limits, clock=client.clock)


async def test_a_database_without_openings_says_so() -> None:
    async with fresh_client(App()) as client, visiting(client) as at:
        answer = await at.get("/products/jobs", headers={"Accept": "text/html"})
        assert answer.status_code == 404
        assert "nothing of `ramet jobs` yet" in answer.text
        assert "/products/jobs" not in (await at.get("/")).text


async def test_what_cannot_be_shown_or_marked_is_one_line(client: Client) -> None:
    async with visiting(client) as at:
        for address, status in (
            ("/products/jobs?status=odd", 400),
            ("/products/jobs?after=x", 400),
            ("/products/jobs/opening", 404),
            ("/products/jobs/opening?id=nothing", 404),
            ("/products/jobs/rejected?status=matched", 400),
            ("/products/other", 404),
        ):
            assert (await at.get(address)).status_code == status, address
        [csrf, *_] = CSRF.findall((await at.get("/products/jobs")).text)
        for form, line in (
            ({"status": "seen"}, "tick at least one"),
            ({"status": "odd", "listing:x": "1"}, "not a status of a match"),
            ({"status": "seen", "listing:x": "1"}, "there is no listing"),
        ):
            refused = await at.post("/products/jobs/marks", data={"csrf": csrf, **form})
            assert (refused.status_code, line in html.unescape(refused.text)) == (400, True), form


async def test_nobody_marks_without_the_admin_token_or_from_another_site(client: Client) -> None:
    access = Access(admin_token=ADMIN, read_token=READ, person="ada")
    async with visiting(client, access) as at:
        assert (await at.get("/products/jobs")).status_code == 401
        reads = {"Authorization": f"Bearer {READ}"}
        page = await at.get("/products/jobs", headers=reads)
        assert (page.status_code, TICK.findall(page.text)) == (200, [])
        assert (await at.post("/products/jobs/marks", data={"status": "seen"}, headers=reads)).status_code == 403
        await at.post("/login", data={"token": ADMIN, "name": "ada"})
        assert (await at.post("/products/jobs/marks", data={"status": "seen"})).status_code == 403


async def marked(at: httpx.AsyncClient, status: str, names: list[str], **more: str) -> httpx.Response:
    """Tick openings and press a button; follow to the page that one is led to."""
    page = (await at.get("/products/jobs")).text
    form = {"csrf": CSRF.findall(page)[0], "status": status, "back": "/products/jobs", **dict.fromkeys(names, "1")}
    answer = await at.post("/products/jobs/marks", data={**form, **more})
    assert (answer.status_code, answer.headers["location"]) == (303, "/products/jobs")
    return await at.get("/products/jobs")


async def test_ticked_openings_are_marked_with_the_note_and_the_name_of_who_did_it(client: Client) -> None:
    async with visiting(client) as at:
        assert 'href="/products/jobs"' in (await at.get("/")).text
        ticks = TICK.findall((await at.get("/products/jobs")).text)
        assert len(ticks) == 3
        page = (await marked(at, "applied", ticks[:2], note=f"by mail {HOSTILE}")).text
        assert "new 1" in page
        assert "applied 2" in page
        assert "<script>alert" not in page
        [listing_id, *_] = [name.removeprefix("listing:") for name in ticks]
        [mark] = await match_history(client, listing_id)
        assert (mark.status, mark.note, mark.marked_by) == ("applied", f"by mail {HOSTILE}", "ada")
        opening = (await at.get("/products/jobs/opening", params={"id": listing_id})).text
        assert "It is a match" in html.unescape(opening)
        assert "by mail &lt;script&gt;" in opening
        assert f'href="{URLS[0]}"' in opening or f'href="{URLS[1]}"' in opening or f'href="{URLS[2]}"' in opening
        assert "<script>alert" not in opening
        seen = re.search(r"<form[^>]*>(?:(?!</form>).)*Mark the 1 new opening", page, re.DOTALL)
        assert seen is not None
        assert html.unescape(seen[0]).rsplit("<form", 1)[1].count('name="listing:') == 1
        await marked(at, "seen", ticks[2:])
        assert "shown here as seen" not in (await at.get("/products/jobs")).text
        await marked(at, "dismissed", ticks[2:])
        assert len(TICK.findall((await at.get("/products/jobs")).text)) == 2
        assert len(TICK.findall((await at.get("/products/jobs?status=dismissed")).text)) == 1
        assert len(TICK.findall((await at.get("/products/jobs", params={"q": "mail"})).text)) == 2


async def test_addresses_that_are_none_of_the_web_are_no_links(client: Client) -> None:
    listing_id = (await client.read("SELECT listing_id FROM jobs_listings LIMIT 1"))[0][0]
    await client.store._write(
        lambda session: session.run("UPDATE jobs_listings SET url = 'javascript:alert(1)' WHERE listing_id = ?",
                                    (listing_id,))
    )  # fmt: skip
    async with visiting(client) as at:
        page = (await at.get("/products/jobs/opening", params={"id": listing_id})).text
    assert "javascript:alert(1)" in page
    assert 'href="javascript' not in page


def test_the_package_names_its_pages() -> None:
    declared = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    assert declared[products.GROUP]["jobs"] == f"ramet.jobs.dashboard:{pages.__name__}"
