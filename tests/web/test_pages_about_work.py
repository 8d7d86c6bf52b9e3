"""Pages about work, on either store: what they show is there, nothing in them is taken for markup, all is bounded."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from ramet import App, Client, Context, Limits
from ramet.testing import drain, fresh_client
from tests.web.in_process_client import visiting
from tests.web.world import HOSTILE, ODD, World, database_of, make_app, world

LINKS = re.compile(r'(?:href|data-part|data-live)="(/[^"]*)"')
NOT_PAGES = ("/static", "/api", "/act", "/live", "/logout")
AT_ODD = f"/lineages/{quote(ODD, safe='')}"


@pytest.fixture(params=["postgres", "sqlite"])
async def either(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    """The world, once per store."""
    with database_of(request.param) as database:
        async with world(tmp_path, database) as found:
            yield found


@pytest.fixture
async def made(tmp_path: Path) -> AsyncIterator[World]:
    """The world in a file, for what does not depend on the store."""
    async with world(tmp_path) as found:
        yield found


@pytest.fixture
async def at(made: World) -> AsyncIterator[httpx.AsyncClient]:
    async with visiting(made.client) as visitor:
        yield visitor


@pytest.fixture(scope="module")
def empty_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("empty")


@pytest.fixture
async def at_nothing(empty_folder: Path) -> AsyncIterator[httpx.AsyncClient]:
    """A visitor of a database in which nothing was ever done."""
    async with fresh_client(make_app(), folder=empty_folder) as client, visiting(client) as visitor:
        yield visitor


def links(text: str) -> Iterator[str]:
    """Ways to other pages."""
    for link in LINKS.findall(text):
        address = html.unescape(link)
        if not address.startswith(NOT_PAGES):
            yield address


async def test_every_way_from_the_overview_leads_to_a_page_without_foreign_markup(either: World) -> None:
    async with visiting(either.client) as visitor:
        await _walk(either, visitor)


async def _walk(made: World, at: httpx.AsyncClient) -> None:
    todo, seen = ["/", f"/tasks/{made.root}", f"/tasks/{made.waiting}", AT_ODD], set[str]()
    while todo and len(seen) < 90:
        address = todo.pop(0)
        if address in seen:
            continue
        seen.add(address)
        answer = await at.get(address)
        assert answer.status_code == 200, address
        assert "<script>alert" not in answer.text, address
        assert "<b>&amp;" not in answer.text, address
        assert ("7919*6101" in answer.text) == ("alert(1)" in answer.text), f"{address}: no text is a template"
        todo += links(answer.text)
    assert {"/lineages", "/tasks", "/explain", "/costs", AT_ODD, "/lineages/?tracking_id=.."} <= seen


@pytest.mark.parametrize(
    "address",
    [
        "/lineages/nobody",
        "/tasks/nobody",
        "/branches?parent_id=nobody",
        "/branches?tracking_id=nobody",
        "/parts/branches?parent_id=nobody",
        "/blocks?tracking_id=nobody",
        "/spend?tracking_id=nobody",
    ],
)
async def test_what_is_not_there_is_a_404_with_one_line(at_nothing: httpx.AsyncClient, address: str) -> None:
    answer = await at_nothing.get(address)
    assert answer.status_code == 404
    assert len(re.findall(r'<p class="refused">[^<]+</p>', answer.text)) == 1


@pytest.mark.parametrize(
    "address",
    [
        "/tasks?limit=0",
        "/tasks?limit=201",
        "/tasks?limit=many",
        "/tasks?after=-1",
        "/tasks?state=lost",
        "/tasks?kind=%00",
        "/tasks?key=" + "x" * 2_001,
        "/lineages?state=success",
        "/lineages?after=nowhere",
        "/lineages/",
        "/twigs?parent_id=a&kind=leaf",
        "/twigs?parent_id=a&tracking_id=b&kind=leaf&state=success",
        "/twigs?kind=leaf&state=success",
        "/branches",
        "/costs?limit=9999",
    ],
)
async def test_what_cannot_be_asked_is_refused_with_one_line(at_nothing: httpx.AsyncClient, address: str) -> None:
    answer = await at_nothing.get(address)
    assert answer.status_code == 400
    assert len(re.findall(r'<p class="refused">[^<]+</p>', answer.text)) == 1


async def test_the_overview_tells_what_ended_what_waits_and_for_whom(made: World, at: httpx.AsyncClient) -> None:
    text = (await at.get("/")).text
    assert "serves kind <bdi>elsewhere</bdi> on queue <bdi>default</bdi>" in text
    assert "for an earlier task on a path" in text
    assert "2.8%" in text, "one of 36 tasks failed"
    assert "permanent_error 1" in text
    assert f"/tasks/{made.waiting}" not in text, "it cannot be claimed"
    assert re.search(r"<svg[^>]*role=\"img\"[^>]*aria-label=\"Tasks that ended", text)
    row = re.search(r'<tr id="k-leaf">(.*?)</tr>', text, re.DOTALL)
    assert row is not None
    assert re.findall(r'<td class="n"[^>]*>(\d+)</td>', row[1])[:3] == ["1", "31", "20"]
    assert "10 filtered" in row[1]


async def test_a_lineage_shows_its_budget_its_refusals_and_who_paused_it(at: httpx.AsyncClient) -> None:
    text = (await at.get(AT_ODD)).text
    assert "36 of 100,000" in text
    assert "/blocks?tracking_id=" in text
    assert re.search(r"in_flight</a></td><td class=\"n\"[^>]*>1<", text)
    paused = (await at.get("/lineages/?tracking_id=..")).text
    assert "by ada: &lt;script&gt;" in paused
    assert "2 d left" in paused, "a pause stops its clock and adds nothing"


async def test_a_lineage_leads_to_its_alerts(made: World, at: httpx.AsyncClient) -> None:
    await made.client.settings.set("monitor.depth_max", 2, by="ada")
    [alert] = await made.client.check_alerts()
    assert f'<a href="/alerts/{alert.id}">' in (await at.get(AT_ODD)).text
    assert (await at.get(f"/alerts/{alert.id}")).status_code == 200


async def test_a_failed_task_tells_why_and_what_would_help_with_its_story(made: World, at: httpx.AsyncClient) -> None:
    text = (await at.get(f"/tasks/{made.failed}")).text
    assert "the error is permanent: another try gives the same" in text
    assert f"ramet retry {made.failed}" in text
    story = re.findall(r'<li><span><time[^>]*>[^<]*</time></span><span><span class="state (\w+)">', text)
    assert story == ["spawned", "claimed", "error", "failed"]
    assert "Permanent: &lt;script&gt;alert(1)" in text
    assert '<details><summary>Traceback</summary><pre tabindex="0">Traceback (most recent call last):' in text
    assert "raise Permanent(text)" in text
    listed = (await at.get("/tasks?state=failed")).text
    assert '<td class="why error-line" data-label="Why">Permanent: &lt;script&gt;' in listed


async def test_a_task_in_line_leads_to_the_one_before_it(made: World, at: httpx.AsyncClient) -> None:
    [first] = (await made.client.tasks(tracking_id="running")).tasks
    text = (await at.get(f"/tasks/{made.waiting}")).text
    assert re.search(rf'waits for <a href="/tasks/{first.id}">elsewhere 1</a>', text)
    assert "1 before it" in text


async def test_a_tree_is_grouped_where_it_is_much_and_opens_page_by_page(made: World, at: httpx.AsyncClient) -> None:
    lineage = (await at.get(AT_ODD)).text
    assert f'data-part="/parts/branches?parent_id={made.root}"' in lineage, "one root is shown at once"
    level = (await at.get(f"/parts/branches?parent_id={made.root}")).text
    assert "<html" not in level
    assert re.findall(r"<summary>(\w+) <span class=\"state (\w+)\">\w+</span> (\d+)", level) == [
        ("leaf", "success", "20"), ("leaf", "filtered", "10"), ("deep", "success", "1"), ("fails", "failed", "1")
    ]  # fmt: skip
    shown: list[str] = []
    address = f"/parts/twigs?parent_id={made.root}&kind=leaf&state=success&limit=8"
    while address:
        page = (await at.get(address)).text
        shown += re.findall(r'<span class="key">([^<]+)</span>', page)
        more = re.search(r'data-part="([^"]+)"><summary>More', page)
        address = html.unescape(more[1]) + "&limit=8" if more else ""
    assert sorted(shown, key=lambda key: int(key.split()[1])) == [
        f"seed {number}" for number in range(30) if number % 3
    ]


async def test_a_tree_can_be_walked_without_scripts(made: World, at: httpx.AsyncClient) -> None:
    page = (await at.get(f"/branches?parent_id={made.root}")).text
    [first, *_] = [link for link in links(page) if link.startswith("/twigs")]
    assert len(re.findall(r'<span class="key">', (await at.get(first)).text)) == 20


async def test_a_list_of_tasks_finds_by_kind_among_many_others_and_goes_on(made: World, at: httpx.AsyncClient) -> None:
    found = (await at.get("/tasks?kind=deep&state=success")).text
    assert len(re.findall(r'<tr id="t-', found)) == 4
    assert len(re.findall(r'<tr id="t-', (await at.get("/tasks?min_depth=3")).text)) == 2
    page = (await at.get("/tasks?state=filtered&kind=leaf&limit=4")).text
    [more] = [link for link in links(page) if "after=" in link]
    assert len(re.findall(r'<tr id="t-', page)) == 4
    assert len(re.findall(r'<tr id="t-', (await at.get(more)).text)) == 6


async def test_a_kind_and_key_names_its_holder_and_who_was_refused(made: World, at: httpx.AsyncClient) -> None:
    text = (await at.get("/explain", params={"kind": "leaf", "key": "seed 0"})).text
    assert "in_flight" in text
    assert f"/tasks/{made.root}" in text, "who asked for it"
    why = (await at.get("/explain", params={"task_id": made.failed})).text
    assert "the error is permanent" in why
    assert f'href="/tasks/{made.failed}"' in why
    nothing = await at.get("/explain", params={"kind": "leaf", "key": HOSTILE})
    assert nothing.status_code == 200
    assert "no task and no refused spawn" in nothing.text


async def _statements(tasks: int, folder: Path, addresses: list[str]) -> dict[str, int]:
    ran: list[str] = []
    app = make_app()
    async with fresh_client(app, folder=folder, hook=lambda when, sql: ran.append(when)) as client:
        await client.submit("root", "seed", key="seed", tracking_id="one")
        await client.submit_many([("leaf", number, {"key": f"r{number}"}) for number in range(tasks)], one_lineage=True)
        await drain(app, client)
        found = {}
        async with visiting(client) as visitor:
            for address in addresses:
                ran.clear()
                assert (await visitor.get(await _filled(address, client))).status_code == 200
                found[address] = ran.count("before")
    return found


async def _filled(address: str, client: Client) -> str:
    [root] = await client.roots("one")
    return address.replace("ROOT", root.id)


async def test_a_key_that_no_row_names_is_told_with_what_was_counted(tmp_path: Path) -> None:
    app = App()

    @app.task("wide", key=str)
    async def wide(ctx: Context, name: str) -> None:
        for child in range(30):
            ctx.spawn("wide", f"<b>{child}")

    async with fresh_client(app, folder=tmp_path) as client, visiting(client) as visitor:
        await client.submit("wide", "root", limits=Limits(max_tasks=1))
        await drain(app, client)
        page = (await visitor.get("/explain", params={"kind": "wide", "key": "<b>29"})).text
        told = (await visitor.get("/api/v1/explain", params={"kind": "wide", "key": "<b>29"})).json()
    assert "Counted without rows: wide refused 29 times, budget, to" in page
    assert "<b>" not in page
    assert [(one["times"], one["limit_name"], one["limit"]) for one in told["unnamed"]] == [(29, "max_tasks", 1)]


@pytest.mark.parametrize("address", ["/", "/lineages", "/tasks", "/costs", "/explain"])
async def test_a_database_without_anything_has_its_pages(at_nothing: httpx.AsyncClient, address: str) -> None:
    assert (await at_nothing.get(address)).status_code == 200


async def test_a_page_asks_as_often_of_a_small_database_as_of_a_large_one(tmp_path: Path) -> None:
    addresses = [
        "/", "/lineages", "/lineages/one", "/tasks", "/tasks?state=success", "/tasks/ROOT", "/costs",
        "/explain?kind=leaf&key=seed+0", "/blocks?tracking_id=one", "/parts/branches?parent_id=ROOT",
        "/parts/twigs?parent_id=ROOT&kind=leaf&state=success",
    ]  # fmt: skip
    (tmp_path / "small").mkdir()
    (tmp_path / "large").mkdir()
    small = await _statements(30, tmp_path / "small", addresses)
    large = await _statements(300, tmp_path / "large", addresses)
    assert large == small
    assert max(small.values()) < 90
