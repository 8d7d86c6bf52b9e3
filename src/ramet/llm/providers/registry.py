"""Providers by name, and checks of a request before anything is opened, stored or sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ramet.llm.errors import LlmError, Refused
from ramet.llm.providers.base import CHAT_CAPS, Capabilities, Gateway, Mode, Provider
from ramet.llm.requests import Request


def check_request(name: str, mode: Mode, request: Request) -> None:
    """Do nothing if a provider in a mode takes such a request, as far as that can be known here.

    Args:
        name: of a provider that `open_provider` knows.
        mode: one that it has.
        request: what would be asked.

    Raises:
        Refused: a parameter, tool or message is none that is sent on to it; the message names which and why.
    """
    _translation(name, mode, request)(request)


def _translation(name: str, mode: Mode, request: Request) -> Callable[[Request], dict[str, Any]]:
    embeds = request.endpoint == "embeddings"
    if embeds and (name == "anthropic" or mode is Mode.BACKGROUND):
        place = "Anthropic" if name == "anthropic" else "mode background"
        raise Refused(f"{place} has no embeddings: use openai in mode chat or batch", "invalid_request")
    if embeds:
        from ramet.llm.providers.openai_bodies import embedding_body

        return embedding_body
    if name == "anthropic":
        from ramet.llm.providers.anthropic_messages import message_body

        return message_body
    from ramet.llm.providers.openai_bodies import chat_body, response_body

    return response_body if mode is Mode.BACKGROUND else chat_body


OPENAI_KEY = "OPENAI_API_KEY"
ANTHROPIC_KEY = "ANTHROPIC_API_KEY"

_OPENAI_HOSTS = ("api.openai.com", ".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")


class Account(NamedTuple):
    """Server and key of a provider, as :func:`open_provider` was given them."""

    base_url: str | None
    api_key: str | None
    organization: str | None
    strict: bool
    gateway: Gateway


Open = Callable[[Mode, Account], Provider]
"""Opens a vendor's provider in a mode that it has."""


def open_provider(
    name: str,
    mode: Mode,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    organization: str | None = None,
    strict: bool = False,
    gateway: Gateway | None = None,
) -> Provider:
    """Return a provider that is ready for calls; none is made yet. Belongs to the running event loop; close it.

    Args:
        name: ``openai``, for OpenAI and every server that speaks its API; ``anthropic``.
        mode: of those that the vendor has.
        base_url: of a compatible server; None: the vendor's own.
        api_key: the caller reads it from the environment; None: none, which only a server of one's own takes.
        organization: OpenAI's, for a key that belongs to several.
        strict: whether answers must be exactly what the SDK's types say; for tests.
        gateway: settings of a gateway before it, if it needs any.

    Raises:
        ExtraMissing: its SDK is not installed.
        LlmError: there is no such provider or mode, the address is none, or a key is missing.
    """
    opened = PROVIDERS.get(name)
    if opened is None:
        raise _unknown(name)
    return opened(mode, Account(base_url, api_key, organization, strict, gateway or Gateway()))


def caps_of(name: str) -> Mapping[Mode, Capabilities]:
    """Return a provider's capabilities in each of its modes; nothing is opened.

    Raises:
        ExtraMissing: its SDK is not installed.
        LlmError: there is no such provider.
    """
    if name not in PROVIDERS:
        raise _unknown(name)
    if name == "anthropic":
        from ramet.llm.providers import anthropic_batches

        return {Mode.CHAT: CHAT_CAPS, Mode.BATCH: anthropic_batches.BATCH_CAPS}
    from ramet.llm.providers import openai_batch, openai_calls

    return {Mode.CHAT: CHAT_CAPS, Mode.BACKGROUND: openai_calls.BACKGROUND_CAPS, Mode.BATCH: openai_batch.BATCH_CAPS}


def _unknown(name: str) -> LlmError:
    later = " (gemini is not supported yet)" if name in ("gemini", "google") else ""
    return LlmError(f"there is no provider {name[:40]!a}{later}: use {' or '.join(sorted(PROVIDERS))}")


def _open_openai(mode: Mode, account: Account) -> Provider:
    from ramet.llm.providers.openai_batch import OpenAIBatch
    from ramet.llm.providers.openai_calls import OpenAIBackground, OpenAIChat, OpenAIClient

    gateway = account.gateway
    if account.base_url is None and not account.api_key and not gateway.headers:
        raise LlmError(f"OpenAI asks for a key: set {OPENAI_KEY}, or name another server with --base-url")
    client = OpenAIClient(**account._asdict())
    if mode is Mode.BACKGROUND:
        return OpenAIBackground(client)
    limit_name = gateway.limit_name or _limit_name(account.base_url)
    if mode is Mode.BATCH:
        return OpenAIBatch(client, limit_name=limit_name)
    return OpenAIChat(client, limit_name=limit_name)


def _open_anthropic(mode: Mode, account: Account) -> Provider:
    from ramet.llm.providers.anthropic_batches import AnthropicBatches
    from ramet.llm.providers.anthropic_client import AnthropicClient
    from ramet.llm.providers.anthropic_messages import AnthropicChat

    if mode is Mode.BACKGROUND:
        raise LlmError("Anthropic has no background mode: use batch or chat")
    base_url, api_key, organization, strict, gateway = account
    if organization is not None:
        raise LlmError("a key of Anthropic belongs to one organization: leave it out")
    if base_url is None and not api_key:
        raise LlmError(f"Anthropic asks for a key: set {ANTHROPIC_KEY}, or name another server with --base-url")
    if gateway.limit_name is not None:
        raise LlmError("Anthropic has one name for the limit of tokens: leave --limit-name out")
    client = AnthropicClient(base_url=base_url, api_key=api_key, strict=strict, gateway=gateway)
    return AnthropicBatches(client) if mode is Mode.BATCH else AnthropicChat(client)


def _limit_name(base_url: str | None) -> str:
    """How an answer's length is limited: OpenAI's newer models refuse the name that many other servers know alone."""
    host = urlsplit(base_url).hostname or "" if base_url else _OPENAI_HOSTS[0]
    known = host == _OPENAI_HOSTS[0] or host.endswith(_OPENAI_HOSTS[1:])
    return "max_completion_tokens" if known else "max_tokens"


PROVIDERS: Mapping[str, Open] = {"anthropic": _open_anthropic, "openai": _open_openai}
"""Name -> how it is opened. The place where another vendor is added."""
