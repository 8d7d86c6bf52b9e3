"""Matches over HTTP: what the servers of `ramet serve` and `ramet dashboard` have besides their own routes.

``GET /jobs/matches`` needs the scope ``read``, ``POST /jobs/matches/marks`` the scope ``admin``: the server's guard
checks them before any route. The pipeline itself is imported at the first request.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ramet import Client, StoreError, UnknownKind
from ramet.commands.errors import UserError, one_line

if TYPE_CHECKING:  # It comes with the extra `web`, which the pipeline does not need.
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute

APP = "ramet.jobs.pipeline:app"
LIMIT, LIMIT_MAX = 100, 1_000


class MatchQuery(BaseModel):
    """Query of a reader: the options of `ramet jobs matches`; nothing is marked as seen."""

    model_config = ConfigDict(extra="forbid")

    status: list[str] | None = None
    all: bool = False
    closed: bool = False
    min_score: float | None = None
    limit: int = Field(default=LIMIT, ge=1, le=LIMIT_MAX)


class MarkBody(BaseModel):
    """Status that a person gives to matches."""

    model_config = ConfigDict(extra="forbid")

    ids: list[str] = Field(min_length=1, max_length=LIMIT_MAX)
    """Ids or short ids, as ``GET /jobs/matches`` has them, or addresses."""
    status: str
    note: str | None = None


def routes(client_of: Callable[[Request], Client]) -> list[BaseRoute]:
    """Return the routes, for the entry point ``ramet.dashboard`` of the package."""
    from starlette.routing import Route

    async def read(client: Client, request: Request) -> dict[str, Any]:
        from ramet.jobs.match_status import matches

        given: dict[str, Any] = dict(request.query_params)
        if "status" in given:
            given["status"] = request.query_params.getlist("status")
        asked = MatchQuery.model_validate(given)
        found = await matches(
            client, now=time.time(), statuses=asked.status, with_dismissed=asked.all, with_closed=asked.closed,
            min_score=asked.min_score,
        )  # fmt: skip
        return {"total": len(found), "matches": [one.as_json() for one in found[: asked.limit]]}

    async def mark(client: Client, request: Request) -> dict[str, Any]:
        from ramet.jobs.match_status import listing_ids_of
        from ramet.jobs.tasks.match_status import mark_matches

        wanted = MarkBody.model_validate_json(await request.body())
        listing_ids = await listing_ids_of(client, wanted.ids)
        by = request.state.visitor.by
        await mark_matches(client, listing_ids, wanted.status, note=wanted.note, by=by)
        return {"listing_ids": listing_ids, "status": wanted.status, "note": wanted.note}

    return [
        Route("/jobs/matches", _answered(client_of, read), name="jobs:matches", methods=["GET"]),
        Route("/jobs/matches/marks", _answered(client_of, mark), name="jobs:mark", methods=["POST"]),
    ]


def _answered(
    client_of: Callable[[Request], Client], handler: Callable[[Client, Request], Awaitable[dict[str, Any]]]
) -> Callable[[Request], Awaitable[Response]]:
    """Return the answer of a handler; an error that a user can correct as in the API: a status, a code and a line."""
    from starlette.responses import JSONResponse

    async def answer(request: Request) -> Response:
        try:
            return JSONResponse(await handler(client_of(request), request), headers={"Cache-Control": "no-store"})
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"])) or "the request"
            return _problem(400, "bad_input", f"{place}: {one_line(first['msg'])}")
        except (UserError, ValueError) as error:
            return _problem(400, "bad_input", one_line(str(error)))
        except UnknownKind:
            return _problem(409, "no_app", f"this server does not know the pipeline: start it with --app {APP}")
        except StoreError as error:
            if "jobs_" not in str(error):
                raise
            return _problem(404, "not_found", f"the database has no matches: start the server with --app {APP}")

    return answer


def _problem(status: int, code: str, message: str) -> Response:
    from starlette.responses import JSONResponse

    return JSONResponse({"error": {"code": code, "message": message}}, status)
