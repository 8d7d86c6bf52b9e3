"""``ramet`` for all pages of a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.shell import zygote


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with ``ramet`` for shells."""
    with zygote(tmp_path_factory.mktemp("ramet")) as folder:
        yield folder
