"""Whether a provider can be asked something, told before anything is opened, stored or sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ramet.llm.providers.base import Mode
from ramet.llm.requests import Request


def check_request(name: str, mode: Mode, request: Request) -> None:
    """Do nothing if a provider in a mode takes such a request, as far as that can be told here.

    Args:
        name: of a provider that `open_provider` knows.
        mode: one that it has.
        request: what would be asked.

    Raises:
        Refused: a parameter, tool or message is none that is sent on to it; the message names which and why.
    """
    _translation(name, mode)(request)


def _translation(name: str, mode: Mode) -> Callable[[Request], dict[str, Any]]:
    if name == "anthropic":
        from ramet.llm.providers.anthropic_messages import message_body

        return message_body
    from ramet.llm.providers.openai_bodies import chat_body, response_body

    return response_body if mode is Mode.BACKGROUND else chat_body
