"""Our own stand-in, and adapters of OpenAI's API on it whose answers the SDK's own types check."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack

import pytest

from ramet.pipelines.llm.providers.base import Mode, Provider
from ramet.pipelines.llm.providers.opening import open_provider
from ramet.pipelines.llm.standin.server import StandIn

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
