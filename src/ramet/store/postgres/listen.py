"""NOTIFY and LISTEN: a commit of claimable work wakes processes that wait for some, on every machine.

A convenience and never more: polling is the truth (DESIGN §9). So no verb waits for it or fails by it. It has one
connection and one thread of its own in each process, opened when there is something to send or a process waits; a
notification is never sent inside a verb's transaction, because every commit that carries one takes a lock that all of a
server's databases share.
"""

from __future__ import annotations

import contextlib
import hashlib
import random
import secrets
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import psycopg

from ramet.store.backoff import Backoff
from ramet.store.errors import StoreError
from ramet.store.loggers import own_logger
from ramet.store.postgres.listen_connection import ListenConnection, ListenConnectionLost, drain

log = own_logger("ramet.store")

RING_SECONDS = 0.05
"""The first ring goes out at once, further ones at most this often (DESIGN §9)."""
ANSWER_SECONDS = 5.0
"""A server that takes longer for so little is taken to be gone."""
PROBE_SECONDS = 2.0
"""Seconds after which a notification is of no use: polling is as fast."""
PROBE_AGAIN_SECONDS = 600.0
"""Seconds for which a connection that hears nothing is believed to be deaf."""
ALIVE_SECONDS = 30.0
"""Seconds of silence after which a listener asks whether the server is still there."""
IDLE_SECONDS = 60.0
"""A connection that only sends is closed when there was nothing to send for so long."""
LEAVE_SECONDS = 1.0
"""Seconds for which a process that ends waits for its last ring to go out."""

Connect = Callable[[], psycopg.Connection[Any]]


def channel_of(schema: str) -> str:
    """Return the channel of the tables in a schema; channels are a database's own, so databases need no part in it."""
    return f"ramet_{hashlib.sha256(schema.encode()).hexdigest()[:16]}"


