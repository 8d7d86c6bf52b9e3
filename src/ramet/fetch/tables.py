"""Tables of fetching in the app's database: robots.txt of hosts, answers, other addresses of pages.

The tables are declared with the app, so backup and restore carry them. Statements are in the part of SQL that SQLite
and PostgreSQL share; times are Unix seconds.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ramet import Statement, StatementResult
from ramet.fetch.host_gate import slot_table
from ramet.fetch.messages import Response
from ramet.fetch.robots import KeptRobots

DEFINITIONS = (
    """
    CREATE TABLE IF NOT EXISTS fetch_robots (
        origin   TEXT NOT NULL PRIMARY KEY,
        asked_at DOUBLE PRECISION NOT NULL,
        content  TEXT NOT NULL
    )""",
    "CREATE INDEX IF NOT EXISTS fetch_robots_by_age ON fetch_robots (asked_at)",
    slot_table("fetch_host_slots"),
    """
    CREATE TABLE IF NOT EXISTS fetch_aliases (
        tracking_id TEXT NOT NULL,
        alias       TEXT NOT NULL,
        url_key     TEXT NOT NULL,
        noted_at    DOUBLE PRECISION NOT NULL,
        PRIMARY KEY (tracking_id, alias)
    )""",
    "CREATE INDEX IF NOT EXISTS fetch_aliases_by_age ON fetch_aliases (noted_at)",
    """
    CREATE TABLE IF NOT EXISTS fetch_answers (
        request_id TEXT NOT NULL PRIMARY KEY,
        used_at    DOUBLE PRECISION NOT NULL,
        size       BIGINT NOT NULL,
        vary       TEXT NOT NULL,
        url        TEXT NOT NULL,
        status     INTEGER NOT NULL,
        headers    TEXT NOT NULL,
        packed     BYTEA NOT NULL
    )""",
    "CREATE INDEX IF NOT EXISTS fetch_answers_by_use ON fetch_answers (used_at, size)",
)
"""Definitions for the ``tables`` of a :class:`ramet.App`. BYTEA is what PostgreSQL calls bytes: SQLite keeps them under
any name.
"""

ALIAS_SECONDS = 30 * 86_400.0
"""Lifetime of another address of a page: longer than a lineage lasts."""
ROBOTS_SECONDS_MAX = 30 * 86_400.0
"""Lifetime of a robots.txt. RFC 9309 lets an old one hold while the file cannot be had."""
ANSWER_PACKED_BYTES_MAX = 1024 * 1024
"""Most bytes of one kept answer; larger ones are asked for in full each time."""
ANSWERS_BYTES_MAX = 128 * 1024 * 1024
"""Most bytes of all kept answers together, compressed; those used longest ago go first."""
NAMES_PER_QUERY = 400

_PUT_ROBOTS = """
    INSERT INTO fetch_robots (origin, asked_at, content) VALUES (?, ?, ?)
    ON CONFLICT (origin) DO UPDATE SET asked_at = excluded.asked_at, content = excluded.content"""
_DROP_ROBOTS = "DELETE FROM fetch_robots WHERE asked_at < ?"
_PUT_ALIAS = """
    INSERT INTO fetch_aliases (tracking_id, alias, url_key, noted_at) VALUES (?, ?, ?, ?)
    ON CONFLICT (tracking_id, alias) DO NOTHING"""
_DROP_ALIASES = "DELETE FROM fetch_aliases WHERE noted_at < ?"
_PUT_ANSWER = """
    INSERT INTO fetch_answers (request_id, used_at, size, vary, url, status, headers, packed)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (request_id) DO UPDATE SET used_at = excluded.used_at, size = excluded.size, vary = excluded.vary,
        url = excluded.url, status = excluded.status, headers = excluded.headers, packed = excluded.packed"""
_DROP_ANSWER = "DELETE FROM fetch_answers WHERE request_id = ?"
_DROP_ANSWERS = """
    DELETE FROM fetch_answers WHERE used_at <= (
        SELECT MAX(used_at) FROM (
            SELECT used_at, SUM(size) OVER (ORDER BY used_at DESC, request_id) AS together FROM fetch_answers) AS newest
        WHERE together > ?)"""
_TOUCH_ANSWER = "UPDATE fetch_answers SET used_at = ? WHERE request_id = ?"
_ANSWER = "SELECT vary, url, status, headers, packed FROM fetch_answers WHERE request_id = ?"

_SHARED_BY_NONE = ("no-store", "private")
_PERSONAL = frozenset({"authorization", "cookie", "proxy-authorization", "x-api-key"})
"""Request headers whose answer is for one person: it is not kept."""


class HasTables(Protocol):
    """The part of a handler's context that reads and writes tables of one's own; in a thread's, each is awaited too."""

    @property
    def tracking_id(self) -> str:
        """The lineage's id."""
        ...

    @property
    def now(self) -> float:
        """Unix seconds."""
        ...

    def write(self, sql: str, parameters: Sequence[Any] = (), /) -> None:
        """Write with the task's end."""
        ...

    def read(self, sql: str, parameters: Sequence[Any] = (), /) -> Awaitable[list[tuple[Any, ...]]]:
        """Read now."""
        ...

    def transaction(
        self, statements: Iterable[Statement | tuple[str, Sequence[Any]]], /
    ) -> Awaitable[list[StatementResult]]:
        """Write now, under the claim's fence."""
        ...


