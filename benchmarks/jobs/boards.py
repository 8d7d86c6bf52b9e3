"""Four boards of 500 openings each, scraped, filtered and scored by `ramet jobs run`: processor time and bytes of the
database, beside a plain script that fetches the same boards, looks for the same technologies and stores the texts.

    python -m benchmarks.jobs.boards                             # made-up openings, as long as real ones
    python -m benchmarks.jobs.boards --texts listings.jsonl      # those of a file of JSON lines, varied
    python -m benchmarks.jobs.boards --profile                   # and where the time goes

A web in a process of its own serves the boards under their real names over TLS. Prints JSON; ratios are the figures to
compare, since processor time depends on the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import resource
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.jobs.world.__main__ import openings_of
from tests.jobs.world.openings import Opening, made_up, varied
from tests.jobs.world.process import world_process
from tests.jobs.world.world import World

BOARDS = ("acme", "birch", "cedar", "dogwood")
OPENINGS = 500
TEXTS_VARIABLE = "BENCHMARK_TEXTS"
FILLER = (
    "You will design and run services that many teams build on, write down why, and review the work of others. We "
    "release every day, measure what we do, and fix what is slow. You have written Python or Go for years, know "
    "PostgreSQL, and have run Kubernetes on AWS. We offer health insurance, a pension, and thirty days of leave.\n"
)
PROFILE = """\
profile:
  name: Anybody
  technologies: {Python: required, Go: ok, PHP: strike, COBOL: fail}
  titles: [backend, platform engineer]
  seniority: [senior, staff]
  arrangements: [remote]
  salary_wanted: 160000
"""
WORDS = re.compile(r"\b(python|go|java|rust|kubernetes|aws|postgresql|react|docker|terraform)\b", re.IGNORECASE)
TAGS = re.compile(r"<[^>]+>")
COMMAND = "import sys; from ramet.cli import main; main(sys.argv[1:])"


def build(world: World) -> None:
    """Put the boards up, for the process that serves them."""
    texts = os.environ.get(TEXTS_VARIABLE)
    models = openings_of(Path(texts)) if texts else _long(made_up(60))
    for name in BOARDS:
        some = [Opening(f"{number}", one.title, one.location, one.text, one.posted_at)
                for number, one in enumerate(varied(models, OPENINGS), start=1)]  # fmt: skip
        world.board("greenhouse", name, some, company=name.capitalize())


def _long(models: list[Opening]) -> list[Opening]:
    return [Opening(one.id, one.title, one.location, f"{one.text}\n{FILLER * 14}", one.posted_at) for one in models]


def plain_script(folder: Path) -> int:
    """Fetch the boards, look for technologies, and store everything: no more than that. Listings stored."""
    import httpx

    async def fetched() -> list[Any]:
        trusted = ssl.create_default_context(cafile=os.environ["SSL_CERT_FILE"])
        port = os.environ["RAMET_JOBS_CONNECT"].rpartition(":")[2]
        async with httpx.AsyncClient(verify=trusted) as client:
            url = f"https://127.0.0.1:{port}/v1/boards/{{}}/jobs?content=true"
            host = "boards-api.greenhouse.io"
            asked = [
                client.get(url.format(name), headers={"Host": host}, extensions={"sni_hostname": host})
                for name in BOARDS
            ]
            return [answer.json() for answer in await asyncio.gather(*asked)]

    with sqlite3.connect(folder / "plain.db") as database:
        database.execute("CREATE TABLE listings (url PRIMARY KEY, title, place, text, words)")
        for board in asyncio.run(fetched()):
            for one in board["jobs"]:
                text = TAGS.sub("", one["content"])
                words = sorted({word.lower() for word in WORDS.findall(text)})
                place = one["location"]["name"]
                row = (one["absolute_url"], one["title"], place, text, ",".join(words))
                database.execute("INSERT INTO listings VALUES (?, ?, ?, ?, ?)", row)
        [(count,)] = database.execute("SELECT COUNT(*) FROM listings").fetchall()
    return int(count)


def run(words: list[str], environment: dict[str, str], folder: Path, *before: str) -> tuple[float, float]:
    """Seconds and seconds of processor time of a command."""
    spent, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(
        [sys.executable, *before, *words], env=environment, cwd=folder, check=True, stdout=subprocess.DEVNULL
    )
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - began, now.ru_utime + now.ru_stime - spent.ru_utime - spent.ru_stime


def measure(folder: Path, environment: dict[str, str], *, profile: bool) -> dict[str, Any]:
    """All figures."""
    (folder / "profile.yaml").write_text(PROFILE)
    jobs = ["-c", COMMAND, "jobs"]
    run([*jobs, "init", "--from", "profile.yaml"], environment, folder)
    for name in BOARDS:
        run([*jobs, "sources", "add", f"https://boards.greenhouse.io/{name}"], environment, folder)
    _, start = run([*jobs, "sources", "list"], environment, folder)
    before = ["-m", "cProfile", "-o", str(folder / "profile.out")] if profile else []
    if profile:
        (folder / "command.py").write_text(COMMAND)
        jobs = [str(folder / "command.py"), "jobs"]
    seconds, cpu = run([*jobs, "run", "--all"], environment, folder, *before)
    with sqlite3.connect(folder / "jobs.db") as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        [(listings,)] = database.execute("SELECT COUNT(*) FROM jobs_listings").fetchall()
        states = dict(database.execute("SELECT status, COUNT(*) FROM jobs_listings GROUP BY status").fetchall())
    size = (folder / "jobs.db").stat().st_size
    _, again = run([*jobs, "run", "--all"], environment, folder)
    _, plain = run(["-m", "benchmarks.jobs.boards", "--plain", str(folder)], environment, Path.cwd())
    return {
        "listings": listings, "states": states, "seconds": round(seconds, 1), "cpu_seconds": round(cpu, 2),
        "cpu_seconds_of_a_command_that_only_reads": round(start, 2), "cpu_seconds_of_a_second_run": round(again, 2),
        "megabytes_per_1000_listings": round(size / 1e3 / listings, 2), "plain_cpu_seconds": round(plain, 2),
        "ratio": round(cpu / plain, 1),
    }  # fmt: skip


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.jobs.boards", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--texts", type=Path, help="listings as JSON lines, to be varied")
    parser.add_argument("--profile", action="store_true", help="also where the time goes (cProfile)")
    parser.add_argument("--folder", type=Path, help="where to work, kept afterwards; a temporary one by default")
    parser.add_argument("--plain", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.plain is not None:
        plain_script(asked.plain)
        return
    with ExitStack() as stack:
        folder = (asked.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        if asked.texts:
            os.environ[TEXTS_VARIABLE] = str(asked.texts.absolute())
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        environment |= stack.enter_context(world_process("--build", "benchmarks.jobs.boards:build"))
        report = measure(folder, environment, profile=asked.profile)
    sys.stdout.write(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
