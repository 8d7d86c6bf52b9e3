"""What tests in a browser share in a process: one Chromium, and one database with real runs of all pipelines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser

from tests.jobs.corpus import ABSENT as NO_JOBS
from tests.jobs.corpus import CORPUS as JOBS
from tests.web.browser.chromium import browser
from tests.web.runs.all_runs import Made, make
from tests.web.runs.wiki import ABSENT as NO_WIKI
from tests.web.runs.wiki import CORPUS as WIKI


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def chromium() -> AsyncIterator[Browser]:
    """A browser in which nobody has been yet: each visit is a visitor of its own (:func:`browsing.visit`).

    Its start takes longer than what most tests do with it.
    """
    async with browser() as started:
        yield started


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """About an hour of work of all pipelines, and two workers in the middle of theirs. It is only looked at."""
    if not WIKI.is_file():
        pytest.skip(NO_WIKI)
    if not JOBS.is_dir():
        pytest.skip(NO_JOBS)
    return asyncio.run(make(tmp_path_factory.mktemp("runs")))
