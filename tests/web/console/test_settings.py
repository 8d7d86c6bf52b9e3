"""Settings: those in use first, and the effect of a change before it is confirmed."""

from __future__ import annotations

import re

import pytest

from ramet import App
from ramet.testing import fresh_client
from ramet.web import products
from tests.web.in_process_client import visiting

OTHERS = re.compile(r"<details[^>]*><summary>jobs: \d+ settings</summary>")


async def test_the_engines_settings_come_first_and_those_of_unused_packages_are_folded() -> None:
    async with fresh_client(App()) as client, visiting(client) as visitor:
        page = (await visitor.get("/settings")).text
        assert 0 < page.index('id="g-limits"') < page.index('id="g-worker"') < page.index('id="unused"')
        assert OTHERS.search(page)
        assert 'id="g-jobs"' not in page
        await client.settings.set("jobs.match.min_score", 50)
        page = (await visitor.get("/settings")).text
        assert page.index('id="g-worker"') < page.index('id="g-jobs"')
        assert not OTHERS.search(page)


async def test_settings_of_a_product_with_rows_are_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    async with fresh_client(App()) as client, visiting(client) as visitor:
        [jobs] = [one for one in products.installed() if one.name == "jobs"]

        async def look(self: products.UsedProducts, _: object) -> None:
            self.used = [jobs]

        monkeypatch.setattr(products.UsedProducts, "look", look)
        assert 'id="g-jobs"' in (await visitor.get("/settings")).text


async def test_a_filter_opens_what_it_finds_in_folded_groups() -> None:
    async with fresh_client(App()) as client, visiting(client) as visitor:
        page = (await visitor.get("/settings?find=min_score")).text
        assert "<details open><summary>jobs" in page
        assert "limits.max_tasks" not in page


SHOWN = [
    ("limits.max_tasks", "5", "from 100,000 tasks to 5 tasks; its default is 100,000 tasks"),
    ("limits.max_tasks", "5", "Lineages and tasks that exist keep their limits"),
    ("limits.call_retries", "0", "At worst in an hour: calls"),
    ("maintenance.retention_days", "0.5", "Maintenance then deletes 1 lineage that ended before that."),
    ("maintenance.retention_days", "20", "Maintenance then deletes 0 lineages"),
    ("cost.day_max", "0.05", "Spent and reserved today (UTC) is $0.00, within that."),
]


@pytest.mark.parametrize(("name", "value", "words"), SHOWN, ids=[f"{row[0]} {row[1]} {row[2][:9]}" for row in SHOWN])
async def test_the_effect_is_shown_before_a_change_is_confirmed(name: str, value: str, words: str) -> None:
    app = App()

    @app.task("t", key=str)
    async def t(ctx: object, payload: str) -> None:
        """Does nothing."""

    async with fresh_client(app) as client, visiting(client) as visitor:
        made = await client.submit("t", "1")
        await client.cancel(made.id)
        client.clock.advance(86_400.0)  # type: ignore[attr-defined]
        before = (await client.settings.get(name)).value
        asked = (await visitor.get("/act/set-setting", params={"name": name, "value": value})).text
        assert 'method="get" action="/act/set-setting"' in asked
        assert "Show the effect" in asked
        page = (await visitor.get("/act/set-setting", params={"name": name, "value": value, "step": "confirm"})).text
        assert words in page
        assert 'method="post" action="/act/set-setting"' in page
        assert (await client.settings.get(name)).value == before, "nothing is changed before the form is sent"


@pytest.mark.parametrize(
    ("value", "status", "words"),
    [("many", 400, "give a whole number"), ("100000", 409, "is 100,000 tasks already"), ("0", 400, "1 or more")],
)
async def test_what_cannot_be_set_is_refused_with_the_field_still_there(value: str, status: int, words: str) -> None:
    async with fresh_client(App()) as client, visiting(client) as visitor:
        asked = {"name": "limits.max_tasks", "value": value, "step": "confirm"}
        answer = await visitor.get("/act/set-setting", params=asked)
        assert (answer.status_code, words in answer.text) == (status, True)
        assert f'name="value" value="{value}"' in answer.text
        assert 'method="get"' in answer.text
