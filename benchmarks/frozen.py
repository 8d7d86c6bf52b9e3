"""The yardstick of the comparison, as a record: ``benchmarks/frozen.json``, which a test holds the files to.

A ratio means the same from one version to the next only while what it is a ratio to stays: the bare loops and the rows
that they write, the peers' programs and versions, durability, and the app and settings of ramet itself. Who changes one
of these measures before and after, and notes both figures:

    python -m benchmarks.frozen --change "pgqueuer: batch_size 1,000 -> 2,000" --before "14,004/s" --after "14,900/s"

writes the record, and the table of changes in docs/benchmarks.md. Peers may only get faster.
"""

from __future__ import annotations

import hashlib
import json
import re
from datetime import UTC, datetime
from typing import Any

import click

from benchmarks.engine import bare_loop, bare_loop_postgres
from benchmarks.entrants import PROJECT
from benchmarks.report import put_between

RECORD = PROJECT / "benchmarks" / "frozen.json"
PAGE = PROJECT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- frozen: written by the command -->", "<!-- frozen: end -->"
PROGRAMS = ("engine/bare_loop*.py", "engine/app.py", "peers/*.py", "node/*.cjs", "node/package.json")


def found() -> dict[str, Any]:
    """Return the state of the files, by topic and name."""
    folder = PROJECT / "benchmarks"
    paths = sorted(path for pattern in PROGRAMS for path in folder.glob(pattern))
    return {
        "programs": {
            path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths
        },
        "versions": _versions(),
        "rows": {
            "identity": [*bare_loop.IDENTITY],
            "hot": [*bare_loop.HOT],
            "wide": [*bare_loop.WIDE],
            "written at birth": [*bare_loop.BORN],
            "history": [*bare_loop.HISTORY],
            "tables, SQLite": [*bare_loop.TABLES],
            "tables, PostgreSQL": [*bare_loop_postgres.TABLES],
        },
        "durability": {
            "SQLite": _settings("src/ramet/store/sqlite/session.py", r"PRAGMA (journal_mode = WAL|synchronous = \w+)"),
            "PostgreSQL": _settings("benchmarks/compare.py", r"Cluster\((durable=True)\)"),
        },
    }


def _versions() -> dict[str, str]:
    """The peers', as they are pinned."""
    lock = (PROJECT / "requirements" / "bench.lock").read_text(encoding="utf-8")
    pinned = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", lock, flags=re.MULTILINE))
    wanted = (PROJECT / "requirements" / "bench.in").read_text(encoding="utf-8").split()
    package = (PROJECT / "benchmarks" / "node" / "package.json").read_text(encoding="utf-8")
    node: dict[str, str] = json.loads(package)["dependencies"]
    return {name: pinned[name] for name in (line.partition("[")[0] for line in wanted)} | node


def _settings(path: str, pattern: str) -> list[str]:
    """Return the settings that a file of the project makes."""
    return sorted(set(re.findall(pattern, (PROJECT / path).read_text(encoding="utf-8"))))


def recorded() -> dict[str, Any]:
    """The record: what was found when it was written, and the changes so far."""
    record: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return record


def changed(record: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Return the names that differ from the record, as ``topic: name``."""
    return [
        f"{topic}: {name}"
        for topic in sorted((record.keys() | now.keys()) - {"changes"})
        for name in sorted(record.get(topic, {}).keys() | now.get(topic, {}).keys())
        if record.get(topic, {}).get(name) != now.get(topic, {}).get(name)
    ]


def table(changes: list[dict[str, str]]) -> str:
    """The changes, as the page has them."""
    heads = ("day", "change", "before", "after")
    rows = [heads, ("---",) * 4, *([change[head] for head in heads] for change in changes)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


@click.command()
@click.option("--change", required=True, help="What changed, and why.")
@click.option("--before", required=True, help="The figure that it had.")
@click.option("--after", required=True, help="The figure that it has, of the same run.")
def main(*, change: str, before: str, after: str) -> None:
    """Write the record of the comparison's yardstick after a change, with both figures."""
    now = found()
    record = recorded()
    names = changed(record, now)
    if not names:
        raise click.UsageError("nothing differs from the record: there is no change to note")
    entry = {"day": datetime.now(UTC).date().isoformat(), "change": change, "before": before, "after": after}
    changes = [*record["changes"], entry]
    put_between(PAGE, BEGIN, END, table(changes))
    RECORD.write_text(json.dumps(now | {"changes": changes}, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    click.echo(f"recorded: {', '.join(names)}")


if __name__ == "__main__":
    main()
