"""What the API answers when it cannot do what was asked: one shape for every status."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from ramet import StoreError
from ramet.commands.errors import one_line
from ramet.web.errors import unavailable
from ramet.web.page import BadInput, NotFound, NothingDone
from ramet.web.problems import problem

SHOWN_MAX = 3
"""So many mistakes of one request are named."""


class Wrong(BaseModel):
    """What is wrong: a word for programs and a line for people."""

    model_config = ConfigDict(extra="forbid")

    code: str
    message: str


class Problem(BaseModel):
    """The answer to a request that was not done."""

    model_config = ConfigDict(extra="forbid")

    error: Wrong


_MEANINGS = {
    400: "A parameter cannot be used.", 401: "No token, or one that is not known.",
    403: "The token may not do this.", 404: "There is no such thing.", 405: "Not with this method.",
    409: "The state of things does not allow it.", 413: "The body is too large.", 414: "The address is too long.",
    415: "The body is no JSON.", 421: "The name in the Host header is not answered.",
    422: "A parameter or field is missing, of the wrong type or out of bounds.",
    429: "Too many wrong tokens came from this address.", 500: "A defect: the log has the details.",
    503: "The database cannot be read at the moment.",
}  # fmt: skip
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": meaning} for status, meaning in _MEANINGS.items()
}
"""What every route declares besides its answer."""


def add_handlers(api: FastAPI) -> None:
    """Give every error of a route the one shape."""
    api.add_exception_handler(BadInput, _bad_input)
    api.add_exception_handler(NotFound, _not_found)
    api.add_exception_handler(HTTPException, _refused)
    api.add_exception_handler(RequestValidationError, _invalid)
    api.add_exception_handler(StoreError, unavailable)


async def _bad_input(request: Request, error: Exception) -> Response:
    status = 409 if isinstance(error, NothingDone) else 400
    return JSONResponse(problem(status, one_line(error)), status)


async def _not_found(request: Request, error: Exception) -> Response:
    return JSONResponse(problem(404, one_line(error.args[0])), 404)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return JSONResponse(problem(error.status_code, error.detail), error.status_code, error.headers)


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    lines = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in found[:SHOWN_MAX]]
    if len(found) > SHOWN_MAX:
        lines.append(f"and {len(found) - SHOWN_MAX} more")
    return JSONResponse(problem(422, "; ".join(lines)), 422)
