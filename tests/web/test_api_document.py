"""The document of the API, and the page of it: every route is in it, with its bounds and every way to be refused."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.applications import Starlette

from ramet import App, Client
from ramet.testing import fresh_client
from ramet.web.access import Access
from ramet.web.application import make_api, make_application
from ramet.web.errors import PROBLEMS
from ramet.web.page import BadInput, NotFound
from ramet.web.views.api_docs import type_words
from tests.web.in_process_client import visiting

router = APIRouter(tags=["<i>test</i>"])


@router.get("/things")
async def things(limit: Annotated[int, Query(ge=1, le=200)] = 50) -> list[int]:
    """Things, <b>bold</b> ones."""
    if limit == 13:
        raise BadInput("13 is no number of things")
    if limit == 14:
        raise NotFound("there are not 14 things")
    return [limit]


def test_every_route_declares_how_it_can_be_refused_in_one_shape() -> None:
    document = make_api(extra=[router]).openapi()
    for path, methods in document["paths"].items():
        assert path.startswith("/v1/")
        for method, operation in methods.items():
            for status in PROBLEMS:
                schema = operation["responses"][str(status)]["content"]["application/json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/Problem"}, (method, path, status)
    assert "/v1/things" in document["paths"]
    assert document["security"] == [{"bearer": []}, {"session": []}]


def test_every_limit_of_the_api_is_bounded() -> None:
    for path, methods in make_api().openapi()["paths"].items():
        for operation in methods.values():
            for parameter in operation.get("parameters", ()):
                if parameter["schema"].get("type") in ("integer", "number"):
                    assert "maximum" in parameter["schema"], (path, parameter["name"])


async def test_what_is_wrong_is_said_in_one_shape() -> None:
    async with fresh_client(App()) as client, visiting(client, application=_with_things(client)) as visitor:
        answers = {
            limit: await visitor.get(f"/api/v1/things?limit={limit}") for limit in ("1", "13", "14", "0", "201", "x")
        }
        method = await visitor.get("/api/v1/no/such")
    statuses = {limit: answer.status_code for limit, answer in answers.items()}
    assert statuses == {"1": 200, "13": 400, "14": 404, "0": 422, "201": 422, "x": 422}
    assert answers["13"].json() == {"error": {"code": "bad_request", "message": "13 is no number of things"}}
    assert answers["14"].json() == {"error": {"code": "not_found", "message": "there are not 14 things"}}
    assert answers["x"].json()["error"]["message"].startswith("query.limit: ")
    assert method.json()["error"]["code"] == "not_found"


async def test_the_page_of_the_api_names_every_route_and_is_text() -> None:
    async with fresh_client(App()) as client, visiting(client, application=_with_things(client)) as visitor:
        page = await visitor.get("/api/docs", headers={"Accept": "text/html"})
    assert page.status_code == 200
    assert "/api/v1/things" in page.text
    assert "integer, 1 to 200 (default 50)" in page.text
    assert "&lt;b&gt;bold" in page.text
    assert "<i>test" not in page.text


def _with_things(client: Client) -> Starlette:
    return make_application(client, Access(person="ada"), routers=[router])


def test_a_schema_is_said_in_a_few_words() -> None:
    text = {"anyOf": [{"type": "string", "maxLength": 2_000}, {"type": "null"}]}
    assert type_words(text) == "string, at most 2,000 or null"
    assert type_words({"type": "array", "items": {"enum": ["a", "b"]}}) == "list of a | b"
    assert type_words({"$ref": "#/components/schemas/Problem"}) == "Problem"
