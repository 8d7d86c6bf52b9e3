"""Actions in any order with any body: none is a defect, what is refused changes nothing, and the database stays sound.

The fuzzer of the document (test_api_fuzzed) asks with names that nobody has; here half of them are there.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from random import Random
from typing import Any, get_args
from urllib.parse import urlencode

import httpx
import pytest

from ramet import Client
from ramet.testing import drain, fresh_client
from ramet.web.access import Access
from ramet.web.actions import ACTIONS
from ramet.web.actions.action import Action
from ramet.web.actions.lineages import REASONS
from tests.invariants.check import violations
from tests.web.actions_app import app, crawl
from tests.web.browser.payloads import PAYLOADS
from tests.web.in_process_client import visiting

TOKEN = "admin-token-of-the-test"
BEARER = {"Authorization": f"Bearer {TOKEN}", "X-Ramet-By": "ada"}
JSON_TYPE = {"Content-Type": "application/json"}
FORM_TYPE = {"Content-Type": "application/x-www-form-urlencoded"}
REFUSED = (400, 404, 409, 422)
JUNK: tuple[Any, ...] = (
    None, True, 0, -1, 1, 2**31, 2**63, 10**400, 1e308, -0.5, float("nan"), float("inf"), "", " ", "0", "none", "NaN",
    "-1", "1e400", "\x00", "a\x00b", "\ud800", "\U0010ffff", "x" * 501, "y" * 10_001, [], [1], {}, {"a": 1}, [[]] * 50,
)  # fmt: skip
BODIES = (
    b"", b"{", b"null", b"[]", b'""', b"1", b"{}", b"\xff\xfe{}", b"\xef\xbb\xbf{}", b"{}{}", b'{"queue":}', b"{'a':1}",
    b'{"queue":"a","queue":"b"}', b'{"queue":"\\ud800"}', b'{"\\ud800":1}', b'{"\xed\xa0\x80":1}', b"[" * 30_000,
    b'{"a":' * 9_000, b'{"queue":1e999999}', b'{"queue":' + b"9" * 5_000 + b"}", b"NaN", b'{"queue":"a","x":NaN}',
    b'{"__proto__":{}}', b'{"":""}', b"queue=a&queue=b", b"%ff=%ff", b"=", b"&&&", b"queue=%00", b"queue=%ed%a0%80",
    b"reason=" + b"r" * 501, b'{"queue":"a","reason":"' + b"r" * 501 + b'"}', b'{"queue":"a","reason":["x"]}',
)  # fmt: skip


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    """Something of everything that actions are about."""
    async with fresh_client(app, folder=tmp_path) as client:
        await client.stop("pattern", "*stopped.org/*")
        for name, url in (("a", "https://e.org/fail"), ("b", "https://deep.stopped.org"), ("c", "https://deep.org")):
            await client.submit(crawl, url, tracking_id=name)
        for _ in range(5):
            await drain(app, client, advance=False)
            failed = [task.id async for task in client.all_tasks(states=["failed"])]
            await client.revive(failed, by="nobody")
        await client.check_alerts()
        for name in ("d", "e", "f"):
            await client.submit(crawl, f"https://{name}.org/", tracking_id=name, path=["p", name], delay_seconds=60)
        await client.schedules.add(crawl, "https://g.org/", name="hourly", cron="@hourly")
        await client.limit("queue", "default", 100)
        await client.open_breaker("host:e.org")
        yield client


async def names(client: Client) -> dict[str, tuple[Any, ...]]:
    """What is there, by the field that names it."""
    tasks = [task.id async for task in client.all_tasks()]
    return {
        "task_id": tuple(tasks), "tracking_id": tuple(one.tracking_id for one in await client.lineages()),
        "queue": ("default", "nightly"), "kind": ("crawl",), "resource": ("host:e.org", "host:f.org"),
        "pattern": ("host:*", "host:e.org"), "name": ("hourly", "limits.max_tasks", "limits.max_attempts"),
        "entry_type": ("host", "domain", "pattern"), "alert_id": tuple(one.id for one in await client.alerts()),
        "value": ("e.org", "*stopped.org/*", "7", "none"), "reasons": (",".join(REASONS), "stop_list"),
        "concurrency": (1, 50, "none"), "extend_seconds": (1.0, 3_600.0), "priority": (0, 7),
        "delay_seconds": (0.0, 60.0), "path": ("p", "p:a"), "on_drained": ("crawl",),
        "payload": ('"https://late.org/"',),
    }  # fmt: skip


def body_of(action: Action, known: dict[str, tuple[Any, ...]], random: Random) -> dict[str, Any]:
    """A body that may be right: each field known, hostile, junk or left out."""
    made: dict[str, Any] = {"reason": random.choice([None, "as agreed", *PAYLOADS.values()])}
    for name, field in action.fields.model_fields.items():
        drawn = random.random()
        if drawn < 0.6 and known.get(name):
            made[name] = random.choice(known[name])
        elif drawn < 0.7:
            made[name] = random.choice([*PAYLOADS.values()])
        elif drawn < 0.8:
            made[name] = random.choice(JUNK)
        elif drawn < 0.9 and int in get_args(field.annotation):
            made[name] = random.choice([0, 1, 10, 10**6, 10**12])
    return made


async def everything(client: Client) -> dict[str, list[tuple[Any, ...]]]:
    """All rows."""
    tables = await client.read("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'ramet_%'")
    return {name: await client.read(f"SELECT * FROM {name}") for (name,) in tables}


def wrong(answer: httpx.Response) -> str | None:
    """What is wrong with how an action was answered; None for nothing."""
    if answer.status_code == 200:
        return None if answer.json().keys() == {"told", "result"} else "another shape"
    if answer.status_code not in REFUSED:
        return f"status {answer.status_code}: {answer.text[:200]}"
    line = answer.json()["error"]["message"]
    return None if 0 < len(line) <= 3_000 and "\n" not in line else f"no line: {line[:200]!r}"


async def act_at_random(client: Client, seed: int, times: int) -> set[str]:
    """Do it; the names of those actions that did something."""
    random, did, known = Random(seed), set(), await names(client)
    async with visiting(client, Access(TOKEN)) as visitor:
        visitor.headers.update(BEARER)
        for number in range(times):
            action = random.choice([*ACTIONS.values()])
            body = json.dumps(body_of(action, known, random))
            before = await everything(client) if number % 10 == 0 else None
            answer = await visitor.post(f"/api/v1/actions/{action.name}", content=body, headers=JSON_TYPE)
            assert wrong(answer) is None, f"{action.name} {body[:300]}: {wrong(answer)}"
            if answer.status_code == 200:
                did.add(action.name)
            elif before is not None:
                assert await everything(client) == before, f"{action.name} {body[:300]}: {answer.text}"
    await drain(app, client, advance=False)
    assert await violations(client.store) == []
    return did


async def test_actions_in_any_order_leave_a_sound_database(client: Client) -> None:
    did = await act_at_random(client, 1, 650)
    assert len(did) > len(ACTIONS) * 2 / 3, did


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2, 12))
async def test_many_actions_in_any_order_leave_a_sound_database(client: Client, seed: int) -> None:
    assert await act_at_random(client, seed, 2_000)


@pytest.mark.parametrize("address", ["/api/v1/actions/{}", "/act/{}"], ids=["machines", "people"])
@pytest.mark.parametrize("kind", [JSON_TYPE, FORM_TYPE, {}], ids=["as JSON", "as a form", "as nothing"])
async def test_no_body_of_an_action_is_a_defect(client: Client, address: str, kind: dict[str, str]) -> None:
    async with visiting(client, Access(TOKEN)) as visitor:
        visitor.headers.update(BEARER)
        for name in ("pause-queue", "raise-limits"):
            for body in BODIES:
                answer = await visitor.post(address.format(name), content=body, headers=kind)
                assert answer.status_code < 500, f"{name} {body[:60]!r}: {answer.text}"
    assert await violations(client.store) == []


@pytest.mark.parametrize("encode", [urlencode, json.dumps], ids=["form", "JSON"])
async def test_no_field_of_an_action_is_a_defect(client: Client, encode: Callable[[Any], str]) -> None:
    """Each field of each action with each piece of junk, the others being right."""
    random, known = Random(1), await names(client)
    address, kind = ("/act/{}", FORM_TYPE) if encode is urlencode else ("/api/v1/actions/{}", JSON_TYPE)
    async with visiting(client, Access(TOKEN)) as visitor:
        visitor.headers.update(BEARER)
        for action in ACTIONS.values():
            good = {name: random.choice(known[name]) for name in action.fields.model_fields if known.get(name)}
            for name in (*action.fields.model_fields, "reason"):
                for junk in random.sample(JUNK, 6):
                    if encode is json.dumps or not isinstance(junk, str) or junk.isprintable():
                        body = encode({**good, name: junk})
                        answer = await visitor.post(address.format(action.name), content=body, headers=kind)
                        assert answer.status_code < 500, f"{action.name} {name}={junk!r:.80}: {answer.text[:300]}"
    await drain(app, client, advance=False)
    assert await violations(client.store) == []
