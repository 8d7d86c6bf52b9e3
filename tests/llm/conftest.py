"""Databases, and servers of models: those that others wrote run once a process, and forget between two tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.llm.providers.foreign_servers import AiMock, LlMock, without_aimock, without_llmock
from tests.support.backends import BACKENDS


@pytest.fixture(params=sorted(BACKENDS))
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str | None]:
    """The address of a PostgreSQL database, or None for a file."""
    made = BACKENDS[request.param](tmp_path)
    yield made.address if request.param == "postgres" else None
    made.close()


@pytest.fixture(scope="session")
def running_llmock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlMock]:
    if without_llmock():
        pytest.skip(without_llmock())
    with LlMock(tmp_path_factory.mktemp("llmock")) as server:
        yield server


@pytest.fixture(scope="session")
def running_aimock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AiMock]:
    if without_aimock():
        pytest.skip(without_aimock())
    with AiMock(tmp_path_factory.mktemp("aimock")) as server:
        yield server


@pytest.fixture
def llmock(running_llmock: LlMock) -> LlMock:
    """The package's server, with no faults and an empty journal. (Instead of its plugin's, which runs in a thread.)"""
    running_llmock.reset()
    return running_llmock


@pytest.fixture
def aimock(running_aimock: AiMock) -> AiMock:
    """The package's server, with no faults and an empty journal."""
    running_aimock.reset()
    return running_aimock
