"""One Chromium for all tests of a process: its start takes longer than what most of them do with it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio
from playwright.async_api import Browser

from tests.web.browser.browsing import browser


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def chromium() -> AsyncIterator[Browser]:
    """A browser in which nobody has been yet: each visit is a visitor of its own (:func:`browsing.visit`)."""
    async with browser() as started:
        yield started
