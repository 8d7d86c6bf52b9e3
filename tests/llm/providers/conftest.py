"""Our own stand-in and scripted servers, with adapters on them whose answers the SDKs' own types check."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack

import pytest

from ramet.llm.providers.anthropic_batches import AnthropicBatches
from ramet.llm.providers.anthropic_client import AnthropicClient
from ramet.llm.providers.base import Mode, Provider
from ramet.llm.providers.registry import open_provider
from ramet.llm.testing.server import StandIn
from tests.llm.providers.anthropic_account import OnScript
from tests.llm.providers.scripted_server import Call, Said, scripted

Opened = Callable[[Mode], Provider]


@pytest.fixture
def standin() -> Iterator[StandIn]:
    """A stand-in that follows the default script."""
    with StandIn() as running:
        yield running


@pytest.fixture
async def opened(standin: StandIn) -> AsyncIterator[Opened]:
    """Opens strict adapters on the stand-in, and closes them after the test."""
    pytest.importorskip("openai", reason="the extra [llm] is not installed")
    async with AsyncExitStack() as stack:

        def open_in(mode: Mode) -> Provider:
            provider = open_provider("openai", mode, base_url=standin.url, api_key="sk-secret-key", strict=True)
            stack.push_async_callback(provider.close)
            return provider

        yield open_in


@pytest.fixture
async def on_script() -> AsyncIterator[OnScript]:
    """Opens Anthropic's batches on a server that answers by a script; both end with the test."""
    pytest.importorskip("anthropic", reason="the extra [anthropic] is not installed")
    async with AsyncExitStack() as stack:

        def open_on(script: Callable[[Call], Said]) -> AnthropicBatches:
            server = stack.enter_context(scripted(script))
            provider = AnthropicBatches(AnthropicClient(base_url=server.url, api_key="sk-ant-secret", strict=True))
            stack.push_async_callback(provider.close)
            return provider

        yield open_on
