"""How far a run is: what was settled, corrected by what the engine knows of each task."""

from __future__ import annotations

import io
import time
from pathlib import Path
from typing import Any

from rich.console import Console

from ramet import Client
from ramet.model import events as ev
from ramet.pipelines.wiki import tables, tasks
from ramet.pipelines.wiki.runs import ARTICLE, QUEUE, ArticlePayload, Run, RunSettings, limits_of
from ramet.pipelines.wiki.status import status_of
from ramet.pipelines.wiki.tables import WikiState
from ramet.pipelines.wiki.tasks import app
from ramet.pipelines.wiki.terminal import show_status
from ramet.store.base import Claimed, ClaimRequest, Settlement, Write

SETTINGS = RunSettings(source="x", data_dir="x", graph="x", semantic=False, max_articles=9, max_depth=2)
RUN = Run("wiki-test", ("A", "B", "C", "D"), SETTINGS)
DISCOVER = [Write(tables.DISCOVER, (RUN.tracking_id, title, title, 0, None)) for title in RUN.seeds]


async def submit(client: Client) -> None:
    await client.submit_many(
        [(tasks.article, ArticlePayload(title=title, run=SETTINGS)) for title in RUN.seeds],
        one_lineage=True,
        tracking_id=RUN.tracking_id,
        limits=limits_of(SETTINGS),
    )


async def claim(client: Client, limit: int) -> list[Claimed]:
    return await client.store.claim(ClaimRequest("test", [QUEUE], [ARTICLE], limit, 60.0))


def load(title: str, at: float) -> Write:
    return Write(tables.LOAD, (RUN.tracking_id, title, title, 0, 0, at))


async def settle(client: Client, claimed: Claimed, event: Any, *writes: Write) -> None:
    standing = claimed.standing
    [settled] = await client.store.settle([Settlement(standing.seq, standing.fence, event, writes=writes)])
    assert settled.refused is None


async def test_every_article_is_in_exactly_one_state_and_the_right_one(tmp_path: Path) -> None:
    async with app.client(tmp_path / "wiki.db") as client:
        await submit(client)
        assert (await status_of(client, RUN)).articles == 0
        a, b, c = await claim(client, 3)
        await settle(client, a, ev.Checkpoint(a.standing.fence, 60.0, tasks.LOADED), *DISCOVER, load("A", time.time()))
        await settle(client, b, ev.Fail(b.standing.fence, "not_found: x has no article 'B'"))
        status = await status_of(client, RUN)
        assert {state: count for state, count in status.depths[0].items() if count} == {
            WikiState.LOADED: 1,
            WikiState.FAILED: 1,
            WikiState.CLAIMED: 1,
            WikiState.DISCOVERED: 1,
        }
        assert (status.articles, status.loaded, status.ended, status.expected) == (4, 1, 2, 9)
        assert status.failures == {"not_found": 1}
        await settle(client, c, ev.Error(c.standing.fence, "OSError: disk", "transient", "f", 1.0))
        assert (await status_of(client, RUN)).states[WikiState.DISCOVERED] == 2


async def test_the_rate_and_the_time_left_come_from_what_was_loaded_lately(tmp_path: Path) -> None:
    now = time.time()
    async with app.client(tmp_path / "wiki.db") as client:
        await submit(client)
        a, b, c = await claim(client, 3)
        await settle(client, a, ev.Complete(a.standing.fence), load("A", now - 900))
        assert (await status_of(client, RUN, now=now)).articles_per_second is None
        await settle(client, b, ev.Complete(b.standing.fence), load("B", now - 4))
        await settle(client, c, ev.Complete(c.standing.fence), load("C", now - 2))
        status = await status_of(client, RUN, now=now)
    assert status.articles_per_second == 0.5
    assert status.eta_seconds == (9 - 3) / 0.5


async def test_a_run_on_which_nobody_works_says_how_to_continue(tmp_path: Path) -> None:
    async with app.client(tmp_path / "wiki.db") as client:
        await submit(client)
        status = await status_of(client, RUN)
    out = Console(file=io.StringIO(), width=80)
    out.print(show_status(status, str(tmp_path / "wiki.db"), None))
    shown = out.file.getvalue()  # type: ignore[attr-defined]
    assert "ramet wiki expand A B C D" in shown
    assert "--max-articles 9 --max-depth 2 --no-model" in " ".join(shown.split())