class RobotsTable:
    """The robots.txt of hosts as the workers of a database know them; see :class:`ramet.fetch.robots.RobotsStore`."""

    def __init__(self, ctx: HasTables) -> None:
        self._ctx = ctx

    async def load(self, origin: str) -> KeptRobots | None:
        """Return what is kept of a host, with its age in seconds."""
        rows = await self._ctx.read("SELECT content, asked_at FROM fetch_robots WHERE origin = ?", (origin,))
        return KeptRobots(str(rows[0][0]), max(0.0, self._ctx.now - float(rows[0][1]))) if rows else None

    async def save(self, origin: str, text: str) -> None:
        """Keep a host's file; an empty one where it has none."""
        now = self._ctx.now
        storable = text.replace("\x00", "")  # Which PostgreSQL does not take as text.
        await self._ctx.transaction(
            [(_PUT_ROBOTS, (origin, now, storable)), (_DROP_ROBOTS, (now - ROBOTS_SECONDS_MAX,))]
        )


async def aliases_of(ctx: HasTables, names: Iterable[str]) -> dict[str, str]:
    """Return those of these keys that are other addresses of a page which this lineage has fetched, and its key."""
    wanted = list(dict.fromkeys(names))
    found: dict[str, str] = {}
    for at in range(0, len(wanted), NAMES_PER_QUERY):
        part = wanted[at : at + NAMES_PER_QUERY]
        marks = ", ".join("?" * len(part))
        sql = f"SELECT alias, url_key FROM fetch_aliases WHERE tracking_id = ? AND alias IN ({marks})"  # noqa: S608
        found |= {str(alias): str(key) for alias, key in await ctx.read(sql, (ctx.tracking_id, *part))}
    return found


def note_aliases(ctx: HasTables, key: str, aliases: Sequence[str]) -> None:
    """Note other addresses of a page for its lineage; commits with the task."""
    for alias in aliases:
        ctx.write(_PUT_ALIAS, (ctx.tracking_id, alias, key, ctx.now))
    if aliases:
        ctx.write(_DROP_ALIASES, (ctx.now - ALIAS_SECONDS,))


class KeptAnswer(NamedTuple):
    """An answer from the table."""

    request_id: str
    response: Response


class AnswerTable:
    """Answers that can be asked for again at the price of a header: those with an ETag or a Last-Modified.

    One address has one answer, for the request headers that the server's ``Vary`` named. Answers that are for one
    person, or that the server forbids to store, are never kept.
    """

    def __init__(self, ctx: HasTables, sent: Mapping[str, str]) -> None:
        """``sent`` are the headers of the request, as far as an answer may depend on them."""
        self._ctx = ctx
        self._sent = {name.lower(): value for name, value in sent.items()}

    @property
    def _personal(self) -> bool:
        return not _PERSONAL.isdisjoint(self._sent)

    async def load(self, url: str) -> KeptAnswer | None:
        """Return what is kept of an address, if it answered a request like this one."""
        if self._personal:
            return None
        request_id = _id_of(url)
        rows = await self._ctx.read(_ANSWER, (request_id,))
        if not rows or json.loads(rows[0][0]) != self._varied(json.loads(rows[0][0])):
            return None
        _, final, status, headers, packed = rows[0]
        return KeptAnswer(request_id, Response(final, status, json.loads(headers), zlib.decompress(packed)))

    async def save(self, url: str, response: Response) -> None:
        """Keep an answer where it may be kept and can be asked for again; drop what was there otherwise."""
        names = [name.strip().lower() for name in response.headers.get("vary", "").split(",") if name.strip()]
        control = response.headers.get("cache-control", "").lower()
        packed = zlib.compress(response.body, 3) if len(response.body) <= 16 * ANSWER_PACKED_BYTES_MAX else None
        request_id = _id_of(url)
        if (
            self._personal or "*" in names or not response.validators or response.status != 200
            or packed is None or len(packed) > ANSWER_PACKED_BYTES_MAX
            or any(word in control for word in _SHARED_BY_NONE) or "set-cookie" in response.headers
        ):  # fmt: skip
            await self._ctx.transaction([(_DROP_ANSWER, (request_id,))])
            return
        vary = json.dumps(self._varied(dict.fromkeys(names, "")))
        row = (
            request_id, self._ctx.now, len(packed), vary, response.url, response.status,
            json.dumps(dict(response.headers)), packed,
        )  # fmt: skip
        # To add all sizes up reads the whole index: one in sixteen addresses pays for it.
        drops = [(_DROP_ANSWERS, (ANSWERS_BYTES_MAX,))] if request_id.startswith("0") else []
        await self._ctx.transaction([(_PUT_ANSWER, row), *drops])

    def used(self, kept: KeptAnswer) -> None:
        """Note that an answer was of use; commits with the task."""
        self._ctx.write(_TOUCH_ANSWER, (self._ctx.now, kept.request_id))

    def _varied(self, names: Mapping[str, str]) -> dict[str, str]:
        return {name: self._sent.get(name, "") for name in sorted(names)}


def _id_of(url: str) -> str:
    return hashlib.sha256(url.encode()).hexdigest()
