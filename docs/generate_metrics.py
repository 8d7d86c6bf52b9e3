"""Write docs/reference/metrics.md from :mod:`ramet.telemetry.families`."""

from __future__ import annotations

from docs.generate_shared import REFERENCE
from ramet.telemetry.families import FAMILIES, KINDS_MAX, REASONS_MAX

PAGE = REFERENCE / "metrics.md"

HEAD = f"""# Metrics

Written by `docs/generate_metrics.py` from `ramet.telemetry.families`; change that, then run `make docs`.

- `ramet dashboard` serves them at `/metrics`, behind its guard: give Prometheus a read token as `authorization`.
- `ramet metrics --listen 127.0.0.1:9464` serves them without a dashboard; off loopback it needs `--token-file`.
- `ramet metrics` prints them once, for a textfile collector; its exit status is 1 when the database is away.
- `ramet metrics --grafana board.json` writes a board for Grafana, `ramet metrics --rules ramet.rules.yaml` recording
  and alert rules for Prometheus.

Both the text format and OpenMetrics are spoken, as the Accept header asks. One scraped process is enough, however many
workers there are: everything comes from the database, which is read at most once in 5 seconds whoever asks, and given
up after 10 (then `ramet_up` is 0 and nothing else is told). Counters of tasks and attempts are the engine's tallies:
exact, and pruning takes nothing away. Times of commits (`ramet_store_seconds`) are handed over by workers every 15
seconds ([decision 51](../decisions/0051-how-metrics-are-kept.md)).

Labels are bounded: at most {KINDS_MAX} kinds, {KINDS_MAX} queues, and {REASONS_MAX} reasons a family have a name;
the rest counts as `other`. No label is the id of a task or lineage. A name that was given stays while the process
runs; another process may name others, which Prometheus takes for a restart.

| name | type | labels | what |
| --- | --- | --- | --- |
"""


def page() -> str:
    """The page."""
    rows = [
        f"| `{family.name}` | {family.type} | {', '.join(f'`{label}`' for label in family.labels)} | {family.help} |"
        for family in FAMILIES
    ]
    return HEAD + "\n".join(rows) + "\n"
