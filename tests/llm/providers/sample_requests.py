"""Requests for the tests of providers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ramet.llm.requests import Request, identity

MODEL = "gpt-5.2"


def question(
    text: str,
    *,
    most: int = 100,
    parameters: Mapping[str, Any] | None = None,
    schema: Mapping[str, Any] | None = None,
) -> Request:
    """One question, as the pipeline would ask it."""
    messages = ({"role": "user", "content": text},)
    key = identity(MODEL, messages, most, parameters or {}, schema)
    return Request(key, MODEL, messages, most, parameters or {}, schema)
