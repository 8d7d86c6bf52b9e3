"""Requests as the tests of prices make them."""

from __future__ import annotations

from typing import Any

from ramet.llm.requests import Request, identity


def asked(content: Any = "What is a ramet?", *, model: str = "gpt-5.2", most: int = 500, **more: Any) -> Request:
    """One question of one message."""
    messages = ({"role": "user", "content": content},)
    parameters, schema = more.get("parameters", {}), more.get("schema")
    return Request(identity(model, messages, most, parameters, schema), model, messages, most, parameters, schema)
