"""Alerts over HTTP and through apprise, to a receiver of this test: signed, bounded, and known when they come twice."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from ramet import AlertNotice
from ramet.engine.alerts.channels import Channel, LogChannel, NotDelivered, configured
from ramet.engine.alerts.monitor import send_due, try_channels
from ramet.model.alerts.notifications import CLAIM_SECONDS, NoticeRules
from ramet.store.sqlite.store import SqliteStore
from ramet.telemetry.notify import webhook as module
from ramet.telemetry.notify.apprise import apprise, harmless
from ramet.telemetry.notify.webhook import Webhook, sign, verify, webhook
from tests.conformance.alerts.test_notifications import deepen, look
from tests.support.world import SettableClock, World

SECRET = "correct horse battery staple"
NOW = 1_800_000_000.0
BODY = {"id": "d1", "event": "fired", "text": "critical <!channel> @all\nlost", "alert": {"severity": "critical"}}
NOTICE = AlertNotice(1, 1, None, "fired", "webhook", "d1", BODY, NOW, 1, NOW, NOW, None, None, None)


class Received(NamedTuple):
    headers: dict[str, str]
    body: bytes


Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


def status(line: str, *headers: str) -> Answer:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write("\r\n".join([f"HTTP/1.1 {line}", "Content-Length: 0", *headers, "", ""]).encode())
        await writer.drain()

    return answer


async def cut(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def hang(writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(3_600)


async def garbage(writer: asyncio.StreamWriter) -> None:
    writer.write(b"220 mail.example.org\r\n")
    await writer.drain()


async def endless(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 2" + b"0" * 100_000)
    await writer.drain()


@asynccontextmanager
async def receiver(*answers: Answer) -> AsyncIterator[tuple[str, list[Received]]]:
    """A server that gives these answers in turn, the last one for ever: its address, and what it received."""
    received: list[Received] = []
    waiting: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        waiting.add(task)
        try:
            lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])}
            received.append(Received(headers, await reader.readexactly(int(headers["content-length"]))))
            await answers[min(len(received), len(answers)) - 1](writer)
        except (asyncio.CancelledError, ConnectionError):
            pass
        finally:
            waiting.discard(task)
            writer.transport.abort()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook?team=a", received
    finally:
        server.close()
        for task in [*waiting]:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def test_a_notice_is_posted_with_a_signature_over_time_and_body() -> None:
    async with receiver(status("204 No Content")) as (url, received):
        await Webhook(url, SECRET, clock=lambda: NOW).send(NOTICE)
    [told] = received
    assert json.loads(told.body) == BODY
    header = told.headers["x-ramet-signature"]
    assert verify(SECRET, header, told.body, NOW)
    assert not verify(SECRET, header, told.body + b" ", NOW)
    assert not verify("another secret", header, told.body, NOW)
    assert not verify(SECRET, header, told.body, NOW + 301)
    assert not verify(SECRET, header.replace("t=", "t=1"), told.body, NOW)
    assert (told.headers["x-ramet-delivery"], told.headers["x-ramet-event"]) == ("d1", "fired")


def test_a_signature_is_what_the_documentation_says() -> None:
    # openssl: printf '1.{}' | openssl dgst -sha256 -hmac secret
    assert sign("secret", b"{}", 1) == "t=1,v1=" + hmac.new(b"secret", b"1.{}", "sha256").hexdigest()


@pytest.mark.parametrize(
    ("answer", "why", "again"),
    [
        (status("500 Oops"), "it answered 500", True),
        (status("404 Not Found"), "it answered 404", True),
        (status("410 Gone"), "it answered 410", False),
        (status("302 Found", "Location: http://127.0.0.1:1/"), "redirects are not followed", True),
        (cut, "connection", True),
        (endless, "without an answer", True),
        (garbage, "the answer is not HTTP", True),
    ],
)
async def test_what_was_not_received_is_told_with_its_reason(answer: Answer, why: str, again: bool) -> None:
    async with receiver(answer) as (url, received):
        with pytest.raises(NotDelivered, match=why) as raised:
            await Webhook(url, SECRET).send(NOTICE)
    assert raised.value.again is again
    assert len(received) == 1
    assert SECRET not in str(raised.value)


async def test_a_receiver_that_hangs_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SEND_SECONDS", 0.05)
    async with receiver(hang) as (url, _):
        with pytest.raises(NotDelivered, match=r"no answer within 0\.05 s"):
            await Webhook(url, SECRET).send(NOTICE)


async def test_nobody_there_is_a_reason_too() -> None:
    async with receiver(cut) as (url, _):
        pass
    with pytest.raises(NotDelivered, match="no connection"):
        await Webhook(url, SECRET).send(NOTICE)


@pytest.mark.parametrize(
    "url",
    ["ftp://h/x", "https:///x", "http://hooks.example.org/x", "https://u:p@h/x", "https://h/x#y", "https://h/a\r\nb",
     "https://[", "https://h:99999/", "nonsense"],
)  # fmt: skip
def test_an_address_that_is_none_or_not_safe_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(ValueError, match="RAMET_ALERT_WEBHOOK_URL") as raised:
        webhook({module.URL: url, module.SECRET: SECRET})
    assert "u:p" not in str(raised.value)


def test_a_webhook_needs_a_secret_and_is_not_there_without_an_address() -> None:
    assert webhook({}) is None
    with pytest.raises(ValueError, match="16 or more characters"):
        webhook({module.URL: "https://h/x", module.SECRET: "short"})
    found = webhook({module.URL: "https://hooks.example.org/T0/token", module.SECRET: SECRET})
    assert found is not None
    assert found.target == "https://hooks.example.org/..."
    assert webhook({module.URL: "http://h/x", module.SECRET: SECRET, module.ALLOW_HTTP: "1"}) is not None


# --- apprise: what it imports warns of its own age

apprise_warns = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")


@apprise_warns
async def test_the_lines_of_a_message_stay_lines_and_mention_nobody() -> None:
    body = {"id": "d2", "event": "message", "text": "2 new matches", "lines": ["<!channel> one\nforged", "two @all"]}
    async with receiver(status("200 OK")) as (url, received):
        place = url.removeprefix("http://").partition("/")[0]
        channel = apprise({"RAMET_ALERT_APPRISE": f"json://{place}/a"})
        assert channel is not None
        await channel.send(NOTICE._replace(event="message", body=body))
    told = json.loads(received[0].body)
    assert (told["title"], told["type"]) == ("ramet: message", "info")
    first, second, third = told["message"].splitlines()
    assert first == "2 new matches"
    assert "<" not in second
    assert second.endswith("one forged")
    assert "@all" not in third


@apprise_warns
async def test_apprise_tells_its_services_and_a_failure_of_one_repeats_nothing_to_the_others() -> None:
    async with receiver(status("200 OK"), status("500 Oops"), status("200 OK")) as (url, received):
        place = url.removeprefix("http://").partition("/")[0]
        channel = apprise({"RAMET_ALERT_APPRISE": f"json://me:hunter2@{place}/a json://{place}/b"})
        assert channel is not None
        assert "hunter2" not in channel.target
        with pytest.raises(NotDelivered, match="1 of 2 did not take it") as raised:
            await channel.send(NOTICE)
        assert "hunter2" not in str(raised.value)
        await channel.send(NOTICE)
    assert len(received) == 3
    told = json.loads(received[0].body)
    assert told["message"].startswith("critical ‹!channel> @\u200ball lost")
    assert told["type"] == "failure"


@apprise_warns
async def test_a_service_tagged_critical_gets_only_that(tmp_path: Path) -> None:
    async with receiver(status("200 OK")) as (url, received):
        place = url.removeprefix("http://").partition("/")[0]
        (tmp_path / "file").write_text(f"critical=json://{place}/a\nwarning=json://{place}/b\njson://{place}/c\n")
        channel = apprise({"RAMET_ALERT_APPRISE_FILE": str(tmp_path / "file")})
        assert channel is not None
        await channel.send(NOTICE)
    assert len(received) == 2


@apprise_warns
@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"RAMET_ALERT_APPRISE": "json://x nonsense:hunter2"}, "address 2"),
        ({"RAMET_ALERT_APPRISE_FILE": "/none/x"}, "no file"),
    ],
)
def test_what_apprise_does_not_know_is_refused_without_repeating_it(given: dict[str, str], why: str) -> None:
    with pytest.raises(ValueError, match=why) as raised:
        apprise(given)
    assert "hunter2" not in str(raised.value)


def test_text_of_others_names_nobody_and_steers_nothing() -> None:
    assert harmless("a\x1b[31m@here <!channel>") == "a [31m@\u200bhere ‹!channel>"


# --- the loop of a worker


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """A database in which an alert fired that is to be told through a webhook."""
    clock = SettableClock()
    world = World(SqliteStore(tmp_path / "ramet.db", clock=clock, inline=True), clock)
    await world.store.see_alert_channels({"webhook": "here"})
    await deepen(world)
    await look(world)
    yield world
    await world.store.close()


class Broken:
    target = "nowhere"

    async def send(self, notice: AlertNotice) -> None:
        raise RuntimeError("https://user:hunter2@example.org refused")


async def test_of_many_workers_one_delivers_a_notice(world: World) -> None:
    async with receiver(status("200 OK")) as (url, received):
        channels = {"webhook": Webhook(url, SECRET)}
        told = await asyncio.gather(*(send_due(world.store, channels) for _ in range(5)))
    assert (sum(told), len(received)) == (1, 1)
    assert json.loads(received[0].body)["alert"]["pattern"] == "deep_spawn"
    assert [one.state for one in await world.store.alert_notices() if one.channel == "webhook"] == ["delivered"]


async def test_after_a_crash_between_sending_and_recording_it_comes_again_with_the_same_name(world: World) -> None:
    async with receiver(status("200 OK")) as (url, received):
        channel = Webhook(url, SECRET)
        [notice] = await world.store.take_notices(["webhook"], NoticeRules())
        await channel.send(notice)
        assert await send_due(world.store, {"webhook": channel}) == 0
        world.clock.advance(CLAIM_SECONDS)
        assert await send_due(world.store, {"webhook": channel}) == 1
    assert len({told.headers["x-ramet-delivery"] for told in received}) == 1
    assert [told.body for told in received] == [received[0].body] * 2


async def test_a_receiver_that_answers_500_is_asked_again_later(world: World) -> None:
    async with receiver(status("500 Oops"), status("200 OK")) as (url, received):
        channels = {"webhook": Webhook(url, SECRET)}
        assert await send_due(world.store, channels) == 1
        assert await send_due(world.store, channels) == 0
        [waiting] = [one for one in await world.store.alert_notices(waiting=True) if one.channel == "webhook"]
        assert (waiting.error, waiting.attempts) == ("it answered 500", 1)
        world.clock.advance(15.0)
        assert await send_due(world.store, channels) == 1
    assert len(received) == 2


async def test_words_of_a_broken_channel_are_not_kept(world: World) -> None:
    told = await try_channels(world.store, {"broken": Broken()}, "ada")
    assert told == {"broken": "the channel failed: RuntimeError"}
    [notice, *_] = await world.store.alert_notices()
    assert (notice.state, notice.error) == ("given_up", "the channel failed: RuntimeError")


async def test_the_log_has_what_fired_with_its_lineage(world: World, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="ramet.monitor"):
        await send_due(world.store, {"log": LogChannel()})
    [record] = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage().startswith("alert warning deep_spawn in lineage line: task ")
    assert record.__dict__["tracking_id"] == "line"


def test_a_factory_that_fails_hinders_no_other() -> None:
    def wrong() -> Channel | None:
        raise ValueError("set X")

    def broken() -> Channel | None:
        raise RuntimeError("hunter2")

    found = configured({"a": wrong, "b": broken, "c": lambda: None, "d": LogChannel, "log": LogChannel})
    assert sorted(found.by_name) == ["d", "log"]
    assert found.wrong == {"a": "set X", "b": "could not be set up: RuntimeError",
                           "log": "no name for a channel: the package that brings it has to give another"}  # fmt: skip
