"""Tables of the monitor, money, tallies and the import; part of version 1 of the schema."""

from __future__ import annotations

from ramet.model.tallies import COLUMNS

MONITOR_TABLES = (
    # Ordinary links are in neither: their demands stay at 0.
    "CREATE INDEX ramet_blocks_demanded ON ramet_blocks (tracking_id, key) WHERE demands > 0",
    "CREATE INDEX ramet_blocks_unseen ON ramet_blocks (tracking_id, key) WHERE demands > demands_seen",
    "CREATE INDEX ramet_transitions_revives ON ramet_transitions (at, seq) WHERE name = 'revive'",
    "CREATE INDEX ramet_attempts_storms ON ramet_attempts (ended_at) WHERE reason = 'retry_storm'",
    """
    CREATE INDEX ramet_attempts_timeouts ON ramet_attempts (ended_at)
        WHERE reason = 'task_deadline'
    """,
    "CREATE INDEX ramet_attempts_lost ON ramet_attempts (ended_at) WHERE outcome = 'lost'",
    # Few: running lineages that have used half of their money or more.
    """
    CREATE INDEX ramet_lineages_spending ON ramet_lineages (tracking_id)
        WHERE state IN ('running', 'paused') AND 2 * (spent + reserved) >= COALESCE(soft_cost, max_cost)
    """,
    "CREATE INDEX ramet_transitions_timeouts ON ramet_transitions (at) WHERE name = 'task_deadline'",
    # A lineage's id, or the empty string for an alert about none.
    """
    CREATE TABLE ramet_alerts (
        id INTEGER PRIMARY KEY,
        pattern TEXT NOT NULL,
        tracking_id TEXT NOT NULL,
        subject TEXT NOT NULL,
        evidence TEXT NOT NULL,
        severity TEXT NOT NULL,
        first_at REAL NOT NULL,
        last_at REAL NOT NULL,
        resolved_at REAL,
        state TEXT NOT NULL CHECK (state IN ('firing', 'resolved')),
        count INTEGER NOT NULL,
        notified_at REAL,
        notified_state TEXT,
        acknowledged_at REAL,
        acknowledged_by TEXT
    )
    """,
    # Two workers that find the same thing at once cannot both tell it.
    "CREATE UNIQUE INDEX ramet_alerts_firing ON ramet_alerts (tracking_id, pattern) WHERE state = 'firing'",
    "CREATE INDEX ramet_alerts_by_lineage ON ramet_alerts (tracking_id, id)",
    "CREATE INDEX ramet_alerts_by_state ON ramet_alerts (state, last_at)",
    "CREATE TABLE ramet_alert_thresholds (kind TEXT PRIMARY KEY, demands INTEGER)",
    "CREATE TABLE ramet_monitor (name TEXT PRIMARY KEY, at REAL NOT NULL, number INTEGER NOT NULL)",
    # The outbox: written with what it tells of, sent by workers. next_at is NULL once nothing is left to do.
    """
    CREATE TABLE ramet_alert_notices (
        id INTEGER PRIMARY KEY,
        alert_id INTEGER,
        tracking_id TEXT NOT NULL,
        event TEXT NOT NULL,
        channel TEXT NOT NULL,
        delivery_id TEXT NOT NULL UNIQUE,
        body TEXT NOT NULL,
        created_at REAL NOT NULL,
        attempts INTEGER NOT NULL,
        next_at REAL,
        claimed_until REAL NOT NULL,
        delivered_at REAL,
        given_up_at REAL,
        error TEXT
    )
    """,
    "CREATE INDEX ramet_alert_notices_waiting ON ramet_alert_notices (id) WHERE next_at IS NOT NULL",
    "CREATE INDEX ramet_alert_notices_by_alert ON ramet_alert_notices (alert_id, id)",
    "CREATE INDEX ramet_alert_notices_by_lineage ON ramet_alert_notices (tracking_id, id)",
    "CREATE INDEX ramet_alert_notices_by_age ON ramet_alert_notices (created_at)",
    "CREATE TABLE ramet_alert_channels (name TEXT PRIMARY KEY, target TEXT NOT NULL, seen_at REAL NOT NULL)",
    "INSERT INTO ramet_counters (name, value) VALUES ('alert', 0), ('alert_notice', 0)",
)


COST_TABLES = (
    # Only tasks of staged kinds have a row: the places that the first one takes, 0 for the later ones.
    """
    CREATE TABLE ramet_stages (
        seq INTEGER PRIMARY KEY,
        tracking_id TEXT NOT NULL,
        base TEXT NOT NULL,
        places INTEGER NOT NULL
    )
    """,
    # One row per reservation, and one per settlement that charged: a charge is a reservation settled at once. A task
    # that ends closes what it left open: that counts as spent until it is settled.
    """
    CREATE TABLE ramet_reservations (
        id TEXT PRIMARY KEY,
        tracking_id TEXT NOT NULL,
        seq INTEGER NOT NULL,
        fence INTEGER NOT NULL,
        day INTEGER NOT NULL,
        amount INTEGER NOT NULL CHECK (amount >= 0),
        actual INTEGER CHECK (actual >= 0),
        reserved_at REAL NOT NULL,
        closed_at REAL,
        settled_at REAL
    ) WITHOUT ROWID
    """,
    "CREATE INDEX ramet_reservations_by_lineage ON ramet_reservations (tracking_id, seq)",
    """
    CREATE INDEX ramet_reservations_open ON ramet_reservations (seq)
        WHERE settled_at IS NULL AND closed_at IS NULL
    """,
    # Few: only the end of a task closes one. Once its lineage is pruned it goes by its age.
    """
    CREATE INDEX ramet_reservations_closed ON ramet_reservations (closed_at)
        WHERE closed_at IS NOT NULL
    """,
    # Day -1 is the sum over all days.
    """
    CREATE TABLE ramet_spend (
        day INTEGER PRIMARY KEY,
        spent INTEGER NOT NULL CHECK (spent >= 0),
        reserved INTEGER NOT NULL CHECK (reserved >= 0)
    )
    """,
)


TALLY_TABLES = (
    # Counts of a span of time: 60 seconds from ``at`` on, an hour, or all time (0). A stripe is written by one
    # connection at a time; rows of stripe -1 are folded together, and in the row of all time already.
    f"""
    CREATE TABLE ramet_tallies (
        stripe INTEGER NOT NULL,
        seconds INTEGER NOT NULL,
        at INTEGER NOT NULL,
        kind TEXT NOT NULL,
        {", ".join(f"{name} INTEGER NOT NULL DEFAULT 0" for name in COLUMNS)},
        PRIMARY KEY (stripe, seconds, at, kind)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE ramet_tally_reasons (
        stripe INTEGER NOT NULL,
        seconds INTEGER NOT NULL,
        at INTEGER NOT NULL,
        what TEXT NOT NULL,
        kind TEXT NOT NULL,
        reason TEXT NOT NULL,
        count INTEGER NOT NULL,
        PRIMARY KEY (stripe, seconds, at, what, kind, reason)
    ) WITHOUT ROWID
    """,
)


IMPORT_TABLES = (
    """
    CREATE TABLE ramet_imports (
        name TEXT PRIMARY KEY,
        state TEXT NOT NULL CHECK (state IN ('open', 'closed')),
        rows INTEGER NOT NULL,
        created INTEGER NOT NULL,
        history INTEGER NOT NULL,
        started_at REAL NOT NULL,
        closed_at REAL,
        by TEXT NOT NULL
    )
    """,
)
