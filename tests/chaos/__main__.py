"""``python -m tests.chaos --minutes 3``: hurt a running ramet for as long as asked, then see that it kept its promises.

Half of the time goes to each store, unless one is named. Ctrl-C ends the faults early; what ran is checked all the
same. Exit status 1 when one of the zeros is none.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import random
import signal
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
    parser.add_argument("--minutes", type=float, default=3.0, help="of faults, over all stores (default: 3)")
    parser.add_argument("--store", choices=[*STORES, "both"], default="both")
    parser.add_argument("--seed", type=int, default=None, help="of the schedule of faults (default: a new one)")
    parser.add_argument("--json", action="store_true", help="print the reports as JSON at the end")
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


async def chaos(options: argparse.Namespace) -> list[Report]:
    """Run what was asked for."""
    stores = STORES if options.store == "both" else (options.store,)
    seed = random.randrange(1_000_000) if options.seed is None else options.seed
    interrupted = threading.Event()
    reports = []
    for store in stores:
        if interrupted.is_set():
            break
        enough = threading.Event()

        def interrupt(enough: threading.Event = enough) -> None:
            interrupted.set()
            enough.set()

        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, interrupt)
        plan = Plan(store, 60.0 * options.minutes / len(stores), seed, keep=options.keep)
        reports.append(await Chaos(plan, say, enough).go())
        say(*told(reports[-1]))
    return reports


def main() -> int:
    options = arguments()
    # That a connection was cut is what the proxy is for.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    reports = asyncio.run(chaos(options))
    if options.json:
        say(json.dumps([_plain(report) for report in reports]))
    return 1 if any(report.verdict.findings for report in reports) else 0


def _plain(report: Report) -> dict[str, object]:
    verdict = report.verdict._asdict() | {"findings": [finding._asdict() for finding in report.verdict.findings]}
    return report._asdict() | {"plan": report.plan._asdict(), "verdict": verdict, "folder": str(report.folder)}


if __name__ == "__main__":
    sys.exit(main())
