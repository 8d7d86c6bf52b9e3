"""Articles in the dashboard: coverage of a run, search, an article and its neighbours; hostile text stays text."""

from __future__ import annotations

import html
import tomllib
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
import pytest_asyncio

from ramet import App
from ramet.testing import fresh_client
from ramet.web import products
from ramet.web.products import Product
from ramet.wiki.dashboard import pages
from ramet.wiki.dashboard.views import LABEL_CHARACTERS, picture
from ramet.wiki.graph_access import Neighbor
from tests.web.in_process_client import visiting
from tests.web.products.wiki_world import TITLES, expanded

PROJECT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "installed", lambda: (Product("wiki", pages()),))


@pytest_asyncio.fixture
async def at(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with expanded(tmp_path) as (client, _), visiting(client) as visitor:
        yield visitor


def test_the_package_names_its_pages() -> None:
    declared = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    assert declared[products.GROUP]["wiki"] == f"ramet.wiki.dashboard:{pages.__name__}"


async def test_a_database_without_runs_and_a_run_without_its_graph_say_so(
    at: httpx.AsyncClient, tmp_path: Path
) -> None:
    async with fresh_client(App()) as client, visiting(client) as empty:
        assert (await empty.get("/products/wiki")).status_code == 404
    for address, status in (
        ("/products/wiki/run?run=wiki-nothing", 404),
        ("/products/wiki/article?title=No such article", 404),
        ("/products/wiki/article", 404),
        (f"/products/wiki/search?q={'x' * 600}", 400),
    ):
        assert (await at.get(address)).status_code == status, address
    (tmp_path / "wiki.sqlite").unlink()
    gone = await at.get("/products/wiki/search?q=ferries", headers={"Accept": "text/html"})
    assert (gone.status_code, "there is no graph" in html.unescape(gone.text)) == (400, True)


async def test_coverage_search_and_neighbourhood_are_shown_and_nothing_in_them_runs(at: httpx.AsyncClient) -> None:
    runs = (await at.get("/products/wiki")).text
    assert "wiki-seed" in runs
    run = (await at.get("/products/wiki/run")).text
    assert "4 of 5 known titles in the graph" in run
    assert "1 failed" in run
    found = (await at.get("/products/wiki/search", params={"q": "ferries software"})).text
    assert found.count("<article>") == len(TITLES) - 1
    article = (await at.get("/products/wiki/article", params={"title": "Seed"})).text
    assert '<h2 id="says">Text</h2>' in article
    assert article.count("<line ") == len(TITLES) - 2 + len(TITLES)
    assert "Quote&#39;s &lt;b&gt;bold" in article
    absent = (await at.get("/products/wiki/article", params={"title": "Nowhere"})).text
    assert "known from links only" in absent
    for page in (runs, run, found, article, absent):
        assert "<script>alert" not in page
        assert "<b>bold" not in page
        assert ' onload="ran' not in page


def test_a_picture_has_room_for_every_neighbour() -> None:
    many = [Neighbor(1, f"t{n}", f"Title {n} " + "x" * 60, 1, n % 2 == 0, "") for n in range(14)]
    made = picture("Seed", many, many[:1])
    places = [node.y for node in made.left]
    assert places == sorted(set(places))
    assert all(0 < node.y < made.height and len(node.label) <= LABEL_CHARACTERS for node in (*made.left, *made.right))
    assert picture("Alone", [], []).height > 0
