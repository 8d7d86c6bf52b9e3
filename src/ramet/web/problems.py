"""What is wrong with a request, for machines: one shape for every status, whoever says it."""

from __future__ import annotations

from typing import Any, Final

CODES: Final = {
    400: "bad_request", 401: "unauthorized", 403: "forbidden", 404: "not_found", 405: "method_not_allowed",
    409: "conflict", 413: "too_large", 414: "too_long", 415: "not_json", 421: "wrong_host", 422: "invalid",
    429: "too_many", 500: "error", 503: "unavailable",
}  # fmt: skip
"""The word for a status, where nothing more exact is known."""


def problem(status: int, line: str, code: str | None = None) -> dict[str, Any]:
    """The body of an answer that says what is wrong."""
    return {"error": {"code": code or CODES.get(status, "error"), "message": line}}
