"""The page that says what is wrong with a request."""

from __future__ import annotations

from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from ramet.commands.errors import one_line
from ramet.engine.base.logs import own_logger
from ramet.web.page import BadInput, Elsewhere, Look, NotFound, Page, look_of
from ramet.web.problems import problem
from ramet.web.templating import address_of, render

log = own_logger("ramet.dashboard")

UNAVAILABLE = "the database cannot be read at the moment: the log of the dashboard says why; try again later"


async def _nothing(look: Look) -> dict[str, Any]:
    return {}


ERROR = Page("/error", "error", "error.html", _nothing, live=False)


async def refused(request: Request, error: Exception) -> Response:
    """One line that says what to do, with the status that fits."""
    status, line = 400, str(error)
    if isinstance(error, NotFound):
        status = 404
    elif isinstance(error, HTTPException):
        status, line = error.status_code, f"{error.detail}: there is nothing at this address"
    else:
        assert isinstance(error, BadInput)
    return render(look_of(request), ERROR, {"status": status, "line": line}, status)


async def led_on(request: Request, error: Exception) -> Response:
    """What was asked for has a page of its own."""
    assert isinstance(error, Elsewhere)
    return RedirectResponse(address_of(request, error.name, **error.parts), 303)


async def unavailable(request: Request, error: Exception) -> Response:
    """The database is away, full or busy. What it says may name places: that is for the log only."""
    log.warning("the database could not be read: %s", one_line(error))
    headers = {"Retry-After": "5"}
    if "text/html" not in request.headers.get("accept", "") or request.url.path.startswith(("/api/", "/live")):
        return JSONResponse(problem(503, UNAVAILABLE), 503, headers)
    # The frame of a page is made without the database.
    answer = render(look_of(request), ERROR, {"status": 503, "line": UNAVAILABLE}, 503)
    answer.headers.update(headers)
    return answer
