"""The frame of every page: groups of pages, counts of what is wrong, labels of cells, money as people write it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ramet import App, Client, Context, Permanent, ProblemCounts
from ramet.store.requests import ClaimRequest
from ramet.testing import drain, fresh_client
from ramet.web.navigation import Entry, badges, shown
from ramet.web.templating import dollars, with_labels
from tests.web.in_process_client import visiting
from tests.web.world import database_of

app = App()


@app.task("fails", key=str)
async def fails(ctx: Context, payload: int) -> None:
    raise Permanent("no such place")


async def badges_of(client: Client, address: str = "/settings") -> dict[str, str]:
    """The counts beside entries of a page's frame, by what they lead to."""
    async with visiting(client) as visitor:
        text = (await visitor.get(address)).text
    frame = text.partition('<nav id="pages"')[2].partition("</nav>")[0]
    return dict(re.findall(r'<a class="badge" href="([^"]+)"[^>]*>([\d,]+)<', frame))


@pytest.mark.parametrize("backend", ["postgres", "sqlite"])
async def test_a_count_stands_beside_a_page_where_something_is_wrong_and_nowhere_else(backend: str) -> None:
    with database_of(backend) as database:
        async with fresh_client(app, database=database) as client:
            assert await badges_of(client) == {}
            await client.submit_many([("fails", number) for number in range(3)], one_lineage=True)
            await drain(app, client)
            await client.open_breaker("host:e.org", by="ada", reason="it moves")
            await client.submit("fails", 7)
            await client.store.claim(ClaimRequest("w", ("default",), ("fails",), 1, 0.0))
            found = await badges_of(client)
            assert await badges_of(client, "/act/pause-queue?queue=default") == found
    assert found == {"/tasks?state=failed": "3", "/workers": "1", "/resources": "1"}


async def test_failures_of_more_than_an_hour_ago_are_not_counted() -> None:
    async with fresh_client(app) as client:
        await client.submit("fails", 1)
        await drain(app, client)
        assert (await client.problem_counts()).failed == 1
        client.clock.advance(3_600.0 + 60.0)  # type: ignore[attr-defined]
        assert (await client.problem_counts()).failed == 0


def test_a_page_that_could_not_read_anything_has_a_frame_without_counts() -> None:
    assert badges(None) == {}
    assert badges(ProblemCounts(failed=0, alerts_firing=0, stale=0, breakers_open=0)) == {}


def test_pages_are_in_groups_and_those_that_are_not_served_are_left_out() -> None:
    groups = shown([Entry("jobs:matches", "Jobs")], ["overview", "tasks", "settings", "jobs:matches"])
    assert [(group.label, [entry.label for entry in group.entries]) for group in groups] == [
        ("", ["Overview"]), ("Work", ["Tasks"]), ("Products", ["Jobs"]), ("", ["Settings"]),
    ]  # fmt: skip


def test_every_cell_carries_the_heading_of_its_column() -> None:
    table = (
        "<table><thead><tr><th>Kind</th><th class=\"n\">Wait <span>p50</span></th></tr></thead>\n"
        "<tbody><tr id=\"a\"><td>&lt;td&gt;</td><td class=\"n\">2</td></tr><tr><td colspan=\"2\">Nothing.</td></tr>"
        "</tbody></table>"
    )  # fmt: skip
    assert re.findall(r'<td[^>]*data-label="([^"]*)"', with_labels(table)) == ["Kind", "Wait p50"]
    assert with_labels(table).count("<td") == 3
    assert re.sub(r' data-label="[^"]*"', "", with_labels(table)) == table.replace("</thead>\n", "</thead>")


@pytest.mark.parametrize(
    ("nano_dollars", "shown_as", "exact"),
    [(148_690_846, "$0.15", "$0.148690846"), (3_800_000, "$0.0038", "$0.0038"), (1, "&lt;$0.0001", "$0.000000001")],
)
def test_money_is_rounded_for_people_and_exact_in_its_title(nano_dollars: int, shown_as: str, exact: str) -> None:
    made = str(dollars(nano_dollars))
    assert re.sub(r"<[^>]*>", "", made) == shown_as
    assert ("title" not in made) == (shown_as == exact)
    assert exact in made


def test_style_sheets_hold_no_colour_outside_of_their_variables() -> None:
    """So that dark and light differ in one place."""
    import ramet.web

    sheet = (Path(ramet.web.__file__).parent / "static" / "app.css").read_text(encoding="utf-8")
    rules = sheet.partition("*, *::before")[2]
    assert rules
    assert re.findall(r"#[0-9a-f]{3,8}\b(?=\s*[;}])", rules) == []
