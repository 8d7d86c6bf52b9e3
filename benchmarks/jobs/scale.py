"""A board of many openings, scraped, filtered and scored by two workers: how fast, with how much memory, and whether
killing the workers in the middle changes what is saved.

    python -m benchmarks.jobs.scale --texts listings.jsonl                # 10,000 openings, undisturbed and killed
    python -m benchmarks.jobs.scale --openings 1000 --no-kill --profile config.json

The openings are those of a file of JSON lines, varied (or made up ones); a web in a process of its own serves them as
a Lever board, under its real name over TLS, a hundred a page. Rules only. The board's host may be asked at any pace,
which Lever itself would not like. Prints JSON.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.wiki_scale import Meter
from ramet import Client, ResourcePolicy
from ramet.jobs import pipeline
from ramet.jobs.app import LIMITS
from ramet.jobs.config.config_file import read_config, sample
from ramet.jobs.kinds import HOST_RESOURCE, SOURCE_DISCOVERY
from tests.jobs.world.process import world_process

LOOK_SECONDS = 0.25
TOKEN = "big"
WORKERS = 2
CONCURRENCY = 32
"""Handlers at once of each, as `ramet jobs run` has them."""
LISTINGS = (
    "SELECT listing_id, url, source_id, external_id, company, title, location, description, requirements, posted_at, "
    "salary_min, salary_max, salary_currency, facts, status, quality, filter_result, reason, score, fingerprint, "
    "text_hash FROM jobs_listings ORDER BY listing_id"
)
MATCHES = (
    "SELECT listing_id, match_score, static_score, application_priority, adjustments, matched_skills, missing_skills "
    "FROM jobs_matches ORDER BY listing_id"
)
"""Everything that is saved but times and the ids of tasks."""


async def begin(address: str, openings: int, profile: Path | None) -> str:
    """A database with the pipeline's settings and the board's lineage; the lineage."""
    async with pipeline.app.client(address) as client:
        await client.settings.set_many(read_config(profile) if profile else sample())
        await client.limit_resource(ResourcePolicy(f"{HOST_RESOURCE}*", breaker_failures=0))
        limits = replace(LIMITS, max_fan_out=2 * openings, max_tasks=4 * openings)
        payload = {"url": f"https://jobs.lever.co/{TOKEN}", "approved": True, "company_name": TOKEN.capitalize()}
        made = await client.submit(SOURCE_DISCOVERY, payload, limits=limits)
        return made.tracking_id


def worker(address: str, environment: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    """A worker with its handlers' process."""
    command = [sys.executable, "-m", "ramet.cli", "worker", pipeline.TARGET, "--db", address, "--log-level", "warning"]
    command += ["--concurrency", str(CONCURRENCY)]
    with log.open("ab") as told:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=told, stderr=told, env=environment, start_new_session=True
        )


async def ended(client: Client, tracking_id: str) -> bool:
    lineage = await client.lineage(tracking_id)
    return lineage is not None and lineage.ended_at is not None


async def saved(client: Client) -> int:
    [(count,)] = await client.read("SELECT COUNT(*) FROM jobs_listings WHERE status <> 'analyzing'")
    return int(count)


async def work_off(
    address: str, tracking_id: str, begin_worker: Callable[[], subprocess.Popen[bytes]], kill_at: int | None
) -> tuple[float, list[float], float]:
    """Seconds, the most memory of each worker with all its children, and of any one process, in megabytes."""
    workers = [begin_worker() for _ in range(WORKERS)]
    meters = [Meter(one.pid) for one in workers]
    old: list[Meter] = []
    most = [0.0] * WORKERS
    began = time.monotonic()
    try:
        async with pipeline.app.client(address) as client:
            while not await ended(client, tracking_id):
                for at, meter in enumerate(meters):
                    most[at] = max(most[at], meter.look().rss_bytes / 1e6)
                if kill_at is not None and await saved(client) >= kill_at:
                    kill_at = None
                    for one in workers:
                        os.killpg(one.pid, signal.SIGKILL)
                        one.wait()
                    workers = [begin_worker() for _ in range(WORKERS)]
                    old, meters = meters, [Meter(one.pid) for one in workers]
                await asyncio.sleep(LOOK_SECONDS)
    finally:
        for one in workers:
            one.terminate()
        for one in workers:
            one.wait()
    each = max(peak / 1e6 for meter in [*old, *meters] for peak in meter.peaks.values())
    return time.monotonic() - began, most, each


async def rows_of(address: str) -> dict[str, list[tuple[Any, ...]]]:
    """What was saved."""
    async with pipeline.app.client(address, create=False) as client:
        return {"listings": await client.read(LISTINGS), "matches": await client.read(MATCHES)}


def measure(
    openings: int, folder: Path, environment: dict[str, str], profile: Path | None, kill: bool
) -> dict[str, Any]:
    """One run, and what it left."""
    name = "killed" if kill else "undisturbed"
    address, log = str(folder / f"{name}.db"), folder / f"{name}.log"
    tracking_id = asyncio.run(begin(address, openings, profile))
    kill_at = openings // 2 if kill else None
    seconds, most, each = asyncio.run(
        work_off(address, tracking_id, lambda: worker(address, environment, log), kill_at)
    )
    rows = asyncio.run(rows_of(address))
    states: dict[str, int] = {}
    for row in rows["listings"]:
        states[row[14]] = states.get(row[14], 0) + 1
    return {
        "rows": rows,
        "report": {
            "seconds": round(seconds, 2),
            "listings_per_s": round(len(rows["listings"]) / seconds, 1),
            "peak_rss_mb_of_each_worker": [round(peak, 1) for peak in most],
            "peak_rss_mb_of_a_process": round(each, 1),
            "saved": len(rows["listings"]),
            "matches": len(rows["matches"]),
            "states": states,
        },
    }


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.jobs.scale", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--openings", type=int, default=10_000)
    parser.add_argument("--texts", type=Path, help="listings as JSON lines, to be varied")
    parser.add_argument("--profile", type=Path, help="a configuration; the sample's by default")
    parser.add_argument("--no-kill", action="store_true", help="only the undisturbed run")
    parser.add_argument("--folder", type=Path, help="where to work, kept afterwards; a temporary one by default")
    asked = parser.parse_args()
    with ExitStack() as stack:
        folder = asked.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        board = f"{TOKEN}:{asked.openings}" + (f":{asked.texts}" if asked.texts else "")
        environment = os.environ | stack.enter_context(world_process("--lever", board))
        first = measure(asked.openings, folder, environment, profile=asked.profile, kill=False)
        report = {"openings": asked.openings, "undisturbed": first["report"]}
        same = True
        if not asked.no_kill:
            second = measure(asked.openings, folder, environment, profile=asked.profile, kill=True)
            same = first["rows"] == second["rows"]
            report |= {"killed": second["report"], "same_rows": same}
        sys.stdout.write(json.dumps(report, indent=1) + "\n")
        if not same:
            sys.exit("the killed run saved other rows than the undisturbed one")


if __name__ == "__main__":
    main()
