"""The page that says what is wrong with a request."""

from __future__ import annotations

from typing import Any, Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from ramet import StoreError
from ramet.commands.errors import one_line
from ramet.engine.base.logs import own_logger
from ramet.web.answer import encodable
from ramet.web.page import BadInput, NotFound, NothingDone, Page, RedirectTo, Visit, visit_of
from ramet.web.templating import address_of, render

log = own_logger("ramet.dashboard")

UNAVAILABLE = "the database cannot be read at the moment: the log of the dashboard says why; try again later"


async def _nothing(visit: Visit) -> dict[str, Any]:
    return {}


ERROR = Page("/error", "error", "error.html", _nothing, live=False)


async def refused(request: Request, error: Exception) -> Response:
    """Answer with one line that says what to do, and its status."""
    status, line = 400, str(error)
    if isinstance(error, NotFound):
        status = 404
    elif isinstance(error, HTTPException):
        status, line = error.status_code, f"{error.detail}: there is nothing at this address"
    else:
        assert isinstance(error, BadInput)
    return render(visit_of(request), ERROR, {"status": status, "line": line}, status)


async def led_on(request: Request, error: Exception) -> Response:
    """Redirect to the page of the thing that was asked for."""
    assert isinstance(error, RedirectTo)
    return RedirectResponse(address_of(request, error.name, **error.parts), 303)


async def unavailable(request: Request, error: Exception) -> Response:
    """Answer that the database is away, full or busy. Its message may name paths: only the log has it."""
    log.warning("the database could not be read: %s", one_line(error))
    headers = {"Retry-After": "5"}
    if "text/html" not in request.headers.get("accept", "") or request.url.path.startswith(("/api/", "/live")):
        return JSONResponse(problem(503, UNAVAILABLE), 503, headers)
    # The frame of a page is made without the database.
    answer = render(visit_of(request), ERROR, {"status": 503, "line": UNAVAILABLE}, 503)
    answer.headers.update(headers)
    return answer


CODES: Final = {
    400: "bad_request", 401: "unauthorized", 403: "forbidden", 404: "not_found", 405: "method_not_allowed",
    409: "conflict", 413: "too_large", 414: "too_long", 415: "not_json", 421: "wrong_host", 422: "invalid",
    429: "too_many", 500: "error", 503: "unavailable",
}  # fmt: skip
"""The word for a status, where nothing more exact is known."""


def problem(status: int, line: str, code: str | None = None) -> dict[str, Any]:
    """Return the body of an answer that says what is wrong."""
    return {"error": {"code": code or CODES.get(status, "error"), "message": line}}


SHOWN_MAX = 3
"""Mistakes of one request that are named."""


class ErrorDetail(BaseModel):
    """An error: a code for programs and a line for people."""

    model_config = ConfigDict(extra="forbid")

    code: str
    message: str


class Problem(BaseModel):
    """The answer to a request that was not done."""

    model_config = ConfigDict(extra="forbid")

    error: ErrorDetail


_MEANINGS = {
    400: "A parameter cannot be used.", 401: "No token, or one that is not known.",
    403: "The token may not do this.", 404: "There is no such thing.", 405: "Not with this method.",
    409: "The state of things does not allow it.", 413: "The body is too large.", 414: "The address is too long.",
    415: "The body is not JSON.", 421: "The name in the Host header is not answered.",
    422: "A parameter or field is missing, of the wrong type or out of bounds.",
    429: "Too many calls with this token, or too many wrong tokens from this address.",
    500: "A defect: the log has the details.",
    503: "The database cannot be read at the moment.",
}  # fmt: skip
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": meaning} for status, meaning in _MEANINGS.items()
}
"""Responses that every route declares besides its answer."""


def add_handlers(api: FastAPI) -> None:
    """Give every error of a route the one shape."""
    api.add_exception_handler(BadInput, _bad_input)
    api.add_exception_handler(NotFound, _not_found)
    api.add_exception_handler(HTTPException, refused_by_api)
    api.add_exception_handler(RequestValidationError, _invalid)
    api.add_exception_handler(StoreError, unavailable)


async def _bad_input(request: Request, error: Exception) -> Response:
    code: str | None = getattr(error, "code", None)  # A claim that is over says how.
    status = 409 if isinstance(error, NothingDone) or code is not None else 400
    return JSONResponse(problem(status, encodable(one_line(error)), code), status)


async def _not_found(request: Request, error: Exception) -> Response:
    return JSONResponse(problem(404, one_line(error.args[0])), 404)


async def refused_by_api(request: Request, error: Exception) -> Response:
    """Say in the one shape that there is no such route."""
    assert isinstance(error, HTTPException)
    return JSONResponse(problem(error.status_code, error.detail), error.status_code, error.headers)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    lines = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in found[:SHOWN_MAX]]
    if len(found) > SHOWN_MAX:
        lines.append(f"and {len(found) - SHOWN_MAX} more")
    return JSONResponse(problem(422, "; ".join(lines)), 422)
