"""Matches over HTTP: read with the scope ``read``, marked with ``admin``, and mistakes are one line."""

from __future__ import annotations

import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from ramet import App, Client
from ramet.jobs.config.config_file import sample
from ramet.jobs.http_routes import routes
from ramet.jobs.kinds import LISTING
from ramet.jobs.match_status import short_id
from ramet.jobs.pipeline import app
from ramet.testing import drain, fresh_client
from ramet.web import application
from ramet.web.access import Access
from tests.jobs.world.openings import TEXT
from tests.web.in_process_client import visiting

PROJECT = Path(__file__).parents[2]
ADMIN, READ = "admin-token-of-the-tests", "read-token-of-the-tests"
URLS = [f"https://acme.example/jobs/{number}" for number in range(3)]


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    """Three matches."""
    async with fresh_client(app, folder=tmp_path) as client:
        eager = {"jobs.match.min_score": 0, "jobs.match.preferred_office_min_score": 0}
        await client.settings.set_many(sample() | eager)
        for number, url in enumerate(URLS):
            posting = {"url": url, "title": f"Python {number}", "company": "Acme", "description": TEXT, "whole": True}
            await client.submit(LISTING, {"url": url, "posting": posting})
        await drain(app, client)
        yield client


@asynccontextmanager
async def served(client: Client, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[httpx.AsyncClient]:
    """A server with tokens; whatever this environment has installed, the routes are the package's."""
    monkeypatch.setattr(application, "extension_routes", lambda: routes(lambda _: client))
    access = Access(admin_token=ADMIN, read_token=READ, person="ada")
    made = application.make_application(client, access, pages=False)
    async with visiting(client, application=made) as visitor:
        yield visitor


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def statuses(visitor: httpx.AsyncClient, query: str = "?all=true") -> dict[str, str]:
    answer = await visitor.get(f"/jobs/matches{query}", headers=bearer(READ))
    assert answer.status_code == 200, answer.text
    assert answer.headers["cache-control"] == "no-store"
    return {one["listing_id"]: one["status"] for one in answer.json()["matches"]}


def test_the_package_brings_the_routes() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["ramet.dashboard"]["jobs"] == f"{routes.__module__}:{routes.__name__}"


async def test_matches_are_read_and_marked(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    async with served(client, monkeypatch) as visitor:
        assert set((await statuses(visitor)).values()) == {"new"}
        body = {"ids": [short_id(URLS[0]), URLS[1]], "status": "dismissed", "note": "too far"}
        answer = await visitor.post("/jobs/matches/marks", json=body, headers=bearer(ADMIN))
        assert (answer.status_code, answer.json()["listing_ids"]) == (200, URLS[:2]), answer.text
        assert await statuses(visitor) == {URLS[0]: "dismissed", URLS[1]: "dismissed", URLS[2]: "new"}
        assert set(await statuses(visitor, "")) == {URLS[2]}
        assert set(await statuses(visitor, "?status=dismissed&status=applied&limit=1")) < set(URLS[:2])
        [first, _] = (await visitor.get("/jobs/matches?status=dismissed", headers=bearer(READ))).json()["matches"]
        assert (first["note"], first["status_by"]) == ("too far", "api")


@pytest.mark.parametrize(("token", "status"), [(None, 401), ("wrong-token-of-nobody", 401), (READ, 403)])
async def test_who_may_not_marks_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch, token: str | None, status: int
) -> None:
    async with served(client, monkeypatch) as visitor:
        headers = bearer(token) if token else {}
        body = {"ids": URLS, "status": "applied"}
        assert (await visitor.post("/jobs/matches/marks", json=body, headers=headers)).status_code == status
        assert set((await statuses(visitor)).values()) == {"new"}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"ids": [URLS[0], "nothing"], "status": "applied"}, "'nothing' is not known"),
        ({"ids": URLS, "status": "hired"}, "'hired' is not a status of a match"),
        ({"ids": [], "status": "applied"}, "ids: "),
        ({"ids": URLS, "status": "applied", "by": "eve"}, "by: Extra inputs are not permitted"),
        ([], "the request: "),
    ],
)
async def test_a_mistake_is_a_line_and_marks_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch, body: Any, said: str
) -> None:
    async with served(client, monkeypatch) as visitor:
        answer = await visitor.post("/jobs/matches/marks", json=body, headers=bearer(ADMIN))
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_input")
        assert said in answer.json()["error"]["message"]
        assert set((await statuses(visitor)).values()) == {"new"}


@pytest.mark.parametrize("query", ["?status=hired", "?limit=0", "?limit=1001", "?min_score=x", "?owl=1"])
async def test_a_question_that_is_wrong_is_refused(client: Client, monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    async with served(client, monkeypatch) as visitor:
        answer = await visitor.get(f"/jobs/matches{query}", headers=bearer(READ))
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_input"), answer.text


async def test_a_server_of_another_app_says_how_to_start_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with fresh_client(App(), folder=tmp_path) as other, served(other, monkeypatch) as visitor:
        answer = await visitor.get("/jobs/matches", headers=bearer(READ))
        assert answer.status_code == 404, answer.text
        assert "--app ramet.jobs.pipeline:app" in answer.json()["error"]["message"]
    async with fresh_client(app, folder=tmp_path):
        pass
    async with fresh_client(App(), folder=tmp_path) as other, served(other, monkeypatch) as visitor:
        answer = await visitor.post("/jobs/matches/marks", json={"ids": ["x"], "status": "seen"}, headers=bearer(ADMIN))
        assert "is not known" in answer.json()["error"]["message"]
