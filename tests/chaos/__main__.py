"""``python -m tests.chaos --minutes 3``: hurt a running ramet for as long as asked, then see that it kept its promises.

Both stores at once, in a process each, unless one is named. Ctrl-C ends the faults early; what ran is checked all the
same. Exit status 1 when one of the zeros is none.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import random
import signal
import subprocess
import sys
import threading

from tests.chaos.run import Chaos, Plan, Report

STORES = ("sqlite", "postgres")
SHOWN_MAX = 40
"""Findings that are printed; all of them are in the JSON."""


def say(*lines: str) -> None:
    """A report is what this module is for."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=3.0, help="of faults (default: 3)")
    parser.add_argument("--store", choices=[*STORES, "both"], default="both")
    parser.add_argument("--seed", type=int, default=None, help="of the schedule of faults (default: a new one)")
    parser.add_argument("--json", action="store_true", help="print each report as a line of JSON, too")
    parser.add_argument("--keep", action="store_true", help="keep logs, effects and the SQLite file")
    return parser.parse_args()


def told(report: Report) -> list[str]:
    """A report for people."""
    plan, found = report.plan, report.verdict
    lines = [
        f"{plan.store}: {report.seconds / 60:.1f} minutes of faults, drained in {report.drain_seconds:.0f} s, "
        f"seed {plan.seed}",
        f"  faults {sum(report.faults.values())}: "
        + ", ".join(f"{name} {count}" for name, count in sorted(report.faults.items())),
        f"  submitted {sum(report.submitted.values())} lineages: "
        + ", ".join(f"{name} {count}" for name, count in sorted(report.submitted.items()))
        + f"; {report.refused} submits had to be repeated; {report.workers} workers were started",
        "  " + ", ".join(f"{name} {count}" for name, count in found.figures.items()),
        "  must be zero: " + ", ".join(f"{name} {count}" for name, count in found.zeros.items()),
    ]
    if report.tracebacks:
        lines += ["  tracebacks in the logs of workers:", *(f"    {line}" for line in report.tracebacks[:SHOWN_MAX])]
    lines += [f"  NOT ZERO {finding.what}: {finding.line}" for finding in found.findings[:SHOWN_MAX]]
    if found.findings:
        lines.append(f"  {len(found.findings)} findings; seed {plan.seed}; logs and effects are in {report.folder}")
    return lines


async def chaos(store: str, options: argparse.Namespace) -> Report:
    """Hurt one store."""
    enough = threading.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, enough.set)
    plan = Plan(store, 60.0 * options.minutes, options.seed, keep=options.keep)
    report = await Chaos(plan, say, enough).go()
    say(*told(report))
    return report


def both(options: argparse.Namespace) -> int:
    """Each store in a process of its own, with one seed; whether one of them found something."""
    given = ["--minutes", str(options.minutes), "--seed", str(options.seed)]
    given += [f"--{name}" for name in ("json", "keep") if getattr(options, name)]
    command = [sys.executable, "-m", "tests.chaos", *given]
    running = [subprocess.Popen([*command, "--store", store]) for store in STORES]
    # A terminal's Ctrl-C reaches them as well, and they say what comes of it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return max(abs(process.wait()) for process in running)


def main() -> int:
    options = arguments()
    if options.seed is None:
        options.seed = random.randrange(1_000_000)
    if options.store == "both":
        return both(options)
    # That a connection was cut is what the proxy is for.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    report = asyncio.run(chaos(options.store, options))
    if options.json:
        say(json.dumps(_plain(report)))
    return int(bool(report.verdict.findings))


def _plain(report: Report) -> dict[str, object]:
    verdict = report.verdict._asdict() | {"findings": [finding._asdict() for finding in report.verdict.findings]}
    return report._asdict() | {"plan": report.plan._asdict(), "verdict": verdict, "folder": str(report.folder)}


if __name__ == "__main__":
    sys.exit(main())
