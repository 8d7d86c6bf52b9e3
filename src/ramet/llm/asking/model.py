"""A model, its address and its price; and the connections to its provider."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, Self
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from ramet.llm.calls import key_for
from ramet.llm.pricing.prices import Price, price_of
from ramet.llm.providers.base import Mode, Provider
from ramet.llm.providers.registry import open_provider

Api = Literal["chat", "responses"]
GEMINI_URL = "https://generativelanguage.googleapis.com/v1beta/openai/"


@dataclass(frozen=True, slots=True)
class Model:
    """A model, and where it is asked.

    A text can be given instead: ``"gpt-5-mini"``, ``"anthropic:claude-sonnet-4-5"``, ``"gemini-2.5-flash"``.
    """

    name: str
    """Name of the model at the provider."""
    provider: str = "openai"
    """``openai``, for OpenAI and every server that speaks its API; ``anthropic``."""
    api: Api = "chat"
    """OpenAI's: chat completions, which every compatible server has, or the Responses API."""
    base_url: str | None = None
    """Address of a compatible server, such as ``http://localhost:8000/v1``; None: the provider's own."""
    price: str | None = None
    """``IN:OUT`` or ``IN:OUT:CACHED``, dollars per million tokens, or ``0`` for a server of one's own. None: as the
    price list says."""
    key_variable: str | None = None
    """The environment variable that holds the key; None: ``RAMET_LLM_API_KEY`` or the provider's own."""

    @classmethod
    def of(cls, model: Model | str) -> Model:
        """Return the model that a text names.

        ``PROVIDER:NAME`` names the provider (:data:`PROVIDERS`); without it, names that begin with ``claude`` or
        ``gemini`` are Anthropic's or Google's, and all others OpenAI's.
        """
        if isinstance(model, Model):
            return model
        prefix, colon, rest = model.partition(":")
        if colon and rest and prefix in PROVIDERS:
            return replace(PROVIDERS[prefix], name=rest)
        vendor = next((vendor for start, vendor in _BY_NAME.items() if model.startswith(start)), "openai")
        return replace(PROVIDERS[vendor], name=model)

    @property
    def place(self) -> str:
        """Place of the provider, for names of resources: ``openai``, ``openai@localhost:8000``. Jobs use the same."""
        if self.base_url is None:
            return self.provider
        return f"{self.provider}@{urlsplit(self.base_url).netloc.rpartition('@')[2]}"

    def resource(self, of: str) -> str:
        """Return the resource whose rate a call takes from: ``of`` is ``requests`` or ``tokens``."""
        return f"llm:{self.place}:{self.name}:{of}"

    def priced(self) -> Price:
        """Return the price.

        Raises:
            UnknownModel: the price list does not know the model: give ``price``.
            LlmError: the price that was given cannot be read.
        """
        return _price(self)

    @property
    def key(self) -> str | None:
        """The key, from the environment; None where there is none."""
        if self.key_variable is not None:
            return os.environ.get(self.key_variable) or None
        return key_for(self.provider)


PROVIDERS = {
    "openai": Model(""),
    "openai-responses": Model("", api="responses"),
    "anthropic": Model("", "anthropic"),
    "gemini": Model("", base_url=GEMINI_URL, key_variable="GEMINI_API_KEY"),
}
"""Prefix of a model's text before the colon -> the model that it makes."""
_BY_NAME = {"claude": "anthropic", "gemini": "gemini"}


@lru_cache(maxsize=256)
def _price(model: Model) -> Price:
    return price_of(model.name, model.provider, model.price, base_url=model.base_url)


def open_model(model: Model) -> Provider:
    """Return the provider of a model, ready for calls.

    Raises:
        ExtraMissing: its SDK is not installed.
        LlmError: the address or the API is not valid, or a key is missing.
    """
    if model.provider == "openai" and model.api == "responses":
        from ramet.llm.providers.openai_responses import open_responses

        return open_responses(model.base_url, model.key)
    return open_provider(model.provider, Mode.CHAT, base_url=model.base_url, api_key=model.key)


class Connections:
    """The providers that are open in each event loop."""

    def __init__(self, opener: Callable[[Model], Provider] = open_model) -> None:
        self.opener = opener
        """Function that opens a model's provider; tests put their own here."""
        self._open: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Model, Provider]] = WeakKeyDictionary()

    def provider(self, model: Model) -> Provider:
        """Return the provider of a model in this event loop; see :func:`open_model`."""
        opened = self._open.setdefault(asyncio.get_running_loop(), {})
        place = replace(model, name="", price=None)
        if place not in opened:
            opened[place] = self.opener(model)
        return opened[place]

    async def close(self) -> None:
        """Close what was opened in this event loop."""
        for provider in self._open.pop(asyncio.get_running_loop(), {}).values():
            await provider.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


connections = Connections()
