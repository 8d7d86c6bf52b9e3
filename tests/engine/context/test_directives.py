"""``ctx.hold_key`` and ``ctx.switch_off``: from handlers of every sort and from pullers, and what may not be asked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ramet import ClaimLost, Client, Context, Permanent
from ramet.testing import run_task
from tests.engine.apps.directives_app import OFF, app
from tests.support.waiting import worked_off

TARGET = "tests.engine.apps.directives_app:app"
SOURCE = "source:acme"


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with app.client(tmp_path / "ramet.db") as client:
        yield client


async def held_for(client: Client, key: str) -> float | None:
    """Seconds for which the key is held after its holder's end; None when it is free."""
    found = await client.read(
        "SELECT u.held_until - t.finished_at FROM ramet_uniques u JOIN ramet_tasks t ON t.seq = u.seq WHERE u.key = ?",
        (key,),
    )
    return None if not found else round(float(found[0][0]), 3)


async def is_off(client: Client) -> str | None:
    found = await client.resources(SOURCE)
    return found[0].opened_reason if found else None


class Asked(NamedTuple):
    """What a handler asks for, and what comes of it."""

    payload: dict[str, Any]
    held_for: float | None
    off: bool = False


ASKED = {
    "an exception drops both": Asked({"hold": 0, "source": SOURCE, "end": "raise"}, 86_400.0),
    "nothing asked": Asked({}, 3_600.0),
    "freed": Asked({"hold": 0}, None),
    "held for less": Asked({"hold": 60}, 60.0),
    "held for as long as its kind may": Asked({"hold": 1e9}, 3_600.0),
    "filtered": Asked({"hold": 60, "end": "filter"}, 60.0),
    "switched off": Asked({"hold": 0, "source": SOURCE}, None, off=True),
    "switched off at a checkpoint": Asked({"hold": 60, "source": SOURCE, "checkpoint": True}, 60.0, off=True),
    "a checkpoint is kept": Asked({"source": SOURCE, "checkpoint": True, "end": "raise"}, 86_400.0, off=True),
}


@pytest.mark.parametrize("what", ASKED)
@pytest.mark.parametrize("kind", ["held", "plain"])
async def test_what_a_handler_asked_for_comes_with_its_end(client: Client, kind: str, what: str) -> None:
    asked = ASKED[what]
    await client.submit(kind, {"key": "a", **asked.payload})
    await worked_off(app, client)
    assert await held_for(client, "a") == asked.held_for
    assert await is_off(client) == (OFF if asked.off else None)


async def test_from_another_process_it_comes_too(client: Client) -> None:
    await client.submit("apart", {"key": "a", "hold": 60, "source": SOURCE})
    await client.submit("apart", {"key": "b", "hold": 0})
    await worked_off(app, client, target=TARGET)
    assert (await held_for(client, "a"), await held_for(client, "b")) == (60.0, None)
    assert await is_off(client) == OFF


async def test_a_puller_asks_as_a_handler_does(client: Client) -> None:
    await client.submit("held", {"key": "a", "source": SOURCE})
    [claim] = await client.claim("held")
    claim.hold_key(60)
    claim.switch_off(OFF)
    await claim.skip("no need")
    assert (await held_for(client, "a"), await is_off(client)) == (60.0, OFF)


async def test_a_puller_whose_claim_is_lost_holds_and_switches_nothing(client: Client) -> None:
    submitted = await client.submit("held", {"key": "a", "source": SOURCE})
    [claim] = await client.claim("held")
    claim.hold_key(0)
    claim.switch_off(OFF)
    assert await client.cancel(submitted.id)
    with pytest.raises(ClaimLost):
        await claim.complete()
    assert await is_off(client) is None


def test_a_plain_puller_asks_too(tmp_path: Path) -> None:
    with app.sync_client(tmp_path / "ramet.db") as client:
        client.submit("held", {"key": "a", "source": SOURCE})
        [claim] = client.claim("held")
        claim.hold_key(0)
        claim.switch_off(OFF)
        claim.complete()
        assert [row.opened_reason for row in client.resources(SOURCE)] == [OFF]
        assert client.submit("held", {"key": "a", "source": SOURCE}).created


async def test_a_run_of_one_handler_tells_what_it_asked_for() -> None:
    run = await run_task(app, "held", {"key": "a", "hold": 60, "source": SOURCE, "checkpoint": True})
    assert (run.hold_seconds, run.switched_off) == (60.0, OFF)


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), "60", None, True])
async def test_a_hold_that_is_no_time_is_refused(client: Client, seconds: Any) -> None:
    await client.submit("held", {"key": "a"})
    [claim] = await client.claim("held")
    with pytest.raises(ValueError, match="give a number of seconds, 0 or more"):
        claim.hold_key(seconds)
    await claim.complete()
    assert await held_for(client, "a") == 3_600.0


async def test_what_a_task_does_not_have_is_neither_held_nor_switched_off(client: Client) -> None:
    other = type(app)()

    @other.task("page")
    async def page(ctx: Context) -> None:
        with pytest.raises(ValueError, match="kind 'page' is not unique over all lineages"):
            ctx.hold_key(0)
        with pytest.raises(ValueError, match=f"task {ctx.id} has no resource to switch off"):
            ctx.switch_off(OFF)
        raise Permanent("both were refused")

    run = await run_task(other, "page")
    assert run.error == "Permanent: both were refused"


async def test_a_reason_is_needed_and_any_text_is_one(client: Client) -> None:
    await client.submit("held", {"key": "a", "source": SOURCE})
    [claim] = await client.claim("held")
    with pytest.raises(ValueError, match="give one, people will ask"):
        claim.switch_off(" ")
    claim.switch_off("\ud800" + "x" * 5_000)
    await claim.complete()
    reason = await is_off(client)
    assert reason is not None
    assert (reason[:2], len(reason)) == ("?x", 2_000)