class Notifier:
    """Wakes other processes on a database, and is woken by them.

    Its connection tells at each start whether it hears anything: behind a pooler in transaction mode it does not,
    and then it only sends.
    """

    def __init__(
        self, connect: Connect, on_heard: Callable[[], None], *, draw: Callable[[], float] = random.random
    ) -> None:
        """Nothing is opened yet.

        Args:
            connect: opens a connection; it should give up after some seconds. Called in the bell's thread.
            on_heard: called in the bell's thread when others rang, or may have rung unheard.
            draw: evenly from [0, 1): spreads the tries to reconnect.
        """
        self._connect = connect
        self._on_heard = on_heard
        self._backoff = Backoff(seconds_max=30.0, draw=draw)
        self._kick, self._kicked = socket.socketpair()
        self._kick.setblocking(False)
        self._kicked.setblocking(False)
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._wanted = self._rung = self._leaving = False
        self._hears = False
        self._probe_at = self._retry_at = self._ring_at = 0.0
        """Monotonic seconds: not before these."""

    @property
    def hears(self) -> bool:
        """True while notifications of others are heard: the server was seen to deliver them to this connection."""
        return self._hears

    def ring(self) -> None:
        """Wake everybody who listens elsewhere, soon. Returns at once, never raises; from any thread."""
        if not self._rung:
            self._rung = True
            self._begin()

    def listen(self) -> None:
        """Hear others from now on. Returns at once, never raises; from any thread."""
        if not self._wanted:
            self._wanted = True
            self._begin()

    def close(self) -> None:
        """Send what was rung, where that takes no time worth mentioning, and release everything."""
        with self._starting:
            self._leaving = True
            thread = self._thread
        if thread is None:
            self._release()
            return
        self._nudge()
        thread.join(LEAVE_SECONDS)

    def _begin(self) -> None:
        with self._starting:
            if self._thread is None and not self._leaving:
                self._thread = threading.Thread(target=self._serve, name="ramet bell", daemon=True)
                self._thread.start()
        self._nudge()

    def _nudge(self) -> None:
        with contextlib.suppress(OSError):  # Full: it is awake. Closed: it ended.
            self._kick.send(b"1")

    def _release(self) -> None:
        self._kick.close()
        self._kicked.close()

    # --- in the bell's thread

    def _serve(self) -> None:
        try:
            while self._has_reason():
                try:
                    with ListenConnection(self._connect(), self._kicked) as line:
                        self._attend(line)
                except (ListenConnectionLost, psycopg.Error, StoreError, OSError) as error:
                    self._lost(error)
                finally:
                    self._hears = False
        finally:
            self._release()

    def _lost(self, error: Exception) -> None:
        pause = self._backoff.failed()
        if self._backoff.failures == 1:
            log.info("the connection that wakes and is woken was lost, polling goes on meanwhile: %s", error)
        self._retry_at = time.monotonic() + pause
        if self._wanted:
            self._probe_at = self._retry_at

    def _has_reason(self) -> bool:
        """Wait until a connection is needed; False when none will be any more."""
        while True:
            now = time.monotonic()
            if self._leaving and (not self._rung or self._backoff.failures):
                return False
            reasons = [self._ring_at] * self._rung + [self._probe_at] * self._wanted
            at = max(self._retry_at, min(reasons)) if reasons else None
            if at is not None and at <= now:
                return True
            self._kicked.settimeout(None if at is None else at - now)
            with contextlib.suppress(TimeoutError):
                self._kicked.recv(64)
            self._kicked.setblocking(False)
            drain(self._kicked)

    def _attend(self, line: ListenConnection) -> None:
        """Send and hear on one connection, until it is lost or no longer needed."""
        [(pid, schema)] = line.run("SELECT pg_backend_pid(), current_schema()", ANSWER_SECONDS)
        channel = channel_of(str(schema))
        used_at = time.monotonic()
        while True:
            now = time.monotonic()
            if self._wanted and not self._hears and now >= self._probe_at and not self._leaving:
                self._try_to_listen(line, channel)
                used_at = now = time.monotonic()
            if self._rung and now >= self._ring_at:
                self._send(line, channel)
                used_at = now = time.monotonic()
            if self._leaving and not self._rung:
                return
            if now - used_at >= (ALIVE_SECONDS if self._hears else IDLE_SECONDS):
                if not self._hears:
                    return
                line.run("SELECT 1", ANSWER_SECONDS)
                used_at = now
            self._backoff.succeeded()
            line.wait(self._seconds_left(now, used_at))
            heard, line.heard = line.heard, []
            if any(name == channel and sender != int(pid or 0) for name, sender in heard):
                self._on_heard()

    def _seconds_left(self, now: float, used_at: float) -> float:
        """Return the seconds until the connection needs attention without a kick."""
        until = used_at + (ALIVE_SECONDS if self._hears else IDLE_SECONDS)
        if self._rung:
            until = min(until, self._ring_at)
        if self._wanted and not self._hears:
            until = min(until, self._probe_at)
        return max(0.0, until - now)

    def _send(self, line: ListenConnection, channel: str) -> None:
        self._rung = False  # Before it is sent: a ring from now on may mean later work.
        self._ring_at = time.monotonic() + RING_SECONDS
        try:
            # It needs no disk. LOCAL: behind a pooler the setting would be the next one's too.
            line.run(f"BEGIN; SET LOCAL synchronous_commit = off; NOTIFY {channel}; COMMIT", ANSWER_SECONDS)
        except ListenConnectionLost:
            self._rung = True
            raise

    def _try_to_listen(self, line: ListenConnection, channel: str) -> None:
        """Listen where that works; it is known only when a notification of another connection was heard.

        From a second connection: what a pooler's server process tells itself it tells at once, to the client that has
        it just then, and that would look as if all were well. On a channel of its own: what the pooler's processes
        listen to they listen to for ever.
        """
        probe = f"ramet_probe_{secrets.token_hex(8)}"
        line.run(f"LISTEN {probe}", ANSWER_SECONDS)
        with ListenConnection(self._connect(), self._kicked) as other:
            other.run(f"NOTIFY {probe}", ANSWER_SECONDS)
        give_up_at = time.monotonic() + PROBE_SECONDS
        while not any(name == probe for name, _ in line.heard):
            left = give_up_at - time.monotonic()
            if left <= 0 or self._leaving:
                log.info("notifications are not heard here (a pooler in transaction mode?): work is found by polling")
                self._probe_at = time.monotonic() + PROBE_AGAIN_SECONDS
                return
            line.wait(left)
        line.run(f"UNLISTEN {probe}", ANSWER_SECONDS)
        line.run(f"LISTEN {channel}", ANSWER_SECONDS)
        line.heard.clear()
        self._hears = True
        self._on_heard()  # Something may have been rung before.
