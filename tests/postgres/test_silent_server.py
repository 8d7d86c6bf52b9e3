"""A worker whose PostgreSQL falls silent stops its handlers when their leases lapse, and goes on when it speaks."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from ramet import App
from ramet.store.postgres import listen
from tests.invariants.check import violations
from tests.postgres.proxy import Proxy
from tests.store.postgres.listener import Listener
from tests.support.fakes import Held
from tests.support.waiting import HANG_SECONDS, outcomes, until, until_now, working


@pytest.fixture
def proxy(postgres_url: str) -> Iterator[Proxy]:
    parts = urlsplit(postgres_url)
    with Proxy(parts.hostname or "127.0.0.1", parts.port or 5432) as proxy:
        yield proxy


async def test_a_silent_server_keeps_no_handler_beyond_its_lease(
    proxy: Proxy, postgres_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="ramet.worker")
    app = App()
    held = Held(app)
    async with app.client(postgres_url) as near, app.client(proxy.url(postgres_url)) as far:
        submitted = await near.submit("held", 1)
        async with working(app, far, lease_seconds=2.0, heartbeat_seconds=0.3) as worker:
            await until(lambda: held.running, "it runs")
            proxy.stall()
            await until(lambda: not held.running, "its handler stopped, though no verb has failed")
            assert worker.in_hand == 0
            proxy.heal()
            await until(lambda: held.began == [1, 1], "it is claimed again")
            held.go_on.set()
            assert await near.result(submitted.id, timeout_seconds=HANG_SECONDS) == 1
        assert (await outcomes(near, submitted.id))[-1] == "success"
        assert "1 claims lapsed before a heartbeat reached the database: their handlers stop" in caplog.messages
        assert await violations(near.store) == []


@pytest.mark.parametrize("cut", ["half_open", "cut"])
def test_a_listener_whose_server_vanished_finds_it_again(
    proxy: Proxy, postgres_url: str, monkeypatch: pytest.MonkeyPatch, cut: str
) -> None:
    monkeypatch.setattr(listen, "ALIVE_SECONDS", 0.05)
    monkeypatch.setattr(listen, "ANSWER_SECONDS", 2.0)
    listener, sender = Listener(proxy.url(postgres_url)), Listener(postgres_url)
    listener.listen()
    listener.heard = 0
    if cut == "half_open":
        proxy.half_open("server")
    else:
        proxy.cut()
    until_now(lambda: listener.heard == 1, "it may have missed something")
    sender.bell.ring()
    until_now(lambda: listener.heard == 2, "it hears again")
    listener.bell.close()
    sender.bell.close()
