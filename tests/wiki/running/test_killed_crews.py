"""Workers on one expansion of a real MediaWiki, killed by kill -9 at random: the graph is that of a calm one."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from ramet.testing.postgres import Cluster
from ramet.wiki.expansion import prepare, submit
from ramet.wiki.pipeline import app
from tests.wiki.made_up_wikis import graph_of
from tests.wiki.mediawiki import MediaWiki
from tests.wiki.mediawiki_pages import ATLAS
from tests.wiki.mediawiki_truth import Truth
from tests.wiki.running.real_runs import DATABASE, GRAPH, check_graph, expand, settings_of
from tests.wiki.running.worker_crews import (
    BEFORE_LOADING,
    LEASE_SECONDS,
    LOADER,
    SWEEP_SECONDS,
    ask,
    crew_of,
    expand_command,
    left,
    moments_until,
    progress,
    worker_command,
)

for module in ("httpcore2", "ladybug"):
    pytest.importorskip(module, reason="the extra [wiki] is not installed")

pytestmark = pytest.mark.timeout(600)

KINDS_LIVE = "SELECT DISTINCT kind FROM ramet_live"


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory, running_wiki: MediaWiki) -> Path:
    """The folder of an expansion that nobody disturbed."""
    folder = tmp_path_factory.mktemp("calm")
    asyncio.run(expand(folder, running_wiki))
    return folder


@pytest.fixture
def troubled(tmp_path: Path) -> Path:
    folder = tmp_path / "troubled"
    folder.mkdir()
    return folder


def check_equal(database: str, folder: Path, calm: Path) -> None:
    """Node for node, edge for edge, row for row."""
    assert left(database) == left(str(calm / DATABASE))
    assert graph_of(folder) == graph_of(calm)
    check_graph(folder / GRAPH, Truth())


def begin(database: str, folder: Path, wiki: MediaWiki) -> None:
    """Submit a run for others to work on."""

    async def submitted() -> None:
        prepared = await prepare([ATLAS], settings_of(folder, wiki))
        async with app.client(database) as client:
            await client.settings.set("worker.lease_seconds", LEASE_SECONDS, by="test")
            await client.settings.set("maintenance.sweep_seconds", SWEEP_SECONDS, by="test")
            assert await submit(client, prepared)

    asyncio.run(submitted())


@pytest.mark.nightly
@pytest.mark.parametrize("kills", [2, 12])
def test_two_processes_on_a_file_killed_at_random_end_in_the_same_graph(
    calm: Path, troubled: Path, mediawiki: MediaWiki, kills: int
) -> None:
    database, rng = str(troubled / DATABASE), random.Random(kills)
    begin(database, troubled, mediawiki)
    commands = {
        "expand": expand_command(mediawiki, database, troubled),
        "worker": worker_command(database, *BEFORE_LOADING),
    }
    with crew_of(database, troubled, commands) as crew:
        crew.start()
        moments = moments_until(progress(str(calm / DATABASE)), kills, rng)
        crew.kill_at_random(("expand", "worker"), moments, rng)
        crew.wait(crew.ended, "the end")
    assert crew.kills >= kills // 2
    check_equal(database, troubled, calm)


@pytest.mark.nightly
@pytest.mark.parametrize("kills", [3, 12])
def test_three_processes_on_a_server_killed_at_random_end_in_the_same_graph(
    calm: Path, troubled: Path, mediawiki: MediaWiki, postgres_url: str, kills: int
) -> None:
    rng = random.Random(kills)
    begin(postgres_url, troubled, mediawiki)
    with crew_of(postgres_url, troubled, crew_commands(postgres_url)) as crew:
        crew.start()
        moments = moments_until(progress(str(calm / DATABASE)), kills, rng)
        crew.kill_at_random(("first", "second", "loader"), moments, rng)
        crew.wait(crew.ended, "the end")
    assert crew.kills >= kills // 2
    check_equal(postgres_url, troubled, calm)


def crew_commands(database: str) -> dict[str, list[str]]:
    """Two that fetch, parse and embed, and one that loads."""
    before = worker_command(database, *BEFORE_LOADING)
    return {"first": before, "second": before, "loader": worker_command(database, *LOADER)}


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A server of the test's own."""
    with Cluster() as cluster:
        yield cluster


@pytest.mark.nightly
def test_one_that_is_killed_and_a_server_that_restarts_in_the_middle_lose_nothing(
    calm: Path, troubled: Path, mediawiki: MediaWiki, cluster: Cluster
) -> None:
    database = cluster.create_database()
    begin(database, troubled, mediawiki)
    half = progress(str(calm / DATABASE)) // 2
    with crew_of(database, troubled, crew_commands(database)) as crew:
        crew.start()
        crew.kill_at_random(("first", "second"), [half // 2], random.Random(half))
        crew.wait(lambda: progress(database) >= half, "half of it")
        cluster.restart()
        crew.wait(crew.ended, "the end")
        assert crew.kills == 1
    check_equal(database, troubled, calm)


@pytest.mark.nightly
def test_a_loader_that_is_gone_is_waited_for_while_the_others_work(
    calm: Path, troubled: Path, mediawiki: MediaWiki, postgres_url: str
) -> None:
    begin(postgres_url, troubled, mediawiki)
    some = progress(str(calm / DATABASE)) // 4
    with crew_of(postgres_url, troubled, crew_commands(postgres_url)) as crew:
        crew.start()
        crew.wait(lambda: progress(postgres_url) >= some, "a quarter of it")
        crew.kill("loader")
        waiting = [("wiki.article.load",), ("wiki.level",)]
        crew.wait(lambda: ask(postgres_url, KINDS_LIVE) == waiting, "the others have done what they can")
        states = {state for _, _, _, state, *_ in left(postgres_url)["articles"]}
        assert "claimed" in states
        assert "discovered" not in states
        crew.start("loader")
        crew.wait(crew.ended, "the end")
    check_equal(postgres_url, troubled, calm)
