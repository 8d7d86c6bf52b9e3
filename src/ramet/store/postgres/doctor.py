"""PostgreSQL: what is wrong with a server, as ramet sees it from here. Writes nothing."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial

import psycopg

from ramet.store.address import shown
from ramet.store.answers import Finding
from ramet.store.errors import StoreError, StoreMissing
from ramet.store.postgres.connect import ahead_seconds, open_connection
from ramet.store.postgres.errors import first_line, store_error
from ramet.store.postgres.migrate import versions_of
from ramet.store.postgres.session import PostgresSession
from ramet.store.reads.path_doctor import recount_paths
from ramet.store.schema import versions as known
from ramet.store.schema.versions import check_newer
from ramet.store.session import Row, Session

SKEW_SECONDS = 5.0
PINNED_SECONDS = 300.0
"""A transaction older than this keeps dead rows from being cleared away."""
DEAD_ROWS_MIN, DEAD_SHARE = 50_000, 3.0
"""Limits of dead rows: beyond this number, and this multiple of the live ones, vacuum does not keep up."""
CONNECTIONS_SHARE = 0.85
HEARD_SECONDS = 2.0

EACH_NODE = "jsonb_array_elements_text(CAST(p.nodes AS jsonb)) WITH ORDINALITY n(value, key)"

Look = Callable[[Session], Iterator[Finding]]

_SETTINGS = (
    ("fsync", "off", "error", "what was committed is lost with the power", "set fsync = on and restart the server"),
    ("full_page_writes", "off", "error", "a loss of power can damage tables", "set full_page_writes = on"),
    ("synchronous_commit", "off", "error", "what was acknowledged can be lost in a crash",
     "set synchronous_commit = on for the server, the database and this user"),
    ("autovacuum", "off", "warning", "dead rows stay, and every claim reads over them", "set autovacuum = on"),
    ("track_counts", "off", "warning", "autovacuum cannot see what is to be done", "set track_counts = on"),
    ("default_transaction_read_only", "on", "error", "nothing can be written",
     "connect to the server that takes writes"),
)  # fmt: skip
"""Setting, the value that is wrong, how bad, why, what to do."""

_PINNED = (
    "SELECT what, EXTRACT(epoch FROM now() - since)::float8 FROM ("
    "SELECT 'process ' || pid || COALESCE(' (' || NULLIF(application_name, '') || ')', '') AS what, "
    "xact_start AS since FROM pg_stat_activity WHERE datname = current_database() "
    "AND pid <> pg_backend_pid() AND xact_start IS NOT NULL "
    "AND backend_type = 'client backend' "
    "UNION ALL SELECT 'prepared transaction ' || gid, prepared FROM pg_prepared_xacts "
    "WHERE database = current_database()) open_ ORDER BY since LIMIT 1"
)
_SLOTS = (
    "SELECT slot_name::text FROM pg_replication_slots "
    "WHERE NOT active AND (xmin IS NOT NULL OR catalog_xmin IS NOT NULL)"
)
_DEAD = (
    "SELECT relname::text, n_dead_tup, n_live_tup FROM pg_stat_user_tables WHERE schemaname = current_schema() "
    "AND relname LIKE 'ramet@_%' ESCAPE '@' AND n_dead_tup > ? AND n_dead_tup > ? * n_live_tup ORDER BY n_dead_tup DESC"
)
_CONNECTIONS = (
    "SELECT COUNT(*), current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int "
    "FROM pg_stat_activity WHERE backend_type = 'client backend'"
)
_RIGHTS = (
    "SELECT c.relname::text FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace "
    "AND c.relname LIKE 'ramet@_%' ESCAPE '@' AND c.relkind IN ('r', 'p') AND NOT ("
    "has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT') "
    "AND has_table_privilege(c.oid, 'UPDATE') AND has_table_privilege(c.oid, 'DELETE')) ORDER BY 1"
)


def examine_server(url: str, looks: Sequence[Look]) -> list[Finding]:
    """See :func:`ramet.store.doctor.examine`."""
    place = shown(url)
    try:
        with closing(PostgresSession(open_connection(url), None)) as session:
            found = [*_server(session), *_hearing(session, url)]
            of = versions_of(session)
            if not of.schema:
                raise StoreMissing(f"{place} has no ramet tables: `ramet migrate` makes them, or give another --db")
            check_newer(of, place)
            if of.schema < known.PLAN.version:
                what = f"the schema is {of.schema}, this ramet writes {known.PLAN.version}"
                return [*found, Finding("schema", "warning", what, "run `ramet migrate`")]
            found += _tables(session)
            session.begin("read")
            every: list[Look] = [*looks, partial(recount_paths, each=EACH_NODE)]
            for look in every:
                found += look(session)
            session.rollback()
    except psycopg.Error as error:
        raise store_error(error, place) from error
    return found


def _server(session: PostgresSession) -> Iterator[Finding]:
    for name, wrong, severity, why, do in _SETTINGS:
        [(value,)] = session.rows("SELECT current_setting(?)", (name,))
        if value == wrong:
            yield Finding("server", severity, f"{name} is {value}: {why}", do)
    [(standby,)] = session.rows("SELECT pg_is_in_recovery()")
    if standby:
        do = "give the address of the server that takes writes, or of both with target_session_attrs=read-write"
        yield Finding("server", "error", "this is a standby: nothing can be written", do)
    ahead = ahead_seconds(session.connection)
    if abs(ahead) > SKEW_SECONDS:
        way = "behind" if ahead > 0 else "ahead of"
        yield Finding("clock", "warning", f"this machine's clock is {abs(ahead):.0f} s {way} the server's",
                      "set it right: leases go by the server's, logs and handlers by this one")  # fmt: skip
    [(count, most)] = session.rows(_CONNECTIONS)
    if count > CONNECTIONS_SHARE * most:
        yield Finding("connections", "warning", f"{count} of {most} connections are taken",
                      "raise max_connections, or put a pooler before the server")  # fmt: skip


def _tables(session: PostgresSession) -> Iterator[Finding]:
    refused = [name for (name,) in session.rows(_RIGHTS)]
    if refused:
        yield Finding("rights", "error", f"this user may not read and change {len(refused)} tables ({refused[0]})",
                      "run `ramet migrate --grant USER` as the owner of the tables")  # fmt: skip
    pinned = session.rows(_PINNED)
    if pinned and pinned[0][1] > PINNED_SECONDS:
        what, seconds = pinned[0]
        yield Finding("horizon", "warning", f"{what} has had a transaction open for {seconds:,.0f} s: no dead row goes",
                      "end it; a report that takes so long belongs on a standby")  # fmt: skip
    for (name,) in session.rows(_SLOTS):
        yield Finding("horizon", "warning", f"the replication slot {name} has no reader, and it keeps dead rows",
                      f"start its reader, or drop it: SELECT pg_drop_replication_slot('{name}')")  # fmt: skip
    for name, dead, live in session.rows(_DEAD, (DEAD_ROWS_MIN, DEAD_SHARE)):
        yield Finding("vacuum", "warning", f"{name} has {dead:,} dead rows beside {live:,} live ones",
                      f"look for what keeps them (a long transaction), then VACUUM {name}")  # fmt: skip


def _hearing(session: PostgresSession, url: str) -> Iterator[Finding]:
    """Check whether a notification comes through. Behind a pooler in transaction mode none does."""
    if session.rows("SELECT pg_is_in_recovery()") == [(True,)]:
        return
    channel = f"ramet_probe_{secrets.token_hex(8)}"
    try:
        with closing(open_connection(url)) as other:
            session.connection.execute(f"LISTEN {channel}".encode())
            other.execute(f"NOTIFY {channel}".encode())
            heard = _heard(session.connection)
            session.connection.execute(f"UNLISTEN {channel}".encode())
    except (StoreError, psycopg.Error) as error:
        yield Finding("wake-up", "note", f"notifications cannot be tried: {first_line(error)}", "nothing: workers poll")
        return
    if not heard:
        what = "notifications are not heard here (a pooler in transaction mode?): work is found by polling"
        do = "nothing, or give workers an address past the pooler; worker.poll_seconds is how late they may be"
        yield Finding("wake-up", "note", what, do)


def _heard(connection: psycopg.Connection[Row]) -> bool:
    return any(True for _ in connection.notifies(timeout=HEARD_SECONDS, stop_after=1))
