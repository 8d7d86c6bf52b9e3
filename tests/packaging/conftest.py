"""The release is built and installed once, however many processes run the tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.packaging.installed import Environment, Release, build, make_environment, once, release_in


@pytest.fixture(scope="session")
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of this run have in common."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if hasattr(request.config, "workerinput") else base


@pytest.fixture(scope="session")
def release(shared: Path) -> Release:
    folder = shared / "packaging"
    with once(folder) as first:
        if first:
            build(folder)
    return release_in(folder)


@pytest.fixture(scope="session")
def environment(shared: Path, release: Release) -> Environment:
    folder = shared / "installed"
    with once(folder) as first:
        if first:
            make_environment(folder / "env", release.wheel)
    return Environment(folder / "env")
