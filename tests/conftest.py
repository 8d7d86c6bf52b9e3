"""Fixtures and rules of all tests.

``--target NAME`` runs the cases of one target (``tests/gate``). A test that skips proves nothing: in CI (``CI=true``) a
skip is a failure, unless it is listed here with its reason.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

from tests.gate import targets
from tests.gate.durations import RECORD, Durations, longest_first, recorded
from tests.gate.needs import Needs

if TYPE_CHECKING:
    from tests.postgres.bouncer import Bouncer

ALLOWED_IN_CI: dict[str, str] = {
    "tests/examples/test_retrievers.py::test_llamaindex": "LlamaIndex brings 270 MB for an example of forty lines",
    "tests/models/test_models.py": "spin and gcc are no Python packages: .ci/run installs them where it may",
    "tests/postgres/test_behind_a_bouncer.py": "pgbouncer is no Python package: .ci/run installs it where it may",
    "tests/postgres/test_bouncer.py": "pgbouncer is no Python package: .ci/run installs it where it may",
    "tests/web/browser/": "a browser is no Python package: .ci/run installs Chromium where it may",
}
"""Test id (or its beginning) to the reason why it may skip in CI."""

_skipped: list[str] = []


PROJECT = Path(__file__).parents[1]
FIXTURES = {
    targets.SERVER: {"bouncer", "postgres_url", "ramet_postgres_url"},
    targets.PROCESS: {
        "built_wiki", "environment", "minilm", "programs", "release", "running_aimock", "running_llmock",
        "running_wiki",
    },
    targets.NETWORK: {"running_standin"},
    targets.BROWSER: {"chromium"},
}  # fmt: skip
"""A mark to the shared fixtures that need it."""

# How long an example takes says how busy the machine is, and nothing of the code under test.
hypothesis.settings.register_profile(
    "ramet", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow], print_blob=True
)
hypothesis.settings.load_profile("ramet")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--target", choices=targets.TARGETS, help="run the cases of this target only")
    parser.addoption(RECORD, action="store_true", help="renew the target's part of tests/durations.json")


@pytest.fixture
def postgres_url() -> Iterator[str]:
    """The address of an empty PostgreSQL database of the test's own, dropped after it."""
    from tests.postgres.servers import databases

    url = databases().create()
    yield url
    databases().drop(url)


@pytest.fixture
def ramet_postgres_url() -> Iterator[str]:
    """The address of a PostgreSQL database of the test's own with ramet's tables in it, dropped after it."""
    from tests.postgres.servers import databases

    url = databases().create(migrated=True)
    yield url
    databases().drop(url)


@pytest.fixture
def bouncer() -> Iterator[Bouncer]:
    """A pooler in transaction mode before the server of ``postgres_url``; skips where there is no pgbouncer."""
    from tests.postgres.bouncer import MISSING, Bouncer, program
    from tests.postgres.servers import databases

    if program() is None:
        pytest.skip(MISSING)
    with Bouncer(databases().url) as bouncer:
        yield bouncer


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    from tests.gate.parallel import workers

    return workers()


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    # A shell that runs this in the background has both ignored, and every process that tests start would be deaf.
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)
    if hasattr(config, "workerinput"):
        # A socket's path has a hundred bytes at most, and much of that is a test's name.
        folder = Path(config.option.basetemp)
        config.option.basetemp = folder.with_name(folder.name.removeprefix("popen-gw"))
    else:
        config.pluginmanager.register(Durations(config.getoption("--target")))
    config.pluginmanager.register(Needs())


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    target = config.getoption("--target")
    if target is None or not collection_path.is_relative_to(PROJECT / "tests"):
        return None
    return not targets.may_hold(collection_path.relative_to(PROJECT).as_posix(), target) or None


def pytest_itemcollected(item: pytest.Item) -> None:
    """Add the marks that a case's fixtures and parameters imply."""
    used = getattr(item, "fixturenames", ())
    for mark, fixtures in FIXTURES.items():
        if not fixtures.isdisjoint(used):
            item.add_marker(mark)
    if hasattr(item, "callspec") and "postgres" in item.callspec.params.values():
        item.add_marker(targets.SERVER)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the target's cases; without a target and without ``-m``, all but the nightly ones."""
    target = config.getoption("--target")
    if target is None and config.getoption("-m"):
        return
    chosen: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        found = targets.target_of(item.path.relative_to(PROJECT).as_posix(), marks)
        (chosen if found == target or (target is None and found != targets.NIGHTLY) else others).append(item)
    config.hook.pytest_deselected(items=others)
    if target is not None:
        longest_first(chosen, recorded().get(target, {}))
    items[:] = chosen


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    # Most of a million objects that live to the end: no collection of garbage needs to look at them again.
    gc.collect()
    gc.freeze()


def pytest_sessionstart(session: pytest.Session) -> None:
    plugins = session.config.pluginmanager
    terminal = plugins.get_plugin("terminalreporter")
    if terminal is not None and plugins.has_plugin("dsession"):
        from tests.gate.parallel import Progress

        plugins.register(Progress(terminal))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """What a test left open when it failed is found now, not in the middle of another one, which would fail for it."""
    kept = [name for name in ("last_type", "last_value", "last_traceback", "last_exc") if hasattr(sys, name)]
    for name in kept:  # All that the test had in hand lives on in its traceback, which nobody asks for any more.
        delattr(sys, name)
    if kept:
        gc.collect()


def unexpected_skips(skipped: list[str], allowed: dict[str, str]) -> list[str]:
    """Those that no entry covers."""
    return [name for name in skipped if not any(name.startswith(known) for known in allowed)]


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail"):
        _skipped.append(report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.skipped:
        _skipped.append(report.nodeid)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    found = unexpected_skips(_skipped, ALLOWED_IN_CI)
    if found and os.environ.get("CI") == "true" and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    found = unexpected_skips(_skipped, ALLOWED_IN_CI)
    if found and os.environ.get("CI") == "true":
        terminalreporter.section("skipped in CI without a listed reason: these count as failed", red=True)
        for name in found:
            terminalreporter.write_line(name)
