"""The tables: for the terminal and, between two marks, for docs/benchmarks.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.arithmetic import Spread
from benchmarks.bars import bars
from benchmarks.measure import tree

BEGIN, END = "<!-- figures: written by the command -->", "<!-- figures: end -->"
TITLES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}


def text(found: dict[str, Any]) -> str:
    """Everything that was found, as Markdown."""
    return "\n".join([*_conditions(found), *(line for store in TITLES for line in _store(store, found))])


def write(page: Path, found: dict[str, Any]) -> None:
    """Put it between the marks of the page, and leave the rest of the page as it is.

    Raises:
        ValueError, OSError: as :func:`check`.
    """
    put_between(page, BEGIN, END, text(found))


def put_between(page: Path, begin: str, end: str, text: str) -> None:
    """Put a text between two marks of a page.

    Raises:
        ValueError, OSError: as :func:`check`.
    """
    before, _, rest = check(page, begin, end).partition(begin)
    page.write_text(f"{before}{begin}\n\n{text}\n\n{end}{rest.partition(end)[2]}", encoding="utf-8")


def check(page: Path, begin: str = BEGIN, end: str = END) -> str:
    """The text of a page that figures can be put into.

    Raises:
        ValueError: the page has no marks.
        OSError: it cannot be read.
    """
    whole = page.read_text(encoding="utf-8")
    if begin not in whole or end not in whole:
        raise ValueError(f"{page} has no place for figures: put {begin} and {end} where they belong")
    return whole


def _conditions(found: dict[str, Any]) -> list[str]:
    machine, size = found["machine"], found["size"]
    busy = machine["load"] > machine["processors"] / 2
    return [
        f"Measured {machine['day']} on {machine['processors']} processors ({machine['system']}), Python "
        f"{machine['python']}, ramet {machine['ramet']}; load {machine['load']} before the run and "
        f"{machine['load_after']} after it. {size['tasks']:,} no-op tasks a worker with a payload of about 200 bytes; "
        f"a spawn tree of {tree(size['levels']).tasks:,} tasks; turns: {size['repeats']}; a drain is cut after "
        f"{size['seconds_max']:.0f} s. Cells: median (least-most).",
        *(["", "**Other programs kept this machine busy: compare processor time, not rates.**"] if busy else []),
    ]


def _store(store: str, found: dict[str, Any]) -> list[str]:
    if store not in found:
        return []
    entrants = found[store]["entrants"]
    lines = ["", f"### {TITLES[store]} {found[store]['version']}".rstrip(), "", *_rates_table(store, found), ""]
    lines += _faults_table(entrants)
    lines += ["", *_bars_table(store, found[store])]
    lines += ["", *_settings(entrants)]
    lines += [
        f"- {name} did not take part to the end: {told['failed']}"
        for name, told in entrants.items()
        if "failed" in told
    ]
    return lines


def _rates_table(store: str, found: dict[str, Any]) -> list[str]:
    columns = [
        ("bulk submit/s", "drains_1", "submit_per_s"),
        ("drain/s, 1 worker", "drains_1", "drain_per_s"),
        ("drain/s, 2 workers", "drains_2", "drain_per_s"),
        ("spawn tree/s", "trees", "drain_per_s"),
        ("mixed load/s", "mixed", "drain_per_s"),
        ("CPU µs a task, worker", "drains_1", "worker_cpu_us"),
    ]
    if store == "postgres":
        columns += [
            ("server", "drains_1", "server_cpu_us"),
            ("WAL bytes a task, submit", "drains_1", "submit_wal_bytes"),
            ("drain", "drains_1", "wal_bytes"),
        ]
    columns.append(("disk bytes a task", "drains_1", "disk_bytes"))
    rows = [
        [name, *(_cell(told.get(part, []), key) for _, part, key in columns)]
        for name, told in found[store]["entrants"].items()
    ]
    bare = [run | {"worker_cpu_us": run["drain_cpu_us"]} for run in found[store]["bare"]]
    title = f"*bare loop{' (submit: COPY)' if store == 'postgres' else ''}*"
    rows.append([title, *(_cell(bare if part == "drains_1" else [], key) for _, part, key in columns)])
    return _table(["", *(column[0] for column in columns)], rows)


def _faults_table(entrants: dict[str, Any]) -> list[str]:
    head = [
        "",
        "pick-up p50 ms",
        "p99 ms",
        "submit of one, ms",
        "twice, 2 workers",
        "after `kill -9`: missing",
        "twice",
    ]
    head += ["s until all had run", "durability"]
    rows = []
    for name, told in entrants.items():
        latency, kill = told.get("latency", []), told.get("kill")
        drains = told.get("drains_2", [])
        row = [name, *(_cell(latency, key, digits=1) for key in ("p50_ms", "p99_ms", "submit_p50_ms"))]
        row.append(f"{sum(run['twice'] for run in drains)} of {sum(run['ran'] for run in drains):,}" if drains else "")
        row += [str(kill["missing"]), str(kill["twice"])] if kill else ["", ""]
        row.append("" if not kill else f"{kill['seconds']:.1f}" if not kill["missing"] else "never")
        row.append(told.get("about", {}).get("durability", ""))
        rows.append(row)
    return _table(head, rows)


def _bars_table(store: str, found: dict[str, Any]) -> list[str]:
    met = {True: "yes", False: "**no**", None: ""}
    rows = [[bar.what, f"{bar.value:,.2f}", bar.asked, met[bar.met]] for bar in bars(store, found)]
    return _table(["ramet", "here", "asked", "met"], rows)


def _settings(entrants: dict[str, Any]) -> list[str]:
    lines = []
    for name, told in entrants.items():
        if "about" not in told:
            continue
        about = told["about"]
        versions = ", ".join(f"{package} {version}" for package, version in about["versions"].items())
        lines.append(f"- **{name}** ({versions}): {about['settings']}. After a kill: {about['after_kill']}.")
    return lines


def _cell(runs: Sequence[dict[str, Any]], key: str, digits: int = 0) -> str:
    values = [run[key] for run in runs if run.get(key) is not None]
    if not values:
        return ""
    spread = Spread.of(values)
    cut = " (cut)" if any(run.get("cut") for run in runs) and key == "drain_per_s" else ""
    return f"{spread.median:,.{digits}f} ({spread.least:,.{digits}f}-{spread.most:,.{digits}f}){cut}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(line)} |" for line in lines]
